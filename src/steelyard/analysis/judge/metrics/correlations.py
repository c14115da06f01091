"""What moves together in a judge: two dimensions, vote by vote, and scores with the length of the text."""

from __future__ import annotations

from itertools import combinations

from steelyard.analysis.judge.define import judge_metric, rows_of, without_sign
from steelyard.analysis.judge.metrics.scale import NO_SCORE, scores
from steelyard.analysis.judge.votes import Votes, vote_rows, votes_in
from steelyard.metrics.registry import Contributions, Names
from steelyard.metrics.run_data import RunData
from steelyard.stats.agreement import score_correlation, spearman
from steelyard.stats.intervals import Estimate


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
