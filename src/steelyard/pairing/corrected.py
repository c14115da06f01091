"""Two independent estimates, and the pass rates of two runs as corrected by their labels: no pairs are needed."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from steelyard.analysis.judge.corrected import labels_of
from steelyard.metrics.registry import CORRECTED, metric
from steelyard.pairing.model import MetricChange
from steelyard.pairing.runs import ComparedRun
from steelyard.stats.intervals import SHARES, Estimate, Z


def apart(a: Estimate, b: Estimate) -> Estimate:
    """B minus A of two independent estimates; no interval where one of them has none."""
    if a.value is None or b.value is None:
        return Estimate(None, 0)
    difference, n = b.value - a.value, a.n + b.n
    if a.low is None or a.high is None or b.low is None or b.high is None:
        return Estimate(difference, n)
    down, up = math.hypot(b.value - b.low, a.high - a.value), math.hypot(b.high - b.value, a.value - a.low)
    return Estimate(difference, n, 0, difference - down, difference + up)


def corrected_changes(a: ComparedRun, b: ComparedRun) -> list[MetricChange]:
    """The pass rates of two runs by their labels, and how far they lie apart; nothing where one of them has none.

    They count as independent: where the same cases make them alike, the interval is rather too wide.
    """
    before, after = map(_by_labels, (a, b))
    if before.value is None or after.value is None:
        return []
    difference, p = replace(apart(before, after), n=min(before.n, after.n)), None
    value, low, high = difference.value or 0.0, difference.low, difference.high
    if low is not None and high is not None and high > low:
        half = value - low if value > 0 else high - value
        p = math.erfc(abs(value) / half * Z / math.sqrt(2)) if half else 0.0
    which = metric(CORRECTED)
    ends = (before, after, difference)
    return [MetricChange(CORRECTED, which.group, "share", "higher", *ends, p, test="unpaired", scale=SHARES)]


def _by_labels(run: ComparedRun) -> Estimate:
    labels = None if run.store is None else labels_of(run.store, run.header.id, run.data)
    return Estimate(None, 0) if labels is None else labels.rate(np.arange(run.columns.n))
