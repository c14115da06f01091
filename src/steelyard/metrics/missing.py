"""The range in which a figure would lie if nothing were missing: what decides whether a gate may stand on it.

A missing row (inconclusive, excluded, planned and absent) could have had any value between the ends of its metric's
scale. Every aggregate grows with each of its values, so the figure over all rows lies between the one in which all
missing rows have the lowest value and the one in which they have the highest. Of a ratio of sums, a missing row could
have brought as much to count as the largest row that is present.

Up to `TOLERATED` of the rows may be missing without any of this; an absent row of a run may belong to any slice. A row
whose value is a lower bound, as of a call that timed out, could have had any higher value, and is never ignored.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from steelyard.metrics.expressions import Gate, is_relative, parse_expression
from steelyard.metrics.kinds import Aggregate
from steelyard.metrics.registry import (
    Contributions,
    Level,
    Metric,
    Names,
)
from steelyard.stats.arrays import Array
from steelyard.stats.groups import Groups
from steelyard.stats.intervals import Estimate, Possible, settled
from steelyard.suite.models import Limits, SuiteModel

if TYPE_CHECKING:
    from steelyard.metrics.run_data import RunData

TOLERATED: float = Limits.model_fields["max_inconclusive"].default
"""The share of missing rows that a gate may ignore, however many more a run may have before it is INVALID."""
_ROUNDING = 1e-9
_LIMITS = {("malformed_rate", "<"), ("scored_rate", ">")}
"""The metrics that limit malformed answers, each with the direction in which it does."""


def matters(missing: int, present: int, suite: SuiteModel) -> bool:
    """Whether more rows are missing than a gate may ignore."""
    allowed = min(TOLERATED, suite.limits.max_inconclusive)
    return missing > (allowed + _ROUNDING) * (missing + present)


class Ranges:
    """Adds to the figures of every group the range that its missing rows leave."""

    def __init__(self, data: RunData, factor: str, level: Level) -> None:
        self._data = data
        self._of_samples = level is Level.SAMPLE
        self._groups: Groups = data.groups[factor] if self._of_samples else data.cells.groups[factor]
        self._absent = data.absent if self._of_samples else data.cells.absent

    def with_range(
        self, metric: Metric, names: Names, contributions: Contributions, figures: Sequence[Estimate]
    ) -> list[Estimate]:
        """The figures of all groups, each with its range where that is needed."""
        groups = self._groups
        if contributions.undecided is not None:
            return [self._of_undecided(g, contributions, figure) for g, figure in enumerate(figures)]
        known = ~np.isnan(contributions.values)
        if contributions.possible is None:
            lowest = highest = np.where(known, contributions.values, np.nan)
            open_ = ~known & ~self._not_applicable(metric, contributions)
            if contributions.at_least is not None:
                highest = np.where(contributions.at_least & known, np.inf, lowest)
        else:
            lowest, highest = contributions.possible
            known, open_ = known & (lowest == highest), lowest < highest
        missing, present = groups.count(open_) + self._absent, groups.count(known)
        censored = groups.count(lowest < highest)
        ranged = list(figures)
        for g, figure in enumerate(figures):
            if figure.value is None:
                continue
            strict = contributions.possible is not None
            if not strict and not matters(int(missing[g]), int(present[g]), self._data.suite):
                missing[g] = 0
            if not missing[g] and not censored[g]:
                continue
            ends = metric.possible_ends(self._data, names)
            rows, n_open = self._rows[g], self._absent if strict else int(missing[g])
            if metric.aggregate.of_sums:
                low, high = _of_ratios(contributions, rows, n_open, ends)
            elif contributions.estimate is not None:
                of_value = np.full(int(present[g]), figure.value)
                low, high = (_of(metric, of_value, n_open, end) for end in ends)
            else:
                columns = zip((lowest, highest), ends, strict=True)
                low, high = (_of(metric, column[rows], n_open, end) for column, end in columns)
            lowest_end, highest_end = (end if math.isfinite(end) else None for end in (low, high))
            possible = Possible(lowest_end, highest_end, int(missing[g]), int(missing[g] + present[g]))
            ranged[g] = replace(figure, possible=possible)
        return ranged

    def of_labels(self, available: Array, figures: Sequence[Estimate]) -> list[Estimate]:
        """The same for shares of one label."""
        missing = self._groups.count(~available & ~self._data.table.conclusive) + self._absent
        ranged: list[Estimate] = []
        for figure, m in zip(figures, missing.tolist(), strict=True):
            if figure.value is not None and m and matters(m, figure.n, self._data.suite):
                hits, of = figure.value * figure.n, figure.n + m
                figure = replace(figure, possible=Possible(hits / of, (hits + m) / of, m, of))
            ranged.append(figure)
        return ranged

    def _not_applicable(self, metric: Metric, contributions: Contributions) -> Array:
        """Rows without a value that are not missing: they were never to have one.

        A conclusive sample without a value has no truth for it, or nothing to count; but a call whose cost or time is
        not known did cost something and take some time. Where a measure has no counts of any malformed answer (it is
        over readable answers alone, or its scorer counts nothing in them), these are missing, unless a gate of the
        suite says how many may be malformed.
        """
        none = np.zeros(len(contributions.values), dtype=bool)
        apart = none if contributions.not_missing is None else contributions.not_missing
        if not self._of_samples or metric.aggregate is Aggregate.SUM or metric.group == "latency":
            return apart
        malformed = self._data.table.malformed
        unread = (
            metric.name.startswith("score.<component>.<measure>")
            and not (malformed & ~np.isnan(contributions.values)).any()
        )
        unread = unread and not _limits_malformed(self._data.suite)
        return np.asarray(apart | (self._data.table.conclusive & ~(malformed if unread else none)))

    def _of_undecided(self, g: int, contributions: Contributions, figure: Estimate) -> Estimate:
        """The range of a share of all in which what is undecided counts as not so: any of it leaves a gate open."""
        rows, undecided = self._rows[g], contributions.undecided
        if undecided is None:
            return figure
        of = contributions.values if contributions.below is None else contributions.below
        absent = float(contributions.of_absent(self._absent).sum())
        total, values = float(of[rows].sum()) + absent, contributions.values
        lowest, highest = contributions.possible or (values, values + undecided)
        open_ = undecided if contributions.possible is None else lowest < highest
        n_open = float(open_[rows].sum()) + absent
        if not n_open or not total:
            return figure
        low, high = (settled(float(end[rows].sum() + n) / total) for end, n in ((lowest, 0), (highest, absent)))
        return replace(figure, possible=Possible(low, high, round(n_open), round(total)))

    @cached_property
    def _rows(self) -> list[Array]:
        """The rows of every group."""
        everything = np.ones(self._data.table.n if self._of_samples else self._data.cells.n, dtype=bool)
        return [self._groups.samples_where(g, everything) for g in range(len(self._groups))]


def _limits_malformed(suite: SuiteModel) -> bool:
    """Whether a gate or criterion that decides says how many answers of the whole run may be malformed."""
    gates = [text for text in suite.gates if not is_relative(text)]
    texts = [*gates, *(criterion.passes for criterion in suite.criteria if not criterion.secondary)]
    parts = [part for part in map(parse_expression, texts) if isinstance(part, Gate) and part.factor is None]
    return any((part.pattern, part.operator[0]) in _LIMITS for part in parts)


def _of(metric: Metric, values: Array, missing: int, end: float) -> float:
    """The figure over values that are known, and so many that have the value of one end."""
    return metric.aggregate.with_missing(values[~np.isnan(values)], missing, end)


def _of_ratios(
    contributions: Contributions, rows: Array, missing: int, ends: tuple[float, float]
) -> tuple[float, float]:
    """The range of a ratio of sums, or of the mean of several."""
    pairs = contributions.ratios or ((contributions.values, contributions.below),)
    ranges = [
        result for above, below in pairs if below is not None for result in _of_ratio(above, below, rows, missing, ends)
    ]
    low, high = (sum(column) / len(ranges) for column in zip(*ranges, strict=True))
    return low, high


def _of_ratio(
    above: Array, below: Array, rows: Array, missing: int, ends: tuple[float, float]
) -> Iterator[tuple[float, float]]:
    """One range; none of a ratio of nothing."""
    numerators, denominators = above[rows], below[rows]
    present = ~(np.isnan(numerators) | np.isnan(denominators))
    total, of = float(numerators[present].sum()), float(denominators[present].sum())
    if of > 0:
        more = missing * float(denominators[present].max())
        low, high = ((total + end * more) / (of + more) for end in ends)
        yield low, high
