"""How far the repeats of a cell bring the same items: every repeat compared with every other."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import field
from heapq import heappop, heappush
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from steelyard.frozen import slotted
from steelyard.metrics.cells import CellGroups
from steelyard.metrics.kinds import Aggregate
from steelyard.metrics.missing import matters
from steelyard.metrics.registry import (
    Compared,
    Contributions,
    Level,
    Metric,
    Names,
    register,
)
from steelyard.metrics.table import Table
from steelyard.records import Item
from steelyard.stats.arrays import Array
from steelyard.stats.assignment import best_assignment
from steelyard.stats.intervals import Estimate, settled
from steelyard.suite.models import StabilityRules

if TYPE_CHECKING:
    from steelyard.metrics.run_data import RunData

Placed = tuple[int, tuple[Item, ...]]
"""The position of a sample in the plan, and the items of its answer."""
Answers = list[tuple[Item, ...]]
"""The items of every repeat of a cell whose answer could be read."""


PRESENCE = "stability.presence"
"""The name of the gate on presence."""


@slotted
class Alikeness:
    """Sums over all pairs of repeats: items that both have of those in either, and how alike each field of them is."""

    shared: int = 0
    """Items that both repeats have, which are the comparisons of every field."""
    either: int = 0
    alike: list[float] = field(default_factory=list)
    """By field, the sum of what the shared items have in common, each between 0 and 1."""


def alikeness(answers: Sequence[Sequence[Item]], how: Sequence[str]) -> Alikeness:
    """All pairs of repeats of one cell, items paired by key.

    Where a key occurs several times, as many are paired as both repeats have, and for each field in the way that
    makes it most alike.
    """
    by_key: dict[str, list[list[Item]]] = defaultdict(list)
    for answer in answers:
        groups: dict[str, list[Item]] = {}
        for item in answer:
            groups.setdefault(item.key, []).append(item)
        for key, group in groups.items():
            by_key[key].append(group)
    result = Alikeness(alike=[0.0] * len(how))
    # Sorted, so that the sums of fractions come out the same whatever came first.
    for _, runs in sorted(by_key.items()):
        shared, either = common([len(run) for run in runs], len(answers))
        result.shared += shared
        result.either += either
        for at, kind in enumerate(how):
            compare = overlap_of_all_pairs if kind == "overlap" else same_in_all_pairs
            result.alike[at] += compare([[item.values[at] for item in run] for run in runs])
    return result


class Seen:
    """What was summed up of every cell."""

    def __init__(self, n: int, fields: list[str], read: Array) -> None:
        self.fields, self._read = fields, read
        self.runs = np.zeros(n, dtype=np.int32)
        self.keyless = 0
        self.shared, self.either = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
        self.alike = np.zeros((n, len(fields)))

    def add(self, cell: int, result: Alikeness, answers: Answers) -> None:
        self.runs[cell] = len(answers)
        self.keyless += sum(not item.key for answer in answers for item in answer)
        self.shared[cell], self.either[cell] = result.shared, result.either
        self.alike[cell] = result.alike

    @property
    def apart(self) -> Array:
        """Cells of cases that ask for no items: an answer was read, and none has any."""
        return np.asarray(self._read & (self.runs == 0))

    def shares(self) -> dict[str, Array]:
        """By field, and under `PRESENCE`, how alike the repeats of every cell are; NaN where it is undecided."""
        results = {PRESENCE: _ratio(self.shared, self.either)}
        return results | {name: _ratio(self.alike[:, at], self.shared) for at, name in enumerate(self.fields)}

    def compared(self, what: str) -> Array:
        """By cell, the comparisons behind a field or, of `presence`, the items in either repeat."""
        return self.either if what == "presence" else self.shared

    def of(self, cell: int) -> tuple[Estimate, dict[str, Estimate]]:
        shared = int(self.shared[cell])
        return _share(shared, int(self.either[cell])), {
            name: _share(float(self.alike[cell, at]), shared) for at, name in enumerate(self.fields)
        }


def seen_in(items: Iterable[Placed], table: Table, cells: CellGroups, rules: StabilityRules) -> Seen:
    """What the repeats of every cell have in common.

    `items` come in the order of the plan with the position of their sample: one cell after the other is looked at, and
    none is kept. Those of inconclusive samples are left out, as all their readings are.
    """
    seen = Seen(cells.n, list(rules.fields), _read(table, cells))
    for cell, answers in _by_cell(items, table, cells):
        seen.add(cell, alikeness(answers, list(rules.fields.values())), answers)
    return seen


def _by_cell(items: Iterable[Placed], table: Table, cells: CellGroups) -> Iterable[tuple[int, Answers]]:
    """Cells with the answers that could be read, each as soon as its last sample is past."""
    last = np.zeros(cells.n, dtype=np.int64)
    last[cells.of_sample] = np.arange(len(cells.of_sample))
    answers: dict[int, Answers] = {}
    ends: list[tuple[int, int]] = []
    for position, answer in items:
        while ends and ends[0][0] < position:
            cell = heappop(ends)[1]
            yield cell, answers.pop(cell)
        if table.conclusive[position]:
            cell = int(cells.of_sample[position])
            if cell not in answers:
                answers[cell] = []
                heappush(ends, (int(last[cell]), cell))
            answers[cell].append(answer)
    yield from answers.items()


def _read(table: Table, cells: CellGroups) -> Array:
    """Cells with an answer that was read and scored: one without items is of a case that asks for none."""
    read = cells.of_sample[table.scored | table.excluded]
    return np.bincount(read, minlength=cells.n) > 0


def _ratio(sums: Array, of: Array) -> Array:
    return np.where(of > 0, sums / np.maximum(of, 1), np.nan)


def _share(total: float, n: int) -> Estimate:
    return Estimate(settled(total / n) if n else None, n)


def common(counts: Sequence[int], runs: int) -> tuple[int, int]:
    """Summed over all pairs of `runs` repeats, the smaller and the larger of their counts; one not given has 0.

    In ascending order a count is the smaller one beside all that come after it, and the larger one beside all before.
    """
    ranked = sorted(counts)
    zeros = runs - len(ranked)
    smaller = sum(count * (len(ranked) - 1 - at) for at, count in enumerate(ranked))
    larger = sum(count * (zeros + at) for at, count in enumerate(ranked))
    return smaller, larger


def same_in_all_pairs(runs: Sequence[Sequence[Any]]) -> float:
    """How many values of two repeats can be paired as the same, summed over all pairs of repeats."""
    by_value: dict[Hashable, list[int]] = defaultdict(list)
    for run in runs:
        for value, count in Counter(map(identity, run)).items():
            by_value[value].append(count)
    return float(sum(common(counts, len(runs))[0] for counts in by_value.values()))


def identity(value: Any) -> Hashable:
    """What is equal for the same plain data and only for it: 1 and 1.0 are the same, 1 and true are not."""
    if isinstance(value, bool):
        return ("truth", value)
    if isinstance(value, float) and math.isnan(value):
        return ("not a number",)
    if isinstance(value, (list, tuple)):
        return ("list", tuple(map(identity, value)))
    if isinstance(value, dict):
        return ("group", frozenset((key, identity(inner)) for key, inner in value.items()))
    return value if isinstance(value, Hashable) else repr(value)


_MOST_AT_ONCE = 1_000_000
"""Numbers that are worked on at a time."""
_MOST_BY_SUBSETS = 8
"""More items of one key than this are paired one pair of repeats at a time."""


def overlap_of_all_pairs(runs: Sequence[Sequence[Any]]) -> float:
    """How alike the values of two repeats are when paired in the best way, summed over all pairs of repeats."""
    stretches, codes = _coded(runs)
    by_size: dict[int, Counter[tuple[int, ...]]] = {}
    for run in codes:
        by_size.setdefault(len(run), Counter())[tuple(sorted(run))] += 1
    # Repeats with the very same values agree in all of them.
    total = float(sum(size * n * (n - 1) // 2 for size, times in by_size.items() for n in times.values()))
    alike = _Alike(stretches)
    tables = [_Table(times) for _, times in sorted(by_size.items())]
    for at, few in enumerate(tables):
        for many in tables[at:]:
            total += _between(few, many, alike)
    return total


class _Table:
    """The different repeats with so many values, as codes, and how often each came."""

    def __init__(self, times: Counter[tuple[int, ...]]) -> None:
        groups = sorted(times)
        self.codes = np.array(groups).T
        """Values x repeats, so that the same value of all repeats lies side by side."""
        self.times = np.array([times[group] for group in groups], dtype=float)


def _between(few: _Table, many: _Table, alike: _Alike) -> float:
    """Every repeat of one table with every one of another whose repeats have more values, or with all of its own."""
    width = len(many.codes)
    at_once = _MOST_AT_ONCE // max(len(few.codes) * width, 2 ** min(width, _MOST_BY_SUBSETS))
    total = 0.0
    for left, right in _pairs(len(few.times), None if many is few else len(many.times), at_once):
        best = _best(alike(few.codes[:, left][:, None], many.codes[:, right][None]))
        total += float((best * few.times[left] * many.times[right]).sum())
    return total


def _coded(runs: Sequence[Sequence[Any]]) -> tuple[list[tuple[float, float] | None], list[list[int]]]:
    """The different values (a stretch, or None for anything else), and every repeat as codes into them."""
    available: dict[Any, tuple[tuple[float, float] | None, str]] = {}
    named = [[_noted(value, available) for value in run] for run in runs]
    # In an order of their own, so that the sums come out the same whatever came first.
    order = sorted(
        available, key=lambda name: (available[name][0] is None, available[name][0] or (), available[name][1])
    )
    code = {name: at for at, name in enumerate(order)}
    return [available[name][0] for name in order], [[code[name] for name in run] for run in named]


def _noted(value: Any, available: dict[Any, tuple[tuple[float, float] | None, str]]) -> Any:
    stretch = stretch_of(value)
    name = stretch or ("other", identity(value))
    if name not in available:
        available[name] = stretch, "" if stretch else repr(name)
    return name


def stretch_of(value: Any) -> tuple[float, float] | None:
    """The start and the end of a stretch, given as a list of two numbers or as `start` and `end`; None of all else."""
    if isinstance(value, dict):
        value = [value.get("start"), value.get("end")]
    if not isinstance(value, (list, tuple)) or len(value) != 2:
        return None
    if any(isinstance(end, bool) or not isinstance(end, (int, float)) for end in value):
        return None
    try:
        start, end = float(value[0]), float(value[1])
    except OverflowError:
        return None
    return (start, end) if start < end and math.isfinite(end - start) else None


class _Alike:
    """How alike any two of the different values are."""

    def __init__(self, stretches: Sequence[tuple[float, float] | None]) -> None:
        n = len(stretches)
        self._start, self._end = np.array([stretch or (0.0, 0.0) for stretch in stretches]).reshape(n, 2).T
        self._stretch = np.array([stretch is not None for stretch in stretches], dtype=bool)
        every = np.arange(n)
        self._table = self._of(every[:, None], every) if n * n <= _MOST_AT_ONCE else None

    def __call__(self, item: Array, other: Array) -> Array:
        """For values given by their codes."""
        return self._of(item, other) if self._table is None else self._table[item, other]

    def _of(self, item: Array, other: Array) -> Array:
        shared = np.minimum(self._end[item], self._end[other]) - np.maximum(self._start[item], self._start[other])
        shared = np.maximum(shared, 0.0)
        either = self._end[item] - self._start[item] + self._end[other] - self._start[other] - shared
        stretches = self._stretch[item] & self._stretch[other]
        result: Array = np.where(stretches, shared / np.where(stretches, either, 1.0), item == other)
        return result


def _pairs(n: int, others: int | None, at_once: int) -> Iterator[tuple[Array, Array]]:
    """Every pair of `n` groups with each other (`others` None) or with other groups, so many at a time."""
    rows = max(1, at_once // max(1, n if others is None else others))
    for first in range(0, n, rows):
        entry = np.arange(first, min(first + rows, n))
        other = np.arange(n if others is None else others)
        left, right = (item.ravel() for item in np.meshgrid(entry, other, indexing="ij"))
        retained = left < right if others is None else slice(None)
        yield left[retained], right[retained]


def _best(alike: Array) -> Array:
    """Of tables of rows x columns, the largest sum of each with one value from every row, none from the same column."""
    rows, columns, _ = alike.shape
    if rows == 1:
        only: Array = alike[0].max(axis=0)
        return only
    if columns <= _MOST_BY_SUBSETS:
        return _by_subsets(alike)
    tables = np.moveaxis(alike, 2, 0).tolist()
    return np.array([sum(table[row][column] for row, column in best_assignment(table)) for table in tables])


def _by_subsets(alike: Array) -> Array:
    """The best sums of many small tables at once: the first rows with every set of so many columns, row by row."""
    rows, columns, n = alike.shape
    best = {0: np.zeros(n)}
    spare = np.empty(n)
    for row in range(rows):
        longer: dict[int, Array] = {}
        for chosen in combinations(range(columns), row + 1):
            taken = sum(1 << column for column in chosen)
            sums = best[taken ^ (1 << chosen[0])] + alike[row, chosen[0]]
            for column in chosen[1:]:
                np.add(best[taken ^ (1 << column)], alike[row, column], out=spare)
                np.maximum(sums, spare, out=sums)
            longer[taken] = sums
        best = longer
    last: Array = np.maximum.reduce(list(best.values()))
    return last


def _contributions(data: RunData, names: Names) -> Contributions:
    seen = data.stability
    field = names[0] if names else PRESENCE
    if seen is None:
        return Contributions(np.full(data.cells.n, np.nan), excluded=(("repeats are not compared", None),))
    at = None if field == PRESENCE else seen.fields.index(field)

    def detail(cell: int) -> str:
        both = seen.shared[cell] if at is None else seen.alike[cell, at]
        of = seen.either[cell] if at is None else seen.shared[cell]
        return f"{both:g} of {of} over {seen.runs[cell]} repeats"

    shares = seen.shares()[field]
    return Contributions(
        shares,
        not_missing=seen.apart,
        possible=_possible(data, seen, shares),
        excluded=(
            ("the case asks for no items (not missing)", seen.apart),
            ("nothing to compare in two repeats", None),
        ),
        detail=detail,
    )


def _possible(data: RunData, seen: Seen, shares: Array) -> tuple[Array, Array]:
    """By cell, the lowest and highest share if pairs of repeats with a missing one were all unlike, or all alike."""
    table, cells = data.table, data.cells
    missing = cells.count_of(~table.conclusive) + cells.planned_repeats - cells.samples
    if not matters(int(missing.sum()), int(table.conclusive.sum()), data.suite):
        return shares, shares
    planned = cells.planned_repeats * (cells.planned_repeats - 1)
    present = cells.planned_repeats - missing
    read = np.where(planned > 0, present * (present - 1) / np.maximum(planned, 1), 0.0)
    # Of a cell with every repeat but nothing to compare, no share was to be had.
    read[np.isnan(shares) & (missing == 0) | seen.apart] = np.nan
    lowest = np.where(np.isnan(shares) & ~np.isnan(read), 0.0, shares * read)
    return lowest, np.where(np.isnan(shares) & ~np.isnan(read), 1.0, lowest + 1 - read)


register(
    Metric(
        PRESENCE,
        "share",
        "items that come again when a case is asked again",
        "mean over cells of items in both repeats / items in either, summed over all pairs of repeats",
        "items are paired by key; cells with fewer than two readable repeats, or without any item, are left out",
        Aggregate.MEAN,
        _contributions,
        level=Level.CELL,
        stands_on="cases with anything to compare",
        all_names=lambda data: [] if data.stability is None else [()],
        compared=Compared.WHOLE_RUN,
        group="stability",
        needs="stability",
    )
)
register(
    Metric(
        "stability.<field>",
        "share",
        "how alike a field of such items is",
        "mean over cells of how alike the field is / items in both repeats, summed over all pairs of repeats",
        "items are paired by key; cells with no item in two repeats are left out",
        Aggregate.MEAN,
        _contributions,
        level=Level.CELL,
        stands_on="cases with items to pair",
        all_names=lambda data: [(name,) for name in (data.stability.fields if data.stability else ())],
        compared=Compared.WHOLE_RUN,
        group="stability",
        needs="stability",
    )
)
