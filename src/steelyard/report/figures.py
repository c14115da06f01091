"""Figures as every view prints them: with their n, what is missing and their interval."""

from __future__ import annotations

import math
from collections.abc import Sequence

from steelyard.analysis.model import Estimate
from steelyard.analysis.number_text import (
    DIFFERENCE,
    NOT_AVAILABLE,
    SHARES,
    difference,
    in_unit,
    money,
    percent,
    percentage,
    plain,
    points,
    seconds,
    told_apart,
    whole,
)

__all__ = [
    "DIFFERENCE",
    "NOT_AVAILABLE",
    "difference",
    "in_unit",
    "money",
    "percent",
    "percentage",
    "plain",
    "points",
    "seconds",
    "told_apart",
    "whole",
]
UNDEFINED = "undefined"


def threshold(fraction: float) -> str:
    """A declared fraction with no more digits than it needs: `75 %`, `62.5 %`."""
    return f"{round(fraction * 100, 2):g} %"


def signed(value: float | None) -> str:
    """A number that is more or less than nothing, in points: `+0.42`."""
    text = plain(value)
    return text if value is None or text.startswith("-") or float(text) == 0 else f"+{text}"


def interval(estimate: Estimate, unit: str = "share") -> str:
    """The 95 % interval as `[78.1, 91.0]`; `undefined` below n 2, `no interval` for what else cannot be bounded."""
    if estimate.low is None or estimate.high is None:
        return no_interval(estimate.n)
    return f"[{_bare(estimate.low, unit)}, {_bare(estimate.high, unit)}]"


def no_interval(n: int) -> str:
    """What stands for an interval that there is not: one reading says nothing of noise."""
    return "no interval" if n > 1 else UNDEFINED


def _bare(value: float, unit: str) -> str:
    if unit.startswith(DIFFERENCE):
        return difference(value, unit.removeprefix(DIFFERENCE), bare=True)
    return f"{percentage(value):.1f}" if unit in SHARES and abs(value) <= 1 else in_unit(value, unit)


def base(n: int, n_missing: int = 0) -> str:
    """What a figure stands on: `n 50`, or `n 48, 2 missing`."""
    return f"n {n:,}, {n_missing:,} missing" if n_missing else f"n {n:,}"


def bare_base(estimate: Estimate) -> str:
    """What a figure stands on, under a heading that already says n: `50`, or `48, 2 missing`."""
    return _base_of(estimate).removeprefix("n ")


def _base_of(estimate: Estimate) -> str:
    return base(estimate.n, estimate.n_missing) + (", all the same" if estimate.constant else "")


def with_base(estimate: Estimate, unit: str = "share") -> str:
    """A figure with its interval, n and missing: `85.4 % [78.1, 91.0] n 50`."""
    parts = [in_unit(estimate.value, unit)]
    if estimate.low is not None and estimate.high is not None:
        parts.append(interval(estimate, unit))
    return " ".join([*parts, _base_of(estimate)])


def pass_rate(estimate: Estimate, passing: str) -> str:
    """The pass rate with its threshold: `76.0 % (score >= 75 %) [62.6, 85.7] n 50`."""
    if not passing:
        return f"{NOT_AVAILABLE} (the suite declares no pass threshold) {base(estimate.n, estimate.n_missing)}"
    value, *rest = with_base(estimate).split(" [", 1)
    if rest:
        return f"{value} ({passing}) [{rest[0]}"
    return f"{percent(estimate.value)} ({passing}) {base(estimate.n, estimate.n_missing)}"


def on_scale(value: float | None, scale: Sequence[float] = (0.0, 1.0)) -> str:
    """A component's value: a percentage on the scale 0..1, otherwise the number with its scale (`3.82 of 1..5`)."""
    if tuple(scale) == (0.0, 1.0):
        return percent(value)
    if value is None or not math.isfinite(value):
        return NOT_AVAILABLE
    return f"{value:.2f} of {scale[0]:g}..{scale[1]:g}"


def interval_on_scale(estimate: Estimate, scale: Sequence[float] = (0.0, 1.0)) -> str:
    """The 95 % interval of a component's average, in the numbers that `on_scale` prints."""
    if tuple(scale) == (0.0, 1.0):
        return interval(estimate)
    if estimate.low is None or estimate.high is None:
        return no_interval(estimate.n)
    return f"[{estimate.low:.2f}, {estimate.high:.2f}]"


def band_count(share: Estimate) -> str:
    """How many samples a share stands for: `29 of 50`."""
    if share.value is None:
        return f"0 of {share.n:,}"
    return f"{round(share.value * share.n):,} of {share.n:,}"


def counted(number: int, one: str, many: str = "") -> str:
    """A count with its noun: `1 sample`, `2 samples`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"
