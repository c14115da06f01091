"""How contributions are put together: a mean, a rate, a ratio of sums, a quantile, or any other kind.

A kind is an object with a figure of each group of rows, a difference of pairs of two runs, and a text on its interval.
A new kind is a subclass of `Aggregate` with a value of plain values (`of`); it then has figures without intervals, and
differences without a test, until it overrides `estimate`, `paired_difference` and `interval_text`.

numpy and statistics are imported where they are used: they are not needed where metrics are only named.
"""

# ruff: noqa: ARG002
# Kinds have the arguments of their base class, which says what each is for.
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from steelyard.frozen import frozen

if TYPE_CHECKING:
    from steelyard.metrics.registry import Contributions
    from steelyard.stats.arrays import Array
    from steelyard.stats.groups import Groups
    from steelyard.stats.intervals import Estimate, Scale
    from steelyard.stats.paired import Paired

NO_INTERVAL = "none: a count, a sum, an extreme or a mean without ends has no interval"
_CLUSTERED = "samples of one case count as one cluster"
_WITH_ENDS = ("share", "score", "points")
Inputs = tuple[tuple[str, float], ...]


@frozen
class PairedRows:
    """The pairs of two runs in which both sides have a figure, case by case."""

    a: Array
    b: Array
    below_a: Array | None
    """Of a ratio, the denominators."""
    below_b: Array | None
    unit: Array
    """By pair, its case or cluster."""
    starts: Array
    """Where each of these begins."""
    widest: float
    """How far apart two values can be."""


class Aggregate:
    """How contributions are put together."""

    MEAN: ClassVar[Mean]
    RATE: ClassVar[Rate]
    RATIO: ClassVar[Ratio]
    SUM: ClassVar[Sum]
    MIN: ClassVar[Extreme]
    MAX: ClassVar[Extreme]
    ESTIMATE: ClassVar[ByFunction]

    name = ""
    rank: float | None = None
    """Which quantile it is, the extremes included."""
    point: float | None = None
    """Which quantile it is, the extremes not included."""
    of_sums = False
    """Whether rows have denominators."""
    is_mean = False
    """Whether all rows have the same weight and are added up: then a difference has bounds."""

    def __repr__(self) -> str:
        return f"<{self.name}>"

    def of(self, values: Array) -> float | None:
        """The value of plain values; None of too few."""
        raise NotImplementedError

    def with_missing(self, values: Array, missing: int, end: float) -> float:
        """The value with `missing` more values, all of them `end`; NaN when that is not known."""
        import numpy as np

        value = self.of(np.append(values, np.full(missing, end)))
        return math.nan if value is None else value

    def estimate(self, contributions: Contributions, groups: Groups, scale: Scale) -> Sequence[Estimate]:
        """The figure of every group."""
        from steelyard.stats.intervals import Estimate

        known, results = contributions.values == contributions.values, []
        for g, planned in enumerate(groups.planned.tolist()):
            values = contributions.values[groups.samples_where(g, known)]
            results.append(Estimate(self.of(values) if len(values) else None, len(values), int(planned) - len(values)))
        return results

    def in_words(self, values: Array, below: Array | None, formula: str) -> tuple[float | None, Inputs]:
        """The value, and the terms of the formula by name."""
        return (self.of(values) if len(values) else None), (("n", float(len(values))),)

    @property
    def over_pairs(self) -> Aggregate:
        """How two runs are compared in it; a sum as a mean over pairs."""
        return self

    def paired_difference(self, rows: PairedRows) -> Paired:
        """B minus A."""
        from steelyard.stats.paired import Paired

        a, b = self.of(rows.a), self.of(rows.b)
        return Paired(None if a is None or b is None else b - a, len(rows.starts))

    def interval_text(self, unit: str, *, of_cells: bool = False) -> str:
        """How its interval is made, as `--explain` prints it."""
        return NO_INTERVAL


class OfFigure(Aggregate):
    """What `Metric.figure` computes, which is no aggregate of its rows, with how its interval is made."""

    name = "function"

    def __init__(self, interval: str = NO_INTERVAL) -> None:
        self._interval = interval

    def of(self, values: Array) -> float | None:
        """Nothing: the rows alone do not tell it."""
        return None

    def interval_text(self, unit: str, *, of_cells: bool = False) -> str:
        return self._interval


class Mean(Aggregate):
    """The sum of all rows over their number; `interval` is how its interval is made where that is not as usual."""

    name = "mean"
    is_mean = True

    def __init__(self, interval: str = "") -> None:
        self._interval = interval

    def of(self, values: Array) -> float | None:
        return float(values.mean()) if len(values) else None

    def estimate(self, contributions: Contributions, groups: Groups, scale: Scale) -> Sequence[Estimate]:
        from dataclasses import replace

        means = groups.means(contributions.values, scale, contributions.at_least)
        if contributions.not_missing is None:
            return means
        apart = groups.count(contributions.not_missing).tolist()
        return [replace(mean, n_missing=mean.n_missing - n) for mean, n in zip(means, apart, strict=True)]

    def in_words(self, values: Array, below: Array | None, formula: str) -> tuple[float | None, Inputs]:
        total, n = math.fsum(values), len(values)
        return (total / n if n else None), ((self._named(formula), total), ("n", float(n)))

    def _named(self, formula: str) -> str:
        return "sum"

    def paired_difference(self, rows: PairedRows) -> Paired:
        import numpy as np

        from steelyard.stats.paired import paired_mean

        sizes = np.diff(np.append(rows.starts, len(rows.a)))
        return paired_mean(np.add.reduceat(rows.b - rows.a, rows.starts), sizes, rows.widest)

    def interval_text(self, unit: str, *, of_cells: bool = False) -> str:
        if self._interval or unit not in _WITH_ENDS:
            return self._interval or NO_INTERVAL
        return f"Wilson's score interval by the standard error of the mean; {_CLUSTERED}"


class Rate(Mean):
    """The share of rows that are 1."""

    name = "rate"

    def estimate(self, contributions: Contributions, groups: Groups, scale: Scale) -> Sequence[Estimate]:
        import numpy as np

        present = ~np.isnan(contributions.values)
        hits = np.where(present, contributions.values, -1).astype(np.int8) - 1
        absent_as = None if contributions.absent is None else 0
        if absent_as is not None and not contributions.absent:
            # Those that are missing have another label than the one that is asked for.
            hits, absent_as = np.where(hits == 0, 0, 1).astype(np.int8), 1
        n_labels = 1 if absent_as is None else absent_as + 1
        return [row[0] for row in groups.rates(groups.labelled(hits), n_labels, present, absent_as=absent_as)]

    def _named(self, formula: str) -> str:
        return formula.partition(" / ")[0]

    def paired_difference(self, rows: PairedRows) -> Paired:
        from steelyard.stats.paired import paired_rate

        return paired_rate(rows.a, rows.b) if len(rows.starts) == len(rows.a) else super().paired_difference(rows)

    def interval_text(self, unit: str, *, of_cells: bool = False) -> str:
        if of_cells:
            return "Wilson's score interval over cells; those of one case count as one cluster"
        return f"Wilson's score interval; {_CLUSTERED}"


class Ratio(Aggregate):
    """One sum over another, or the mean of several such ratios."""

    name = "ratio"
    of_sums = True

    def estimate(self, contributions: Contributions, groups: Groups, scale: Scale) -> Sequence[Estimate]:
        from steelyard.metrics.aggregate import proportions

        return proportions(groups, contributions.values, contributions.below, scale)

    def in_words(self, values: Array, below: Array | None, formula: str) -> tuple[float | None, Inputs]:
        if below is None:
            return Aggregate.MEAN.in_words(values, below, formula)
        above, under = math.fsum(values), math.fsum(below)
        return (above / under if under > 0 else None), (("numerator", above), ("denominator", under))

    def paired_difference(self, rows: PairedRows) -> Paired:
        import numpy as np

        from steelyard.stats.paired import paired_ratio

        columns = (rows.a, rows.below_a, rows.b, rows.below_b)
        sums = [np.add.reduceat(column, rows.starts) for column in columns if column is not None]
        return paired_ratio((sums[0], sums[1]), (sums[2], sums[3]))

    def interval_text(self, unit: str, *, of_cells: bool = False) -> str:
        if unit not in _WITH_ENDS:
            return NO_INTERVAL
        return "Wilson's score interval by the residuals of cases (numerator - ratio x denominator)"


class Sum(Aggregate):
    """All rows added up."""

    name = "sum"

    def of(self, values: Array) -> float | None:
        return float(values.sum())

    def with_missing(self, values: Array, missing: int, end: float) -> float:
        return float(values.sum()) + (missing * end if missing else 0.0)

    def estimate(self, contributions: Contributions, groups: Groups, scale: Scale) -> Sequence[Estimate]:
        from dataclasses import replace

        totals = groups.totals(contributions.values)
        # What is left out for a reason is counted as missing, as in every sum; rows of another list are not.
        if contributions.not_missing is not None and not contributions.excluded:
            apart = groups.count(contributions.not_missing).tolist()
            totals = [replace(total, n_missing=total.n_missing - n) for total, n in zip(totals, apart, strict=True)]
        if contributions.absent is not None and groups.lacking.any():
            totals = [
                replace(
                    total,
                    value=(total.value or 0.0) + n * contributions.absent,
                    n=total.n + n,
                    n_missing=total.n_missing - groups.absent,
                )
                for total, n in zip(totals, groups.lacking.tolist(), strict=True)
            ]
        return totals

    def in_words(self, values: Array, below: Array | None, formula: str) -> tuple[float | None, Inputs]:
        total = math.fsum(values)
        return total, (("sum", total), ("n", float(len(values))))

    @property
    def over_pairs(self) -> Aggregate:
        return Aggregate.MEAN


class Quantile(Aggregate):
    """The value below which a share of all rows lies, on the straight line between the two nearest."""

    name = "quantile"

    def __init__(self, point: float) -> None:
        self.rank = self.point = point

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.rank == self.rank

    def __hash__(self) -> int:
        return hash((type(self), self.rank))

    @property
    def _rank(self) -> float:
        return self.rank or 0.0

    def of(self, values: Array) -> float | None:
        return self.in_words(values, None, "")[0]

    def with_missing(self, values: Array, missing: int, end: float) -> float:
        import numpy as np

        from steelyard.stats.groups import quantile_of_sorted

        return quantile_of_sorted(np.sort(np.append(values, np.full(missing, end))), self._rank)

    def estimate(self, contributions: Contributions, groups: Groups, scale: Scale) -> Sequence[Estimate]:
        from dataclasses import replace

        rows = groups.quantiles(contributions.values, [self._rank], contributions.at_least)
        if contributions.not_missing is None:
            return [row[0] for row in rows]
        apart = groups.count(contributions.not_missing).tolist()
        return [replace(row[0], n_missing=row[0].n_missing - n) for row, n in zip(rows, apart, strict=True)]

    def in_words(self, values: Array, below: Array | None, formula: str) -> tuple[float | None, Inputs]:
        import numpy as np

        from steelyard.stats.intervals import fewest_for

        if len(values) < fewest_for(self._rank):
            return None, ()
        ranked = np.sort(values)
        place = self._rank * (len(ranked) - 1)
        under = math.floor(place)
        low, high = float(ranked[under]), float(ranked[min(under + 1, len(ranked) - 1)])
        inputs = (("rank", place + 1), ("value below", low), ("value above", high))
        return low + (high - low) * (place - under), inputs

    def paired_difference(self, rows: PairedRows) -> Paired:
        from steelyard.stats.paired import paired_quantile

        return paired_quantile(rows.a, rows.b, rows.unit, self._rank)

    def interval_text(self, unit: str, *, of_cells: bool = False) -> str:
        return f"order statistics; {_CLUSTERED}"


class Extreme(Quantile):
    """The lowest or the highest of all rows."""

    def __init__(self, name: str, rank: float) -> None:
        super().__init__(rank)
        self.name, self.point = name, None

    @property
    def over_pairs(self) -> Aggregate:
        return Aggregate.MEAN

    def interval_text(self, unit: str, *, of_cells: bool = False) -> str:
        return NO_INTERVAL


class ByFunction(Mean):
    """By a function of the metric's own (`Contributions.estimate`), from the rows and what else is known of them."""

    name = "estimate"

    @property
    def over_pairs(self) -> Aggregate:
        return Aggregate.MEAN

    def interval_text(self, unit: str, *, of_cells: bool = False) -> str:
        return f"Wilson's over as many trials as the estimate's variance is worth; {_CLUSTERED}"


Aggregate.MEAN, Aggregate.RATE, Aggregate.RATIO, Aggregate.SUM = Mean(), Rate(), Ratio(), Sum()
Aggregate.MIN, Aggregate.MAX, Aggregate.ESTIMATE = Extreme("min", 0.0), Extreme("max", 1.0), ByFunction()
_NAMED: dict[str, Aggregate] = {
    item.name: item
    for item in (
        *(Aggregate.MEAN, Aggregate.RATE, Aggregate.RATIO),
        *(Quantile(0.5), Aggregate.SUM, Aggregate.MIN, Aggregate.MAX),
    )
}
AGGREGATES = tuple(_NAMED)
"""The names that a suite can give as an aggregate."""


def aggregate_named(name: str, point: float | None = None) -> Aggregate:
    """The aggregate of a name that a suite gives; a quantile has a point."""
    return _NAMED[name] if point is None else Quantile(point)
