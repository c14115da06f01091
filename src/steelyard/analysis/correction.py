"""The pass rate that a judge reports, corrected by what the labelled part shows.

Where the labels are a random part of what is reported on, this is prediction-powered inference: the labels tell the
rate, and the judge's passes of all texts narrow it. For a judge that passes or not, PPI++ with its tuned power
(Angelopoulos, Duchi and Zrnic 2023) and the efficient estimator are the same to first order: among the texts that the
judge passes, and among the others, the share that the labels pass, weighted by how many of either there are. Where that
is no narrower than the labels alone, the labels alone are taken.

Where the labels are no random part, only the judge's error rates can be carried over: the point is Rogan and Gladen's
(1978), the interval that of Lang and Reiczigel (2014, Preventive Veterinary Medicine 113), who allow for error rates
that are estimated from few. They take the labelled texts for others than those that the rate is reported on; here these
are among them, so what the two have in common is taken out of the variance (delta method).

Tests hold how often the intervals cover the truth, and the first against ppi_py.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np

from steelyard.analysis.number_text import percent
from steelyard.stats.arrays import Array
from steelyard.stats.groups import of_some, share, worth
from steelyard.stats.intervals import SHARES, Estimate, Z, bounded, wilson


@dataclass(frozen=True, slots=True)
class Trials:
    """A share with how many independent trials stand behind it."""

    share: float
    n: float


_RANDOM = 0.001
"""Labels whose texts the judge passes more or less often than the others, beyond this chance, are no random part."""
PREDICTION_POWERED, LABELS_ALONE, ROGAN_GLADEN = "prediction-powered", "labels alone", "Rogan-Gladen"


@dataclass(frozen=True, slots=True)
class CorrectedRate:
    """What the pass rate would be, were the judge's errors those that the labelled part shows."""

    rate: Estimate
    """By the method below, inside 0..1; n/a when nothing can be told."""
    reported: Estimate
    sensitivity: Estimate
    """Of the texts that pass by their labels, the share that the judge passes."""
    specificity: Estimate
    """Of the texts that do not pass by their labels, the share that the judge does not pass."""
    clipped: bool = False
    """True when the correction led outside 0..1 and was cut off there."""
    told: str = ""
    """Why there is no corrected rate, in words; "" when there is one."""
    method: str = ""
    """`prediction-powered`, `labels alone` or `Rogan-Gladen`; "" when there is no corrected rate."""
    why: str = ""
    """Why it was that method, in words."""
    labels: Estimate = field(default_factory=lambda: Estimate(None, 0))
    """The share of the labelled texts that pass by their labels."""


def corrected_pass_rate(passed: Array, labelled: Array, case: Array, *, chosen: bool = False) -> CorrectedRate:
    """The corrected rate of all texts; both columns hold 1, 0 or NaN (not judged, or no labels that tell).

    `chosen` says that texts were picked to be labelled by what they are, not at random.
    """
    known, good, bad = ~np.isnan(passed), labelled == 1, labelled == 0
    both = known & (good | bad)
    found = CorrectedRate(
        rate=Estimate(None, int(known.sum()), int((~known).sum())),
        reported=share(passed == 1, known, case),
        sensitivity=of_some(share(passed == 1, known & good, case), int((good & ~known).sum())),
        specificity=of_some(share(passed == 0, known & bad, case), int((bad & ~known).sum())),
        labels=of_some(share(good, both, case), int(((good | bad) & ~known).sum())),
    )
    if not known.any():
        return replace(found, told="no text was judged")
    if not both.any():
        return replace(found, told="no text has labels that tell whether it passes")
    if both.sum() == known.sum():
        return replace(found, rate=found.labels, method=LABELS_ALONE, why="every judged text is labelled")
    not_random = "the suite says that they were chosen" if chosen else _unlike(passed, known, both, case)
    if not_random:
        return _by_error_rates(found, passed, labelled, case, not_random)
    powered = _prediction_powered(passed, labelled, both, case)
    if powered is None or _width(powered) >= _width(found.labels):
        why = f"the judge's passes do not narrow what {found.labels.n} labels say"
        return replace(found, rate=found.labels, method=LABELS_ALONE, why=why)
    why = f"{found.labels.n} labels of a random part of {found.reported.n} texts, and the judge's passes of all"
    return replace(found, rate=replace(powered, n_missing=found.rate.n_missing), method=PREDICTION_POWERED, why=why)


def _width(rate: Estimate) -> float:
    return math.inf if rate.low is None or rate.high is None else rate.high - rate.low


def _unlike(passed: Array, known: Array, both: Array, case: Array) -> str:
    """Why the labelled texts are no random part of all, by how often the judge passes them; "" when they may be."""
    ours, others = (Trials(float(passed[of].mean()), worth(passed == 1, of, case)) for of in (both, known & ~both))
    pooled = (ours.share * ours.n + others.share * others.n) / max(ours.n + others.n, 1)
    if min(ours.n, others.n) < 2 or not 0 < pooled < 1:
        return ""
    error = math.sqrt(pooled * (1 - pooled) * (1 / ours.n + 1 / others.n))
    if math.erfc(abs(ours.share - others.share) / error / math.sqrt(2)) >= _RANDOM:
        return ""
    return f"the judge passes {percent(ours.share)} of the labelled and {percent(others.share)} of the other texts"


def _prediction_powered(passed: Array, labelled: Array, both: Array, case: Array) -> Estimate | None:
    """The share that passes by the labels, among those the judge passes and among the others, weighted by all texts.

    None where the judge gave all labelled texts the same. Its interval is Wilson's over as many trials as its variance
    is worth. In the variance each of the two shares has one more trial, half a hit: of 30 labels that all agree with
    the judge nobody knows that the judge never errs.
    """
    known = ~np.isnan(passed)
    label, judge = labelled[both], passed[both] == 1
    if judge.all() or not judge.any():
        return None
    weight = float((passed[known] == 1).mean())
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
    between = (yes - no) ** 2 * weight * (1 - weight) / max(worth(passed == 1, known, case), 1)
    centre = yes_weight * yes + no_weight * no
    trials = centre * (1 - centre) / (within * n / (n - 1) + between)
    return bounded(value, int(known.sum()), 0, wilson(value, trials), SHARES)


def _design_effect(influence: Array, case: Array) -> float:
    """How many texts of the labelled cases count as one, from 1 to all of a case; 0 when there is a single case."""
    cluster, size = np.unique(case, return_inverse=True, return_counts=True)[1:]
    if len(size) < 2:
        return 0.0
    alike, alone = float((size * size).sum()) / len(case), float((influence**2).sum())
    together = float((np.bincount(cluster, influence) ** 2).sum()) * len(size) / (len(size) - 1)
    return min(alike, max(1.0, together / alone)) if alone > 0 else alike


def _by_error_rates(
    found: CorrectedRate, passed: Array, labelled: Array, case: Array, not_random: str
) -> CorrectedRate:
    """The correction for labels that are no random part of the texts."""
    told = _why_not(found.sensitivity, found.specificity)
    reported, sensitivity, specificity = found.reported.value, found.sensitivity.value, found.specificity.value
    if told or reported is None or sensitivity is None or specificity is None:
        return replace(found, told=told)
    known = ~np.isnan(passed)
    point = rogan_gladen(reported, sensitivity, specificity)
    value = min(1.0, max(0.0, point))
    bounds = lang_reiczigel(
        Trials(reported, worth(passed == 1, known, case)),
        Trials(sensitivity, worth(passed == 1, known & (labelled == 1), case)),
        Trials(specificity, worth(passed == 0, known & (labelled == 0), case)),
        among=True,
    )
    rate = bounded(value, found.rate.n, found.rate.n_missing, bounds, SHARES)
    why = f"the labels are no random part of the texts: {not_random}"
    return replace(found, rate=rate, clipped=value != point, method=ROGAN_GLADEN, why=why)


def _why_not(sensitivity: Estimate, specificity: Estimate) -> str:
    if sensitivity.value is None:
        return "no judged text passes by its labels, so nobody can tell how often the judge passes those that should"
    if specificity.value is None:
        return (
            "every judged text passes by its labels, so nobody can tell how often the judge stops those that should not"
        )
    if sensitivity.value + specificity.value <= 1 + 1e-12:
        return (
            f"the judge passes {percent(sensitivity.value)} of the texts that should pass and"
            f" {percent(1 - specificity.value)} of those that should not: its passes tell nothing"
        )
    return ""


def rogan_gladen(reported: float, sensitivity: float, specificity: float) -> float:
    """The true rate behind a reported one; may lie outside 0..1. Undefined when the two add up to 1."""
    return (reported + specificity - 1) / (sensitivity + specificity - 1)


def lang_reiczigel(
    reported: Trials, sensitivity: Trials, specificity: Trials, *, among: bool
) -> tuple[float, float] | None:
    """The 95 % interval of the true rate, inside 0..1; None when it cannot be told.

    `among` says that the labelled texts are some of those that the rate is reported on, not others.
    """
    if min(reported.n, sensitivity.n, specificity.n) <= 0:
        return None
    square = Z * Z
    rate = _added(reported, square)
    sens, spec = _added(sensitivity, 2), _added(specificity, 2)
    youden = sens.share + spec.share - 1
    if youden <= 0:
        return 0.0, 1.0
    point = (rate.share + spec.share - 1) / youden
    passing, failing, base = point, 1 - point, _variance(rate)
    sens_variance, spec_variance = _variance(sens), _variance(spec)
    if among:
        # What the labelled texts err by is part of the reported rate, and there it cancels out: with all texts
        # labelled the error that remains is that of a plain share.
        passing = min(1.0, max(0.0, point))
        failing = 1 - passing
        base = passing * failing * youden**2 / rate.n
        sens_variance = _beyond(sens, passing * rate.n)
        spec_variance = _beyond(spec, failing * rate.n)
    half = Z * math.sqrt(base + passing**2 * sens_variance + failing**2 * spec_variance) / youden
    centre = point + 2 * square * (passing * sens_variance - failing * spec_variance)
    return min(1.0, max(0.0, centre - half)), max(0.0, min(1.0, centre + half))


def _beyond(trials: Trials, of_its_kind: float) -> float:
    """The variance of a share beyond what it would be, were all texts of its kind labelled."""
    if of_its_kind <= trials.n:
        return 0.0
    return _variance(trials) * (1 - trials.n / of_its_kind)


def _added(trials: Trials, more: float) -> Trials:
    """The trials with a few more of which one half are hits."""
    return Trials((trials.n * trials.share + more / 2) / (trials.n + more), trials.n + more)


def _variance(trials: Trials) -> float:
    return trials.share * (1 - trials.share) / trials.n
