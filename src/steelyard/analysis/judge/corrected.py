"""What labels say of a run's samples, and the pass rate by judge and labels together.

Labels are those of the cases and those that people gave in the store, as far as chance drew what they are of. An ended
run stays as it is and its labels do not: whoever asks gets the figures by the labels that are there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from steelyard.analysis.judge.model import CorrectedRate, corrected_pass_rate, unlike
from steelyard.analysis.judge.votes import (
    DescribedRubric,
    JudgeCheck,
    Labels,
    SampleKey,
    as_number,
    corrected_by_labels,
    described_rubric,
    labelled_samples,
    labels_by_case,
)
from steelyard.metrics.own import LabelledPasses, RunData
from steelyard.metrics.table import Table
from steelyard.stats.arrays import Array
from steelyard.stats.groups import share
from steelyard.stats.intervals import SHARES, Estimate, bounded, score_bounds
from steelyard.store.base import Columns, Store
from steelyard.store.people import DISAGREEMENT, PRECISION, RANDOM, SCORES, VERDICT, LabelRecord
from steelyard.suite.labels import Label
from steelyard.suite.models import SuiteModel

FEWEST = 10
"""Fewer labels than this give no rate that a gate can stand on, unless every text has some."""


@dataclass(frozen=True, slots=True)
class RunLabels:
    """The labels of one run."""

    by_case: Mapping[str, Labels] | None = None
    """Those of its cases; None for a suite that names none."""
    own: Collection[SampleKey] = ()
    """The samples whose text the labels of their case are of."""
    by_people: Mapping[SampleKey, float] = field(default_factory=dict)
    """The share of people who let a sample pass."""
    stratified: bool = False
    """Whether some were drawn among what the judge passes and among the rest, not as many of each as there are."""
    at_random: Collection[SampleKey] = ()
    """The part drawn at random: the judge must pass as much of it as of the rest."""
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
    drawn = [label for label in given if label.drawn in (RANDOM, PRECISION)]
    judge = suite.judge if suite.judge and suite.judge.labels else None
    if judge is None and not given:
        return None
    leaning = _unfinished_draw(store, run_id, PRECISION)
    return RunLabels(
        None if judge is None else labels_by_case(store.cases(run_id), judge, skip_wrong=True),
        frozenset() if judge is None else labelled_samples(store.samples(run_id), judge),
        _shares(drawn, described_rubric(suite)),
        bool(leaning) or any(label.drawn == PRECISION for label in drawn),
        # What was drawn for precision before it came up at random is part of it once all has labels.
        () if leaning else frozenset(label.key for label in drawn if label.drawn == RANDOM),
        _unfinished_draw(store, run_id),
        leaning,
    )


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
    """The labels of a run beside its samples: from 0 to 1, or NaN for what is not known."""

    def __init__(self, labels: RunLabels, columns: Columns, table: Table, suite: SuiteModel) -> None:
        self._labels, self._table, self._rubric = labels, table, described_rubric(suite)
        passed = table.passed()
        self.judged: Array = np.where(table.scored & (passed >= 0), passed, np.nan)
        """Whether the judge passes a text; of a suite without a judge, its own rules."""
        places = zip(columns.case.tolist(), columns.variant.tolist(), columns.repeat.tolist(), strict=True)
        self.keys = [(columns.case_ids[case], columns.variants[variant], repeat) for case, variant, repeat in places]
        self._case = columns.case
        self._by_case = [(labels.by_case or {}).get(case_id) or {} for case_id in columns.case_ids]
        self._own = np.array([key in labels.own for key in self.keys], dtype=bool)
        self.at_random = np.array([key in labels.at_random for key in self.keys], dtype=bool)
        by_people = self.by_key(labels.by_people)
        self._by_people = ~np.isnan(by_people)
        chosen = self._rubric is not None and self._rubric.labels_chosen
        # What somebody chose is no part of a draw by chance.
        of_case = np.full(columns.n, np.nan) if chosen and labels.by_people else self._of_case(self._passes_of_case)
        self.passes: Array = np.where(self._by_people, by_people, of_case)
        """Whether a text passes by its labels; what people said of the very text comes first."""

    def by_key(self, values: Mapping[SampleKey, float]) -> Array:
        """Values of some samples as a column."""
        return np.array([values.get(key, np.nan) for key in self.keys], dtype=float)

    def labelled(self, name: str, by_people: Mapping[SampleKey, float]) -> Array:
        """What labels say of one dimension or flag: people of the very text, or else the labels of its case."""
        chosen = self._rubric is not None and self._rubric.labels_chosen
        given = self.by_key(by_people)
        return given if chosen else np.where(np.isnan(given), self._of_case(lambda own: _number(own.get(name))), given)

    def _of_case(self, value: Callable[[Labels], float]) -> Array:
        of_case = np.array([value(own) for own in self._by_case], dtype=float)[self._case]
        return np.where(self._own, of_case, np.nan)

    def _passes_of_case(self, own: Labels) -> float:
        return as_number(None if self._rubric is None else self._rubric.passes(own))

    def check(self) -> JudgeCheck:
        """What the labels say of the judge, over the samples that it read."""
        judged, has_case = (
            ~np.isnan(self.judged),
            np.array([bool(own) for own in self._by_case], dtype=bool)[self._case],
        )
        labelled = judged & (self._by_people | (has_case & self._own))
        others = judged & has_case & ~self._own & ~self._by_people
        return JudgeCheck(int(labelled.sum()), int(others.sum()), self.corrected(np.arange(self._table.n)))

    def column(self) -> LabelledPasses:
        """As metrics take it."""
        return LabelledPasses(self.passes, lambda rows: self.corrected(rows).rate)

    def corrected(self, rows: Array) -> CorrectedRate:
        """The pass rate of some samples by judge and labels together; n/a with fewer labels than it takes.

        Nobody labels a malformed answer: it has not passed.
        """
        unit, judged, malformed = self._table.unit[rows], ~np.isnan(self.judged[rows]), self._table.malformed[rows]
        result, n = self._of_read(rows), int((judged & ~np.isnan(self.passes[rows])).sum())
        needed = min(FEWEST, int(judged.sum()))
        if n < needed and not result.message:
            result = _without_rate(result, _too_few(n, needed))
        missing, answered = int((~judged & ~malformed).sum()), judged | malformed
        rate = Estimate(None, 0) if result.message else result.rate
        rate = _counting_malformed(rate, share(judged, answered, unit), missing)
        return replace(result, rate=rate, reported=share(self.judged[rows] == 1, answered, unit))

    def _of_read(self, rows: Array) -> CorrectedRate:
        """The same of the answers that could be read."""
        judged, passes, unit = self.judged[rows], self.passes[rows], self._table.unit[rows]
        if self._rubric is not None and not self._labels.by_people:
            return corrected_by_labels(judged, passes, unit, self._rubric)
        result = labelled_rate(judged, passes, unit, stratified=self._labels.stratified)
        why = unlike(judged, self.at_random[rows], unit) if self._labels.stratified else ""
        message = why and f"the labels drawn at random are no random part of the texts: {why}"
        message = self._labels.unfinished or message
        return _without_rate(result, message) if message else result


def _number(label: Label | bool | None) -> float:
    return np.nan if label is None else float(label.best if isinstance(label, Label) else label)


def labelled_rate(judge: Array, passes: Array, case: Array, *, stratified: bool) -> CorrectedRate:
    """The pass rate by judge and labels together; what people differ on passes in part."""
    shared = (passes > 0) & (passes < 1)
    result = corrected_pass_rate(judge, np.where(shared, np.nan, passes), case, stratified=stratified)
    if not shared.any():
        return result
    rate = stratified_mean(judge, passes, case)
    if not stratified and (why := unlike(judge, ~np.isnan(passes), case)):
        return _without_rate(result, f"the labels are no random part of the texts: {why}")
    if rate.value is None:
        return replace(result, rate=rate, message="fewer than two labels of what the judge passes, or of the rest")
    why = "people differ on some texts, which pass in part"
    return replace(result, rate=rate, message="", method="post-stratified", why=why)


def _without_rate(result: CorrectedRate, message: str) -> CorrectedRate:
    """The same without a corrected rate, and why."""
    rate = Estimate(None, result.rate.n, result.rate.n_missing)
    return replace(result, rate=rate, message=message, method="", why="")


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


def why_unknown(check: JudgeCheck | None) -> str:
    """Why there is no pass rate by labels, and what to do."""
    # A rate of the run without one of its slice: the slice has too few.
    message = (
        _too_few(0) if check is None else check.corrected.message or f"fewer than {FEWEST} of its texts have labels"
    )
    return message if check is not None and check.n_labelled >= FEWEST else f"{message}; see steelyard label plan"


def _too_few(n: int, needed: int = FEWEST) -> str:
    return f"{n} texts have labels that count here, and at least {needed} must"


def labels_of(store: Store, run_id: str, data: RunData) -> LabelledPasses | None:
    """The labels of a stored run as metrics take them; None where there are none."""
    labels = read_labels(store, run_id, data.suite)
    return None if labels is None else LabelColumns(labels, data.columns, data.table, data.suite).column()
