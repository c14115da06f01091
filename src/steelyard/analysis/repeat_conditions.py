"""Conditions over repeats that the suite's criteria name: `score >= 40 % in >= 2 of 3 repeats`."""

from __future__ import annotations

from typing import Any

import numpy as np

from steelyard.analysis.cell_metrics import of_cells
from steelyard.metrics.expressions import RepeatsRule
from steelyard.metrics.kinds import Aggregate
from steelyard.metrics.registry import Contribute, Contributions, Names, register
from steelyard.metrics.run_data import RunData
from steelyard.metrics.table import FORMAT, Table
from steelyard.stats.arrays import Array, add_at, pieces
from steelyard.store.figures import SliceKey
from steelyard.suite.case import cell_name

MOST_FAILING = 5
_UNDECIDED, _PASSED, _FAILED = range(3)
_CELL_STATES = {"undecided": _UNDECIDED, "passed": _PASSED, "failed": _FAILED}
_COMPARE = {
    ">=": np.greater_equal,
    "<=": np.less_equal,
    "==": np.equal,
    "!=": np.not_equal,
    ">": np.greater,
    "<": np.less,
}


class _Condition:
    """A condition over repeats in every cell of a run, with how many of its repeats could be looked at and in how many
    of these it holds."""

    def __init__(self, data: RunData, rule: RepeatsRule) -> None:
        looked_at, holds = _samples(data.of_repeats, rule)
        self._runs, self._passed = (data.cells.count_of(mask) for mask in (looked_at, looked_at & holds))
        planned = np.maximum(data.cells.planned_repeats, rule.of)
        # passed / planned >= at_least / of, without a division.
        needed = planned * rule.at_least
        passes = (self._passed * rule.of >= needed) & (self._runs >= rule.of)
        could_pass = (self._passed + planned - self._runs) * rule.of >= needed
        self.states: Array = np.where(passes, _PASSED, np.where(could_pass, _UNDECIDED, _FAILED))
        """What passes, or does not, whatever came of the repeats that could not be looked at; with fewer than the rule
        asks for it does not pass yet, but may not pass any more."""

    def detail(self, cell: int) -> str:
        """`1 of 3`: in how many repeats it holds."""
        return f"{self._passed[cell]} of {self._runs[cell]}"


def _conditions(data: RunData) -> dict[str, _Condition]:
    """By their text."""
    return {rule.text: _Condition(data, rule) for rule in data.repeat_rules}


def failing_cells(data: RunData) -> dict[str, dict[str, tuple[str, ...]]]:
    """By slice (`variant.x`; "" is the whole run) and condition over repeats, the first few cells that fail it, in
    words: `03-hard [boxes]: 1 of 3`."""
    results: dict[str, dict[str, tuple[str, ...]]] = {}
    for text, condition in data.once(_conditions).items():
        for factor, groups in data.cells.groups.items():
            for g, name in enumerate(groups.names):
                cells = groups.samples_where(g, condition.states == _FAILED)[:MOST_FAILING].tolist()
                named = tuple(f"{cell_name(*data.cells.name(cell))}: {condition.detail(cell)}" for cell in cells)
                if named:
                    results.setdefault(SliceKey(factor, name).text, {})[text] = named
    return results


def _samples(table: Table, rule: RepeatsRule) -> tuple[Array, Array]:
    """Which samples can be looked at, and in which the condition holds; an inconclusive one says nothing."""
    if rule.condition == "valid":
        return table.conclusive, table.scored
    if rule.condition == "passed":
        passed = table.passed()
        return passed >= 0, passed == 1
    compare = _COMPARE[rule.operator]
    if rule.condition == "score":
        score = table.score()
        return ~np.isnan(score), compare(score, rule.threshold)
    holds = compare(_findings(table, rule.code), rule.threshold)
    # An answer that could not be read has no other findings than that; it shows nothing about them.
    return table.conclusive, holds if rule.code == FORMAT else holds & table.scored


def _findings(table: Table, code: str) -> Array:
    """How many findings of the code each sample has."""
    result = np.zeros(table.n, dtype=np.int32)
    if code in table.codes:
        wanted = table.codes.index(code)
        for piece in pieces(len(table.finding_sample)):
            add_at(result, table.finding_sample[piece][table.finding_code[piece] == wanted].astype(int))
    return result


def _cells_in_state(state: str) -> Contribute:
    """The cells in one state or, for `share`, all that could be decided."""

    def contributions(data: RunData, names: Names) -> Contributions:
        condition = data.once(_conditions)[names[0]]
        if state == "share":
            values = np.where(condition.states == _UNDECIDED, np.nan, condition.states == _PASSED)
            return Contributions(values, excluded=(("undecided", None),), detail=condition.detail)
        values = (condition.states == _CELL_STATES[state]).astype(float)
        return Contributions(values, absent=float(state == "undecided"), detail=condition.detail)

    return contributions


_HOW = (
    "a cell is a case under a variant; the condition is looked for in its conclusive repeats; it passes only with as"
    " many of them as the rule asks for, and is undecided while the others could change it"
)
_OF_RULE: dict[str, Any] = {
    "sliced": True,
    "all_names": lambda data: [(rule.text,) for rule in data.repeat_rules],
}
for _state in _CELL_STATES:
    register(
        of_cells(
            f"repeated.<rule>.{_state}",
            f"cells in which the condition over repeats {'is undecided' if _state == 'undecided' else _state}",
            _HOW,
            _cells_in_state(_state),
            **_OF_RULE,
            stands_on="cases and variants",
        )
    )
register(
    of_cells(
        "repeated.<rule>.share",
        "cells in which it passes / cells that could be decided",
        _HOW,
        _cells_in_state("share"),
        Aggregate.MEAN,
        **_OF_RULE,
        unit="share",
        stands_on="cases and variants that could be decided",
    )
)
