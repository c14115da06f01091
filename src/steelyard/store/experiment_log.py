"""The log of online experiments: when their outcomes were read."""

from __future__ import annotations

from dataclasses import field
from typing import Any

from steelyard.frozen import frozen
from steelyard.store.codec import columns_of, from_row, to_row
from steelyard.store.databases import Session
from steelyard.store.stored_text import to_stored


@frozen
class OnlineReading:
    """One time that the outcomes of an online experiment were read."""

    experiment: str
    read_at: float
    n: int
    """Units with an outcome."""
    decided: str
    plan: dict[str, Any] = field(default_factory=dict)
    """The experiment's file as it was, without what decides nothing."""


def keep_reading(session: Session, reading: OnlineReading) -> None:
    """Add a line to the log."""
    session.insert("readings", columns_of(OnlineReading), [to_row(reading)])


def readings_of(session: Session, experiment: str) -> list[OnlineReading]:
    """The readings of an experiment, oldest first."""
    sql = f"SELECT {', '.join(columns_of(OnlineReading))} FROM readings WHERE experiment = ? ORDER BY number"  # noqa: S608
    return [from_row(OnlineReading, row) for row in session.execute(sql, (to_stored(experiment),))]
