"""Conditions over the repeats of every cell (a case under a variant), such as `valid in >= 2 of 3 repeats`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from steelyard.analysis.model import Repeated
from steelyard.metrics.cells import Cells
from steelyard.metrics.expressions import RepeatsRule, parse_repeats
from steelyard.metrics.registry import NO_INTERVAL, Aggregate, At, Contributions, Level, Reported
from steelyard.metrics.run_data import RunData
from steelyard.metrics.table import FORMAT, Table
from steelyard.stats.arrays import Array, add_at, distinct, pieces
from steelyard.stats.groups import Groups
from steelyard.suite.models import SuiteDescription

MOST_FAILING = 5
_UNDECIDED, _HELD, _FAILED = range(3)
STATES = {"undecided": _UNDECIDED, "held": _HELD, "failed": _FAILED}
_COMPARE = {
    ">=": np.greater_equal,
    "<=": np.less_equal,
    "==": np.equal,
    "!=": np.not_equal,
    ">": np.greater,
    "<": np.less,
}


@dataclass(frozen=True, slots=True)
class _Counted:
    """A rule with, for each cell, how many repeats could be looked at and in how many of them it held."""

    rule: RepeatsRule
    runs: Array
    held: Array

    def states(self) -> Array:
        decided = self.runs >= self.rule.of
        # held / runs >= at_least / of, without a division.
        holds = self.held * self.rule.of >= self.runs * self.rule.at_least
        return np.where(decided, np.where(holds, _HELD, _FAILED), _UNDECIDED)


class Repeats:
    """The rules over repeats that a suite's criteria name, looked at in every cell of a run."""

    def __init__(self, table: Table, suite: SuiteDescription) -> None:
        self._counted: list[_Counted] = []
        rules = rules_of(suite)
        if not rules:
            return
        self._cells = Cells(table, suite)
        self._planned = (suite.n_planned or 0) // max(1, suite.repeats)
        self._n_variants = max(1, len(suite.variants))
        for rule in rules:
            looked_at, holds = _samples(table, rule)
            self._counted.append(_Counted(rule, self._cells.count(looked_at), self._cells.count(looked_at & holds)))

    def of(self, factor: str, groups: Groups) -> list[dict[str, Repeated]]:
        """For each group, what came of every rule, by its text."""
        if not self._counted:
            return [{} for _ in groups.names]
        size = len(groups)
        pair, _ = distinct(groups.of(self._cells.of_sample).astype(int) * size + groups.group)
        cell, group = pair // size, pair % size
        unseen = np.maximum(0, self._expected(factor) - np.bincount(group, minlength=size))
        found: list[dict[str, Repeated]] = [{} for _ in groups.names]
        for counted in self._counted:
            states = counted.states()[cell]
            counts = np.bincount(group * 3 + states, minlength=size * 3).reshape(size, 3)
            failed = states == _FAILED
            for g in range(size):
                found[g][counted.rule.text] = Repeated(
                    held=int(counts[g, _HELD]),
                    failed=int(counts[g, _FAILED]),
                    undecided=int(counts[g, _UNDECIDED] + unseen[g]),
                    failing=self._words(counted, cell[failed & (group == g)][:MOST_FAILING]),
                )
        return found

    def looked_at(self, text: str, samples: Array, factor: str) -> tuple[Array, Array, int, Callable[[int], str]]:
        """Of one rule: the cells of some samples, the state of every cell (`STATES`), how many cells of a group were
        planned of which nothing came, and a cell in words."""
        counted = next(each for each in self._counted if each.rule.text == text)
        cells = np.unique(self._cells.of_sample[samples]).astype(int)
        unseen = max(0, self._expected(factor) - len(cells))
        return cells, counted.states(), unseen, lambda cell: self._words(counted, np.array([cell]))[0]

    def key(self, cell: int) -> tuple[str, str, None]:
        """Case and variant of a cell."""
        return (*self._cells.key(cell), None)

    def _expected(self, factor: str) -> int:
        """How many cells each group was planned to have, where the plan says it: every variant asks for every case."""
        if factor == "":
            return self._planned
        return self._planned // self._n_variants if factor == "variant" else 0

    def _words(self, counted: _Counted, cells: Array) -> tuple[str, ...]:
        return tuple(
            f"{self._cells.name(cell)}: {counted.held[cell]} of {counted.runs[cell]}" for cell in cells.tolist()
        )


def rules_of(suite: SuiteDescription) -> list[RepeatsRule]:
    """The different rules over repeats among the suite's criteria."""
    found = {}
    for criterion in suite.criteria:
        for text in (criterion.passes, criterion.fails):
            rule = parse_repeats(text) if text else None
            if rule is not None:
                found[rule.text] = rule
    return list(found.values())


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
    found = np.zeros(table.n, dtype=np.int32)
    if code in table.codes:
        wanted = table.codes.index(code)
        for piece in pieces(len(table.finding_sample)):
            add_at(found, table.finding_sample[piece][table.finding_code[piece] == wanted].astype(int))
    return found


def _of_run(data: RunData) -> Repeats:
    return Repeats(data.table, data.suite)


def _in_state(state: str) -> Callable[[RunData, At], Contributions]:
    """The cells in one state or, for `share`, all that could be decided."""

    def contributions(data: RunData, at: At) -> Contributions:
        repeats = data.once(_of_run)
        mine = data.in_slice(at.factor, at.slice)
        cells, states, unseen, detail = repeats.looked_at(at.name("rule"), mine, at.factor)
        if state == "share":
            values = np.where(states[cells] == _UNDECIDED, np.nan, states[cells] == _HELD)
        else:
            cells = cells[states[cells] == STATES[state]]
            values = np.ones(len(cells))
        return Contributions(
            values,
            excluded=(("undecided", None),),
            absent=None if state == "share" else float(state == "undecided"),
            detail=lambda row: detail(int(cells[row])),
            key=lambda row: repeats.key(int(cells[row])),
            n_absent=unseen,
        )

    return contributions


_HOW = (
    "a cell is a case under a variant; the condition is looked for in its conclusive repeats, and with fewer of them"
    " than the rule asks for nobody can tell; what failed in none of them and never came is undecided"
)
REPORTED = tuple(
    Reported(
        f"<slice>.repeated.<rule>.{state}",
        f"<slice>.repeated.<rule>.{state}",
        "cells of which this came out",
        _HOW,
        _in_state(state),
        Level.CELL,
    )
    for state in ("held", "failed", "undecided")
)
SHARE = Reported(
    "<slice>.repeated.<rule>.share",
    "gates[<n>].value",
    "cells in which it holds / cells that could be decided",
    _HOW,
    _in_state("share"),
    Level.CELL,
    "share",
    Aggregate.MEAN,
    interval=NO_INTERVAL,
)
"""Of a gate or criterion over repeats."""
