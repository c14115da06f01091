"""Several people's labels beside a judge: how far people agree, and whether the judge may stand for one of them.

What two people reach is the ceiling of what a judge can. The alternative annotator test (Calderon, Reichart and Dror
2025) leaves out one person after the other and asks who is nearer to the remaining ones, that person or the judge.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from steelyard.stats.agreement import krippendorff_alpha, weighted_kappa
from steelyard.stats.arrays import Array
from steelyard.stats.intervals import SHARES, Estimate, bounded, score_bounds, t_two_sided

FALSE_DISCOVERIES = 0.05
FEWEST_PEOPLE, FEWEST_TEXTS = 3, 30
"""The test's authors ask for as many people, and for as many texts of each."""
ENOUGH_WON = 0.5
"""From this winning rate on a judge may stand for a person."""


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
class People:
    """What several people say of one dimension, and the judge beside them."""

    names: tuple[str, ...]
    kappa: Estimate
    """Kappa with quadratic weights between two people, over all pairs of them: the ceiling of a judge's."""
    judge_kappa: Estimate
    """Kappa between the judge and one person, over all people."""
    alpha: Estimate
    """Krippendorff's alpha, ordinal, between all people."""
    test: AlternativeTest


def people_beside(judge: Array, labels: Array, names: Sequence[str], case: Array, epsilon: float) -> People | None:
    """All figures of one dimension; `labels` has a row for each person. None with fewer than two people."""
    if len(names) < 2:
        return None
    first, second = (labels[list(side)].ravel() for side in zip(*combinations(range(len(names)), 2), strict=True))
    labelled = ~np.isnan(labels).all(axis=0)
    return People(
        names=tuple(names),
        kappa=_kappa(first, second, case),
        judge_kappa=_kappa(np.tile(judge, len(names)), labels.ravel(), case),
        alpha=krippendorff_alpha(labels[:, labelled], case=case[labelled]),
        test=alternative_test(judge, labels, case, epsilon),
    )


def _kappa(first: Array, second: Array, case: Array) -> Estimate:
    """Kappa of the pairs in which both are known, the texts one block after the other."""
    both = ~(np.isnan(first) | np.isnan(second))
    return weighted_kappa(first[both], second[both], case=np.resize(case, len(first))[both])


def alternative_test(judge: Array, labels: Array, case: Array, epsilon: float) -> AlternativeTest:
    """The test over all people with enough texts that another person labelled, too; scores are near by their RMSE."""
    known = ~np.isnan(labels)
    usable = ~np.isnan(judge) & (known.sum(axis=0) > 1)
    each = (_nearer(judge, labels, person, usable & known[person], case) for person in range(len(labels)))
    found = [shares for shares in each if len(shares[0]) >= FEWEST_TEXTS]
    if len(found) < FEWEST_PEOPLE:
        return AlternativeTest(epsilon, len(found))
    won = benjamini_yekutieli([_chance_below(theirs - ours, epsilon) for ours, theirs, _ in found])
    return AlternativeTest(epsilon, len(won), sum(won) / len(won), _advantage(found))


def _nearer(judge: Array, labels: Array, person: int, usable: Array, case: Array) -> tuple[Array, Array, Array]:
    """By case, how often the judge, and how often the person, is at least as near to the other people as the other."""
    others = np.delete(labels, person, axis=0)[:, usable]
    ours, theirs = (np.nanmean((others - one[usable]) ** 2, axis=0) for one in (judge, labels[person]))
    cases, code, size = np.unique(case[usable], return_inverse=True, return_counts=True)
    at_least = (np.bincount(code, near, minlength=len(cases)) / size for near in (ours <= theirs, theirs <= ours))
    return (*at_least, cases)  # type: ignore[return-value]


def _chance_below(apart: Array, epsilon: float) -> float:
    """The p-value of Student's test that the mean is below epsilon."""
    n, error = len(apart), float(apart.std(ddof=1)) / len(apart) ** 0.5
    away = float(apart.mean()) - epsilon
    if error < 1e-12:
        return float(away >= 0)
    tail = t_two_sided(abs(away) / error, n - 1) / 2
    return tail if away < 0 else 1 - tail


def benjamini_yekutieli(chances: Sequence[float], rate: float = FALSE_DISCOVERIES) -> list[bool]:
    """Which of the p-values are discoveries, at most this share of them false, however they depend on each other."""
    m = len(chances)
    limit = rate / m / sum(1 / k for k in range(1, m + 1))
    most = max((k for k, p in enumerate(sorted(chances), 1) if p <= k * limit), default=0)
    return [p <= sorted(chances)[most - 1] if most else False for p in chances]


def _advantage(found: list[tuple[Array, Array, Array]]) -> Estimate:
    """The mean over people of a share of texts, with its interval over cases, which people have in common."""
    value = float(np.mean([ours.mean() for ours, _, _ in found]))
    apart = np.concatenate([(ours - ours.mean()) / len(ours) / len(found) for ours, _, _ in found])
    cases, code = np.unique(np.concatenate([cases for _, _, cases in found]), return_inverse=True)
    n = len(cases)
    error = float((np.bincount(code, apart) ** 2).sum() * n / (n - 1)) ** 0.5
    return bounded(value, n, 0, score_bounds(value, error, n - 1, SHARES), SHARES)
