"""Power from the variance of recorded runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from steelyard.errors import UsageError
from steelyard.frozen import frozen
from steelyard.metrics.table import Table
from steelyard.records import RunHeader, RunState, Verdict
from steelyard.stats.arrays import Array, distinct
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
from steelyard.store.base import Columns, Store

# Where the noise of a suite's runs comes from: cases that differ, repeats of a case that differ, and cases that answer
# differently to a change of the system.


@frozen
class RunSpread:
    """One run by unit (case, or cluster of cases): the mean of each and how many samples are behind it, and how repeats
    of one case spread."""

    names: tuple[str, ...]
    means: Array
    sizes: Array
    squares: float
    """Squared deviations of samples from the mean of their case and variant."""
    df: int
    """Samples beyond the first of each case and variant; 0 when nothing was repeated."""
    repeats: int
    """Repeats of most cells."""
    variants: int
    n_cases: int


def run_spread(columns: Columns, table: Table, *, rate: bool) -> RunSpread:
    """The scores of a run, or with `rate` whether samples pass, by case."""
    values = table.passed().astype(float) if rate else table.score()
    available = (values >= 0) & table.conclusive if rate else ~np.isnan(values) & table.conclusive
    values, case = values[available], columns.case[available].astype(np.int64)
    cells = case * max(1, len(columns.variants)) + columns.variant[available]
    cell = np.unique(cells, return_inverse=True)[1]
    sizes_of_cells = np.bincount(cell) if len(cell) else np.zeros(0, dtype=int)
    centre = np.bincount(cell, values) / sizes_of_cells if len(cell) else np.zeros(0)
    apart = values - centre[cell]
    codes, sizes = distinct(table.unit[available].astype(np.int64))
    sums = (
        np.bincount(table.unit[available], values, minlength=len(table.unit_names))[codes] if len(case) else np.zeros(0)
    )
    n_cases = len(distinct(case)[0])
    variants = max(1, round(len(sizes_of_cells) / max(1, n_cases)))
    return RunSpread(
        names=tuple(table.unit_names[int(code)] for code in codes),
        means=sums / sizes,
        sizes=sizes,
        squares=float((apart**2).sum()),
        df=len(values) - len(sizes_of_cells),
        repeats=int(np.median(sizes_of_cells)) if len(sizes_of_cells) else 0,
        variants=variants,
        n_cases=n_cases,
    )


def spread_of(runs: Sequence[RunSpread]) -> VarianceComponents:
    """The parts of the variance over runs of one suite, newest first; there must be one with two cases."""
    newest = runs[0]
    df = sum(run.df for run in runs)
    within = sum(run.squares for run in runs) / df if df else None
    changes = [result for new, old in pairwise(runs) if (result := _change(new, old)) is not None]
    weights = sum(n - 1 for n, _, _ in changes)
    change = sum((n - 1) * variance for n, variance, _ in changes) / weights if weights else None
    noise = sum((n - 1) * share for n, _, share in changes) / weights if weights else 0.0
    response = None if change is None or within is None else max(0.0, change - within * noise)
    mean = float(newest.means.mean())
    of_means = float(newest.means.var(ddof=1))
    return VarianceComponents(
        n_runs=len(runs),
        n_pairs=len(changes),
        n_cases=newest.n_cases,
        repeats=newest.repeats,
        variants=newest.variants,
        mean=mean,
        between=max(0.0, of_means - (within or 0.0) * float((1 / newest.sizes).mean())),
        within=within,
        response=response,
        change=change,
        df=float(weights or df),
        per_unit=newest.n_cases / len(newest.means),
    )


def _change(new: RunSpread, old: RunSpread) -> tuple[int, float, float] | None:
    """Over the cases of both runs: how many, the variance of their changes, and how many times the variance of a
    single sample is in it; None for fewer than two."""
    place = {name: i for i, name in enumerate(old.names)}
    both = [(i, place[name]) for i, name in enumerate(new.names) if name in place]
    if len(both) < 2:
        return None
    mine, theirs = (np.array(item) for item in zip(*both, strict=True))
    moves = new.means[mine] - old.means[theirs]
    noise = float((1 / new.sizes[mine] + 1 / old.sizes[theirs]).mean())
    return len(both), float(moves.var(ddof=1)), noise


# What a suite can detect, from the runs that a store holds of it.

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
