"""Samples without their long texts: one as a page shows it, cut (whoever looks at an answer of 100 MB reads its
beginning), and what a judge said of all of them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from steelyard.frozen import frozen
from steelyard.records import CallResult, Outcome, Sample
from steelyard.store.base import JudgedSample, Spending
from steelyard.store.codec import MARK, decode, from_stored, from_stored_or_none, to_json, to_stored
from steelyard.store.databases import Session, placeholders
from steelyard.store.packing import head_of_text, unpack_text
from steelyard.store.samples import PAGE, complete, judgement_from, with_call
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


# ---- what a judge said and what asking it took, without the answers


# A character that is stored as the mark and four digits has five where the text has one.
_LENGTH = "4 * length(replace(t.text, ?, '')) - 3 * length(t.text)"
_JUDGED = f"""
SELECT s.seq, s.case_id, s.variant, s.repeat, s.outcome, s.score, s.passed, s.cluster, {_LENGTH}, t.packed, j.content
FROM judgements j
JOIN samples s ON s.run = j.run AND s.seq = j.seq
LEFT JOIN answers t ON t.run = s.call_run AND t.seq = s.seq
WHERE j.run = ? AND j.seq > ? ORDER BY j.seq LIMIT ?
"""  # noqa: S608 - our own words
_CALLS = """
SELECT c.content FROM judgements j JOIN judge_calls c ON c.run = j.judge_run AND c.seq = j.seq
WHERE j.run = ? ORDER BY j.seq
"""
_SCORER_CALLS = "SELECT details FROM samples WHERE run = ? AND details LIKE ? ORDER BY seq"


def judged_after(session: Session, run: int, seq: int) -> tuple[list[JudgedSample], int]:
    """The next judged samples after a place in the plan, and the last place; none at the end."""
    rows = session.execute(_JUDGED, (MARK, run, seq, PAGE))
    page = [
        JudgedSample(
            case_id=from_stored(case_id),
            variant=from_stored(variant),
            repeat=repeat,
            outcome=Outcome(outcome),
            score=score,
            passed=None if passed is None else bool(passed),
            text_length=length if packed is None else len(from_stored(unpack_text(None, packed) or "")),
            cluster=from_stored_or_none(cluster),
            judgement=judgement_from(content),
        )
        for _seq, case_id, variant, repeat, outcome, score, passed, cluster, length, packed, content in rows
    ]
    return page, rows[-1][0] if rows else seq


def spending_of(session: Session, run: int) -> Spending:
    """What the calls of the run's judges and of its scorers' models took, whichever run made them."""
    total = Spending()
    for rows in session.stream(_CALLS, (run,), PAGE):
        for (content,) in rows:
            for data in json.loads(content):
                total.add(decode(CallResult, data["call_result"]))
    for rows in session.stream(_SCORER_CALLS, (run, '%"call_result"%'), PAGE):
        for (content,) in rows:
            for _, _, _, *asked in json.loads(content).values():
                for data in asked[0] if asked else ():
                    total.add(decode(CallResult, data["call_result"]))
    return total
