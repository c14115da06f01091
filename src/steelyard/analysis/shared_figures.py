"""Which figures two runs share, as columns of pairs, and which only one of them has."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np

from steelyard.analysis.compared_figures import Figure
from steelyard.analysis.compared_findings import Findings
from steelyard.analysis.compared_run import ComparedRun
from steelyard.analysis.not_compared import NotCompared, lacking
from steelyard.analysis.pairing import Pairing
from steelyard.metrics.expressions import parse_gate
from steelyard.metrics.registry import Aggregate, Compared, Level, Metric, Names, metric, metrics
from steelyard.stats.arrays import Array
from steelyard.stats.intervals import fewest_for
from steelyard.suite.models import ComponentDescription, MeasureDescription, SuiteDescription

_UNITS = {"s": "seconds", "score": "share"}
"""What a comparison calls a unit."""


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
        low, high = which.ends(self._a.data, names)
        below = (None, None) if a.below is None or b.below is None else self._take(a.below, b.below)
        values = self._take(a.values, b.values)
        return Figure(
            name=which.compared_as or which.filled(names),
            group=which.group,
            unit=_UNITS.get(which.unit, which.unit),
            better_when=which.better_in(self._a.suite, names),
            a=values[0],
            b=values[1],
            scale=(low, high) if math.isfinite(high - low) and which.aggregate is not Aggregate.RATIO else None,
            below_a=below[0],
            below_b=below[1],
            point=which.point if which.aggregate is Aggregate.QUANTILE else None,
            rate=which.aggregate is Aggregate.RATE,
        )

    def components(self) -> list[Figure]:
        """Every component or dimension that both have on the same scale; the group of those that weigh nothing, and
        that no gate asks for, is `beside`."""
        a, b = self._a.table, self._b.table
        figures = []
        for name in self._common("component", _scored(a, self._declared[0]), _scored(b, self._declared[1])):
            if a.scales[name] != b.scales[name]:
                self.not_compared.append(NotCompared("component", name, "A and B have it on different scales"))
                continue
            figure = self.of_metric(metric("score.<component>.points"), (name,))
            unit = "share" if a.scales[name] == (0.0, 1.0) else "points"
            figures.append(replace(figure, unit=unit, group="components" if self._weighs(name) else "beside"))
        return figures

    def _weighs(self, component: str) -> bool:
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
        """Everything else, one at a time: measures, flags, what the suite adds, bands, findings, latency, cost and
        tokens."""
        of_calls = chain(self._of_group("latency"), self._of_group("spending"))
        return chain(self._measures(), self._added(), self._bands(), self._found(), of_calls)

    def _of_group(self, group: str) -> Iterator[Figure]:
        """The metrics of one table that pairs are compared in, as far as both runs have them."""
        what = group
        for each in metrics().values():
            if each.group != group or each.compared is not Compared.PAIRS or each.is_pattern:
                continue
            figure = self.of_metric(each)
            what = group if group == "latency" else figure.name
            if self._neither(what, "", figure.a, figure.b):
                if group == "latency":
                    return
                continue
            known = int(figure.known().sum())
            if figure.point is None or known >= fewest_for(figure.point):
                yield figure

    def _added(self) -> Iterator[Figure]:
        """Metrics that are neither the product's own tables nor means of several ratios."""
        for each in metrics().values():
            if each.place or each.compared is not Compared.PAIRS or each.level is not Level.SAMPLE:
                continue
            sides = [[()] if each.all_names is None else each.all_names(run.data) for run in (self._a, self._b)]
            for names in (names for names in sides[0] if names in sides[1]):
                if not any(each.contributions(run.data, names).ratios for run in (self._a, self._b)):
                    figure = self.of_metric(each, names)
                    if not self._neither("metric", figure.name, figure.a, figure.b):
                        yield figure

    def sections(self) -> dict[str, Figure]:
        """By section, how many findings a sample has there."""
        if self._findings.sections is None:
            why = "only one run says where in the text its findings are"
            self.not_compared.append(NotCompared("sections", "", why))
        return {
            name: Figure(f"section.{name}", "sections", "count", "lower", *self._findings.of_section(name))
            for name in self._findings.sections or ()
        }

    def _measures(self) -> Iterator[Figure]:
        a, b = self._a.table, self._b.table
        shared = self._common("measure", _measures(a.measures), _measures(b.measures))
        for component, name in (full.split("\0") for full in shared):
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
            full = f"score.{component}.{name}"
            flag = self._declared[0][component].kind == "flag"
            way = "lower" if flag else measure.better or self._gated.get(full, "")
            group = "flags" if flag else "measures" if self._weighs(component) else "beside"
            yield Figure(full, group, "share", way, *above, None, *below)

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

    def _found(self) -> Iterator[Figure]:
        changes = self._findings.by_code()
        if changes:
            yield Figure("findings.total", "findings", "count", "lower", *self._findings.total())
        for change in changes:
            columns = self._findings.of_code(change.code)
            yield Figure(f"findings.{change.code}", "findings", "count", "lower", *columns)

    def _take(self, a: Array, b: Array) -> tuple[Array, Array]:
        return a[self._pairing.first].astype(float), b[self._pairing.second].astype(float)

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


def _scored(table: Any, declared: dict[str, ComponentDescription]) -> list[str]:
    """The components that have values; a flag is compared by its rate."""
    flags = {name for name, component in declared.items() if component.kind == "flag"}
    return [name for name in table.components if name not in flags and not np.isnan(table.component(name)).all()]


def _measures(measures: dict[str, Any]) -> list[str]:
    return [f"{component}\0{name}" for component, each in measures.items() for name in each]


def _counted(measures: dict[str, Any], counts: dict[str, dict[str, Array]]) -> list[str]:
    """The counts that no measure is made of."""
    found = []
    for component, each in counts.items():
        used = {count for measure in measures.get(component, {}).values() for count in _counts(measure)}
        found += [f"{component}\0{count}" for count in each if count not in used]
    return found


def _counts(measure: MeasureDescription) -> tuple[str, str]:
    return measure.numerator, measure.denominator


def _gated(suite: SuiteDescription) -> dict[str, str]:
    """Which way is better, of the metrics that a gate asks to be high or low."""
    found = {}
    for text in suite.gates:
        try:
            gate = parse_gate(text)
        except ValueError:
            continue
        if gate.operator[0] in "<>":
            found[gate.metric] = "higher" if gate.operator[0] == ">" else "lower"
    return found
