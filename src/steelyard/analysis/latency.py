"""Latency: how long calls took, as quantiles, as a histogram, and by case.

Calls count that were answered, and as lower bounds those that timed out; other failures have no time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from steelyard.analysis.cell_metrics import ranked_first
from steelyard.analysis.histogram import Bar, histogram
from steelyard.frozen import frozen
from steelyard.metrics.cells import Cells
from steelyard.metrics.kinds import Aggregate
from steelyard.metrics.registry import Better, Compared, Contributions, Metric, Names, derive, gate_metrics, register
from steelyard.metrics.run_data import RunData
from steelyard.metrics.table import Table
from steelyard.records import AtLeast, Load
from steelyard.stats.arrays import Array
from steelyard.stats.groups import quantile_of_sorted
from steelyard.stats.intervals import Estimate, fewest_for, settled
from steelyard.suite.models import LatencyRules, SuiteModel
from steelyard.wording import counted, time_text


class Spread(dict[str, Any]):
    """Every registered figure of latency in seconds, by name (`spread["p95"]`), and `n`, the calls that were answered
    or timed out; `at_least`, where there are any, names the figures that are lower bounds.

    All are None when n is 0, and percentiles that take more calls.
    """

    @classmethod
    def of(cls, n: int, figures: Mapping[str, float | None]) -> Spread:
        """The spread of these figures, in which `AtLeast` is a lower bound."""
        bounds = [name for name, value in figures.items() if isinstance(value, AtLeast)]
        return cls({"n": n} | dict(figures) | ({"at_least": bounds} if bounds else {}))

    def to_data(self) -> dict[str, Any]:
        """As JSON has it, which knows no lower bounds: `at_least` names them."""
        return dict(self)

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Spread:
        """The spread back from `to_data`."""
        bounds = data.get("at_least", ())
        return cls({name: AtLeast(value) if name in bounds else value for name, value in data.items()})

    @property
    def n(self) -> int:
        """How many calls were answered or timed out."""
        return int(self["n"] or 0)

    @property
    def tail(self) -> tuple[str, float | None]:
        """The 95th percentile, or of too few calls the longest, by its name."""
        name = "max" if self["p95"] is None else "p95"
        return name, self[name]


@frozen
class CellLatency:
    """One case under one variant."""

    case_id: str
    variant: str
    spread: Spread
    timeouts: int
    failures: int
    """Calls that failed in any other way."""


@frozen
class LatencyDetails:
    """What is listed of the times of a run; its numbers are figures: `latency.p95`, `latency.timeouts`. Answers from a
    cache, and those that another tool recorded without a time, are not in it."""

    load: str = ""
    """How the calls were made, in words: `8 at a time`, or `20 a second, whatever came back`."""
    bottleneck: str = ""
    """That this process, not the system, was the slow one, in words; "" when it was not, or cannot tell."""
    bars: tuple[Bar, ...] = ()
    """At most twenty, side by side; every answered call is in exactly one."""
    log_bars: bool = False
    """Whether the bars grow by a ratio: where the slowest call took over 100 times as long as the fastest."""
    cells: tuple[CellLatency, ...] = ()
    """At most `MOST_CELLS` in the order of the cases: the slowest, after those without an answer."""
    slow: str = ""
    """Which calls took longer than the suite's `latency: {above}`, in words."""
    normal: str = ""
    """What the suite calls normal, and where the median lies, in words; it decides nothing."""
    hints: tuple[str, ...] = ()
    """What looks wrong about the medians, in words; it makes the run suspect."""


_UNANSWERED = {"timeouts": "calls that ran out of time", "failures": "calls that failed in any other way"}
_LATE, _LATE_SHARE = 0.005, 0.1
"""An event loop that is later than this, and than this share of the median, makes the client the bottleneck."""
_TOO_FAST = "looks short-circuited or cached"
_MOST_NAMED = 10
_TOO_SLOW = "looks like loading or a queue"


def latency_details(table: Table, suite: SuiteModel, load: str = "") -> LatencyDetails | None:
    """The histogram, the slowest cases and what is to be said of the times of a run; None when nobody was called.

    `suite` is the suite as the run's header describes it, `load` says in words how the calls were made.
    """
    if not _called(table).any():
        return None
    latency = table.latency()
    bars, log_bars = histogram(np.sort(latency[~np.isnan(latency)]))
    return LatencyDetails(
        load=load,
        bars=bars,
        log_bars=log_bars,
        cells=_cells(table, suite),
        slow=_slow(table, suite),
        normal=_normal(table, suite),
        hints=tuple(_hints(table, suite)),
    )


def latency_metrics() -> dict[str, Metric]:
    """Every registered figure of latency, by the last part of its name: `p50`."""
    return {item.name.removeprefix("latency."): item for item in gate_metrics().values() if item.group == "latency"}


def percentiles(*, compared: bool = False) -> list[str]:
    """The registered percentiles of latency, all of them or those that runs are compared by."""
    return [
        name
        for name, item in latency_metrics().items()
        if item.point is not None and not (compared and item.compared is Compared.NO)
    ]


def _times_of(table: Table, name: str) -> tuple[Array, Array]:
    """By sample, one of the times of its call and whether it is a lower bound; NaN where nobody knows."""
    if name == "tokens_per_second":
        return table.tokens_per_second(), np.zeros(table.n, dtype=bool)
    return table.times(name)


def _called(table: Table) -> Array:
    """The samples with a call that was answered or failed: answers from the cache are no calls."""
    return ~np.isnan(table.latency()) | np.logical_or(*table.unanswered())


_SLOW_SCORING, _MOST_OF_THE_TIME = 0.005, 0.5
"""Scoring that takes so many seconds an answer, and so large a part of the time, sets the pace of a run."""


def bottleneck(median: float | None, load: Load | None) -> str:
    """That the client was the slow one: that scoring set the pace, or that the event loop was late by much of the
    median; "" otherwise."""
    if load is None:
        return ""
    scoring, loop_lag = load.scoring, load.loop_lag
    if scoring and scoring.mean >= _SLOW_SCORING and scoring.share >= _MOST_OF_THE_TIME:
        return (
            f"scoring was the bottleneck: it took {time_text(scoring.mean, 2)} an answer and"
            f" {100 * scoring.share:.0f} % of the time, so the target was called no faster; make the scorers faster"
        )
    if loop_lag is None or median is None or loop_lag < max(_LATE, _LATE_SHARE * median):
        return ""
    return (
        f"the client was the bottleneck: its event loop was {time_text(loop_lag, 2)} late on average, so"
        f" latencies may be too high; lower the concurrency, or use a less busy machine"
    )


def spread_of(values: Array, at_least: Array, points: Mapping[str, Metric] | None = None) -> Spread:
    """The spread of times in any order; NaN is none, and `at_least` marks those that are lower bounds. `points` are the
    registered figures, when they are at hand."""
    points, available = points or latency_metrics(), ~np.isnan(values)
    ranked = highest = np.sort(values[available])
    if at_least.any():
        highest = np.sort(np.where(at_least, np.inf, values)[available])
    elif len(ranked) == 1:
        only = float(ranked[0])
        return Spread.of(1, {name: _figure_of_one(item, only) for name, item in points.items()})
    return Spread.of(len(ranked), {name: _figure(item, ranked, highest) for name, item in points.items()})


def no_calls() -> Spread:
    """The spread of no times at all."""
    return spread_of(np.empty(0), np.empty(0, dtype=bool))


def _figure(which: Metric, ranked: Array, highest: Array) -> float | None:
    """One figure of sorted times; `highest` are the same if those that are lower bounds were infinite."""
    point = which.aggregate.rank
    if len(ranked) < fewest_for(point or 0.0):
        return None
    if point is None:
        value, limit = settled(float(ranked.mean())), float(highest[-1])
    else:
        value, limit = quantile_of_sorted(ranked, point), quantile_of_sorted(highest, point)
    is_bound = math.isinf(limit) if point is None else limit > value
    return AtLeast(value) if is_bound else value


def _figure_of_one(which: Metric, only: float) -> float | None:
    """As `_figure` of a single time, without numpy, which takes long for one: most cells have one call."""
    point = which.aggregate.rank
    if point is None:
        return settled(only)
    return None if fewest_for(point) > 1 else only


def _cells(table: Table, suite: SuiteModel) -> tuple[CellLatency, ...]:
    """The slowest cells that have a call in them, after those without an answer, in the order of the cases."""
    cells, called, points = Cells(table, suite), _called(table), latency_metrics()
    latency, timed_out = table.times()
    unanswered = [cells.count(mask) for mask in table.unanswered()]
    seen = np.flatnonzero(cells.count(called))
    shown = seen[ranked_first(-_tails(cells, seen, latency))]
    if not len(shown):
        return ()
    rows = np.flatnonzero(called & np.isin(cells.of_sample, shown))
    rows = rows[np.argsort(cells.of_sample[rows], kind="stable")]
    ends = np.searchsorted(cells.of_sample[rows], shown, side="right")
    results = []
    for cell, (start, end) in zip(shown.tolist(), pairwise([0, *ends.tolist()]), strict=True):
        inside = rows[start:end]
        failed = (int(counts[cell]) for counts in unanswered)
        results.append(CellLatency(*cells.key(cell), spread_of(latency[inside], timed_out[inside], points), *failed))
    return tuple(results)


def _tails(cells: Cells, seen: Array, latency: Array) -> Array:
    """The `Spread.tail` of each cell: its 95th percentile, or of too few calls the longest; infinite of none."""
    rows = np.flatnonzero(~np.isnan(latency))
    rows = rows[np.lexsort((latency[rows], cells.of_sample[rows]))]
    ranked, cell = latency[rows], cells.of_sample[rows]
    first, end = (np.searchsorted(cell, seen, side=side) for side in ("left", "right"))
    n = end - first
    at = first + np.where(n < fewest_for(0.95), 1.0, 0.95) * np.maximum(n - 1, 0)
    low, high = (np.clip(end(at).astype(int), 0, max(0, len(ranked) - 1)) for end in (np.floor, np.ceil))
    if not len(ranked):
        return np.full(len(seen), np.inf)
    return np.where(n > 0, ranked[low] + (ranked[high] - ranked[low]) * (at % 1), np.inf)


def _hints(table: Table, suite: SuiteModel) -> Iterator[str]:
    """What looks wrong about the median of the run, or of each variant where there are several.

    An error that a case asks for comes fast by nature: it says nothing of how long answers take.
    """
    rules = suite.latency
    if rules.below is None and rules.above is None:
        return
    latency, timed_out = table.times()
    timed = ~np.isnan(latency) & ~table.error_answers()
    variants = [(name, code) for code, name in enumerate(table.variants) if (timed & (table.variant == code)).any()]
    for name, code in variants:
        here = timed & (table.variant == code)
        times = np.sort(np.where(timed_out, np.inf, latency)[here])
        lowest = quantile_of_sorted(np.sort(latency[here]), 0.5)
        # Below the limit is a median that is so whatever timeouts took, above it one that is so at least.
        message = _wrong_median(lowest, quantile_of_sorted(times, 0.5), rules)
        if message is not None:
            median, why = message
            calls = counted(len(times), "call" if timed_out[here].any() else "answered call")
            yield f"{f'{name}: ' if len(variants) > 1 else ''}median latency {median} of {calls} is {why}"


def _normal(table: Table, suite: SuiteModel) -> str:
    """`500 ms to 5 s is normal; the median of 40 calls, 121 ms, is below that`; "" where the suite does not say."""
    if suite.latency.normal is None:
        return ""
    low, high = suite.latency.normal
    latency, _ = table.times()
    timed = np.sort(latency[~np.isnan(latency) & ~table.error_answers()])
    message = f"{time_text(low)} to {time_text(high)} is normal"
    if not len(timed):
        return message
    median = quantile_of_sorted(timed, 0.5)
    where = "below that" if median < low else "above that" if median > high else "within"
    return f"{message}; the median of {counted(len(timed), 'call')}, {time_text(median)}, is {where}"


def _slow(table: Table, suite: SuiteModel) -> str:
    """The calls that took longer than the suite says looks right, the slowest first; "" when none did."""
    above, (latency, timed_out) = suite.latency.above or np.inf, table.times()
    rows = np.flatnonzero(np.nan_to_num(latency) > above)
    if not len(rows):
        return ""
    slowest = rows[np.argsort(-latency[rows], kind="stable")][:_MOST_NAMED].tolist()
    named = [
        f"{table.case_ids[table.case[row]]} {'≥ ' if timed_out[row] else ''}{time_text(float(latency[row]))}"
        for row in slowest
    ]
    named += [f"and {len(rows) - len(named):,} more"] if len(rows) > len(named) else []
    n = f"{int((~np.isnan(latency)).sum()):,} {'' if timed_out.any() else 'answered '}calls"
    calls = f"{len(rows):,} of {n} took over {time_text(above)}"
    return f"{calls}, which {_TOO_SLOW}: {', '.join(named)}"


def _wrong_median(median: float, highest: float, rules: LatencyRules) -> tuple[str, str] | None:
    """The median in words and what is wrong with it, or None; `highest` is what it may be."""
    below, above = rules.below, rules.above
    if below is not None and highest < below:
        return distinguished(median, below), f"below {time_text(below)}: {_TOO_FAST}"
    if above is not None and median > above:
        bound = "≥ " if highest > median else ""
        return f"{bound}{distinguished(median, above)}", f"above {time_text(above)}: {_TOO_SLOW}"
    return None


def distinguished(median: float, limit: float) -> str:
    """A time with digits enough that it does not read as the limit that it is not: 99.96 ms is not 100 ms."""
    digits = 3
    while time_text(median, digits) == time_text(limit, digits) and digits < 15:
        digits += 1
    return time_text(median, digits)


def _all_cells(data: RunData) -> Cells:
    return Cells(data.table, data.suite)


def _in_case(data: RunData, names: Names) -> Array:
    """The samples of a case, which is the first name; without names all of them."""
    if not names:
        return np.ones(data.table.n, dtype=bool)
    case_ids = data.table.case_ids
    return np.asarray(data.table.case == (case_ids.index(names[0]) if names[0] in case_ids else -1))


def _times(name: str, *, count: bool = False) -> Callable[[RunData, Names], Contributions]:
    """The times of calls, or how many there are."""

    def contributions(data: RunData, names: Names) -> Contributions:
        values, timed_out = _times_of(data.table, name)
        here = _in_case(data, names)
        timed = here & ~np.isnan(values)
        if count:
            return Contributions(np.where(here, timed, np.nan), not_missing=~here)
        return Contributions(np.where(here, values, np.nan), at_least=timed & timed_out, not_missing=~here)

    return contributions


def _unanswered(which: int) -> Callable[[RunData, Names], Contributions]:
    def contributions(data: RunData, names: Names) -> Contributions:
        here = _in_case(data, names)
        return Contributions(np.where(here, data.table.unanswered()[which], np.nan), not_missing=~here)

    return contributions


def _called_cells(data: RunData, _: Names) -> Contributions:
    cells, called = data.once(_all_cells), data.once(_cells_with_calls)
    return Contributions(np.ones(len(called)), key=lambda row: (*cells.key(int(called[row])), None))


def _cells_with_calls(data: RunData) -> Array:
    return np.flatnonzero(data.once(_all_cells).count(_called(data.table)))


def _n_called_cells(data: RunData, _: Names) -> Estimate:
    n = len(data.once(_cells_with_calls))
    return Estimate(float(n), n)


def _bars(data: RunData) -> tuple[Bar, ...]:
    latency = data.table.latency()
    return histogram(np.sort(latency[~np.isnan(latency)]))[0]


def _in_bar(data: RunData, names: Names) -> Contributions:
    latency, bar = data.table.latency(), data.once(_bars)[int(names[0]) - 1]
    return Contributions(((latency >= bar.low) & (latency < bar.high)).astype(float))


def _if_called(data: RunData) -> list[Names]:
    return [()] if _called(data.table).any() else []


def _timed(data: RunData) -> set[str]:
    """The times that a run knows of any call."""
    names = [name for name, _ in _TIMES.values()]
    return {name for name in names if not np.isnan(_times_of(data.table, name)[0]).all()}


def _if_timed(name: str) -> Callable[[RunData], list[Names]]:
    return lambda data: [()] if name in data.once(_timed) else []


def _called_cases(data: RunData) -> list[Names]:
    called = np.bincount(data.table.case[_called(data.table)], minlength=len(data.table.case_ids))
    return [(data.table.case_ids[case],) for case in np.flatnonzero(called).tolist()]


_ANSWERED = "calls that failed, answers from the cache and calls without a measured time are left out"


def _register_unanswered(head: str, **more: Any) -> None:
    for which, (name, formula) in enumerate(_UNANSWERED.items()):
        register(_calls(f"{head}.{name}", formula, formula, _ANSWERED, Aggregate.SUM, _unanswered(which), **more))


_IN_WORDS = {"p50": "median", "min": "lowest", "max": "highest"}


def _calls(
    name: str,
    about: str,
    formula: str,
    counts: str,
    how: Aggregate,
    contributions: Callable[[RunData, Names], Contributions],
    unit: str = "count",
    better: Better = "lower",
    **more: Any,
) -> Metric:
    """A metric of calls, which no gate can name."""
    settings: dict[str, Any] = {"gate": False, "sliced": False, "of": "calls", "stands_on": "calls"} | more
    return Metric(name, unit, about, formula, counts, how, contributions, better, **settings)


_OF_CASE: dict[str, Any] = {"listed": True, "sliced": True, "all_names": _called_cases, "stands_on": "calls of a case"}
_register_unanswered("latency", all_names=_if_called)
_register_unanswered("case.<case>.latency", **_OF_CASE)
_TIMES = {
    "latency.first_byte": ("first_byte", "the time until the first byte came"),
    "first_token": ("first_token", "the time until the first token came"),
    "tokens_per_second": ("tokens_per_second", "the tokens a second after the first"),
    "latency.queued": ("queued", "how late calls were sent"),
    "case.<case>.latency": ("latency", "the calls of one case"),
}
"""By the beginning of their names, the other times of calls: which, and in words."""


def _settings(head: str) -> dict[str, Any]:
    return _OF_CASE if head.startswith("case.") else {"all_names": _if_timed(_TIMES[head][0])}


def _of_other_times(metric: Metric) -> Iterator[Metric]:
    """Of a figure of latency, the same of the other times and of one case."""
    if metric.group != "latency":
        return
    point = metric.name.removeprefix("latency.")
    for head, (name, what) in _TIMES.items():
        unit, better = ("number", "higher") if head == "tokens_per_second" else ("s", "lower")
        words = metric.formula, metric.counts
        about = f"{_IN_WORDS.get(point, point)} of {what}"
        settings = {"unit": unit, "better": better} | _settings(head)
        yield _calls(f"{head}.{point}", about, *words, metric.aggregate, _times(name), **settings)


derive(_of_other_times)
for _head, (_name, _what) in _TIMES.items():
    register(
        _calls(
            f"{_head}.n",
            f"calls with a time: {_what}",
            "calls with a time",
            latency_metrics()["p50"].counts,
            Aggregate.SUM,
            _times(_name, count=True),
            **_settings(_head),
        )
    )
register(
    _calls(
        "latency.bar.<n>",
        "answered calls in one bar of the histogram",
        "answered calls that took as long as the bar says",
        _ANSWERED,
        Aggregate.SUM,
        _in_bar,
        listed=True,
        all_names=lambda data: [(str(at + 1),) for at in range(len(data.once(_bars)))],
    )
)
register(
    _calls(
        "latency.cells",
        "cells with a call that was answered or failed",
        "cells with a call that was answered or failed",
        "answers from the cache are no calls",
        Aggregate.SUM,
        _called_cells,
        figure=_n_called_cells,
        all_names=_if_called,
        of="cells",
        stands_on="cases and variants with a call",
    )
)
