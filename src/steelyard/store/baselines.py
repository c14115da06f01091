"""The log of baselines: which run a name has stood for, who locked it, when and why. Lines are added, never changed."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from steelyard.errors import RunNotFound
from steelyard.store.database import Session
from steelyard.store.text import from_stored, to_json, to_stored
from steelyard.suite.baseline_names import BASELINE_SIGN

_COLUMNS = ("suite_name", "name", "run", "removed", "forced", "made_at", "made_by", "reason", "signature")
_SELECT = """
SELECT b.suite_name, b.name, r.id, b.removed, b.forced, b.made_at, b.made_by, b.reason, b.signature
FROM baselines b JOIN runs r ON r.number = b.run
"""


@dataclass(frozen=True, slots=True)
class BaselineEntry:
    """One line of the log: a name was given to a run of its suite, or taken away from it."""

    suite_name: str
    name: str
    run_id: str
    made_at: float
    made_by: str
    reason: str = ""
    removed: bool = False
    forced: bool = False
    """True when the run was locked although it is no sound reading."""
    signature: dict[str, Any] = field(default_factory=dict)
    """The run's, when it was locked."""


def keep_entry(session: Session, entry: BaselineEntry, run: int) -> None:
    """Add a line; `run` is the run's number."""
    texts = (to_stored(entry.suite_name), to_stored(entry.name))
    marks = (int(entry.removed), int(entry.forced))
    told = (entry.made_at, to_stored(entry.made_by), to_stored(entry.reason), to_json(entry.signature))
    session.insert("baselines", _COLUMNS, [(*texts, run, *marks, *told)])


def entries_of(session: Session, suite: str | None) -> list[BaselineEntry]:
    """The log, oldest line first: of one suite, or of all."""
    where, values = ("", []) if suite is None else ("WHERE b.suite_name = ?", [to_stored(suite)])
    rows = session.execute(f"{_SELECT} {where} ORDER BY b.number", values)
    return [
        BaselineEntry(
            suite_name=from_stored(suite_name),
            name=from_stored(name),
            run_id=from_stored(run_id),
            made_at=made_at,
            made_by=from_stored(made_by),
            reason=from_stored(reason),
            removed=bool(removed),
            forced=bool(forced),
            signature=json.loads(signature),
        )
        for suite_name, name, run_id, removed, forced, made_at, made_by, reason, signature in rows
    ]


def standing(entries: Iterable[BaselineEntry]) -> dict[tuple[str, str], BaselineEntry]:
    """By suite and name, the lock that holds: the newest line, unless it is a removal."""
    newest = {(entry.suite_name, entry.name): entry for entry in entries}
    return {key: entry for key, entry in sorted(newest.items()) if not entry.removed}


def run_behind(session: Session, name: str) -> str | None:
    """The id of the run that a baseline stands for, by `release`, `@release` or `@suite/release`; None when none does.

    RunNotFound when the name may mean several, or when it is written as a baseline and there is none.
    """
    written, asked = name.startswith(BASELINE_SIGN), name.removeprefix(BASELINE_SIGN)
    locks = standing(entries_of(session, None))
    suite, _, alone = asked.rpartition("/")
    found = [lock for lock in locks.values() if lock.name == asked or (lock.suite_name, lock.name) == (suite, alone)]
    if len(found) == 1:
        return found[0].run_id
    if found:
        names = ", ".join(f"{BASELINE_SIGN}{lock.suite_name}/{lock.name}" for lock in found)
        raise RunNotFound(f"several suites have a baseline {asked!r}: write one of {names}")
    if not written:
        return None
    there = ", ".join(f"{BASELINE_SIGN}{lock.name} (of {lock.suite_name})" for lock in locks.values())
    told = f"there are: {there}" if there else "there is none yet"
    raise RunNotFound(
        f"no baseline {asked!r}: {told}. Lock one: steelyard baseline set RUN --name {asked or 'release'}"
    )
