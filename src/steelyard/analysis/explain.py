"""One figure with the samples it is made of."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field, replace
from itertools import chain

import numpy as np

from steelyard.analysis.compare.checks import EXPECTATIONS, STABILITY, ComparedCells
from steelyard.analysis.compare.findings import Findings
from steelyard.analysis.compare.metrics import Figure, SharedFigures
from steelyard.analysis.compare.model import Comparison, MetricChange, Pairs, Why
from steelyard.analysis.compare.pairing import ComparedRun, Pairing, common_cases, pair
from steelyard.analysis.compare.slices import cuts, failure_figures
from steelyard.errors import UsageError
from steelyard.frozen import frozen
from steelyard.metrics.expressions import EVERY, Gate, asked_metric
from steelyard.metrics.kinds import NO_INTERVAL, Aggregate
from steelyard.metrics.registry import (
    Contributions,
    Key,
    Level,
    Metric,
    Reasons,
    gate_metrics,
)
from steelyard.metrics.table import MISSING
from steelyard.stats.arrays import Array
from steelyard.stats.intervals import Estimate
from steelyard.suite.yaml import listed, meant

Inputs = tuple[tuple[str, float], ...]
_MOST_CASES = 5
_ORDERS = {"lower": "lowest first", "higher": "highest first", "": "highest first"}
_PULLS_UP, _PULLS_DOWN = (f"what pulls it {way} most first" for way in ("up", "down"))
_ASCENDING = (_ORDERS["lower"], _PULLS_DOWN)


@frozen
class Contributing:
    """One row, a sample, a cell (`repeat` is None), a vote or a claim, and what it brings into a figure."""

    case_id: str
    variant: str
    repeat: int | None
    value: float
    detail: str = ""
    """In words, what went wrong in it or how its value came about."""


@frozen
class Counted:
    """So many rows for one reason, and the first cases of them in the order of the plan."""

    why: str
    count: int
    cases: tuple[str, ...] = ()


@frozen
class Explanation:
    """One figure of a run with everything behind it."""

    metric: str
    """With its slice: `category.chairs.average`."""
    unit: str
    about: str
    formula: str
    how: str
    of: str = field(metadata={"name": "n_counts"})
    """What `n` counts: samples, cells, checks of cells."""
    figure: Estimate
    """As every report prints it."""
    inputs: Inputs
    """What stands in the formula, by name."""
    interval: str
    """How the interval is made, in words."""
    excluded: tuple[Counted, ...]
    """What is not in it, by reason."""
    noted: tuple[Counted, ...]
    """What is counted with another value: a malformed answer counts as 0."""
    order: str
    """Which rows come first."""
    contributing: tuple[Contributing, ...]
    """Everything that is in it, what counts most against the system first."""


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


@frozen
class Words:
    """What is computed, and what of each row enters it."""

    formula: str
    how: str
    of: str = "samples"
    unit: str = "count"
    interval: str = NO_INTERVAL
    worse: str = "higher"
    """Which rows come first."""
    about: str = ""


def words_of(metric: Metric, worse: str, figure: Estimate, words: str = "") -> Words:
    """What a metric says of itself; `words` say what this one is of."""
    interval = metric.aggregate.interval_text(metric.unit, of_cells=metric.level is Level.CELL)
    if interval != NO_INTERVAL and figure.low is None:
        interval = f"undefined for so few; otherwise {interval[0].lower()}{interval[1:]}"
    return Words(metric.formula, words or metric.counts, metric.rows, metric.unit, interval, worse, metric.about)


def explain(
    name: str,
    words: Words,
    contributions: Contributions,
    keys: Callable[[int], Key],
    figure: Estimate,
    *,
    how: Aggregate = Aggregate.SUM,
    rows: Array | None = None,
    absent: int = 0,
) -> Explanation:
    """A figure with everything behind it; `rows` are those of its slice, `absent` were planned and are missing."""
    at = np.arange(len(contributions.values)) if rows is None else rows
    available = (
        ~np.isnan(contributions.values)
        if contributions.below is None
        else ~np.isnan(contributions.values + contributions.below)
    )
    inside, outside = at[available[at]], at[~available[at]]
    excluded = _counted(contributions.excluded, outside, keys)
    noted = _counted(contributions.noted, inside, keys, contributions.undecided)
    if absent:
        counts = contributions.absent is None and contributions.undecided is None
        (excluded if counts else noted).append(Counted(MISSING, absent))
    values, order = _values(contributions, inside, words.worse)
    ranked = np.argsort(values if order in _ASCENDING else -values, kind="stable")
    detail = contributions.detail or (lambda _: "")
    return Explanation(
        metric=name,
        unit=words.unit,
        about=words.about,
        formula=words.formula,
        how=words.how,
        of=words.of,
        figure=figure,
        inputs=_inputs(contributions, inside, absent, how, words.formula),
        interval=words.interval,
        excluded=_frequent(excluded),
        noted=_frequent(noted),
        order=order,
        contributing=tuple(
            Contributing(*keys(row), float(value), detail(row))
            for row, value in zip(inside[ranked].tolist(), values[ranked], strict=True)
            if contributions.undecided is None or contributions.below is None or contributions.below[row]
        ),
    )


def _counted(reasons: Reasons, rows: Array, keys: Callable[[int], Key], weights: Array | None = None) -> list[Counted]:
    """How many rows there are for each reason; the first reason that holds for a row counts."""
    results = []
    for why, mask in reasons:
        here = rows if mask is None else rows[mask[rows]]
        rows = rows[:0] if mask is None else rows[~mask[rows]]
        count = len(here) if weights is None else int(weights[here].sum())
        if count:
            cases = list(dict.fromkeys(keys(row)[0] for row in here[: 100 * _MOST_CASES].tolist()))
            results.append(Counted(why, count, tuple(cases[:_MOST_CASES])))
    return results


def _frequent(counted: Sequence[Counted]) -> tuple[Counted, ...]:
    return tuple(sorted(counted, key=lambda item: -item.count))


def _inputs(contributions: Contributions, rows: Array, absent: int, how: Aggregate, formula: str) -> Inputs:
    """What stands in the formula, by name."""
    values, n = contributions.values[rows], len(rows)
    if contributions.estimate is not None:
        return ("passed", math.fsum(values)), ("n", float(n))
    if contributions.undecided is not None and contributions.below is not None:
        hits, of, open_ = (
            math.fsum(item[rows]) for item in (contributions.values, contributions.below, contributions.undecided)
        )
        in_absent = float(contributions.of_absent(absent).sum())
        name = "passed" if how is Aggregate.RATE else "sum"
        return (name, hits), ("of all", of + in_absent), ("of these undecided", open_ + in_absent)
    if contributions.ratios:
        sums = [tuple(math.fsum(item[~np.isnan(item)]) for item in _of(pair, rows)) for pair in contributions.ratios]
        parts = [above / below for above, below in sums if below]
        return tuple((f"ratio {i + 1}", part) for i, part in enumerate(parts))
    more = absent if contributions.absent is not None else 0
    if how is Aggregate.SUM:
        return ("sum", math.fsum(values) + more * (contributions.absent or 0.0)), ("n", float(n))
    every = np.append(values, np.full(more, contributions.absent)) if more else values
    below = None if contributions.below is None else contributions.below[rows]
    return how.in_words(every, below, formula)[1]


def _of(pair: tuple[Array, Array], rows: Array) -> tuple[Array, Array]:
    return pair[0][rows], pair[1][rows]


def _values(contributions: Contributions, rows: Array, worse: str) -> tuple[Array, str]:
    """What every row brings, and which come first; of a ratio, how far it pulls it up or down."""
    order = _ORDERS[worse]
    if contributions.undecided is not None and contributions.below is not None:
        return contributions.values[rows] / np.maximum(contributions.below[rows], 1), order
    pairs = contributions.ratios or (
        () if contributions.below is None else ((contributions.values, contributions.below),)
    )
    if not pairs:
        return contributions.values[rows], order
    pulls = np.zeros(len(rows))
    for ratio in pairs:
        above, below = (np.nan_to_num(item) for item in _of(ratio, rows))
        total = math.fsum(below)
        pulls += (above - math.fsum(above) / total * below) / total if total else 0.0
    return pulls / len(pairs), _PULLS_UP if worse == "higher" else _PULLS_DOWN


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
    inputs_a, inputs_b = (_inputs(side, inside, 0, how, words.formula) for side in sides)
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
        excluded=(*not_comparable, *_frequent(excluded)),
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
        for item in _counted((*sides[side].excluded, ("", None)), rows[mask], key):
            reason = f": {item.why}" if item.why else ""
            counteds.append(replace(item, why=f"not known {where}{reason}"))
    return counteds


# A figure of a comparison, and every pair behind it.

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
