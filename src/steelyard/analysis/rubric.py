"""The rubric of a run's judge, read from the suite as the run's header describes it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from steelyard.suite.judge import JudgeDescription
from steelyard.suite.labels import Label
from steelyard.suite.models import SuiteDescription

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


def described_rubric(suite: SuiteDescription) -> DescribedRubric | None:
    """The rubric of the suite's judge; None for a suite without one."""
    judge = suite.judge
    if judge is None:
        return None
    rubric = judge.rubric
    return DescribedRubric(
        mode=judge.mode,
        dimensions={dimension.name: dimension.weight for dimension in rubric.dimensions},
        flags={flag.name: flag.fails for flag in rubric.flags},
        low=float(rubric.low),
        high=float(rubric.high),
        neutral=float(rubric.neutral),
        passing=suite.passing.at_least if suite.passing else None,
        others_weigh=any(each.weight > 0 and each.name not in rubric.names for each in suite.components),
        labels_chosen=judge.labels_are == "chosen",
        epsilon=judge.epsilon,
        checked=_checked(judge),
    )


def _checked(judge: JudgeDescription) -> frozenset[str]:
    asked = {
        "RULE_BROKEN": judge.rules,
        "MADE_UP_QUOTE": judge.evidence,
        "UNPROVEN": judge.evidence,
        "CONTRADICTION": judge.check,
        "TOO_FEW_REASONS": judge.reasons and judge.reasons.at_least,
    }
    return frozenset(code for code, what in asked.items() if what)
