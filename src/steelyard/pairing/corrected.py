"""The pass rates of two runs as corrected by their labels: compared as two independent estimates, without pairs."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from steelyard.analysis.judge.corrected import labels_of
from steelyard.metrics.registry import CORRECTED, metric
from steelyard.pairing.model import MetricChange
from steelyard.pairing.runs import ComparedRun
from steelyard.stats.intervals import SHARES, Estimate, Z, independent_difference


def corrected_changes(a: ComparedRun, b: ComparedRun) -> list[MetricChange]:
    """The pass rates of two runs by their labels, and how far they lie apart; nothing where one of them has none.

    They count as independent: where the same cases make them alike, the interval is rather too wide.
    """
    before, after = map(_by_labels, (a, b))
    if before.value is None or after.value is None:
        return []
    difference, p = replace(independent_difference(before, after), n=min(before.n, after.n)), None
    value, low, high = difference.value or 0.0, difference.low, difference.high
    if low is not None and high is not None and high > low:
        half = value - low if value > 0 else high - value
        p = math.erfc(abs(value) / half * Z / math.sqrt(2)) if half else 0.0
    which = metric(CORRECTED)
    ends = (before, after, difference)
    return [MetricChange(CORRECTED, which.group, "share", "higher", *ends, p, test="unpaired", scale=SHARES)]


def _by_labels(run: ComparedRun) -> Estimate:
    labels = None if run.store is None else labels_of(run.store, run.header.id, run.data)
    return Estimate(None, 0) if labels is None else labels.corrected(np.arange(run.columns.n)).rate
