"""What a judge said of the answers of a run, and what calling it took; without the answers."""

from __future__ import annotations

import json

from steelyard.records import CallResult, Outcome
from steelyard.store.base import JudgedSample, Spending
from steelyard.store.codec import decode
from steelyard.store.databases import Session
from steelyard.store.packing import unpack_text
from steelyard.store.samples import PAGE, judgement_from
from steelyard.store.stored_text import MARK, from_stored, from_stored_or_none

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
