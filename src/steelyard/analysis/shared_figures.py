"""Which figures two runs share, as columns of pairs, and in words which only one of them has."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

import numpy as np

from steelyard.analysis.compared_figures import Figure, share
from steelyard.analysis.compared_findings import Findings
from steelyard.analysis.compared_run import ComparedRun
from steelyard.analysis.pairing import Pairing
from steelyard.analysis.pieces import Array
from steelyard.suite.gates import parse_gate

_LATENCIES = {"latency.p50": 0.5, "latency.p95": 0.95}
_SPENDING = {"cost": ("cost", "cost"), "tokens.in": ("tokens_in", "tokens"), "tokens.out": ("tokens_out", "tokens")}


class SharedFigures:
    """The figures of two runs; `not_compared` says what is left out, and is complete once all were asked for."""

    def __init__(self, a: ComparedRun, b: ComparedRun, pairing: Pairing, findings: Findings) -> None:
        self._a, self._b, self._pairing, self._findings = a, b, pairing, findings
        self._declared = [_declared(run.suite) for run in (a, b)]
        self._gated = _gated(a.suite) | _gated(b.suite)
        self.not_compared: list[str] = []

    @property
    def primary(self) -> str:
        """The figure that decides: named before looking."""
        return "pass_rate" if self._a.passes and self._b.passes else "average"

    def headline(self) -> list[Figure]:
        """Average and, where both suites have a pass rule, pass rate; the one that decides first."""
        average = Figure("average", "headline", "share", "higher", *self._sides("score"), (0.0, 1.0))
        if self.primary == "average":
            if self._a.passes or self._b.passes:
                self._missing("the pass rate", here=self._a.passes)
            return [average]
        passed = [np.where(column < 0, np.nan, column) for column in self._sides("passed")]
        return [share("pass_rate", "headline", "higher", passed[0], passed[1]), average]

    def components(self) -> list[Figure]:
        """Every component or dimension that both have on the same scale."""
        a, b = self._a.table, self._b.table
        figures = []
        for name in self._common("component", _scored(a, self._declared[0]), _scored(b, self._declared[1])):
            if a.scales[name] != b.scales[name]:
                self.not_compared.append(f"component {name}: A and B have it on different scales")
                continue
            columns = self._take(a.component(name), b.component(name))
            unit = "share" if a.scales[name] == (0.0, 1.0) else "points"
            figures.append(Figure(f"score.{name}.points", "components", unit, "higher", *columns, a.scales[name]))
        return figures

    def others(self) -> Iterator[Figure]:
        """Everything else, one at a time: measures, flags, bands, findings, latency, cost and tokens."""
        return chain(self._measures(), self._bands(), self._counted(), self._latency(), self._spending())

    def sections(self) -> dict[str, Figure]:
        """By section, how many findings a sample has there."""
        if self._findings.sections is None:
            self.not_compared.append("sections: only one run says where in the text its findings are")
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
                self.not_compared.append(f"measure {component}.{name}: A and B count different things")
                continue
            above, below = (self._both_counted(component, count) for count in _counts(measure))
            if above is None or below is None or self._neither(f"measure {component}.{name}", *above):
                continue
            full = f"score.{component}.{name}"
            flag = self._declared[0].get(component, {}).get("kind") == "flag"
            way = "lower" if flag else measure.get("better") or self._gated.get(full, "")
            yield Figure(full, "flags" if flag else "measures", "share", way, *above, None, *below)

    def _both_counted(self, component: str, count: str) -> tuple[Array, Array] | None:
        a, b = (run.table.count(component, count) for run in (self._a, self._b))
        if a is None or b is None:
            if a is not b:
                self._missing(f"count {component}.{count}", here=a is not None)
            return None
        return self._take(a, b)

    def _bands(self) -> Iterator[Figure]:
        bands = self._a.suite.get("bands") or []
        if bands != (self._b.suite.get("bands") or []):
            self.not_compared.append("bands: A and B draw them differently")
            return
        a, b = self._take(self._a.table.band(), self._b.table.band())
        for i, band in enumerate(bands):
            way = "higher" if i == 0 else "lower" if i == len(bands) - 1 else ""
            columns = [np.where(each < 0, np.nan, each == i) for each in (a, b)]
            yield share(f"band.{band['name']}", "bands", way, columns[0], columns[1])

    def _counted(self) -> Iterator[Figure]:
        changes = self._findings.by_code()
        if changes:
            yield Figure("findings.total", "findings", "count", "lower", *self._findings.total())
        for change in changes:
            columns = self._findings.of_code(change.code)
            yield Figure(f"findings.{change.code}", "findings", "count", "lower", *columns)

    def _latency(self) -> Iterator[Figure]:
        a, b = self._sides("latency")
        if self._neither("latency", a, b):
            return
        for name, point in _LATENCIES.items():
            yield Figure(name, "latency", "seconds", "lower", a, b, point=point)
        yield Figure("latency.mean", "latency", "seconds", "lower", a, b)

    def _spending(self) -> Iterator[Figure]:
        for name, (column, unit) in _SPENDING.items():
            a, b = self._take(self._a.table.reported(column), self._b.table.reported(column))
            if not self._neither(name, a, b):
                yield Figure(name, "spending", unit, "lower", a, b)

    def _sides(self, column: str) -> tuple[Array, Array]:
        return self._take(getattr(self._a.table, column)(), getattr(self._b.table, column)())

    def _take(self, a: Array, b: Array) -> tuple[Array, Array]:
        return a[self._pairing.first].astype(float), b[self._pairing.second].astype(float)

    def _neither(self, what: str, a: Array, b: Array) -> bool:
        """True when it cannot be compared; said unless nobody has it."""
        here, there = (not np.isnan(column).all() for column in (a, b))
        if here != there:
            self._missing(what, here=here)
        return not (here and there)

    def _common(self, what: str, a: Iterable[str], b: Iterable[str]) -> list[str]:
        a, b = list(a), list(b)
        for name in sorted({*a} ^ {*b}):
            self._missing(f"{what} {name.replace(chr(0), '.')}", here=name in a)
        return [name for name in a if name in b]

    def _missing(self, what: str, *, here: bool) -> None:
        self.not_compared.append(f"{what}: only {'A' if here else 'B'} has it")


def _declared(suite: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {each["name"]: each for each in suite.get("components") or ()}


def _scored(table: Any, declared: dict[str, dict[str, Any]]) -> list[str]:
    """The components that have values; a flag is compared by its rate."""
    return [
        name
        for name in table.components
        if declared.get(name, {}).get("kind") != "flag" and not np.isnan(table.component(name)).all()
    ]


def _measures(measures: dict[str, Any]) -> list[str]:
    return [f"{component}\0{name}" for component, each in measures.items() for name in each]


def _counts(measure: dict[str, Any]) -> tuple[str, str]:
    return measure["numerator"], measure["denominator"]


def _gated(suite: dict[str, Any]) -> dict[str, str]:
    """Which way is better, of the metrics that a gate asks to be high or low."""
    found = {}
    for text in suite.get("gates") or ():
        try:
            gate = parse_gate(text)
        except ValueError:
            continue
        if gate.operator[0] in "<>":
            found[gate.metric] = "higher" if gate.operator[0] == ">" else "lower"
    return found
