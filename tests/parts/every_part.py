"""A run whose samples have every part that a sample can have, to be stored and exported."""

from __future__ import annotations

import math

from parts.judged_samples import BY_RULES, judge_failed, judged
from parts.stored import case, failed, header, sample
from steelyard.records import (
    CallResult,
    Check,
    CheckState,
    Claim,
    Failure,
    Finding,
    Item,
    JudgeCall,
    Judgement,
    Mark,
    Mode,
    Outcome,
    RunState,
    Sample,
    Score,
    Vote,
)
from steelyard.store.base import Store

CASES = [case(number) for number in range(9)]
BOX = (0.125, 0.2, 0.30000000000000004, 1.0)
CLAIMS = (Claim(0.95, True, "é\x00\ud800"), Claim(None, False), Claim(math.inf, True), Claim(7.0, True))
MISSED = Finding("MISSED", "spans[2]", "a\x00b", None, "", "minor", "spans", 1 / 12, BOX, (4, 11), "technicalSpecs")
CHECKS = (
    Check("count", CheckState.PASSED, "3 of 2 to 4", 3.0, 2.0, math.inf),
    Check("colour:é\x00", CheckState.FAILED, "not there"),
    Check("size", CheckState.NOT_RUN),
)
ITEMS = (Item("A-1", ([3, 9], "major", None)), Item("é\x00"))
WAITED = CallResult("x", 200, 2.0, 1001.5, first_byte=0.5, queued=0.0)
LATE = CallResult(latency=3.0, failure=Failure("timeout", "no answer"), queued=0.125)
NAMED = Judgement(
    Mode.RULES,
    (Vote("code", 0, Mode.RULES, "rules", {"tone": 4}, {"tone": 3}, findings=(MISSED, Finding("EXTRA"))),),
    {"tone": 4},
    {"tone": 3},
    findings=(MISSED,),
)
ASKED = Judgement(Mode.MODEL, calls=(JudgeCall("a", 0, 0, WAITED), JudgeCall("a", 0, 1, CallResult(text="y"))))


def samples() -> list[Sample]:
    counted = Score("items", 0.5, 70.0, note="why", counts={"visible": 12, "read": 10, "extra": 0})
    return [
        sample(
            CASES[0],
            0,
            scores=(counted, Score("year", None, counts={"words": 2})),
            findings=(MISSED, Finding("EXTRA", component="items"), Finding("FORMAT", gain=1.0)),
            marks=(Mark(BOX, "a\x00b\ud800 🪑"), Mark((0.0, 0.0, 1.0, 1.0))),
            claims=CLAIMS,
            checks=CHECKS,
            items=ITEMS,
            call_result=WAITED,
        ),
        failed(CASES[1], 1, checks=CHECKS[2:], call_result=LATE),
        judged(CASES[2], 2),
        judge_failed(CASES[3], 3),
        judged(CASES[4], 4, BY_RULES, items=()),
        judged(CASES[5], 5, NAMED, cluster="report 7"),
        judged(CASES[6], 6, ASKED, outcome=Outcome.MALFORMED),
        sample(CASES[7], 7),
        Sample(CASES[8].id, "", 0, CallResult(), Outcome.TARGET_FAILED, position=8),
    ]


def fill_with_everything(store: Store) -> None:
    """Put an ended run whose samples have every part, with difficult texts, into a store."""
    store.create_run(header())
    store.add_samples("demo-1", samples(), CASES)
    store.update_run(header(state=RunState.ENDED))
