"""How a metric of a judge is defined: its name without `judge.`, what it is, and the rows that it is made of.

    judge_metric("cut_off", "share", "answered votes that broke off", "votes cut off / answered votes",
                 OfVotes(lambda vote, rubric: None if is_unanswered(vote) else was_cut_off(vote)))

Rows are votes (`OfVotes`), judged texts (`OfTexts`), or what a function makes of the columns of all votes (`rows_of`).
What is no mean of its rows, such as a kappa, has a `figure`, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import product

import numpy as np

from steelyard.analysis.judge.rubric import described_rubric
from steelyard.analysis.judge.votes import Votes, text_rows, votes_in
from steelyard.metrics.kinds import Aggregate, OfFigure
from steelyard.metrics.registry import (
    OF_JUDGE,
    Better,
    Compared,
    Contribute,
    Contributions,
    Level,
    Metric,
    Names,
    register,
)
from steelyard.metrics.run_data import RunData
from steelyard.stats.arrays import Array
from steelyard.stats.intervals import Estimate

JACKKNIFE = "jackknife, one case left out at a time, by Fisher's transformation"
OF_VOTES = "a vote is one member's scores for a text in one judging repeat"
OF_TEXTS = "a text is a sample that a judge was asked about"


def judge_metric(
    name: str,
    unit: str,
    about: str,
    formula: str,
    rows: Contribute,
    *,
    better: Better = "lower",
    gate: bool = True,
    needs: str = "",
    of: str = "votes",
    level: Level = Level.VOTE,
    aggregate: Aggregate | None = None,
    figure: Callable[..., Estimate] | None = None,
    interval: str = JACKKNIFE,
    names: Callable[[Votes], Iterable[Names]] | None = None,
    counts: str = "",
    scale: Callable[[Votes], tuple[float, float]] | None = None,
    listed: bool = False,
) -> Metric:
    """Register a metric of a judge.

    `needs` is what the judge must have (see `JudgeModel.has`), `of` what `n` counts. Without an `aggregate` it is the
    share of rows that are 1 or, of another unit, their sum. A `figure` is made of the votes and what fills the name.
    `names` are what a run has of a name with angle brackets, where that is neither a dimension nor a flag.
    """
    usual = Aggregate.RATE if unit == "share" else Aggregate.SUM
    return register(
        Metric(
            OF_JUDGE + name,
            unit,
            about,
            formula,
            counts or (OF_VOTES if of == "votes" else OF_TEXTS),
            OfFigure(interval) if figure is not None else aggregate or usual,
            rows,
            better,
            level,
            gate=gate,
            sliced=False,
            listed=listed,
            of=of,
            stands_on=of,
            all_names=lambda data: _names(data, name, needs, names),
            figure=None if figure is None else lambda data, names: figure(votes_in(data), *names),
            compared=Compared.NO,
            for_sure=False,
            group="judge",
            scale=None if scale is None else lambda data, _: scale(votes_in(data)),
            needs=needs,
        )
    )


def _names(data: RunData, name: str, needs: str, names: Callable[[Votes], Iterable[Names]] | None) -> Iterable[Names]:
    """What fills the name of a metric in a run; nothing where its judge does not have it."""
    judge, rubric = data.suite.judge, described_rubric(data.suite)
    if judge is None or rubric is None or data.judged is None:
        return []
    if not (data.case_labels is not None if needs == "labels" else judge.has(needs)):
        return []
    if names is not None:
        return names(votes_in(data))
    filled: dict[str, Iterable[str]] = {"<dimension>": rubric.dimensions, "<flag>": rubric.flags}
    return product(*(list(filled[part]) for part in name.split(".") if part in filled))


def rows_of(make: Callable[..., Contributions]) -> Contribute:
    """The rows that a function makes of the votes of a run and of what fills the name."""
    return lambda data, names: make(votes_in(data), *names)


def share_of_texts(hits: Array, known: Array) -> Array:
    """1 or 0 by text, NaN where it is not known."""
    values: Array = np.where(known, hits, np.nan)
    return values


def labelled_rows(
    votes: Votes, values: Array, labelled: Array, detail: Callable[[int], str] | None = None
) -> Contributions:
    """Rows of the texts that have labels; `values` has one for each text."""
    texts = np.flatnonzero(labelled)
    words = None if detail is None else lambda row: detail(int(texts[row]))
    return text_rows(votes, values[texts].astype(float), "no score of the run's own mode", texts, words)


def without_sign(estimate: Estimate) -> Estimate:
    """A figure whose direction does not matter."""
    if estimate.value is None:
        return estimate
    value = abs(estimate.value)
    if estimate.low is None or estimate.high is None:
        return replace(estimate, value=value)
    ends = sorted((abs(estimate.low), abs(estimate.high)))
    across = estimate.low < 0 < estimate.high
    return replace(estimate, value=value, low=0.0 if across else ends[0], high=ends[1])
