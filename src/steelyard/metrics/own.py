"""Metrics that a suite brings along: a function over the samples of a run, and what it is called.

    @steelyard.metric("cost_per_resolved", unit="cost", better="lower", aggregate="ratio",
                      formula="sum of costs / samples that passed")
    def cost_per_resolved(samples):
        return samples.cost(), samples.passed()

The suite file names it (`metrics: [figures:cost_per_resolved]`); it is then in reports, gates, comparisons and
`--explain` like any other.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from steelyard.errors import UsageError
from steelyard.metrics.expressions import is_factor
from steelyard.metrics.kinds import AGGREGATES, aggregate_named
from steelyard.metrics.own_values import VALUES, unpacked
from steelyard.metrics.registry import (
    Better,
    Compared,
    Contributions,
    Metric,
    Names,
    metrics,
    register,
)
from steelyard.metrics.registry import unregister as _unregister
from steelyard.metrics.run_data import RunData
from steelyard.stats.arrays import Array
from steelyard.suite_code import place_of, source_digest

UNITS = ("share", "score", "count", "s", "cost", "tokens", "number")
_NAME = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")
_DECLARED = "steelyard_metric"
_KEYS = ("name", "unit", "better", "aggregate", "formula", "about", "point")
_ADDED: dict[str, tuple[str, str | None]] = {}
"""By name of a metric that a suite added, the place of its code and a hash of it."""


class Samples:
    """The samples of a run as columns; NaN where nothing is known.

    An inconclusive sample has no score and has not passed or failed; a malformed answer has score 0 and has not passed.
    """

    def __init__(self, data: RunData) -> None:
        self._data = data
        self.n = data.table.n
        self.case_ids = [data.columns.case_ids[case] for case in data.columns.case.tolist()]
        """The case of every sample."""

    def score(self) -> Array:
        """Scores from 0 to 1."""
        return self._data.table.score()

    def passed(self) -> Array:
        """1 for what passed, 0 for what did not."""
        passed = self._data.table.passed().astype(float)
        passed[passed < 0] = np.nan
        return passed

    def component(self, name: str) -> Array:
        """The values of one component, on its scale."""
        if name not in self._data.columns.components:
            return np.full(self.n, np.nan)
        return self._data.table.component(name)

    def count(self, component: str, name: str) -> Array:
        """One of the counts that a scorer gives beside its value."""
        result = self._data.table.count(component, name)
        return np.full(self.n, np.nan) if result is None else result

    def counts(self, component: str) -> dict[str, Array]:
        """All counts of a scorer, by name."""
        return {name: self.count(component, name) for name in self._data.columns.counts.get(component, {})}

    def findings(self, code: str) -> Array:
        """How many findings of a code each sample has."""
        return metrics()["findings.<code>"].contributions(self._data, (code,)).values

    def latency(self) -> Array:
        """Seconds of the calls that were answered."""
        return self._data.table.latency()

    def cost(self) -> Array:
        """What the calls said that they cost."""
        return self._data.table.reported("cost")

    def tokens_in(self) -> Array:
        """Input tokens, as the calls said."""
        return self._data.table.reported("tokens_in")

    def tokens_out(self) -> Array:
        """Output tokens, as the calls said."""
        return self._data.table.reported("tokens_out")


Function = Callable[[Samples], Any]


def metric(
    name: str,
    *,
    formula: str,
    unit: str = "share",
    better: Better = "higher",
    aggregate: str = "mean",
    about: str = "",
    point: float | None = None,
) -> Callable[[Function], Function]:
    """Makes a function of `Samples` a metric.

    The function gives one number a sample (NaN: not in it) for `mean`, `rate` (1 or 0), `sum`, `min`, `max` and, with
    `point`, `quantile`; numerators and denominators for `ratio`, or a list of such pairs for the mean of several
    ratios.
    """
    if not _NAME.fullmatch(name) or is_factor(name.partition(".")[0]):
        raise ValueError(f"metric {name!r}: a name is words joined by dots, such as cost_per_resolved")
    if unit not in UNITS:
        raise ValueError(f"metric {name!r}: there is no unit {unit!r}; there are: {', '.join(UNITS)}")
    if aggregate not in AGGREGATES:
        raise ValueError(f"metric {name!r}: there is no aggregate {aggregate!r}; there are: {', '.join(AGGREGATES)}")
    if better not in ("higher", "lower", ""):
        raise ValueError(f"metric {name!r}: better is higher, lower or nothing, not {better!r}")
    if (aggregate == "quantile") is not (point is not None and 0 < point < 1):
        raise ValueError(f"metric {name!r}: a quantile, and nothing else, has a point between 0 and 1")

    def mark(function: Function) -> Function:
        first = (function.__doc__ or "").strip().partition("\n")[0]
        values = (name, unit, better, aggregate, formula, about or first.rstrip("."), point)
        setattr(function, _DECLARED, dict(zip(_KEYS, values, strict=True)))
        return function

    return mark


def describe_metric(function: Any) -> dict[str, Any]:
    """A metric as a run's header keeps it; UsageError for a function that is none."""
    declared = getattr(function, _DECLARED, None)
    if declared is None:
        raise UsageError(f"{place_of(function)} is no metric: write @steelyard.metric(...) above it")
    return {**declared, "code": place_of(function), "source": source_digest(function)}


def add_metric(declared: Mapping[str, Any], function: Function | None) -> None:
    """Put a metric of a suite into the registry; without its function it is n/a everywhere, and says why.

    UsageError when the product has one of that name.
    """
    name = declared["name"]
    if name in _ADDED:
        _unregister(name)
        del _ADDED[name]
    if name in metrics():
        raise UsageError(f"metric {name!r} of {declared['code']}: Steelyard has a metric of that name")
    register(
        Metric(
            name,
            declared["unit"],
            declared["about"] or f"a metric of this suite: {declared['code']}",
            declared["formula"],
            f"as {declared['code']} says; inconclusive samples, those excluded and those that are missing are left out",
            aggregate_named(declared["aggregate"], declared["point"]),
            _contributions(name, declared["code"], function),
            declared["better"],
            stands_on="samples to which it gives a number",
            all_names=lambda data: [()] if any(item["name"] == name for item in data.suite.metrics) else [],
            compared=Compared.PAIRS,
            for_sure=declared["unit"] in ("share", "score") and declared["aggregate"] in ("mean", "rate"),
            own=True,
        )
    )
    _ADDED[name] = declared["code"], declared["source"]


def forget_metrics() -> None:
    """Take every metric that a suite added out of the registry."""
    for name in list(_ADDED):
        _unregister(name)
        del _ADDED[name]


def is_added(declared: Mapping[str, Any]) -> bool:
    """Whether the registry has this very metric: the same name, code and source."""
    return _ADDED.get(declared["name"]) == (declared["code"], declared["source"])


def _contributions(name: str, code: str, function: Function | None) -> Callable[[RunData, Names], Contributions]:
    def contributions(data: RunData, _: Names) -> Contributions:
        table = data.table
        stored = next((item.get(VALUES) for item in data.suite.metrics if item["name"] == name), None)
        if stored is not None:
            return _shaped(unpacked(stored, data), data)
        if function is None:
            return Contributions(
                np.full(table.n, np.nan), excluded=((f"its code is not here, or has changed: {code}", None),)
            )
        try:
            result = function(Samples(data))
            return _shaped(result, data)
        except Exception as error:
            raise UsageError(f"metric {code} failed: {type(error).__name__}: {error}") from error

    return contributions


def _shaped(result: Any, data: RunData) -> Contributions:
    """What a function gave, as contributions; ValueError for anything that is none."""
    table = data.table
    excluded = (*table.left_out, ("it gives no number to this sample", None))
    if isinstance(result, Contributions):
        return result
    pairs = result if isinstance(result, list) else [result] if isinstance(result, tuple) else None
    if pairs is None:
        return Contributions(_column(result, table.n), excluded=excluded)
    ratios = [_available(_column(above, table.n), _column(below, table.n)) for above, below in pairs]
    if len(ratios) == 1:
        return Contributions(*ratios[0], excluded=excluded)
    counted = np.logical_or.reduce([~np.isnan(above) for above, _ in ratios]) if ratios else np.zeros(table.n, bool)
    return Contributions(np.where(counted, 0.0, np.nan), ratios=tuple(ratios), excluded=excluded)


def _column(values: Any, n: int) -> Array:
    column = np.asarray(values, dtype=float)
    if column.shape != (n,):
        raise ValueError(f"it gave {column.shape} numbers for {n} samples")
    return column


def _available(above: Array, below: Array) -> tuple[Array, Array]:
    present = ~np.isnan(above + below)
    return np.where(present, above, np.nan), np.where(present, below, np.nan)
