"""Agreement of a judge with a careful reviewer: Cohen's kappa, Krippendorff's alpha, correlations, flags.

NaN is "no score" or "no label". Rows without a label are not spoken of; rows with a label and no score are missing.
Rows of one case are alike, and every interval allows for it.

Kappa, alpha and correlations are figures of a table of which scores met which. Their standard error is the
jackknife's, one case left out at a time, so that several texts of one case count as one; Fisher's transformation (of a
correlation, which a kappa of squared distances nearly is) keeps the interval below 1. What shows no spread has no
interval. scikit-learn, statsmodels and krippendorff are the oracles in the tests.

Rank correlation of any numbers, with its interval; undefined where one side does not vary or below three rows.

The alternative annotator test of Calderon, Reichart and Dror (2025): whether a judge may stand for a person.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from functools import partial
from itertools import combinations

import numpy as np

from steelyard.frozen import frozen
from steelyard.stats.arrays import Array
from steelyard.stats.intervals import (
    SHARES,
    Estimate,
    Scale,
    Z,
    bounded,
    clustered_share,
    perfect_bounds,
    score_bounds,
    settled,
    share_spreads,
    student,
    t_two_sided,
)
from steelyard.stats.resampling import MOST_BLOCKS

_HAIR = 1e-9


@frozen
class ConfusionMatrix:
    """How often the judge gave which score where the reviewer's best was which."""

    levels: tuple[float, ...]
    counts: tuple[tuple[int, ...], ...]
    """Rows are the reviewer's best score, columns the judge's, both in the order of `levels`."""


def confusion(judge: Array, best: Array, scale: Scale) -> ConfusionMatrix:
    """The table of best against judge, with every whole score of the scale and whatever else was given."""
    present = ~(np.isnan(judge) | np.isnan(best))
    low, high = scale
    whole = np.arange(low, high + 1) if high - low <= 10 else np.array(scale)
    levels = np.unique(np.concatenate((whole, judge[present], best[present])))
    row, column = np.searchsorted(levels, best[present]), np.searchsorted(levels, judge[present])
    counts = np.bincount(row * len(levels) + column, minlength=len(levels) ** 2).reshape(len(levels), -1)
    return ConfusionMatrix(tuple(levels.tolist()), tuple(tuple(count) for count in counts.tolist()))


Figure = Callable[[Array], Array]
"""From tables (table, row, column) to the figure of each; NaN where it is undefined."""
LEVELS = ("nominal", "ordinal", "interval", "ratio")
_NUMBERS_AT_ONCE, _NUMBERS_IN_ALL = 2**20, 2**26


def weighted_kappa(
    judge: Array, best: Array, *, power: int = 2, case: Array | None = None, missing: int = 0
) -> Estimate:
    """Cohen's kappa of two raters; disagreement weighs by distance to a power: 2 quadratic, 1 linear, 0 not at all.

    Pairs of which one score is NaN are missing. None when all scores of both are one and the same.
    """

    def figure(values: Array) -> Figure:
        apart = np.abs(values[:, None] - values[None, :])
        return partial(_kappa, weights=(apart > 0).astype(float) if power == 0 else apart**power)

    return _of_pairs(judge, best, case, missing, figure)


def score_correlation(judge: Array, best: Array, kind: str, case: Array) -> Estimate:
    """`pearson`, `spearman` or `kendall` (tau-b) between scores of which many are equal; None where one side does not
    vary. Intervals as those of kappa."""

    def figure(values: Array) -> Figure:
        return _kendall if kind == "kendall" else partial(_correlation, values=values, ranked=kind == "spearman")

    return _of_pairs(judge, best, case, 0, figure)


def _of_pairs(
    judge: Array, best: Array, case: Array | None, missing: int, figure: Callable[[Array], Figure]
) -> Estimate:
    """A figure of the table of two raters' scores; pairs of which one is NaN are missing."""
    present = ~(np.isnan(judge) | np.isnan(best))
    missing += int((~present).sum())
    values, code = np.unique(np.concatenate((best[present], judge[present])), return_inverse=True)
    n, size = int(present.sum()), len(values)
    if n == 0:
        return Estimate(None, 0, missing)
    cell = code[:n] * size + code[n:]
    cluster = _grouped(_clusters(case, present), size)

    def tables() -> Iterator[Array]:
        for first, last, rows in _in_chunks(cluster, size):
            place = (cluster[rows] - first) * size * size + cell[rows]
            counts = np.bincount(place, minlength=(last - first) * size * size)
            yield counts.reshape(-1, size, size).astype(float)

    return _estimate(tables, figure(values), n, missing)


def percent_agreement(ratings: Array, *, case: Array | None = None, missing: int = 0) -> Estimate:
    """The share of pairs of raters (rows) that gave the same to a unit (columns); NaN where a rater gave nothing.

    `n` is the number of such pairs, missing are units with fewer than two ratings; the interval is over cases.
    """
    available = (~np.isnan(ratings)).sum(axis=0) > 1
    missing += int((~available).sum())
    units = _packed(ratings[:, available])
    if not available.any():
        return Estimate(None, 0, missing)
    sizes, hits = np.zeros((2, units.shape[1]))
    for first, second in combinations(range(len(units)), 2):
        sizes += ~np.isnan(units[second])
        hits += units[first] == units[second]
    cluster = _clusters(case, available)
    hits_of_case, sizes_of_case = np.bincount(cluster, hits), np.bincount(cluster, sizes)
    spread = share_spreads(hits_of_case, sizes_of_case, np.zeros(len(hits_of_case), dtype=int), 1)[0]
    return clustered_share(float(hits.sum()), int(sizes.sum()), missing, spread)


def krippendorff_alpha(
    ratings: Array, *, level: str = "ordinal", case: Array | None = None, missing: int = 0
) -> Estimate:
    """Krippendorff's alpha of any number of raters (rows) over units (columns); NaN where a rater gave nothing.

    `n` is the number of units with at least two ratings; the others are missing. None without any variance.
    """
    if level not in LEVELS:
        raise ValueError(f"{level!r} is not one of {', '.join(LEVELS)}")
    available = (~np.isnan(ratings)).sum(axis=0) > 1
    missing += int((~available).sum())
    n = int(available.sum())
    if n == 0:
        return Estimate(None, 0, missing)
    units = _packed(ratings[:, available])
    values, code = np.unique(units, return_inverse=True)
    if level == "ratio" and float(values[0]) < 0:
        raise ValueError(f"{values[0]:g} is below 0: the level `ratio` is of values from 0 on")
    code, size = code.reshape(units.shape), int((~np.isnan(values)).sum())
    cluster = _grouped(_clusters(case, available), size)

    def tables() -> Iterator[Array]:
        for first, last, rows in _in_chunks(cluster, size):
            yield _coincidences(code[:, rows], cluster[rows] - first, last - first, size)

    return _estimate(tables, partial(_alpha, values=values[:size], level=level), n, missing)


def _packed(ratings: Array) -> Array:
    """The ratings of each unit (column) one below the other without gaps, which are at the end: who gave them is
    nothing to alpha, and of a hundred people who label ten each a column has few."""
    most = int((~np.isnan(ratings)).sum(axis=0).max(initial=0))
    return np.take_along_axis(ratings, np.argsort(np.isnan(ratings), axis=0, kind="stable")[:most], axis=0)


def _coincidences(code: Array, cluster: Array, n_clusters: int, size: int) -> Array:
    """For each cluster, how often which score met which in one unit, each unit weighing as many as its ratings.

    NaN is sorted last, so its code is `size` or more.
    """
    raters, n_units = code.shape
    weight = 1 / ((code < size).sum(axis=0) - 1)
    if raters <= size:
        first, second = (code[list(side)] for side in zip(*combinations(range(raters), 2), strict=True))
        rated = second < size  # the ratings of a unit are packed, so that the first is there as well
        place = ((cluster * size + first) * size + second)[rated]
        both = np.bincount(place, np.broadcast_to(weight, rated.shape)[rated], minlength=n_clusters * size * size)
        tables = both.reshape(n_clusters, size, size)
        return np.asarray(tables + tables.transpose(0, 2, 1))
    place = np.arange(n_units)[None, :] * (size + 1) + np.minimum(code, size)
    counts = np.bincount(place.ravel(), minlength=n_units * (size + 1)).reshape(n_units, size + 1)[:, :size]
    pairs = counts[:, :, None] * counts[:, None, :].astype(float)
    diagonal = np.arange(size)
    pairs[:, diagonal, diagonal] -= counts
    pairs *= weight[:, None, None]
    starts = np.searchsorted(cluster, np.arange(n_clusters))
    return np.asarray(np.add.reduceat(pairs, starts, axis=0))


def _kappa(tables: Array, weights: Array) -> Array:
    by_chance = (tables.sum(axis=2)[:, :, None] * tables.sum(axis=1)[:, None, :] * weights).sum(axis=(1, 2))
    observed = (tables * weights).sum(axis=(1, 2)) * tables.sum(axis=(1, 2))
    return _complement(observed, by_chance)


def _correlation(tables: Array, values: Array, ranked: bool) -> Array:
    rows, columns = tables.sum(axis=2), tables.sum(axis=1)
    n = rows.sum(axis=1, keepdims=True)
    # Ranks are the middle ones of all that are equal.
    first, second = (
        (np.cumsum(counts, axis=1) - counts / 2 if ranked else np.broadcast_to(values, counts.shape))
        for counts in (rows, columns)
    )
    first = first - (first * rows).sum(axis=1, keepdims=True) / n
    second = second - (second * columns).sum(axis=1, keepdims=True) / n
    together = (tables * first[:, :, None] * second[:, None, :]).sum(axis=(1, 2))
    return _ratio(together, n[:, 0], (first**2 * rows).sum(axis=1) * (second**2 * columns).sum(axis=1))


def _kendall(tables: Array) -> Array:
    rows, columns = tables.sum(axis=2), tables.sum(axis=1)
    n = rows.sum(axis=1)
    # For each cell, how many lie below in both orders, and below in one and above in the other.
    above = np.cumsum(tables, axis=1) - tables
    left = np.cumsum(above, axis=2) - above
    right = above.sum(axis=2, keepdims=True) - np.cumsum(above, axis=2)
    more = (tables * (left - right)).sum(axis=(1, 2))
    untied = [(n * n - (counts**2).sum(axis=1)) / 2 for counts in (rows, columns)]
    return _ratio(more, n, untied[0] * untied[1])


def _ratio(together: Array, n: Array, squares: Array) -> Array:
    """The correlation; undefined where one side does not vary, and of two points, which always lie on a line."""
    defined = (squares > 1e-12) & (n > 2)
    return np.where(defined, together / np.sqrt(np.where(defined, squares, 1.0)), np.nan)


def _alpha(tables: Array, values: Array, level: str) -> Array:
    sums = tables.sum(axis=2)
    n = sums.sum(axis=1)
    if level == "nominal":
        observed = n - np.trace(tables, axis1=1, axis2=2)
        by_chance = n * n - (sums * sums).sum(axis=1)
    else:
        # Ordinal distances are those of the middle ranks; those of a ratio are shares of the two values' sum.
        places = np.cumsum(sums, axis=1) - sums / 2 if level == "ordinal" else np.broadcast_to(values, sums.shape)
        apart = (places[:, :, None] - places[:, None, :]) ** 2
        if level == "ratio":
            added = values[:, None] + values[None, :]
            apart = apart / np.where(added == 0, 1.0, added) ** 2
        observed = (tables * apart).sum(axis=(1, 2))
        by_chance = (sums[:, :, None] * sums[:, None, :] * apart).sum(axis=(1, 2))
    return _complement(observed * (n - 1), by_chance)


def _complement(observed: Array, by_chance: Array) -> Array:
    share = np.divide(observed, by_chance, out=np.full(len(observed), np.nan), where=by_chance > 0)
    return np.asarray(1 - share)


def _clusters(case: Array | None, available: Array) -> Array:
    """Codes of the cases from 0 without a gap, for the rows that are known; each row its own without cases."""
    if case is None:
        return np.arange(int(available.sum()))
    return np.unique(case[available], return_inverse=True)[1]


def _grouped(cluster: Array, size: int) -> Array:
    """Clusters that are left out one by one; neighbours together where their tables would be too many numbers."""
    n_clusters = int(cluster.max()) + 1
    most = max(MOST_BLOCKS, _NUMBERS_IN_ALL // (size * size))
    return cluster if n_clusters <= most else cluster * most // n_clusters


def _in_chunks(cluster: Array, size: int) -> Iterator[tuple[int, int, Array]]:
    """Ranges of clusters with their rows, cluster by cluster, few enough that their tables stay small."""
    order = np.argsort(cluster, kind="stable")
    ranked = cluster[order]
    n_clusters = int(ranked[-1]) + 1
    step = max(1, _NUMBERS_AT_ONCE // (size * size))
    for first in range(0, n_clusters, step):
        last = min(first + step, n_clusters)
        begin, end = np.searchsorted(ranked, (first, last))
        yield first, last, order[begin:end]


def _estimate(tables: Callable[[], Iterator[Array]], figure: Figure, n: int, missing: int) -> Estimate:
    total = sum((chunk.sum(axis=0) for chunk in tables()), np.zeros(()))
    value = float(figure(total[None])[0])
    if math.isnan(value):
        return Estimate(None, n, missing)
    # Rounding may leave a negative hair of a count that was taken away.
    without = np.concatenate([figure(np.maximum(total - chunk, 0.0)) for chunk in tables()])
    value = settled(round(value, 12))
    margin = total.sum(axis=-1)
    rarer = 1 - float(margin.max() / margin.sum())
    bounds = _interval(value, without, rarer)
    return Estimate(value, n, missing, *(bounds or (None, None)))


def _interval(value: float, without: Array, rarer: float) -> tuple[float, float] | None:
    """`rarer` is the share of all that is not in the most frequent class."""
    n = len(without)
    if value >= 1:
        # What agrees on one class alone says little of the others: of two classes only the rarer counts, twice.
        return perfect_bounds(value, min(n, 2 * n * rarer))
    if n < 2 or value <= -1 or bool(np.isnan(without).any()):
        return None
    error = math.sqrt((n - 1) / n * float(((without - without.mean()) ** 2).sum()))
    bounds = student(math.atanh(value), error / (1 - value * value), n - 1)
    return None if bounds is None or error < 1e-12 else (math.tanh(bounds[0]), math.tanh(bounds[1]))


FEWEST = 3
"""Two points always lie on a line."""


def spearman(first: Array, second: Array, case: Array) -> Estimate:
    """Spearman's rank correlation of the rows in which both are known, with the interval of Bonett and Wright (2000)
    over cases."""
    present = ~(np.isnan(first) | np.isnan(second))
    n, missing = int(present.sum()), int((~present).sum())
    value = _coefficient(ranks(first[present]), ranks(second[present]))
    if value is None:
        return Estimate(None, n, missing)
    return Estimate(value, n, missing, *(_fisher(value, len(np.unique(case[present]))) or (None, None)))


def ranks(values: Array) -> Array:
    """Ranks from 1; equal values share the middle of theirs."""
    _, code, counts = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(counts) - (counts - 1) / 2)[code])


def _coefficient(first: Array, second: Array) -> float | None:
    if len(first) < FEWEST or np.ptp(first) == 0 or np.ptp(second) == 0:
        return None
    item, other = first - first.mean(), second - second.mean()
    value = float((item * other).sum() / math.sqrt(float((item * item).sum()) * float((other * other).sum())))
    return settled(max(-1.0, min(1.0, round(value, 12))))


def _fisher(value: float, n: int) -> tuple[float, float] | None:
    if abs(value) >= 1:
        return perfect_bounds(value, n)
    if n <= FEWEST:
        return None
    half = Z * math.sqrt((1 + value * value / 2) / (n - 3))
    centre = math.atanh(value)
    return math.tanh(centre - half), math.tanh(centre + half)


FALSE_DISCOVERIES = 0.05
FEWEST_PEOPLE, FEWEST_TEXTS = 3, 30
"""The test's authors ask for as many people, and for as many texts of each."""
ENOUGH_WON = 0.5
"""From this winning rate on a judge may replace a person."""


@frozen
class AlternativeTest:
    """The alternative annotator test of one dimension."""

    epsilon: float
    n_people: int
    """People with enough texts."""
    winning_rate: float | None = None
    """Omega: the share of people than whom the judge is worse by less than epsilon, beyond noise (Benjamini and
    Yekutieli over all people); None when there are too few people."""
    advantage: Estimate = field(default_factory=lambda: Estimate(None, 0))
    """Rho: the mean over people of the share of texts on which the judge is at least as near to the others."""


def alternative_test(
    judge: Array,
    labels: Array,
    case: Array,
    epsilon: float,
    *,
    nominal: bool = False,
    fewest_texts: int = FEWEST_TEXTS,
) -> AlternativeTest:
    """The test over all people (rows of `labels`) with enough texts that another person labelled, too.

    Scores are near by their RMSE, classes (`nominal`) by the share of others who chose the same. People with fewer
    than 30 texts, where `fewest_texts` lets them in, have Wilcoxon's signed-rank test instead of Student's.
    """
    present = ~np.isnan(labels)
    usable = ~np.isnan(judge) & (present.sum(axis=0) > 1)
    item = (_nearer(judge, labels, person, usable & present[person], case, nominal) for person in range(len(labels)))
    results = [shares for shares in item if len(shares[0]) >= max(fewest_texts, 2)]
    if len(results) < FEWEST_PEOPLE:
        return AlternativeTest(epsilon, len(results))
    won = benjamini_yekutieli([_chance_below(theirs - ours, epsilon) for ours, theirs, _ in results])
    return AlternativeTest(epsilon, len(won), sum(won) / len(won), _advantage(results))


def _nearer(
    judge: Array, labels: Array, person: int, usable: Array, case: Array, nominal: bool
) -> tuple[Array, Array, Array]:
    """By case, how often the judge, and how often the person, is at least as near to the other people as the other."""
    others = np.delete(labels, person, axis=0)[:, usable]
    available = ~np.isnan(others)
    ours, theirs = (
        np.where(available, others != item[usable] if nominal else (others - item[usable]) ** 2, 0.0).sum(axis=0)
        for item in (judge, labels[person])
    )
    cases, code, size = np.unique(case[usable], return_inverse=True, return_counts=True)
    at_least = (np.bincount(code, near, minlength=len(cases)) / size for near in (ours <= theirs, theirs <= ours))
    return (*at_least, cases)  # type: ignore[return-value]


def _chance_below(apart: Array, epsilon: float) -> float:
    """The p-value of the test that the mean (of few, the median) is below epsilon."""
    n, error = len(apart), float(apart.std(ddof=1)) / len(apart) ** 0.5
    away = float(apart.mean()) - epsilon
    if n < FEWEST_TEXTS:
        return signed_rank_below(apart - epsilon)
    if error < 1e-12:
        return float(away >= 0)
    tail = t_two_sided(abs(away) / error, n - 1) / 2
    return tail if away < 0 else 1 - tail


def signed_rank_below(values: Array) -> float:
    """The exact one-sided p-value of Wilcoxon's signed-rank test that values lie below 0; ties share the middle rank.

    Every pattern of signs is equally likely: the number of patterns for each sum of (doubled) ranks is counted.
    """
    values = values[np.abs(values) > _HAIR]
    doubled = np.round(2 * ranks(np.round(np.abs(values), 9))).astype(int)
    above = int(doubled[values > 0].sum())
    patterns = np.zeros(int(doubled.sum()) + 1)
    patterns[0] = 1.0
    for rank in doubled.tolist():
        patterns[rank:] = (patterns[rank:] + patterns[:-rank]) / 2
        patterns[:rank] /= 2
    return min(1.0, float(patterns[: above + 1].sum()))


def benjamini_yekutieli(chances: Sequence[float], rate: float = FALSE_DISCOVERIES) -> list[bool]:
    """Which of the p-values are discoveries, at most this share of them false, however they depend on each other."""
    m = len(chances)
    limit = rate / m / sum(1 / k for k in range(1, m + 1))
    most = max((k for k, p in enumerate(sorted(chances), 1) if p <= k * limit), default=0)
    return [p <= sorted(chances)[most - 1] if most else False for p in chances]


def _advantage(result: list[tuple[Array, Array, Array]]) -> Estimate:
    """The mean over people of a share of texts, with its interval over cases, which people have in common."""
    value = float(np.mean([ours.mean() for ours, _, _ in result]))
    apart = np.concatenate([(ours - ours.mean()) / len(ours) / len(result) for ours, _, _ in result])
    cases, code = np.unique(np.concatenate([cases for _, _, cases in result]), return_inverse=True)
    n = len(cases)
    error = float((np.bincount(code, apart) ** 2).sum() * n / (n - 1)) ** 0.5
    return bounded(value, n, 0, score_bounds(value, error, n - 1, SHARES), SHARES)
