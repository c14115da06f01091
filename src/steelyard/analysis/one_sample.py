"""The score and the time of one sample, as it was scored."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from steelyard.metrics.kinds import Aggregate
from steelyard.metrics.registry import Contributions, Metric, Names, register, same_but
from steelyard.metrics.run_data import RunData
from steelyard.stats.arrays import Array


def _samples(data: RunData) -> Iterator[Names]:
    columns, seen = data.columns, set()
    for case, repeat in zip(columns.case.tolist(), columns.repeat.tolist(), strict=True):
        if (case, repeat) not in seen:
            seen.add((case, repeat))
            yield columns.case_ids[case], str(repeat + 1)


def _of_sample(values: Callable[[RunData], Array]) -> Callable[[RunData, Names], Contributions]:
    """The value of one repeat of a case; under every variant, where none is said."""

    def contributions(data: RunData, names: Names) -> Contributions:
        case_id, repeat = names
        columns = data.columns
        here = np.zeros(data.table.n, dtype=bool)
        if case_id in columns.case_ids and repeat.isdecimal():
            here = (columns.case == columns.case_ids.index(case_id)) & (columns.repeat == int(repeat) - 1)
        return Contributions(np.where(here, values(data), np.nan), not_missing=~here)

    return contributions


def _score(data: RunData) -> Array:
    columns = data.columns
    return np.where(data.table.malformed, 0.0, columns.score)


def _latency(data: RunData) -> Array:
    latency = data.table.reported("latency")
    return np.where(latency > 0, latency, np.nan)


_SCORE = register(
    Metric(
        "case.<case>.repeat.<repeat>.score",
        "score",
        "score of one sample",
        "sum of weight x share of the scale / sum of weights",
        "one sample, as it was scored; a malformed answer has no components",
        Aggregate.SUM,
        _of_sample(_score),
        gate=False,
        listed=True,
        all_names=_samples,
        stands_on="one sample",
    )
)
register(
    same_but(
        _SCORE,
        name="case.<case>.repeat.<repeat>.latency",
        unit="s",
        about="seconds of the call of one sample",
        formula="seconds of the call, as recorded",
        counts="one sample",
        contributions=_of_sample(_latency),
        better="lower",
    )
)
