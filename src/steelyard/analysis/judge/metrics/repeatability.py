"""How far a judge agrees with itself on one text."""

from __future__ import annotations

import numpy as np

from steelyard.analysis.judge.define import JACKKNIFE, judge_metric, rows_of
from steelyard.analysis.judge.metrics.scale import NO_SCORE
from steelyard.analysis.judge.votes import Votes, text_rows, vote_rows, votes_in
from steelyard.metrics.kinds import Aggregate
from steelyard.metrics.registry import Contributions
from steelyard.stats.agreement import krippendorff_alpha
from steelyard.stats.arrays import Array
from steelyard.stats.intervals import Estimate


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
