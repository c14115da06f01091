"""A stored run whose report shows every kind of figure there is: the mixed one with all that it lacks."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

from parts.mixed_run import CASES, REPEATS, SUITE, VARIANTS, mixed_case, mixed_sample, put_ended
from steelyard.records import (
    CallResult,
    Check,
    Claim,
    Failure,
    Finding,
    JudgeCall,
    Judgement,
    Mode,
    Outcome,
    Remark,
    RunHeader,
    Sample,
    Signature,
    TargetFacts,
    Vote,
)
from steelyard.store.base import Store
from steelyard.suite.case import Case

_RULE = "score >= 40 % in >= 2 of 3 repeats"
RICH: dict[str, Any] = SUITE | {
    "taxonomy": [
        *({**each, "severity": "error"} for each in SUITE["taxonomy"]),
        {"code": "SLIP", "about": "", "severity": "major"},
    ],
    "components": [*SUITE["components"], {"name": "slips", "weight": 0.0, "code": "SLIPS", "scale": [0.0, 1.0]}],
    "judge": {
        "mode": "model",
        "rules": ["tone <= 3 when short"],
        "evidence": {"in": "quotes"},
        "check": "rules:check_spans",
        "rubric": {"scale": [0, 1], "neutral": 1, "dimensions": [{"name": "name", "weight": 2.0}], "flags": []},
    },
    "criteria": [
        {"name": "steady", "pass": _RULE, "fail": None, "secondary": False, "about": ""},
        {"name": "good", "pass": "pass_rate >= 10 %", "fail": None, "secondary": False, "about": ""},
    ],
    "gates": ["category.*.average >= 10 %", "findings.FORMAT <= 500"],
}


def put_rich(store: Store, name: str = "rich-1", seed: int = 1) -> RunHeader:
    """An ended run of rich samples; the same seed gives the same."""
    chance = random.Random(seed)
    header = RunHeader(name, "rich", "", 1000.0 + seed, Signature(), target=TargetFacts({"kind": "python"}), suite=RICH)
    cases = [_tagged(mixed_case(number)) for number in range(CASES)]
    samples = [
        _richer(mixed_sample(case, variant, repeat, chance), chance)
        for case in cases
        for variant in VARIANTS
        for repeat in range(REPEATS)
    ]
    return put_ended(store, header, samples, cases)


def _tagged(case: Case) -> Case:
    """With a tag that all cases have: a part that is the whole."""
    return replace(case, tags=(*case.tags, "every"))


def _richer(sample: Sample, chance: random.Random) -> Sample:
    failed = sample.outcome is Outcome.TARGET_FAILED
    sample.step = None if failed else chance.choice(("whole", "fenced"))
    sample.call_result.first_byte, sample.call_result.queued = chance.random() / 10, chance.random() / 100
    sample.call_result.first_token = chance.random() / 50
    sample.call_result.tokens_out = sample.call_result.tokens_out or 8
    if chance.random() < 0.1:
        # Where two bars of the histogram meet.
        sample.call_result.latency = chance.choice((0.4, 1.0, 2.0))
    if failed:
        sample.call_result.failure = Failure(*chance.choice((("timeout", "no answer in 3 s"), ("http_500", "oops"))))
    if sample.outcome is Outcome.SCORED:
        sample.findings = tuple(
            _located(each, chance) for each in (*sample.findings, Finding("SLIP", component="slips"))
        )
    if not failed:
        sample.claims = tuple(_claim(chance) for _ in range(chance.randint(0, 3)))
        sample.judgement = _judgement(sample, chance)
    sample.checks = tuple(_measured(each, chance) for each in sample.checks)
    return sample


def _located(finding: Finding, chance: random.Random) -> Finding:
    component = finding.component or finding.code.lower()
    kind = chance.choice((("chair", "stool"), ("desk", "table"), ("oak", "oak"), (None, "elm")))
    return replace(finding, component=component, gain=chance.choice((0.1, 0.5)), expected=kind[0], got=kind[1])


def _claim(chance: random.Random) -> Claim:
    confidence = chance.choice((0.1, 0.35, 0.55, 0.7, 0.95, 1.0, None, 1.5))
    return Claim(confidence, chance.random() < 0.5 * (confidence or 0.2) + 0.2, chance.choice(("a", "b.c", "")))


def _measured(check: Check, chance: random.Random) -> Check:
    return replace(check, value=float(chance.randint(0, 5)), low=1.0, high=4.0) if check.name == "count" else check


def _judgement(sample: Sample, chance: random.Random) -> Judgement | None:
    if sample.outcome is Outcome.MALFORMED:
        return None
    call = JudgeCall("one", 0, 0, CallResult(text="{}", latency=0.5, tokens_in=90, tokens_out=8, cost=0.25))
    if sample.outcome is Outcome.JUDGE_FAILED:
        if chance.random() < 0.3:
            return Judgement(None, (), message="no member could be asked", calls=(call,))
        unanswered = Vote("one", 0, None, "failed", message=f"timeout: no answer in {chance.randint(1, 9)} s")
        useless = Vote("one", 0, None, "failed", message="no score; empty", remarks=(Remark("VIOLATION"),))
        return Judgement(None, (chance.choice((unanswered, useless)),), message="no reading", calls=(call,))
    mode = sample.mode or Mode.MODEL
    raw = {"name": chance.choice((0.25, 0.5, 1.0))}
    bound = {"name": min(raw["name"], chance.choice((0.5, 1.0)))}
    remarks = tuple(Remark(code) for code in ("RULE_BROKEN", "MADE_UP_QUOTE", "CUT_OFF") if chance.random() < 0.2)
    ballots = tuple(
        Vote("one", repeat, mode, chance.choice(("strict", "extracted")), raw, bound, remarks=remarks)
        for repeat in range(chance.choice((1, 2)))
    )
    apart = (Remark("DISAGREEMENT"),) if len(ballots) > 1 and chance.random() < 0.3 else ()
    return Judgement(mode, ballots, raw, bound, remarks=apart, calls=(call,))
