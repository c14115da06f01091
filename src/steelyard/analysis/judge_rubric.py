"""A judge against its rubric and against itself: how it uses the scale, what moves together, what it repeats."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np

from steelyard.analysis.ballots import Ballots
from steelyard.analysis.judge_model import SelfHealth, Together
from steelyard.stats.agreement import FEWEST, krippendorff_alpha, score_correlation
from steelyard.stats.arrays import Array
from steelyard.stats.groups import mean, share
from steelyard.stats.intervals import ANYWHERE, Estimate, settled


def share_between(scores: Array, low: float, high: float, case: Array) -> Estimate:
    """The share of the scores that are given which lie from `low` to `high`."""
    return share((scores >= low) & (scores <= high), ~np.isnan(scores), case)


def spread(scores: Array, case: Array) -> Estimate:
    """The standard deviation of the scores that are given; n/a below two.

    The interval is Student's of its logarithm (delta method, over cases), which keeps it above 0.
    """
    given = ~np.isnan(scores)
    known, n, missing = scores[given], int(given.sum()), int((~given).sum())
    if n < 2:
        return Estimate(None, n, missing)
    value = settled(round(float(known.std(ddof=1)), 12))
    squares = mean((known - known.mean()) ** 2, case[given], ANYWHERE)
    if value == 0 or squares.low is None or not squares.value:
        return Estimate(value, n, missing)
    half = math.exp((squares.value - squares.low) / squares.value / 2)
    return Estimate(value, n, missing, value / half, value * half)


def pairs_of(ballots: Ballots) -> tuple[Together, ...]:
    """Every two dimensions compared ballot by ballot, those that move together most first."""
    case = ballots.unit[ballots.text]
    found = []
    for first, second in combinations(ballots.rubric.dimensions, 2):
        one, other = ballots.said(first), ballots.said(second)
        known = ~(np.isnan(one) | np.isnan(other))
        identical = int(known.sum()) >= FEWEST and bool((one[known] == other[known]).all())
        found.append(Together(first, second, score_correlation(one, other, "pearson", case), identical))
    return tuple(sorted(found, key=lambda pair: (not pair.identical, -abs(pair.correlation.value or 0.0))))


def repeated(ballots: Ballots, name: str) -> tuple[Estimate, Estimate]:
    """Of the texts that one member read several times, the share with one and the same score, and how far apart two
    readings lie on average. Texts with fewer than two readings of a member are missing."""
    scores = ballots.said(name)
    n_members = int(ballots.member.max()) + 1 if ballots.n else 1
    group, row = np.unique(ballots.text * n_members + ballots.member, return_inverse=True)
    known = ~np.isnan(scores)
    times = np.bincount(row[known], minlength=len(group))
    lowest, highest = np.full(len(group), np.inf), np.full(len(group), -np.inf)
    np.minimum.at(lowest, row[known], scores[known])
    np.maximum.at(highest, row[known], scores[known])
    several = times > 1
    case = ballots.unit[group // n_members]
    low, high = ballots.rubric.scale
    apart = np.where(several, _mean_distance(scores[known], row[known], times), np.nan)
    return share(lowest == highest, several, case), mean(apart, case, (0.0, high - low))


def _mean_distance(scores: Array, row: Array, times: Array) -> Array:
    """For each group, the mean distance between two of its scores."""
    order = np.lexsort((scores, row))
    ranked, group = scores[order], row[order]
    rank = np.arange(len(group)) - np.searchsorted(group, group)
    # In sorted order the k-th of n is above k others and below n - 1 - k.
    total = np.bincount(group, ranked * (2 * rank - times[group] + 1), minlength=len(times))
    return np.asarray(total / np.maximum(times * (times - 1) / 2, 1))


def reliability(ballots: Ballots, name: str) -> Estimate:
    """Krippendorff's alpha between the ballots on each text; missing are the texts with fewer than two readings."""
    order = np.argsort(ballots.text, kind="stable")
    text = ballots.text[order]
    place = np.arange(len(text)) - np.searchsorted(text, text)
    ratings = np.full((int(place.max()) + 1 if len(place) else 1, ballots.n_texts), np.nan)
    ratings[place, text] = ballots.said(name)[order]
    return krippendorff_alpha(ratings, case=ballots.unit)


def _remarked(code: str, ballots: Ballots, case: Array) -> Estimate:
    """The share of ballots with such a remark; n/a when the judge is not asked for what it is about."""
    if code not in ballots.rubric.checked:
        return Estimate(None, 0)
    return share(ballots.remarked(code), ballots.main, case)


def against_itself(ballots: Ballots) -> SelfHealth:
    """What the judge did against its own instructions, and how its answers could be read."""
    case = ballots.unit[ballots.text]
    everything = np.ones(ballots.n, dtype=bool)
    rungs = {name: share(ballots.rung == code, everything, case) for name, code in ballots.rung_names.items()}
    readings = np.bincount(ballots.text[ballots.main], minlength=ballots.n_texts)
    broken, made_up, unproven, reasons, contradictions = (
        _remarked(code, ballots, case)
        for code in ("RULE_BROKEN", "MADE_UP_QUOTE", "UNPROVEN", "TOO_FEW_REASONS", "CONTRADICTION")
    )
    return SelfHealth(
        broken_rules=broken,
        by_rule=dict(sorted(ballots.broken.items(), key=lambda pair: (-pair[1], pair[0]))),
        made_up_quotes=made_up,
        unproven=unproven,
        too_few_reasons=reasons,
        contradictions=contradictions,
        failed=share(ballots.failed, ~ballots.unanswered, case),
        unanswered=share(ballots.unanswered, everything, case),
        cut_off=share(ballots.cut_off, ~ballots.unanswered, case),
        rungs=dict(sorted(rungs.items(), key=lambda pair: (-(pair[1].value or 0.0), pair[0]))),
        disagreement=share(ballots.disagreed, readings > 1, ballots.unit),
    )
