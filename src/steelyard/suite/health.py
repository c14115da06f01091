"""What a suite may ask of its judge: `agreement.tone.kappa >= 0.6`, `top_share.tone <= 10 %`, `broken_rules <= 5 %`.

Parsing and checking only; `judge check` computes the figures.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from decimal import Decimal

from steelyard.suite.bounds import Bounds, in_words, settled_within
from steelyard.suite.gates import split_sides
from steelyard.suite.judge_model import JudgeModel, Rubric
from steelyard.suite.spelling import listed, meant


@dataclass(frozen=True, slots=True)
class HealthMetric:
    """One figure about a judge; a part in angle brackets is filled with a dimension or a flag."""

    name: str
    unit: str
    """"share" lies in 0..1, "points" on the width of the scale, "kappa" in -1..1, "alpha" goes up to 1, "size" is a
    correlation without its sign."""
    about: str
    needs: str = ""
    """What the judge must have, so that there is such a figure: labels, rules, evidence, a check, or several
    dimensions."""

    @property
    def parts(self) -> tuple[str, ...]:
        """The name, split at its dots."""
        return tuple(self.name.split("."))


HEALTH: dict[str, HealthMetric] = {
    metric.name: metric
    for metric in (
        HealthMetric("agreement.<dimension>.exact", "share", "scores inside the allowed range", "labels"),
        HealthMetric(
            "agreement.<dimension>.within_one",
            "share",
            "scores in the allowed range or at most one point outside it",
            "labels",
        ),
        HealthMetric("agreement.<dimension>.kappa", "kappa", "weighted kappa between judge and labels", "labels"),
        HealthMetric("agreement.<dimension>.alpha", "alpha", "Krippendorff's alpha of judge and labels", "labels"),
        HealthMetric("agreement.<dimension>.bias", "points", "mean of judge minus best, without its sign", "labels"),
        HealthMetric("flag.<flag>.precision", "share", "labelled true, among those the judge flagged", "labels"),
        HealthMetric("flag.<flag>.recall", "share", "flagged by the judge, among those labelled true", "labels"),
        HealthMetric("top_share.<dimension>", "share", "scores at the top of the scale"),
        HealthMetric("middle_share.<dimension>", "share", "scores at the neutral one and the one above it"),
        HealthMetric("spread.<dimension>", "points", "standard deviation of the scores"),
        HealthMetric("together.<dimension>", "size", "largest correlation with another dimension", "dimensions"),
        HealthMetric("length.<dimension>", "size", "correlation with the length of the text"),
        HealthMetric("repeatability.<dimension>", "share", "texts with the same score in all repeats"),
        HealthMetric("broken_rules", "share", "ballots that broke a binding rule", "rules"),
        HealthMetric("made_up_quotes", "share", "ballots with a quote that is not in the text", "evidence"),
        HealthMetric("unproven", "share", "ballots with a high score without a quote", "evidence"),
        HealthMetric("contradictions", "share", "ballots with a complaint that the answer shows to be wrong", "check"),
        HealthMetric("failed", "share", "answered ballots that could not be used"),
        HealthMetric("unanswered", "share", "ballots whose calls were never answered"),
        HealthMetric("cut_off", "share", "answered ballots that broke off at the limit of tokens"),
        HealthMetric("strict", "share", "ballots that came in the shape asked for, at once"),
        HealthMetric("basic", "share", "ballots of which only the scores could be read"),
        HealthMetric("disagreement", "share", "samples whose ballots are far apart"),
    )
}
"""Every figure that a threshold may stand on."""

_RIGHT = re.compile(r"\s*(?P<number>[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,4})?)\s*(?P<percent>%)?\s*")
_SHAPE = "write <metric> <operator> <number>, for instance: agreement.tone.kappa >= 0.6"
_LACKS = {
    "labels": "the judge has no labels: say where they are, as in labels: expected.labels",
    "rules": "the judge has no binding rules",
    "evidence": "the judge owes no evidence",
    "check": "the judge's complaints are not checked: write check: module:function",
    "dimensions": "the rubric has a single dimension",
}


@dataclass(frozen=True, slots=True)
class HealthThreshold:
    """One threshold on one figure about a judge."""

    text: str
    metric: str
    """As written: `agreement.tone.kappa`."""
    subject: str
    """The dimension or flag that fills the angle brackets; "" when there are none."""
    operator: str
    threshold: float
    pattern: str = ""
    """The key into HEALTH: `agreement.<dimension>.kappa`."""
    unit: str = ""


def parse_health(text: str, rubric: Rubric) -> HealthThreshold:
    """The threshold that a text says; ValueError with a message for a person when it says none or decides nothing."""
    names, sign, rest = split_sides(text, "health", _SHAPE)
    right = _RIGHT.fullmatch(rest)
    if right is None:
        raise ValueError(
            f"health {text!r}: {rest.strip()!r} is not a number; after {sign} write for instance 0.6, 10 %"
        )
    metric, subject = _metric(text, names)
    _check_subject(text, metric, subject, rubric)
    limit = _limit(text, metric, Decimal(right["number"]), percent=right["percent"] is not None)
    bounds = _bounds(metric, rubric)
    always = settled_within(sign, limit, bounds)
    written = ".".join(subject if part.startswith("<") else part for part in metric.parts)
    if always is not None:
        told = "fail" if always else "pass"
        raise ValueError(f"health {text!r} cannot {told}: {written} is always {in_words(bounds)}")
    return HealthThreshold(text.strip(), written, subject, sign, limit, metric.name, metric.unit)


def lacking(threshold: HealthThreshold, judge: JudgeModel) -> str | None:
    """Why a judge can never have the figure that a threshold stands on, or None."""
    there = {
        "": True,
        "labels": bool(judge.labels),
        "rules": bool(judge.rules),
        "evidence": judge.evidence is not None,
        "check": judge.check is not None,
        "dimensions": len(judge.rubric.dimensions) > 1,
    }
    needs = HEALTH[threshold.pattern].needs
    return None if there[needs] else f"health {threshold.text!r}: {_LACKS[needs]}"


def _metric(text: str, names: list[str]) -> tuple[HealthMetric, str]:
    """The figure those names spell and what fills its angle brackets."""
    for metric in HEALTH.values():
        if len(metric.parts) != len(names):
            continue
        pairs = list(zip(metric.parts, names, strict=True))
        if all(part == name or part.startswith("<") for part, name in pairs):
            return metric, next((name for part, name in pairs if part.startswith("<")), "")
    written = ".".join(names)
    hint = meant(written, HEALTH) or f"; there are: {listed(HEALTH)}"
    raise ValueError(f"health {text!r}: there is no figure {written!r} about a judge{hint}")


def _check_subject(text: str, metric: HealthMetric, subject: str, rubric: Rubric) -> None:
    if not subject:
        return
    what = "flag" if "<flag>" in metric.parts else "dimension"
    known = [one.name for one in (rubric.flags if what == "flag" else rubric.dimensions)]
    if subject not in known:
        hint = meant(subject, known) or (f"; there are: {listed(known)}" if known else "; the rubric has none")
        raise ValueError(f"health {text!r}: there is no {what} {subject!r}{hint}")


def _limit(text: str, metric: HealthMetric, number: Decimal, *, percent: bool) -> float:
    if percent and metric.unit != "share":
        raise ValueError(f"health {text!r}: {metric.name} is not measured in %; it takes a plain number")
    if not math.isfinite(float(number)):
        raise ValueError(f"health {text!r}: {number} is beyond every number that can be measured")
    if metric.unit == "share" and number > (100 if percent else 1):
        hint = "%, which no share is" if percent else f": write {number} % or {number / 100}"
        raise ValueError(f"health {text!r}: {number} is above {'100 ' if percent else '1'}{hint}")
    return float(number / 100) if percent else float(number)


def _bounds(metric: HealthMetric, rubric: Rubric) -> Bounds:
    if metric.unit == "points":
        return 0.0, float(rubric.high - rubric.low)
    return {"share": (0.0, 1.0), "size": (0.0, 1.0), "kappa": (-1.0, 1.0), "alpha": (-math.inf, 1.0)}[metric.unit]
