"""How a judge uses its scale: how often the highest score, how far apart, what moves together, what it repeats."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import numpy as np

from steelyard.analysis.judge.define import JACKKNIFE, judge_metric, rows_of, share_of_texts, without_sign
from steelyard.analysis.judge.rubric import DescribedRubric
from steelyard.analysis.judge.votes import Votes, text_rows, vote_rows, votes_in
from steelyard.metrics.kinds import NO_INTERVAL, Aggregate
from steelyard.metrics.registry import Contribute, Contributions, Names
from steelyard.metrics.run_data import RunData
from steelyard.stats.agreement import krippendorff_alpha, score_correlation, spearman
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


# What moves together: two dimensions, vote by vote, and scores with the length of the text.


def _correlation(votes: Votes, first: str, second: str) -> Estimate:
    key = tuple(sorted((first, second), key=list(votes.rubric.dimensions).index))
    one, other = (votes.stated(name) for name in key)
    return score_correlation(one, other, "pearson", votes.unit[votes.text])


def _pair_rows(data: RunData, names: Names) -> Contributions:
    votes = votes_in(data)
    one, other = (votes.stated(name) for name in names)
    return vote_rows(data, votes, one - other, NO_SCORE)


judge_metric(
    "correlation.<dimension>.<other>",
    "size",
    "correlation of two dimensions, vote by vote",
    "Pearson's correlation of the scores of both",
    _pair_rows,
    better="",
    gate=False,
    figure=lambda votes, first, second: votes.once(_correlation, first, second),
    names=lambda votes: combinations(votes.rubric.dimensions, 2),
    counts="of every vote the difference of the two scores is listed",
)


def _together(votes: Votes, name: str) -> Estimate:
    """The largest correlation of the dimension with another, without its sign; n/a when it has none."""
    pairs = [pair for pair in combinations(votes.rubric.dimensions, 2) if name in pair]
    every = [votes.once(_correlation, *pair) for pair in pairs]
    known = [item for item in every if item.value is not None]
    if known:
        return without_sign(max(known, key=lambda item: abs(item.value or 0.0)))
    return every[0] if every else Estimate(None, 0)


judge_metric(
    "together.<dimension>",
    "size",
    "largest correlation with another dimension",
    "largest of Pearson's correlations with the other dimensions, vote by vote, without its sign",
    lambda data, names: vote_rows(data, votes_in(data), votes_in(data).stated(names[0]), NO_SCORE),
    needs="dimensions",
    figure=_together,
)


def _length(votes: Votes, name: str) -> Estimate:
    return spearman(votes.uncapped(name), votes.length, votes.unit)


judge_metric(
    "length.<dimension>",
    "size",
    "correlation with the length of the text",
    "Spearman's correlation of score and characters, without its sign",
    rows_of(scores),
    of="texts",
    figure=lambda votes, name: without_sign(votes.once(_length, name)),
)
judge_metric(
    "length.<dimension>.correlation",
    "size",
    "correlation with the length of the text, with its sign",
    "Spearman's correlation of score and characters",
    rows_of(scores),
    better="",
    gate=False,
    of="texts",
    figure=lambda votes, name: votes.once(_length, name),
)


# How far it agrees with itself on one text.


def _readings(votes: Votes, name: str) -> tuple[Array, Array, Array, Array]:
    """By text and member with a vote: the text, how many scores, the lowest and the highest less that; and by vote its
    row there."""
    given = votes.stated(name)
    n_members = int(votes.member.max()) + 1 if votes.n else 1
    group, row = np.unique(votes.text.astype(np.int64) * n_members + votes.member, return_inverse=True)
    times = np.bincount(row[~np.isnan(given)], minlength=len(group))
    return group // n_members, times, row, given


def _same_again(votes: Votes, name: str) -> Contributions:
    text, times, row, given = _readings(votes, name)
    present = ~np.isnan(given)
    lowest, highest = np.full(len(text), np.inf), np.full(len(text), -np.inf)
    np.minimum.at(lowest, row[present], given[present])
    np.maximum.at(highest, row[present], given[present])
    return text_rows(votes, np.where(times > 1, lowest == highest, np.nan), "read only once by a member", text)


def _moved(votes: Votes, name: str) -> Contributions:
    text, times, row, given = _readings(votes, name)
    present = ~np.isnan(given)
    apart = np.where(times > 1, _mean_distance(given[present], row[present], times), np.nan)
    return text_rows(votes, apart, "read only once by a member", text)


def _mean_distance(scores: Array, row: Array, times: Array) -> Array:
    """For each group, the mean distance between two of its scores."""
    order = np.lexsort((scores, row))
    ranked, group = scores[order], row[order]
    rank = np.arange(len(group)) - np.searchsorted(group, group)
    # In sorted order the k-th of n is above k others and below n - 1 - k.
    total = np.bincount(group, ranked * (2 * rank - times[group] + 1), minlength=len(times))
    return np.asarray(total / np.maximum(times * (times - 1) / 2, 1))


judge_metric(
    "repeatability.<dimension>",
    "share",
    "texts with the same score in all repeats",
    "texts that one member scored several times, with one and the same score / all that one scored several times",
    rows_of(_same_again),
    better="higher",
    of="texts",
)
judge_metric(
    "moved.<dimension>",
    "points",
    "how far apart two scores of one member for one text lie",
    "mean distance between two scores of one member for one text",
    rows_of(_moved),
    gate=False,
    of="texts",
    aggregate=Aggregate.MEAN,
    scale=lambda votes: (0.0, votes.rubric.high - votes.rubric.low),
)


def _reliability(votes: Votes, name: str) -> Estimate:
    """Krippendorff's alpha between the votes on each text; missing are the texts with fewer than two readings."""
    place = np.arange(votes.n) - votes.first[votes.text]
    ratings = np.full((int(place.max()) + 1 if len(place) else 1, votes.n_texts), np.nan)
    ratings[place, votes.text] = votes.stated(name)
    return krippendorff_alpha(ratings, case=votes.unit)


judge_metric(
    "reliability.<dimension>",
    "alpha",
    "Krippendorff's alpha between all votes on a text",
    "1 - disagreement within texts / disagreement expected by chance, ordinal",
    lambda data, names: vote_rows(data, votes_in(data), votes_in(data).stated(names[0]), NO_SCORE),
    better="higher",
    gate=False,
    of="texts",
    figure=_reliability,
    interval=JACKKNIFE,
)
judge_metric(
    "flag.<flag>.share",
    "share",
    "texts that the judge flagged",
    "texts that the judge flagged / texts with a reading",
    rows_of(
        lambda votes, name: text_rows(
            votes, share_of_texts(votes.uncapped(name) == 1, ~np.isnan(votes.uncapped(name))), NO_SCORE
        )
    ),
    better="",
    gate=False,
    of="texts",
)
