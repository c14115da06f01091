"""The pass rate that a judge reports, corrected by what the labelled part shows."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from steelyard.metrics.run_data import CorrectedRate
from steelyard.stats.arrays import Array
from steelyard.stats.groups import of_some, share, worth
from steelyard.stats.intervals import SHARES, Estimate, bounded, wilson
from steelyard.wording import percent

PREDICTION_POWERED, LABELS_ALONE = "prediction-powered", "labels alone"


def corrected_pass_rate(
    passed: Array,
    labelled: Array,
    case: Array,
    *,
    stratified: bool = False,
    declared: bool = False,
    not_random: str = "",
) -> CorrectedRate:
    """The corrected rate of all texts; both columns hold 1, 0 or NaN (not judged, or no labels that tell).

    `stratified` states that texts were sampled among those that the judge passes, and among the others, and not as many
    of each as there are; `declared` that somebody declares the labeled texts a random sample, which this tool did not
    take: then the rate must hold even if the judge's verdict decided what was labeled. `not_random` is the reason why
    they are not a random sample: the unlabeled texts may be anything, and there is no rate unless all have labels.
    """
    available, good, bad = ~np.isnan(passed), labelled == 1, labelled == 0
    both = available & (good | bad)
    corrected_rate = CorrectedRate(
        rate=Estimate(None, int(available.sum()), int((~available).sum())),
        reported=share(passed == 1, available, case),
        sensitivity=of_some(share(passed == 1, available & good, case), int((good & ~available).sum())),
        specificity=of_some(share(passed == 0, available & bad, case), int((bad & ~available).sum())),
        labels=of_some(share(good, both, case), int(((good | bad) & ~available).sum())),
    )
    if not available.any():
        return replace(corrected_rate, message="no text was judged")
    if not both.any():
        return replace(corrected_rate, message=not_random or "no text has labels that decide whether it passes")
    if both.sum() == available.sum():
        return replace(
            corrected_rate, rate=corrected_rate.labels, method=LABELS_ALONE, why="every judged text is labelled"
        )
    if not_random:
        return without_rate(corrected_rate, f"{not_random}; {_whatever_the_others_are(good, both, available)}")
    powered = _prediction_powered(passed, labelled, both, case)
    if powered is None and stratified:
        return replace(corrected_rate, message="all labelled texts are of one kind: the judge passes all, or none")
    if powered is None and declared:
        powered = _by_one_verdict(passed, corrected_rate.labels, both)
    if powered is None or (not (stratified or declared) and _width(powered) >= _width(corrected_rate.labels)):
        why = f"the judge's passes do not narrow what {corrected_rate.labels.n} labels say"
        return replace(corrected_rate, rate=corrected_rate.labels, method=LABELS_ALONE, why=why)
    part = "a part declared as random" if declared else "a random part"
    why = (
        f"{corrected_rate.labels.n} labels of {part} of {corrected_rate.reported.n} texts,"
        " and the judge's passes of all"
    )
    return replace(
        corrected_rate,
        rate=replace(powered, n_missing=corrected_rate.rate.n_missing),
        method=PREDICTION_POWERED,
        why=why,
    )


def without_rate(result: CorrectedRate, message: str) -> CorrectedRate:
    """The same without a corrected rate, and why; what the labeled texts show has no interval for all texts."""
    rate = Estimate(None, result.rate.n, result.rate.n_missing)
    labels = Estimate(result.labels.value, result.labels.n, result.labels.n_missing)
    return replace(result, rate=rate, labels=labels, message=message, method="", why="")


def _whatever_the_others_are(good: Array, both: Array, available: Array) -> str:
    """The bounds that hold for any unlabeled texts: all of them fail, or all pass."""
    total, passing, unlabelled = int(available.sum()), int((good & both).sum()), int((available & ~both).sum())
    ends = (percent(end / total) for end in (passing, passing + unlabelled))
    return f"whatever the {unlabelled:,} unlabeled texts are, between {' and '.join(ends)} of these {total:,} pass"


def _width(rate: Estimate) -> float:
    return math.inf if rate.low is None or rate.high is None else rate.high - rate.low


def _by_one_verdict(passed: Array, labels: Estimate, both: Array) -> Estimate | None:
    """The rate where the judge gave all labeled texts the same verdict: those with the other one may be anything."""
    present = ~np.isnan(passed)
    alike = float((passed[present] == passed[both][0]).mean())
    if alike == 1 or labels.value is None or labels.low is None or labels.high is None:
        return None
    value, bounds = alike * labels.value + (1 - alike) / 2, (alike * labels.low, alike * labels.high + 1 - alike)
    return bounded(value, int(present.sum()), 0, bounds, SHARES)


def _prediction_powered(passed: Array, labelled: Array, both: Array, case: Array) -> Estimate | None:
    """The share that passes by the labels, among those the judge passes and among the others, weighted by all texts.

    None where the judge gave all labelled texts the same. Its interval is Wilson's over as many trials as its variance
    is worth. In the variance each of the two shares has one more trial, half a hit: of 30 labels that all agree with
    the judge nobody knows that the judge never errs.
    """
    present = ~np.isnan(passed)
    label, judge = labelled[both], passed[both] == 1
    if judge.all() or not judge.any():
        return None
    weight = float((passed[present] == 1).mean())
    parts = [(judge, weight), (~judge, 1 - weight)]
    value = sum(w * float(label[of].mean()) for of, w in parts)
    influence = sum((w * of * (label - label[of].mean()) / of.sum() for of, w in parts), np.zeros(len(label)))
    apart = _design_effect(influence, case[both])
    n = len(label) / apart if apart else 0.0
    if n <= 1:
        return None
    smoothed = [(float(label[of].sum()) / apart + 0.5, float(of.sum()) / apart, w) for of, w in parts]
    (yes, yes_n, yes_weight), (no, no_n, no_weight) = ((hits / (size + 1), size, w) for hits, size, w in smoothed)
    within = yes_weight**2 * yes * (1 - yes) / yes_n + no_weight**2 * no * (1 - no) / no_n
    between = (yes - no) ** 2 * weight * (1 - weight) / max(worth(passed == 1, present, case), 1)
    centre = yes_weight * yes + no_weight * no
    trials = centre * (1 - centre) / (within * n / (n - 1) + between)
    return bounded(value, int(present.sum()), 0, wilson(value, trials), SHARES)


def _design_effect(influence: Array, case: Array) -> float:
    """How many texts of the labelled cases count as one, from 1 to all of a case; 0 when there is a single case."""
    cluster, size = np.unique(case, return_inverse=True, return_counts=True)[1:]
    if len(size) < 2:
        return 0.0
    alike, alone = float((size * size).sum()) / len(case), float((influence**2).sum())
    together = float((np.bincount(cluster, influence) ** 2).sum()) * len(size) / (len(size) - 1)
    return min(alike, max(1.0, together / alone)) if alone > 0 else alike
