"""Power: what a suite can detect, from the variance of the runs that a store holds of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from steelyard.analysis.run_spread import RunSpread, run_spread, spread_of
from steelyard.errors import UsageError
from steelyard.metrics.table import Table
from steelyard.records import RunHeader, RunState, Verdict
from steelyard.stats.power import (
    REPEATS,
    Design,
    Needed,
    PowerFigures,
    VarianceComponents,
    cases_needed,
    designs,
    repeats_needed,
    smallest,
    smallest_at_worst,
)
from steelyard.store.base import Store

METRICS = ("pass_rate", "average")
MOST_RUNS = 10
_SIGNATURE = ("truth", "scorers", "schema", "judge", "rules")
_SYSTEM = ("target", "model", "prompts")
_MOSTLY = 0.5


def recorded_power(
    store: Store, suite: str, metric: str | None = None, detect: float | None = None, most_runs: int = MOST_RUNS
) -> PowerFigures:
    """What the newest run's cases and repeats detect, and what a change of `detect` (0.03 is 3 points) would take.

    Without `metric` it is the pass rate where the suite has a pass rule, else the average. UsageError when no run
    tells anything.
    """
    used, spreads, left_out, metric = _readable(store, suite, metric, most_runs)
    rate = metric == METRICS[0]
    spread = spread_of(spreads)
    if rate and detect is not None and detect > spread.mean:
        raise UsageError(
            f"the pass rate of {suite} is {100 * spread.mean:.1f} %, so it cannot drop by {100 * detect:g} points: give"
            " a smaller drop"
        )
    today = Design(spread.n_cases, spread.repeats)
    available = spread.of_difference(spread.repeats) is not None
    now, rise = (
        smallest(spread, today, rate=rate, rise=rise) if available else smallest_at_worst(spread, rate=rate, rise=rise)
        for rise in (False, True)
    )
    shown = designs(spread) if available else []
    return PowerFigures(
        suite=suite,
        metric=metric,
        runs=tuple(run.id for run in used),
        left_out=left_out,
        spread=spread,
        now=now,
        rise=rise,
        at_worst=not available,
        table=tuple((item, smallest(spread, item, rate=rate)) for item in shown),
        detect=detect,
        needed=() if detect is None or not available else _needed(spread, detect, rate=rate),
        repeats_needed=None if detect is None else repeats_needed(spread, spread.n_cases, detect, rate=rate),
    )


def _needed(spread: VarianceComponents, detect: float, *, rate: bool) -> tuple[Needed, ...]:
    repeats = sorted({*REPEATS, spread.repeats}) if spread.within is not None else [spread.repeats]
    return tuple(Needed(repeat, cases_needed(spread, repeat, detect, rate=rate)) for repeat in repeats)


def _readable(
    store: Store, suite: str, metric: str | None, most: int
) -> tuple[list[RunHeader], list[RunSpread], dict[str, int], str]:
    """The newest runs of one system and signature, with their spread; why others are excluded; the metric."""
    runs = store.runs(suite)
    if not runs:
        raise UsageError(
            f"there is no run of a suite {suite} in the store: steelyard run {suite} --repeats 3 makes one"
        )
    left_out: Counter[str] = Counter()
    used: list[RunHeader] = []
    spreads: list[RunSpread] = []
    for run in runs:
        if len(used) == most:
            break
        metric = metric or (METRICS[0] if run.description.passing else METRICS[1])
        why, result = _unfit(run, used), None
        if not why:
            why, result = _read(store, run, rate=metric == METRICS[0])
        if why or result is None:
            left_out[why] += 1
            continue
        used.append(run)
        spreads.append(result)
    if not used or metric is None:
        message = ", ".join(f"{count} {why}" for why, count in left_out.items())
        raise UsageError(f"no run of {suite} shows how much it varies: {message}")
    return used, spreads, dict(left_out), metric


def _unfit(run: RunHeader, used: Sequence[RunHeader]) -> str:
    if run.state is not RunState.ENDED:
        return "not ended"
    if run.verdict is Verdict.INVALID:
        return "INVALID"
    if run.suspect:
        return "suspect"
    if run.rescored_from:
        return "rescored, with the answers of another run"
    if used and any(run.signature.part(part) != used[0].signature.part(part) for part in _SIGNATURE):
        return "with another truth, scorer or judge than the newest"
    # How far two systems differ is not noise: it is what a comparison looks for.
    if used and any(run.signature.part(part) != used[0].signature.part(part) for part in _SYSTEM):
        return "of another target, model or prompts than the newest"
    return ""


def _read(store: Store, run: RunHeader, *, rate: bool) -> tuple[str, RunSpread | None]:
    if rate and not run.description.passing:
        return "without a pass rule", None
    columns = store.columns(run.id)
    if columns.n and len(columns.cached) and float(np.mean(columns.cached)) > _MOSTLY:
        return "mostly answered from the cache", None
    result = run_spread(columns, Table(columns, run.description), rate=rate)
    return ("", result) if len(result.means) > 1 else ("with fewer than two scored cases", None)
