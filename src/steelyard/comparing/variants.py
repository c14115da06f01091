"""One variant of a run as if it were a run, so that two variants of one run are compared as two runs are: by case."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from steelyard.analysis.columns_at import columns_at, listed_at
from steelyard.errors import UsageError
from steelyard.metrics.own_values import with_values
from steelyard.pairing.runs import ComparedRun
from steelyard.records import Item, RunHeader
from steelyard.stats.arrays import Array
from steelyard.store.contents import Confused, Contents
from steelyard.suite.models import Variant
from steelyard.suite.yaml import listed, meant


def two_variants(run: ComparedRun, first: str, second: str) -> tuple[ComparedRun, ComparedRun]:
    """Two variants of a run, each as a run of its own; UsageError when the run has not both of them."""
    names = [name for name in run.suite.variant_names if name]
    for name in (first, second):
        if name not in names:
            there = meant(name, names) or f"; there are: {listed([repr(name) for name in names]) if names else 'none'}"
            raise UsageError(f"run {run.header.id} has no variant {name!r}{there}")
    if first == second:
        raise UsageError(f"both variants are {first!r}: name two")
    return _of_variant(run, first), _of_variant(run, second)


def _of_variant(run: ComparedRun, name: str) -> ComparedRun:
    columns = run.columns
    codes = [code for code, variant in enumerate(columns.variants) if variant == name]
    remaining = np.isin(columns.variant, codes)
    place = np.cumsum(remaining) - 1
    suite = with_values(run.suite, run.data, remaining) if run.suite.metrics else run.suite
    planned = run.header.n_planned // max(1, len(run.suite.variants))
    part = suite.model_copy(update={"variants": (Variant(name),), "n_planned": planned})
    header: RunHeader = replace(run.header, suite=part.data(), n_planned=planned)
    mine = columns_at(columns, remaining, place)
    items, digests, lengths, samples = run.items, run.digests, run.lengths, run.samples

    def items_of(of_all: Iterable[tuple[int, tuple[Item, ...]]]) -> Iterator[tuple[int, tuple[Item, ...]]]:
        return ((int(place[at]), item) for at, item in of_all if remaining[at])

    def of_this(**options: Any) -> Iterator[Any]:
        return (pair for pair in (samples(**options) if samples else ()) if pair[0].variant == name)

    return ComparedRun(
        header,
        replace(mine, variant=np.zeros_like(mine.variant), variants=[name]),
        None if run.contents is None else _contents(run.contents, remaining, place),
        None if run.checks is None else listed_at(run.checks, "", remaining, place),
        None if items is None else lambda: items_of(items()),
        None if digests is None else lambda: digests()[remaining],
        None if lengths is None else lambda: lengths()[remaining],
        of_this,
        # Other runs of the same system, and the figures that the store has of this one, are of all variants.
        store=None,
    )


def _contents(contents: Contents, remaining: Array, place: Array) -> Contents:
    inside = np.flatnonzero(remaining[contents.confusion_sample.astype(int)])

    def confused(chosen: Sequence[int]) -> list[Confused]:
        return contents.confused([int(inside[item]) for item in chosen])

    return Contents(
        contents.case_hash[remaining],
        contents.confusion[inside],
        place[contents.confusion_sample[inside].astype(int)],
        confused,
        contents.cases,
    )
