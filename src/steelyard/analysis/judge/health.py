"""Whether a judge can be believed: constant scores, failures, thresholds of the suite."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np

from steelyard.analysis.judge.model import (
    LABELS_FOR_INFLATION,
    MOST_LISTED,
    CorrectedRate,
    DimensionHealth,
    Disagreement,
    FlagHealth,
    HealthResult,
    JudgedText,
    JudgeHealth,
    corrected_pass_rate,
    is_inflated,
    people_beside,
)
from steelyard.analysis.judge.votes import (
    FEWEST_LABELS,
    DescribedRubric,
    Labels,
    Votes,
    against_itself,
    as_number,
    described_rubric,
    labelled_otherwise,
    pairs_of,
    reliability,
    repeated,
    share_between,
    spread,
)
from steelyard.analysis.model import JudgeFigures, UsualScore
from steelyard.frozen import frozen
from steelyard.metrics.expressions import COMPARE, JUDGE_METRICS, Gate
from steelyard.records import Mode, Verdict
from steelyard.stats.agreement import agreement, allowed_agreement, flag_agreement, spearman, weighted_kappa
from steelyard.stats.arrays import Array
from steelyard.stats.groups import mean, share
from steelyard.stats.intervals import SHARES, Estimate, bounded, wilson
from steelyard.store.base import Spending
from steelyard.suite.labels import Label
from steelyard.suite.models import SuiteModel
from steelyard.wording import distinguished, in_unit

# The thresholds that a suite declares on its judge's health, compared with the figures.

_TOLERANCE = 1e-9
"""What rounding may leave between 4 / 40 and 10 %."""
_OF_VARIATION = (".kappa", ".alpha", ".pearson", ".spearman", ".kendall")
"""Figures that are 0, or undefined, by definition for a judge that gives every text the same score."""
_WITHOUT_SIGN = ("agreement.<dimension>.bias", "together.<dimension>", "length.<dimension>")


def check_health(health: JudgeHealth, thresholds: Iterable[Gate]) -> list[HealthResult]:
    """The results of all thresholds, in order. One passes or fails with its whole interval:
    a figure on the right side by its point value alone is not shown."""
    # Labels that remain after texts changed are no sample of the texts that are there now.
    missing = labelled_otherwise(health.n_labelled_otherwise)
    return [
        _result(
            threshold,
            health_value(health, threshold.pattern, threshold.subject),
            missing if JUDGE_METRICS[threshold.pattern].needs == "labels" else "",
            constant=threshold.pattern.endswith(_OF_VARIATION) and threshold.subject in health.constant,
        )
        for threshold in thresholds
    ]


def health_value(health: JudgeHealth, metric: str, subject: str = "") -> Estimate:
    """The figure of a metric (a key of `suite.health.HEALTH`) for a dimension or flag; KeyError when there is none."""
    if metric not in JUDGE_METRICS:
        raise KeyError(metric)
    estimate = _figure(health, metric, subject)
    return _without_sign(estimate) if metric in _WITHOUT_SIGN else estimate


def _figure(health: JudgeHealth, metric: str, subject: str) -> Estimate:
    head, _, rest = metric.partition(".")
    last = rest.rpartition(".")[2]
    if head == "agreement":
        figure: Estimate = getattr(health.dimensions[subject].agreement, last)
    elif head == "flag":
        figure = getattr(health.flags[subject].agreement, last)
    elif head == "together":
        figure = _together(health, subject)
    elif rest:
        figure = getattr(health.dimensions[subject], head)
    elif head == "strict":
        figure = _strict(health)
    else:
        figure = getattr(health.itself, head)
    return figure


def broken_limits(results: Sequence[HealthResult]) -> str:
    """The limits of the suite that its judge breaks, those broken beyond noise first; "" when there are none.

    `the judge breaks 1 of the suite's 4 limits: contradictions 74.0 % is not <= 20.0 % (n 50)`.
    """
    broken = sorted((item for item in results if item.broken), key=lambda item: item.verdict is not Verdict.FAIL)
    # Up to the first semicolon a sentence says what is wrong.
    reasons = [item.reason.partition("; not shown")[0].replace("; ", ", ") for item in broken]
    named = ", ".join(f"{item.text.split()[0]} {reason}" for item, reason in zip(broken, reasons, strict=True))
    of = "the suite's limit" if len(results) == 1 else f"{len(broken)} of the suite's {len(results)} limits"
    return f"the judge breaks {of}: {named}" if broken else ""


_WITHOUT_REPLY = ("rules", "recorded")
"""Steps of votes that no reply was parsed for: those of code, and those that another tool recorded."""


def _strict(health: JudgeHealth) -> Estimate:
    """The share of replies in the shape asked for; n/a where no reply was parsed."""
    result = health.itself.steps.get("strict")
    if result is not None:
        return result
    every = health.itself.unanswered
    if every.value is None or any(step in health.itself.steps for step in _WITHOUT_REPLY):
        return Estimate(None, every.n, every.n_missing)
    # Votes on one text are alike: no more trials than texts.
    return bounded(0.0, every.n, every.n_missing, wilson(0.0, min(every.n, health.n_texts)), SHARES)


def _together(health: JudgeHealth, dimension: str) -> Estimate:
    """The largest correlation of the dimension with another; n/a when it has none."""
    results = [pair.correlation for pair in health.pairs if dimension in (pair.first, pair.second)]
    available = [item for item in results if item.value is not None]
    if available:
        return max(available, key=lambda item: abs(item.value or 0.0))
    return results[0] if results else Estimate(None, 0)


def _without_sign(estimate: Estimate) -> Estimate:
    if estimate.value is None:
        return estimate
    value = abs(estimate.value)
    if estimate.low is None or estimate.high is None:
        return replace(estimate, value=value)
    ends = sorted((abs(estimate.low), abs(estimate.high)))
    across = estimate.low < 0 < estimate.high
    return replace(estimate, value=value, low=0.0 if across else ends[0], high=ends[1])


def _result(threshold: Gate, estimate: Estimate, missing_labels: str, *, constant: bool) -> HealthResult:
    value, limit = estimate.value, threshold.threshold
    missing = f"; {estimate.n_missing} missing" if estimate.n_missing else ""
    if constant and estimate.n >= _FEWEST and not COMPARE[threshold.operator](value or 0.0, limit):
        reason = (
            f"{in_unit(value, threshold.unit)} by definition: the same score for every text (n {estimate.n}{missing})"
        )
        # Few texts of a part of a suite may well deserve the same score.
        broken = estimate.n >= FEWEST_LABELS
        return HealthResult(threshold.text, Verdict.FAIL, value, estimate.n, reason, estimate, broken=broken)
    if value is None:
        reason = "n/a: no data" + missing
        return HealthResult(threshold.text, Verdict.AMBIGUOUS, value, estimate.n, reason, estimate)
    close = abs(value - limit) <= _TOLERANCE * max(1.0, abs(limit))
    holds = COMPARE[threshold.operator](limit if close else value, limit)
    sign = threshold.operator if holds else f"is not {threshold.operator}"
    figure = in_unit(value, threshold.unit) if close or holds else distinguished(value, threshold.unit, limit)
    reason = f"{figure} {sign} {in_unit(limit, threshold.unit)} (n {estimate.n}{missing})"
    across = _reaches_across(threshold, estimate, holds=holds)
    why = _why_not_shown(threshold, estimate, holds=holds, across=across) or (missing_labels if holds else "")
    verdict = Verdict.AMBIGUOUS if why else Verdict.PASS if holds else Verdict.FAIL
    reason += f"; not shown: {why}" if why else ""
    broken = verdict is Verdict.FAIL or (not holds and not threshold.subject)
    return HealthResult(threshold.text, verdict, value, estimate.n, reason, estimate, across, broken)


def _why_not_shown(threshold: Gate, estimate: Estimate, *, holds: bool, across: bool) -> str:
    """Why a figure neither meets nor misses its threshold beyond noise; "" when it does. `==` asks for the figure
    itself."""
    if threshold.operator in ("==", "!="):
        return ""
    if across:
        return "the 95 % interval contains the threshold"
    if estimate.low is None:
        return "there is no interval"
    return f"n is below {FEWEST_LABELS}" if holds and estimate.n < FEWEST_LABELS else ""


def _reaches_across(threshold: Gate, estimate: Estimate, *, holds: bool) -> bool:
    if estimate.low is None or estimate.high is None or threshold.operator in ("==", "!="):
        return False
    compare = COMPARE[threshold.operator]
    ends = {compare(end, threshold.threshold) for end in (estimate.low, estimate.high)}
    return ends != {holds}


# What is wrong with a judge, in words that a tired person understands.

_POOR_KAPPA = 0.4
"""Below this, agreement is no more than fair (Landis and Koch 1977)."""
_NOTABLE_BIAS = 0.25
"""Points."""
_STRONG_LENGTH = 0.5
_MORE_THAN_REVIEWER = 0.1
_OFTEN = 0.05
"""More votes than this that break a rule, invent a quote or fail are worth a complaint of their own."""
_FEWEST = 5
"""Fewer texts than this show no habit of using the scale; so few come in one order in fewer than 1 of 50 cases."""


def complaints_about(health: JudgeHealth) -> tuple[str, ...]:
    """Sentences, those about readings that cannot be believed at all first."""
    return (*health.unfit, *health.dependent, *_itself(health), *_scale(health), *_labels(health), *_pairs(health))


def _itself(health: JudgeHealth) -> Iterator[str]:
    itself = health.itself
    if health.n_texts and not health.modes.get(health.mode):
        silent = itself.unanswered.value == 1
        yield "the judge was never reached: no call was answered" if silent else "the judge gave no usable answer"
    if itself.unanswered.value:
        yield f"no answer for {_of(itself.unanswered)} votes: that shows nothing about how it judges"
    if health.n_failed:
        yield f"gave no scores for {health.n_failed} of {health.n_texts} texts"
    if health.n_excluded:
        basic = Mode.BASIC in health.modes
        why = "only bare scores could be read from its answers" if basic else "read in another mode"
        yield f"{_were(health.n_excluded)} excluded: {why}"
    for figure, what in (
        (itself.failed, "gave an answer that could not be used"),
        (itself.cut_off, "broke off at the limit of tokens"),
        (itself.broken_rules, "broke a binding rule"),
        (itself.made_up_quotes, "quoted what the text does not say"),
        (itself.unproven, "gave a high score without a quote for it"),
        (itself.contradictions, "made a complaint that the answer contradicts"),
        (itself.self_contradictions, "gave scores that do not fit its own lists"),
        (itself.too_few_reasons, "gave fewer reasons than asked for"),
    ):
        if figure.value is not None and figure.value > _OFTEN:
            yield f"{what} in {_of(figure)} votes"
    if itself.unanswered_findings.value:
        yield f"left {_of(itself.unanswered_findings)} findings unanswered that it had to confirm or rebut"
    disagreed = itself.disagreement
    if disagreed.value:
        yield f"votes on one text are far apart in {_of(disagreed)} texts"


def _scale(health: JudgeHealth) -> Iterator[str]:
    top = health.scale[1]
    for name, item in health.dimensions.items():
        share = item.top_share
        if name in health.constant and share.n >= _FEWEST:
            yield f"{name} is the same in all {share.n} texts: it separates none"
        if item.inflated:
            yield f"gives {top:g} of {top:g} for {name} in {_of(share)} texts: {_than_due(item)}"
        length = item.length
        if length.value is not None and _likes_length(item):
            longer = "higher" if length.value > 0 else "lower"
            other = item.length_labelled
            extra = "" if other.value is None else f"; the reviewer's scores: {other.value:.2f}"
            yield f"{name} gets {longer} the longer the text is (correlation {length.value:.2f}, n {length.n}{extra})"


def _labels(health: JudgeHealth) -> Iterator[str]:
    for name, item in health.dimensions.items():
        kappa, bias = item.agreement.kappa, item.agreement.bias
        if kappa.n >= _FEWEST and kappa.high is not None and kappa.high < _POOR_KAPPA:
            yield f"{name} hardly agrees with the reviewer beyond chance (kappa {kappa.value:.2f}, n {kappa.n})"
        if bias.value is not None and abs(bias.value) >= _NOTABLE_BIAS and not _reaches_zero(bias):
            how = "more lenient" if bias.value > 0 else "stricter"
            yield f"{name}: {abs(bias.value):.2f} points {how} than the reviewer on average (n {bias.n})"
    for name, flag in health.flags.items():
        result = flag.agreement
        if result.missed:
            yield f"misses {result.missed} of {result.missed + result.hits} texts that the reviewer flags with {name}"
        if result.false_alarms:
            text = result.false_alarms + result.hits
            yield f"{result.false_alarms} of {text} texts that it flags with {name} are no such thing to the reviewer"


def _pairs(health: JudgeHealth) -> Iterator[str]:
    for pair in health.pairs:
        if pair.identical:
            yield f"{pair.first} and {pair.second} are the same in every text"
        elif pair.always and _beyond_noise(pair.correlation):
            value = pair.correlation.value or 0.0
            yield f"{pair.first} and {pair.second} always move together (correlation {value:.2f})"


def _of(figure: Estimate) -> str:
    """`38 of 40`"""
    return f"{round((figure.value or 0.0) * figure.n)} of {figure.n}"


def _were(n: int) -> str:
    return "1 text was" if n == 1 else f"{n} texts were"


def _likes_length(dimension_health: DimensionHealth) -> bool:
    """Whether scores follow the length of the text, and clearly more so than the reviewer's do."""
    value, reviewer = dimension_health.length.value or 0.0, dimension_health.length_labelled.value or 0.0
    of_its_own = abs(value) - max(0.0, reviewer if value > 0 else -reviewer)
    return _beyond_noise(dimension_health.length) and abs(value) >= _STRONG_LENGTH and of_its_own > _MORE_THAN_REVIEWER


def _beyond_noise(correlation: Estimate) -> bool:
    """Whether it is not 0 by chance."""
    return correlation.n >= _FEWEST and not _reaches_zero(correlation)


def _reaches_zero(figure: Estimate) -> bool:
    return figure.low is None or figure.high is None or figure.low <= 0 <= figure.high


def _than_due(dimension_health: DimensionHealth) -> str:
    beyond = dimension_health.top_beyond
    if beyond.n < LABELS_FOR_INFLATION:
        return "more than 1 in 10 is inflation"
    more = f"{100 * (beyond.value or 0.0):.1f} points more often than the reviewer"
    return f"{more}, who would give it in {_of(dimension_health.top_labelled)}, is inflation"


# How far a judge can be trusted: against a reviewer's labels, against its rubric, against itself.

LabelsOf = Callable[[str], Labels | None] | Mapping[str, Labels]
"""From the id of a case to its labels by dimension and flag; nothing for a case without."""


def judge_health(
    judged: Iterable[JudgedText],
    suite: SuiteModel,
    labels_of: LabelsOf,
    spending: Spending | None = None,
    corrected: CorrectedRate | None = None,
) -> JudgeHealth:
    """All figures of the judge of one run; `suite` is the suite as the run's header describes it.

    `corrected` is the pass rate by labels of the run; without it the labeled texts count as chosen.
    The judgements are read once. Only readings of the run's main mode count; ValueError for a suite without a judge.
    """
    rubric = described_rubric(suite)
    if rubric is None:
        raise ValueError("the suite has no judge")
    votes = Votes(judged, rubric)
    labels = _Labelled(votes, labels_of)
    health = JudgeHealth(
        mode=rubric.mode,
        scale=rubric.scale,
        n_texts=votes.n_texts,
        n_labelled=int(labels.any.sum()),
        n_labelled_otherwise=int(labels.otherwise.sum()),
        n_votes=votes.n,
        modes=dict(votes.modes.most_common()),
        n_excluded=votes.n_excluded,
        n_failed=votes.n_failed,
        dimensions={name: _dimension(name, votes, labels) for name in rubric.dimensions},
        flags={name: _flag(name, votes, labels) for name in rubric.flags},
        pairs=pairs_of(votes),
        itself=against_itself(votes),
        rebuttals=tuple(votes.rebuttals),
        corrected=corrected
        or corrected_pass_rate(votes.passed, labels.passes, votes.unit, not_random="the labeled texts were chosen"),
        spending=spending,
        dependent=tuple(_not_independent(votes, labels)),
    )
    declared = () if suite.judge is None else suite.judge.constant
    constant = tuple(name for name, item in health.dimensions.items() if item.constant and name not in declared)
    health = replace(health, constant=constant, unfit=tuple(_unfit(health, constant)))
    return replace(health, complaints=complaints_about(health))


MIN_IDENTICAL = 50
"""Texts from which on agreement of 1.00 between a judge and labels is too good."""
_MIN_IDENTICAL_RATERS = 20
"""Two people, or two judges, who never differ on this many texts are one."""
_SHOWN_AS_ONE = 0.995


def _unfit(health: JudgeHealth, constant: tuple[str, ...]) -> Iterator[str]:
    """Why a judge is not fit, whatever the thresholds are: one score for every text, which labels refuse to some."""
    for name in constant:
        agreement = health.dimensions[name].agreement
        if agreement.kappa.n >= _FEWEST and agreement.kappa.value is not None and (agreement.exact.value or 0.0) < 1:
            yield (
                f"{name}: the same score for all {agreement.kappa.n:,} labeled texts, and the labels differ from it:"
                " kappa is 0 by definition"
            )


def _not_independent(votes: Votes, labels: _Labelled) -> Iterator[str]:
    """Labels and votes that are not independent of each other, one sentence each."""
    rubric = votes.rubric
    for name in (*rubric.dimensions, *rubric.flags):
        best = labels.of(name).best if name in rubric.dimensions else labels.flag(name)
        given, names = labels.people(name) if name in rubric.dimensions else (np.empty((0, len(best))), [])
        references = [("the label", best), *((f"{who}'s label", row) for who, row in zip(names, given, strict=True))]
        for whose, column in references:
            same, n = max(_identical(scores, column) for scores in (votes.uncapped(name), votes.capped(name)))
            if n >= MIN_IDENTICAL:
                yield (
                    f"{name}: the judge gives {whose} in {same:,} of {n:,} texts (agreement of 1.00): labels that are"
                    " the judge's own scores, or that it is shown, look like this"
                )
                break
        for one, other in combinations(range(len(names)), 2):
            same, n = _identical(given[one], given[other])
            if n >= _MIN_IDENTICAL_RATERS:
                both, texts = f"{names[one]} and {names[other]}", "all" if same == n else f"{same:,} of"
                yield f"{name}: {both} give the same score in {texts} {n:,} texts: two names, one labeler"
    for (first, ours), (second, theirs) in combinations(_by_member(votes).items(), 2):
        same, n = _identical(ours, theirs)
        if n >= _MIN_IDENTICAL_RATERS * len(rubric.dimensions):
            both = f"judges {first} and {second}"
            scores = f"in all texts ({n:,} scores)" if same == n else f"in {same:,} of {n:,} scores"
            yield f"{both} give the same scores {scores}: the panel has one vote twice"


def _identical(first: Array, second: Array) -> tuple[int, int]:
    """In how many texts two columns agree, and how many both have, when they agree but for what rounds to 1.00 and are
    not constant; 0 and 0 when they do not."""
    both = ~(np.isnan(first) | np.isnan(second))
    one, other = first[both], second[both]
    if not len(one) or len(np.unique(other)) < 2:
        return 0, 0
    kappa, same = weighted_kappa(one, other).value, int((one == other).sum())
    is_one = kappa is not None and kappa >= _SHOWN_AS_ONE and same >= 0.99 * len(one)
    return (same, len(one)) if is_one else (0, 0)


def _by_member(votes: Votes) -> dict[str, Array]:
    """By member of a panel, its scores in all dimensions, text by text; the first of several repeats."""
    columns = {}
    for member, code in votes.members.items():
        mine = votes.main & (votes.member == code)
        texts, first = np.unique(votes.text[mine], return_index=True)
        rows = np.full((len(votes.rubric.dimensions), votes.n_texts), np.nan)
        for at, name in enumerate(votes.rubric.dimensions):
            rows[at, texts] = votes.stated(name)[mine][first]
        columns[member] = rows.ravel()
    return columns


@frozen
class _Range:
    """A reviewer's labels of one dimension, by text."""

    best: Array
    low: Array
    high: Array


class _Labelled:
    """The labels of all cases, as columns of texts."""

    def __init__(self, votes: Votes, labels_of: LabelsOf) -> None:
        find = labels_of.get if isinstance(labels_of, Mapping) else labels_of
        by_case = [find(case_id) or {} for case_id in votes.case_ids]
        self._case, self._by_case, self._labelled = votes.case, by_case, votes.labelled
        self._ranges = {name: _range(name, by_case) for name in votes.rubric.dimensions}
        self._flags = {name: _flags(name, by_case) for name in votes.rubric.flags}
        self.any = self._by_text([bool(item) for item in by_case]) > 0
        self.otherwise = np.array([bool(item) for item in by_case], dtype=bool)[self._case] & ~self._labelled
        self.passes = self._by_text([as_number(votes.rubric.passes(item)) for item in by_case])

    def _by_text(self, values: list[Any]) -> Array:
        column: Array = np.array(values, dtype=float)[self._case] if values else np.empty(0)
        return np.where(self._labelled, column, np.nan)

    def of(self, dimension: str) -> _Range:
        best, low, high = (self._by_text(item) for item in self._ranges[dimension])
        return _Range(best, low, high)

    def people(self, dimension: str) -> tuple[Array, list[str]]:
        """A row of scores for each person who labelled the dimension, and their names."""
        results = [label.by if isinstance(label := item.get(dimension), Label) else {} for item in self._by_case]
        names = sorted(set().union(*results))
        rows = [self._by_text([by.get(name, np.nan) for by in results]) for name in names]
        return np.array(rows).reshape(len(names), len(self._case)), names

    def flag(self, name: str) -> Array:
        return self._by_text(self._flags[name])


def _range(name: str, by_case: list[Labels]) -> tuple[list[float], list[float], list[float]]:
    results = [label if isinstance(label := item.get(name), Label) else None for item in by_case]
    return (
        [np.nan if label is None else label.best for label in results],
        [np.nan if label is None else label.low for label in results],
        [np.nan if label is None else label.high for label in results],
    )


def _flags(name: str, by_case: list[Labels]) -> list[float]:
    return [as_number(label if isinstance(label := item.get(name), bool) else None) for item in by_case]


def _dimension(name: str, votes: Votes, labels: _Labelled) -> DimensionHealth:
    rubric, case = votes.rubric, votes.unit
    raw, label = votes.uncapped(name), labels.of(name)
    bound_exact, bound_within_one = allowed_agreement(votes.capped(name), label.low, label.high, case)
    top, due = share_between(raw, rubric.high, rubric.high, case), _top_labelled(label.best, rubric, case)
    beyond = _top_beyond(raw, label.best, rubric.high, case)
    same, moved = repeated(votes, name)
    width = spread(raw, case)
    outside = _outside(raw, label)
    return DimensionHealth(
        agreement=agreement(raw, label.best, label.low, label.high, case, rubric.scale),
        bound_exact=bound_exact,
        bound_within_one=bound_within_one,
        top_share=top,
        top_labelled=due,
        top_beyond=beyond,
        inflated=is_inflated(top, beyond, rubric.mode),
        middle_share=share_between(raw, rubric.neutral, min(rubric.neutral + 1, rubric.high), case),
        spread=width,
        constant=width.value == 0,
        length=spearman(raw, votes.length, case),
        length_labelled=_of_labelled(label.best, votes.length, case),
        repeatability=same,
        moved=moved,
        reliability=reliability(votes, name),
        people=people_beside(raw, *labels.people(name), case, rubric.epsilon),
        disagreements=_farthest(outside, raw, label, votes),
        n_disagreements=int((outside != 0).sum()),
    )


def _outside(scores: Array, label: _Range) -> Array:
    """How far each score is beyond the allowed range, with its sign; 0 inside it, and where one of them is missing."""
    above, below = np.maximum(scores - label.high, 0), np.maximum(label.low - scores, 0)
    outside: Array = np.nan_to_num(np.round(above - below, 9), nan=0.0)
    return outside


def _farthest(outside: Array, scores: Array, label: _Range, votes: Votes) -> tuple[Disagreement, ...]:
    # Of texts equally far outside the range, those farther from the best score come first.
    from_best = np.abs(np.nan_to_num(scores - label.best, nan=0.0))
    order = np.lexsort((-from_best, -np.abs(outside)))[:MOST_LISTED]
    names = list(votes.case_ids)
    return tuple(
        Disagreement(
            names[votes.case[k]],
            *(float(column[k]) for column in (label.best, label.low, label.high, scores, outside)),
        )
        for k in order.tolist()
        if outside[k]
    )


def _of_labelled(best: Array, length: Array, case: Array) -> Estimate:
    labelled = ~np.isnan(best)
    return spearman(best[labelled], length[labelled], case[labelled])


def _top_labelled(best: Array, rubric: DescribedRubric, case: Array) -> Estimate:
    labelled = ~np.isnan(best)
    return share(best[labelled] == rubric.high, np.ones(int(labelled.sum()), dtype=bool), case[labelled])


def _top_beyond(scores: Array, best: Array, highest: float, case: Array) -> Estimate:
    both = ~(np.isnan(scores) | np.isnan(best))
    apart = (scores[both] == highest).astype(float) - (best[both] == highest)
    return mean(apart, case[both], (-1.0, 1.0))


def _flag(name: str, votes: Votes, labels: _Labelled) -> FlagHealth:
    raw, label = votes.uncapped(name), labels.flag(name)
    return FlagHealth(
        agreement=flag_agreement(raw, label, votes.unit),
        capped=flag_agreement(votes.capped(name), label, votes.unit),
        share=share(raw == 1, ~np.isnan(raw), votes.unit),
        missed=_cases(votes, (raw == 0) & (label == 1)),
        false_alarms=_cases(votes, (raw == 1) & (label == 0)),
    )


def _cases(votes: Votes, chosen: Array) -> tuple[str, ...]:
    names = list(votes.case_ids)
    return tuple(names[votes.case[k]] for k in np.flatnonzero(chosen)[:MOST_LISTED].tolist())


# Whether a judge tells texts apart: one that gives all, or nearly all, of them one score may tell nothing.

FEWEST_ALIKE = 5
"""Fewer texts that have the same scores show no habit."""
_FEWEST_NEARLY = 20
_NEARLY_ALL = 0.95


def constant_judge(figures: JudgeFigures, scale: tuple[float, float], expected: Collection[str] = ()) -> str:
    """Why the scores of a judge tell nothing of texts that differ; "" when they do, or when one score may be due.

    In the dimensions of `expected` the suite declares that one score is, unless labels contradict it.

    A judge that gives all texts the same scores is suspect. Labels that are all alike allow it, and so does a scale of
    two, on which a system that is always right has one score. In a single dimension, and where it is nearly all texts,
    the labels must contradict it: they refuse the score to more texts than the judge does.
    """
    usual = {name: item.usual for name, item in figures.dimensions.items() if item.usual is not None}
    usual = {name: item for name, item in usual.items() if item.n_texts >= FEWEST_ALIKE}
    open_to_doubt = {name: item for name, item in usual.items() if name not in expected}
    constant = bool(open_to_doubt) and all(item.n == item.n_texts for item in usual.values())
    if constant and not _may_be_due(open_to_doubt, scale):
        given = ", ".join(f"{name} {item.score:g}" for name, item in open_to_doubt.items())
        n = max(item.n_texts for item in open_to_doubt.values())
        return f"the judge gives all {n:,} texts the same scores ({given}) although the texts differ"
    refused = [
        f"{name} {item.score:g} to {item.n:,} of {item.n_texts:,}; labels refuse it to"
        f" {item.n_refused:,} of {item.n_labelled:,}"
        for name, item in usual.items()
        if _is_contradicted(item)
    ]
    return f"the judge hardly separates texts that differ by their labels ({', '.join(refused)})" if refused else ""


def hardly_distinguishes(usual: UsualScore | None, scale: tuple[float, float]) -> bool:
    """True when nearly all texts have one score on a scale of more than two, and no labels show that it is due."""
    if usual is None or usual.n == usual.n_texts or scale[1] - scale[0] == 1:
        return False
    return _is_nearly_constant(usual) and (usual.n_labelled < FEWEST_ALIKE or _is_contradicted(usual))


def _may_be_due(usual: dict[str, UsualScore], scale: tuple[float, float]) -> bool:
    if any(item.labels_differ for item in usual.values()):
        return False
    labelled, refused = (sum(getattr(item, name) for item in usual.values()) for name in ("n_labelled", "n_refused"))
    return (labelled >= FEWEST_ALIKE and not refused) or (scale[1] - scale[0] == 1 and not refused)


def _is_nearly_constant(usual: UsualScore) -> bool:
    return usual.n == usual.n_texts or (usual.n_texts >= _FEWEST_NEARLY and usual.n >= _NEARLY_ALL * usual.n_texts)


def _is_contradicted(usual: UsualScore) -> bool:
    if usual.n_labelled < FEWEST_ALIKE or not _is_nearly_constant(usual):
        return False
    bounds = wilson(usual.n_refused / usual.n_labelled, usual.n_labelled)
    # At the lower end the labels must still differ from that score more than twice as often as the judge does.
    return bounds is not None and bounds[0] > max(1 - _NEARLY_ALL, 2 * (1 - usual.n / usual.n_texts))
