"""What a summary says of every code that was found, side by side, for tests that compare it with sums by hand."""

from __future__ import annotations

from dataclasses import dataclass

from steelyard.analysis.model import Summary
from steelyard.stats.intervals import Estimate


@dataclass
class Found:
    """One code with its figures of the whole run."""

    code: str
    count: int
    samples: Estimate
    if_fixed: Estimate
    gain: float
    at_most: bool
    has_weight: bool


def found_codes(summary: Summary) -> list[Found]:
    """The codes in the order of the summary; a gain that is not known is 0."""
    overall = summary.overall
    return [
        Found(
            each.code,
            overall.count(f"findings.{each.code}"),
            overall[f"findings.{each.code}.rate"],
            overall[f"if_fixed.{each.code}"],
            overall[f"gain.{each.code}"].value or 0.0,
            each.at_most,
            each.has_weight,
        )
        for each in summary.codes
    ]


def gains(summary: Summary) -> list[float]:
    """What each priority would gain, in their order."""
    return [summary.overall[f"gain.{each.component}"].value or 0.0 for each in summary.priorities]
