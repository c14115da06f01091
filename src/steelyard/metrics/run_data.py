"""A run as columns, and what is made of them once: what every metric takes its contributions from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from steelyard.frozen import frozen
from steelyard.metrics.cells import CellGroups, Counted, PassedRepeats, counted
from steelyard.metrics.expressions import RepeatsRule, parse_repeats
from steelyard.metrics.registry import MOST_IN_A_ROW, Contributions, Key
from steelyard.metrics.stability import Placed, Seen, seen_in
from steelyard.metrics.table import Table, cut
from steelyard.records import Sample
from steelyard.stats.arrays import Array
from steelyard.stats.groups import Groups
from steelyard.stats.intervals import Estimate
from steelyard.store.base import Checks, ClaimColumns, Columns, JudgedSample
from steelyard.store.contents import Contents
from steelyard.suite.labels import Label
from steelyard.suite.models import SuiteModel

T = TypeVar("T")
Thing = tuple[float | None, str]
"""A value, or None when it is not in the figure; and in words how it came about, or why it is not in it."""
Things = Callable[[Sample, str], Iterable[Thing]]
"""What is in a sample, of which it is also told what went wrong."""


@frozen
class CorrectedRate:
    """What a pass rate would be, were the judge's errors those that the labeled part shows."""

    rate: Estimate
    """By the method below, inside 0..1; n/a when it cannot be computed."""
    reported: Estimate
    sensitivity: Estimate
    """Of the texts that pass by their labels, the share that the judge passes."""
    specificity: Estimate
    """Of the texts that do not pass by their labels, the share that the judge does not pass."""
    message: str = ""
    """Why there is no corrected rate; "" when there is one."""
    method: str = ""
    """`prediction-powered`, `labels alone` or `post-stratified`; "" when there is no corrected rate."""
    why: str = ""
    """Why it was that method."""
    labels: Estimate = field(default_factory=lambda: Estimate(None, 0))
    """The share of the labeled texts that pass by their labels; no interval where they are not a random sample."""


@frozen
class LabelledPasses:
    """What labels say of a run's samples."""

    passes: Array
    """Whether a sample passes by its labels: 1, 0, between them where people differ, or NaN where they do not tell."""
    judged: Array
    """Whether the judge passes it; of a suite without a judge, its own rules."""
    texts: Array
    """The judged samples with labels that count."""
    otherwise: Array
    """The judged samples whose case has labels of another text, or that do not say of which."""
    corrected: Callable[[Array], CorrectedRate]
    """From samples to their pass rate by judge and labels together."""


class RunData:
    """A run; `suite` is the suite as the run's header describes it.

    `checks` are what became of its expectations and `items` what its repeats are compared by, read when asked for.
    `claims` and `read` bring what its answers claim, and every sample with what went wrong in it; `contents` brings
    what its findings say.
    """

    def __init__(
        self,
        columns: Columns,
        suite: SuiteModel,
        checks: Checks | None = None,
        items: Iterable[Placed] | None = None,
        claims: Callable[[], ClaimColumns] | None = None,
        read: Callable[[], list[tuple[Sample, str]]] = list,
        contents: Callable[[], Contents] | None = None,
    ) -> None:
        self.columns, self.suite, self.checks, self._items = columns, suite, checks, items
        self.table = Table(columns, suite)
        self.absent = max(0, (suite.n_planned or 0) - columns.n)
        """Samples that were planned and are missing."""
        self.claims, self._read, self.contents = claims, read, contents
        self.labels: LabelledPasses | None = None
        """None for a run without labels."""
        self.judged: Callable[[], Iterable[JudgedSample]] | None = None
        """Its judged samples in the order of the plan; None where nobody asks what its judge did."""
        self.case_labels: Mapping[str, Mapping[str, Label | bool]] | None = None
        """What a reviewer says of its cases, by dimension and flag; None for a suite that names no labels."""
        self._made: dict[Callable[..., Any], Any] = {}

    @cached_property
    def groups(self) -> dict[str, Groups]:
        """Samples by factor; `""` is the whole run."""
        return cut(self.columns, self.suite, self.absent)

    @cached_property
    def cells(self) -> CellGroups:
        """Cases under variants, cut as samples are."""
        return CellGroups(self.table, self.groups, self.suite)

    @cached_property
    def counted(self) -> Counted | None:
        """What came of the checks of every cell; None for a suite without expectations."""
        if self.checks is None or not (self.checks.n or self.suite.expect):
            return None
        return counted(self.checks, self.columns, self.of_repeats, self.cells, self.suite)

    @property
    def checked(self) -> Counted:
        """The same of a suite that has expectations."""
        if self.counted is None:
            raise ValueError("a suite without expectations has no metrics of checks")
        return self.counted

    @cached_property
    def of_repeats(self) -> Table:
        """The samples as figures over repeats count them."""
        return self.table.of_repeats()

    @cached_property
    def clean_repeats(self) -> PassedRepeats | None:
        """By cell, the repeats that pass under all rules of the sample; None for a suite without a pass rule, and for a
        scored suite that asks each case once."""
        if self.counted is not None:
            return self.counted.repeats
        if self.suite.passing is None or self.suite.repeats < 2:
            return None
        passed, count = self.of_repeats.passed(), self.cells.count_of
        return PassedRepeats(count(passed == 1), count(passed >= 0), self.cells.planned_repeats)

    @cached_property
    def pass_all(self) -> dict[int, Contributions]:
        """By k, the chance of every cell that k repeats all pass."""
        return self._all_of(self.clean_repeats)

    @cached_property
    def checks_pass_all(self) -> dict[int, Contributions]:
        """The same by checks alone."""
        return self._all_of(None if self.counted is None else self.counted.by_checks)

    def _all_of(self, repeats: PassedRepeats | None) -> dict[int, Contributions]:
        most = 0 if repeats is None else min(self.cells.repeats, MOST_IN_A_ROW)
        return {k: repeats.all_of(k) for k in range(1, most + 1)} if repeats else {}

    @cached_property
    def repeat_rules(self) -> list[RepeatsRule]:
        """The different conditions over repeats among the suite's criteria."""
        texts = [text for item in self.suite.criteria for text in (item.passes, item.fails) if text]
        return list({rule.text: rule for rule in map(parse_repeats, texts) if rule is not None}.values())

    @cached_property
    def has_cells(self) -> bool:
        """Whether anything is counted over the repeats of a case."""
        if self.clean_repeats is not None or self.stability is not None or self.repeat_rules:
            return True
        return bool((self.table.reused() | self.table.copied()).any())

    @cached_property
    def stability(self) -> Seen | None:
        """How alike the repeats of every cell are; None for a suite that does not compare them."""
        if self._items is None or self.suite.stability is None:
            return None
        return seen_in(self._items, self.of_repeats, self.cells, self.suite.stability)

    @cached_property
    def families(self) -> tuple[str, ...]:
        """The families of metrics that it has, besides those of every run."""
        judge = () if self.suite.judge is None else ("judge",)
        return judge if self.claims is None or not self.claims().n else (*judge, "confidence")

    def once(self, make: Callable[[RunData], T]) -> T:
        """What a function makes of the run, made when it is first asked for."""
        if make not in self._made:
            self._made[make] = make(self)
        result: T = self._made[make]
        return result

    def key(self, sample: int) -> Key:
        """Case, variant and repeat of a sample."""
        columns = self.columns
        case, variant = int(columns.case[sample]), int(columns.variant[sample])
        return columns.case_ids[case], columns.variants[variant], int(columns.repeat[sample])

    def cell_key(self, cell: int) -> Key:
        """Case and variant of a cell."""
        return (*self.cells.name(cell), None)

    @cached_property
    def _codes(self) -> dict[int, Counter[str]]:
        codes: dict[int, Counter[str]] = {}
        columns = self.columns
        for sample, code in zip(columns.finding_sample.tolist(), columns.finding_code.tolist(), strict=True):
            codes.setdefault(sample, Counter())[columns.finding_codes[code]] += 1
        return codes

    def detail(self, sample: int) -> str:
        """What went wrong in a sample: its failure, or the codes that were found in it."""
        columns, table = self.columns, self.table
        if len(columns.failure) == table.n and columns.failure[sample] >= 0:
            return columns.failures[int(columns.failure[sample])]
        codes = ", ".join(code if n == 1 else f"{code} x {n}" for code, n in self._codes.get(sample, Counter()).items())
        outcome = table.outcomes[int(table.outcome[sample])]
        outcome = "" if outcome == "scored" else outcome
        return f"{outcome}: {codes}" if outcome and codes else outcome or codes

    def in_slice(self, factor: str, name: str) -> Array:
        """The samples of a slice, by number."""
        groups = self.groups[factor]
        if name not in groups.names:
            return np.empty(0, dtype=int)
        return groups.samples_where(groups.names.index(name), np.ones(self.table.n, dtype=bool))

    @cached_property
    def read(self) -> list[tuple[Sample, str]]:
        """Every sample, in the order of the columns, with what went wrong in it."""
        return self._read()

    def sample(self, number: int) -> Sample | None:
        """One sample as it is stored; None where samples are not at hand."""
        return self.read[number][0] if self.read else None

    def things(self, things: Things, excluded: str = "") -> Contributions:
        """What is in samples (votes, texts, findings, calls), one row a thing."""
        rows = [(sample.key, thing) for sample, why in self.read for thing in things(sample, why)]
        values = np.array([np.nan if value is None else value for _, (value, _) in rows])
        return Contributions(
            values, excluded=((excluded, None),), detail=lambda row: rows[row][1][1], key=lambda row: rows[row][0]
        )
