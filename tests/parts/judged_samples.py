"""Judgements with the calls behind them, to put into a store."""

from __future__ import annotations

from typing import Any

from parts.stored import sample
from steelyard.records import CallResult, Failure, JudgeCall, Judgement, Mode, Outcome, Remark, Sample, Vote
from steelyard.suite.case import Case

ODD = "a\x00b\ud800 🪑 é\x10\r\n"
"""Text that only a model would write."""


def call(member: str = "panel-a", turn: int = 0, **changes: Any) -> JudgeCall:
    values: dict[str, Any] = {
        "text": '{"notes": "fine", "tone": 4}',
        "status": 200,
        "latency": 0.5,
        "started_at": 1002.5,
        "tries": 3,
        "tokens_in": 900,
        "tokens_out": 80,
        "cost": 0.25,
        "model": "judge-x",
    }
    return JudgeCall(member, 0, turn, CallResult(**(values | changes)), shortened=turn > 0)


FAILED = Failure("timeout", f"no answer in 60 s {ODD}")


def judgement(**changes: Any) -> Judgement:
    """Two votes, one of them of no use, with everything a judgement may hold."""
    useful = Vote(
        member="panel-a",
        repeat=0,
        mode=Mode.MODEL,
        step="extracted",
        uncapped={"tone": 5.0, "clarity": 4.0, "harmful": False},
        capped={"tone": 3.0, "clarity": 4.0, "harmful": True},
        capped_by={"tone": "when facts.missing > 0 then tone <= 3", "harmful": "when facts.made_up > 0 then harmful"},
        remarks=(Remark("RULE_BROKEN", "tone", ODD), Remark("TOO_FEW_REASONS")),
        response={"notes": ODD, "tone": 5, "deep": [None, True, 1.0, 1, {"": [], ODD: {}}], "extra": 10**30},
    )
    useless = Vote("panel-b", 1, None, "failed", message=f"not readable: {ODD}", remarks=(Remark("VIOLATION", "tone"),))
    values: dict[str, Any] = {
        "mode": Mode.MODEL,
        "votes": (useful, useless),
        "uncapped": useful.uncapped,
        "capped": useful.capped,
        "capped_by": useful.capped_by,
        "remarks": (Remark("DISAGREEMENT", "clarity", "2 to 5"),),
        "metrics": {"facts": {"missing": 2, "share": 0.5, "whole": True, "names": ["é", ODD]}},
        "calls": (
            call(),
            call(turn=1, text=ODD, cached=True),
            call("panel-b", text=None, status=None, tokens_in=None, tokens_out=None, cost=None, failure=FAILED),
        ),
    }
    return Judgement(**(values | changes))


NOTHING = Judgement(None, (Vote("panel-a", 0, None, "failed", message="refused"),), message="no vote could be read")
BY_RULES = Judgement(Mode.RULES, (Vote("rules", 0, Mode.RULES, "rules", {"tone": 4.0}, {"tone": 4.0}),))


def judged(of: Case, position: int | None = None, stated: Judgement | None = None, **changes: Any) -> Sample:
    return sample(of, position, **({"judgement": stated or judgement()} | changes))


def judge_failed(of: Case, position: int | None = None, stated: Judgement = NOTHING) -> Sample:
    nothing = {"score": None, "passed": None, "band": None, "scores": (), "findings": ()}
    return judged(of, position, stated, outcome=Outcome.JUDGE_FAILED, **nothing)
