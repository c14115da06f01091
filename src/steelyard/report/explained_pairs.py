"""A figure of a comparison of two stored runs, and everything behind it."""

from __future__ import annotations

from collections.abc import Sequence

from steelyard.analysis.compare_model import Comparison, MetricChange
from steelyard.analysis.compared_cases import common_cases
from steelyard.analysis.compared_run import ComparedRun
from steelyard.analysis.explain import first_repeat
from steelyard.analysis.explain_cell_pairs import Cells, explain_cell_pairs
from steelyard.analysis.explain_cells import CellFigure
from steelyard.analysis.explain_model import PairExplanation
from steelyard.analysis.explain_only_compared import FORMULAS, only_compared
from steelyard.analysis.explain_pairs import FAILURES, NAMES, explain_pairs, not_comparable, read_sides, slice_of
from steelyard.analysis.explain_readings import OF_SAMPLES
from steelyard.analysis.pairing import pair
from steelyard.errors import UserMistake
from steelyard.store.base import Store
from steelyard.suite.formulas import asked_metric
from steelyard.suite.gates import EVERY, Gate
from steelyard.suite.spelling import listed, meant


def explain_comparison(
    a: tuple[Store, ComparedRun], b: tuple[Store, ComparedRun], comparison: Comparison, metric: str, *, anyway: bool
) -> list[PairExplanation]:
    """The metric that was asked for, over all pairs or, for `category.*`, over those of every slice.

    UserMistake when there is no such metric, or the comparison has no such figure.
    """
    gate, changes = _changes(comparison, metric)
    if gate.pattern not in OF_SAMPLES and gate.pattern not in FORMULAS:
        return [_over_cells(gate, a, b, comparison, changes[0][1], anyway=anyway)]
    pairing = pair(a[1], b[1], common_cases(a[1], b[1]), anyway=anyway)
    first, second = pairing.asked if gate.pattern in FAILURES else (pairing.first, pairing.second)
    only_scores = a[1].only_scores != b[1].only_scores
    sides = [
        read_sides(
            gate,
            run.suite,
            (sample for sample, _ in store.samples(run.header.id)),
            wanted,
            only_scores=only_scores,
        )
        for (store, run), wanted in ((a, first), (b, second))
    ]
    pairs = [(sides[0][i], sides[1][j]) for i, j in zip(first.tolist(), second.tolist(), strict=True)]
    left_out = not_comparable(comparison.pairs, gate)
    found = []
    for name, change in changes:
        mine = pairs if gate.factor is None else [one for one in pairs if name in slice_of(*one, gate.factor)]
        full = gate.metric if gate.factor is None else f"{gate.factor}.{name}.{gate.metric}"
        found.append(explain_pairs(gate, full, change, mine, a[1].suite, left_out, comparison.method))
    return found


def _over_cells(
    gate: Gate,
    a: tuple[Store, ComparedRun],
    b: tuple[Store, ComparedRun],
    comparison: Comparison,
    change: MetricChange,
    *,
    anyway: bool,
) -> PairExplanation:
    cases, ids = common_cases(a[1], b[1]), a[1].columns.case_ids
    same = {name for name, kept in zip(ids, cases.comparable(anyway=anyway).tolist(), strict=True) if kept}
    sides = [_cells(gate, store, run) for store, run in (a, b)]
    return explain_cell_pairs(gate, change, sides[0], sides[1], same, comparison.method)


def _cells(gate: Gate, store: Store, run: ComparedRun) -> Cells:
    repeats = run.columns.repeat
    lowest, highest = (int(repeats.min()), int(repeats.max())) if run.columns.n else (0, 0)
    figure = CellFigure(gate, run.suite, first_repeat(lowest, highest, run.suite))
    for sample, _ in store.samples(run.header.id):
        figure.add(sample)
    return figure.readings()


def _changes(comparison: Comparison, metric: str) -> tuple[Gate, list[tuple[str, MetricChange]]]:
    """The figure that was asked for, by the name of its slice."""
    everything = [*comparison.metrics, *(each.rate for each in comparison.sections)]
    gate = _asked(metric, [*(change.name for change in everything), "why"])
    name = NAMES.get(gate.pattern, gate.metric)
    groups: list[tuple[str, Sequence[MetricChange]]] = [("", everything)]
    if gate.factor is not None:
        slices = comparison.slices.get(gate.factor, ())
        groups = [(each.name, each.metrics) for each in slices if gate.slice in (EVERY, each.name)]
        if not groups:
            there = listed(each.name for each in slices) or "none"
            raise UserMistake(f"metric {metric!r}: no pair has {gate.factor} {gate.slice!r}; there are: {there}")
    found = [(group, change) for group, changes in groups for change in changes if change.name == name]
    if not found:
        names = [change.name for change in groups[0][1]]
        raise UserMistake(
            f"metric {metric!r}: the comparison has no such figure{meant(name, names)}; it has: {', '.join(names)}"
        )
    return gate, found


def _asked(metric: str, names: Sequence[str]) -> Gate:
    """What a metric means in a comparison that has figures of these names."""
    plain = {name: gate for gate, name in NAMES.items()}.get(metric, metric)
    try:
        return only_compared(plain) or asked_metric(plain, names)
    except ValueError as error:
        raise UserMistake(str(error)) from None
