"""The grid of cases by variants: its cells hold the repeats of one case under one variant."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from steelyard.frozen import frozen
from steelyard.metrics.registry import Aggregate, Compared, Contributions, Level, Metric, Names, register, same_but
from steelyard.metrics.table import Table
from steelyard.records import CheckState
from steelyard.stats.arrays import Array, add_at, distinct, pieces, tally, translated
from steelyard.stats.groups import Groups
from steelyard.store.base import Checks, Columns
from steelyard.suite.case import cell_name
from steelyard.suite.models import ExpectDescription, RequiredRepeats, SuiteModel

if TYPE_CHECKING:
    from steelyard.metrics.own import RunData


class Cells:
    """Which cell each sample is in. Cells are numbered case by case, variants in the order the suite declares them."""

    def __init__(self, table: Table, suite: SuiteModel) -> None:
        declared = suite.variant_names
        counts = tally(table.variant, len(table.variants))
        present = [name for i, name in enumerate(table.variants) if counts[i]]
        rank = {name: declared.index(name) if name in declared else len(declared) for name in present}
        self.variants = sorted(present, key=lambda name: (rank[name], name))
        self.n = len(table.case_ids) * len(self.variants)
        place = {name: i for i, name in enumerate(self.variants)}
        variant = translated(table.variant, [place.get(name, 0) for name in table.variants])
        width = np.min_scalar_type(-max(1, self.n))
        self.of_sample = table.case.astype(width) * len(self.variants) + variant
        self._table = table

    def key(self, cell: int) -> tuple[str, str]:
        """The case and the variant of a cell."""
        case, variant = divmod(cell, len(self.variants))
        return self._table.case_ids[case], self.variants[variant]

    def name(self, cell: int) -> str:
        """The cell in words: its case, and its variant unless that has no name."""
        return cell_name(*self.key(cell))

    def count(self, mask: Array) -> Array:
        """How many samples of each cell `mask` marks."""
        result = np.zeros(self.n, dtype=np.int32)
        for piece in pieces(len(mask)):
            add_at(result, self.of_sample[piece][mask[piece]])
        return result

    def means(self, values: Array) -> Array:
        """The mean of each cell over the samples whose value is known, as a table of cases by variants; NaN of none."""
        total, n = np.zeros(self.n), self.count(~np.isnan(values))
        for piece in pieces(len(values)):
            present = ~np.isnan(values[piece])
            add_at(total, self.of_sample[piece][present], values[piece][present])
        total[n == 0] = np.nan
        total /= np.maximum(n, 1)
        return total.reshape(-1, len(self.variants))


class CellGroups:
    """The cells that have samples, cut as the samples are. Cells are numbered from 0, case by case."""

    def __init__(self, table: Table, groups: Mapping[str, Groups], suite: SuiteModel) -> None:
        cells = Cells(table, suite)
        self._width = max(1, len(cells.variants))
        self._cases, self.variants = table.case_ids, cells.variants
        seen = np.flatnonzero(cells.count(np.ones(table.n, dtype=bool)))
        self.n = len(seen)
        self.case = seen // self._width
        self.variant = seen % self._width
        """The variant of every cell, as its place in `variants`."""
        number = np.zeros(cells.n, dtype=np.int32)
        number[seen] = np.arange(self.n)
        self.of_sample: Array = number[cells.of_sample] if table.n else np.empty(0, dtype=np.int32)
        """The cell of every sample."""
        self.samples = np.bincount(self.of_sample, minlength=self.n)
        """How many samples each cell has."""
        self.repeats = max(1, suite.repeats)
        self.planned_repeats = np.maximum(self.samples, self.repeats)
        """How many samples each cell was to have."""
        self.absent = max(0, (suite.n_planned or 0) // self.repeats - self.n)
        """Cells that were planned and of which nothing came."""
        of_cell = np.zeros(self.n, dtype=np.int64)
        of_cell[self.of_sample] = table.unit
        unit = of_cell if len(table.unit_names) < self.n else None
        self.groups = {factor: self._cut(factor, item, unit) for factor, item in groups.items()}

    def count_of(self, mask: Array) -> Array:
        """How many samples of each cell `mask` marks."""
        return np.bincount(self.of_sample[mask], minlength=self.n)

    def name(self, cell: int) -> tuple[str, str]:
        """The case and the variant of a cell."""
        return self._cases[int(self.case[cell])], self.variants[int(self.variant[cell])]

    def _cut(self, factor: str, samples: Groups, unit: Array | None) -> Groups:
        if factor == "":
            return Groups([""], np.zeros(self.n, dtype=np.int8), unit, absent=self.absent)
        size = len(samples)
        cell = samples.of(self.of_sample)
        if not samples.overlap:
            group = np.zeros(self.n, dtype=samples.group.dtype)
            group[cell] = samples.group
            return Groups(samples.names, group, unit)
        pair, _ = distinct(cell.astype(np.int64) * size + samples.group)
        rows, group = (pair // size).astype(np.uint32), (pair % size).astype(samples.group.dtype)
        return Groups(samples.names, group, unit, rows=rows)


PASSED, FAILED, NOT_RUN = range(3)
_STATES = {CheckState.PASSED: PASSED, CheckState.FAILED: FAILED, CheckState.NOT_RUN: NOT_RUN}
CASE_FAILED, CASE_PASSED = 0, 1
_RULES = tuple(RequiredRepeats)
_NONE = np.empty(0, dtype=np.int64)


@frozen
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
        result = np.zeros(len(self.n_checks), dtype=np.int32)
        available = self.n_checks > 0
        # Rows are in the order of the cells.
        starts = (np.cumsum(self.n_checks) - self.n_checks)[available]
        result[available] = np.add.reduceat(mask, starts, dtype=np.int32) if len(starts) else 0
        return result

    def of_name(self, cell: int) -> list[tuple[str, int]]:
        """The checks of one cell by name, each with whether it holds: 1, 0, or -1 where it is undecided."""
        rows = slice(*np.searchsorted(self.cell, (cell, cell + 1)).tolist())
        return [(self.names[name], int(holds)) for name, holds in zip(self.name[rows], self.holds[rows], strict=True)]


def counted(checks: Checks, columns: Columns, conclusive: Array, cells: CellGroups, suite: SuiteModel) -> Counted:
    """The counts of all checks; those of inconclusive samples did not run."""
    sample, name, state = _each_once(checks, effective_states(checks, conclusive))
    declared, base, rules = _declared(checks.names, suite)
    rows = _Rows(cells.of_sample[sample].astype(np.int64) * max(1, len(checks.names)) + name, state)
    cell, named = np.divmod(rows.pair, max(1, len(checks.names)))
    planned = cells.planned_repeats[cell].astype(np.int32)
    passed, failed = rows.count(PASSED), rows.count(FAILED)
    holds = _hold(rules[named], passed, failed, planned)
    if RequiredRepeats.FIRST in {_RULES[rule] for rule in rules.tolist()}:
        first = columns.repeat[sample] == _first_repeat(columns, suite)
        by_first = rules[named] == _RULES.index(RequiredRepeats.FIRST)
        holds[by_first] = rows.at_first(first)[by_first]
    n_checks = np.bincount(cell, minlength=cells.n)
    clean, failing = _repeats(sample, state, n_checks[cells.of_sample])
    most = rules == _RULES.index(RequiredRepeats.MAJORITY)
    mine, n_most = most[name], np.bincount(cell[most[named]], minlength=cells.n)
    together = _repeats(sample[mine], state[mine], n_most[cells.of_sample])
    good, bad = (np.bincount(cells.of_sample[item], minlength=cells.n) for item in together)
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
        together=np.where(n_most > 0, _most(good, bad, cells.planned_repeats), CASE_PASSED),
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
        result = self._ranked_state == state
        if len(self._starts) == len(result):
            return np.asarray(result, dtype=np.int32)
        counts: Array = np.add.reduceat(result, self._starts, dtype=np.int32)
        return counts

    def at_first(self, first: Array) -> Array:
        """Whether each pair passed in the repeat that `first` marks: 1, 0, or -1 where it did not run."""
        result = np.full(len(self.pair), -1, dtype=np.int8)
        message = first & (self._state != NOT_RUN)
        result[np.searchsorted(self.pair, self._given[message])] = self._state[message] == PASSED
        return result


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


def _first_repeat(columns: Columns, suite: SuiteModel) -> int:
    """The number of the first repeat: 0, unless a run of another tool counts them from elsewhere."""
    if not columns.n or int(columns.repeat.max()) < suite.repeats:
        return 0
    return int(columns.repeat.min())


def _repeats(sample: Array, state: Array, wanted: Array) -> tuple[Array, Array]:
    """By sample, whether all the checks of its cell passed, and whether one failed."""
    passed = np.bincount(sample[state == PASSED], minlength=len(wanted))
    failed = np.bincount(sample[state == FAILED], minlength=len(wanted))
    return (passed == wanted) & (wanted > 0), failed > 0


def _declared(names: list[str], suite: SuiteModel) -> tuple[list[str], Array, Array]:
    """The declared checks, and for every name the place of its own among them and of its rule among all rules."""
    expect = suite.expect or ExpectDescription()
    holds = {check.name: check.required_repeats for check in expect.checks}
    bases = [declared_check(name, holds) for name in names]
    available = list(dict.fromkeys([*holds, *bases]))
    rules = [_RULES.index(holds.get(base, expect.required_repeats)) for base in bases]
    place = {name: at for at, name in enumerate(available)}
    return available, np.array([place[base] for base in bases], dtype=int), np.array(rules, dtype=np.int8)


def declared_check(name: str, declared: Any) -> str:
    """The check that a suite declares, of one with the value that was looked for: `colour` of `colour:red`."""
    return name if name in declared else name.partition(":")[0]


def _hold(rule: Array, passed: Array, failed: Array, planned: Array) -> Array:
    """1 holds, 0 does not, -1 where what did not run could still decide; for the rules over all repeats."""
    holds = np.full(len(rule), -1, dtype=np.int8)
    holds[passed == planned] = CASE_PASSED
    holds[failed > 0] = CASE_FAILED
    most = rule == _RULES.index(RequiredRepeats.MAJORITY)
    if most.any():
        holds[most] = _most(passed[most], failed[most], planned[most])
    return holds


def _most(good: Array, bad: Array, planned: Array) -> Array:
    return np.where(2 * good > planned, CASE_PASSED, np.where(2 * bad >= planned, CASE_FAILED, -1))


_UNDECIDED = "undecided: counts as not passed"
_UNKNOWN = "no check of it is known: counts as not passed"
_HOLDS = (
    "a cell is a case under a variant; a check passes over its repeats as `required_repeats` says; what cannot be"
    " decided has not passed, stays in the denominator and is given as missing"
)
_CLEAN = (
    "a repeat is clean when every check of its cell passed, decided when it is clean or a check failed; in a suite"
    " without checks it is clean when it passed, and decided when it is conclusive"
)


def cells_passing(count: Counted, held: Array, broken: Array, undecided: Array) -> Array:
    """1 where every check of the cell holds, 0 where one does not, -1 where it is undecided.

    Checks that are to pass in most repeats have to pass together: two clean answers of five are not most of them.
    """
    unsure = (undecided > 0) | (held == 0) | (count.together < 0)
    state = np.where((broken > 0) | (count.together == CASE_FAILED), CASE_FAILED, np.where(unsure, -1, CASE_PASSED))
    return state.astype(np.int8)


def all_of(clean: Array, decided: Array, ks: range) -> dict[int, Array]:
    """By k, the chance that k repeats of a cell are all clean: C(clean, k) / C(decided, k), which has no bias.

    NaN for a cell with fewer than k decided repeats.
    """
    result, chance = {}, np.ones(len(clean))
    for k in ks:
        left = decided - k + 1.0
        chance = np.where(left > 0, chance * np.maximum(clean - k + 1.0, 0.0) / np.maximum(left, 1.0), np.nan)
        result[k] = chance
    return result


def _cases(data: RunData, _: Names) -> Contributions:
    count, state = data.checked, data.cell_states

    def detail(cell: int) -> str:
        checks = count.of_name(cell)
        if state[cell] == CASE_PASSED:
            return f"{len(checks)} checks passed"
        wanted, word = (CASE_FAILED, "failed") if state[cell] == CASE_FAILED else (-1, "undecided")
        listed = [name for name, holds in checks if holds == wanted]
        return f"{word}: {', '.join(listed) or ('all at once' if checks else 'no check')}"

    available = count.n_checks > 0
    return Contributions(
        (state == CASE_PASSED).astype(float),
        np.ones(len(state)),
        undecided=(state < 0).astype(float),
        noted=((_UNDECIDED, (state < 0) & available), (_UNKNOWN, ~available)),
        detail=detail,
    )


def _checks(data: RunData, names: Names) -> Contributions:
    count = data.checked
    mine = np.ones(len(count.name), dtype=bool)
    if names:
        mine = count.base[count.name] == (count.declared.index(names[0]) if names[0] in count.declared else -1)
    blind = count.n_checks == 0
    held, open_ = (count.of_cell(mine & which) for which in (count.holds == CASE_PASSED, count.holds < 0))

    def detail(cell: int) -> str:
        checks = [
            (name, holds)
            for name, holds in count.of_name(cell)
            if not names or declared_check(name, count.declared) == names[0]
        ]
        if blind[cell]:
            return "no check is known"
        not_held = [name for name, holds in checks if holds != CASE_PASSED]
        return f"{held[cell]} of {len(checks)} passed" + (f"; not: {', '.join(not_held)}" if not_held else "")

    return Contributions(
        held.astype(float),
        (count.of_cell(mine) + blind).astype(float),
        undecided=(open_ + blind).astype(float),
        noted=((_UNDECIDED, (open_ > 0) & ~blind), (_UNKNOWN, blind)),
        detail=detail,
    )


def _over_repeats(data: RunData, values: Array, least: int) -> Contributions:
    clean, decided = data.clean_repeats or (_NONE, _NONE)
    return Contributions(
        values,
        excluded=((f"fewer than {least} decided repeats", None),),
        detail=lambda cell: f"{clean[cell]} of {decided[cell]} repeats clean",
    )


def _all_of(data: RunData, names: Names) -> Contributions:
    k = int(names[0])
    return _over_repeats(data, data.pass_all.get(k, np.full(data.cells.n, np.nan)), k)


def _flaky(data: RunData, _: Names) -> Contributions:
    clean, decided = data.clean_repeats or (_NONE, _NONE)
    return _over_repeats(data, np.where(decided >= 2, (clean > 0) & (clean < decided), np.nan), 2)


def _if_expected(data: RunData) -> list[Names]:
    return [] if data.counted is None else [()]


for _metric in (
    Metric(
        "cases.passed",
        "share",
        "cases whose every check passes over the repeats, among all planned",
        "cells whose every check passes / planned cells",
        _HOLDS,
        Aggregate.RATE,
        _cases,
        all_names=_if_expected,
        stands_on="cases and variants that could be decided",
        compared=Compared.WHOLE_RUN,
    ),
    Metric(
        "checks.passed",
        "share",
        "checks that pass over the repeats of their case, among all",
        "checks of cells that pass / all checks of cells",
        f"{_HOLDS}; a cell of which no check is known counts as one undecided check",
        Aggregate.RATE,
        _checks,
        of="checks of cells",
        all_names=_if_expected,
        stands_on="checks that could be decided",
        compared=Compared.WHOLE_RUN,
    ),
    Metric(
        "check.<check>.passed",
        "share",
        "the same of one check",
        "cells' checks of that name that pass / all of that name",
        f"{_HOLDS}; whatever values the check looks for",
        Aggregate.RATE,
        _checks,
        of="checks of cells",
        all_names=lambda data: [(name,) for name in (data.counted.declared if data.counted else ())],
        stands_on="checks that could be decided",
        compared=Compared.NO,
    ),
    Metric(
        "pass_all.<k>",
        "share",
        "pass^k: the chance that k repeats of a case pass (every check, or the pass rule), all of them",
        "mean over cells of C(clean, k) / C(decided, k)",
        f"{_CLEAN}; cells with fewer than k decided repeats are left out",
        Aggregate.MEAN,
        _all_of,
        all_names=lambda data: [(str(k),) for k in data.pass_all],
        stands_on="cases with k decided repeats",
        compared=Compared.NO,
        needs="pass",
    ),
    Metric(
        "flaky_rate",
        "share",
        "cases that pass (every check, or the pass rule) in some repeats and not in others",
        "cells with clean and other decided repeats / cells with at least 2 decided repeats",
        _CLEAN,
        Aggregate.MEAN,
        _flaky,
        "lower",
        all_names=lambda data: [] if data.clean_repeats is None else [()],
        stands_on="cases with two decided repeats",
        compared=Compared.NO,
        needs="pass",
    ),
):
    _needs = _metric.needs or "expect"
    register(same_but(_metric, level=Level.CELL, place="over_repeats.*", group="expectations", needs=_needs))
