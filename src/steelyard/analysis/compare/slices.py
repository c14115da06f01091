"""Comparison by slice, and of failed calls."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from steelyard.analysis.compare.metrics import Cut, Figure, judged, metric_figure
from steelyard.analysis.compare.model import MetricChange, SliceChange
from steelyard.analysis.compare.pairing import ComparedRun, Pairing
from steelyard.metrics.registry import metric
from steelyard.metrics.table import cut
from steelyard.records import Outcome
from steelyard.stats.arrays import Array, distinct, translated
from steelyard.stats.groups import Groups
from steelyard.stats.paired import case_starts
from steelyard.store.base import Columns
from steelyard.suite.case import NONE

# Comparable pairs cut by category, difficulty, variant and tag, and what changed in each group.

DIFFERS = "(differs)"
"""The group of pairs that A and B put into different ones."""


def cuts(a: ComparedRun, b: ComparedRun, pairing: Pairing) -> dict[str, Cut]:
    """The groups of every factor that the pairs have; `""` is all of them."""
    first, second = a.columns, b.columns
    variant = (first.variant[pairing.first], first.variants)
    category = _agreed(first.category, first.categories, second.category, second.categories, pairing)
    difficulty = _agreed(first.difficulty, first.difficulties, second.difficulty, second.difficulties, pairing)
    tag_sample, tag, tags = _shared_tags(first, second, pairing)
    paired = replace(
        first,
        n=len(pairing),
        case=pairing.unit,
        case_ids=[""] * len(case_starts(pairing.unit)),
        clusters=[],
        variant=variant[0],
        variants=variant[1],
        category=category[0],
        categories=category[1],
        difficulty=difficulty[0],
        difficulties=difficulty[1],
        tag_sample=tag_sample,
        tag=tag,
        tags=tags,
    )
    counts = "cluster" if first.clusters or second.clusters else "case"
    return {factor: Cut(groups, pairing.unit, counts) for factor, groups in cut(paired, a.suite, 0).items()}


def slices(
    factor: str, cut: Cut, figures: Sequence[Figure], moves: tuple[Array, Array], case: Array, *, confounded: bool
) -> tuple[SliceChange, ...]:
    """What changed in each group of a factor; `moves` marks the pairs that were fixed and those that were broken.

    The figure that comes first is tested over all groups as one table, the others as another.
    """
    names = [figure.name for figure in figures]
    by_figure = [cut.changes(figure) for figure in figures]
    main = judged(by_figure[0], confounded=confounded, every=True) if by_figure else []
    rest = judged([change for changes in by_figure[1:] for change in changes], confounded=confounded, every=True)
    fixed, broken = moves
    results = []
    for g, rows in enumerate(cut.rows):
        mine: list[MetricChange] = [main[g]] + [rest[i * len(cut.rows) + g] for i in range(len(names) - 1)]
        results.append(
            SliceChange(
                factor=factor,
                name=cut.groups.names[g],
                n=len(rows),
                n_cases=len(case_starts(case[rows])),
                fixed=int(fixed[rows].sum()),
                broken=int(broken[rows].sum()),
                metrics=tuple(mine),
            )
        )
    return tuple(results)


def _agreed(
    codes_a: Array, names_a: list[str], codes_b: Array, names_b: list[str], pairing: Pairing
) -> tuple[Array, list[str]]:
    """The group of each pair; one of its own for pairs that the two runs put into different ones."""
    names = sorted({*names_a, *names_b})
    place = {name: i for i, name in enumerate(names)}
    item = _translated(codes_a, [place[name] for name in names_a])[pairing.first]
    other = _translated(codes_b, [place[name] for name in names_b])[pairing.second]
    return np.where(item == other, item, len(names)).astype(int), [*names, DIFFERS if names else NONE]


def _translated(codes: Array, to: list[int]) -> Array:
    return translated(codes, to).astype(int)


def _shared_tags(a: Columns, b: Columns, pairing: Pairing) -> tuple[Array, Array, list[str]]:
    """Pairs and the tags that they have in both runs, in the order of the pairs."""
    names = sorted({*a.tags} & {*b.tags})
    place = {name: i for i, name in enumerate(names)}
    both = []
    for columns, positions in ((a, pairing.first), (b, pairing.second)):
        pair_of = np.full(columns.n + 1, -1)
        pair_of[positions] = np.arange(len(positions))
        if not len(columns.tag):
            return np.empty(0, dtype=int), np.empty(0, dtype=int), []
        pair = pair_of[columns.tag_sample.astype(int)]
        tag = _translated(columns.tag, [place.get(name, -1) for name in columns.tags])
        here = (pair >= 0) & (tag >= 0)
        both.append(pair[here] * max(1, len(names)) + tag[here])
    mine, theirs = (distinct(item)[0] for item in both)
    shared = np.intersect1d(mine, theirs, assume_unique=True)
    return shared // max(1, len(names)), shared % max(1, len(names)), names


# How often a target or a judge failed, or an answer had the wrong shape, in A and in B.

_INCONCLUSIVE = (Outcome.TARGET_FAILED, Outcome.JUDGE_FAILED)


def failure_changes(a: ComparedRun, b: ComparedRun, pairing: Pairing, *, bounds: bool = False) -> list[MetricChange]:
    """Every rate of failure in A and in B, not yet judged."""
    first, second, unit = pairing.asked
    repeated = len(case_starts(unit)) < len(unit)
    everything = Cut(Groups([""], np.zeros(len(unit), dtype=np.int8), unit if repeated else None), unit)
    return everything.of_all(failure_figures(a, b, first, second), bounds=bounds)


def failure_figures(a: ComparedRun, b: ComparedRun, first: Array, second: Array) -> Iterator[Figure]:
    """Every rate of failure, as columns of the pairs that were asked the same."""

    def sides(*outcomes: Outcome) -> tuple[Array, Array]:
        return _is(a, outcomes)[first], _is(b, outcomes)[second]

    # Both kinds of failures are parts of the inconclusive.
    whole = metric("inconclusive_rate")
    yield metric_figure(whole, a, *sides(*_INCONCLUSIVE))
    yield metric_figure(whole, a, *sides(Outcome.TARGET_FAILED), name="target_failed_rate")
    if a.mode is not None or b.mode is not None:
        yield metric_figure(whole, a, *sides(Outcome.JUDGE_FAILED), name="judge_failed_rate")
    silent = np.logical_or(*sides(*_INCONCLUSIVE))
    malformed = [np.where(silent, np.nan, column) for column in sides(Outcome.MALFORMED)]
    yield metric_figure(metric("malformed_rate"), a, malformed[0], malformed[1])


def _is(run: ComparedRun, outcomes: tuple[Outcome, ...]) -> Array:
    """1 for the samples that ended so, else 0."""
    codes = [i for i, name in enumerate(run.columns.outcomes) if name in outcomes]
    return np.isin(run.columns.outcome, codes).astype(float)
