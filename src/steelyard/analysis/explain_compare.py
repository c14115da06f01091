"""A figure of a comparison, and every pair behind it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

from steelyard.analysis.compare_model import Comparison, MetricChange, Pairs, Why
from steelyard.analysis.compared_cases import common_cases
from steelyard.analysis.compared_checks import EXPECTATIONS, STABILITY, ComparedCells
from steelyard.analysis.compared_failures import failure_figures
from steelyard.analysis.compared_figures import Figure
from steelyard.analysis.compared_findings import Findings
from steelyard.analysis.compared_run import ComparedRun
from steelyard.analysis.compared_slices import cuts
from steelyard.analysis.explain import Counted, PairExplanation, Words, explain_pairs
from steelyard.analysis.pairing import Pairing, pair
from steelyard.analysis.shared_figures import SharedFigures
from steelyard.errors import UserMistake
from steelyard.metrics.expressions import EVERY, Gate, asked_metric
from steelyard.metrics.registry import Aggregate, Contributions, Reasons, metrics
from steelyard.stats.arrays import Array
from steelyard.suite.yaml import listed, meant

_FORMULAS = {
    "target_failed_rate": "pairs' samples whose target failed / n",
    "judge_failed_rate": "pairs' samples whose judge failed / n",
    "count": "sum of the count / n",
    "section": "number of findings that begin in the section / n",
    "findings": "number of findings / n",
    "cost": "sum of costs / n",
    "tokens": "sum of tokens / n",
}
"""Of figures that only a comparison has, or that are means there."""
_ALONE = (Why.ONLY_IN_A, Why.ONLY_IN_B, Why.CHANGED_QUESTION)
_OVER_PAIRS = "over the pairs in which both sides have it"
_OVER_CELLS = "over what both runs have, of cases with the same question and truth, where it is known on both sides"
_MOST_CASES = 5


def explain_comparison(
    a: ComparedRun, b: ComparedRun, comparison: Comparison, metric: str, *, anyway: bool
) -> list[PairExplanation]:
    """The metric that was asked for, over all pairs or, for `category.*`, over those of every slice.

    UserMistake when there is no such metric, or the comparison has no such figure.
    """
    a = a.paired
    gate, name, changes = _changes(comparison, metric)
    cases = common_cases(a, b)
    change = changes[0][1]
    if change.group in (EXPECTATIONS, STABILITY):
        return [_over_cells(ComparedCells(a, b, cases, anyway=anyway), gate, change, comparison.method)]
    pairing = pair(a, b, cases, anyway=anyway)
    failure = change.group in ("failures", "format")
    figure, first, second = _figure(a, b, pairing, name, failure=failure)
    sides = (
        _side(figure.a, figure.below_a, a, gate, first),
        _side(figure.b, figure.below_b, b, gate, second),
    )
    columns = a.columns

    def key(row: int) -> tuple[str, str, int | None, str]:
        at = int(first[row])
        case, variant = int(columns.case[at]), int(columns.variant[at])
        return columns.case_ids[case], columns.variants[variant], int(columns.repeat[at]), ""

    groups = None if gate is None or gate.factor is None else cuts(a, b, pairing)[gate.factor]
    words = Words(_formula(gate, name), _OVER_PAIRS, "pairs", interval=comparison.method)
    return [
        explain_pairs(
            change,
            words,
            sides,
            key,
            how=_how(figure),
            point=figure.point,
            rows=None if groups is None else groups.rows[groups.groups.names.index(part)],
            name=name if groups is None or gate is None else f"{gate.factor}.{part}.{gate.metric}",
            not_comparable=_not_comparable(comparison.pairs, failure=failure, sliced=groups is not None),
        )
        for part, change in changes
    ]


def _how(figure: Figure) -> Aggregate:
    if figure.point is not None:
        return Aggregate.QUANTILE
    return Aggregate.MEAN if figure.below_a is None else Aggregate.RATIO


def _formula(gate: Gate | None, name: str) -> str:
    head = name.partition(".")[0]
    return _FORMULAS.get(name) or _FORMULAS.get(head) or ("" if gate is None else gate.of.formula)


def _figure(
    a: ComparedRun, b: ComparedRun, pairing: Pairing, name: str, *, failure: bool
) -> tuple[Figure, Array, Array]:
    """The figure as columns of pairs, and the samples of the pairs in either run."""
    if failure:
        first, second, _ = pairing.asked
        return next(each for each in failure_figures(a, b, first, second) if each.name == name), first, second
    figures = SharedFigures(a, b, pairing, Findings(a, b, pairing))
    every: Iterator[Figure] = chain(
        figures.headline(), figures.components(), figures.others(), figures.counts(), figures.sections().values()
    )
    return next(each for each in every if each.name == name), pairing.first, pairing.second


def _side(values: Array, below: Array | None, run: ComparedRun, gate: Gate | None, rows: Array) -> Contributions:
    reasons: Reasons = () if gate is None else gate.of.contributions(run.data, gate.names).excluded
    excluded = tuple((why, None if mask is None else mask[rows]) for why, mask in reasons)
    return Contributions(values, below, excluded=excluded)


def _over_cells(cells: ComparedCells, gate: Gate | None, change: MetricChange, method: str) -> PairExplanation:
    a, b, key = cells.columns(change.name)
    words = Words(
        "" if gate is None else gate.of.formula,
        _OVER_CELLS,
        "cells" if gate is None else gate.of.rows,
        interval=method,
    )
    sides = (Contributions(a), Contributions(b))
    alone = [Counted(why, n) for why, n in cells.not_shared().items() if n]
    return explain_pairs(change, words, sides, key, how=Aggregate.MEAN, not_comparable=alone)


def _not_comparable(pairs: Pairs, *, failure: bool, sliced: bool) -> list[Counted]:
    """Samples of either run that are in no pair, by reason; of a rate of failures, only those without a counterpart."""
    whole = " (of the whole comparison)" if sliced else ""
    return [
        Counted(
            f"{why.value}{whole}", each.count, tuple(dict.fromkeys(line.case_id for line in each.lines))[:_MOST_CASES]
        )
        for why, each in pairs.not_comparable.items()
        if not failure or why in _ALONE
    ]


def _changes(comparison: Comparison, metric: str) -> tuple[Gate | None, str, list[tuple[str, MetricChange]]]:
    """What was asked for, its name in the comparison, and the figure by the name of its slice."""
    everything = [*comparison.metrics, *(each.rate for each in comparison.sections)]
    gate = _asked(metric, [*(change.name for change in everything), "why"])
    name = metric if gate is None else gate.of.compared_as or gate.metric
    groups: list[tuple[str, Sequence[MetricChange]]] = [("", everything)]
    if gate is not None and gate.factor is not None:
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
    return gate, name, found


def _asked(metric: str, names: Sequence[str]) -> Gate | None:
    """The metric that is meant; None for a figure that only comparisons have."""
    renamed = {each.compared_as: each.name for each in metrics().values() if each.compared_as}
    if metric in names and metric not in renamed:
        head = metric.partition(".")[0]
        if head in ("count", "section") or metric in ("target_failed_rate", "judge_failed_rate"):
            return None
    try:
        return asked_metric(renamed.get(metric, metric), names)
    except ValueError as error:
        raise UserMistake(str(error)) from None
