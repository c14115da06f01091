"""A stored run whose judge does all that its metrics count: modes, remarks, repeats, labels by people, flags."""

from __future__ import annotations

import random
from typing import Any

from parts.judged import judged_suite
from parts.mixed_run import put_ended
from steelyard.records import (
    CallResult,
    Failure,
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

N_CASES, REPEATS = 60, 2
SCORES = (1, 2, 3, 4, 5)
REMARKS = (
    *("RULE_BROKEN", "MADE_UP_QUOTE", "UNPROVEN", "CONTRADICTION", "SELF_CONTRADICTION", "TOO_FEW_REASONS"),
    *("CUT_OFF", "NOT_AS_ASKED"),
)


def put_judged(store: Store, name: str = "judged-1", seed: int = 1, **changes: Any) -> RunHeader:
    """An ended run of 60 cases asked twice; the same seed gives the same."""
    chance = random.Random(seed)
    suite = judged_suite()
    more = {
        "labels": "expected.labels",
        "check": "rules:check",
        "must_answer": {"in": "answers", "findings": ["NAME"]},
        "epsilon": 0.2,
    }
    suite |= {"judge": suite["judge"] | more, "repeats": REPEATS, "n_planned": N_CASES * REPEATS + 3} | changes
    header = RunHeader(
        name, "made", "", 1000.0 + seed, Signature(), target=TargetFacts({"kind": "python"}), suite=suite
    )
    cases = [_case(number, chance) for number in range(N_CASES)]
    samples = [_sample(case, repeat, chance) for case in cases for repeat in range(REPEATS)]
    return put_ended(store, header, samples, cases)


def _case(number: int, chance: random.Random) -> Case:
    """Most have labels: tone by three people, overall as a range, whether it does harm."""
    people = {who: chance.choice(SCORES) if chance.random() < 0.3 else 1 + number % 5 for who in ("ann", "ben", "cy")}
    by = {who: score for who, score in people.items() if chance.random() < 0.9}
    labels: dict[str, Any] = {"overall": {"best": 2 + number % 3, "allowed": [2, 4]}, "harm": number % 4 == 0}
    if by:
        labels["tone"] = {"by": by}
    expected = {} if number % 10 == 9 else {"labels": labels}
    return Case(f"case-{number:02d}", {"text": f"text {number}"}, expected, category="ab"[number % 2])


def _sample(case: Case, repeat: int, chance: random.Random) -> Sample:
    judgement = _judgement(int(case.id[-2:]), chance)
    scored = judgement.mode is not None
    # Labels are of the text in the input: some answers are another.
    text = f"{case.input['text']}{' again' * (chance.random() < 0.1)}"
    score = chance.random() if scored else None
    return Sample(
        case_id=case.id,
        variant="",
        repeat=repeat,
        call_result=CallResult(text=text, latency=0.5),
        outcome=Outcome.SCORED if scored else Outcome.JUDGE_FAILED,
        score=score,
        passed=None if score is None else score >= 0.75,
        judgement=judgement,
        category=case.category,
    )


def _judgement(number: int, chance: random.Random) -> Judgement:
    failed = Failure("timeout", "no answer in 3 s") if chance.random() < 0.1 else None
    result = CallResult(text="{}", latency=0.5, tokens_in=90, tokens_out=8, cost=0.25, tries=2, failure=failed)
    calls = (JudgeCall("m1", 0, 0, result),)
    kind = chance.random()
    if kind < 0.04:
        return Judgement(None, (), message="no member could be asked", calls=calls)
    if kind < 0.10:
        silent = Vote("m1", 0, None, "failed", message=f"timeout: no answer in {chance.randint(1, 9)} s")
        useless = Vote("m1", 0, None, "failed", message="no score; empty", remarks=(Remark("VIOLATION"),))
        return Judgement(None, (chance.choice((silent, useless)),), message="no reading", calls=calls)
    mode = Mode.BASIC if kind < 0.2 else Mode.MODEL
    votes = [
        _vote(member, repeat, mode, number, chance)
        for member in ("m1", "m2")[: chance.choice((1, 2))]
        for repeat in range(chance.choice((1, 2)))
    ]
    if chance.random() < 0.1:
        votes.append(Vote("m2", 9, None, "failed", message="no answer"))
    first = votes[0]
    apart = (Remark("DISAGREEMENT"),) if len(votes) > 1 and chance.random() < 0.3 else ()
    return Judgement(mode, tuple(votes), first.uncapped, first.capped, remarks=apart, calls=calls)


def _vote(member: str, repeat: int, mode: Mode, number: int, chance: random.Random) -> Vote:
    tone = chance.choice(SCORES) if chance.random() < 0.4 else 1 + number % 5
    raw = {"tone": tone, "overall": chance.choice((2, 3, 4, 5, 5)), "harm": chance.random() < 0.4}
    capped = raw | {"tone": min(tone, chance.choice((3, 5))), "harm": raw["harm"] or chance.random() < 0.1}
    answers = [
        {
            "finding": "NAME",
            "words": "x",
            "reason": "no",
            "answer": chance.choice(("confirmed", "rebutted", "unanswered")),
        }
        for _ in range(chance.randint(0, 2))
    ]
    return Vote(
        member,
        repeat,
        mode,
        "basic" if mode is Mode.BASIC else chance.choice(("strict", "repaired")),
        raw,
        capped,
        remarks=tuple(Remark(code, "tone", f"{code}: tone 5") for code in REMARKS if chance.random() < 0.15),
        response={"answers": answers, "weaknesses": ["too short"] * chance.choice((1, 20))},
        shortened=chance.random() < 0.2,
    )
