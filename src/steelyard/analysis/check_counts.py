"""The checks of a run counted by cell and name: in how many repeats each passed, failed and did not run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from steelyard.analysis.cell_groups import CellGroups
from steelyard.analysis.pieces import Array
from steelyard.records import CheckState
from steelyard.store.base import Checks, Columns
from steelyard.suite.model import Hold

PASSED, FAILED, NOT_RUN = range(3)
_STATES = {CheckState.PASSED: PASSED, CheckState.FAILED: FAILED, CheckState.NOT_RUN: NOT_RUN}
BROKEN, HELD = 0, 1
_RULES = tuple(Hold)
_NONE = np.empty(0, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Counted:
    """One row for each check of each cell, in the order of the cells; and what came of the repeats of each cell."""

    names: list[str]
    base: Array
    """By name, the place of its declared check in `declared`."""
    declared: list[str]
    rules: Array
    """By name, the place of its rule among the members of `Hold`."""
    cell: Array
    name: Array
    """Codes into `names`."""
    passed: Array
    failed: Array
    not_run: Array
    holds: Array
    """1 holds, 0 does not, -1 where what did not run could still decide."""
    n_checks: Array
    """By cell, how many checks it has; 0 where nothing is known of them."""
    together: Array
    """By cell, whether what is to pass in most repeats passes in the same ones: as `holds`."""
    clean: Array
    """By cell, the repeats in which every check passed."""
    decided: Array
    """By cell, the repeats in which every check passed or one failed."""

    def of_cell(self, mask: Array) -> Array:
        """How many checks of each cell the mask marks."""
        found = np.zeros(len(self.n_checks), dtype=np.int32)
        known = self.n_checks > 0
        # Rows are in the order of the cells.
        starts = (np.cumsum(self.n_checks) - self.n_checks)[known]
        found[known] = np.add.reduceat(mask, starts, dtype=np.int32) if len(starts) else 0
        return found


def counted(checks: Checks, columns: Columns, conclusive: Array, cells: CellGroups, suite: dict[str, Any]) -> Counted:
    """The counts of all checks; those of inconclusive samples did not run."""
    sample, name, state = _each_once(checks, effective_states(checks, conclusive))
    declared, base, rules = _declared(checks.names, suite)
    rows = _Rows(cells.of_sample[sample].astype(np.int64) * max(1, len(checks.names)) + name, state)
    cell, named = np.divmod(rows.pair, max(1, len(checks.names)))
    planned = cells.planned_repeats[cell].astype(np.int32)
    passed, failed = rows.count(PASSED), rows.count(FAILED)
    holds = _hold(rules[named], passed, failed, planned)
    if Hold.FIRST in {_RULES[rule] for rule in rules.tolist()}:
        first = columns.repeat[sample] == _first_repeat(columns, suite)
        by_first = rules[named] == _RULES.index(Hold.FIRST)
        holds[by_first] = rows.at_first(first)[by_first]
    n_checks = np.bincount(cell, minlength=cells.n)
    clean, failing = _repeats(sample, state, n_checks[cells.of_sample])
    most = rules == _RULES.index(Hold.MAJORITY)
    mine, n_most = most[name], np.bincount(cell[most[named]], minlength=cells.n)
    together = _repeats(sample[mine], state[mine], n_most[cells.of_sample])
    good, bad = (np.bincount(cells.of_sample[each], minlength=cells.n) for each in together)
    return Counted(
        names=checks.names,
        base=base,
        declared=declared,
        rules=rules,
        cell=cell,
        name=named,
        passed=passed,
        failed=failed,
        not_run=planned - passed - failed,
        holds=holds,
        n_checks=n_checks,
        together=np.where(n_most > 0, _most(good, bad, cells.planned_repeats), HELD),
        clean=np.bincount(cells.of_sample[clean], minlength=cells.n),
        decided=np.bincount(cells.of_sample[clean | failing], minlength=cells.n),
    )


class _Rows:
    """Checks put together by pair (cell and name), one row a pair in their order."""

    def __init__(self, pair: Array, state: Array) -> None:
        self._given, self._state = pair, state
        # Three states fit into two bits: one sort puts pairs together and their states in order.
        ranked = np.sort((pair << 2) | state)
        self._ranked_state = (ranked & 3).astype(np.int8)
        ranked >>= 2
        self._starts = np.flatnonzero(np.concatenate(([True], ranked[1:] != ranked[:-1]))) if len(pair) else _NONE
        self.pair: Array = ranked[self._starts]

    def count(self, state: int) -> Array:
        """How many checks of each pair are in that state."""
        found = self._ranked_state == state
        if len(self._starts) == len(found):
            return np.asarray(found, dtype=np.int32)
        counts: Array = np.add.reduceat(found, self._starts, dtype=np.int32)
        return counts

    def at_first(self, first: Array) -> Array:
        """Whether each pair passed in the repeat that `first` marks: 1, 0, or -1 where it did not run."""
        found = np.full(len(self.pair), -1, dtype=np.int8)
        told = first & (self._state != NOT_RUN)
        found[np.searchsorted(self.pair, self._given[told])] = self._state[told] == PASSED
        return found


def effective_states(checks: Checks, conclusive: Array) -> Array:
    """What became of every check, as PASSED, FAILED or NOT_RUN; those of inconclusive samples did not run."""
    codes = [_STATES[CheckState(name)] for name in checks.states]
    state: Array = np.array(codes, dtype=np.int8)[checks.state]
    state[~conclusive[checks.sample]] = NOT_RUN
    return state


def _each_once(checks: Checks, state: Array) -> tuple[Array, Array, Array]:
    """Sample, name and state of every check; of one that a sample has twice, the worse."""
    pair = checks.sample.astype(np.int64) * max(1, len(checks.names)) + checks.name
    if len(pair) < 2 or (pair[1:] > pair[:-1]).all():
        return checks.sample, checks.name, state
    ranked = np.sort(pair)
    if (ranked[1:] != ranked[:-1]).all():
        return checks.sample, checks.name, state
    # What failed is worse than what did not run, which is worse than what passed.
    worse = np.array([0, 2, 1])[state]
    order = np.lexsort((-worse, pair))
    last = order[np.concatenate(([True], pair[order][1:] != pair[order][:-1]))]
    return checks.sample[last], checks.name[last], state[last]


def _first_repeat(columns: Columns, suite: dict[str, Any]) -> int:
    """The number of the first repeat: 0, unless a run of another tool counts them from elsewhere."""
    if not columns.n or int(columns.repeat.max()) < int(suite.get("repeats") or 1):
        return 0
    return int(columns.repeat.min())


def _repeats(sample: Array, state: Array, wanted: Array) -> tuple[Array, Array]:
    """By sample, whether all the checks of its cell passed, and whether one failed."""
    passed = np.bincount(sample[state == PASSED], minlength=len(wanted))
    failed = np.bincount(sample[state == FAILED], minlength=len(wanted))
    return (passed == wanted) & (wanted > 0), failed > 0


def _declared(names: list[str], suite: dict[str, Any]) -> tuple[list[str], Array, Array]:
    """The declared checks, and for every name the place of its own among them and of its rule among all rules."""
    expect = suite.get("expect") or {}
    holds = {check["name"]: Hold(check["hold"]) for check in expect.get("checks", ())}
    bases = [declared_check(name, holds) for name in names]
    known = list(dict.fromkeys([*holds, *bases]))
    usual = Hold(expect.get("hold", Hold.ALL))
    rules = [_RULES.index(holds.get(base, usual)) for base in bases]
    place = {name: at for at, name in enumerate(known)}
    return known, np.array([place[base] for base in bases], dtype=int), np.array(rules, dtype=np.int8)


def declared_check(name: str, declared: Any) -> str:
    """The check that a suite declares, of one with the value that was looked for: `colour` of `colour:red`."""
    return name if name in declared else name.partition(":")[0]


def _hold(rule: Array, passed: Array, failed: Array, planned: Array) -> Array:
    """1 holds, 0 does not, -1 where what did not run could still decide; for the rules over all repeats."""
    holds = np.full(len(rule), -1, dtype=np.int8)
    holds[passed == planned] = HELD
    holds[failed > 0] = BROKEN
    most = rule == _RULES.index(Hold.MAJORITY)
    if most.any():
        holds[most] = _most(passed[most], failed[most], planned[most])
    return holds


def _most(good: Array, bad: Array, planned: Array) -> Array:
    return np.where(2 * good > planned, HELD, np.where(2 * bad >= planned, BROKEN, -1))
