"""What a suite says of the confidences in its answers: buckets, and what a right and a wrong claim are worth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from steelyard.suite.draft import Draft
from steelyard.suite.file import Share

_DEFAULT_BUCKETS = {"high": 0.8, "medium": 0.6, "low": 0.0}


class UtilityPart(BaseModel):
    """What one claim that is kept is worth; one that is dropped is worth 0."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    right: float = Field(default=1.0, gt=0, allow_inf_nan=False, description="What a right claim is worth.")
    wrong: float = Field(default=-1.0, lt=0, allow_inf_nan=False, description="What a wrong one costs, below 0.")


class ConfidencePart(BaseModel):
    """How confidences in answers are looked at; a suite whose answers carry none needs nothing of it."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    buckets: dict[str, Share] = Field(
        default=_DEFAULT_BUCKETS,
        min_length=1,
        description="Groups of confidences by the one they start at, the surest first and the last at 0.",
    )
    utility: UtilityPart = Field(
        default=UtilityPart(), description="What the best threshold is the best for: a right and a wrong claim."
    )
    bins: int = Field(default=10, ge=2, le=100, description="Equal parts of 0 to 1 for the calibration error.")


@dataclass(frozen=True, slots=True)
class ConfidenceBucket:
    """Confidences of `at_least` and above, up to the next bucket; the surest one holds 1.0 too."""

    name: str
    at_least: float


@dataclass(frozen=True, slots=True)
class ConfidenceRules:
    """How a suite wants confidences looked at."""

    buckets: tuple[ConfidenceBucket, ...] = tuple(
        ConfidenceBucket(name, start) for name, start in _DEFAULT_BUCKETS.items()
    )
    """The surest first; the last starts at 0."""
    right: float = 1.0
    wrong: float = -1.0
    bins: int = 10

    def as_data(self) -> dict[str, Any]:
        """As a run's header keeps it."""
        return {
            "buckets": [{"name": bucket.name, "at_least": bucket.at_least} for bucket in self.buckets],
            "utility": {"right": self.right, "wrong": self.wrong},
            "bins": self.bins,
        }

    @staticmethod
    def from_data(data: Mapping[str, Any] | None) -> ConfidenceRules:
        """The rules back from `as_data`; those that hold where nobody said anything for None."""
        if data is None:
            return ConfidenceRules()
        buckets = tuple(ConfidenceBucket(each["name"], each["at_least"]) for each in data["buckets"])
        return ConfidenceRules(buckets, data["utility"]["right"], data["utility"]["wrong"], data["bins"])


def build_confidence(raw: Any, draft: Draft) -> ConfidenceRules | None:
    """The suite's rules, or None when it has none or everything wrong with them is noted."""
    if raw is None:
        return None
    part = draft.check_part(ConfidencePart, raw, ("confidence",))
    if part is None:
        return None
    buckets = _buckets(part.buckets, draft)
    if buckets is None:
        return None
    return ConfidenceRules(buckets, part.utility.right, part.utility.wrong, part.bins)


def _buckets(starts: dict[str, float], draft: Draft) -> tuple[ConfidenceBucket, ...] | None:
    """The buckets, or None with the reasons noted."""
    before = len(draft.mistakes)
    buckets = [ConfidenceBucket(name, start) for name, start in starts.items()]
    for surer, other in pairwise(buckets):
        place = ("confidence", "buckets", other.name)
        if surer.at_least == other.at_least:
            draft.tell(f"confidence.buckets: {surer.name} and {other.name} start at the same confidence", place)
        elif surer.at_least < other.at_least:
            told = f"{other.name} starts above {surer.name}"
            draft.tell(f"confidence.buckets go from the surest to the least sure: {told}", place)
    lowest = min(buckets, key=lambda bucket: bucket.at_least)
    if lowest.at_least > 0:
        told = f"confidence.buckets: the lowest one, {lowest.name}, must start at 0, so that every confidence has one"
        draft.tell(told, ("confidence", "buckets", lowest.name))
    return None if len(draft.mistakes) > before else tuple(buckets)
