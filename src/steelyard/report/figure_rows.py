"""The rows of a stored run, as figures are explained by them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from steelyard.analysis.explain import Explanation, Key, Words, explain
from steelyard.analysis.model import Estimate, Slice
from steelyard.metrics.own import load_metrics
from steelyard.metrics.registry import Aggregate, Contributions, Reasons
from steelyard.metrics.run_data import RunData
from steelyard.records import RunHeader, Sample
from steelyard.report.details import why_wrong
from steelyard.stats.arrays import Array
from steelyard.store.base import Store

Keys = Callable[[int], Key]
Rows = tuple[Contributions, Keys]
Thing = tuple[float | None, str]
"""A value, or None when it is not in the figure; and in words how it came about, or why it is not in it."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure of a report."""

    names: tuple[str, ...]
    place: str
    """In `report --json`: `latency.cells[3].spread.p50`."""
    reported: Estimate | float
    words: Words
    rows: Callable[[], Rows]
    how: Aggregate | None = Aggregate.SUM
    point: float | None = None
    absent: int = 0

    def explained(self, name: str) -> Explanation:
        """The figure with everything behind it."""
        words = replace(self.words, about=f"{self.place} of report --json")
        found, keys = self.rows()
        return explain(name, words, found, keys, self.reported, how=self.how, point=self.point, absent=self.absent)


def sliced(factor: str, name: str) -> tuple[str, ...]:
    """The first names of a figure of a slice; none of the whole run's."""
    return (factor, name) if factor else ()


def case_names(case_id: str, variant: str) -> tuple[str, ...]:
    """The first names of a figure of one cell."""
    return ("variant", variant, "case", case_id) if variant else ("case", case_id)


class RunRows:
    """A stored run, and its rows as figures want them."""

    def __init__(self, store: Store, header: RunHeader) -> None:
        self.store, self.header, self.suite = store, header, header.description
        load_metrics(header)
        items = store.items(header.id) if self.suite.stability else None
        self.data = RunData(store.columns(header.id), self.suite, store.checks(header.id), items)
        self.table = self.data.table

    def key(self, sample: int) -> Key:
        """Case, variant and repeat of a sample."""
        columns = self.data.columns
        case, variant = int(columns.case[sample]), int(columns.variant[sample])
        return columns.case_ids[case], columns.variants[variant], int(columns.repeat[sample])

    def cell_key(self, cell: int) -> Key:
        """Case and variant of a cell."""
        return (*self.data.cells.name(cell), None)

    @cached_property
    def _codes(self) -> dict[int, Counter[str]]:
        found: dict[int, Counter[str]] = {}
        columns = self.data.columns
        for sample, code in zip(columns.finding_sample.tolist(), columns.finding_code.tolist(), strict=True):
            found.setdefault(sample, Counter())[columns.finding_codes[code]] += 1
        return found

    def detail(self, sample: int) -> str:
        """What went wrong in a sample: its failure, or the codes that were found in it."""
        columns, table = self.data.columns, self.table
        if len(columns.failure) == table.n and columns.failure[sample] >= 0:
            return columns.failures[int(columns.failure[sample])]
        codes = ", ".join(code if n == 1 else f"{code} x {n}" for code, n in self._codes.get(sample, Counter()).items())
        outcome = table.outcomes[int(table.outcome[sample])]
        outcome = "" if outcome == "scored" else outcome
        return f"{outcome}: {codes}" if outcome and codes else outcome or codes

    def samples(self, values: Array, rows: Array | None = None, excluded: Reasons = (), noted: Reasons = ()) -> Rows:
        """Samples, all of them or some, with their values."""
        at = np.arange(self.table.n) if rows is None else rows

        def some(reasons: Reasons) -> Reasons:
            return tuple((why, None if mask is None else mask[at]) for why, mask in reasons)

        found = Contributions(
            values[at].astype(float),
            excluded=some(excluded),
            noted=some(noted),
            detail=lambda row: self.detail(int(at[row])),
        )
        return found, lambda row: self.key(int(at[row]))

    def marked(self, mask: Array) -> Callable[[], Rows]:
        """The samples that a mask marks, each counting 1."""
        return lambda: self.samples(np.ones(self.table.n), np.flatnonzero(mask))

    @cached_property
    def read(self) -> list[tuple[Sample, str]]:
        """Every sample without its answer, and what went wrong in it."""
        found = []
        for sample, _ in self.store.samples(self.header.id):
            found.append((sample, why_wrong(sample)))
            sample.attempt = replace(sample.attempt, text=None)
        return found

    def things(self, things: Callable[[Sample, str], Iterable[Thing]], excluded: str = "") -> Callable[[], Rows]:
        """Whatever is in samples, one row a thing."""

        def rows() -> Rows:
            found = [(sample.key, thing) for sample, why in self.read for thing in things(sample, why)]
            values = np.array([np.nan if value is None else value for _, (value, _) in found])
            return (
                Contributions(values, excluded=((excluded, None),), detail=lambda row: found[row][1][1]),
                lambda row: found[row][0],
            )

        return rows


def samples_in(rows: RunRows, part: Slice) -> Array:
    """The samples of a slice."""
    groups = rows.data.groups[part.factor]
    if part.name not in groups.names:
        return np.empty(0, dtype=int)
    return groups.samples_where(groups.names.index(part.name), np.ones(rows.table.n, dtype=bool))
