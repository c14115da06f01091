"""What a run's figures are by labels and the judge together, and how many more labels a tighter one takes.

The pass rate is `pass_rate.corrected`. Labels are of all texts, or of a random sample (`analysis.judge.corrected`).
The rates of passes and flags are post-stratified by what the judge says (`analysis.judge.corrected_rate`). A mean
score is prediction-powered with the tuned weight of PPI++ (Angelopoulos, Duchi and Zrnic 2023); the labelled items are
some of those that the judge scored, so that the variance is that of the regression estimator.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from steelyard.analysis.judge.corrected import (
    DECLARED,
    FEWEST,
    LabelColumns,
    RunLabels,
    clustered_variance,
    labelled_rate,
    read_labels,
)
from steelyard.analysis.judge.corrected_rate import PREDICTION_POWERED
from steelyard.frozen import frozen
from steelyard.metrics.run_data import CorrectedRate, RunData
from steelyard.people.agreement import FEWEST_IN_SLICE, judge_figures
from steelyard.people.labels import PASSES, LabelTerms, sheets
from steelyard.stats.groups import mean
from steelyard.stats.intervals import SHARES, Estimate, bounded, score_bounds
from steelyard.store.people import PRECISION, RANDOM, SCORES, SKIPPED, VERDICT

if TYPE_CHECKING:
    from steelyard.metrics.table import Table
    from steelyard.records import RunHeader
    from steelyard.stats.arrays import Array
    from steelyard.store.base import Store
    from steelyard.store.people import LabelRecord

_HALF = 0.5


@frozen
class LabelEstimate:
    """One figure of a run: as the judge reports it, by the labels alone, and by both."""

    name: str
    """`passes`, a flag, or a dimension of the rubric."""
    slice: str
    """A category; "" for the whole run."""
    judge: Estimate
    labels: Estimate
    together: Estimate
    method: str
    why: str
    """Why that method, or why there is no estimate."""
    scale: tuple[float, float] | None
    """From the lowest to the highest score of a dimension; None of a share."""
    more_to_halve: int | None
    """How many more labels at random would halve the interval; None when labels alone cannot."""


@frozen
class Costs:
    """What labels and judge have cost, and what halving the interval of the pass rate would."""

    judge_calls: float | None
    """What all judge calls of the run cost; None where nobody knows."""
    label: float | None
    """What one label costs, as given."""
    labels: float | None
    halving: float | None


@frozen
class Estimates:
    """All estimates of a run, the pass rate first."""

    n_random: int
    """Items labelled that this tool sampled at random."""
    n_precision: int
    n_declared: int
    """Items labelled that a file declares to be sampled at random."""
    n_of_cases: int
    """Items that nobody labelled and whose case has labels of the very text."""
    n_other: int
    """Items labelled that were picked: they are in no estimate."""
    n_not_blind: int
    """Items in an estimate whose labeller could see what the judge or others say."""
    n_skipped: int
    """Items drawn by chance that were skipped and that nobody labelled: in no estimate, and rather the hard ones."""
    n_unread: int
    """Answers of which the judge says nothing, because it or the system failed: in no estimate."""
    n_malformed: int
    """Answers that could not be read: they count as not passed, and are in no other figure."""
    not_random: str
    """Why the labels are not those of a random sample of the run, nor of all of it; "" when they are."""
    figures: tuple[LabelEstimate, ...]
    costs: Costs


def estimates_of(store: Store, header: RunHeader, *, label_cost: float | None = None) -> Estimates:
    """The figures of a run from its judge and its labels together, by category where there are enough labels."""
    given = [label for label in store.people.labels(run_id=header.id) if label.run_id == header.id]
    labels = [label for label in given if label.kind in (SCORES, VERDICT) and label.round == 0]
    columns, suite = store.columns(header.id), header.description
    data = RunData(columns, suite)
    table = data.table
    all_labels = read_labels(store, header.id, suite) or RunLabels()
    by_labels = LabelColumns(all_labels, data)
    figures = tuple(_figures(store, header, labels, by_labels, all_labels.unfinished or all_labels.leaning, table))
    items = {
        how: {key for key in all_labels.by_people if all_labels.sampled.get(key) == how}
        for how in (RANDOM, PRECISION, DECLARED)
    }
    by_chance = items[RANDOM] | items[PRECISION] | items[DECLARED]
    skipped = {label.key for label in given if label.kind == SKIPPED and label.drawn in items}
    labelled, judged = ~np.isnan(by_labels.passes), ~np.isnan(by_labels.judged)
    of_people = [at for at, key in enumerate(by_labels.keys) if key in all_labels.by_people]
    n_labels = sum(label.kind != SKIPPED for label in given)
    return Estimates(
        n_random=len(items[RANDOM]),
        n_precision=len(items[PRECISION]),
        n_declared=len(items[DECLARED]),
        n_of_cases=int((labelled & ~np.isin(np.arange(columns.n), of_people)).sum()),
        n_other=len({label.key for label in labels} - by_chance),
        n_not_blind=len({label.key for label in labels if not label.blind} & by_chance),
        n_skipped=len(skipped - by_chance),
        n_unread=int((~judged & ~table.malformed).sum()),
        n_malformed=int(table.malformed.sum()),
        not_random=by_labels.not_random,
        figures=figures,
        costs=_costs(store, header, n_labels, figures[0].more_to_halve, label_cost),
    )


def _figures(
    store: Store,
    header: RunHeader,
    labels: Sequence[LabelRecord],
    by_labels: LabelColumns,
    unfinished: str,
    table: Table,
) -> Iterator[LabelEstimate]:
    columns, terms = store.columns(header.id), LabelTerms(header.description)
    categories = {name: columns.category == code for code, name in enumerate(columns.categories)}
    slices = {"": np.ones(columns.n, dtype=bool)} | (categories if len(categories) > 1 else {})
    for name, inside in slices.items():
        if not name or (~np.isnan(by_labels.passes) & inside).sum() >= FEWEST_IN_SLICE:
            yield _pass_rate(name, by_labels, np.flatnonzero(inside), table)
    if terms.rubric is None:
        return
    people = sheets(labels, terms)
    judged = judge_figures(store, header)
    for figure in (*terms.rubric.flags, *terms.rubric.dimensions):
        judge = by_labels.by_key(judged.get(figure, {}))
        label = by_labels.labelled(figure, people[figure].by_item if figure in people else {})
        scale = terms.rubric.scale if figure in terms.rubric.dimensions else None
        for name, inside in slices.items():
            if (~np.isnan(label) & inside).sum() >= (FEWEST_IN_SLICE if name else 1):
                sides = judge[inside], label[inside], table.unit[inside]
                yield _estimate(figure, name, *sides, scale, unfinished or by_labels.not_random, by_labels.declared)


def _pass_rate(part: str, by_labels: LabelColumns, rows: Array, table: Table) -> LabelEstimate:
    judge, label, unit = by_labels.judged[rows], by_labels.passes[rows], table.unit[rows]
    rate = by_labels.corrected(rows)
    more, why = _more_to_halve(rate, judge, label), rate.message or rate.why
    alone = _alone(label, unit)
    if by_labels.not_random and rate.message:
        alone = Estimate(alone.value, alone.n)
    return LabelEstimate(PASSES, part, rate.reported, alone, rate.rate, rate.method, why, None, more)


def _alone(label: Array, unit: Array, scale: tuple[float, float] = SHARES) -> Estimate:
    labelled = ~np.isnan(label)
    return mean(label[labelled], unit[labelled], scale)


def _estimate(
    name: str,
    part: str,
    judge: Array,
    label: Array,
    unit: Array,
    scale: tuple[float, float] | None,
    why_not: str,
    declared: bool,
) -> LabelEstimate:
    """One flag (without a scale) or dimension."""
    bounds = scale or SHARES
    reported, alone = _alone(judge, unit, bounds), _alone(label, unit, bounds)
    if why_not:
        alone = Estimate(alone.value, alone.n)
    if why_not or (~np.isnan(label) & ~np.isnan(judge)).sum() < FEWEST:
        why = why_not or f"fewer than {FEWEST} labels drawn at random of what the judge read"
        return LabelEstimate(name, part, reported, alone, Estimate(None, 0), "", why, scale, None)
    if scale is None:
        rate = labelled_rate(judge, label, unit, stratified=False, declared=declared)
        more, why = _more_to_halve(rate, judge, label), rate.message or rate.why
        return LabelEstimate(name, part, reported, alone, rate.rate, rate.method, why, scale, more)
    result, weight = powered_mean(judge, label, unit, bounds)
    why = f"the judge counts with {weight:.2f} of its own weight"
    more = _more_to_halve_mean(judge, label, weight)
    return LabelEstimate(name, part, reported, alone, result, PREDICTION_POWERED, why, scale, more)


def powered_mean(judge: Array, label: Array, case: Array, scale: tuple[float, float]) -> tuple[Estimate, float]:
    """The mean by people of all items, and the weight that the judge's scores get (0: labels alone).

    The labelled items are a random part of all. Cases are drawn as a whole: items of one count as one cluster.
    """
    judged, labelled = ~np.isnan(judge), ~np.isnan(label) & ~np.isnan(judge)
    y, f, of = label[labelled], judge[labelled], case[labelled]
    part = len(y) / int(judged.sum())
    spread = float(np.var(f, ddof=1)) if len(y) > 1 else 0.0
    weight = max(0.0, float(np.cov(y, f, ddof=1)[0, 1]) / spread) if spread > 0 else 0.0
    rest = y - weight * f
    value = min(scale[1], max(scale[0], weight * float(judge[judged].mean()) + float(rest.mean())))
    variance = (1 - part) * clustered_variance(rest, of) + part * clustered_variance(y, of)
    clusters = len(np.unique(of))
    limits = score_bounds(value, math.sqrt(variance), clusters - 1, scale) if clusters > 1 and variance > 0 else None
    return bounded(value, int(judged.sum()), int((~judged).sum()), limits, scale), weight


def _more_to_halve(rate: CorrectedRate, judge: Array, votes: Array) -> int | None:
    """Labels that halve the interval: what labels add to the variance goes with 1 / n, what the judge adds stays."""
    if rate.message:
        return None
    labelled, judged = ~np.isnan(votes) & ~np.isnan(judge), judge[~np.isnan(judge)]
    n = int(labelled.sum())
    sides = [(float((judged == side).mean()), votes[labelled & (judge == side)]) for side in (1.0, 0.0)]
    shares = [(weight, (float(of.sum()) + _HALF) / (len(of) + 1)) for weight, of in sides]
    overall = sum(weight * share for weight, share in shares)
    within = sum(weight * share * (1 - share) for weight, share in shares)
    between = sum(weight * (share - overall) ** 2 for weight, share in shares)
    return _more(n, within / n, between / len(judged), len(judged))


def _more_to_halve_mean(judge: Array, label: Array, weight: float) -> int | None:
    labelled = ~np.isnan(label) & ~np.isnan(judge)
    n, total = int(labelled.sum()), int((~np.isnan(judge)).sum())
    rest, whole = (float(np.var(label[labelled] - w * judge[labelled], ddof=1)) for w in (weight, 0.0))
    return _more(n, rest / n, max(0.0, whole - rest) / total, total)


def _more(n: int, by_labels: float, fixed: float, total: int) -> int | None:
    """How many more labels make the variance a quarter of what it is; None where there are not so many items."""
    wanted = (by_labels + fixed) / 4 - fixed
    if wanted <= 0 or by_labels <= 0:
        return None
    needed = math.ceil(by_labels * n / wanted) - n
    return needed if n + needed <= total else None


def _costs(store: Store, header: RunHeader, n_labels: int, more: int | None, label: float | None) -> Costs:
    spent = store.judge_spending(header.id)
    cost = spent.cost if spent.n_cost else None
    if label is None:
        return Costs(cost, None, None, None)
    return Costs(cost, label, label * n_labels, None if more is None else label * more)
