"""Samples without their long texts: one as a page shows it, cut (whoever looks at an answer of 100 MB reads its
beginning), and what a judge said of all of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from steelyard.frozen import frozen
from steelyard.records import Outcome, Sample
from steelyard.store.databases import Session, placeholders
from steelyard.store.packing import head_of_text
from steelyard.store.samples import complete, with_call
from steelyard.store.stored_text import from_stored, to_json, to_stored
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


def read_excerpts(session: Session, run: int, positions: Sequence[int], most: int) -> dict[int, Excerpt]:
    """The samples at some places of the plan, each with at most so many characters of its answer."""
    if not positions:
        return {}
    texts = _ANSWER.format(most=int(most), largest=_LARGEST_CASE)
    sql = f"{with_call(texts)} AND s.seq IN ({placeholders(positions)})"
    rows, cuts = [], []
    for *row, text, packed, content, case_length in session.execute(sql, (run, *positions)):
        head = head_of_text(text, packed, most + 1)
        cuts.append((head is not None and len(head) > most, case_length > _LARGEST_CASE))
        if case_length > _LARGEST_CASE:
            content = to_json({"id": from_stored(row[2]), "input": from_stored(content)})
        rows.append((*row, head and head[:most], None, content))
    read = zip(rows, complete(session, run, rows), cuts, strict=True)
    return {row[1]: Excerpt(sample, case, *cut) for row, (sample, case), cut in read}


def read_repeats(session: Session, run: int, case_id: str, limit: int) -> list[Repeat]:
    """All samples of a case in a run."""
    rows: list[Any] = session.execute(_SAME_CASE, (run, to_stored(case_id), limit))
    return [
        Repeat(seq, from_stored(variant), repeat, Outcome(outcome), score, None if passed is None else bool(passed))
        for seq, variant, repeat, outcome, score, passed in rows
    ]
