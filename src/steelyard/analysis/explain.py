"""One figure with the samples it is made of."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import field

import numpy as np

from steelyard.frozen import frozen
from steelyard.metrics.kinds import NO_INTERVAL, Aggregate
from steelyard.metrics.registry import (
    Contributions,
    Key,
    Level,
    Metric,
    Reasons,
)
from steelyard.metrics.table import MISSING
from steelyard.stats.arrays import Array
from steelyard.stats.intervals import Estimate

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
        interval = f"undefined for so few; otherwise {interval}"
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
    excluded = counted_rows(contributions.excluded, outside, keys)
    noted = counted_rows(contributions.noted, inside, keys, contributions.undecided)
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
        inputs=formula_inputs(contributions, inside, absent, how, words.formula),
        interval=words.interval,
        excluded=most_frequent(excluded),
        noted=most_frequent(noted),
        order=order,
        contributing=tuple(
            Contributing(*keys(row), float(value), detail(row))
            for row, value in zip(inside[ranked].tolist(), values[ranked], strict=True)
            if contributions.undecided is None or contributions.below is None or contributions.below[row]
        ),
    )


def counted_rows(
    reasons: Reasons, rows: Array, keys: Callable[[int], Key], weights: Array | None = None
) -> list[Counted]:
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


def most_frequent(counted: Sequence[Counted]) -> tuple[Counted, ...]:
    """The reasons, the one with most rows first."""
    return tuple(sorted(counted, key=lambda item: -item.count))


def formula_inputs(contributions: Contributions, rows: Array, absent: int, how: Aggregate, formula: str) -> Inputs:
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
