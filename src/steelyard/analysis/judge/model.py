"""What is known of a judge: its figures, its agreement with people's labels, the corrected rate."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Protocol

import numpy as np

from steelyard.analysis.wording import percent
from steelyard.records import Judgement, Mode, Verdict
from steelyard.stats.agreement import (
    Agreement,
    AlternativeTest,
    FlagAgreement,
    alternative_test,
    krippendorff_alpha,
    weighted_kappa,
)
from steelyard.stats.arrays import Array
from steelyard.stats.groups import of_some, share, worth
from steelyard.stats.intervals import SHARES, Estimate, Z, bounded, wilson
from steelyard.store.base import Spending

# Several people's labels beside a judge: how far people agree, and whether the judge may stand for one of them.


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


# The pass rate that a judge reports, corrected by what the labelled part shows.


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
    """By the method below, inside 0..1; n/a when it cannot be computed."""
    reported: Estimate
    sensitivity: Estimate
    """Of the texts that pass by their labels, the share that the judge passes."""
    specificity: Estimate
    """Of the texts that do not pass by their labels, the share that the judge does not pass."""
    clipped: bool = False
    """True when the correction led outside 0..1 and was cut off there."""
    message: str = ""
    """Why there is no corrected rate, in words; "" when there is one."""
    method: str = ""
    """`prediction-powered`, `labels alone` or `Rogan-Gladen`; "" when there is no corrected rate."""
    why: str = ""
    """Why it was that method, in words."""
    labels: Estimate = field(default_factory=lambda: Estimate(None, 0))
    """The share of the labelled texts that pass by their labels."""


def corrected_pass_rate(
    passed: Array, labelled: Array, case: Array, *, chosen: bool = False, stratified: bool = False
) -> CorrectedRate:
    """The corrected rate of all texts; both columns hold 1, 0 or NaN (not judged, or no labels that tell).

    `chosen` says that texts were picked to be labelled by what they are, not at random; `stratified` that they were
    drawn at random among those that the judge passes, and among the others, and not as many of each as there are.
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
        return replace(corrected_rate, message="no text has labels that decide whether it passes")
    if both.sum() == available.sum():
        return replace(
            corrected_rate, rate=corrected_rate.labels, method=LABELS_ALONE, why="every judged text is labelled"
        )
    not_random = "the suite says that they were chosen" if chosen else ""
    if not chosen and not stratified:
        not_random = unlike(passed, both, case)
    if not_random:
        return _by_error_rates(corrected_rate, passed, labelled, case, not_random)
    powered = _prediction_powered(passed, labelled, both, case)
    if powered is None and stratified:
        return replace(corrected_rate, message="all labelled texts are of one kind: the judge passes all, or none")
    if powered is None or (not stratified and _width(powered) >= _width(corrected_rate.labels)):
        why = f"the judge's passes do not narrow what {corrected_rate.labels.n} labels say"
        return replace(corrected_rate, rate=corrected_rate.labels, method=LABELS_ALONE, why=why)
    why = (
        f"{corrected_rate.labels.n} labels of a random part of {corrected_rate.reported.n} texts,"
        " and the judge's passes of all"
    )
    return replace(
        corrected_rate,
        rate=replace(powered, n_missing=corrected_rate.rate.n_missing),
        method=PREDICTION_POWERED,
        why=why,
    )


def _width(rate: Estimate) -> float:
    return math.inf if rate.low is None or rate.high is None else rate.high - rate.low


def unlike(passed: Array, labelled: Array, case: Array) -> str:
    """Why the labelled texts are no random part of all, by how often the judge passes them; "" when they may be."""
    both, rest = (~np.isnan(passed) & of for of in (labelled, ~labelled))
    if not both.any() or not rest.any():
        return ""
    ours, others = (Trials(float(passed[of].mean()), worth(passed == 1, of, case)) for of in (both, rest))
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


def _by_error_rates(
    corrected_rate: CorrectedRate, passed: Array, labelled: Array, case: Array, not_random: str
) -> CorrectedRate:
    """The correction for labels that are no random part of the texts."""
    message = _why_not(corrected_rate.sensitivity, corrected_rate.specificity)
    reported, sensitivity, specificity = (
        corrected_rate.reported.value,
        corrected_rate.sensitivity.value,
        corrected_rate.specificity.value,
    )
    if message or reported is None or sensitivity is None or specificity is None:
        return replace(corrected_rate, message=message)
    present = ~np.isnan(passed)
    point = rogan_gladen(reported, sensitivity, specificity)
    value = min(1.0, max(0.0, point))
    bounds = lang_reiczigel(
        Trials(reported, worth(passed == 1, present, case)),
        Trials(sensitivity, worth(passed == 1, present & (labelled == 1), case)),
        Trials(specificity, worth(passed == 0, present & (labelled == 0), case)),
        among=True,
    )
    rate = bounded(value, corrected_rate.rate.n, corrected_rate.rate.n_missing, bounds, SHARES)
    why = f"the labels are no random part of the texts: {not_random}"
    return replace(corrected_rate, rate=rate, clipped=value != point, method=ROGAN_GLADEN, why=why)


def _why_not(sensitivity: Estimate, specificity: Estimate) -> str:
    if sensitivity.value is None:
        return "no judged text passes by its labels, so nothing says how often the judge passes those that should"
    if specificity.value is None:
        return "every judged text passes by its labels, so nothing says how often the judge stops those that should not"
    if sensitivity.value + specificity.value <= 1 + 1e-12:
        return (
            f"the judge passes {percent(sensitivity.value)} of the texts that should pass and"
            f" {percent(1 - specificity.value)} of those that should not: its passes carry no information"
        )
    return ""


def rogan_gladen(reported: float, sensitivity: float, specificity: float) -> float:
    """The true rate behind a reported one; may lie outside 0..1. Undefined when the two add up to 1."""
    return (reported + specificity - 1) / (sensitivity + specificity - 1)


def lang_reiczigel(
    reported: Trials, sensitivity: Trials, specificity: Trials, *, among: bool
) -> tuple[float, float] | None:
    """The 95 % interval of the true rate, inside 0..1; None when it cannot be computed.

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


# The figures of a judge's health: none without its n, its missing and, where defined, its interval.

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


class Judged(Protocol):
    """A sample with what its judge said, as a store gives it."""

    @property
    def case_id(self) -> str: ...

    @property
    def unit(self) -> str: ...

    @property
    def judgement(self) -> Judgement: ...

    @property
    def labelled(self) -> bool: ...


class JudgedText(Judged, Protocol):
    """The same with what else a judge's health stands on."""

    @property
    def passed(self) -> bool | None: ...
    @property
    def text_length(self) -> int | None: ...


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
class DimensionHealth:
    """One dimension of the rubric. Scores are as the judge gave them, before any rule bound them."""

    agreement: Agreement
    bound_exact: Estimate
    """As `agreement.exact`, of the scores after rules and checks: what the run counts."""
    bound_within_one: Estimate
    top_share: Estimate
    """Share of texts with the highest score of the scale."""
    top_labelled: Estimate
    """Share of the labelled texts for which the highest score is the reviewer's best."""
    top_beyond: Estimate
    """Of the labelled texts, the share with the highest score by the judge minus that by the reviewer."""
    inflated: bool | None
    """See `is_inflated`."""
    middle_share: Estimate
    """Share of texts from the neutral score to the next above it."""
    spread: Estimate
    """Standard deviation, in points; n/a below n 2."""
    constant: bool
    """True when at least two texts were judged and all got the same."""
    length: Estimate
    """Spearman's correlation with the length of the text."""
    length_labelled: Estimate
    """The same of the reviewer's best scores: where good texts are long, a good judge likes long ones."""
    repeatability: Estimate
    """Of the texts that one judge read more than once, the share that got the same score each time."""
    moved: Estimate
    """The mean difference between two votes on one text by one judge, in points."""
    reliability: Estimate
    """Krippendorff's alpha, ordinal, between all votes on a text, be they of repeats or of members."""
    people: People | None = None
    """The agreement of several people with each other and the judge; None where labels do not name at least two."""
    disagreements: tuple[Disagreement, ...] = ()
    """The texts farthest outside the reviewer's range, at most `MOST_LISTED`."""
    n_disagreements: int = 0
    """How many texts are outside it."""


@dataclass(frozen=True, slots=True)
class FlagHealth:
    """One flag of the rubric, as the judge set it, and as it counts after the rules."""

    agreement: FlagAgreement
    capped: FlagAgreement
    share: Estimate
    """Share of texts that the judge flagged."""
    missed: tuple[str, ...] = ()
    """Cases of the first texts, at most `MOST_LISTED`, that the reviewer flags and the judge does not."""
    false_alarms: tuple[str, ...] = ()
    """The same of texts that the judge flags and the reviewer does not."""


@dataclass(frozen=True, slots=True)
class Together:
    """Two dimensions, compared vote by vote."""

    first: str
    second: str
    correlation: Estimate
    identical: bool
    """True when every vote (of at least three) gives both the same score."""

    @property
    def always(self) -> bool:
        """Whether they always move together: then one of them says nothing that the other does not."""
        return self.identical or (self.correlation.value or 0.0) >= ALWAYS_TOGETHER


@dataclass(frozen=True, slots=True)
class SelfHealth:
    """The judge against its own instructions; shares are of votes in the main mode unless they say otherwise.

    What is not asked of the judge (rules, quotes, reasons, complaints that are checked) is n/a.
    """

    broken_rules: Estimate
    by_rule: dict[str, int]
    """How many votes broke each rule, most frequent first."""
    made_up_quotes: Estimate
    unproven: Estimate
    too_few_reasons: Estimate
    contradictions: Estimate
    """Share of votes with a complaint that what was judged shows to be wrong."""
    failed: Estimate
    """Of the votes that were answered, the share of which nothing could be used."""
    unanswered: Estimate
    """Share of all votes without any answer: calls that failed, which say nothing of how the judge judges."""
    cut_off: Estimate
    """Of the answered votes of any mode, the share with an answer that broke off at the limit of tokens."""
    steps: dict[str, Estimate]
    """How answers were read, as shares of all votes, most frequent first."""
    disagreement: Estimate
    """Share of the texts with several votes whose votes are far apart."""


@dataclass(frozen=True, slots=True)
class JudgeHealth:
    """All that is known of how far a judge can be trusted."""

    mode: str
    """The main mode: only votes of this mode count, the others are counted separately."""
    scale: tuple[float, float]
    n_texts: int
    """Texts that came before the judge."""
    n_labelled: int
    """Of those, how many a reviewer has labelled."""
    n_labelled_otherwise: int
    """Of those, how many have labels that were given for another text, or do not say for which."""
    n_votes: int
    modes: dict[str, int]
    """Votes of each mode; those without scores are in none."""
    n_excluded: int
    """Texts whose judgement is in another mode: in no figure against labels or rubric."""
    n_failed: int
    """Texts whose judgement came to nothing."""
    dimensions: dict[str, DimensionHealth]
    flags: dict[str, FlagHealth]
    pairs: tuple[Together, ...]
    """Every two dimensions, those that move together most first."""
    itself: SelfHealth
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


@dataclass(frozen=True, slots=True)
class HealthResult:
    """One threshold of the suite on one figure."""

    text: str
    """As the suite writes it."""
    verdict: Verdict
    """PASS or FAIL with the whole interval; AMBIGUOUS when the figure is not available or not shown: no pass."""
    value: float | None
    n: int
    reason: str
    estimate: Estimate
    across: bool = False
    """True when the interval contains the threshold: another draw of texts could turn the verdict."""
