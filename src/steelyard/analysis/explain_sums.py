"""Readings put together: sums, means, middle values and ratios, with what stands in their formulas."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from steelyard.analysis.explain_readings import Reading
from steelyard.suite.gates import Gate

Inputs = tuple[tuple[str, float], ...]
_POINTS = {"median": 0.5, "latency.p50": 0.5, "latency.p95": 0.95, "latency.p99": 0.99}
_ENDS = {"latency.min": 0.0, "latency.max": 1.0}
_SUMS = {
    "findings.total": "findings",
    "findings.<code>": "findings",
    "findings.<code>.samples": "samples with it",
    "cost.total": "sum of costs",
    "tokens.in": "sum of tokens",
    "tokens.out": "sum of tokens",
}
_NUMERATORS = {
    "pass_rate": "passed",
    "scored_rate": "scored",
    "malformed_rate": "malformed",
    "inconclusive_rate": "inconclusive",
    "band.<band>": "in the band",
    "findings.<code>.rate": "with it",
}


@dataclass(frozen=True, slots=True)
class Combined:
    """A figure of many readings; None when it stands on nothing."""

    value: float | None
    n: int
    inputs: Inputs = ()
    residuals: tuple[float, ...] = ()
    """Of a measure, by how much each sample is above or below what the ratio would give it."""
    said: tuple[str, ...] = ()


def combined(gate: Gate, readings: Sequence[Reading], absent: int = 0) -> Combined:
    """The figure that a metric makes of these; `absent` more count as not scored, or as inconclusive."""
    if gate.measure:
        return _measure(readings)
    values = [reading.value for reading in readings if reading.value is not None]
    n = len(values) + absent
    if not n:
        return Combined(None, 0)
    if gate.pattern in _POINTS or gate.pattern in _ENDS:
        return quantile(values, {**_POINTS, **_ENDS}[gate.pattern])
    total = math.fsum(values) + (absent if gate.pattern == "inconclusive_rate" else 0)
    if gate.pattern in _SUMS:
        return Combined(total, n, ((_SUMS[gate.pattern], total), ("n", n)))
    name = _NUMERATORS.get(gate.pattern, "sum")
    return Combined(total / n, n, ((name, total), ("n", n)))


def quantile(values: Sequence[float], point: float) -> Combined:
    """The value below which the share `point` lies, on the straight line between the two nearest; nothing of none."""
    if not values:
        return Combined(None, 0)
    ranked = sorted(values)
    place = point * (len(ranked) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ranked) - 1)
    value = ranked[below] + (ranked[above] - ranked[below]) * (place - below)
    inputs: Inputs = (("n", len(ranked)), (f"value at rank {below + 1}", ranked[below]))
    if above != below and place > below:
        inputs += ((f"value at rank {above + 1}", ranked[above]), ("of the way between", place - below))
    return Combined(value, len(ranked), inputs)


def _measure(readings: Sequence[Reading]) -> Combined:
    known = [reading for reading in readings if reading.ratios]
    n_ratios = len(known[0].ratios) if known else 0
    sums = [tuple(math.fsum(pair[side] for pair in _known(known, at)) for side in (0, 1)) for at in range(n_ratios)]
    ratios = [above / below if below > 0 else None for above, below in sums]
    there = [ratio for ratio in ratios if ratio is not None]
    inputs: Inputs = (("n", len(known)),)
    for at, (above, below) in enumerate(sums):
        mark = f" {at + 1}" if n_ratios > 1 else ""
        inputs += ((f"numerator{mark}", above), (f"denominator{mark}", below))
    if not there:
        return Combined(None, len(known), inputs)
    residuals = tuple(_residual(reading, ratios, sums, len(there)) for reading in known)
    said = tuple(_said(reading) for reading in known)
    return Combined(math.fsum(there) / len(there), len(known), inputs, residuals, said)


def _known(readings: Sequence[Reading], at: int) -> list[tuple[float, float]]:
    return [pair for reading in readings if (pair := reading.ratios[at]) is not None]


def _residual(
    reading: Reading, ratios: Sequence[float | None], sums: Sequence[tuple[float, ...]], number: int
) -> float:
    """What the figure would lack without this sample, nearly: numerator - ratio x denominator, over the sum of all."""
    found = 0.0
    for pair, ratio, (_, below) in zip(reading.ratios, ratios, sums, strict=True):
        if pair is not None and ratio is not None:
            found += (pair[0] - ratio * pair[1]) / below
    return found / number


def _said(reading: Reading) -> str:
    return ", ".join("none" if pair is None else f"{pair[0]:g} / {pair[1]:g}" for pair in reading.ratios)
