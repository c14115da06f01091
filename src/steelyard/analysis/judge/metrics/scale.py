"""How a judge uses its scale: how often the highest score, how far apart, and what rules make of its scores."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from steelyard.analysis.judge.define import judge_metric, rows_of, share_of_texts
from steelyard.analysis.judge.rubric import DescribedRubric
from steelyard.analysis.judge.votes import Votes, text_rows
from steelyard.metrics.kinds import NO_INTERVAL, Aggregate
from steelyard.metrics.registry import Contribute, Contributions
from steelyard.stats.arrays import Array
from steelyard.stats.intervals import Estimate, settled

NO_SCORE = "no score of the run's own mode"


def scores(votes: Votes, name: str) -> Contributions:
    """The score of every text, as the judge gave it."""
    return text_rows(votes, votes.uncapped(name), NO_SCORE)


def _between(ends: Callable[[DescribedRubric], tuple[float, float]]) -> Contribute:
    """Whether a text's score lies between two others."""

    def rows(votes: Votes, name: str) -> Contributions:
        given, (low, high) = votes.uncapped(name), ends(votes.rubric)
        return text_rows(votes, share_of_texts((given >= low) & (given <= high), ~np.isnan(given)), NO_SCORE)

    return rows_of(rows)


judge_metric(
    "top_share.<dimension>",
    "share",
    "scores at the top of the scale",
    "texts with the highest score of the scale, as the judge gave it / texts with a score",
    _between(lambda rubric: (rubric.high, rubric.high)),
    of="texts",
)
judge_metric(
    "middle_share.<dimension>",
    "share",
    "scores at the neutral one and the one above it",
    "texts with the neutral score or the next above it / texts with a score",
    _between(lambda rubric: (rubric.neutral, min(rubric.neutral + 1, rubric.high))),
    of="texts",
)


def _spread(votes: Votes, name: str) -> Estimate:
    """The standard deviation of the scores; n/a below two."""
    every = votes.uncapped(name)
    given = ~np.isnan(every)
    available, n, missing = every[given], int(given.sum()), int((~given).sum())
    if n < 2:
        return Estimate(None, n, missing)
    return Estimate(settled(round(float(available.std(ddof=1)), 12)), n, missing)


judge_metric(
    "spread.<dimension>",
    "points",
    "standard deviation of the scores",
    "root of the sum of squared distances from the mean / (n - 1)",
    rows_of(scores),
    better="higher",
    of="texts",
    figure=_spread,
    interval=NO_INTERVAL,
)


def _dimension(value: Callable[[Array, Array], Array]) -> Contribute:
    """What a text's score as the judge gave it, and after rules and checks, come to."""

    def rows(votes: Votes, name: str) -> Contributions:
        raw, after = votes.uncapped(name), votes.capped(name)
        known = ~(np.isnan(raw) | np.isnan(after))
        return text_rows(votes, np.where(known, value(raw, after), np.nan), NO_SCORE)

    return rows_of(rows)


for _name, _unit, _about, _formula, _value in (
    (
        *("capped", "share", "texts whose score was capped", "texts whose score was capped / texts with a score"),
        lambda raw, after: raw != after,
    ),
    (
        *("uncapped_mean", "points", "mean score as the judge gave it", "sum of scores as the judge gave them / n"),
        lambda raw, _: raw,
    ),
    (
        *("capped_mean", "points", "mean score after rules and checks", "sum of scores after rules and checks / n"),
        lambda _, after: after,
    ),
):
    judge_metric(
        f"dimension.<dimension>.{_name}",
        _unit,
        _about,
        _formula,
        _dimension(_value),
        better="lower" if _unit == "share" else "higher",
        gate=False,
        of="texts",
        aggregate=Aggregate.RATE if _unit == "share" else Aggregate.MEAN,
        scale=lambda votes: votes.rubric.scale,
    )
