"""What was taken for what, and where in the texts the errors are: over all findings of a run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from steelyard.metrics.table import FORMAT, Table
from steelyard.stats.arrays import Array, distinct
from steelyard.store.base import Columns
from steelyard.store.contents import Contents
from steelyard.suite.models import SuiteDescription

MOST_CONFUSIONS: Final = 10
_LOOKED_AT: Final = 50
_MOST_LOOKED_AT: Final = 1_000


@dataclass(frozen=True, slots=True)
class ConfusionFigure:
    """One thing that was taken for another."""

    code: str
    expected: str
    got: str
    count: int
    samples: int
    """In how many samples."""


@dataclass(frozen=True, slots=True)
class SectionFigure:
    """The errors that begin in one named region of the texts."""

    section: str
    count: int
    samples: int
    """In how many samples."""
    codes: dict[str, int]
    """How many of each code, most frequent first."""


def top_confusions(table: Table, suite: SuiteDescription, contents: Contents) -> list[ConfusionFigure]:
    """What was taken for something else, most frequent first, the first ten.

    A score that a judge put too low and an answer in the wrong shape are no confusions, nor is what differs in more
    than what it is called.
    """
    sample = contents.confusion_sample
    believed = np.flatnonzero(table.conclusive[sample]) if len(sample) else np.empty(0, dtype=int)
    if not len(believed):
        return []
    digest, first, inverse, n = np.unique(
        contents.confusion[believed], return_index=True, return_inverse=True, return_counts=True
    )
    frequent = np.lexsort((digest, -n))[:_MOST_LOOKED_AT]
    none = {FORMAT} | {each.finding_code for each in suite.components if each.kind in _JUDGED}
    found = []
    for rank, (code, expected, got) in _texts(contents, believed[first], frequent):
        if code not in none and expected != got:
            samples, _ = distinct(sample[believed[inverse == rank]].astype(int))
            found.append(ConfusionFigure(code, expected, got, int(n[rank]), len(samples)))
        if len(found) == MOST_CONFUSIONS:
            break
    return sorted(found, key=lambda each: (-each.count, each.code, each.expected, each.got))


_JUDGED: Final = ("dimension", "flag")


def _texts(contents: Contents, place: Array, frequent: Array) -> Iterator[tuple[int, tuple[str, str, str]]]:
    """The ranks with their texts, fetched a few at a time."""
    for at in range(0, len(frequent), _LOOKED_AT):
        some = frequent[at : at + _LOOKED_AT]
        yield from zip(some.tolist(), contents.confused(place[some].tolist()), strict=True)


def section_figures(table: Table, columns: Columns) -> list[SectionFigure]:
    """The errors by the region they begin in, those with most first; none when no finding names a region."""
    if len(columns.finding_section) != len(columns.finding_sample) or not any(columns.finding_sections):
        return []
    believed = table.conclusive[columns.finding_sample.astype(int)]
    sample, section = columns.finding_sample[believed].astype(int), columns.finding_section[believed]
    code = columns.finding_code[believed]
    found = []
    for number, name in enumerate(columns.finding_sections):
        here = section == number
        if not name or not here.any():
            continue
        counts = np.bincount(code[here].astype(int), minlength=len(columns.finding_codes))
        codes = {each: int(counts[i]) for i, each in enumerate(columns.finding_codes) if counts[i]}
        frequent = dict(sorted(codes.items(), key=lambda pair: (-pair[1], pair[0])))
        found.append(SectionFigure(name, int(here.sum()), len(distinct(sample[here])[0]), frequent))
    return sorted(found, key=lambda each: (-each.count, each.section))
