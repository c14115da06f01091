"""Several people's labels beside a judge: how far people agree, and whether the judge may stand for one of them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from steelyard.frozen import frozen
from steelyard.stats.agreement import AlternativeTest, alternative_test, krippendorff_alpha, weighted_kappa
from steelyard.stats.arrays import Array
from steelyard.stats.intervals import Estimate


@frozen
class PeopleFigures:
    """What several people say of one dimension, and the judge beside them."""

    names: tuple[str, ...]
    kappa: Estimate
    """Kappa with quadratic weights between two people, over all pairs of them: the ceiling of a judge's."""
    judge_kappa: Estimate
    """Kappa between the judge and one person, over all people."""
    alpha: Estimate
    """Krippendorff's alpha, ordinal, between all people."""
    test: AlternativeTest


def people_beside(
    judge: Array, labels: Array, names: Sequence[str], case: Array, epsilon: float
) -> PeopleFigures | None:
    """All figures of one dimension; `labels` has a row for each person. None with fewer than two people."""
    if len(names) < 2:
        return None
    first, second = (labels[list(side)].ravel() for side in zip(*combinations(range(len(names)), 2), strict=True))
    labelled = ~np.isnan(labels).all(axis=0)
    return PeopleFigures(
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
