"""Every metric that both runs have, over pairs: difference, test and verdict."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import fields, replace
from functools import lru_cache
from itertools import chain
from typing import Any

import numpy as np

from steelyard.analysis.compare.findings import Findings
from steelyard.analysis.compare.model import MetricChange, Moved, NotCompared, lacking
from steelyard.analysis.compare.pairing import ComparedRun, Pairing
from steelyard.frozen import frozen
from steelyard.metrics.expressions import parse_gate
from steelyard.metrics.kinds import Aggregate, PairedRows
from steelyard.metrics.registry import (
    MEASURE,
    Compared,
    Contributions,
    Level,
    Metric,
    Names,
    gate_metrics,
    metric,
)
from steelyard.stats.arrays import SEED, Array
from steelyard.stats.groups import Groups
from steelyard.stats.intervals import ANYWHERE, NOT_NEGATIVE, SHARES, Estimate, Scale, fewest_for
from steelyard.stats.paired import (
    FEWEST_TO_SHOW,
    NO_CHANGE,
    SIGNIFICANT,
    Paired,
    at_level,
    case_starts,
    holm_steps,
)
from steelyard.stats.sequential import BoundedMean, bounded_mean, bounded_ratios
from steelyard.suite.models import Component, MeasureDescription, SuiteModel

# Every figure that both runs have, over comparable pairs: in A, in B, the difference, and whether it is noise.

_TABLES = {
    "latency": "spending",
    "counts": "extra",
    "findings": "findings",
    "spending": "spending",
    "extra": "extra",
}
"""By group, the table that its figures are tested with; all others are those of the first."""
_OF_TABLES = {*_TABLES, "headline", "bands", "components", "format", "failures", "expectations"}
"""The groups that have tables of their own; a metric of any other is compared by what the registry says of it."""
EXTRA = ("extra", "counts")
"""Groups of figures that have no part in a score and are asked for by no gate: a table of their own."""
UNTOUCHED = frozenset({"latency", "spending", "failures"})
"""Groups of figures that no scorer, rule or truth has a part in."""


@frozen
class Figure:
    """One figure as a column a side, a value for each pair; NaN where it is not known.

    A ratio of sums has denominators beside it.
    """

    name: str
    group: str
    unit: str
    better_when: str
    a: Array
    b: Array
    scale: Scale | None = None
    below_a: Array | None = None
    below_b: Array | None = None
    aggregate: Aggregate = Aggregate.MEAN
    at_least_a: Array | None = None
    """Pairs whose value is a lower bound, in A and in B; None where there are none."""
    at_least_b: Array | None = None

    @property
    def how(self) -> Aggregate:
        """How its columns are put together."""
        return self.aggregate if self.below_a is None else Aggregate.RATIO

    @property
    def point(self) -> float | None:
        """Which quantile it is; None of what is none."""
        return self.how.point

    def available(self) -> Array:
        """Pairs in which both sides have it."""
        present = ~(np.isnan(self.a) | np.isnan(self.b))
        for column in (self.below_a, self.below_b):
            if column is not None:
                present &= ~np.isnan(column)
        return present

    def identity(self, rows: Array) -> tuple[float, ...] | None:
        """Numbers that two figures share when one is the other on another scale, or turned; None of what is still.

        Both sides are multiplied by the same random numbers: other figures come to others.
        """
        below = (self.below_a, self.below_b)
        if (
            not (self.how.is_mean or self.how.of_sums)
            or not len(rows)
            or any(item is not None and np.ptp(item[rows]) for item in below)
        ):
            return None
        sides = [taken(column, rows) for column in (self.a, self.b)]
        mean = sum(float(np.mean(side)) for side in sides) / len(sides)
        spread = math.sqrt(sum(float(np.var(side)) + (float(np.mean(side)) - mean) ** 2 for side in sides) / len(sides))
        if spread <= NO_CHANGE:
            return None
        signs = taken(_random_numbers(len(self.a)), rows)
        results = [(float(np.einsum("i,i->", signs, side - mean))) / spread for side in sides]
        turned = -1 if results[0] < 0 else 1
        return tuple(round(turned * item, 6) for item in results)


def taken(column: Array, rows: Array) -> Array:
    """The column at some rows, which rise; all of them are the column itself, and nothing is copied."""
    return column if len(rows) == len(column) else column[rows]


@lru_cache(maxsize=2)
def _random_numbers(n: int) -> Array:
    return np.random.default_rng(SEED).standard_normal(n)


@frozen
class BoundedChange(MetricChange):
    """A change with what is for sure of it; None of a figure whose scale has no ends."""

    sure: BoundedMean | None = None


class Cut:
    """Comparable pairs cut into groups."""

    def __init__(self, groups: Groups, unit: Array, counts: str = "case") -> None:
        self.groups, self._unit, self._counts = groups, unit, counts
        everything = np.ones(len(unit), dtype=bool)
        self.rows = [groups.samples_where(g, everything) for g in range(len(groups))]
        self._seen: dict[tuple[int, tuple[float, ...]], str] = {}

    def changes(self, figure: Figure) -> list[MetricChange]:
        """The figure in every group, not yet judged among others."""
        available = figure.available()
        sides = zip(*(self._estimates(figure, available, second=second) for second in (False, True)), strict=True)
        return [self._change(figure, available, g, a, b) for g, (a, b) in enumerate(sides)]

    def with_bounds(self, figure: Figure) -> list[MetricChange]:
        """The same, with what is for sure of it."""
        available = figure.available()
        metric_changes: list[MetricChange] = []
        for rows, change in zip(self.rows, self.changes(figure), strict=True):
            used = rows[available[rows]]
            own = {field.name: getattr(change, field.name) for field in fields(change)}
            metric_changes.append(BoundedChange(**own, sure=_bounded(figure, used, self._unit[used])))
        return metric_changes

    def of_all(self, figures: Iterable[Figure], *, bounds: bool = False) -> list[MetricChange]:
        """Each figure in the first group, one after another, so that no more than one is held as columns."""
        return [(self.with_bounds(figure) if bounds else self.changes(figure))[0] for figure in figures]

    def _estimates(self, figure: Figure, available: Array, *, second: bool) -> list[Estimate]:
        column, below = (figure.b, figure.below_b) if second else (figure.a, figure.below_a)
        at_least = figure.at_least_b if second else figure.at_least_a
        values = np.where(available, column, np.nan)
        if below is not None:
            below = np.where(available, below, np.nan)
            scale = SHARES if figure.unit == "share" else NOT_NEGATIVE
        else:
            scale = figure.scale or (ANYWHERE if figure.unit == "points" else NOT_NEGATIVE)
        return list(figure.how.estimate(Contributions(values, below, at_least=at_least), self.groups, scale))

    def _change(self, figure: Figure, available: Array, group: int, a: Estimate, b: Estimate) -> MetricChange:
        rows = self.rows[group]
        here = taken(available, rows)
        used = rows if here.all() else rows[here]
        identity = figure.identity(used)
        first = "" if identity is None else self._seen.setdefault((group, identity), figure.name)
        result = _paired(figure, used, taken(self._unit, used))
        n_cases = len(case_starts(taken(self._unit, rows)))
        same = len(used) > 0 and not _differs(figure, used)
        return MetricChange(
            name=figure.name,
            group=figure.group,
            unit=figure.unit,
            better_when=figure.better_when,
            a=a,
            b=b,
            difference=Estimate(result.difference, result.n_cases, n_cases - result.n_cases, result.low, result.high),
            p=result.p,
            p_adjusted=result.p,
            verdict=Moved.SAME if same and not (a.at_least or b.at_least) else Moved.CANNOT_TELL,
            smallest=result.smallest,
            test=result.test,
            scale=figure.scale,
            counts=self._counts,
            effect=result.effect,
            rose=result.rose,
            level=result.level,
            fell=result.fell,
            same_as="" if first == figure.name else first,
        )


def _paired(figure: Figure, rows: Array, unit: Array) -> Paired:
    a, b, starts = taken(figure.a, rows), taken(figure.b, rows), case_starts(unit)
    if not len(rows):
        return Paired(None, 0)
    below_a, below_b = (None if item is None else taken(item, rows) for item in (figure.below_a, figure.below_b))
    widest = math.inf if figure.scale is None else figure.scale[1] - figure.scale[0]
    return figure.how.paired_difference(PairedRows(a, b, below_a, below_b, unit, starts, widest))


def _bounded(figure: Figure, rows: Array, case: Array) -> BoundedMean | None:
    """The mean difference of cases with what is for sure of it."""
    starts = case_starts(case)
    if not len(rows) or not (figure.how.is_mean or figure.how.of_sums):
        return None
    if figure.below_a is not None and figure.below_b is not None:
        columns = (figure.a, figure.below_a, figure.b, figure.below_b)
        return bounded_ratios(*(np.add.reduceat(column[rows], starts) for column in columns))
    if figure.scale is None:
        return None
    widest = figure.scale[1] - figure.scale[0]
    sums, sizes = np.add.reduceat(figure.b[rows] - figure.a[rows], starts), np.diff(np.append(starts, len(rows)))
    return bounded_mean(sums, sizes, (-widest, widest))


def _differs(figure: Figure, rows: Array) -> bool:
    moved = bool((np.abs(taken(figure.b, rows) - taken(figure.a, rows)) > NO_CHANGE).any())
    if moved or figure.below_a is None or figure.below_b is None:
        return moved
    return bool((figure.below_a[rows] != figure.below_b[rows]).any())


def judged(
    changes: Iterable[MetricChange], *, confounded: bool, primary: str = "", every: bool = False
) -> list[MetricChange]:
    """The changes table by table: p-values and intervals adjusted for one another, and what each comes to.

    The primary metric was named before anybody looked, and stands alone. What is the same thing as an earlier figure is
    tested with it, and what so few cases could not have shown is not counted unless `every` is. Nothing that the
    signature has a part in is better or worse when a verdict is blocked.
    """
    changes = list(changes)
    # Figures of several groups stand side by side, each group with one of every name: a name and its number are a key.
    seen: Counter[str] = Counter()
    keys, tables = list[tuple[str, int]](), dict[str, list[int]]()
    for i, change in enumerate(changes):
        number = seen[change.name]
        keys.append((change.name, number))
        seen[change.name] += 1
        counted = seen[change.same_as] <= number and (every or _could_be_shown(change))
        if counted and change.name != primary:
            tables.setdefault(_TABLES.get(change.group, ""), []).append(i)
    steps = {
        keys[i]: step
        for table in tables.values()
        for i, step in zip(table, holm_steps([changes[i].p for i in table]), strict=True)
    }
    results = []
    for change, key in zip(changes, keys, strict=True):
        p, level = steps.get(key) or steps.get((change.same_as, key[1])) or (change.p, SIGNIFICANT)
        if p is not None and change.p is not None:
            p = max(p, min(1.0, change.p * SIGNIFICANT / level))
        change = at_step(change, level)
        believed = not confounded or change.group in UNTOUCHED
        verdict = verdict_of(change, p) if believed else Moved.CANNOT_TELL
        results.append(replace(change, p_adjusted=p, verdict=verdict, primary=change.name == primary))
    return results


def _could_be_shown(change: MetricChange) -> bool:
    """False when so few cases moved that none of their signs could have shown a change: to look at it was no chance to
    err (Tarone 1990)."""
    moved, cases = change.rose + change.fell, change.rose + change.level + change.fell
    return change.p is not None and change.verdict is not Moved.SAME and (not cases or moved >= FEWEST_TO_SHOW)


def at_step(change: MetricChange, level: float) -> MetricChange:
    """The change with its interval at the level that it is tested at as one of several."""
    widest = math.inf if change.scale is None else change.scale[1] - change.scale[0]
    difference = at_level(change.difference, change.p, level, change.df or change.difference.n - 1, widest)
    return replace(change, difference=difference, confidence_level=1 - level)


def verdict_of(change: MetricChange, p: float | None) -> Moved:
    """What a difference comes to at that p-value."""
    value, matters = change.difference.value, change.matters or 0.0
    if change.verdict in (Moved.SAME, Moved.NOT_TESTED):
        return change.verdict
    low, high = change.difference.low, change.difference.high
    if low is not None and high is not None and -matters < low and high < matters:
        return Moved.CANNOT_TELL if change.a.at_least or change.b.at_least else Moved.SAME
    if value is None or p is None or p >= SIGNIFICANT or abs(value) <= matters or is_hidden(change):
        return Moved.CANNOT_TELL
    if not change.better_when:
        return Moved.CHANGED
    return Moved.BETTER if (value > 0) is (change.better_when == "higher") else Moved.WORSE


def is_hidden(change: MetricChange) -> bool:
    """Whether a lower bound on the side that looks lower leaves open which side is: it may be the higher one."""
    lower = change.b if (change.difference.value or 0.0) < 0 else change.a
    return lower.at_least


# Which figures two runs share, as columns of pairs, and which only one of them has.

_UNITS = {"s": "seconds", "score": "share"}
"""What a comparison calls a unit."""


def metric_figure(which: Metric, run: ComparedRun, a: Array, b: Array, names: Names = (), **more: Any) -> Figure:
    """A metric of these columns, with the group, unit and direction that it declares; `more` is what is another."""
    low, high = which.ends(run.data, names)
    declared: dict[str, Any] = {
        "name": which.compared_as or which.filled(names),
        "group": which.group,
        "unit": _UNITS.get(which.unit, which.unit),
        "better_when": which.better_in(run.suite, names),
        "scale": (low, high) if math.isfinite(high - low) and not which.aggregate.of_sums else None,
        "aggregate": which.aggregate.over_pairs,
    }
    return Figure(a=a, b=b, **(declared | more))


def failing(figure: Figure, mask: Array) -> Figure | None:
    """The figure with the worst value in B for the marked pairs; None where its scale has no worst end."""
    if figure.scale is None or not figure.better_when or figure.point is not None:
        return None
    worst = figure.scale[0 if figure.better_when == "higher" else 1]
    return replace(figure, b=np.where(mask, worst, figure.b))


class SharedFigures:
    """The figures of two runs; `not_compared` says what is left out, and is complete once all were asked for."""

    def __init__(self, a: ComparedRun, b: ComparedRun, pairing: Pairing, findings: Findings) -> None:
        self._a, self._b, self._pairing, self._findings = a, b, pairing, findings
        self._declared = [{component.name: component for component in run.suite.components} for run in (a, b)]
        self._gated = _gated(a.suite) | _gated(b.suite)
        self._counted: dict[str, tuple[Array, Array]] = {}
        self.not_compared: list[NotCompared] = [*findings.not_compared]

    @property
    def primary(self) -> str:
        """The figure that decides: named before looking."""
        return "pass_rate" if self._a.passes and self._b.passes else "average"

    def headline(self) -> list[Figure]:
        """Average and, where both suites have a pass rule, pass rate; the one that decides first."""
        average = self.of_metric(metric("average"))
        if self.primary == "average":
            if self._a.passes or self._b.passes:
                self._missing("the pass rate", a_has_it=self._a.passes)
            return [average]
        return [self.of_metric(metric("pass_rate")), average]

    def of_metric(self, which: Metric, names: Names = ()) -> Figure:
        """A metric of samples as columns of pairs; sums are compared as means."""
        a, b = (which.contributions(run.data, names) for run in (self._a, self._b))
        below = (None, None) if a.below is None or b.below is None else self._take(a.below, b.below)
        values = self._take(a.values, b.values)
        return metric_figure(which, self._a, *values, names, below_a=below[0], below_b=below[1])

    def latencies(self) -> Iterator[Figure]:
        """The figures of latency, over `Pairing.of_calls`: a call that timed out is a lower bound, and has no score."""
        calls = self._pairing.of_calls
        for item in gate_metrics().values():
            if item.group != "latency" or item.compared is not Compared.PAIRS:
                continue
            a, b = (item.contributions(run.data, ()) for run in (self._a, self._b))
            columns = a.values[calls.first], b.values[calls.second]
            if self._neither("latency", "", *columns):
                return
            at_least = zip((a.at_least, b.at_least), (calls.first, calls.second), strict=True)
            first, second = (None if mark is None else mark[rows] for mark, rows in at_least)
            figure = metric_figure(item, self._a, *columns, at_least_a=first, at_least_b=second)
            if figure.point is None or int(figure.available().sum()) >= fewest_for(figure.point):
                yield figure

    def components(self) -> list[Figure]:
        """Every component or dimension that both have on the same scale; the group of those that have no weight, and
        that no gate asks for, is `beside`."""
        a, b = self._a.table, self._b.table
        figures = []
        for name in self._common("component", _scored(a, self._declared[0]), _scored(b, self._declared[1])):
            if a.scales[name] != b.scales[name]:
                self.not_compared.append(NotCompared("component", name, "A and B have it on different scales"))
                continue
            figure = self.of_metric(metric("score.<component>.points"), (name,))
            unit = "share" if a.scales[name] == (0.0, 1.0) else "points"
            figures.append(replace(figure, unit=unit, group="components" if self._has_weight(name) else "extra"))
        return figures

    def _has_weight(self, component: str) -> bool:
        """False for what neither run counts in a score nor asks for by a gate."""
        weights = [declared[component].weight for declared in self._declared if component in declared]
        return (
            len(weights) < 2 or any(weights) or any(metric.startswith(f"score.{component}.") for metric in self._gated)
        )

    def counts(self) -> Iterator[Figure]:
        """Whatever components count beside their measures, a sample; nobody has said which way is better."""
        sides = [_counted(run.table.measures, run.columns.counts) for run in (self._a, self._b)]
        for full in self._common("count", *sides):
            component, count = full.split("\0")
            columns = self._both_counted(component, count)
            if columns is not None and not self._neither("count", f"{component}.{count}", *columns):
                yield Figure(f"count.{component}.{count}", "counts", "count", "", *columns)

    def others(self) -> Iterator[Figure]:
        """Everything else but latency, one at a time: measures, flags, what the suite adds, bands, findings, cost and
        tokens."""
        return chain(self._measures(), self._added(), self._bands(), self._result(), self._spending())

    def _spending(self) -> Iterator[Figure]:
        """Cost and tokens, as far as both runs have them."""
        for item in gate_metrics().values():
            if item.group == "spending" and item.compared is Compared.PAIRS:
                figure = self.of_metric(item)
                if not self._neither(figure.name, "", figure.a, figure.b):
                    yield figure

    def _added(self) -> Iterator[Figure]:
        """Metrics that are neither the product's own tables nor means of several ratios."""
        for item in gate_metrics().values():
            own = item.group in _OF_TABLES or item.name.startswith(MEASURE)
            if own or item.compared is not Compared.PAIRS or item.level is not Level.SAMPLE:
                continue
            sides = [[()] if item.all_names is None else item.all_names(run.data) for run in (self._a, self._b)]
            for names in (names for names in sides[0] if names in sides[1]):
                if not any(item.contributions(run.data, names).ratios for run in (self._a, self._b)):
                    figure = self.of_metric(item, names)
                    if not self._neither("metric", figure.name, figure.a, figure.b):
                        yield figure

    def sections(self) -> dict[str, Figure]:
        """By section, how many findings a sample has there."""
        if self._findings.sections is None:
            why = "only one run says where in the text its findings are"
            self.not_compared.append(NotCompared("sections", "", why))
        return {
            name: self._of_findings(name, self._findings.of_section(name), name=f"section.{name}", group="sections")
            for name in self._findings.sections or ()
        }

    def _of_findings(self, code: str, columns: tuple[Array, Array], **more: Any) -> Figure:
        return metric_figure(metric("findings.<code>"), self._a, *columns, (code,), **more)

    def _measures(self) -> Iterator[Figure]:
        a, b = self._a.table, self._b.table
        shared = self._common("measure", _measures(a.measures), _measures(b.measures))
        for component, name in (pair.split("\0") for pair in shared):
            measure = a.measures[component][name]
            if _counts(measure) != _counts(b.measures[component][name]):
                self.not_compared.append(
                    NotCompared("measure", f"{component}.{name}", "A and B count different things")
                )
                continue
            above, below = (self._both_counted(component, count) for count in _counts(measure))
            if above is None or below is None:
                self._uncounted(component, name, _counts(measure))
                continue
            if self._neither("measure", f"{component}.{name}", *above):
                continue
            which, names = metric("score.<component>.<measure>"), (component, name)
            flag = self._declared[0][component].kind == "flag"
            yield metric_figure(
                which,
                self._a,
                *above,
                names,
                group="flags" if flag else which.group if self._has_weight(component) else "extra",
                better_when=which.better_in(self._a.suite, names) or self._gated.get(which.filled(names), ""),
                below_a=below[0],
                below_b=below[1],
            )

    def _both_counted(self, component: str, count: str) -> tuple[Array, Array] | None:
        """A count in A and in B; what a component that was counted does not mention is none, where the other side has
        some: else a pair in which something appears on one side only would be left out, and with it every error."""
        a, b = (run.table.count(component, count) for run in (self._a, self._b))
        if a is None or b is None:
            return None
        before, after = self._take(a, b)
        counted = self._counted_in(component)
        return (
            np.where(np.isnan(before) & ~np.isnan(after) & counted[0], 0.0, before),
            np.where(np.isnan(after) & ~np.isnan(before) & counted[1], 0.0, after),
        )

    def _counted_in(self, component: str) -> tuple[Array, Array]:
        """Marks the pairs in which anything of a component was counted, in A and in B."""
        if component not in self._counted:
            marks = [_anything_counted(run, component) for run in (self._a, self._b)]
            self._counted[component] = marks[0][self._pairing.first], marks[1][self._pairing.second]
        return self._counted[component]

    def _uncounted(self, component: str, measure: str, counts: Iterable[str]) -> None:
        """Says which run has a measure that the other has no counts for; nothing when neither has them."""
        counts = list(counts)
        here, there = (
            all(count in run.columns.counts.get(component, {}) for count in counts) for run in (self._a, self._b)
        )
        if here != there:
            self._missing("measure", f"{component}.{measure}", a_has_it=here)

    def _bands(self) -> Iterator[Figure]:
        bands = self._a.suite.bands
        if bands != self._b.suite.bands:
            self.not_compared.append(NotCompared("bands", "", "A and B draw them differently"))
            return
        for band in bands:
            yield self.of_metric(metric("band.<band>"), (band.name,))

    def _result(self) -> Iterator[Figure]:
        changes = self._findings.by_code()
        if changes:
            yield metric_figure(metric("findings.total"), self._a, *self._findings.total())
        for change in changes:
            yield self._of_findings(change.code, self._findings.of_code(change.code))

    def _take(self, a: Array, b: Array) -> tuple[Array, Array]:
        pairing = self._pairing
        return a[pairing.first].astype(float, copy=False), b[pairing.second].astype(float, copy=False)

    def _neither(self, what: str, name: str, a: Array, b: Array) -> bool:
        """True when it cannot be compared; said unless nobody has it."""
        here, there = (not np.isnan(column).all() for column in (a, b))
        if here != there:
            self._missing(what, name, a_has_it=here)
        return not (here and there)

    def _common(self, what: str, a: Iterable[str], b: Iterable[str]) -> list[str]:
        a, b = list(a), list(b)
        for name in sorted({*a} ^ {*b}):
            self._missing(what, name.replace("\0", "."), a_has_it=name in a)
        return [name for name in a if name in b]

    def _missing(self, what: str, name: str = "", *, a_has_it: bool) -> None:
        self.not_compared.append(lacking(what, name, a_has_it=a_has_it))


def _anything_counted(run: ComparedRun, component: str) -> Array:
    marks = np.zeros(run.columns.n, dtype=bool)
    for column in run.columns.counts.get(component, {}).values():
        marks |= ~np.isnan(column)
    return marks


def _scored(table: Any, declared: dict[str, Component]) -> list[str]:
    """The components that have values; a flag is compared by its rate."""
    flags = {name for name, component in declared.items() if component.kind == "flag"}
    return [name for name in table.components if name not in flags and not np.isnan(table.component(name)).all()]


def _measures(measures: dict[str, Any]) -> list[str]:
    return [f"{component}\0{name}" for component, item in measures.items() for name in item]


def _counted(measures: dict[str, Any], counts: dict[str, dict[str, Array]]) -> list[str]:
    """The counts that no measure is made of."""
    results = []
    for component, item in counts.items():
        used = {count for measure in measures.get(component, {}).values() for count in _counts(measure)}
        results += [f"{component}\0{count}" for count in item if count not in used]
    return results


def _counts(measure: MeasureDescription) -> tuple[str, str]:
    return measure.numerator, measure.denominator


def _gated(suite: SuiteModel) -> dict[str, str]:
    """Which way is better, of the metrics that a gate asks to be high or low."""
    results = {}
    for text in suite.gates:
        try:
            gate = parse_gate(text)
        except ValueError:
            continue
        if gate.operator[0] in "<>":
            results[gate.metric] = "higher" if gate.operator[0] == ">" else "lower"
    return results
