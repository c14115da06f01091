"""Every figure that two runs share, as columns of pairs, and which figures only one of them has."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import lru_cache
from itertools import chain
from typing import Any

import numpy as np

from steelyard.frozen import frozen
from steelyard.metrics.expressions import parse_gate
from steelyard.metrics.kinds import Aggregate
from steelyard.metrics.registry import MEASURE, Compared, Level, Metric, Names, gate_metrics, metric
from steelyard.pairing.findings import Findings
from steelyard.pairing.model import NotCompared, lacking
from steelyard.pairing.pairs import Pairing
from steelyard.pairing.runs import ComparedRun
from steelyard.stats.arrays import Array
from steelyard.stats.intervals import Scale, fewest_for
from steelyard.stats.paired import NO_CHANGE
from steelyard.stats.resampling import SEED
from steelyard.suite.models import Component, MeasureDescription, SuiteModel

TABLES = {
    "latency": "spending",
    "counts": "extra",
    "findings": "findings",
    "spending": "spending",
    "extra": "extra",
}
"""By group, the table that its figures are tested with; all others are those of the first."""
_OF_TABLES = {*TABLES, "headline", "bands", "components", "format", "failures", "expectations"}
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
