"""Comparable pairs cut by category, difficulty, variant and tag."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from steelyard.metrics.table import cut
from steelyard.pairing.changes import Cut
from steelyard.pairing.pairs import Pairing
from steelyard.pairing.runs import ComparedRun
from steelyard.stats.arrays import Array, distinct, translated
from steelyard.stats.paired import case_starts
from steelyard.store.base import Columns
from steelyard.suite.case import NONE

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
