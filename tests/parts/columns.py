"""Columns of made-up runs for the tests of analysis and release."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from steelyard.records import Outcome
from steelyard.store.base import Columns


@dataclass
class Made:
    """One made-up sample."""

    case: str
    score: float | None = None
    outcome: str = "scored"
    variant: str = ""
    repeat: int = 0
    category: str | None = None
    difficulty: str | None = None
    tags: tuple[str, ...] = ()
    parts: dict[str, float | None] = field(default_factory=dict)
    findings: tuple[str | tuple[str, str, float], ...] = ()
    """Codes, as runs of before gains were noted have them, or (code, component, gain)."""
    latency: float | None = 1.0
    tokens: tuple[int, int] | None = None
    cost: float | None = None
    failure: str | None = None
    counts: dict[str, dict[str, int]] = field(default_factory=dict)
    """By component."""
    first_byte: float | None = None
    first_token: float | None = None
    queued: float | None = None
    cached: bool = False
    error_answer: bool = False


BANDS = [("Good", 0.75), ("Fair", 0.5), ("Poor", 0.0)]


def suite(**changes: Any) -> dict[str, Any]:
    """A suite as a run's header describes it: two components 70 : 30, pass at 75 %, three bands."""
    return {
        "name": "made",
        "components": [
            {"name": "name", "weight": 70.0, "code": "NAME", "scale": [0.0, 1.0], "wrong_below": 0.5},
            {"name": "value", "weight": 30.0, "code": "VALUE", "scale": [0.0, 1.0], "wrong_below": 0.5},
        ],
        "bands": [{"name": name, "at_least": at_least} for name, at_least in BANDS],
        "passing": {"at_least": 0.75, "text": "score >= 75 %"},
        "gates": [],
        "taxonomy": [{"code": "FORMAT", "about": "", "severity": "error"}],
        "variants": [""],
        "repeats": 1,
        "limits": {"max_inconclusive": 0.05},
    } | changes


def columns(made: list[Made]) -> Columns:
    """The columns that a store would give for these samples, codes numbered as the names come."""
    codes: dict[str, dict[str, int]] = {}

    def code(kind: str, name: str | None) -> int:
        known = codes.setdefault(kind, {})
        return -1 if name is None else known.setdefault(name, len(known))

    def names(kind: str) -> list[str]:
        return list(codes.get(kind, {}))

    def numbers(values: list[Any]) -> np.ndarray:
        return np.array([np.nan if value is None else float(value) for value in values], dtype=float)

    def coded(kind: str, values: list[str | None]) -> np.ndarray:
        return np.array([code(kind, value) for value in values], dtype=int)

    for case in sorted({each.case for each in made}):
        code("case", case)
    conclusive = [Outcome(each.outcome).conclusive for each in made]
    parts = {name for each in made for name in each.parts}
    tagged = [(i, code("tag", tag)) for i, each in enumerate(made) for tag in each.tags]
    told = [
        (i, (each, "", 0.0) if isinstance(each, str) else each) for i, one in enumerate(made) for each in one.findings
    ]
    found = [(i, code("finding", name)) for i, (name, _, _) in told]
    noted = [each for one in made for each in one.findings if not isinstance(each, str)]
    counted = {(part, name) for each in made for part, counts in each.counts.items() for name in counts}
    return Columns(
        n=len(made),
        case=coded("case", [each.case for each in made]),
        case_ids=names("case"),
        variant=coded("variant", [each.variant for each in made]),
        variants=names("variant"),
        repeat=np.array([each.repeat for each in made], dtype=int),
        outcome=coded("outcome", [each.outcome for each in made]),
        outcomes=names("outcome"),
        score=numbers([each.score for each in made]),
        passed=np.array(
            [
                -1 if not ok or each.score is None else int(each.score >= 0.75)
                for ok, each in zip(conclusive, made, strict=True)
            ],
            dtype=int,
        ),
        band=coded("band", [_band(each) if ok else None for ok, each in zip(conclusive, made, strict=True)]),
        bands=names("band"),
        category=coded("category", [each.category for each in made]),
        categories=names("category"),
        difficulty=coded("difficulty", [each.difficulty for each in made]),
        difficulties=names("difficulty"),
        tag_sample=np.array([i for i, _ in tagged], dtype=int),
        tag=np.array([i for _, i in tagged], dtype=int),
        tags=names("tag"),
        components={name: numbers([each.parts.get(name) for each in made]) for name in sorted(parts)},
        finding_sample=np.array([i for i, _ in found], dtype=int),
        finding_code=np.array([i for _, i in found], dtype=int),
        finding_codes=names("finding"),
        finding_component=np.array([code("component", part) for _, (_, part, _) in told if noted], dtype=int),
        finding_components=names("component"),
        finding_gain=np.array([gain for _, (_, _, gain) in told if noted]),
        counts={
            part: {
                name: numbers([each.counts.get(part, {}).get(name) for each in made])
                for name in sorted(name for owner, name in counted if owner == part)
            }
            for part in sorted({part for part, _ in counted})
        },
        latency=numbers([each.latency for each in made]),
        first_byte=numbers([each.first_byte for each in made]),
        first_token=numbers([each.first_token for each in made]),
        queued=numbers([each.queued for each in made]),
        cached=np.array([each.cached for each in made], dtype=bool),
        error_answer=np.array([each.error_answer for each in made], dtype=bool),
        tokens_in=numbers([each.tokens and each.tokens[0] for each in made]),
        tokens_out=numbers([each.tokens and each.tokens[1] for each in made]),
        cost=numbers([each.cost for each in made]),
        failure=coded("failure", [each.failure for each in made]),
        failures=names("failure"),
    )


def _band(made: Made) -> str | None:
    if made.score is None:
        return None
    return next(name for name, at_least in BANDS if made.score >= at_least)
