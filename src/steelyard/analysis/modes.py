"""What each kind of judge says, on its own: scores of two kinds are never in one mean."""

from __future__ import annotations

import numpy as np

from steelyard.metrics.kinds import Aggregate
from steelyard.metrics.registry import Contributions, Metric, Names, register, same_but
from steelyard.metrics.run_data import RunData


def _modes(data: RunData) -> list[Names]:
    """The kinds of judges that scored samples, the run's main one first; none in a run without a judge."""
    judge = data.suite.judge
    if judge is None:
        return []
    ranked = sorted(data.table.modes, key=lambda name: (name != judge.mode, name))
    return [(mode,) for mode in ranked if not np.isnan(data.table.read_in(mode)).all()]


def _dimensions(data: RunData) -> list[Names]:
    """Each of them with each dimension of the rubric."""
    if data.suite.judge is None:
        return []
    from steelyard.analysis.judge.rubric import described_rubric

    rubric = described_rubric(data.suite)
    dimensions = [name for name in rubric.dimensions if name in data.table.components] if rubric else []
    return [(mode, name) for (mode,) in _modes(data) for name in dimensions]


def _scale(data: RunData, _: Names) -> tuple[float, float]:
    from steelyard.analysis.judge.rubric import described_rubric

    rubric = described_rubric(data.suite)
    return (0.0, 1.0) if rubric is None else rubric.scale


def _scores(data: RunData, names: Names) -> Contributions:
    return Contributions(data.table.read_in(*names), excluded=(("no score by that kind of judge", None),))


def _scored(data: RunData, names: Names) -> Contributions:
    return Contributions((~np.isnan(data.table.read_in(*names))).astype(float))


_ALONE = "each kind of judge on its own: scores of two kinds are never in one mean"
_AVERAGE = register(
    Metric(
        "mode.<mode>.average",
        "score",
        "average score of the samples that one kind of judge scored",
        "sum of scores / n",
        _ALONE,
        Aggregate.MEAN,
        _scores,
        gate=False,
        sliced=False,
        all_names=_modes,
        stands_on="samples that were scored in that mode",
    )
)
register(
    same_but(
        _AVERAGE,
        name="mode.<mode>.n",
        unit="count",
        about="samples that were scored in that mode",
        formula="samples that were scored in that mode",
        aggregate=Aggregate.SUM,
        contributions=_scored,
        better="lower",
        stands_on="stored samples",
    )
)
register(
    same_but(
        _AVERAGE,
        name="mode.<mode>.dimension.<dimension>",
        unit="points",
        about="mean of a dimension of the rubric, in points, of the samples that one kind of judge scored",
        formula="sum of the dimension's scores / n",
        all_names=_dimensions,
        scale=_scale,
    )
)
