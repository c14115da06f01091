"""A stored run in which everything occurs that a figure may have to leave out or count otherwise."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

from parts.stored import add_planned
from steelyard.records import (
    CallResult,
    Check,
    CheckState,
    Failure,
    Finding,
    Item,
    Judgement,
    Mode,
    Outcome,
    RunHeader,
    RunState,
    Sample,
    Score,
    Signature,
    TargetFacts,
    Vote,
)
from steelyard.store.base import Store
from steelyard.store.people import PRECISION, Key, LabelRecord
from steelyard.suite.case import Case

REPEATS, CASES, VARIANTS = 4, 24, ("plain", "long")
MISSING = 8
"""Planned samples of which nothing came: one whole case under both variants."""
_RATIO = {"about": "", "better": "higher"}
SUITE: dict[str, Any] = {
    "name": "mixed",
    "components": [
        {"name": "name", "weight": 2.0, "code": "NAME", "scale": [0.0, 1.0], "kind": "dimension"},
        {"name": "tone", "weight": 1.0, "code": "TONE", "scale": [1.0, 5.0], "when_unknown": "skip"},
        {
            "name": "items",
            "weight": 1.0,
            "code": "ITEMS",
            "scale": [0.0, 1.0],
            "measures": {
                "recall": {"numerator": "hit", "denominator": "all", **_RATIO},
                "precision": {"numerator": "hit", "denominator": "stated", **_RATIO},
            },
            "means": {"both": {"of": ["recall", "precision"], "about": "", "better": "higher"}},
        },
        {
            "name": "harm",
            "weight": 0.0,
            "code": "HARM",
            "scale": [0.0, 1.0],
            "kind": "flag",
            "measures": {"rate": {"numerator": "flagged", "denominator": "judged", "about": "", "better": "lower"}},
        },
    ],
    "bands": [
        {"name": "Good", "at_least": 0.75},
        {"name": "Fair", "at_least": 0.5},
        {"name": "Poor", "at_least": 0.0},
    ],
    "passing": {"at_least": 0.6, "text": "score >= 60 %"},
    "taxonomy": [
        {"code": code, "about": "", "severity": "error"} for code in ("NAME", "TONE", "ITEMS", "HARM", "FORMAT")
    ],
    "judge": {
        "mode": "model",
        "rubric": {"scale": [0, 1], "neutral": 1, "dimensions": [{"name": "name", "weight": 2.0}], "flags": []},
    },
    "expect": {
        "required_repeats": "all",
        "checks": [
            {"name": "count", "code": "COUNT", "required_repeats": "majority"},
            {"name": "colour", "code": "COLOUR", "required_repeats": "all"},
            {"name": "opening", "code": "OPENING", "required_repeats": "first"},
        ],
    },
    "stability": {"items": "items[]", "key": "id", "fields": {"kind": "equal", "where": "overlap"}},
    "variants": list(VARIANTS),
    "repeats": REPEATS,
    "n_planned": CASES * len(VARIANTS) * REPEATS + MISSING,
    "limits": {"max_inconclusive": 0.5},
    "gates": [],
}


def put_mixed(store: Store, name: str, seed: int, *, checks: bool = True, **changes: Any) -> RunHeader:
    """An ended run of mixed samples, with or without checks; the same seed gives the same."""
    chance = random.Random(seed)
    suite = SUITE | changes
    header = RunHeader(
        name, "mixed", "", 1000.0 + seed, Signature(), target=TargetFacts({"kind": "python"}), suite=suite
    )
    cases = [mixed_case(number) for number in range(CASES)]
    samples = [
        mixed_sample(case, variant, repeat, chance)
        for case in cases
        for variant in VARIANTS
        for repeat in range(REPEATS)
    ]
    samples = samples if checks else [replace(sample, checks=()) for sample in samples]
    return put_ended(store, header, samples, cases)


def put_labels(store: Store, header: RunHeader) -> dict[Key, bool]:
    """A person's labels of three in five scored samples, whatever the run passes; two in three of them pass."""
    labels = {
        (sample.case_id, sample.variant, sample.repeat): at % 3 > 0
        for at, (sample, _) in enumerate(store.samples(header.id))
        if sample.outcome is Outcome.SCORED and at % 5 < 3
    }
    add_planned(
        store,
        [
            LabelRecord("mixed", case, "ann", "verdict", passes, header.id, variant, repeat, drawn=PRECISION)
            for (case, variant, repeat), passes in labels.items()
        ],
    )
    return labels


def put_ended(store: Store, header: RunHeader, samples: list[Sample], cases: list[Case]) -> RunHeader:
    """The run with these samples, in their order, as it is once it has ended."""
    header.n_planned = header.suite["n_planned"]
    store.create_run(header)
    for position, sample in enumerate(samples):
        sample.position = position
    store.add_samples(header.id, samples, cases)
    header.state = RunState.ENDED
    store.update_run(header)
    return header


def mixed_case(number: int) -> Case:
    """One of the cases, some with a category and tags."""
    return Case(
        f"case-{number:02d}",
        {"n": number},
        {"n": number},
        category=("chairs", "tables", None)[number % 3],
        difficulty=("easy", "hard")[number % 2],
        tags=(("old",), ("old", "odd"), ())[number % 3],
    )


def mixed_sample(case: Case, variant: str, repeat: int, chance: random.Random) -> Sample:
    """A sample that may end in any way."""
    outcome = chance.choices(list(Outcome), (12, 2, 1, 1))[0]
    failed, readable = outcome is Outcome.TARGET_FAILED, outcome is Outcome.SCORED
    mode = chance.choices((Mode.MODEL, Mode.BASIC), (6, 1))[0] if readable else None
    score = chance.choice((0.0, 0.25, 0.55, 0.7, 1.0, chance.random())) if readable else None
    return Sample(
        case_id=case.id,
        variant=variant,
        repeat=repeat,
        call_result=_call_result(chance, failed=failed),
        outcome=outcome,
        score=score,
        passed=None if score is None else score >= 0.6,
        band=None if score is None else "Good" if score >= 0.75 else "Fair" if score >= 0.5 else "Poor",
        scores=_scores(chance) if readable else (),
        findings=_findings(chance, outcome),
        checks=_checks(chance, failed=failed),
        items=_items(chance) if readable and case.id != "case-05" else None,
        judgement=None if mode is None else Judgement(mode, (Vote("one", 0, mode, "strict"),)),
        category=case.category,
        difficulty=case.difficulty,
        tags=case.tags,
    )


def _call_result(chance: random.Random, *, failed: bool) -> CallResult:
    return CallResult(
        text=None if failed else "{}",
        latency=chance.choice((0.0, chance.random(), chance.random() * 3)),
        tokens_in=chance.choice((None, 100, 120)),
        tokens_out=chance.choice((None, 7, 9)),
        cost=chance.choice((None, 0.001, chance.random() / 100)),
        cached=chance.random() < 0.1,
        failure=Failure("timeout", "no answer in 3 s") if failed else None,
        # Drawn apart, so that what else is drawn stays what it was.
        first_token=random.Random(chance.getstate()[1][1]).choice((None, 0.1, 0.25)),
    )


def _scores(chance: random.Random) -> tuple[Score, ...]:
    hit, said = chance.randint(0, 3), chance.randint(0, 2)
    counted = {"hit": hit, "all": 3, "stated": hit + said, "twice": hit % 2}
    flagged = int(chance.random() < 0.2)
    return (
        Score("name", chance.choice((None, chance.random())), 2.0),
        Score("tone", chance.choice((None, 1.0, 3.5, 5.0)), 1.0),
        Score("items", hit / 3, 1.0, counts=chance.choice((counted, counted, {"hit": hit, "all": 3}, {}))),
        Score("harm", float(flagged), 0.0, counts={"flagged": flagged, "judged": 1}),
    )


def _findings(chance: random.Random, outcome: Outcome) -> tuple[Finding, ...]:
    if outcome is Outcome.MALFORMED:
        return (Finding("FORMAT", "", "an object", "text"),)
    return tuple(
        Finding(chance.choice(("NAME", "TONE")), "x", 1, 2, section=("", "the opening", "v1.0")[at])
        for at in range(chance.randint(0, 3))
    )


def _checks(chance: random.Random, *, failed: bool) -> tuple[Check, ...]:
    names = ("count", "colour:red", "colour:blue", "opening")
    states = tuple(CheckState)
    found = [Check(name, CheckState.NOT_RUN if failed else chance.choices(states, (12, 2, 1))[0]) for name in names]
    if chance.random() < 0.2:
        found.append(Check("count", chance.choice(states)))
    return tuple(found[: chance.choice((4, 5, 5, 3))])


def _items(chance: random.Random) -> tuple[Item, ...]:
    return tuple(
        Item(chance.choice(("a", "b", "c")), (chance.choice((1, 2)), [0, chance.randint(2, 6)]))
        for _ in range(chance.randint(0, 4))
    )
