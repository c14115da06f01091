"""What a figure of a comparison, or a part of its attribution, is made of: every pair, and what it adds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import field, replace
from itertools import chain

import numpy as np

from steelyard.analysis.explain import (
    Contributing,
    Counted,
    Explanation,
    Inputs,
    Words,
    counted_rows,
    formula_inputs,
    most_frequent,
)
from steelyard.comparing.attribution import Terms, Traces
from steelyard.comparing.attribution_model import Attribution, Cause, How, Portion
from steelyard.comparing.attribution_sentences import METHOD, name_of
from steelyard.comparing.ledger_reasons import reason_messages
from steelyard.comparing.model import Comparison
from steelyard.errors import UsageError
from steelyard.frozen import frozen
from steelyard.metrics.expressions import EVERY, Gate, asked_metric
from steelyard.metrics.kinds import Aggregate
from steelyard.metrics.registry import Contributions, Key, Reasons, gate_metrics
from steelyard.pairing.cases import common_cases
from steelyard.pairing.checks import EXPECTATIONS, STABILITY, ComparedCells
from steelyard.pairing.failures import failure_figures
from steelyard.pairing.figures import Figure, SharedFigures
from steelyard.pairing.findings import Findings
from steelyard.pairing.model import MetricChange, Pairs, Why
from steelyard.pairing.pairs import Pairing, pair
from steelyard.pairing.runs import ComparedRun
from steelyard.pairing.slices import cuts
from steelyard.stats.arrays import Array
from steelyard.stats.intervals import Estimate
from steelyard.suite.yaml import listed, meant


@frozen
class BehindPair:
    """One sample, cell or check of a cell in A and in B; `repeat` is None for a cell."""

    case_id: str
    variant: str
    repeat: int | None
    a: float
    b: float
    check: str = ""
    """Of a check of a cell, its name."""

    @property
    def moved(self) -> float:
        """B minus A."""
        return self.b - self.a


@frozen
class PairExplanation:
    """One figure of a comparison with everything behind it."""

    metric: str
    formula: str
    how: str
    of: str = field(metadata={"name": "n_counts"})
    """What `n` counts: pairs, cells or checks of cells that both runs have."""
    change: MetricChange
    """As the comparison prints it."""
    inputs_a: Inputs
    """What stands in the formula of each side, by name."""
    inputs_b: Inputs
    interval: str
    excluded: tuple[Counted, ...]
    order: str
    contributing: tuple[BehindPair, ...]
    """What moved most against the system first."""

    @property
    def sides(self) -> tuple[Estimate, Estimate]:
        """The figure of both runs; where the difference is that of several runs, of these two."""
        return self.change.own or (self.change.a, self.change.b)


def explain_pairs(
    change: MetricChange,
    words: Words,
    sides: tuple[Contributions, Contributions],
    keys: Callable[[int], tuple[str, str, int | None, str]],
    *,
    how: Aggregate,
    rows: Array | None = None,
    name: str = "",
    not_comparable: Sequence[Counted] = (),
) -> PairExplanation:
    """A figure of a comparison; the rows of both sides are pairs, and it is of those that both sides know."""
    available = [
        ~np.isnan(side.values) if side.below is None else ~np.isnan(side.values + side.below) for side in sides
    ]
    at = np.arange(len(available[0])) if rows is None else rows
    both = available[0] & available[1]
    inside, outside = at[both[at]], at[~both[at]]
    inputs_a, inputs_b = (formula_inputs(side, inside, 0, how, words.formula) for side in sides)
    excluded = _unknown(sides, (available[0], available[1]), outside, keys)
    values = [_brought(side, inside, (change.own or (change.a,))[0].value) for side in sides]
    moved = values[1] - values[0]
    order, ranked = {
        "higher": ("what fell most first", np.argsort(moved, kind="stable")),
        "lower": ("what rose most first", np.argsort(-moved, kind="stable")),
    }.get(change.better_when, ("what moved most first", np.argsort(-np.abs(moved), kind="stable")))
    return PairExplanation(
        metric=name or change.name,
        formula=f"{words.formula}, of A and of B; B - A",
        how=words.how,
        of=words.of,
        change=change,
        inputs_a=inputs_a,
        inputs_b=inputs_b,
        interval=words.interval,
        excluded=(*not_comparable, *most_frequent(excluded)),
        order=order,
        contributing=tuple(
            BehindPair(*keys(row)[:3], float(values[0][i]), float(values[1][i]), keys(row)[3])
            for i, row in zip(ranked.tolist(), inside[ranked].tolist(), strict=True)
        ),
    )


def _brought(contributions: Contributions, rows: Array, ratio: float | None) -> Array:
    """A pair of a ratio brings numerator - A's ratio x denominator: the sum of what moved is what the ratio moved."""
    if contributions.below is None:
        return contributions.values[rows]
    brought: Array = contributions.values[rows] - (ratio or 0.0) * contributions.below[rows]
    return brought


def _unknown(
    sides: tuple[Contributions, Contributions],
    available: tuple[Array, Array],
    rows: Array,
    keys: Callable[[int], tuple[str, str, int | None, str]],
) -> list[Counted]:
    def key(row: int) -> Key:
        return keys(row)[:3]

    counteds: list[Counted] = []
    neither = ~available[0][rows] & ~available[1][rows]
    for where, mask, side in (
        ("on either side", neither, 0),
        ("in A", ~available[0][rows] & ~neither, 0),
        ("in B", ~available[1][rows] & ~neither, 1),
    ):
        for item in counted_rows((*sides[side].excluded, ("", None)), rows[mask], key):
            reason = f": {item.why}" if item.why else ""
            counteds.append(replace(item, why=f"not known {where}{reason}"))
    return counteds


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
_OVER_PAIRED_CELLS = (
    "over what both runs have, of cases with the same question and truth, where it is known on both sides"
)
_MOST_CASES_COMPARED = 5


def explain_comparison(
    a: ComparedRun, b: ComparedRun, comparison: Comparison, metric: str, *, allow_mismatch: bool
) -> list[PairExplanation]:
    """The metric that was asked for, over all pairs or, for `category.*`, over those of every slice.

    UsageError when there is no such metric, or the comparison has no such figure.
    """
    a = a.paired
    gate, name, changes = _changes(comparison, metric)
    cases = common_cases(a, b)
    change = changes[0][1]
    if change.test == "unpaired":
        raise UsageError(
            f"metric {metric!r} is compared as two estimates, not pair by pair: steelyard report RUN --explain {metric}"
            " explains that of each run"
        )
    if change.group in (EXPECTATIONS, STABILITY):
        return [_over_cells(ComparedCells(a, b, cases, allow_mismatch=allow_mismatch), gate, change, comparison.method)]
    pairing = pair(a, b, cases, allow_mismatch=allow_mismatch)
    failure, is_time = change.group in ("failures", "format"), change.group == "latency"
    pairing = pairing.of_calls if is_time else pairing
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
            how=Aggregate.MEAN if figure.how is Aggregate.RATE else figure.how,
            rows=None if groups is None else groups.rows[groups.groups.names.index(part)],
            name=name if groups is None or gate is None else f"{gate.factor}.{part}.{gate.metric}",
            not_comparable=_not_comparable(comparison.pairs, failure=failure or is_time, sliced=groups is not None),
        )
        for part, change in changes
    ]


def _formula(gate: Gate | None, name: str) -> str:
    head = name.partition(".")[0]
    return _FORMULAS.get(name) or _FORMULAS.get(head) or ("" if gate is None else gate.of.formula)


def _figure(
    a: ComparedRun, b: ComparedRun, pairing: Pairing, name: str, *, failure: bool
) -> tuple[Figure, Array, Array]:
    """The figure as columns of pairs, and the samples of the pairs in either run."""
    if failure:
        first, second, _ = pairing.asked
        return (
            next(
                failure_figure for failure_figure in failure_figures(a, b, first, second) if failure_figure.name == name
            ),
            first,
            second,
        )
    figures = SharedFigures(a, b, pairing, Findings(a, b, pairing))
    every: Iterator[Figure] = chain(
        figures.headline(),
        figures.components(),
        figures.others(),
        figures.counts(),
        figures.latencies(),
        figures.sections().values(),
    )
    return next(item for item in every if item.name == name), pairing.first, pairing.second


def _side(values: Array, below: Array | None, run: ComparedRun, gate: Gate | None, rows: Array) -> Contributions:
    reasons: Reasons = () if gate is None else gate.of.contributions(run.data, gate.names).excluded
    excluded = tuple((why, None if mask is None else mask[rows]) for why, mask in reasons)
    return Contributions(values, below, excluded=excluded)


def _over_cells(cells: ComparedCells, gate: Gate | None, change: MetricChange, method: str) -> PairExplanation:
    a, b, key = cells.columns(change.name)
    words = Words(
        "" if gate is None else gate.of.formula,
        _OVER_PAIRED_CELLS,
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
            f"{why.value}{whole}",
            item.count,
            tuple(dict.fromkeys(line.case_id for line in item.lines))[:_MOST_CASES_COMPARED],
        )
        for why, item in pairs.not_comparable.items()
        if not failure or why in _ALONE
    ]


def _changes(comparison: Comparison, metric: str) -> tuple[Gate | None, str, list[tuple[str, MetricChange]]]:
    """What was asked for, its name in the comparison, and the figure by the name of its slice."""
    everything = [*comparison.metrics, *(section.rate for section in comparison.sections)]
    gate = _asked(metric, [*(change.name for change in everything), "why"])
    name = metric if gate is None else gate.of.compared_as or gate.metric
    groups: list[tuple[str, Sequence[MetricChange]]] = [("", everything)]
    if gate is not None and gate.factor is not None:
        slices = comparison.slices.get(gate.factor, ())
        groups = [(item.name, item.metrics) for item in slices if gate.slice in (EVERY, item.name)]
        if not groups:
            there = listed(item.name for item in slices) or "none"
            raise UsageError(f"metric {metric!r}: no pair has {gate.factor} {gate.slice!r}; there are: {there}")
    results = [(group, change) for group, changes in groups for change in changes if change.name == name]
    if not results:
        names = [change.name for change in groups[0][1]]
        raise UsageError(
            f"metric {metric!r}: the comparison has no such figure{meant(name, names)}; it has: {', '.join(names)}"
        )
    return gate, name, results


def _asked(metric: str, names: Sequence[str]) -> Gate | None:
    """The metric that is meant; None for a figure that only comparisons have."""
    renamed = {metric.compared_as: metric.name for metric in gate_metrics().values() if metric.compared_as}
    if metric in names and metric not in renamed:
        head = metric.partition(".")[0]
        if head in ("count", "section") or metric in ("target_failed_rate", "judge_failed_rate"):
            return None
    try:
        return asked_metric(renamed.get(metric, metric), names)
    except ValueError as error:
        raise UsageError(str(error)) from None


WHY = "why"
"""What a portion is asked for by: `why.truth`, or `why` alone for all of them."""
_SUMMED = {
    How.SCORED_AGAIN: "sum over pairs of (A's answer after the step - before it) / pairs",
    How.ANCHORS: "sum over pairs of the judge's shift (B's judge - before; mean of its band if not measured) / pairs",
    How.LEFT: "sum over pairs of (B's score - A's answer as last scored - the judge's shift, if it has one) / pairs",
}
_COUNTED = {
    Cause.CASES: "(B: mean of all scores - mean of those with a counterpart) - (the same of A)",
    Cause.QUESTIONS: ("(B: mean of scores with a counterpart - mean of those of the same question) - (the same of A)"),
    Cause.AVAILABILITY: (
        "(B: mean of scores of the same question - mean of those scored on both sides) - (the same of A)"
    ),
}


def explain_why(attribution: Attribution, traces: Traces, metric: str) -> list[Explanation]:
    """The portion that `why.truth` names, or all of them for `why`; UsageError when there is none of that name."""
    if attribution.total is None:
        raise UsageError(f"metric {metric!r}: {attribution.sentence}")
    asked = metric.removeprefix(WHY).removeprefix(".")
    results = [portion for portion in attribution.portions if asked in ("", _full(portion), *portion.causes)]
    if not results:
        there = ", ".join(f"{WHY}.{_full(portion)}" for portion in attribution.portions)
        raise UsageError(f"metric {metric!r}: no part of the change is {asked!r}; there are: {there}")
    return [explain_portion(attribution, item, traces[item.causes]) for item in results]


def _full(portion: Portion) -> str:
    return "+".join(portion.causes)


def explain_portion(attribution: Attribution, portion: Portion, terms: list[Terms]) -> Explanation:
    """The portion with what every reading adds to it, what moves it most first."""
    rows = [row for term in terms for row in _contributing(term)]
    rows.sort(key=lambda row: -abs(row.value))
    level = sum(len(term.adds) for term in terms) - len(rows)
    change = portion.change
    formula = _COUNTED.get(portion.causes[0]) if portion.how is How.COUNTED else _SUMMED[portion.how]
    return Explanation(
        metric=f"{WHY}.{_full(portion)}",
        unit="difference",
        about=f"the part of the change of {attribution.metric} that belongs to: {name_of(portion)}",
        formula=formula or "B's mean - A's mean",
        how="; ".join(
            message for message in (METHOD, portion.message, *reason_messages(attribution, portion.causes)) if message
        ),
        of="cases",
        figure=change,
        inputs=(("samples that contribute", float(len(rows))),),
        interval="over what each case adds",
        excluded=(Counted("contributes 0", level),) if level else (),
        noted=(),
        order="what moves it most first; the values sum to it",
        contributing=tuple(rows),
    )


def _contributing(terms: Terms) -> list[Contributing]:
    columns = terms.run.columns
    return [
        Contributing(
            columns.case_ids[int(columns.case[row])],
            columns.variants[int(columns.variant[row])],
            int(columns.repeat[row]),
            float(adds),
            f"{terms.stated}{_reads(before, after)}",
        )
        for row, adds, before, after in zip(*_moving(terms), strict=True)
    ]


def _moving(terms: Terms) -> tuple[list[float], ...]:
    moving = np.flatnonzero(terms.adds)
    return tuple(item[moving].tolist() for item in (terms.rows, terms.adds, terms.before, terms.after))


def _reads(before: float, after: float) -> str:
    return f"{before:.4g}" if before == after else f"{before:.4g} -> {after:.4g}"
