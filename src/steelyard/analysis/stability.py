"""How far the repeats of a cell bring the same items: every repeat held against every other."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Any

import numpy as np

from steelyard.analysis.cell_groups import CellFigure, CellGroups, Mean
from steelyard.analysis.checks import ByGroup
from steelyard.analysis.checks_model import MOST_CELLS
from steelyard.analysis.estimates import settled
from steelyard.analysis.model import Estimate
from steelyard.analysis.overlaps import overlap_of_all_pairs
from steelyard.analysis.pieces import Array
from steelyard.analysis.sameness import common, same_in_all_pairs
from steelyard.analysis.stability_model import CellStability, StabilityFigures
from steelyard.analysis.table import Table
from steelyard.records import Item
from steelyard.suite.model import StabilityRules

Placed = tuple[int, tuple[Item, ...]]
"""The position of a sample in the plan, and the items of its answer."""
Answers = list[tuple[Item, ...]]
"""The items of every repeat of a cell whose answer could be read."""


def stability_figures(
    items: Iterable[Placed], table: Table, cells: CellGroups, suite: dict[str, Any]
) -> tuple[StabilityFigures | None, ByGroup]:
    """The figures of the run, and those that gates stand on for every slice; None for a suite that compares nothing.

    `items` come in the order of the plan with the position of their sample: one cell after the other is looked at, and
    none is kept. Those of inconclusive samples are left out, as all their readings are.
    """
    rules = rules_of(suite)
    if rules is None:
        return None, {}
    seen = _seen(items, table, cells, rules)
    apart = _apart(table, cells) & (seen.runs == 0)
    slices = cells.estimates(seen.figures(apart))
    run = slices[""][0]
    figures = StabilityFigures(
        key=rules.key,
        how=dict(rules.fields),
        presence=run[PRESENCE],
        fields={name: run[field_name(name)] for name in rules.fields},
        comparisons=seen.comparisons(),
        cells=_listed(seen, apart, cells),
        n_cells=int((~apart).sum()) + cells.absent,
        keyless=seen.keyless,
    )
    return figures, slices


def rules_of(suite: dict[str, Any]) -> StabilityRules | None:
    """What a suite compares over repeats; None when it compares nothing."""
    declared = suite.get("stability")
    if not declared:
        return None
    return StabilityRules(declared["items"], declared["key"], dict(declared["fields"]))


def shares_of_cells(
    items: Iterable[Placed], table: Table, cells: CellGroups, rules: StabilityRules
) -> tuple[dict[str, Array], Array]:
    """By field, and under `PRESENCE`, how alike the repeats of every cell are, NaN where nothing can be compared; and
    which cells are not of a case that asks for no items."""
    seen = _seen(items, table, cells, rules)
    return seen.shares(), ~(_apart(table, cells) & (seen.runs == 0))


PRESENCE = "stability.presence"
"""The name of the gate on presence."""


def field_name(field: str) -> str:
    """The name of the gate on a declared field."""
    return f"stability.{field}"


@dataclass(slots=True)
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
    found = Alikeness(alike=[0.0] * len(how))
    # Sorted, so that the sums of fractions come out the same whatever came first.
    for _, runs in sorted(by_key.items()):
        shared, either = common([len(run) for run in runs], len(answers))
        found.shared += shared
        found.either += either
        for at, kind in enumerate(how):
            compare = overlap_of_all_pairs if kind == "overlap" else same_in_all_pairs
            found.alike[at] += compare([[item.values[at] for item in run] for run in runs])
    return found


class _Seen:
    """What was summed up of every cell."""

    def __init__(self, n: int, fields: list[str]) -> None:
        self._fields = fields
        self.runs = np.zeros(n, dtype=np.int32)
        self.keyless = 0
        self.shared, self.either = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
        self.alike = np.zeros((n, len(fields)))

    def add(self, cell: int, found: Alikeness, answers: Answers) -> None:
        self.runs[cell] = len(answers)
        self.keyless += sum(not item.key for answer in answers for item in answer)
        self.shared[cell], self.either[cell] = found.shared, found.either
        self.alike[cell] = found.alike

    def figures(self, apart: Array) -> dict[str, CellFigure]:
        """Per cell the shares of sameness; NaN where nothing can be compared."""
        return {
            name if name == PRESENCE else field_name(name): Mean(values, apart)
            for name, values in self.shares().items()
        }

    def shares(self) -> dict[str, Array]:
        found = {PRESENCE: _ratio(self.shared, self.either)}
        return found | {name: _ratio(self.alike[:, at], self.shared) for at, name in enumerate(self._fields)}

    def comparisons(self) -> dict[str, int]:
        return {"presence": int(self.either.sum())} | dict.fromkeys(self._fields, int(self.shared.sum()))

    def of(self, cell: int) -> tuple[Estimate, dict[str, Estimate]]:
        shared = int(self.shared[cell])
        return _share(shared, int(self.either[cell])), {
            name: _share(float(self.alike[cell, at]), shared) for at, name in enumerate(self._fields)
        }


def _seen(items: Iterable[Placed], table: Table, cells: CellGroups, rules: StabilityRules) -> _Seen:
    seen = _Seen(cells.n, list(rules.fields))
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


def _apart(table: Table, cells: CellGroups) -> Array:
    """Cells with an answer that was read and weighed: one without items is of a case that asks for none."""
    read = cells.of_sample[table.scored | table.set_aside]
    return np.bincount(read, minlength=cells.n) > 0


def _listed(seen: _Seen, apart: Array, cells: CellGroups) -> tuple[CellStability, ...]:
    listed = []
    for cell in np.flatnonzero(~apart)[:MOST_CELLS].tolist():
        case, variant = cells.name(cell)
        runs = int(seen.runs[cell])
        presence, fields = seen.of(cell)
        missing = int(cells.planned_repeats[cell]) - runs
        listed.append(CellStability(case, variant, runs, missing, presence, fields))
    return tuple(listed)


def _ratio(sums: Array, of: Array) -> Array:
    return np.where(of > 0, sums / np.maximum(of, 1), np.nan)


def _share(total: float, n: int) -> Estimate:
    return Estimate(settled(total / n) if n else None, n)
