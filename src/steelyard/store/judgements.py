"""What a run's judge said and what asking it took, without the answers, a page at a time."""

from __future__ import annotations

import json

from steelyard.records import Outcome
from steelyard.store.base import JudgedSample, Spending
from steelyard.store.database import Session
from steelyard.store.judged import judgement_stored
from steelyard.store.text import MARK, from_stored

PAGE = 500
"""How many judgements are in memory at a time."""

# A character that is stored as the mark and four digits has five where the text has one.
_LENGTH = "4 * length(replace(t.text, ?, '')) - 3 * length(t.text)"
_JUDGED = f"""
SELECT s.seq, s.case_id, s.variant, s.repeat, s.outcome, s.score, s.passed, {_LENGTH}, j.content
FROM judgements j
JOIN samples s ON s.run = j.run AND s.seq = j.seq
LEFT JOIN answers t ON t.run = s.attempt_run AND t.seq = s.seq
WHERE j.run = ? AND j.seq > ? ORDER BY j.seq LIMIT ?
"""  # noqa: S608 - our own words
_CALLS = """
SELECT c.content FROM judgements j JOIN judge_calls c ON c.run = j.judge_run AND c.seq = j.seq
WHERE j.run = ? ORDER BY j.seq
"""


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
            text_length=length,
            judgement=judgement_stored(content),
        )
        for _seq, case_id, variant, repeat, outcome, score, passed, length, content in rows
    ]
    return page, rows[-1][0] if rows else seq


def spending_of(session: Session, run: int) -> Spending:
    """What the calls behind the run's judgements took, whichever run made them."""
    total = Spending()
    for rows in session.stream(_CALLS, (run,), PAGE):
        for (content,) in rows:
            for call in json.loads(content):
                total.add(call["attempt"])
    return total
