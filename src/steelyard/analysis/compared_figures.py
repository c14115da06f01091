"""Every figure that both runs have, over comparable pairs: in A, in B, the difference, and whether it is noise."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from steelyard.analysis.compare_model import MetricChange, Moved
from steelyard.analysis.estimates import ANYWHERE, NOT_NEGATIVE, SHARES, Scale
from steelyard.analysis.groups import Groups
from steelyard.analysis.measures import proportions
from steelyard.analysis.model import Estimate
from steelyard.analysis.paired_tests import (
    NO_CHANGE,
    SIGNIFICANT,
    Paired,
    case_starts,
    holm,
    paired_mean,
    paired_quantile,
    paired_rate,
    paired_ratio,
)
from steelyard.analysis.pieces import Array

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


class Cut:
    """Comparable pairs cut into groups."""

    def __init__(self, groups: Groups, case: Array) -> None:
        self.groups, self._case = groups, case
        everything = np.ones(len(case), dtype=bool)
        self.rows = [groups.samples_where(g, everything) for g in range(len(groups))]

    def changes(self, figure: Figure) -> list[MetricChange]:
        """The figure in every group, not yet judged among others."""
        known = figure.known()
        sides = zip(*(self._estimates(figure, known, second=second) for second in (False, True)), strict=True)
        return [self._change(figure, known, rows, a, b) for rows, (a, b) in zip(self.rows, sides, strict=True)]

    def of_all(self, figures: Iterable[Figure]) -> list[MetricChange]:
        """Each figure in the first group, one after another, so that no more than one is held as columns."""
        return [self.changes(figure)[0] for figure in figures]

    def _estimates(self, figure: Figure, known: Array, *, second: bool) -> list[Estimate]:
        column, below = (figure.b, figure.below_b) if second else (figure.a, figure.below_a)
        values = np.where(known, column, np.nan)
        if below is not None:
            return [each.estimate for each in proportions(self.groups, values, np.where(known, below, np.nan))]
        if figure.point is not None:
            return [row[0] for row in self.groups.quantiles(values, [figure.point])]
        if figure.rate:
            hits = np.where(known, values, -1).astype(np.int8) - 1
            return [row[0] for row in self.groups.rates(self.groups.labelled(hits), 1, known)]
        unbounded = ANYWHERE if figure.unit == "points" else NOT_NEGATIVE
        return self.groups.means(values, figure.scale or unbounded)

    def _change(self, figure: Figure, known: Array, rows: Array, a: Estimate, b: Estimate) -> MetricChange:
        used = rows[known[rows]]
        found = _paired(figure, used, self._case[used])
        n_cases = len(case_starts(self._case[rows]))
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
            effect=found.effect,
            rose=found.rose,
            level=found.level,
            fell=found.fell,
        )


def _paired(figure: Figure, rows: Array, case: Array) -> Paired:
    a, b, starts = figure.a[rows], figure.b[rows], case_starts(case)
    if not len(rows):
        return Paired(None, 0)
    if figure.below_a is not None and figure.below_b is not None:
        sums = [np.add.reduceat(each, starts) for each in (a, figure.below_a[rows], b, figure.below_b[rows])]
        return paired_ratio((sums[0], sums[1]), (sums[2], sums[3]))
    if figure.point is not None:
        return paired_quantile(a, b, case, figure.point)
    if figure.rate and len(starts) == len(rows):
        return paired_rate(a, b)
    widest = math.inf if figure.scale is None else figure.scale[1] - figure.scale[0]
    return paired_mean(np.add.reduceat(b - a, starts), np.diff(np.append(starts, len(rows))), widest)


def _differs(figure: Figure, rows: Array) -> bool:
    moved = bool((np.abs(figure.b[rows] - figure.a[rows]) > NO_CHANGE).any())
    if moved or figure.below_a is None or figure.below_b is None:
        return moved
    return bool((figure.below_a[rows] != figure.below_b[rows]).any())


def judged(changes: Iterable[MetricChange], *, hindered: bool, primary: str = "") -> list[MetricChange]:
    """The changes as one table: p-values adjusted for one another, and what each comes to.

    The primary metric was named before anybody looked, and stands alone. Nothing that the instrument has a part in is
    better or worse when a verdict is hindered.
    """
    changes = list(changes)
    others = [change for change in changes if change.name != primary]
    adjusted = iter(holm([change.p for change in others]))
    found = []
    for change in changes:
        p = change.p if change.name == primary else next(adjusted)
        believed = not hindered or change.group in UNTOUCHED
        verdict = verdict_of(change, p) if believed else Moved.CANNOT_TELL
        found.append(replace(change, p_adjusted=p, verdict=verdict, primary=change.name == primary))
    return found


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
