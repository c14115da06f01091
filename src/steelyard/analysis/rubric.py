"""The rubric of a run's judge, read from the suite as the run's header describes it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from steelyard.suite.labels import Label

Labels = Mapping[str, Label | bool]
"""What a careful reviewer says of one case, by dimension and flag; see `suite.labels.labels_of`."""
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class DescribedRubric:
    """What analysis needs to know of a judge."""

    mode: str
    """The run's main mode: readings of any other are counted aside."""
    dimensions: dict[str, float]
    """Names with their weights, in the rubric's order."""
    flags: dict[str, bool]
    """Names with whether a flagged text has failed."""
    low: float
    high: float
    neutral: float
    passing: float | None
    """The share of the full score at which a text passes; None when the suite does not say."""
    others_weigh: bool
    """Whether anything but the rubric's dimensions counts in a score."""
    labels_chosen: bool
    """Whether texts were picked to be labelled for what they are; else the labelled are a random part of all."""
    epsilon: float
    """How much less often than a person the judge may agree with the others, in the alternative annotator test."""
    checked: frozenset[str]
    """The codes of remarks that this judge can earn: what is not asked of it, it cannot fail."""

    @property
    def scale(self) -> tuple[float, float]:
        """Lowest and highest score."""
        return self.low, self.high

    def passes(self, labels: Labels) -> bool | None:
        """Whether a reviewer's best scores and flags make a text pass; None when they do not tell."""
        weights = {name: weight for name, weight in self.dimensions.items() if weight > 0}
        if self.passing is None or self.others_weigh or not weights:
            return None
        flagged = [labels.get(name) for name, fails in self.flags.items() if fails]
        best = {name: label.best for name, label in labels.items() if isinstance(label, Label)}
        # Labels with a gap could tell only of texts that fail, which are no random part of all.
        if None in flagged or not best.keys() >= weights.keys():
            return None
        earned = sum(weight * (best[name] - self.low) for name, weight in weights.items())
        share = earned / (self.high - self.low) / sum(weights.values())
        return True not in flagged and share >= self.passing - _ROUNDING


def described_rubric(suite: Mapping[str, Any]) -> DescribedRubric | None:
    """The rubric of the suite's judge; None for a suite without one."""
    judge = suite.get("judge")
    if not judge:
        return None
    rubric = judge["rubric"]
    low, high = rubric["scale"]
    dimensions = {str(each["name"]): float(each["weight"]) for each in rubric["dimensions"]}
    flags = {str(each["name"]): bool(each["fails"]) for each in rubric["flags"]}
    others = [
        each
        for each in suite.get("components") or ()
        if float(each["weight"]) > 0 and each["name"] not in dimensions and each["name"] not in flags
    ]
    passing = suite.get("passing")
    return DescribedRubric(
        mode=str(judge["mode"]),
        dimensions=dimensions,
        flags=flags,
        low=float(low),
        high=float(high),
        neutral=float(rubric["neutral"]),
        passing=float(passing["at_least"]) if passing else None,
        others_weigh=bool(others),
        labels_chosen=judge.get("labels_are") == "chosen",
        epsilon=float(judge.get("epsilon", 0.2)),
        checked=_checked(judge),
    )


def _checked(judge: Mapping[str, Any]) -> frozenset[str]:
    asked = {
        "RULE_BROKEN": judge.get("rules"),
        "MADE_UP_QUOTE": judge.get("evidence"),
        "UNPROVEN": judge.get("evidence"),
        "CONTRADICTION": judge.get("check"),
        "TOO_FEW_REASONS": (judge.get("reasons") or {}).get("at_least"),
    }
    return frozenset(code for code, what in asked.items() if what)
