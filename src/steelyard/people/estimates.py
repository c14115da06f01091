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

from steelyard.analysis.judge.corrected import (
    FEWEST,
    clustered_variance,
    counting_malformed,
    labelled_rate,
    not_at_random,
    unfinished_draw,
)
from steelyard.analysis.judge.model import unlike
from steelyard.people.agreement import FEWEST_IN_SLICE, judge_figures, units_by_case
from steelyard.people.desk import has_outcome
from steelyard.people.labels import PASSES, Sheet, Terms, sheets
from steelyard.records import Outcome
from steelyard.stats.groups import mean, share
from steelyard.stats.intervals import Estimate, bounded, score_bounds
from steelyard.store.people import PRECISION, RANDOM, SCORES, SKIPPED, VERDICT

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
    scale: tuple[float, float] | None
    """From the lowest to the highest score of a dimension; None of a share."""
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
    n_skipped: int
    """Items drawn by chance that were skipped and that nobody labelled: in no estimate, and rather the hard ones."""
    n_unread: int
    """Answers of which the judge says nothing, because it or the system failed: in no estimate."""
    n_malformed: int
    """Answers that could not be read: they count as not passed, and are in no other figure."""
    not_random: str
    """Why the labels drawn at random do not look like a random part of the run; "" when they do."""
    figures: tuple[LabelEstimate, ...]
    costs: Costs


def estimates_of(store: Store, header: RunHeader, *, label_cost: float | None = None) -> Estimates:
    """The figures of a run from its judge and its labels together, by category where there are enough labels."""
    given = [label for label in store.people.labels(run_id=header.id) if label.run_id == header.id]
    labels = [label for label in given if label.kind in (SCORES, VERDICT) and label.round == 0]
    terms, judged = Terms(header.description), judge_figures(store, header)
    by_chance = [label for label in labels if label.drawn in (RANDOM, PRECISION)]
    at_random = [label for label in labels if label.drawn == RANDOM]
    # Only the pass rate knows how to weigh what was drawn for its precision.
    tables = sheets(at_random, terms) | {PASSES: sheets(by_chance, terms).get(PASSES, Sheet((), (), np.empty((0, 0))))}
    turned = unfinished_draw(store, header.id, PRECISION)
    stratified = bool(turned) or len(by_chance) > len(at_random)
    unfinished = unfinished_draw(store, header.id)
    categories, units = _categories(store, header), units_by_case(store, header)
    columns = store.columns(header.id)
    malformed = [columns.case_ids[case] for case in columns.case[has_outcome(columns, Outcome.MALFORMED)].tolist()]
    rubric = terms.rubric
    order = [PASSES] if rubric is None else [PASSES, *rubric.flags, *rubric.dimensions]
    figures = []
    passes = _Table(judged.get(PASSES, {}), sheets(at_random, terms).get(PASSES), units)
    not_random = unlike(passes.judge, ~np.isnan(passes.label), passes.case)
    for name in order:
        table = _Table(judged.get(name, {}), tables.get(name), units)
        for part in ("", *categories):
            inside = table.all_of(categories.get(part))
            if table.n_labelled(inside) < (FEWEST_IN_SLICE if part else name != PASSES):
                continue
            scale = None if rubric is None or name not in rubric.dimensions else rubric.scale
            by_side, chosen = stratified and name == PASSES, categories.get(part)
            # What was drawn for precision first leans to one side, which only the pass rate weighs.
            why_not = unfinished or (
                turned if name != PASSES else not_at_random(not_random) if by_side and not turned else ""
            )
            failed = [units[case] for case in malformed if name == PASSES and (chosen is None or case in chosen)]
            figures.append(_estimate(name, part, table, inside, scale, failed, stratified=by_side, unfinished=why_not))
    items = {drawn: {label.key for label in labels if label.drawn == drawn} for drawn in (RANDOM, PRECISION)}
    others = {label.key for label in labels} - items[RANDOM] - items[PRECISION]
    drawn = {label.key for label in given if label.kind == SKIPPED and label.drawn in items}
    return Estimates(
        n_random=len(items[RANDOM]),
        n_precision=len(items[PRECISION] - items[RANDOM]),
        n_other=len(others),
        n_skipped=len(drawn - items[RANDOM] - items[PRECISION]),
        n_unread=columns.n - len(judged.get(PASSES, {})) - len(malformed),
        n_malformed=len(malformed),
        not_random=not_random,
        figures=tuple(figures),
        costs=_costs(
            store, header, sum(label.kind != SKIPPED for label in given), figures[0].more_to_halve, label_cost
        ),
    )


def _categories(store: Store, header: RunHeader) -> dict[str, set[str]]:
    columns = store.columns(header.id)
    result: dict[str, set[str]] = {}
    for case, category in zip(columns.case.tolist(), columns.category.tolist(), strict=True):
        if category >= 0:
            result.setdefault(columns.categories[category], set()).add(columns.case_ids[case])
    return result if len(result) > 1 else {}


class _Table:
    """One figure of all items: the judge's, and the mean of what people said; NaN where there is none."""

    def __init__(self, judged: Mapping[Key, float], sheet: Sheet | None, units: Mapping[str, int]) -> None:
        by_people = (
            {} if sheet is None or not sheet.items else dict(zip(sheet.items, sheet.consensus.tolist(), strict=True))
        )
        self.keys: Sequence[Key] = sorted(judged.keys() | by_people.keys())
        self.judge = np.array([judged.get(key, np.nan) for key in self.keys])
        self.label = np.array([by_people.get(key, np.nan) for key in self.keys])
        self.case = np.array([units[key[0]] for key in self.keys], dtype=int)

    def all_of(self, cases: set[str] | None) -> Array:
        return np.array([cases is None or key[0] in cases for key in self.keys], dtype=bool)

    def n_labelled(self, inside: Array) -> int:
        return int((~np.isnan(self.label) & inside).sum())


def _estimate(
    name: str,
    part: str,
    table: _Table,
    inside: Array,
    scale: tuple[float, float] | None,
    malformed: Sequence[int],
    *,
    stratified: bool,
    unfinished: str,
) -> LabelEstimate:
    """`malformed` are the units of answers that could not be read, which have not passed."""
    judge, label, case = table.judge[inside], table.label[inside], table.case[inside]
    bounds = scale or (0.0, 1.0)
    alone = mean(label[~np.isnan(label)], case[~np.isnan(label)], bounds)
    all_units = np.concatenate((case[~np.isnan(judge)], np.array(malformed, dtype=int)))
    reported = mean(np.concatenate((judge[~np.isnan(judge)], np.zeros(len(malformed)))), all_units, bounds)
    few = (~np.isnan(label) & ~np.isnan(judge)).sum() < FEWEST
    if few or unfinished:
        why = unfinished or f"fewer than {FEWEST} labels drawn at random of what the judge read"
        return LabelEstimate(name, part, reported, alone, Estimate(None, 0), "", why, scale, None)
    if scale is None:
        rate = labelled_rate(judge, label, case, stratified=stratified)
        could_be_read = np.arange(len(all_units)) < len(all_units) - len(malformed)
        read = share(could_be_read, np.ones(len(all_units), dtype=bool), all_units)
        result, method = counting_malformed(rate.rate, read, rate.rate.n_missing), rate.method
        why = rate.message or rate.why
        more = _more_to_halve_rate(rate.rate, judge, label)
    else:
        result, weight = powered_mean(judge, label, case, bounds)
        method, why = "prediction-powered", f"the judge counts with {weight:.2f} of its own weight"
        more = _more_to_halve_mean(judge, label, weight)
    return LabelEstimate(name, part, reported, alone, result, method, why, scale, more)


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
