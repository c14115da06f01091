"""One run compared with another, figure by figure and slice by slice, as gates relative to a baseline need it."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from functools import cached_property

import numpy as np

from steelyard.metrics.expressions import Gate
from steelyard.metrics.kinds import Aggregate
from steelyard.metrics.registry import (
    CORRECTED,
    Compared,
    metric,
)
from steelyard.metrics.table import cut
from steelyard.pairing.by_run import by_run
from steelyard.pairing.cases import common_cases
from steelyard.pairing.changes import BoundedChange, Cut
from steelyard.pairing.checks import EXPECTATIONS, ComparedCells, has_cells
from steelyard.pairing.confounders import confounders, too_few_paired
from steelyard.pairing.corrected import corrected_changes
from steelyard.pairing.failures import failure_changes
from steelyard.pairing.figures import UNTOUCHED, Figure, SharedFigures, failing, metric_figure
from steelyard.pairing.findings import Findings
from steelyard.pairing.judge_drift import Drift, drift_between
from steelyard.pairing.model import MetricChange, SignaturePair
from steelyard.pairing.pairs import Lists, WithDropped, answered_cases, pair, reused_sides, with_dropped
from steelyard.pairing.runs import ComparedRun
from steelyard.pairing.signatures import LOAD, compare_signatures
from steelyard.pairing.slices import cuts
from steelyard.stats.arrays import Array
from steelyard.stats.groups import Groups
from steelyard.stats.intervals import Estimate


class Against:
    """Run B compared with run A over their comparable pairs, with every rule of `compare`."""

    def __init__(self, a: ComparedRun, b: ComparedRun, *, allow_mismatch: bool = False) -> None:
        self.by_truth_of_a = (
            None
            if a.b_by_truth_of_a is None
            else Against(
                replace(a, by_truth_of_b=None, b_by_truth_of_a=None), a.b_by_truth_of_a, allow_mismatch=allow_mismatch
            )
        )
        """The same by A's truth on both sides; None where no result turns on that."""
        a = a.paired
        self.a, self.b, self.allow_mismatch = a, b, allow_mismatch
        self._cases = common_cases(a, b)
        self._pairing = pair(a, b, self._cases, allow_mismatch=allow_mismatch)
        self._findings = Findings(a, b, self._pairing)
        self._figures = SharedFigures(a, b, self._pairing, self._findings)
        self.dropped: WithDropped | None = None
        """The cases that B has not, where they count as failing."""

    @cached_property
    def if_dropped_fail(self) -> Against | None:
        """The same with the cases of A that B has not counted as failing in B; None when there are none."""
        dropped = with_dropped(self.a, self.b, self._cases, self._pairing)
        if dropped is None:
            return None
        other = copy(self)
        other.__dict__.pop("_cuts", None)
        other.dropped, other._pairing = dropped, dropped.pairing
        other._findings = Findings(self.a, self.b, dropped.pairing)
        other._figures = SharedFigures(self.a, self.b, dropped.pairing, other._findings)
        return other

    def confounded_by(self, change: MetricChange, factor: str = "", name: str = "") -> tuple[str, ...]:
        """Why a difference, of the whole run or of one group, would not be the system's, or not be one at all; whether
        a verdict was asked for anyway is for the caller to score."""
        if change.group == "latency":
            return tuple(change.sentence for change in self._signatures.changes if change.part == LOAD)
        if change.group in UNTOUCHED:
            return ()
        other_repeats = self._cells[1] if change.group == EXPECTATIONS else ""
        result = (*self._confounders, other_repeats) if other_repeats else self._confounders
        few = "" if result else too_few_paired(self.b.suite, *self.paired_of(change, factor, name))
        return (f"of {factor} {name} {few}" if factor else few,) if few else result

    @cached_property
    def _signatures(self) -> SignaturePair:
        return compare_signatures(self.a, self.b, self._cases, allow_mismatch=self.allow_mismatch)

    @cached_property
    def _confounders(self) -> tuple[str, ...]:
        pairs = Lists(self.a, self.b, self._cases, self._pairing).all()
        return tuple(confounders(self.a, self.b, self._signatures, pairs, self._drift))

    @cached_property
    def _drift(self) -> Drift | None:
        return drift_between(self.a, self.b, self._pairing)

    @cached_property
    def reused(self) -> tuple[str, ...]:
        """Which answers of B were not requested again, as text."""
        return tuple(text for side, text in reused_sides(self.a, self.b) if side == "B")

    def doubt(self, change: MetricChange) -> str:
        """Why a difference may be the judge's although nothing shows it; "" when anchors rule that out."""
        if self._drift is None or change.group in UNTOUCHED:
            return ""
        in_headline = change.name == self.primary
        return self._drift.doubt(change.difference.value) if in_headline else self._drift.not_measured

    def paired_of(self, change: MetricChange, factor: str, name: str) -> tuple[int, int]:
        """How many cases of a group are in pairs, and of how many either run has a reading; of what no truth or
        question has a part in, none."""
        if change.group in UNTOUCHED:
            return 0, 0
        rows, case = None, self._pairing.case
        if factor:
            groups = [cut(run.columns, run.suite, 0).get(factor) for run in (self.a, self.b)]
            results = [_rows_of(item, name, run.columns.n) for item, run in zip(groups, (self.a, self.b), strict=True)]
            # In pairs are those that both runs have in this group: a case may have gone to another.
            here = np.isin(self._pairing.first, results[0]) & np.isin(self._pairing.second, results[1])
            rows, case = (results[0], results[1]), case[here]
        return len(np.unique(case)), answered_cases(self.a, self.b, self._cases, rows)

    def missing_of(self, factor: str, name: str) -> int:
        """How many samples of a group, or of all, are missing on either side: each may have taken a pair away."""
        return sum(_missing_in(run, factor, name) for run in (self.a, self.b))

    @property
    def primary(self) -> str:
        """The figure that decides unless a gate says otherwise: the pass rate, else the average."""
        return self._figures.primary

    def slices(self, factor: str) -> tuple[dict[str, int], dict[str, int]]:
        """The groups of a factor that A has, and those that B has, each with how many samples it holds."""
        results = []
        for run in (self.a, self.b):
            groups = cut(run.columns, run.suite, 0).get(factor)
            results.append({} if groups is None else dict(zip(groups.names, map(int, groups.planned), strict=True)))
        return results[0], results[1]

    def changes(self, gate: Gate) -> dict[str, MetricChange]:
        """By group of the gate's factor, what became of its figure; `""` is the whole run.

        Empty when the two runs do not share the figure.
        """
        if gate.of.compared is Compared.WHOLE_RUN:
            failures = failure_changes(self.a, self.b, self._pairing, bounds=True)
            by_labels = corrected_changes(self.a, self.b) if gate.pattern == CORRECTED else []
            results = {change.name: change for change in (*failures, *self._cells[0], *by_labels)}
            return {"": results[gate.metric]} if gate.metric in results else {}
        is_time = gate.of.group == "latency"
        groups = (cuts(self.a, self.b, self._pairing.of_calls) if is_time else self._cuts).get(gate.factor or "")
        figure = self._figure(gate)
        if figure is not None and self.dropped is not None:
            figure = failing(figure, self.dropped.failing)
        if figure is None or groups is None:
            return {}
        names = groups.groups.names if gate.factor else [""]
        found_changes = groups.with_bounds(figure) if gate.for_sure else groups.changes(figure)
        changes = [
            by_run(item, self.a, self.b, gate.factor or "", name, allow_mismatch=self.allow_mismatch)
            for name, item in zip(names, found_changes, strict=True)
        ]
        if gate.of.aggregate is Aggregate.SUM:
            # Differences are means, and are multiplied by the pairs.
            changes = [_summed(change) for change in changes]
        return dict(zip(names, changes, strict=True))

    @cached_property
    def _cuts(self) -> dict[str, Cut]:
        if self.dropped is not None:
            return cuts(self.a, self.a, replace(self._pairing, second=self._pairing.first))
        return cuts(self.a, self.b, self._pairing)

    @cached_property
    def _cells(self) -> tuple[list[MetricChange], str]:
        """What became of the figures over repeats, and why those of expectations are not the same in both runs."""
        if not has_cells(self.a, self.b):
            return [], ""
        changes, checks = ComparedCells(self.a, self.b, self._cases, allow_mismatch=self.allow_mismatch).changes(
            confounded=False, bounds=True
        )
        return changes, "" if checks is None else checks.confounded

    def _figure(self, gate: Gate) -> Figure | None:
        """The figure that a gate's metric names, as columns of pairs."""
        if gate.of.group == "headline":
            needs_pass = gate.of.needs == "pass" and not (self.a.passes and self.b.passes)
            return None if needs_pass else self._figures.of_metric(gate.of)
        if gate.pattern.startswith("findings."):
            return self._result(gate)
        if gate.pattern in ("score.<component>.average", "score.<component>.points"):
            return self._component(gate)
        name = gate.of.compared_as or gate.metric
        among = self._figures.latencies() if gate.of.group == "latency" else self._figures.others()
        return next((other for other in among if other.name == name), None)

    def _component(self, gate: Gate) -> Figure | None:
        name = f"score.{gate.subject}.points"
        result = next((component for component in self._figures.components() if component.name == name), None)
        if result is None or gate.pattern.endswith("points") or result.scale is None:
            return result
        low, high = result.scale
        a, b = ((column - low) / (high - low) for column in (result.a, result.b))
        return replace(result, name=gate.metric, unit="share", a=a, b=b, scale=(0.0, 1.0))

    def _result(self, gate: Gate) -> Figure:
        if gate.pattern == "findings.total":
            a, b = self._findings.total()
        elif gate.subject in self._findings.codes:
            a, b = self._findings.of_code(gate.subject)
        else:
            # Found on neither side: none before, none after.
            a, b = (column * 0 for column in self._findings.total())
        which = gate.of
        if gate.pattern.endswith((".rate", ".samples")):
            # A sum of samples is compared as the rate, and multiplied by the pairs.
            which, a, b = metric("findings.<code>.rate"), (a > 0).astype(float), (b > 0).astype(float)
        return metric_figure(which, self.a, a, b, gate.names, name=gate.metric)


def _rows_of(groups: Groups | None, name: str, n: int) -> Array:
    """The positions of a group's samples in its run; none where the run has no such group."""
    if groups is None or name not in groups.names:
        return np.empty(0, dtype=int)
    return groups.samples_where(groups.names.index(name), np.ones(n, dtype=bool))


def _missing_in(run: ComparedRun, factor: str, name: str) -> int:
    absent = max(0, (run.suite.n_planned or 0) - run.columns.n)
    conclusive = run.table.conclusive
    rows = _rows_of(cut(run.columns, run.suite, 0).get(factor), name, run.columns.n)
    return absent + int((~conclusive[rows]).sum())


def _summed(change: MetricChange) -> MetricChange:
    """A change of a mean over samples as one of their sum, over the same pairs."""
    n = change.a.n
    if isinstance(change, BoundedChange) and change.sure is not None:
        change = replace(change, sure=change.sure.times(n))
    return replace(
        change,
        a=_times(change.a, n),
        b=_times(change.b, n),
        difference=_times(change.difference, n),
        smallest=None,
        matters=None if change.matters is None else change.matters * n,
    )


def _times(estimate: Estimate, n: int) -> Estimate:
    value, low, high = (
        None if number is None else number * n for number in (estimate.value, estimate.low, estimate.high)
    )
    return replace(estimate, value=value, low=low, high=high)
