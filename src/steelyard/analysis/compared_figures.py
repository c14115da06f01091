"""Every figure that both runs have, over comparable pairs: in A, in B, the difference, and whether it is noise."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from functools import lru_cache

import numpy as np

from steelyard.analysis.compare_model import MetricChange, Moved
from steelyard.metrics.aggregate import proportions
from steelyard.stats.arrays import SEED, Array
from steelyard.stats.bounded_mean import BoundedMean, bounded_mean, bounded_ratios
from steelyard.stats.groups import Groups
from steelyard.stats.intervals import ANYWHERE, NOT_NEGATIVE, SHARES, Estimate, Scale
from steelyard.stats.paired import (
    FEWEST_TO_SHOW,
    NO_CHANGE,
    SIGNIFICANT,
    Paired,
    at_level,
    case_starts,
    holm_steps,
    paired_mean,
    paired_quantile,
    paired_rate,
    paired_ratio,
)

_TABLES = {
    "latency": "spending",
    "counts": "beside",
    "findings": "findings",
    "spending": "spending",
    "beside": "beside",
}
"""By group, the table that its figures are tested with; all others are those of the first."""
FORMAT = "format"
"""The group of the share of answers in the wrong shape, which the schema has a part in."""
BESIDE = ("beside", "counts")
"""Groups of figures that have no part in a score and are asked for by no gate: a table of their own."""
UNTOUCHED = frozenset({"latency", "spending", "failures"})
"""Groups of figures that no scorer, rule or truth has a part in."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure as a column a side, a value for each pair; NaN where it is not known.

    A ratio of sums has denominators beside it; a quantile says which.
    """

    name: str
    group: str
    unit: str
    better_when: str
    a: Array
    b: Array
    scale: Scale | None = None
    below_a: Array | None = None
    below_b: Array | None = None
    point: float | None = None
    rate: bool = False

    def known(self) -> Array:
        """Pairs in which both sides have it."""
        known = ~(np.isnan(self.a) | np.isnan(self.b))
        for column in (self.below_a, self.below_b):
            if column is not None:
                known &= ~np.isnan(column)
        return known

    def identity(self, rows: Array) -> tuple[float, ...] | None:
        """Numbers that two figures share when one is the other on another scale, or turned; None of what is still.

        Both sides are multiplied by the same random numbers: other figures come to others.
        """
        below = (self.below_a, self.below_b)
        if self.point is not None or not len(rows) or any(each is not None and np.ptp(each[rows]) for each in below):
            return None
        sides = [column[rows] for column in (self.a, self.b)]
        mean, spread = float(np.mean(sides)), float(np.std(sides))
        if spread <= NO_CHANGE:
            return None
        signs = _random_numbers(len(self.a))[rows]
        found = [(float(np.einsum("i,i->", signs, side - mean))) / spread for side in sides]
        turned = -1 if found[0] < 0 else 1
        return tuple(round(turned * each, 6) for each in found)


@lru_cache(maxsize=2)
def _random_numbers(n: int) -> Array:
    return np.random.default_rng(SEED).standard_normal(n)


@dataclass(frozen=True, slots=True)
class BoundedChange(MetricChange):
    """A change with what is for sure of it; None of a figure whose scale has no ends."""

    sure: BoundedMean | None = None


class Cut:
    """Comparable pairs cut into groups."""

    def __init__(self, groups: Groups, unit: Array, counts: str = "case") -> None:
        self.groups, self._unit, self._counts = groups, unit, counts
        everything = np.ones(len(unit), dtype=bool)
        self.rows = [groups.samples_where(g, everything) for g in range(len(groups))]
        self._seen: dict[tuple[int, tuple[float, ...]], str] = {}

    def changes(self, figure: Figure) -> list[MetricChange]:
        """The figure in every group, not yet judged among others."""
        known = figure.known()
        sides = zip(*(self._estimates(figure, known, second=second) for second in (False, True)), strict=True)
        return [self._change(figure, known, g, a, b) for g, (a, b) in enumerate(sides)]

    def with_bounds(self, figure: Figure) -> list[MetricChange]:
        """The same, with what is for sure of it."""
        known = figure.known()
        found: list[MetricChange] = []
        for rows, change in zip(self.rows, self.changes(figure), strict=True):
            used = rows[known[rows]]
            own = {field.name: getattr(change, field.name) for field in fields(change)}
            found.append(BoundedChange(**own, sure=_bounded(figure, used, self._unit[used])))
        return found

    def of_all(self, figures: Iterable[Figure], *, bounds: bool = False) -> list[MetricChange]:
        """Each figure in the first group, one after another, so that no more than one is held as columns."""
        return [(self.with_bounds(figure) if bounds else self.changes(figure))[0] for figure in figures]

    def _estimates(self, figure: Figure, known: Array, *, second: bool) -> list[Estimate]:
        column, below = (figure.b, figure.below_b) if second else (figure.a, figure.below_a)
        values = np.where(known, column, np.nan)
        if below is not None:
            scale = SHARES if figure.unit == "share" else NOT_NEGATIVE
            below = np.where(known, below, np.nan)
            return [each.estimate for each in proportions(self.groups, values, below, scale)]
        if figure.point is not None:
            return [row[0] for row in self.groups.quantiles(values, [figure.point])]
        if figure.rate:
            hits = np.where(known, values, -1).astype(np.int8) - 1
            return [row[0] for row in self.groups.rates(self.groups.labelled(hits), 1, known)]
        unbounded = ANYWHERE if figure.unit == "points" else NOT_NEGATIVE
        return self.groups.means(values, figure.scale or unbounded)

    def _change(self, figure: Figure, known: Array, group: int, a: Estimate, b: Estimate) -> MetricChange:
        rows = self.rows[group]
        used = rows[known[rows]]
        identity = figure.identity(used)
        first = "" if identity is None else self._seen.setdefault((group, identity), figure.name)
        found = _paired(figure, used, self._unit[used])
        n_cases = len(case_starts(self._unit[rows]))
        same = len(used) > 0 and not _differs(figure, used)
        return MetricChange(
            name=figure.name,
            group=figure.group,
            unit=figure.unit,
            better_when=figure.better_when,
            a=a,
            b=b,
            difference=Estimate(found.difference, found.n_cases, n_cases - found.n_cases, found.low, found.high),
            p=found.p,
            p_adjusted=found.p,
            verdict=Moved.SAME if same else Moved.CANNOT_TELL,
            smallest=found.smallest,
            test=found.test,
            scale=figure.scale,
            counts=self._counts,
            effect=found.effect,
            rose=found.rose,
            level=found.level,
            fell=found.fell,
            same_as="" if first == figure.name else first,
        )


def _paired(figure: Figure, rows: Array, unit: Array) -> Paired:
    a, b, starts = figure.a[rows], figure.b[rows], case_starts(unit)
    if not len(rows):
        return Paired(None, 0)
    if figure.below_a is not None and figure.below_b is not None:
        sums = [np.add.reduceat(each, starts) for each in (a, figure.below_a[rows], b, figure.below_b[rows])]
        return paired_ratio((sums[0], sums[1]), (sums[2], sums[3]))
    if figure.point is not None:
        return paired_quantile(a, b, unit, figure.point)
    if figure.rate and len(starts) == len(rows):
        return paired_rate(a, b)
    widest = math.inf if figure.scale is None else figure.scale[1] - figure.scale[0]
    return paired_mean(np.add.reduceat(b - a, starts), np.diff(np.append(starts, len(rows))), widest)


def _bounded(figure: Figure, rows: Array, case: Array) -> BoundedMean | None:
    """The mean difference of cases with what is for sure of it."""
    starts = case_starts(case)
    if not len(rows) or figure.point is not None:
        return None
    if figure.below_a is not None and figure.below_b is not None:
        columns = (figure.a, figure.below_a, figure.b, figure.below_b)
        return bounded_ratios(*(np.add.reduceat(each[rows], starts) for each in columns))
    if figure.scale is None:
        return None
    widest = figure.scale[1] - figure.scale[0]
    sums, sizes = np.add.reduceat(figure.b[rows] - figure.a[rows], starts), np.diff(np.append(starts, len(rows)))
    return bounded_mean(sums, sizes, (-widest, widest))


def _differs(figure: Figure, rows: Array) -> bool:
    moved = bool((np.abs(figure.b[rows] - figure.a[rows]) > NO_CHANGE).any())
    if moved or figure.below_a is None or figure.below_b is None:
        return moved
    return bool((figure.below_a[rows] != figure.below_b[rows]).any())


def judged(
    changes: Iterable[MetricChange], *, hindered: bool, primary: str = "", every: bool = False
) -> list[MetricChange]:
    """The changes table by table: p-values and intervals adjusted for one another, and what each comes to.

    The primary metric was named before anybody looked, and stands alone. What is the same thing as an earlier figure is
    tested with it, and what so few cases could not have shown is not counted unless `every` is. Nothing that the
    instrument has a part in is better or worse when a verdict is hindered.
    """
    changes = list(changes)
    # Figures of several groups stand side by side, each group with one of every name: a name and its number are a key.
    seen: Counter[str] = Counter()
    keys, tables = list[tuple[str, int]](), dict[str, list[int]]()
    for i, change in enumerate(changes):
        number = seen[change.name]
        keys.append((change.name, number))
        seen[change.name] += 1
        counted = seen[change.same_as] <= number and (every or _could_be_shown(change))
        if counted and change.name != primary:
            tables.setdefault(_TABLES.get(change.group, ""), []).append(i)
    steps = {
        keys[i]: step
        for table in tables.values()
        for i, step in zip(table, holm_steps([changes[i].p for i in table]), strict=True)
    }
    found = []
    for change, key in zip(changes, keys, strict=True):
        p, level = steps.get(key) or steps.get((change.same_as, key[1])) or (change.p, SIGNIFICANT)
        if p is not None and change.p is not None:
            p = max(p, min(1.0, change.p * SIGNIFICANT / level))
        change = at_step(change, level)
        believed = not hindered or change.group in UNTOUCHED
        verdict = verdict_of(change, p) if believed else Moved.CANNOT_TELL
        found.append(replace(change, p_adjusted=p, verdict=verdict, primary=change.name == primary))
    return found


def _could_be_shown(change: MetricChange) -> bool:
    """False when so few cases moved that none of their signs could have shown a change: to look at it was no chance to
    err (Tarone 1990)."""
    moved, cases = change.rose + change.fell, change.rose + change.level + change.fell
    return change.p is not None and change.verdict is not Moved.SAME and (not cases or moved >= FEWEST_TO_SHOW)


def at_step(change: MetricChange, level: float) -> MetricChange:
    """The change with its interval at the level that it is tested at as one of several."""
    widest = math.inf if change.scale is None else change.scale[1] - change.scale[0]
    difference = at_level(change.difference, change.p, level, change.df or change.difference.n - 1, widest)
    return replace(change, difference=difference, confidence_level=1 - level)


def verdict_of(change: MetricChange, p: float | None) -> Moved:
    """What a difference comes to at that p-value."""
    value, matters = change.difference.value, change.matters or 0.0
    if change.verdict in (Moved.SAME, Moved.NOT_TESTED):
        return change.verdict
    low, high = change.difference.low, change.difference.high
    if low is not None and high is not None and -matters < low and high < matters:
        return Moved.SAME
    if value is None or p is None or p >= SIGNIFICANT or abs(value) <= matters:
        return Moved.CANNOT_TELL
    if not change.better_when:
        return Moved.CHANGED
    return Moved.BETTER if (value > 0) is (change.better_when == "higher") else Moved.WORSE


def share(name: str, group: str, better_when: str, a: Array, b: Array) -> Figure:
    """A figure of columns that hold 1, 0 or, where nothing is known, NaN."""
    return Figure(name, group, "share", better_when, a, b, SHARES, rate=True)
