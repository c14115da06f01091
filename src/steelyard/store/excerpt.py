"""One sample with its long texts cut, as a page shows it: whoever looks at an answer of 100 MB reads its beginning."""

from __future__ import annotations

from typing import Any

from steelyard.frozen import frozen
from steelyard.records import Outcome, Sample
from steelyard.store.codec import from_stored, head_of_text, to_json, to_stored
from steelyard.store.databases import Session
from steelyard.store.samples import complete, with_call
from steelyard.suite.case import Case

_LARGEST_CASE = 2_000_000
"""Characters of a case's data; of a larger one the beginning is shown as a text."""
_ANSWER = """
substr(t.text, 1, {most} + 1) AS text, t.packed,
CASE WHEN length(c.content) <= {largest} THEN c.content ELSE substr(c.content, 1, {most}) END, length(c.content)
"""
_SAME_CASE = """
SELECT seq, variant, repeat, outcome, score, passed FROM samples
WHERE run = ? AND case_id = ? ORDER BY variant, repeat LIMIT ?
"""


@frozen
class Excerpt:
    """A sample whose texts may be cut."""

    sample: Sample
    case: Case
    cut: bool
    """Whether the answer goes on."""
    case_cut: bool
    """Whether the case is too large to be read: its input is then the beginning of its data as text."""


@frozen
class Repeat:
    """A sample of the same case, in a line."""

    position: int
    variant: str
    repeat: int
    outcome: Outcome
    score: float | None
    passed: bool | None


def read_excerpt(session: Session, run: int, position: int, most: int) -> Excerpt | None:
    """The sample at a place of the plan, at most so many characters of its answer; None when there is none."""
    answer = _ANSWER.format(most=int(most), largest=_LARGEST_CASE)
    rows = session.execute(f"{with_call(answer)} AND s.seq = ?", (run, position))
    if not rows:
        return None
    *row, text, packed, content, case_length = rows[0]
    text = head_of_text(text, packed, most + 1)
    cut = text is not None and len(text) > most
    case_cut = case_length > _LARGEST_CASE
    if case_cut:
        content = to_json({"id": from_stored(row[2]), "input": from_stored(content)})
    ((sample, case),) = complete(session, run, [(*row, text and text[:most], None, content)])
    return Excerpt(sample, case, cut, case_cut)


def read_repeats(session: Session, run: int, case_id: str, limit: int) -> list[Repeat]:
    """All samples of a case in a run."""
    rows: list[Any] = session.execute(_SAME_CASE, (run, to_stored(case_id), limit))
    return [
        Repeat(seq, from_stored(variant), repeat, Outcome(outcome), score, None if passed is None else bool(passed))
        for seq, variant, repeat, outcome, score, passed in rows
    ]
