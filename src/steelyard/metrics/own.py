"""Metrics that a suite brings along: a function over the samples of a run, and what it is called.

    @steelyard.metric("cost_per_resolved", unit="cost", better="lower", aggregate="ratio",
                      formula="sum of costs / samples that passed")
    def cost_per_resolved(samples):
        return samples.cost(), samples.passed()

The suite file names it (`metrics: [figures:cost_per_resolved]`); it is then in reports, gates, comparisons and
`--explain` like any other.
"""

from __future__ import annotations

import re
import zlib
from base64 import b64decode, b64encode
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from steelyard.errors import SuiteError, UsageError
from steelyard.frozen import frozen
from steelyard.loading.load import suite_of_run
from steelyard.metrics.cells import CellGroups, Counted, PassedRepeats, counted
from steelyard.metrics.expressions import is_factor
from steelyard.metrics.registry import (
    MOST_IN_A_ROW,
    Aggregate,
    At,
    Better,
    Compared,
    Contributions,
    Key,
    Metric,
    Names,
    Reasons,
    metrics,
    register,
)
from steelyard.metrics.registry import unregister as _unregister
from steelyard.metrics.stability import Placed, Seen, seen_in
from steelyard.metrics.table import Table, cut
from steelyard.plugins import place_of, source_digest
from steelyard.records import RunHeader, Sample
from steelyard.stats.arrays import Array
from steelyard.stats.groups import Groups
from steelyard.stats.intervals import Estimate
from steelyard.store.base import Checks, ClaimColumns, Columns
from steelyard.suite.models import SuiteModel

# The columns of a run and what is made of them once: what every metric takes its contributions from.

T = TypeVar("T")
Thing = tuple[float | None, str]
"""A value, or None when it is not in the figure; and in words how it came about, or why it is not in it."""
Things = Callable[[Sample, str], Iterable[Thing]]
"""What is in a sample, of which it is also told what went wrong."""
_WHOLE = At()


@frozen
class LabelledPasses:
    """What labels say of a run's samples."""

    passes: Array
    """Whether a sample passes by its labels: 1, 0, between them where people differ, or NaN where they do not tell."""
    rate: Callable[[Array], Estimate]
    """From samples to their pass rate by judge and labels together."""


class RunData:
    """A run; `suite` is the suite as the run's header describes it.

    `checks` are what became of its expectations and `items` what its repeats are compared by, read when asked for.
    `claims` and `read` bring what its answers claim, and every sample with what went wrong in it.
    """

    def __init__(
        self,
        columns: Columns,
        suite: SuiteModel,
        checks: Checks | None = None,
        items: Iterable[Placed] | None = None,
        claims: Callable[[], ClaimColumns] | None = None,
        read: Callable[[], list[tuple[Sample, str]]] = list,
    ) -> None:
        self.columns, self.suite, self.checks, self._items = columns, suite, checks, items
        self.table = Table(columns, suite)
        self.absent = max(0, (suite.n_planned or 0) - columns.n)
        """Samples that were planned and are missing."""
        self.claims, self._read = claims, read
        self.labels: LabelledPasses | None = None
        """None for a run without labels."""
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
    def stability(self) -> Seen | None:
        """How alike the repeats of every cell are; None for a suite that does not compare them."""
        if self._items is None or self.suite.stability is None:
            return None
        return seen_in(self._items, self.of_repeats, self.cells, self.suite.stability)

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

    def samples(self, values: Array, rows: Array | None = None, excluded: Reasons = (), **more: Any) -> Contributions:
        """What samples bring, all of them or some."""
        at = np.arange(self.table.n) if rows is None else rows
        return Contributions(
            values[at].astype(float),
            excluded=tuple((why, None if mask is None else mask[at]) for why, mask in excluded),
            detail=lambda row: self.detail(int(at[row])),
            key=lambda row: self.key(int(at[row])),
            **more,
        )

    def marked(self, mask: Array, at: At = _WHOLE, **more: Any) -> Contributions:
        """The samples of a slice that a mask marks, each counting 1."""
        here = np.zeros(self.table.n, dtype=bool)
        here[self.in_slice(at.factor, at.slice)] = True
        return self.samples(np.ones(self.table.n), np.flatnonzero(mask & here), **more)

    def of_cells(self, values: Array, cells: Array | None = None, **more: Any) -> Contributions:
        """What cells bring: those with a value above 0, or those that are named."""
        rows = np.flatnonzero(values) if cells is None else np.arange(len(values))
        where = rows if cells is None else cells
        return Contributions(values[rows].astype(float), key=lambda row: self.cell_key(int(where[row])), **more)

    @cached_property
    def _samples(self) -> list[tuple[Sample, str]]:
        return self._read()

    def things(self, things: Things, excluded: str = "") -> Contributions:
        """What is in samples (votes, texts, findings, calls), one row a thing."""
        rows = [(sample.key, thing) for sample, why in self._samples for thing in things(sample, why)]
        values = np.array([np.nan if value is None else value for _, (value, _) in rows])
        return Contributions(
            values, excluded=((excluded, None),), detail=lambda row: rows[row][1][1], key=lambda row: rows[row][0]
        )


def one_value(_: RunData, at: At, detail: str = "") -> Contributions:
    """A figure of one row of a report, which is all that is behind it."""
    repeat = at.item.get("repeat")
    row: dict[str, Any] = next((item for item in at.path if "case_id" in item), {})
    where = (row.get("case_id", "(all)"), row.get("variant", ""), repeat)
    return Contributions(np.array([float(at.value)]), detail=lambda _: detail, key=lambda _: where)


UNITS = ("share", "score", "count", "s", "cost", "tokens", "number")
_NAME = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")
_DECLARED = "steelyard_metric"
_KEYS = ("name", "unit", "better", "aggregate", "formula", "about", "point")
_ADDED: dict[str, tuple[str, str | None]] = {}
"""By name of a metric that a suite added, the place of its code and a hash of it."""


class Samples:
    """The samples of a run as columns; NaN where nothing is known.

    An inconclusive sample has no score and has not passed or failed; a malformed answer has score 0 and has not passed.
    """

    def __init__(self, data: RunData) -> None:
        self._data = data
        self.n = data.table.n
        self.case_ids = [data.columns.case_ids[case] for case in data.columns.case.tolist()]
        """The case of every sample."""

    def score(self) -> Array:
        """Scores from 0 to 1."""
        return self._data.table.score()

    def passed(self) -> Array:
        """1 for what passed, 0 for what did not."""
        passed = self._data.table.passed().astype(float)
        passed[passed < 0] = np.nan
        return passed

    def component(self, name: str) -> Array:
        """The values of one component, on its scale."""
        if name not in self._data.columns.components:
            return np.full(self.n, np.nan)
        return self._data.table.component(name)

    def count(self, component: str, name: str) -> Array:
        """One of the counts that a scorer gives beside its value."""
        result = self._data.table.count(component, name)
        return np.full(self.n, np.nan) if result is None else result

    def counts(self, component: str) -> dict[str, Array]:
        """All counts of a scorer, by name."""
        return {name: self.count(component, name) for name in self._data.columns.counts.get(component, {})}

    def findings(self, code: str) -> Array:
        """How many findings of a code each sample has."""
        return metrics()["findings.<code>"].contributions(self._data, (code,)).values

    def latency(self) -> Array:
        """Seconds of the calls that were answered."""
        return self._data.table.latency()

    def cost(self) -> Array:
        """What the calls said that they cost."""
        return self._data.table.reported("cost")

    def tokens_in(self) -> Array:
        """Input tokens, as the calls said."""
        return self._data.table.reported("tokens_in")

    def tokens_out(self) -> Array:
        """Output tokens, as the calls said."""
        return self._data.table.reported("tokens_out")


Function = Callable[[Samples], Any]


def metric(
    name: str,
    *,
    formula: str,
    unit: str = "share",
    better: Better = "higher",
    aggregate: str = "mean",
    about: str = "",
    point: float | None = None,
) -> Callable[[Function], Function]:
    """Makes a function of `Samples` a metric.

    The function gives one number a sample (NaN: not in it) for `mean`, `rate` (1 or 0), `sum`, `min`, `max` and, with
    `point`, `quantile`; numerators and denominators for `ratio`, or a list of such pairs for the mean of several
    ratios.
    """
    available = [item.value for item in Aggregate if item is not Aggregate.ESTIMATE]
    if not _NAME.fullmatch(name) or is_factor(name.partition(".")[0]):
        raise ValueError(f"metric {name!r}: a name is words joined by dots, such as cost_per_resolved")
    if unit not in UNITS:
        raise ValueError(f"metric {name!r}: there is no unit {unit!r}; there are: {', '.join(UNITS)}")
    if aggregate not in available:
        raise ValueError(f"metric {name!r}: there is no aggregate {aggregate!r}; there are: {', '.join(available)}")
    if better not in ("higher", "lower", ""):
        raise ValueError(f"metric {name!r}: better is higher, lower or nothing, not {better!r}")
    if (aggregate == Aggregate.QUANTILE) is not (point is not None and 0 < point < 1):
        raise ValueError(f"metric {name!r}: a quantile, and nothing else, has a point between 0 and 1")

    def mark(function: Function) -> Function:
        first = (function.__doc__ or "").strip().partition("\n")[0]
        values = (name, unit, better, aggregate, formula, about or first.rstrip("."), point)
        setattr(function, _DECLARED, dict(zip(_KEYS, values, strict=True)))
        return function

    return mark


def describe_metric(function: Any) -> dict[str, Any]:
    """A metric as a run's header keeps it; UsageError for a function that is none."""
    declared = getattr(function, _DECLARED, None)
    if declared is None:
        raise UsageError(f"{place_of(function)} is no metric: write @steelyard.metric(...) above it")
    return {**declared, "code": place_of(function), "source": source_digest(function)}


def add_metric(declared: Mapping[str, Any], function: Function | None) -> None:
    """Put a metric of a suite into the registry; without its function it is n/a everywhere, and says why.

    UsageError when the product has one of that name.
    """
    name = declared["name"]
    if name in _ADDED:
        _unregister(name)
        del _ADDED[name]
    if name in metrics():
        raise UsageError(f"metric {name!r} of {declared['code']}: Steelyard has a metric of that name")
    register(
        Metric(
            name,
            declared["unit"],
            declared["about"] or f"a metric of this suite: {declared['code']}",
            declared["formula"],
            f"as {declared['code']} says; inconclusive samples, those excluded and those that are missing are left out",
            Aggregate(declared["aggregate"]),
            _contributions(name, declared["code"], function),
            declared["better"],
            stands_on="samples to which it gives a number",
            point=declared["point"],
            all_names=lambda data: [()] if any(item["name"] == name for item in data.suite.metrics) else [],
            compared=Compared.PAIRS,
            for_sure=declared["unit"] in ("share", "score") and declared["aggregate"] in ("mean", "rate"),
            own=True,
        )
    )
    _ADDED[name] = declared["code"], declared["source"]


def forget_metrics() -> None:
    """Take every metric that a suite added out of the registry."""
    for name in list(_ADDED):
        _unregister(name)
        del _ADDED[name]


def load_metrics(header: RunHeader) -> None:
    """Put the metrics of a stored run's suite into the registry.

    An ended run has their values, and needs no code. Otherwise their code is that of the suite of this name, found as
    for a rescore: what a run records is data, and never loaded. Where the suite is not here, or its code is another
    now, they are n/a and say why.
    """
    declared = header.description.metrics
    if all(_is_added(item) for item in declared):
        return
    if not all(_VALUES in item for item in declared):
        with suppress(UsageError, SuiteError):
            suite_of_run(header)  # a suite that is loaded adds its metrics
    for item in declared:
        if not _is_added(item):
            add_metric(item, None)


def _is_added(declared: Mapping[str, Any]) -> bool:
    return _ADDED.get(declared["name"]) == (declared["code"], declared["source"])


def _contributions(name: str, code: str, function: Function | None) -> Callable[[RunData, Names], Contributions]:
    def contributions(data: RunData, _: Names) -> Contributions:
        table = data.table
        stored = next((item.get(_VALUES) for item in data.suite.metrics if item["name"] == name), None)
        if stored is not None:
            return _unpacked(stored, data)
        if function is None:
            return Contributions(
                np.full(table.n, np.nan), excluded=((f"its code is not here, or has changed: {code}", None),)
            )
        try:
            result = function(Samples(data))
            return _shaped(result, data)
        except Exception as error:
            raise UsageError(f"metric {code} failed: {type(error).__name__}: {error}") from error

    return contributions


# The values of a suite's own metrics, stored with an ended run: its figures need neither the suite nor its code.

_VALUES = "values"


def with_values(suite: SuiteModel, data: RunData, remaining: Array | None = None) -> SuiteModel:
    """The suite as a run stores it, with what each of its own metrics gives every sample of the run, or those that
    remain of it."""
    order, items = data.once(_by_key), []
    order = order if remaining is None else order[remaining[order]]
    for item in suite.metrics:
        given = metrics()[item["name"]].contributions(data, ())
        pairs = given.ratios or ((given.values, given.below),)
        packed = [[None if column is None else _pack(column[order]) for column in pair] for pair in pairs]
        items.append({**item, _VALUES: packed})
    return suite.model_copy(update={"metrics": tuple(items)})


def without_values(suite: SuiteModel) -> SuiteModel:
    """The suite as it declares its metrics."""
    declared = ({key: value for key, value in item.items() if key != _VALUES} for item in suite.metrics)
    return suite.model_copy(update={"metrics": tuple(declared)})


def _unpacked(stored: list[list[str | None]], data: RunData) -> Contributions:
    order = data.once(_by_key)
    pairs = [tuple(None if text is None else _unpack(text, order) for text in pair) for pair in stored]
    return _shaped(pairs[0][0] if pairs[0][1] is None else pairs, data)


def _by_key(data: RunData) -> Array:
    """The places of all samples in the order of their case, variant and repeat, whatever order a store has them in."""
    columns = data.columns
    case, variant = (
        np.argsort(np.argsort(np.array(names, dtype=object)))[codes] if len(codes) else codes
        for names, codes in ((columns.case_ids, columns.case), (columns.variants, columns.variant))
    )
    return np.lexsort((columns.repeat, variant, case))


def _pack(column: Array) -> str:
    return b64encode(zlib.compress(column.astype("<f8").tobytes())).decode()


def _unpack(text: str, order: Array) -> Array:
    try:
        # One value a sample, and no more is unpacked, whatever a file says.
        raw = zlib.decompressobj().decompress(b64decode(text), 8 * len(order) + 8)
        ordered = np.frombuffer(raw[: len(raw) // 8 * 8], dtype="<f8")
    except (ValueError, zlib.error) as error:
        raise UsageError(f"the run's stored values of its own metrics cannot be read: {error}") from None
    if len(ordered) != len(order):
        raise UsageError(f"the run stores {len(ordered)} values of its own metrics for {len(order)} samples")
    column = np.empty(len(order))
    column[order] = ordered
    return column


def _shaped(result: Any, data: RunData) -> Contributions:
    """What a function gave, as contributions; ValueError for anything that is none."""
    table = data.table
    excluded = (*table.left_out, ("it gives no number to this sample", None))
    if isinstance(result, Contributions):
        return result
    pairs = result if isinstance(result, list) else [result] if isinstance(result, tuple) else None
    if pairs is None:
        return Contributions(_column(result, table.n), excluded=excluded)
    ratios = [_available(_column(above, table.n), _column(below, table.n)) for above, below in pairs]
    if len(ratios) == 1:
        return Contributions(*ratios[0], excluded=excluded)
    counted = np.logical_or.reduce([~np.isnan(above) for above, _ in ratios]) if ratios else np.zeros(table.n, bool)
    return Contributions(np.where(counted, 0.0, np.nan), ratios=tuple(ratios), excluded=excluded)


def _column(values: Any, n: int) -> Array:
    column = np.asarray(values, dtype=float)
    if column.shape != (n,):
        raise ValueError(f"it gave {column.shape} numbers for {n} samples")
    return column


def _available(above: Array, below: Array) -> tuple[Array, Array]:
    present = ~np.isnan(above + below)
    return np.where(present, above, np.nan), np.where(present, below, np.nan)
