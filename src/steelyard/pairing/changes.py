"""What changed in a figure from A to B, over comparable pairs and their slices: difference, test and verdict."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import fields, replace

import numpy as np

from steelyard.frozen import frozen
from steelyard.metrics.kinds import PairedRows
from steelyard.metrics.registry import (
    Contributions,
)
from steelyard.pairing.figures import TABLES, UNTOUCHED, Figure, taken
from steelyard.pairing.model import MetricChange, Moved
from steelyard.stats.arrays import Array
from steelyard.stats.bounded_mean import BoundedMean, bounded_mean, bounded_ratios
from steelyard.stats.groups import Groups
from steelyard.stats.intervals import ANYWHERE, NOT_NEGATIVE, SHARES, Estimate
from steelyard.stats.paired import (
    FEWEST_TO_SHOW,
    NO_CHANGE,
    SIGNIFICANT,
    Paired,
    at_level,
    case_starts,
    holm_steps,
)


@frozen
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
        available = figure.available()
        sides = zip(*(self._estimates(figure, available, second=second) for second in (False, True)), strict=True)
        return [self._change(figure, available, g, a, b) for g, (a, b) in enumerate(sides)]

    def with_bounds(self, figure: Figure) -> list[MetricChange]:
        """The same, with what is for sure of it."""
        available = figure.available()
        metric_changes: list[MetricChange] = []
        for rows, change in zip(self.rows, self.changes(figure), strict=True):
            used = rows[available[rows]]
            own = {field.name: getattr(change, field.name) for field in fields(change)}
            metric_changes.append(BoundedChange(**own, sure=_bounded(figure, used, self._unit[used])))
        return metric_changes

    def of_all(self, figures: Iterable[Figure], *, bounds: bool = False) -> list[MetricChange]:
        """Each figure in the first group, one after another, so that no more than one is held as columns."""
        return [(self.with_bounds(figure) if bounds else self.changes(figure))[0] for figure in figures]

    def _estimates(self, figure: Figure, available: Array, *, second: bool) -> list[Estimate]:
        column, below = (figure.b, figure.below_b) if second else (figure.a, figure.below_a)
        at_least = figure.at_least_b if second else figure.at_least_a
        values = np.where(available, column, np.nan)
        if below is not None:
            below = np.where(available, below, np.nan)
            scale = SHARES if figure.unit == "share" else NOT_NEGATIVE
        else:
            scale = figure.scale or (ANYWHERE if figure.unit == "points" else NOT_NEGATIVE)
        return list(figure.how.estimate(Contributions(values, below, at_least=at_least), self.groups, scale))

    def _change(self, figure: Figure, available: Array, group: int, a: Estimate, b: Estimate) -> MetricChange:
        rows = self.rows[group]
        here = taken(available, rows)
        used = rows if here.all() else rows[here]
        identity = figure.identity(used)
        first = "" if identity is None else self._seen.setdefault((group, identity), figure.name)
        result = _paired(figure, used, taken(self._unit, used))
        n_cases = len(case_starts(taken(self._unit, rows)))
        same = len(used) > 0 and not _differs(figure, used)
        return MetricChange(
            name=figure.name,
            group=figure.group,
            unit=figure.unit,
            better_when=figure.better_when,
            a=a,
            b=b,
            difference=Estimate(result.difference, result.n_cases, n_cases - result.n_cases, result.low, result.high),
            p=result.p,
            p_adjusted=result.p,
            verdict=Moved.SAME if same and not (a.at_least or b.at_least) else Moved.CANNOT_TELL,
            smallest=result.smallest,
            test=result.test,
            scale=figure.scale,
            counts=self._counts,
            effect=result.effect,
            rose=result.rose,
            level=result.level,
            fell=result.fell,
            same_as="" if first == figure.name else first,
        )


def _paired(figure: Figure, rows: Array, unit: Array) -> Paired:
    a, b, starts = taken(figure.a, rows), taken(figure.b, rows), case_starts(unit)
    if not len(rows):
        return Paired(None, 0)
    below_a, below_b = (None if item is None else taken(item, rows) for item in (figure.below_a, figure.below_b))
    widest = math.inf if figure.scale is None else figure.scale[1] - figure.scale[0]
    return figure.how.paired_difference(PairedRows(a, b, below_a, below_b, unit, starts, widest))


def _bounded(figure: Figure, rows: Array, case: Array) -> BoundedMean | None:
    """The mean difference of cases with what is for sure of it."""
    starts = case_starts(case)
    if not len(rows) or not (figure.how.is_mean or figure.how.of_sums):
        return None
    if figure.below_a is not None and figure.below_b is not None:
        columns = (figure.a, figure.below_a, figure.b, figure.below_b)
        return bounded_ratios(*(np.add.reduceat(column[rows], starts) for column in columns))
    if figure.scale is None:
        return None
    widest = figure.scale[1] - figure.scale[0]
    sums, sizes = np.add.reduceat(figure.b[rows] - figure.a[rows], starts), np.diff(np.append(starts, len(rows)))
    return bounded_mean(sums, sizes, (-widest, widest))


def _differs(figure: Figure, rows: Array) -> bool:
    moved = bool((np.abs(taken(figure.b, rows) - taken(figure.a, rows)) > NO_CHANGE).any())
    if moved or figure.below_a is None or figure.below_b is None:
        return moved
    return bool((figure.below_a[rows] != figure.below_b[rows]).any())


def judged(
    changes: Iterable[MetricChange], *, confounded: bool, primary: str = "", every: bool = False
) -> list[MetricChange]:
    """The changes table by table: p-values and intervals adjusted for one another, and what each comes to.

    The primary metric was named before anybody looked, and stands alone. What is the same thing as an earlier figure is
    tested with it, and what so few cases could not have shown is not counted unless `every` is. Nothing that the
    signature has a part in is better or worse when a verdict is blocked.
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
            tables.setdefault(TABLES.get(change.group, ""), []).append(i)
    steps = {
        keys[i]: step
        for table in tables.values()
        for i, step in zip(table, holm_steps([changes[i].p for i in table]), strict=True)
    }
    results = []
    for change, key in zip(changes, keys, strict=True):
        p, level = steps.get(key) or steps.get((change.same_as, key[1])) or (change.p, SIGNIFICANT)
        if p is not None and change.p is not None:
            p = max(p, min(1.0, change.p * SIGNIFICANT / level))
        change = at_step(change, level)
        believed = not confounded or change.group in UNTOUCHED
        verdict = verdict_of(change, p) if believed else Moved.CANNOT_TELL
        results.append(replace(change, p_adjusted=p, verdict=verdict, primary=change.name == primary))
    return results


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
        return Moved.CANNOT_TELL if change.a.at_least or change.b.at_least else Moved.SAME
    if value is None or p is None or p >= SIGNIFICANT or abs(value) <= matters or is_hidden(change):
        return Moved.CANNOT_TELL
    if not change.better_when:
        return Moved.CHANGED
    return Moved.BETTER if (value > 0) is (change.better_when == "higher") else Moved.WORSE


def is_hidden(change: MetricChange) -> bool:
    """Whether a lower bound on the side that looks lower leaves open which side is: it may be the higher one."""
    lower = change.b if (change.difference.value or 0.0) < 0 else change.a
    return lower.at_least
