"""Made-up comparisons for the tests of their views."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from parts.columns import Made
from parts.compared import compared
from parts.reports import HOSTILE
from steelyard.comparing.compare import compare
from steelyard.comparing.model import Comparison
from steelyard.records import Verdict
from steelyard.suite.case import Case

N = 20
_BEFORE = [1.0] * 10 + [0.0] * 10
_AFTER = [0.0] + [1.0] * 18 + [0.0]


def _samples(scores: list[float], **more: Any) -> list[Made]:
    """Case k is in category `even` or `odd` and called easy in its first half."""
    return [
        Made(
            f"c{k:02d}",
            score,
            category="even" if k % 2 == 0 else "odd",
            difficulty="easy" if k < N / 2 else "hard",
            tags=("all",),
            parts={"name": score, "value": 0.5},
            **more,
        )
        for k, score in enumerate(scores)
    ]


def better(**b: Any) -> Comparison:
    """10 of 20 pass in A; in B 9 more pass and 1 does not any more: p = 22 / 1024."""
    return compare(compared(_samples(_BEFORE)), compared(_samples(_AFTER), id="made-2", **b))


def worse() -> Comparison:
    """The same the other way round."""
    return compare(compared(_samples(_AFTER)), compared(_samples(_BEFORE), id="made-2"))


def cannot_tell() -> Comparison:
    """Of 20 cases one is fixed."""
    return compare(compared(_samples(_BEFORE)), compared(_samples([1.0] * 11 + [0.0] * 9), id="made-2"))


def same() -> Comparison:
    """A run and itself."""
    run = compared(_samples(_BEFORE))
    return compare(run, run)


def another_judge(*, allow_mismatch: bool = False) -> Comparison:
    """Better by far, and judged by somebody else."""
    a = compared(_samples(_BEFORE), signature={"judge": "j1"})
    b = compared(_samples(_AFTER), id="made-2", signature={"judge": "j2"})
    return compare(a, b, allow_mismatch=allow_mismatch)


def other_truth() -> Comparison:
    """The truth of three cases is another."""
    cases = {f"c{k:02d}": Case(f"c{k:02d}", f"c{k:02d}", "relabelled") for k in range(3)}
    return better(cases=cases)


def inconclusive_in_b() -> Comparison:
    """14 of 17 have inconclusive in B; the other three are broken."""
    a = [Made(f"c{k:02d}", 1.0) for k in range(17)]
    b = [Made(f"c{k:02d}", None, "judge_failed") for k in range(14)] + [Made(f"c{k}", 0.0) for k in range(14, 17)]
    return compare(compared(a), compared(b, id="made-2"))


def nothing_comparable() -> Comparison:
    """Two runs of different cases."""
    found = {"findings": ("MISSED",)}
    return compare(
        compared([Made("x", 1.0, **found)], sections=["main"]),
        compared([Made("y", 1.0, **found)], id="made-2", sections=["main"]),
    )


def regenerated() -> Comparison:
    """80 texts in A and 70 others in B: 48 and 56 pass, and of 5 more in A the call failed."""

    def samples(side: str, n: int, right: int) -> list[Made]:
        return [
            Made(
                f"{side}{k:02d}",
                float(k < right),
                category=("long", "short")[k % 2],
                parts={"name": float(k < right)},
                findings=() if k < right else ("WRONG_ROLE",),
            )
            for k in range(n)
        ]

    a, b = samples("a", 80, 48), samples("b", 70, 56)
    a += [Made(f"f{k}", None, "target_failed", category="long") for k in range(5)]
    return compare(
        compared(a, confusions=[("shot", "style")] * 32, sections=["main"] * 32),
        compared(b, id="made-2", confusions=[("shot", "action")] * 14, sections=["specs"] * 14),
    )


def old_run() -> Comparison:
    """A has neither components nor latency nor cost, holds no texts, and does not say what it was scored with."""
    a = compared(
        [Made(f"c{k:02d}", score, latency=None) for k, score in enumerate(_BEFORE)],
        contents=False,
    )
    a.header.signature = replace(a.header.signature, scorers=None)
    return compare(a, compared(_samples(_AFTER, cost=0.25, tokens=(10, 5)), id="made-2"))


def invalid(*, allow_mismatch: bool = False) -> Comparison:
    """B is no reading."""
    b = compared(_samples(_AFTER), id="made-2", verdict=Verdict.INVALID)
    return compare(compared(_samples(_BEFORE)), b, allow_mismatch=allow_mismatch)


def no_pass_rule() -> Comparison:
    """Scores rise by 10, 11 and 12 points, and nobody has said what passes."""
    scores = [0.1 * (k % 5) for k in range(15)]
    raised = [score + 0.1 + 0.01 * (k % 3) for k, score in enumerate(scores)]
    described = {"passing": None}
    return compare(
        compared(_samples(scores), described=described), compared(_samples(raised), id="made-2", described=described)
    )


def only_the_average_fell() -> Comparison:
    """All pass in A and in B, and every score falls by 14, 15 or 16 points."""
    fallen = [0.8 + 0.01 * (k % 2 * 2 - 1 if k < 18 else 0) for k in range(N)]
    return compare(compared(_samples([0.95] * N)), compared(_samples(fallen), id="made-2"))


def said_beside() -> Comparison:
    """What a judge says beyond its scores moves, too: a mean on its own scale and one of two counts."""
    components = [
        {"name": "name", "weight": 1.0, "code": "NAME", "scale": [0.0, 1.0]},
        {"name": "shot_coverage", "weight": 0.0, "code": "", "scale": [1, 5]},
        {"name": "reasons", "weight": 0.0, "code": "", "scale": [0, 1]},
    ]

    def samples(by: int) -> list[Made]:
        return [
            Made(
                f"c{k:02d}",
                0.8 + by / 10,
                parts={"name": 0.5 + by / 4 + 0.01 * (k % 2), "shot_coverage": 2.0 + by + k % 2},
                counts={"reasons": {"header": 3 - 2 * by + k % 2, "other": 1}},
            )
            for k in range(N)
        ]

    described = {"components": components}
    return compare(compared(samples(0), described=described), compared(samples(1), id="made-2", described=described))


def rich() -> Comparison:
    """Everything that can move moves: groups, codes, confusions, sections, latency, tokens and cost."""
    a = [
        Made(
            f"case-{k:03d}",
            0.4 if k % 3 else 0.9,
            category=("subject", "shot", "style")[k % 3],
            difficulty="hard",
            variant=variant,
            tags=("long",) if k % 2 else (),
            parts={"name": 0.5 + 0.01 * (k % 7), "value": 0.4},
            findings=("WRONG_ROLE", "MISSED"),
            latency=1.2 + k / 100,
            tokens=(1200 + k, 300 + k),
            cost=0.0012 + k / 1e6,
        )
        for k in range(24)
        for variant in ("plain", "terse")
    ]
    b = [
        Made(
            one.case,
            0.9 if one.category != "style" else 0.3,
            category=one.category,
            difficulty="hard",
            variant=one.variant,
            tags=one.tags,
            parts={"name": 0.8, "value": 0.4},
            findings=("WRONG_ROLE",) if k % 4 else ("TOO_FINE", "WRONG_ROLE"),
            latency=(one.latency or 0) + 0.3 + k / 1000,
            tokens=(1100, 290),
            cost=0.0009,
        )
        for k, one in enumerate(a)
    ]
    a[5].outcome, a[5].score = "target_failed", None
    n_b = sum(len(one.findings) for one in b)
    return compare(
        compared(
            a,
            confusions=[("subject.wardrobe", "style.look"), None] * len(a),
            sections=["main", "specs"] * len(a),
            described={"variants": ["plain", "terse"]},
        ),
        compared(
            b,
            id="made-2",
            confusions=[
                ("shot.type", "camera.angle") if k % 2 else ("subject.wardrobe", "style.look") for k in range(n_b)
            ],
            sections=["main" if k % 5 else "alternatives" for k in range(n_b)],
            described={"variants": ["plain", "terse"]},
            signature={"model": "n", "target": "x2"},
        ),
    )


def hostile() -> Comparison:
    """Every foreign text tries to get out."""
    text = " ".join(HOSTILE).replace("\ud800", "")
    a = [Made(f"{text} {k}", 0.0, category=text, tags=(text,), findings=(text,)) for k in range(8)]
    b = [Made(f"{text} {k}", 1.0, category=text, tags=(text,), findings=("same",)) for k in range(8)]
    signature = {"model": text, "target": "x2", "text": text}
    return compare(
        compared([*a, Made("other", 1.0, category="better")], confusions=[(text, "better")] * 8, sections=[text] * 8),
        compared(
            [*b, Made("other", 1.0, category="better")],
            confusions=[("worse", text)] * 8,
            sections=["same"] * 8,
            id=text,
            signature=signature,
        ),
    )


ALL = {
    each.__name__: each
    for each in (
        better,
        worse,
        cannot_tell,
        same,
        another_judge,
        other_truth,
        inconclusive_in_b,
        nothing_comparable,
        regenerated,
        old_run,
        invalid,
        no_pass_rule,
        only_the_average_fell,
        said_beside,
        rich,
        hostile,
    )
}
