"""What labels say of a run's samples, and the pass rate by judge and labels together.

Labels are those of the cases and those that people gave in the store. A rate of all texts follows from labels of all
of them or of a random sample (see `LabelColumns`). An ended run stays as it is and its labels do not: whoever asks gets
the figures by the labels that are there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace

import numpy as np

from steelyard.analysis.judge.corrected_rate import corrected_pass_rate, without_rate
from steelyard.analysis.judge.labels import (
    SampleKey,
    as_number,
    judged_texts,
    labelled_otherwise,
    labels_by_case,
    why_labels_cannot_tell,
)
from steelyard.analysis.judge.rubric import DescribedRubric, Labels, described_rubric
from steelyard.analysis.model import JudgeCheck, Summary
from steelyard.frozen import frozen
from steelyard.metrics.run_data import CorrectedRate, LabelledPasses, RunData
from steelyard.stats.arrays import Array
from steelyard.stats.groups import share
from steelyard.stats.intervals import SHARES, Estimate, bounded, score_bounds
from steelyard.stats.sampling import LEVEL, ranks, sampling_differences
from steelyard.store.base import Columns, Store
from steelyard.store.people import DISAGREEMENT, PRECISION, RANDOM, SCORES, VERDICT, LabelRecord, Queue
from steelyard.suite.labels import Label, is_labelled
from steelyard.suite.models import SuiteModel
from steelyard.wording import percent

_HALF = 0.5
FEWEST = 10
"""Fewer labels than this give no rate that a gate can stand on, unless every text has some."""


DECLARED = "declared"
"""How a text was sampled that a file calls random and that this tool did not sample."""
_CHOSEN = (
    "the labeled texts are not known to be a random sample (neither did steelyard label plan sample them, nor is it"
    " declared: judge.labels_are: random in the suite, drawn: random in a file of labels)"
)
_MAX_GROUPS = 50
"""The categories, or other slices of one kind, by which labeled texts are compared with the rest."""
_MAX_NAMED = 10
"""The texts without labels that a message names."""


@frozen
class RunLabels:
    """The labels of one run."""

    by_case: Mapping[str, Labels] | None = None
    """Those of its cases; None for a suite that names none."""
    own: Collection[SampleKey] = ()
    """The samples whose text the labels of their case are of."""
    by_people: Mapping[SampleKey, float] = field(default_factory=dict)
    """The share of people who let a sample pass."""
    sampled: Mapping[SampleKey, str] = field(default_factory=dict)
    """How those were sampled: `random` and `precision` by this tool, which recorded it, or `declared`."""
    stratified: bool = False
    """Whether some were sampled among what the judge passes and among the rest, not as many of each as there are."""
    n_passed_over: int = 0
    """Sampled texts without a label that came before labeled ones: people, or a file, may have picked the others."""
    lengths: Mapping[SampleKey, int] = field(default_factory=dict)
    """The characters of each judged text; read only where labels are compared with the rest."""
    unfinished: str = ""
    """Why the labels drawn by chance are none yet; "" when they are."""
    leaning: str = ""
    """Why they lean to one side yet, which only the pass rate weighs; "" when they do not."""


def _unfinished_draw(store: Store, run_id: str, before: str = DISAGREEMENT) -> str:
    """Why the labels that chance drew, some of it `before` by another way, stand behind no figure yet; or ""."""
    n = store.people.waiting(run_id, before)
    return f"some texts of the random draw were picked before, and of the others {n} have no label yet" if n else ""


def read_labels(store: Store, run_id: str, suite: SuiteModel) -> RunLabels | None:
    """The labels of a stored run; None where there are none."""
    given = [label for label in store.people.labels(run_id=run_id) if label.run_id == run_id]
    judge = suite.judge if suite.judge and suite.judge.labels else None
    if judge is None and not given:
        return None
    rubric, queued = described_rubric(suite), store.people.queued(Queue(run_id))
    by_chance = [label for label in given if label.drawn in (RANDOM, PRECISION)]
    by_people = _shares(given, rubric) | _shares(by_chance, rubric)
    # What the queue records is what this tool sampled; a label that it does not know only states how.
    sampled = {label.key: DECLARED for label in given if label.drawn == RANDOM and label.key not in queued}
    sampled |= {key: how for key, how in queued.items() if how in (RANDOM, PRECISION)}
    leaning = _unfinished_draw(store, run_id, PRECISION)
    stratified = bool(leaning) or any(sampled.get(key) == PRECISION for key in by_people)
    order = [key for key in queued if key in sampled]
    passed: dict[SampleKey, int] = {}
    if stratified:
        columns = store.columns(run_id)
        passed = dict(zip(_keys(columns), columns.passed.tolist(), strict=True))
    sides = [[key for key in order if passed.get(key, 0) == side] for side in (-1, 0, 1)]
    n_passed_over = sum(_passed_over(side, by_people) for side in sides)
    is_compared = DECLARED in sampled.values() or n_passed_over or (judge is not None and judge.labels_are == RANDOM)
    own, lengths = set(), {}
    if judge is not None or is_compared:
        for sample, case, text in judged_texts(store.samples(run_id), suite.judge):
            if judge is not None and is_labelled(text, case, judge.labelled):
                own.add(sample.key)
            if is_compared:
                lengths[sample.key] = len(text)
    return RunLabels(
        None if judge is None else labels_by_case(store.cases(run_id), judge, skip_wrong=True),
        own,
        by_people,
        {key: how for key, how in sampled.items() if key in by_people},
        stratified,
        n_passed_over,
        lengths,
        _unfinished_draw(store, run_id),
        leaning,
    )


def _keys(columns: Columns) -> list[SampleKey]:
    """Case, variant and repeat of every sample."""
    case_ids, variants = list(columns.case_ids), columns.variants
    codes = zip(columns.case.tolist(), columns.variant.tolist(), columns.repeat.tolist(), strict=True)
    return [(case_ids[case], variants[variant], repeat) for case, variant, repeat in codes]


def _passed_over(order: Sequence[SampleKey], labelled: Collection[SampleKey]) -> int:
    """How many sampled texts without a label stand before the last one that has one."""
    reached = [key in labelled for key in order]
    last = max((at for at, has in enumerate(reached) if has), default=-1)
    return reached[: last + 1].count(False)


def label_passes(label: LabelRecord, rubric: DescribedRubric | None) -> bool | None:
    """Whether a person lets the answer pass; None when the label does not tell."""
    if label.kind == VERDICT:
        return bool(label.value)
    if label.kind != SCORES or rubric is None:
        return None
    scores = label.value.items()
    return rubric.passes({name: item if isinstance(item, bool) else Label(item, item, item) for name, item in scores})


def _shares(labels: Iterable[LabelRecord], rubric: DescribedRubric | None) -> dict[SampleKey, float]:
    votes: dict[SampleKey, list[bool]] = {}
    for label in labels:
        if label.round == 0 and (passes := label_passes(label, rubric)) is not None:
            votes.setdefault(label.key, []).append(passes)
    return {key: sum(some) / len(some) for key, some in votes.items()}


class LabelColumns:
    """The labels of a run beside its samples: from 0 to 1, or NaN for what is not known.

    A rate of all texts follows from labels of all of them, or of a random sample. Which labels are one:

    - those of texts that this tool sampled and recorded, and no others beside them;
    - else those that a file, or the suite, declares as random, where they do not differ from the rest;
    - none others. Labels that remain after answers changed are what did not change, and no sample of all.
    """

    def __init__(self, labels: RunLabels, data: RunData) -> None:
        self._labels, self._data, self._rubric = labels, data, described_rubric(data.suite)
        table, columns = data.table, data.columns
        self._table = table
        passed = table.passed()
        self.judged: Array = np.where(table.scored & (passed >= 0), passed, np.nan)
        """Whether the judge passes a text; of a suite without a judge, its own rules."""
        self.keys = _keys(columns)
        self._case = columns.case
        self._by_case = [(labels.by_case or {}).get(case_id) or {} for case_id in columns.case_ids]
        has_labels = np.array([bool(own) for own in self._by_case], dtype=bool)[self._case]
        own = np.array([key in labels.own for key in self.keys], dtype=bool) & has_labels
        by_people = self.by_key(labels.by_people)
        self._own, self._by_people = own, ~np.isnan(by_people)
        self._passes: Array = np.where(self._by_people, by_people, self._of_case(self._passes_of_case))
        labelled, tells = own | self._by_people, ~np.isnan(self._passes)
        self._otherwise = ~np.isnan(self.judged) & has_labels & ~labelled
        # Where labels of some texts do not tell what passes, those that do are not a random part of the labels.
        self._labelled = tells if tells.any() else labelled
        self._sampled = np.array([labels.sampled.get(key, "") for key in self.keys], dtype=object)
        self.counts, self.declared, self.not_random = self._sampling()
        self.passes: Array = np.where(self.counts, self._passes, np.nan)
        """Whether a text passes by its labels, of those that count; what people said of the very text comes first."""

    def _sampling(self) -> tuple[Array, bool, str]:
        """Which labels count, whether their randomness is declared only, and why no rate of all texts follows."""
        judged = ~np.isnan(self.judged)
        if not (judged & ~self._labelled).any():
            return self._labelled, False, ""
        recorded = np.isin(self._sampled, (RANDOM, PRECISION))
        if recorded.any():
            n = self._labels.n_passed_over
            why = self._unlike(recorded) if n else ""
            return recorded, False, why and f"{n:,} of the sampled texts have no label, and {why}"
        declared = self._sampled == DECLARED
        if self._rubric is not None and self._rubric.declared_random and not self._otherwise.any():
            declared = declared | self._own
        if declared.any():
            why = self._unlike(declared)
            return declared, True, why and f"the labeled texts are declared as a random sample, but {why}"
        n = int(self._otherwise.sum())
        if not n:
            return self._labelled, False, _CHOSEN if self._labelled.any() else ""
        why = labelled_otherwise(n, [_text_name(self.keys[at]) for at in np.flatnonzero(self._otherwise)[:_MAX_NAMED]])
        plural = "1 label is" if n == 1 else f"{n:,} labels are"
        rest = f"; the {int((judged & self._labelled).sum()):,} others are not a random sample of all"
        return self._labelled, False, f"{plural} missing: {why}{rest}"

    def _unlike(self, sampled: Array) -> str:
        """How the labeled texts differ from the others more than a random sample would; "" when they do not."""
        judged = np.flatnonzero(~np.isnan(self.judged))
        sampled = sampled[judged]
        if sampled.all():
            return ""
        unit = self._unit_of_sampling(sampled, judged)
        size = np.bincount(unit)
        inside = np.bincount(unit, sampled) > 0
        if inside.sum() < FEWEST:
            return f"labels of {inside.sum()} cases or clusters are too few to compare them with the others"
        traits = {trait.name: trait for trait in self._traits(judged)}
        by_unit = {
            name: np.column_stack([np.bincount(unit, column) / size for column in trait.columns.T])
            for name, trait in traits.items()
        }
        strata = None
        if self._labels.stratified:
            strata = (np.bincount(unit, self.judged[judged]) / size > _HALF).astype(int)
        found = sampling_differences(inside, by_unit, strata)
        differs = sorted((p, name) for name, p in found.items() if p <= LEVEL)
        return "; ".join(f"{traits[name].describe(sampled)} (adjusted p = {p:.3f})" for p, name in differs)

    def _unit_of_sampling(self, sampled: Array, judged: Array) -> Array:
        """What was sampled as a whole: clusters or cases of which all texts have labels or none has; else texts."""
        for column in (self._table.unit, self._case):
            unit = np.unique(column[judged], return_inverse=True)[1]
            size, inside = np.bincount(unit), np.bincount(unit, sampled)
            if ((inside == 0) | (inside == size)).all():
                return unit
        return np.arange(len(judged))

    def _traits(self, judged: Array) -> Iterator[_Trait]:
        """What labeled and unlabeled texts are compared by: verdict, score, length, category and every other slice."""
        passes = self.judged[judged]
        yield _Trait("verdict", passes[:, np.newaxis], ["passed by the judge"])
        yield _Trait("score", ranks(score := self._table.score()[judged]), values=score)
        if self._labels.lengths:
            length = np.array([self._labels.lengths.get(self.keys[at], np.nan) for at in judged.tolist()])
            yield _Trait("length", ranks(length), values=length)
        everything = np.ones(self._table.n, dtype=bool)
        for factor, groups in self._data.groups.items():
            if not factor:
                continue
            largest = np.argsort(-groups.planned, kind="stable")[:_MAX_GROUPS].tolist()
            member = np.zeros((self._table.n, len(largest)))
            for column, group in enumerate(largest):
                member[groups.samples_where(group, everything), column] = 1
            yield _Trait(factor, member[judged], [f"{factor} {groups.names[group]}" for group in largest])

    def by_key(self, values: Mapping[SampleKey, float]) -> Array:
        """Values of some samples as a column."""
        return np.array([values.get(key, np.nan) for key in self.keys], dtype=float)

    def labelled(self, name: str, by_people: Mapping[SampleKey, float]) -> Array:
        """What labels that count say of one dimension or flag: people of the very text, or else the labels of its case.

        What was sampled for the precision of the pass rate is in no mean, unless all texts have labels.
        """
        given = self.by_key(by_people)
        given = np.where(np.isnan(given), self._of_case(lambda own: _number(own.get(name))), given)
        return np.where(self.counts & ((self._sampled != PRECISION) | self._is_complete()), given, np.nan)

    def _is_complete(self) -> bool:
        return not (~np.isnan(self.judged) & ~self._labelled).any()

    def _of_case(self, value: Callable[[Labels], float]) -> Array:
        of_case = np.array([value(own) for own in self._by_case], dtype=float)[self._case]
        return np.where(self._own, of_case, np.nan)

    def _passes_of_case(self, own: Labels) -> float:
        return as_number(None if self._rubric is None else self._rubric.passes(own))

    def check(self) -> JudgeCheck:
        """How the labels tell what the judge is worth."""
        result = self.corrected()
        return JudgeCheck(self.not_random, result.message, result.method, result.why)

    def column(self) -> LabelledPasses:
        """As metrics take it."""
        texts = self.counts & ~np.isnan(self.judged)
        return LabelledPasses(self.passes, self.judged, texts, self._otherwise, self.corrected)

    def corrected(self, rows: Array | None = None) -> CorrectedRate:
        """The pass rate of all or some samples by judge and labels together; n/a with fewer labels than it takes.

        Nobody labels a malformed answer: it has not passed.
        """
        rows = np.arange(self._table.n) if rows is None else rows
        unit, judged, malformed = self._table.unit[rows], ~np.isnan(self.judged[rows]), self._table.malformed[rows]
        all_labelled = not (judged & np.isnan(self._passes[rows])).any()
        passes = (self._passes if all_labelled else self.passes)[rows]
        result, n = self._of_read(rows, passes, all_labelled=all_labelled), int((judged & ~np.isnan(passes)).sum())
        needed = min(FEWEST, int(judged.sum()))
        if n < needed and not result.message:
            result = without_rate(result, _too_few(n, needed))
        missing, answered = int((~judged & ~malformed).sum()), judged | malformed
        rate = Estimate(None, 0) if result.message else result.rate
        rate = _counting_malformed(rate, share(judged, answered, unit), missing)
        return replace(result, rate=rate, reported=share(self.judged[rows] == 1, answered, unit))

    def _of_read(self, rows: Array, passes: Array, *, all_labelled: bool) -> CorrectedRate:
        """The same of the answers that could be read."""
        labels = self._labels
        result = labelled_rate(
            *(self.judged[rows], passes, self._table.unit[rows]),
            stratified=labels.stratified and not all_labelled,
            declared=self.declared,
            not_random="" if all_labelled else self.not_random,
        )
        if labels.unfinished and not all_labelled:
            return without_rate(result, labels.unfinished)
        why = why_labels_cannot_tell(self._rubric) if self._rubric and not labels.by_people else ""
        return replace(result, message=why) if why else result


@frozen
class _Trait:
    """One characteristic by which texts are compared: its columns, and what they are of."""

    name: str
    columns: Array
    names: Sequence[str] = ()
    """What each column is of; empty for a number."""
    values: Array = field(default_factory=lambda: np.empty(0))
    """The numbers; empty for what is counted."""

    def describe(self, sampled: Array) -> str:
        """`category easy: 100.0 % of the labeled and 33.3 % of the other texts`; of numbers, both medians."""
        if not self.names:
            medians = (float(np.nanmedian(self.values[side])) for side in (sampled, ~sampled))
            return "{}: median {:g} of the labeled and {:g} of the other texts".format(self.name, *medians)
        shares = self.columns[sampled].mean(axis=0), self.columns[~sampled].mean(axis=0)
        at = int(np.argmax(np.abs(shares[0] - shares[1])))
        ours, others = (percent(float(side[at])) for side in shares)
        return f"{self.names[at]}: {ours} of the labeled and {others} of the other texts"


def _text_name(key: SampleKey) -> str:
    """A text by its case and, where a run has several, its variant and repeat: `c1 [short] #2`."""
    case_id, variant, repeat = key
    return f"{case_id}{f' [{variant}]' if variant else ''}{f' #{repeat + 1}' if repeat else ''}"


def _number(label: Label | bool | None) -> float:
    return np.nan if label is None else float(label.best if isinstance(label, Label) else label)


def labelled_rate(
    judge: Array,
    passes: Array,
    case: Array,
    *,
    stratified: bool,
    declared: bool = False,
    not_random: str = "",
) -> CorrectedRate:
    """The pass rate by judge and labels together; what people differ on passes in part."""
    shared = (passes > 0) & (passes < 1)
    sampling = {"stratified": stratified, "declared": declared}
    result = corrected_pass_rate(judge, np.where(shared, np.nan, passes), case, **sampling, not_random=not_random)
    if not shared.any():
        return result
    if not_random:
        return without_rate(result, not_random)
    rate = stratified_mean(judge, passes, case)
    if rate.value is None:
        return replace(result, rate=rate, message="fewer than two labels of what the judge passes, or of the rest")
    why = "people differ on some texts, which pass in part"
    return replace(result, rate=rate, message="", method="post-stratified", why=why)


def _counting_malformed(rate: Estimate, read: Estimate, missing: int) -> Estimate:
    """A pass rate of the answers that could be read as one of all: a malformed answer has not passed.

    `read` is the share that could be read. The interval is that of a product of two shares.
    """
    if rate.value is None or read.value is None:
        return Estimate(None, read.n, missing)
    if read.value == 1:
        return replace(rate, n_missing=missing)
    if rate.low is None or rate.high is None:
        return Estimate(rate.value * read.value, read.n, missing)
    value, low, high = rate.value * read.value, read.low or 0.0, 1.0 if read.high is None else read.high
    down = math.hypot(read.value * (rate.value - rate.low), rate.value * (read.value - low))
    up = math.hypot(read.value * (rate.high - rate.value), rate.value * (high - read.value))
    return bounded(value, read.n, missing, (max(0.0, value - down), min(1.0, value + up)), SHARES)


def stratified_mean(judge: Array, label: Array, case: Array) -> Estimate:
    """The share that passes by people, among what the judge passes and among the rest, weighted by all items."""
    judged, labelled = ~np.isnan(judge), ~np.isnan(label) & ~np.isnan(judge)
    total, missing, value, variance = int(judged.sum()), int((~judged).sum()), 0.0, 0.0
    sides = {side: labelled & (judge == side) for side in (1.0, 0.0) if (judge == side).any()}
    if not sides or min(of.sum() for of in sides.values()) < 2:
        return Estimate(None, total, missing)
    means = [(float((judge[judged] == side).mean()), float(label[of].mean())) for side, of in sides.items()]
    value = sum(weight * share for weight, share in means)
    for (weight, _), of in zip(means, sides.values(), strict=True):
        variance += weight**2 * clustered_variance(label[of], case[of])
    variance += sum(weight * (share - value) ** 2 for weight, share in means) / total
    # No more degrees of freedom than the side with fewer labels has: an interval that is rather too wide.
    fewest = min(len(np.unique(case[of])) for of in sides.values())
    bounds = score_bounds(value, math.sqrt(variance), fewest - 1, SHARES) if fewest > 1 else None
    return bounded(value, total, missing, bounds, SHARES)


def clustered_variance(values: Array, case: Array) -> float:
    """The variance of a mean whose values come in clusters."""
    code = np.unique(case, return_inverse=True)[1]
    clusters = int(code.max()) + 1
    if clusters < 2:
        return 0.0
    sums = np.bincount(code, values - values.mean())
    return float((sums**2).sum()) * clusters / (clusters - 1) / len(values) ** 2


def why_unknown(summary: Summary) -> str:
    """Why there is no pass rate by labels, and what to do."""
    check = summary.judge_check
    # A rate of the run without one of its slice: the slice has too few.
    message = _too_few(0) if check is None else check.message or f"fewer than {FEWEST} of its texts have labels"
    few = summary.overall.count("labels.texts") < FEWEST
    return f"{message}; see steelyard label plan" if few else message


def _too_few(n: int, needed: int = FEWEST) -> str:
    return f"{n} texts have labels that count here, and at least {needed} must"


def labels_of(store: Store, run_id: str, data: RunData) -> LabelledPasses | None:
    """The labels of a stored run as metrics take them; None where there are none."""
    labels = read_labels(store, run_id, data.suite)
    return None if labels is None else LabelColumns(labels, data).column()
