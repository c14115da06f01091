"""How samples ended, how their calls failed, and how answers were read, as numbers of samples."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from steelyard.metrics.kinds import Aggregate
from steelyard.metrics.registry import Contributions, Labels, Metric, Names, Reasons, register, same_but
from steelyard.metrics.run_data import RunData
from steelyard.stats.arrays import Array, tally, translated


def _labels(data: RunData) -> Labels:
    """The outcomes that occur."""
    table = data.table
    present = np.flatnonzero(tally(table.outcome, len(table.outcomes)))
    return Labels(
        [table.outcomes[code] for code in present.tolist()],
        None,
        np.searchsorted(present, table.outcome),
        np.ones(table.n, dtype=bool),
    )


def _of_one(data: RunData, names: Names) -> Contributions:
    return _labels(data).of(names[0], once=True)


def _excluded(data: RunData, _: Names) -> Contributions:
    return Contributions(data.table.excluded.astype(float))


def _planned(data: RunData, _: Names) -> Contributions:
    return Contributions(np.ones(data.table.n), absent=1.0)


OUTCOME = register(
    Metric(
        "outcomes.<outcome>",
        "count",
        "samples that ended so",
        "samples that ended so",
        "a sample judged by another kind of judge counts as scored here",
        Aggregate.SUM,
        _of_one,
        "",
        gate=False,
        stands_on="samples that ended so",
        labels=_labels,
        all_names=lambda data: [(name,) for name in _labels(data).names],
    )
)
register(
    same_but(
        OUTCOME,
        name="outcomes.excluded",
        about="scored samples judged by another kind of judge than the run's",
        formula="scored samples judged by another kind of judge than the run's",
        counts="they are in no other figure",
        contributions=_excluded,
        labels=None,
        all_names=None,
    )
)
register(
    same_but(
        OUTCOME,
        name="outcomes.planned",
        about="planned samples",
        formula="stored samples + planned samples that are missing",
        counts="what is missing is in no slice",
        contributions=_planned,
        labels=None,
        all_names=None,
        derived=True,
    )
)
register(
    same_but(
        OUTCOME,
        name="samples",
        about="stored samples",
        formula="stored samples",
        counts="those that were planned and are missing are left out",
        contributions=lambda data, _: Contributions(np.ones(data.table.n)),
        labels=None,
        all_names=None,
        sliced=False,
        stands_on="stored samples",
    )
)


def _family(
    like: Metric, labels: Callable[[RunData], Labels], *, name: str, formula: str, counts: str, **more: Any
) -> Metric:
    """Register what samples are counted by, in the whole run."""

    def of_one(data: RunData, names: Names) -> Contributions:
        return labels(data).of(names[0], once=True)

    def all_names(data: RunData) -> list[Names]:
        return [(item,) for item in labels(data).names]

    more |= {"about": formula, "formula": formula, "counts": counts, "sliced": False}
    return register(
        same_but(like, name=name, contributions=of_one, labels=labels, all_names=all_names, better="lower", **more)
    )


def _by_frequency(codes: Array, names: Sequence[str], available: Array, excluded: Reasons = ()) -> Labels:
    """One label a sample, those that occur, most frequent first."""
    counts = tally(codes, len(names)) if len(codes) == len(available) else np.zeros(len(names), dtype=int)
    ranked = sorted(np.flatnonzero(counts).tolist(), key=lambda code: (-counts[code], names[code]))
    place = {code: rank for rank, code in enumerate(ranked)}
    label = translated(codes, [place.get(code, -1) for code in range(len(names))]) if ranked else codes
    return Labels([names[code] for code in ranked], None, label, available, excluded)


def _failures(data: RunData) -> Labels:
    return _by_frequency(data.columns.failure, data.columns.failures, np.ones(data.table.n, dtype=bool))


def _first_failures(data: RunData) -> Labels:
    called = ~np.isnan(data.table.attempts())
    return _by_frequency(*data.table.first_failures(), called, (("no call was made", None),))


def _steps(data: RunData) -> Labels:
    return _by_frequency(data.columns.step, data.columns.steps, np.ones(data.table.n, dtype=bool))


_FAILURE = _family(
    OUTCOME,
    _failures,
    name="failures.<kind>",
    formula="samples whose call failed in that way",
    counts="every sample is looked at",
    stands_on="stored samples",
)
_family(
    _FAILURE,
    _first_failures,
    name="first_failures.<kind>",
    formula="calls whose first attempt failed in that way, whatever came of later ones",
    counts="answers for which no call was made are left out",
    of="calls",
    stands_on="calls",
)
_family(
    _FAILURE,
    _steps,
    name="steps.<step>",
    formula="answers that were extracted in this way",
    counts="samples without an answer are on no step",
)
