"""What is known of a judge besides its figures: lists and tables, people beside it, the corrected rate."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from steelyard.analysis.model import Rebuttal
from steelyard.frozen import frozen
from steelyard.metrics.figures import Slice
from steelyard.metrics.run_data import CorrectedRate
from steelyard.records import Mode
from steelyard.stats.agreement import (
    AlternativeTest,
    ConfusionMatrix,
    alternative_test,
    krippendorff_alpha,
    weighted_kappa,
)
from steelyard.stats.arrays import Array
from steelyard.stats.groups import of_some, share, worth
from steelyard.stats.intervals import SHARES, Estimate, bounded, wilson
from steelyard.store.base import Spending
from steelyard.wording import percent

# Several people's labels beside a judge: how far people agree, and whether the judge may stand for one of them.


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


# The pass rate that a judge reports, corrected by what the labelled part shows.

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


# What is listed of a judge's health; the numbers are figures of its run, by name.

ALWAYS_TOGETHER = 0.95
"""Two dimensions with at least this correlation always move together."""
INFLATION = 0.10
"""More top scores than this are inflation, where no labels say how many are due."""
LABELS_FOR_INFLATION = 10
"""Fewer labels than this do not say how many are due: one label must not silence a complaint."""
MOST_LISTED = 10
"""So many texts on which judge and reviewer differ are named."""


def is_inflated(top: Estimate, beyond: Estimate, mode: str) -> bool | None:
    """Whether, beyond noise, more have the highest score than are due: by the labels where there are
    enough, by the rubric's own share only where there are not. `beyond` is the judge's share minus that of the labels.

    None without scores, and for code without labels: flattery is a habit of models, and what is computed from a truth
    gives as many as are due.
    """
    if beyond.n >= LABELS_FOR_INFLATION:
        return (beyond.low or 0.0) > 0
    if top.value is None or mode == Mode.RULES:
        return None
    return (top.low or 0.0) > INFLATION


@frozen
class Disagreement:
    """A text to which the judge gave a score outside the range that its reviewer allows."""

    case_id: str
    best: float
    low: float
    high: float
    stated: float
    """As the judge gave it, before any rule capped it; several votes are combined."""
    outside: float
    """Points beyond the nearer end of the range: above 0 too high, below 0 too low."""


@frozen
class People:
    """The people whose labels of one dimension are compared with each other and with the judge."""

    names: tuple[str, ...]
    epsilon: float
    """By how much the judge may be worse than a person, in the alternative annotator test."""


@frozen
class DimensionHealth:
    """One dimension of the rubric. Scores are as the judge gave them, before any rule bound them."""

    confusion: ConfusionMatrix
    inflated: bool | None
    """See `is_inflated`."""
    constant: bool
    """True when at least two texts were judged and all got the same."""
    people: People | None = None
    """None where labels do not name at least two."""
    disagreements: tuple[Disagreement, ...] = ()
    """The texts farthest outside the reviewer's range, at most `MOST_LISTED`."""


@frozen
class FlagCounts:
    """How often judge and reviewer set a flag."""

    hits: int
    """Flagged by both."""
    false_alarms: int
    """Flagged by the judge alone."""
    missed: int
    """Flagged by the reviewer alone."""
    quiet: int
    """Flagged by neither."""


@frozen
class FlagHealth:
    """One flag of the rubric, as the judge set it, and as it counts after the rules."""

    counts: FlagCounts
    capped: FlagCounts
    missed: tuple[str, ...] = ()
    """Cases of the first texts, at most `MOST_LISTED`, that the reviewer flags and the judge does not."""
    false_alarms: tuple[str, ...] = ()
    """The same of texts that the judge flags and the reviewer does not."""


@frozen
class Together:
    """Two dimensions, compared vote by vote."""

    first: str
    second: str
    identical: bool
    """True when every vote (of at least three) gives both the same score."""
    always: bool
    """Whether they always move together: then one of them says nothing that the other does not."""

    @property
    def metric(self) -> str:
        """The name of their correlation."""
        return f"judge.correlation.{self.first}.{self.second}"


@frozen
class JudgeHealth:
    """All that is known of how far a judge can be trusted."""

    mode: str
    """The main mode: only votes of this mode count, the others are counted separately."""
    scale: tuple[float, float]
    figures: Slice
    """Every figure of the judge, by name: `judge.agreement.tone.kappa`."""
    dimensions: dict[str, DimensionHealth]
    flags: dict[str, FlagHealth]
    pairs: tuple[Together, ...]
    """Every two dimensions, those that move together most first."""
    by_rule: dict[str, int]
    """How many votes broke each rule, most frequent first."""
    rebuttals: tuple[Rebuttal, ...]
    """The findings of scorers that the judge rebutted."""
    corrected: CorrectedRate
    spending: Spending | None
    """What the judge's calls took; None when nobody counted."""
    complaints: tuple[str, ...] = ()
    """What is wrong with the judge, in words, worst first."""
    constant: tuple[str, ...] = ()
    """Dimensions in which every text got the same score, but for those in which the suite expects it."""
    unfit: tuple[str, ...] = ()
    """Why it is not fit, whatever the thresholds are."""
    dependent: tuple[str, ...] = ()
    """Labels and votes that are not independent: figures that stand on them show nothing."""

    def __getitem__(self, name: str) -> Estimate:
        """A figure of the judge without the first part of its name: `agreement.tone.kappa`."""
        return self.figures[f"judge.{name}"]

    def count(self, name: str) -> int:
        """The same of a number of something."""
        return self.figures.count(f"judge.{name}")

    @property
    def modes(self) -> dict[str, int]:
        """Votes of each mode, most frequent first; those without scores are in none."""
        return self.figures.counts("judge.mode.<mode>")
