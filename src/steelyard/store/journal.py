"""Paid-for answers of samples that are not complete yet: a run that is killed asks for none of them twice."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from steelyard.store.databases import Session, in_pieces, placeholders
from steelyard.store.stored_text import from_stored, to_json, to_stored

_JOURNAL = """
INSERT INTO journal (run, key, content) VALUES (?, ?, ?)
ON CONFLICT (run, key) DO UPDATE SET content = excluded.content
"""
_JOURNALLED = "SELECT key, content FROM journal WHERE run = ?"


def keep_entries(session: Session, run: int, entries: Sequence[tuple[str, dict[str, Any]]]) -> None:
    """Keep each entry under its key, in the place of an older one."""
    session.many(_JOURNAL, [(run, to_stored(key), to_json(content)) for key, content in entries])


def entries_of(session: Session, run: int, keys: Iterable[str] | None) -> dict[str, dict[str, Any]]:
    """The entries of a run, or those of them that have one of the keys."""
    if keys is None:
        rows = session.execute(_JOURNALLED, (run,))
    else:
        pieces = in_pieces({to_stored(key) for key in keys})
        rows = [
            row
            for piece in pieces
            for row in session.execute(f"{_JOURNALLED} AND key IN ({placeholders(piece)})", (run, *piece))
        ]
    return {from_stored(key): json.loads(content) for key, content in rows}


def forget_entries(session: Session, run: int, keys: Iterable[str] | None) -> None:
    """Drop the entries of a run, or those of them that have one of the keys."""
    if keys is None:
        session.execute("DELETE FROM journal WHERE run = ?", (run,))
    else:
        session.many("DELETE FROM journal WHERE run = ? AND key = ?", [(run, to_stored(key)) for key in keys])
