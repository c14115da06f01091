"""The earlier runs that a run is held against, and a figure over all of them, weighted by n."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from steelyard.analysis.intervals import Z, t_two_sided
from steelyard.analysis.model import Estimate
from steelyard.analysis.sound_runs import is_partial, is_reading, origin
from steelyard.records import RunHeader
from steelyard.store.base import Store

_LOOKED_AT = 200
"""The newest runs that a window is looked for in."""
_INSTRUMENT = ("cases", "truth", "scorers", "schema", "judge", "rules")


@dataclass(frozen=True, slots=True)
class Pooled:
    """One figure over several runs: each counts as much as the n that it stands on."""

    value: float
    n: int
    runs: int
    error: float | None
    """Standard error of `value` from what the runs themselves say; None when one of them does not."""
    spread: float | None
    """Standard deviation between runs; None with fewer than two."""


def earlier_runs(store: Store, header: RunHeader, *, before: float, most: int) -> list[RunHeader]:
    """The newest sound runs of the same instrument that were begun before a moment, newest first.

    Of answers that were weighed more than once only the newest weighing counts, and the run's own answers never do.
    """
    found: list[RunHeader] = []
    runs = _newest(store, header.suite_name, before, max(_LOOKED_AT, 20 * most))
    by_id = {each.id: each for each in runs}
    seen = {origin(header, by_id)}
    for each in runs:
        if len(found) == most:
            break
        asked = origin(each, by_id)
        sound = is_reading(each) and not is_partial(each)
        if each.created_at < before and asked not in seen and sound and same_instrument(each, header):
            seen.add(asked)
            found.append(each)
    return found


def _newest(store: Store, suite: str, before: float, enough: int) -> list[RunHeader]:
    """The newest runs, so many that `enough` of them were begun before a moment, which may be long ago."""
    limit = enough
    while True:
        runs = store.runs(suite, limit)
        if len(runs) < limit or sum(each.created_at < before for each in runs) >= enough // 2:
            return runs
        limit *= 4


def same_instrument(one: RunHeader, other: RunHeader) -> bool:
    """Whether two runs were read with the same cases, truth, scorers, shape, judge and rules."""
    return all((one.signature.get(part) or "") == (other.signature.get(part) or "") for part in _INSTRUMENT)


def pooled(estimates: Iterable[Estimate]) -> Pooled | None:
    """The figure over all runs that have it, weighted by n; None when none has."""
    known = [each for each in estimates if each.value is not None and each.n > 0]
    n = sum(each.n for each in known)
    if not n:
        return None
    values = [each.value or 0.0 for each in known]
    value = sum(each.n * one for each, one in zip(known, values, strict=True)) / n
    errors = [own_error(each) for each in known]
    told = [error for error in errors if error is not None]
    error = (
        math.sqrt(sum((each.n / n * one) ** 2 for each, one in zip(known, told, strict=True)))
        if len(told) == len(known)
        else None
    )
    spread = None
    if len(known) > 1:
        between = sum(each.n * (one - value) ** 2 for each, one in zip(known, values, strict=True)) / n
        spread = math.sqrt(between * len(known) / (len(known) - 1))
    return Pooled(value, n, len(known), error, spread)


def own_error(estimate: Estimate) -> float | None:
    """The standard error behind an interval; None without one."""
    if estimate.low is None or estimate.high is None:
        return None
    return (estimate.high - estimate.low) / (2 * Z)


def chance_of(now: Estimate, before: Pooled) -> float | None:
    """How likely chance alone puts a run so far from earlier ones; None when nobody can tell.

    Two kinds of noise are allowed for, and the larger p-value holds: that of the samples, and how far earlier runs lie
    apart (Student's t of one more run).
    """
    if now.value is None:
        return None
    away, found = abs(now.value - before.value), []
    own = own_error(now)
    if own is not None and before.error is not None:
        found.append(_normal(away, math.hypot(own, before.error)))
    if before.spread is not None:
        error = before.spread * math.sqrt(1 + 1 / before.runs)
        found.append(t_two_sided(away / error, before.runs - 1) if error > 0 else (1.0 if away == 0 else 0.0))
    return max(found, default=None)


def _normal(away: float, error: float) -> float:
    if error <= 0:
        return 1.0 if away == 0 else 0.0
    return math.erfc(away / error / math.sqrt(2))


def too_little(runs: Sequence[RunHeader], n: int, *, min_runs: int, min_n: int) -> str:
    """Why so few earlier runs tell nothing; "" when they are enough."""
    if len(runs) < min_runs:
        there = f"{len(runs)} earlier run{'' if len(runs) == 1 else 's'}"
        return f"{there} of the same instrument, and the window asks for {min_runs}"
    return f"earlier runs have n {n} together, and the window asks for {min_n}" if n < min_n else ""
