"""How long calls took, traced to the calls: timeouts, first bytes, queues and the bars of the histogram."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise

from steelyard.analysis.explain_things import (
    Figure,
    Read,
    Thing,
    ThingFigure,
    Together,
    Words,
    distinct,
    mean,
    ranked,
    total,
)
from steelyard.analysis.latency_model import LatencyFigures, Spread
from steelyard.analysis.model import Summary
from steelyard.records import Outcome, Sample

_ANSWERED = "calls that failed, answers from the cache and calls that told no time are left out"
_TIMEOUTS = ("timeout", "connect_timeout")
_POINTS: dict[str, tuple[str, Together]] = {
    "mean": ("sum of times / n", mean("sum of times")),
    "min": ("the shortest time", ranked(0.0)),
    "max": ("the longest time", ranked(1.0)),
    "p50": ("the 50th percentile, between the two nearest", ranked(0.5)),
    "p95": ("the 95th percentile, between the two nearest", ranked(0.95)),
    "p99": ("the 99th percentile, between the two nearest", ranked(0.99)),
}
_BARE = "none: the report gives it without one"


def time_figures(summary: Summary) -> Iterator[Figure]:
    """Everything about latency that is not a gate's."""
    found = summary.latency
    if found is None:
        return
    yield from failed_calls((), "latency", found.timeouts, found.failures, lambda _: True)
    for name in ("first_byte", "queued"):
        spread = getattr(found, name)
        if spread is not None:
            yield from spread_figures(("latency", name), f"latency.{name}", spread, _reported(name))
    yield from _bars(found)


def spread_figures(names: tuple[str, ...], place: str, spread: Spread, read: Read) -> Iterator[Figure]:
    """Mean, extremes, percentiles and n of some times."""
    for point, (formula, together) in _POINTS.items() if spread.n else ():
        yield _figure((*names, point), f"{place}.{point}", getattr(spread, point), (formula, "s"), read, together)
    yield _figure((*names, "n"), f"{place}.n", spread.n, ("calls with a time", "count"), _ones(read), total("calls"))


def failed_calls(
    head: tuple[str, ...], place: str, timeouts: int, failures: int, here: Callable[[Sample], bool]
) -> Iterator[Figure]:
    """Calls that ran out of time, and calls that failed in any other way."""

    def failing(timed_out: bool) -> Read:
        def read(sample: Sample) -> Iterator[Thing]:
            failure = sample.attempt.failure
            if here(sample) and sample.outcome is Outcome.TARGET_FAILED:
                kind = "" if failure is None else failure.kind
                if (kind in _TIMEOUTS) is timed_out:
                    yield Thing(1.0, said=kind)

        return read

    late, other = ("calls that ran out of time", "count"), ("calls that failed in any other way", "count")
    yield _figure((*head, "latency", "timeouts"), f"{place}.timeouts", timeouts, late, failing(True), total("calls"))
    yield _figure((*head, "latency", "failures"), f"{place}.failures", failures, other, failing(False), total("calls"))


def _figure(
    names: tuple[str, ...],
    place: str,
    reported: float,
    told: tuple[str, str],
    read: Read,
    together: Together,
) -> Figure:
    words = Words(told[0], _ANSWERED, of="calls", unit=told[1], interval=_BARE)
    return Figure(names, place, reported, words, lambda: ThingFigure(read, together, words))


def called(words: Words) -> ThingFigure:
    """The cells in which somebody was called."""

    def read(sample: Sample) -> Iterator[Thing]:
        for thing in answered_calls(sample):
            if thing.value is not None or sample.outcome is Outcome.TARGET_FAILED:
                yield Thing(1.0)

    return ThingFigure(read, distinct("cells", lambda behind: (behind.case_id, behind.variant)), words)


def answered_calls(sample: Sample) -> Iterator[Thing]:
    """The time of a call that was answered."""
    attempt = sample.attempt
    if sample.outcome is Outcome.TARGET_FAILED or attempt.failure is not None:
        yield Thing(None, "the call failed")
    elif attempt.cached:
        yield Thing(None, "the answer came from the cache")
    else:
        told = attempt.latency > 0
        yield Thing(attempt.latency if told else None, "" if told else "the call told no time")


def _reported(name: str) -> Read:
    def read(sample: Sample) -> Iterator[Thing]:
        for thing in answered_calls(sample):
            value = getattr(sample.attempt, name)
            yield thing if thing.value is None else Thing(value, "" if value is not None else "the call told none")

    return read


def _ones(read: Read) -> Read:
    def ones(sample: Sample) -> Iterator[Thing]:
        for thing in read(sample):
            yield thing if thing.value is None else Thing(1.0, said=f"{thing.value:.4g} s")

    return ones


def _bars(found: LatencyFigures) -> Iterator[Figure]:
    edges = [found.bars[0].low, *(bar.high for bar in found.bars)] if found.bars else []
    for number, (low, high) in enumerate(pairwise(edges)):

        def read(sample: Sample, low: float = low, high: float = high) -> Iterator[Thing]:
            for thing in answered_calls(sample):
                inside = thing.value is not None and low <= thing.value < high
                if thing.value is None or inside:
                    yield thing if thing.value is None else Thing(1.0, said=f"{thing.value:.4g} s")

        told = (f"answered calls that took {low:g} s and more, and less than {high:g} s", "count")
        names, place = ("latency", "bar", str(number + 1)), f"latency.bars[{number}].count"
        yield _figure(names, place, found.bars[number].count, told, read, total("calls"))
