"""How often a target or a judge failed, or an answer had the wrong shape, in A and in B.

These are figures of every pair that was asked the same question, with a reading or without: over comparable pairs
alone nothing would ever fail.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from steelyard.analysis.compare_model import MetricChange
from steelyard.analysis.compared_figures import FORMAT, Cut, Figure, share
from steelyard.analysis.compared_run import ComparedRun
from steelyard.analysis.pairing import Pairing
from steelyard.metrics.registry import metric
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
    better = metric("inconclusive_rate").better_in(a.suite)
    yield share("inconclusive_rate", "failures", better, *sides(*_INCONCLUSIVE))
    yield share("target_failed_rate", "failures", better, *sides(Outcome.TARGET_FAILED))
    if a.mode is not None or b.mode is not None:
        yield share("judge_failed_rate", "failures", better, *sides(Outcome.JUDGE_FAILED))
    silent = np.logical_or(*sides(*_INCONCLUSIVE))
    malformed = [np.where(silent, np.nan, column) for column in sides(Outcome.MALFORMED)]
    yield share("malformed_rate", FORMAT, metric("malformed_rate").better_in(a.suite), malformed[0], malformed[1])


def _is(run: ComparedRun, outcomes: tuple[Outcome, ...]) -> Array:
    """1 for the samples that ended so, else 0."""
    codes = [i for i, name in enumerate(run.columns.outcomes) if name in outcomes]
    return np.isin(run.columns.outcome, codes).astype(float)
