"""Which variant is best, and whether that is more than noise.

Variants are compared case by case: both answered the same question, so the difference by case is free of how hard the
case is. Whoever leads was picked after looking, which favours luck, so every comparison is judged as one of all the
pairs there are (Bonferroni): p-values are multiplied by their number, and the intervals are wide enough to match.
Cases that are missing are seldom missing by chance (the hard ones time out), so with many of them nobody is named.
"""

from __future__ import annotations

import math

import numpy as np

from steelyard.analysis.model import BestVariant
from steelyard.frozen import frozen
from steelyard.metrics.cells import Cells
from steelyard.metrics.kinds import Mean, OfFigure
from steelyard.metrics.registry import Contributions, Metric, Names, register, same_but
from steelyard.metrics.run_data import RunData
from steelyard.stats.arrays import Array
from steelyard.stats.intervals import Estimate, settled, student, t_two_sided
from steelyard.stats.paired import SIGNIFICANT, least_p
from steelyard.suite.case import NONE
from steelyard.suite.models import SuiteModel
from steelyard.wording import percent, percentage

_NO_SPREAD = 1e-12
_MOST_NAMED = 3
_CANNOT_TELL = "cannot tell which variant is best: "
_TOLERANCE = 1e-9
"""What rounding may leave between 0.29 x 100 and 29."""


@frozen
class Difference:
    """How much better the first variant is than another, case by case."""

    first: str
    other: str
    estimate: Estimate
    """Mean of the differences by case, with an interval that allows for all the comparisons made; `n` is cases."""
    p: float | None
    """Adjusted for all the comparisons made; None when undefined."""


@frozen
class ComparedVariants:
    """Which variant scores best, and how much better it is than each other one."""

    best: str | None
    """None when no variant is better than all others beyond noise."""
    leader: str
    """The one with the highest average."""
    differences: tuple[Difference, ...]
    sentence: str

    @property
    def result(self) -> BestVariant:
        """As a summary has it: without the numbers, which are figures."""
        return BestVariant(self.best, self.leader, tuple(item.other for item in self.differences), self.sentence)


def find_best(
    names: list[str],
    means: Array,
    *,
    n_cases: int = 0,
    max_inconclusive: float = 0.05,
    unit: Array | None = None,
) -> ComparedVariants | None:
    """The best of the variants from their mean scores by case (rows are cases, NaN where there is none).

    `unit` numbers the cluster that each case is in; without it every case is a unit of its own.

    Cases without a row count as missing when `n_cases` were planned. Nobody is best while a variant lacks more than
    the share `max_inconclusive` of its cases. None for fewer than two variants.
    """
    if len(names) < 2:
        return None
    leader = _leader(means)
    n_cases = max(n_cases, len(means))
    pairs = len(names) * (len(names) - 1) // 2
    unit = np.arange(len(means)) if unit is None else unit
    compared = [_Pair(names, means, unit, (leader, i), pairs, n_cases) for i in range(len(names)) if i != leader]
    lacking = _lacking(names, means, n_cases, max_inconclusive)
    best = names[leader] if all(item.ahead for item in compared) and not lacking else None
    return ComparedVariants(
        best=best,
        leader=names[leader],
        differences=tuple(item.difference for item in compared),
        sentence=_sentence(compared, lacking, n_cases) if best is None else _best_sentence(compared),
    )


class _Pair:
    """The leader against one other variant, on the cases for which both have a score."""

    def __init__(
        self, names: list[str], means: Array, unit: Array, sides: tuple[int, int], pairs: int, n_cases: int
    ) -> None:
        leader, other = sides
        both = ~np.isnan(means[:, leader]) & ~np.isnan(means[:, other])
        first, second = means[both, leader], means[both, other]
        self.n = len(first)
        self.leader, self.other = names[leader] or NONE, names[other] or NONE
        self.averages = (math.nan, math.nan) if not self.n else (float(first.mean()), float(second.mean()))
        self.decidable = pairs * least_p(len(np.unique(unit[both]))) < SIGNIFICANT
        estimate, p = _paired(first - second, unit[both], n_cases - self.n, pairs)
        self.difference = Difference(names[leader], names[other], estimate, p)

    @property
    def ahead(self) -> bool:
        """True when the leader is better beyond noise."""
        value, p = self.difference.estimate.value, self.difference.p
        return value is not None and value > 0 and p is not None and p < SIGNIFICANT

    @property
    def margin(self) -> float:
        return self.difference.estimate.value or 0.0


def _lacking(names: list[str], means: Array, n_cases: int, allowed: float) -> dict[str, int]:
    """How many cases have no score, for the variants that lack more than is allowed; those that lack most first."""
    missing = n_cases - (~np.isnan(means)).sum(axis=0)
    beyond = {
        name or NONE: int(count)
        for name, count in zip(names, missing, strict=True)
        if count > (allowed + _TOLERANCE) * n_cases
    }
    return dict(sorted(beyond.items(), key=lambda item: -item[1]))


def _leader(means: Array) -> int:
    """The variant with the highest average over the cases that all have, or over its own when there is no such case."""
    common = means[~np.isnan(means).any(axis=1)]
    if not len(common):
        common = means
    present = ~np.isnan(common)
    total = np.where(present, common, 0.0).sum(axis=0)
    average = np.where(present.any(axis=0), total / np.maximum(present.sum(axis=0), 1), -np.inf)
    # Rounded, so that equal averages do not change places with the order in which they were added up.
    return int(np.argmax(np.round(average, 12)))


def _paired(differences: Array, unit: Array, missing: int, pairs: int) -> tuple[Estimate, float | None]:
    """The mean difference and its p-value by the paired t-test, both as one of `pairs` comparisons."""
    n = len(differences)
    if n == 0:
        return Estimate(None, 0, missing), None
    mean = settled(float(differences.mean()))
    number = np.unique(unit, return_inverse=True)[1]
    sums, sizes = np.bincount(number, differences), np.bincount(number)
    units = len(sizes)
    if units < 2:
        return Estimate(mean, n, missing), None
    spread = math.sqrt(units / (units - 1) * float(((sums - differences.mean() * sizes) ** 2).sum()) / n)
    if spread <= _NO_SPREAD:
        # Nothing says how much the difference varies: there is no interval, and only the signs can be counted.
        alone = least_p(units) if abs(mean) > _NO_SPREAD else 1.0
        return Estimate(mean, n, missing), min(1.0, pairs * alone)
    error = spread / math.sqrt(n)
    df = max(1.0, n * n / float((sizes * sizes).sum()) - 1)
    # Units in which both score the same prove nothing: only the others count for what so few can show at most.
    moved = int((np.abs(sums) > _NO_SPREAD).sum())
    alone = max(t_two_sided(mean / error, df), least_p(moved))
    bounds = student(mean, error, df, SIGNIFICANT / 2 / pairs)
    low, high = (None, None) if bounds is None else (max(-1.0, bounds[0]), min(1.0, bounds[1]))
    return Estimate(mean, n, missing, low, high), min(1.0, pairs * alone)


def _best_sentence(compared: list[_Pair]) -> str:
    ordered = sorted(compared, key=lambda item: item.margin)
    shown, before = [], None
    for item in ordered[:_MOST_NAMED]:
        mine, theirs = (percent(average) for average in item.averages)
        # The leader's own average is said again only when some cases are missing here and it is another one.
        own = "" if mine == before else f"{mine} against "
        before = mine
        shown.append(
            f"{own}{theirs} of {item.other} ({percentage(item.margin):+.1f} points{_interval(item)}, {_cases(item)})"
        )
    return f"{compared[0].leader} is best: {_joined(shown, len(ordered))}"


def _sentence(compared: list[_Pair], lacking: dict[str, int], n_cases: int) -> str:
    leader = compared[0].leader
    available = [item for item in compared if item.n]
    if not available:
        return _CANNOT_TELL + f"no case has a score for {leader} and for another variant"
    if lacking:
        messages = [
            f"for {name} {n} of {n_cases} cases {'is' if n == 1 else 'are'} missing" for name, n in lacking.items()
        ]
        return _CANNOT_TELL + _joined(messages[:_MOST_NAMED], len(messages))
    if all(item.n > 1 and item.margin == 0 and item.difference.estimate.low is None for item in compared):
        average, all_of_them = percent(compared[0].averages[0]), f"all {len(compared) + 1}"
        return f"no variant is better: {all_of_them} score the same in every case ({average}, {_cases(available[0])})"
    doubtful = sorted((item for item in compared if not item.ahead), key=lambda item: (item.n > 0, item.margin))
    average = percent((doubtful[-1] if doubtful[-1].n else available[0]).averages[0])
    shown = [_contributing(item) for item in doubtful[:_MOST_NAMED]]
    return _CANNOT_TELL + f"{leader} leads with {average}, {_joined(shown, len(doubtful))}"


def _contributing(pair: _Pair) -> str:
    if pair.n < 2:
        return f"{pair.other} cannot be compared ({_cases(pair)} in common)"
    doubt = "" if pair.decidable else ", too few to tell"
    return f"{pair.other} is {percentage(pair.margin):.1f} points lower{_interval(pair)} ({_cases(pair)}{doubt})"


def _joined(shown: list[str], n: int) -> str:
    if n > len(shown):
        return ", ".join(shown) + f" and {n - len(shown)} more"
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)


def _interval(pair: _Pair) -> str:
    low, high = pair.difference.estimate.low, pair.difference.estimate.high
    return "" if low is None or high is None else f" [{percentage(low):.1f}, {percentage(high):.1f}]"


def _cases(pair: _Pair) -> str:
    missing = pair.difference.estimate.n_missing
    if missing:
        return f"{pair.n} of {pair.n + missing} cases"
    return f"{pair.n} case" + ("" if pair.n == 1 else "s")


def compared_variants(data: RunData) -> ComparedVariants | None:
    """A run's variants compared with each other; None for a run with fewer than two."""
    table, suite = data.table, data.suite
    if len(table.variants) < 2:
        return None
    cells = Cells(table, suite)
    if not cells.n:
        return None
    return find_best(
        cells.variants,
        cells.means(table.score()),
        n_cases=planned_cases(cells, suite),
        max_inconclusive=suite.limits.max_inconclusive,
        unit=table.unit_of_case(),
    )


def _differences(data: RunData) -> dict[str, Difference]:
    """By the other variant, how much better the one that leads is."""
    result = data.once(compared_variants)
    return {} if result is None else {item.other or NONE: item for item in result.differences}


def _of_other(data: RunData, names: Names) -> Estimate:
    return _differences(data)[names[0]].estimate


def _p_of_other(data: RunData, names: Names) -> Estimate:
    difference = _differences(data)[names[0]]
    return Estimate(difference.p, difference.estimate.n, difference.estimate.n_missing)


def _by_case(data: RunData, names: Names) -> Contributions:
    """By case, how much better the first variant is than the other."""
    difference = _differences(data)[names[0]]
    cells = Cells(data.table, data.suite)
    means = cells.means(data.table.score())
    first, other = (means[:, cells.variants.index(name)] for name in (difference.first, difference.other))
    return Contributions(
        first - other,
        excluded=(("one of the two has no score", None),),
        detail=lambda row: f"{first[row]:.4g} against {other[row]:.4g}",
        key=lambda row: (data.table.case_ids[row], "", None),
        n_absent=max(0, planned_cases(cells, data.suite) - len(means)),
    )


def planned_cases(cells: Cells, suite: SuiteModel) -> int:
    """How many cases every variant was to be asked."""
    variants = max(len(suite.variants), len(cells.variants))
    return (suite.n_planned or 0) // (variants * max(1, suite.repeats))


_PAIRS = "made for all pairs of variants (Bonferroni)"
_DIFFERENCE = register(
    Metric(
        "best.<other>",
        "difference",
        "how much better the variant that leads scores than another",
        "mean over cases of the score of the variant that leads - that of the other",
        "repeats of a case are averaged first; cases for which one of the two has no score are missing",
        Mean(f"Student's t over the differences of cases, {_PAIRS}"),
        _by_case,
        gate=False,
        sliced=False,
        of="cases",
        figure=_of_other,
        all_names=lambda data: [(name,) for name in _differences(data)],
        stands_on="cases with a score under both variants",
    )
)
register(
    same_but(
        _DIFFERENCE,
        name="best.<other>.p",
        unit="number",
        about="chance of such a difference between variants that are alike",
        formula=f"two-sided p of the paired t-test, at least that of the sign test, {_PAIRS}",
        aggregate=OfFigure(),
        figure=_p_of_other,
    )
)
