"""What a run's figures are by people's labels and the judge together, and how many more labels a tighter one takes.

Only labels drawn by chance stand behind an estimate. The pass rate and the rates of flags are post-stratified by what
the judge says (see `analysis.judge.model`). A mean score is prediction-powered with the tuned weight of PPI++
(Angelopoulos, Duchi and Zrnic 2023); the labelled items are some of those that the judge scored, so that the variance
is that of the regression estimator.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from steelyard.analysis.judge.corrected import FEWEST, clustered_variance, stratified_mean
from steelyard.analysis.judge.model import corrected_pass_rate
from steelyard.people.agreement import FEWEST_IN_SLICE, judge_figures
from steelyard.people.labels import PASSES, Sheet, Terms, sheets
from steelyard.stats.groups import mean
from steelyard.stats.intervals import Estimate, bounded, score_bounds
from steelyard.store.people import PRECISION, RANDOM, SCORES, VERDICT

if TYPE_CHECKING:
    from steelyard.records import RunHeader
    from steelyard.stats.arrays import Array
    from steelyard.store.base import Store
    from steelyard.store.people import Key

_HALF = 0.5


@dataclass(frozen=True, slots=True)
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
    more_to_halve: int | None
    """How many more labels at random would halve the interval; None when labels alone cannot."""


@dataclass(frozen=True, slots=True)
class Costs:
    """What labels and judge have cost, and what halving the interval of the pass rate would."""

    judge_calls: float | None
    """What all judge calls of the run cost; None where nobody knows."""
    label: float | None
    """What one label costs, as given."""
    labels: float | None
    halving: float | None


@dataclass(frozen=True, slots=True)
class Estimates:
    """All estimates of a run, the pass rate first."""

    n_random: int
    """Items labelled that were drawn at random."""
    n_precision: int
    n_other: int
    """Items labelled that were picked: they are in no estimate."""
    figures: tuple[LabelEstimate, ...]
    costs: Costs


def estimates_of(store: Store, header: RunHeader, *, label_cost: float | None = None) -> Estimates:
    """The figures of a run from its judge and its labels together, by category where there are enough labels."""
    labels = [label for label in store.people.labels(run_id=header.id) if label.kind in (SCORES, VERDICT)]
    terms, judged = Terms(header.description), judge_figures(store, header)
    by_chance = [label for label in labels if label.drawn in (RANDOM, PRECISION)]
    at_random = [label for label in labels if label.drawn == RANDOM]
    # Only the pass rate knows how to weigh what was drawn for its precision.
    tables = sheets(at_random, terms) | {PASSES: sheets(by_chance, terms).get(PASSES, Sheet((), (), np.empty((0, 0))))}
    stratified = len(by_chance) > len(at_random)
    categories = _categories(store, header)
    rubric = terms.rubric
    order = [PASSES] if rubric is None else [PASSES, *rubric.flags, *rubric.dimensions]
    figures = []
    for name in order:
        table = _Table(judged.get(name, {}), tables.get(name))
        for part in ("", *categories):
            inside = table.all_of(categories.get(part))
            if table.n_labelled(inside) < (FEWEST_IN_SLICE if part else name != PASSES):
                continue
            scale = None if rubric is None or name not in rubric.dimensions else rubric.scale
            figures.append(_estimate(name, part, table, inside, scale, stratified=stratified and name == PASSES))
    items = {drawn: len({label.key for label in labels if label.drawn == drawn}) for drawn in (RANDOM, PRECISION)}
    n_other = len({label.key for label in labels}) - sum(items.values())
    costs = _costs(store, header, len(labels), figures[0].more_to_halve, label_cost)
    return Estimates(items[RANDOM], items[PRECISION], n_other, tuple(figures), costs)


def _categories(store: Store, header: RunHeader) -> dict[str, set[str]]:
    columns = store.columns(header.id)
    result: dict[str, set[str]] = {}
    for case, category in zip(columns.case.tolist(), columns.category.tolist(), strict=True):
        if category >= 0:
            result.setdefault(columns.categories[category], set()).add(columns.case_ids[case])
    return result if len(result) > 1 else {}


class _Table:
    """One figure of all items: the judge's, and the mean of what people said; NaN where there is none."""

    def __init__(self, judged: Mapping[Key, float], sheet: Sheet | None) -> None:
        by_people = (
            {} if sheet is None or not sheet.items else dict(zip(sheet.items, sheet.consensus.tolist(), strict=True))
        )
        self.keys: Sequence[Key] = sorted(judged.keys() | by_people.keys())
        self.judge = np.array([judged.get(key, np.nan) for key in self.keys])
        self.label = np.array([by_people.get(key, np.nan) for key in self.keys])
        self.case = np.unique([key[0] for key in self.keys], return_inverse=True)[1] if self.keys else np.empty(0, int)

    def all_of(self, cases: set[str] | None) -> Array:
        return np.array([cases is None or key[0] in cases for key in self.keys], dtype=bool)

    def n_labelled(self, inside: Array) -> int:
        return int((~np.isnan(self.label) & inside).sum())


def _estimate(
    name: str, part: str, table: _Table, inside: Array, scale: tuple[float, float] | None, *, stratified: bool
) -> LabelEstimate:
    judge, label, case = table.judge[inside], table.label[inside], table.case[inside]
    bounds = scale or (0.0, 1.0)
    alone, reported = (mean(values[~np.isnan(values)], case[~np.isnan(values)], bounds) for values in (label, judge))
    if (~np.isnan(label)).sum() < FEWEST:
        why = f"fewer than {FEWEST} labels drawn at random"
        return LabelEstimate(name, part, reported, alone, Estimate(None, 0), "", why, None)
    shared = bool(((label > 0) & (label < 1)).any())
    if scale is None and not shared:
        rate = corrected_pass_rate(judge, label, case, stratified=stratified)
        result, method, why = rate.rate, rate.method, rate.why or rate.message
        more = _more_to_halve_rate(rate.rate, judge, label)
    elif scale is None:
        # People differ on some items: each then passes in part.
        result = stratified_mean(judge, label, case)
        method, why = "post-stratified", "people differ on some items, which pass in part"
        more = _more_to_halve_rate(result, judge, label)
    else:
        result, weight = powered_mean(judge, label, case, bounds)
        method, why = "prediction-powered", f"the judge counts with {weight:.2f} of its own weight"
        more = _more_to_halve_mean(judge, label, weight)
    return LabelEstimate(name, part, reported, alone, result, method, why, more)


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


def _more_to_halve_rate(rate: Estimate, judge: Array, votes: Array) -> int | None:
    """Labels that halve the interval: what labels add to the variance goes with 1 / n, what the judge adds stays."""
    labelled = ~np.isnan(votes) & ~np.isnan(judge)
    n = int(labelled.sum())
    if rate.value is None or n < FEWEST:
        return None
    within = between = 0.0
    judged = judge[~np.isnan(judge)]
    overall = rate.value
    for side in (1.0, 0.0):
        of = labelled & (judge == side)
        share = (float(votes[of].sum()) + _HALF) / (int(of.sum()) + 1)
        weight = float((judged == side).mean())
        within += weight * share * (1 - share)
        between += weight * (share - overall) ** 2
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
