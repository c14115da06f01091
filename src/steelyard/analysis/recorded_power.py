"""What a suite can detect, from the runs that a store holds of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from steelyard.analysis.variance import RunSpread, run_spread, spread_of
from steelyard.errors import UserMistake
from steelyard.metrics.table import Table
from steelyard.records import RunHeader, RunState, Verdict
from steelyard.stats.power import (
    REPEATS,
    Design,
    Needed,
    PowerFigures,
    Spread,
    cases_needed,
    designs,
    repeats_needed,
    smallest,
    smallest_of,
)
from steelyard.store.base import Store

METRICS = ("pass_rate", "average")
MOST_RUNS = 10
_INSTRUMENT = ("truth", "scorers", "schema", "judge", "rules")
_MOSTLY = 0.5


def recorded_power(
    store: Store, suite: str, metric: str | None = None, detect: float | None = None, most_runs: int = MOST_RUNS
) -> PowerFigures:
    """What the newest run's cases and repeats detect, and what a change of `detect` (0.03 is 3 points) would take.

    Without `metric` it is the pass rate where the suite has a pass rule, else the average. UserMistake when no run
    tells anything.
    """
    used, spreads, left_out, metric = _readable(store, suite, metric, most_runs)
    rate = metric == METRICS[0]
    spread = spread_of(spreads)
    today = Design(spread.n_cases, spread.repeats)
    known = spread.of_difference(spread.repeats) is not None
    now = smallest(spread, today, rate=rate)
    if not known:
        now = smallest_of(spread.widest, spread, today, rate=rate)
    shown = designs(spread) if known else []
    return PowerFigures(
        suite=suite,
        metric=metric,
        runs=tuple(run.id for run in used),
        left_out=left_out,
        spread=spread,
        now=now,
        at_worst=not known,
        table=tuple((each, smallest(spread, each, rate=rate)) for each in shown),
        detect=detect,
        needed=() if detect is None or not known else _needed(spread, detect, rate=rate),
        repeats_needed=None if detect is None else repeats_needed(spread, spread.n_cases, detect, rate=rate),
    )


def _needed(spread: Spread, detect: float, *, rate: bool) -> tuple[Needed, ...]:
    repeats = sorted({*REPEATS, spread.repeats}) if spread.within is not None else [spread.repeats]
    return tuple(Needed(each, cases_needed(spread, each, detect, rate=rate)) for each in repeats)


def _readable(
    store: Store, suite: str, metric: str | None, most: int
) -> tuple[list[RunHeader], list[RunSpread], dict[str, int], str]:
    """The newest runs that are readings of one instrument, with their spread; why others are left out; the metric."""
    runs = store.runs(suite)
    if not runs:
        raise UserMistake(
            f"there is no run of a suite {suite} in the store: steelyard run {suite} --repeats 3 makes one"
        )
    left_out: Counter[str] = Counter()
    used: list[RunHeader] = []
    spreads: list[RunSpread] = []
    for run in runs:
        if len(used) == most:
            break
        metric = metric or (METRICS[0] if run.description.passing else METRICS[1])
        why, found = _unfit(run, used), None
        if not why:
            why, found = _read(store, run, rate=metric == METRICS[0])
        if why or found is None:
            left_out[why] += 1
            continue
        used.append(run)
        spreads.append(found)
    if not used or metric is None:
        told = ", ".join(f"{count} {why}" for why, count in left_out.items())
        raise UserMistake(f"no run of {suite} tells how much it varies: {told}")
    return used, spreads, dict(left_out), metric


def _unfit(run: RunHeader, used: Sequence[RunHeader]) -> str:
    if run.state is not RunState.ENDED:
        return "not ended"
    if run.verdict is Verdict.INVALID:
        return "INVALID"
    if run.rescored_from:
        return "rescored, with the answers of another run"
    if used and any(run.signature.get(part) != used[0].signature.get(part) for part in _INSTRUMENT):
        return "with another truth, scorer or judge than the newest"
    return ""


def _read(store: Store, run: RunHeader, *, rate: bool) -> tuple[str, RunSpread | None]:
    if rate and not run.description.passing:
        return "without a pass rule", None
    columns = store.columns(run.id)
    if columns.n and len(columns.cached) and float(np.mean(columns.cached)) > _MOSTLY:
        return "mostly answered from the cache", None
    found = run_spread(columns, Table(columns, run.description), rate=rate)
    return ("", found) if len(found.means) > 1 else ("with fewer than two cases that have a reading", None)
