"""How often a target or a judge failed, or an answer had the wrong shape, in A and in B."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from steelyard.metrics.registry import metric
from steelyard.pairing.changes import Cut
from steelyard.pairing.figures import Figure, metric_figure
from steelyard.pairing.model import MetricChange
from steelyard.pairing.pairs import Pairing
from steelyard.pairing.runs import ComparedRun
from steelyard.records import Outcome
from steelyard.stats.arrays import Array
from steelyard.stats.groups import Groups
from steelyard.stats.paired import case_starts

_INCONCLUSIVE = (Outcome.TARGET_FAILED, Outcome.JUDGE_FAILED)


def failure_changes(a: ComparedRun, b: ComparedRun, pairing: Pairing, *, bounds: bool = False) -> list[MetricChange]:
    """Every rate of failure in A and in B, not yet judged."""
    first, second, unit = pairing.asked
    repeated = len(case_starts(unit)) < len(unit)
    everything = Cut(Groups([""], np.zeros(len(unit), dtype=np.int8), unit if repeated else None), unit)
    return everything.of_all(failure_figures(a, b, first, second), bounds=bounds)


def failure_figures(a: ComparedRun, b: ComparedRun, first: Array, second: Array) -> Iterator[Figure]:
    """Every rate of failure, as columns of the pairs that were asked the same."""

    def sides(*outcomes: Outcome) -> tuple[Array, Array]:
        return _is(a, outcomes)[first], _is(b, outcomes)[second]

    # Both kinds of failures are parts of the inconclusive.
    whole = metric("inconclusive_rate")
    yield metric_figure(whole, a, *sides(*_INCONCLUSIVE))
    yield metric_figure(whole, a, *sides(Outcome.TARGET_FAILED), name="target_failed_rate")
    if a.mode is not None or b.mode is not None:
        yield metric_figure(whole, a, *sides(Outcome.JUDGE_FAILED), name="judge_failed_rate")
    silent = np.logical_or(*sides(*_INCONCLUSIVE))
    malformed = [np.where(silent, np.nan, column) for column in sides(Outcome.MALFORMED)]
    yield metric_figure(metric("malformed_rate"), a, malformed[0], malformed[1])


def _is(run: ComparedRun, outcomes: tuple[Outcome, ...]) -> Array:
    """1 for the samples that ended so, else 0."""
    codes = [i for i, name in enumerate(run.columns.outcomes) if name in outcomes]
    return np.isin(run.columns.outcome, codes).astype(float)
