"""How samples ended, as numbers of samples: metrics that reports have and no gate can name."""

from __future__ import annotations

import numpy as np

from steelyard.metrics.kinds import Aggregate
from steelyard.metrics.registry import Contributions, Labels, Metric, Names, register, same_but
from steelyard.metrics.run_data import RunData


def _labels(data: RunData) -> Labels:
    """The outcomes that occur."""
    table = data.table
    present = np.unique(table.outcome)
    return Labels(
        [table.outcomes[code] for code in present.tolist()],
        None,
        np.searchsorted(present, table.outcome),
        np.ones(table.n, dtype=bool),
    )


def _of_one(data: RunData, names: Names) -> Contributions:
    values = _labels(data).of(names[0], once=True).values
    # Every sample is looked at; those that ended otherwise are no part of the number.
    return Contributions(np.where(values > 0, values, np.nan), not_missing=values == 0)


def _excluded(data: RunData, _: Names) -> Contributions:
    return Contributions(np.where(data.table.excluded, 1.0, np.nan), not_missing=~data.table.excluded)


def _planned(data: RunData, _: Names) -> Contributions:
    return Contributions(np.ones(data.table.n), absent=1.0)


_OUTCOME = register(
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
        _OUTCOME,
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
        _OUTCOME,
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
