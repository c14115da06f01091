"""Cases as rows: each content of a case is stored once, whatever runs asked it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable

from steelyard.store.codec import decode, encode
from steelyard.store.databases import Session
from steelyard.store.stored_text import from_stored, to_stored
from steelyard.suite.case import Case, canonical


def case_row(case: Case) -> tuple[str, str, str]:
    """A case's id, its hash and its data in one spelling, which is what is hashed."""
    spelling = canonical(encode(case))
    return (
        to_stored(case.id),
        hashlib.sha256(spelling).hexdigest()[:16],
        to_stored(spelling.decode("utf-8", "surrogatepass")),
    )


def case_from(content: str) -> Case:
    """The case back from its stored spelling."""
    return decode(Case, json.loads(from_stored(content)))


def keep_cases(session: Session, rows: Iterable[tuple[str, str, str]]) -> None:
    """Store each case under its hash, once."""
    # Sorted, so that two writers never wait for each other in a circle.
    session.insert("cases", ("id", "hash", "content"), sorted(rows), unless_there=True)
