"""The pass rate that a judge reports, corrected by its error rates on the labelled part.

The point is Rogan and Gladen's (1978): (reported + specificity - 1) / (sensitivity + specificity - 1). The interval is
that of Lang and Reiczigel (2014, Preventive Veterinary Medicine 113), who allow for error rates that are themselves
estimated from few. They take the labelled texts for others than those that the rate is reported on; here these are
among them, so what the two have in common is taken out of the variance (delta method). Tests hold how often the
intervals cover the truth.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from steelyard.analysis.clusters import of_some, share, worth
from steelyard.analysis.intervals import Z
from steelyard.analysis.model import Estimate
from steelyard.analysis.number_text import percent
from steelyard.analysis.pieces import Array


@dataclass(frozen=True, slots=True)
class Trials:
    """A share with how many independent trials stand behind it."""

    share: float
    n: float


@dataclass(frozen=True, slots=True)
class CorrectedRate:
    """What the pass rate would be, were the judge's errors those that the labelled part shows."""

    rate: Estimate
    """Rogan and Gladen's estimate, cut to 0..1; n/a when the judge's passes tell nothing about the labels'."""
    reported: Estimate
    sensitivity: Estimate
    """Of the texts that pass by their labels, the share that the judge passes."""
    specificity: Estimate
    """Of the texts that do not pass by their labels, the share that the judge does not pass."""
    clipped: bool = False
    """True when the correction led outside 0..1 and was cut off there."""
    told: str = ""
    """Why there is no corrected rate, in words; "" when there is one."""


def corrected_pass_rate(passed: Array, labelled: Array, case: Array) -> CorrectedRate:
    """The corrected rate of all texts; both columns hold 1, 0 or NaN (not judged, or no labels that tell)."""
    known, label_known = ~np.isnan(passed), ~np.isnan(labelled)
    good, bad = labelled == 1, labelled == 0
    reported = share(passed == 1, known, case)
    sensitivity = of_some(share(passed == 1, known & good, case), int((good & ~known).sum()))
    specificity = of_some(share(passed == 0, known & bad, case), int((bad & ~known).sum()))
    told = _why_not(reported, sensitivity, specificity, bool(label_known.any()))
    if told or reported.value is None or sensitivity.value is None or specificity.value is None:
        return CorrectedRate(
            Estimate(None, reported.n, reported.n_missing), reported, sensitivity, specificity, told=told
        )
    point = rogan_gladen(reported.value, sensitivity.value, specificity.value)
    value = min(1.0, max(0.0, point))
    bounds = lang_reiczigel(
        Trials(reported.value, worth(passed == 1, known, case)),
        Trials(sensitivity.value, worth(passed == 1, known & good, case)),
        Trials(specificity.value, worth(passed == 0, known & bad, case)),
        among=True,
    )
    low, high = (None, None) if bounds is None else (min(bounds[0], value), max(bounds[1], value))
    rate = Estimate(value, reported.n, reported.n_missing, low, high)
    return CorrectedRate(rate, reported, sensitivity, specificity, clipped=value != point)


def _why_not(reported: Estimate, sensitivity: Estimate, specificity: Estimate, labelled: bool) -> str:
    if not labelled:
        return "no text has labels that tell whether it passes"
    if reported.value is None:
        return "no text was judged"
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
