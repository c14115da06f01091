"""Where the noise of a suite's runs comes from: cases that differ, repeats of a case that differ, and cases that answer
differently to a change of the system."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from steelyard.frozen import frozen
from steelyard.metrics.table import Table
from steelyard.stats.arrays import Array, distinct
from steelyard.stats.power import VarianceComponents
from steelyard.store.base import Columns


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
