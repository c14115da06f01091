"""A judge's scores and flags beside those of a careful reviewer.

NaN is "no score" or "no label". Rows without a label are not spoken of; rows with a label and no score are missing.
Rows of one case are alike, and every interval allows for it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from steelyard.analysis.chance import krippendorff_alpha, weighted_kappa
from steelyard.analysis.clusters import mean, of_some, share
from steelyard.analysis.estimates import Scale
from steelyard.analysis.model import Estimate
from steelyard.analysis.pieces import Array

_HAIR = 1e-9


@dataclass(frozen=True, slots=True)
class Confusion:
    """How often the judge gave which score where the reviewer's best was which."""

    levels: tuple[float, ...]
    counts: tuple[tuple[int, ...], ...]
    """Rows are the reviewer's best score, columns the judge's, both in the order of `levels`."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """One dimension of a judge against a reviewer."""

    exact: Estimate
    """Share of the judge's scores inside the range that the reviewer allows."""
    within_one: Estimate
    """Share of those in that range or at most one point outside it."""
    best: Estimate
    """Share of those equal to the reviewer's best score."""
    kappa: Estimate
    """Cohen's kappa with quadratic weights, against the best score."""
    kappa_linear: Estimate
    alpha: Estimate
    """Krippendorff's alpha, ordinal, against the best score."""
    alpha_interval: Estimate
    bias: Estimate
    """Mean of judge minus best, in points: above 0 the judge is lenient."""
    confusion: Confusion


@dataclass(frozen=True, slots=True)
class FlagAgreement:
    """One flag of a judge against a reviewer."""

    precision: Estimate
    """Of the texts that the judge flagged, the share that the reviewer flags."""
    recall: Estimate
    """Of the texts that the reviewer flags, the share that the judge flagged."""
    hits: int
    """Flagged by both."""
    false_alarms: int
    """Flagged by the judge alone."""
    missed: int
    """Flagged by the reviewer alone."""
    quiet: int
    """Flagged by neither."""


def agreement(judge: Array, best: Array, low: Array, high: Array, case: Array, scale: Scale) -> Agreement:
    """All figures of one dimension; `low` and `high` are the range that the reviewer allows."""
    exact, within_one = allowed_agreement(judge, low, high, case)
    labelled = ~np.isnan(best)
    judge, best, case = judge[labelled], best[labelled], case[labelled]
    known = ~np.isnan(judge)
    ratings = np.stack((judge, best))
    width = scale[1] - scale[0]
    return Agreement(
        exact=exact,
        within_one=within_one,
        best=share(np.abs(judge - best) < _HAIR, known, case),
        kappa=weighted_kappa(judge, best, case=case),
        kappa_linear=weighted_kappa(judge, best, power=1, case=case),
        alpha=krippendorff_alpha(ratings, case=case),
        alpha_interval=krippendorff_alpha(ratings, level="interval", case=case),
        bias=mean(judge - best, case, (-width, width)),
        confusion=confusion(judge, best, scale),
    )


def allowed_agreement(judge: Array, low: Array, high: Array, case: Array) -> tuple[Estimate, Estimate]:
    """The share of scores inside the allowed range, and of those at most one point outside it."""
    labelled = ~(np.isnan(low) | np.isnan(high))
    judge, low, high, case = judge[labelled], low[labelled], high[labelled], case[labelled]
    known = ~np.isnan(judge)
    outside = np.maximum(low - judge, judge - high)
    return share(outside < _HAIR, known, case), share(outside < 1 + _HAIR, known, case)


def confusion(judge: Array, best: Array, scale: Scale) -> Confusion:
    """The table of best against judge, with every whole score of the scale and whatever else was given."""
    known = ~(np.isnan(judge) | np.isnan(best))
    low, high = scale
    whole = np.arange(low, high + 1) if high - low <= 10 else np.array(scale)
    levels = np.unique(np.concatenate((whole, judge[known], best[known])))
    row, column = np.searchsorted(levels, best[known]), np.searchsorted(levels, judge[known])
    counts = np.bincount(row * len(levels) + column, minlength=len(levels) ** 2).reshape(len(levels), -1)
    return Confusion(tuple(levels.tolist()), tuple(tuple(each) for each in counts.tolist()))


def flag_agreement(judge: Array, label: Array, case: Array) -> FlagAgreement:
    """Precision and recall of a flag; both columns hold 1, 0 or NaN. n/a where nothing was flagged."""
    labelled = ~np.isnan(label)
    judge, label, case = judge[labelled], label[labelled], case[labelled]
    known = ~np.isnan(judge)
    said, true = judge == 1, label == 1
    missing = int((~known).sum())
    return FlagAgreement(
        precision=of_some(share(true, said, case), missing),
        recall=of_some(share(said, true & known, case), int((true & ~known).sum())),
        hits=int((said & true).sum()),
        false_alarms=int((said & ~true).sum()),
        missed=int((known & ~said & true).sum()),
        quiet=int((known & ~said & ~true).sum()),
    )
