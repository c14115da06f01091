"""What no column and no condition of SQL tells of a selection: it is looked up for some samples at a time.

What was taken for what in a finding, what an answer claims and how sure it is of it, and the kind of judge.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from steelyard.records import Claim
from steelyard.store.codec import unpack
from steelyard.store.contents import confusion_label
from steelyard.store.databases import Session, placeholders
from steelyard.store.selection import Selection
from steelyard.store.stored_text import from_stored
from steelyard.suite.case import NONE

_FINDINGS = "SELECT seq, code, section, expected, got FROM findings WHERE run = ? AND seq IN"
_CLAIMS = "SELECT seq, content FROM claims WHERE run = ? AND seq IN"
_MODES = "SELECT seq, mode FROM samples WHERE run = ? AND seq IN"

Test = Callable[[list[int]], set[int]]
"""Which of the samples at some places have what is asked for."""


def tests_of(session: Session, run: int, selection: Selection) -> Iterator[Test]:
    """A test for each thing that is asked for."""

    def rows(sql: str, places: Sequence[int]) -> list[Any]:
        return session.execute(f"{sql} ({placeholders(places)})", (run, *places))

    if selection.section or selection.expected or selection.got:
        yield lambda places: {seq for seq, *finding in rows(_FINDINGS, places) if _is_found(finding, selection)}
    bounds = (selection.right, selection.min_confidence, selection.max_confidence)
    if selection.claim or any(bound is not None for bound in bounds):
        yield lambda places: {
            seq
            for seq, content in rows(_CLAIMS, places)
            if any(_is_claimed(claim, selection) for claim in unpack(Claim, content))
        }
    if selection.mode:
        yield lambda places: {seq for seq, mode in rows(_MODES, places) if mode == selection.mode}


def _is_found(finding: Sequence[Any], selection: Selection) -> bool:
    code, section, expected, got = finding
    return (
        selection.code in ("", from_stored(code))
        and selection.section in ("", from_stored(section))
        and _is_value(expected, selection.expected)
        and _is_value(got, selection.got)
    )


def _is_value(stored: str | None, wanted: str) -> bool:
    return not wanted or (stored is not None and confusion_label(json.loads(stored)) == wanted)


def _is_claimed(claim: Claim, selection: Selection) -> bool:
    if selection.claim not in ("", claim.label or NONE) or selection.right not in (None, claim.right):
        return False
    low, high = selection.min_confidence, selection.max_confidence
    if low is None and high is None:
        return True
    sure = claim.confidence
    # What is no number from 0 to 1 is in no bucket.
    if sure is None or not 0.0 <= sure <= 1.0:
        return False
    return (low is None or sure >= low) and (high is None or sure < high or sure == high == 1.0)
