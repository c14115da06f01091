"""The grid of cases by variants: its cells hold the repeats of one case under one variant."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from steelyard.frozen import frozen
from steelyard.metrics.kinds import Aggregate
from steelyard.metrics.registry import (
    Compared,
    Contributions,
    Level,
    Metric,
    Names,
    register,
    same_but,
)
from steelyard.metrics.table import Table
from steelyard.records import CheckState
from steelyard.stats.arrays import Array, add_at, distinct, pieces, tally, translated
from steelyard.stats.groups import Groups
from steelyard.store.base import Checks, Columns
from steelyard.suite.case import cell_name
from steelyard.suite.models import EXPECT, ExpectDescription, RequiredRepeats, SuiteModel

if TYPE_CHECKING:
    from steelyard.metrics.run_data import RunData


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
        self.uncalled = suite.uncalled[: self.absent]
        """Those of them that are known, with the checks they ask for."""
        of_cell = np.zeros(self.n, dtype=np.int64)
        of_cell[self.of_sample] = table.unit
        unit = of_cell if len(table.unit_names) < self.n else None
        self.groups = {factor: self._cut(factor, item, unit) for factor, item in groups.items()}
        if "variant" in self.groups:
            # Every variant is asked every case.
            of_variant = (suite.n_planned or 0) // self.repeats // max(1, len(suite.variants))
            self.groups["variant"].lacking = np.maximum(0, of_variant - self.groups["variant"].planned)

    def checks_in_absent(self, wanted: Callable[[str], bool] = lambda _: True) -> Array:
        """By cell of which nothing came, how many such checks it has; one where that is not known."""
        known = [sum(wanted(check.name) for check in cell.checks) for cell in self.uncalled]
        return np.array(known + [1] * (self.absent - len(known)), dtype=float)

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


@frozen
class PassedRepeats:
    """By cell, how many of its repeats passed, how many passed or failed, and how many were planned."""

    passed: Array
    decided: Array
    planned: Array

    def all_of(self, k: int) -> Contributions:
        """The chance that k repeats all pass.

        C(passed, k) / C(decided, k) estimates it without bias. It lies between C(passed, k) / C(planned, k), if all
        undecided repeats failed, and the same with all of them passed. Where both are equal that is the value: one
        failed repeat of k planned ones makes it 0. With fewer than k decided repeats it is undecided, and counts as the
        lower one.
        """
        lowest = _chance(self.passed, self.planned, k)
        highest = _chance(self.passed + self.planned - self.decided, self.planned, k)
        estimable, known = self.decided >= k, lowest == highest
        estimated = _chance(self.passed, np.maximum(self.decided, k), k)
        return self._contributions(
            np.where(estimable & ~known, estimated, lowest), ~estimable & ~known, lowest, highest
        )

    def flaky(self) -> Contributions:
        """Whether some repeats pass and others do not; undecided where a repeat that is not known could make it so."""
        mixed = (self.passed > 0) & (self.passed < self.decided)
        open_ = ~mixed & (self.decided < self.planned) & (self.planned > 1)
        # One repeat alone is never flaky, and says nothing.
        return self._contributions(mixed, open_ | (self.planned < 2), mixed, mixed | open_)

    def _contributions(self, values: Array, undecided: Array, lowest: Array, highest: Array) -> Contributions:
        def detail(cell: int) -> str:
            open_ = int(self.planned[cell] - self.decided[cell])
            more = f", {open_} more undecided" if open_ else ""
            return f"{self.passed[cell]} of {self.decided[cell]} repeats passed{more}"

        return Contributions(
            values.astype(float),
            np.ones(len(values)),
            undecided=undecided.astype(float),
            possible=(lowest.astype(float), highest.astype(float)),
            noted=((_TOO_FEW, undecided),),
            detail=detail,
        )


def _chance(passed: Array, of: Array, k: int) -> Array:
    """C(passed, k) / C(of, k)."""
    result = np.ones(len(passed))
    for i in range(k):
        result *= np.maximum(passed - i, 0) / np.maximum(of - i, 1)
    return result


_TOO_FEW = "undecided: too few repeats are known; counts as the lowest that it could be"
PASSED, FAILED, NOT_RUN = range(3)
_STATES = {CheckState.PASSED: PASSED, CheckState.FAILED: FAILED, CheckState.NOT_RUN: NOT_RUN}
CASE_FAILED, CASE_PASSED = 0, 1
_RULES = tuple(RequiredRepeats)
_NONE = np.empty(0, dtype=np.int64)
_ROUNDING = 1e-12
"""What rounding may leave between a score and the pass rule, as in scoring."""


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
    """By cell, how many checks it has; 0 where none applies, or where they are not known."""
    unknown: Array
    """By cell, whether its checks are not known: it has none, and no sample that is conclusive."""
    rule_holds: Array
    """By cell, whether the pass rule holds over its repeats, apart from the checks: as `holds`."""
    state: Array
    """By cell, whether it passes over its repeats under all rules: as `holds`."""
    repeats: PassedRepeats
    """Repeats that pass under all rules of the sample: every check, the pass rule and flags."""
    by_checks: PassedRepeats
    """The same by the checks alone."""

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


def counted(checks: Checks, columns: Columns, table: Table, cells: CellGroups, suite: SuiteModel) -> Counted:
    """The counts of all checks, those of inconclusive samples did not run; and of all repeats that pass."""
    sample, name, state = _each_once(checks, effective_states(checks, table.conclusive))
    declared, base, rules = _declared(checks.names, suite)
    rows = _Rows(cells.of_sample[sample].astype(np.int64) * max(1, len(checks.names)) + name, state)
    cell, named = np.divmod(rows.pair, max(1, len(checks.names)))
    planned = cells.planned_repeats[cell].astype(np.int32)
    passed, failed = rows.count(PASSED), rows.count(FAILED)
    first = columns.repeat == _first_repeat(columns, suite)
    holds = _hold(rules[named], passed, failed, planned, lambda: rows.at_first(first[sample]))
    n_checks = np.bincount(cell, minlength=cells.n)
    clean, failing = _repeats(sample, state, n_checks[cells.of_sample])
    rest = other_rules(table, suite, failing)
    passing = (clean | (n_checks[cells.of_sample] == 0)) & (rest == PASSED)
    of_cell = cells.count_of
    # The pass rule is one more rule of the sample, which must hold as often as checks that do not say how often.
    rule = _RULES.index((suite.expect or ExpectDescription()).required_repeats)
    rule_holds = _hold(
        np.full(cells.n, rule),
        of_cell(rest == PASSED),
        of_cell(rest == FAILED),
        cells.planned_repeats,
        lambda: _Rows(cells.of_sample, rest).at_first(first),
    )
    # What is to pass in most repeats has to pass in the same ones: two clean answers of five are not most of them.
    most = rules == _RULES.index(RequiredRepeats.MAJORITY)
    mine, n_most = most[name], np.bincount(cell[most[named]], minlength=cells.n)
    good, bad = _repeats(sample[mine], state[mine], n_most[cells.of_sample])
    if _RULES[rule] is RequiredRepeats.MAJORITY:
        good, bad = (good | (n_most[cells.of_sample] == 0)) & (rest == PASSED), bad | (rest == FAILED)
    together = np.where(n_most > 0, _most(of_cell(good), of_cell(bad), cells.planned_repeats), CASE_PASSED)
    of_checks = (np.where(np.bincount(cell[holds == held], minlength=cells.n), held, 1) for held in (-1, 0))
    results = [rule_holds, together, *of_checks]
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
        unknown=(n_checks == 0) & (of_cell(table.conclusive) == 0),
        rule_holds=rule_holds,
        state=np.where((np.array(results) == CASE_FAILED).any(axis=0), CASE_FAILED, np.min(results, axis=0)),
        repeats=PassedRepeats(of_cell(passing), of_cell(passing | failing | (rest == FAILED)), cells.planned_repeats),
        by_checks=PassedRepeats(of_cell(clean), of_cell(clean | failing), cells.planned_repeats),
    )


def other_rules(table: Table, suite: SuiteModel, failing: Array) -> Array:
    """By sample, whether it passes the suite's pass rule and has no failing flag, as PASSED, FAILED or NOT_RUN.

    What its checks lost it is given back: `failing` marks the samples in which a check failed, and how often checks
    must pass is up to `required_repeats`.
    """
    if suite.passing is None:
        return np.where(table.conclusive, PASSED, NOT_RUN)
    passed = table.passed()
    state = np.where(passed < 0, NOT_RUN, np.where(passed == 1, PASSED, FAILED))
    lost = np.flatnonzero(failing & table.scored & (passed == 0))
    if len(lost) and EXPECT in table.weights:
        share = table.component(EXPECT)[lost]
        score = table.score()[lost] + table.weights[EXPECT] * (1 - share) / table.total_weight()[lost]
        flags = [flag.name for flag in suite.judge.rubric.flags if flag.fails] if suite.judge else []
        flagged = [table.component(name)[lost] > 0 for name in flags if name in table.components]
        reached = score >= suite.passing.at_least - _ROUNDING
        state[lost[reached & ~np.logical_or.reduce([np.zeros(len(lost), dtype=bool), *flagged])]] = PASSED
    return state


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


def _hold(rule: Array, passed: Array, failed: Array, planned: Array, at_first: Callable[[], Array]) -> Array:
    """1 holds, 0 does not, -1 where what did not run could still decide."""
    holds = np.full(len(rule), -1, dtype=np.int8)
    holds[passed == planned] = CASE_PASSED
    holds[failed > 0] = CASE_FAILED
    most, first = (rule == _RULES.index(which) for which in (RequiredRepeats.MAJORITY, RequiredRepeats.FIRST))
    holds[most] = _most(passed[most], failed[most], planned[most])
    if first.any():
        holds[first] = at_first()[first]
    return holds


def _most(good: Array, bad: Array, planned: Array) -> Array:
    return np.where(2 * good > planned, CASE_PASSED, np.where(2 * bad >= planned, CASE_FAILED, -1))


_UNDECIDED = "undecided: counts as not passed"
_UNKNOWN = "no check of it is known: counts as not passed"
_HOLDS = (
    "a cell is a case under a variant; a check passes over its repeats as `required_repeats` says; what cannot be"
    " decided has not passed, stays in the denominator and is given as missing"
)
_PASSES = (
    "a repeat passes when the sample does, under all its rules: every check, the pass rule and flags; it is decided"
    " when it passed or failed"
)
_ALL_OF = (
    "with fewer than k decided repeats a cell counts as the lowest that it could be, and as missing unless the repeats"
    " that are not known cannot change it; the bounds assume that these all fail, or all pass"
)
_RULE = "the pass rule"


def _cases(data: RunData, _: Names) -> Contributions:
    count, state = data.checked, data.checked.state
    repeats = count.repeats

    def detail(cell: int) -> str:
        checks = count.of_name(cell)
        if state[cell] == CASE_PASSED:
            return f"{len(checks)} checks passed"
        wanted, word = (CASE_FAILED, "failed") if state[cell] == CASE_FAILED else (-1, "undecided")
        listed = [name for name, holds in checks if holds == wanted]
        passed = f"{repeats.passed[cell]} of {repeats.planned[cell]} repeats passed"
        return f"{word}: {', '.join(listed) or _RULE}; {passed}"

    return Contributions(
        (state == CASE_PASSED).astype(float),
        np.ones(len(state)),
        undecided=(state < 0).astype(float),
        noted=((_UNDECIDED, state < 0),),
        detail=detail,
    )


def _checks(data: RunData, names: Names) -> Contributions:
    count = data.checked
    mine = np.ones(len(count.name), dtype=bool)
    if names:
        mine = count.base[count.name] == (count.declared.index(names[0]) if names[0] in count.declared else -1)
    blind = count.unknown
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
        undecided_in_absent=data.cells.checks_in_absent(
            lambda name: not names or declared_check(name, count.declared) == names[0]
        ),
        noted=((_UNDECIDED, (open_ > 0) & ~blind), (_UNKNOWN, blind)),
        detail=detail,
    )


def _all_of(data: RunData, names: Names) -> Contributions:
    return _of_k(data.pass_all, names[0], data.cells.n)


def _all_checks(data: RunData, names: Names) -> Contributions:
    return _of_k(data.checks_pass_all, names[0], data.cells.n)


def _of_k(by_k: Mapping[int, Contributions], k: str, n: int) -> Contributions:
    nothing = Contributions(np.full(n, np.nan), excluded=((f"fewer than {k} repeats were planned", None),))
    return by_k.get(int(k), nothing)


def _flaky(data: RunData, _: Names) -> Contributions:
    if data.clean_repeats is None:
        raise ValueError("a suite without a pass rule has no flaky cases")
    return data.clean_repeats.flaky()


def _if_expected(data: RunData) -> list[Names]:
    return [] if data.counted is None else [()]


for _metric in (
    Metric(
        "cases.passed",
        "share",
        "cases that pass over their repeats under all rules, among all planned",
        "cells whose every check and pass rule hold / planned cells",
        f"{_HOLDS}; the pass rule, with flags, counts as one more check",
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
        "pass^k: the chance that k repeats of a case all pass, under all their rules",
        "mean over planned cells of C(passed, k) / C(decided, k)",
        f"{_PASSES}; {_ALL_OF}",
        Aggregate.MEAN,
        _all_of,
        all_names=lambda data: [(str(k),) for k in data.pass_all],
        stands_on="cases with k decided repeats, or with enough failed ones",
        compared=Compared.NO,
        needs="pass",
    ),
    Metric(
        "checks.pass_all.<k>",
        "share",
        "the same by checks alone: the chance that every check passes in k repeats of a case, all of them",
        "mean over planned cells of C(clean, k) / C(decided, k)",
        "a repeat is clean when every check of its cell passed, whatever its score and flags, and decided when it is"
        f" clean or a check failed; {_ALL_OF}",
        Aggregate.MEAN,
        _all_checks,
        all_names=lambda data: [(str(k),) for k in data.checks_pass_all],
        stands_on="cases with k decided repeats, or with enough failed ones",
        compared=Compared.NO,
    ),
    Metric(
        "flaky_rate",
        "share",
        "cases that pass in some repeats and not in others",
        "cells with repeats that passed and repeats that failed / planned cells",
        f"{_PASSES}; a cell that repeats which are not known could make flaky is undecided: it counts as not flaky,"
        " and as missing",
        Aggregate.MEAN,
        _flaky,
        "lower",
        all_names=lambda data: [] if data.clean_repeats is None else [()],
        stands_on="cases and variants that could be decided",
        compared=Compared.NO,
        needs="pass",
    ),
):
    _needs = _metric.needs or "expect"
    register(same_but(_metric, level=Level.CELL, group="expectations", needs=_needs))
