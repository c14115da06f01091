"""Checks over the repeats of a case."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any

import numpy as np

from steelyard.analysis.model import Repeated
from steelyard.frozen import frozen
from steelyard.metrics.cells import (
    CASE_FAILED,
    CASE_PASSED,
    FAILED,
    NOT_RUN,
    CellGroups,
    Cells,
    Counted,
    declared_check,
    effective_states,
)
from steelyard.metrics.expressions import RepeatsRule, parse_repeats
from steelyard.metrics.kinds import Aggregate
from steelyard.metrics.registry import Contribute, Contributions, Level, Metric, Names, register
from steelyard.metrics.run_data import RunData
from steelyard.metrics.table import FORMAT, Table
from steelyard.stats.arrays import Array, add_at, distinct, pieces
from steelyard.stats.groups import Groups
from steelyard.stats.intervals import Estimate
from steelyard.store.base import Checks, Columns
from steelyard.suite.models import ExpectDescription, RequiredRepeats, SuiteModel

# What came of the expectations of a run: check by check, case by case, over repeats.


@frozen
class CheckOfCell:
    """One check of one case under one variant, over its repeats: k of n, and whether that is enough."""

    name: str
    passed: int
    failed: int
    not_run: int
    """Repeats in which it could not run, because the call failed, the answer could not be read or it is missing."""
    required_repeats: str
    """In how many repeats it must pass: all, majority or first."""
    holds: bool | None
    """None when what did not run could still decide it."""
    detail: str = ""
    """Of the first repeat that failed, where it cannot be told of the first that did not run, else of the first."""
    values: tuple[float, ...] = ()
    """The figure of each repeat in which it ran, for a check that compares one with a range."""
    low: float | None = None
    high: float | None = None

    @property
    def n(self) -> int:
        """The repeats that were planned."""
        return self.passed + self.failed + self.not_run


@frozen
class CellChecks:
    """All checks of one case under one variant."""

    case_id: str
    variant: str
    checks: tuple[CheckOfCell, ...]
    holds: bool | None
    """True when the case passes over its repeats: every check and the pass rule; None when it is undecided."""
    clean: int
    """Repeats that passed, under all rules."""
    decided: int
    """Repeats that passed or failed."""
    rule_holds: bool | None = True
    """Whether the pass rule holds over the repeats, apart from the checks; None when it is undecided."""
    about: str = ""
    """What the case is there for, in the case's own words."""

    @property
    def flaky(self) -> bool:
        """True when some repeats passed and others failed."""
        return 0 < self.clean < self.decided


@frozen
class CheckFigure:
    """One declared check over all cases it applies to."""

    name: str
    cells_passed: int
    cells_failed: int
    undecided: int
    passed: int
    """Answers in which it passed; with `failed` and `not_run`, every planned answer it applies to."""
    failed: int
    not_run: int


@frozen
class ChecksFigures:
    """What came of a run's expectations. A cell is a case under a variant."""

    cells_passed: int
    cells_failed: int
    cells_undecided: int
    checks_passed: int
    """Over all cells; with `checks_broken` and `checks_undecided`, every check of every planned cell. A cell of which
    nothing is known counts as one undecided check."""
    checks_failed: int
    checks_undecided: int
    cells_rate: Estimate
    """Share of all planned cells that pass, under all rules; undecided ones do not, and are missing: `n` is the
    others."""
    checks_rate: Estimate
    """Share of all checks of all cells that hold, undecided ones as above."""
    by_check: tuple[CheckFigure, ...]
    """In the order of the suite, each value that was looked for on its own line; at most `MOST_CELLS` lines, those that
    failed in most cells."""
    by_declared: tuple[CheckFigure, ...] = field(default=(), metadata={"hidden": True})
    """Each declared check over all values that were looked for, in the order of the suite."""
    passed: dict[str, Estimate] = field(default_factory=dict)
    """By declared check, the share of its checks over all cells that hold, whatever values they look for."""
    all_of: dict[int, Estimate] = field(default_factory=dict)
    """By k, the chance that every check passes in k repeats of a case: pass^k by the checks alone."""
    cells: tuple[CellChecks, ...] = ()
    """At most `MOST_CELLS` in the order of the cases, those that failed first among them."""
    n_cells: int = 0
    cells_unknown: int = 0
    """Cells of which nothing is known, not even how many checks they have."""


MOST_CELLS = 1_000
"""More cells than this are counted, but not kept one by one: a report of a million cases would hold them all."""


def ranked_first(rank: Array) -> Array:
    """The places of the `MOST_CELLS` lowest ranks, in their own order; of equal ranks the first. All are ranked."""
    return np.sort(np.argsort(rank, kind="stable")[:MOST_CELLS])


# The first cells of a run one by one, each of its checks with what was found in its repeats.

_RULES = tuple(RequiredRepeats)
NEVER_CALLED = "never called: the run stopped before"
"""The detail of the checks of a case that was planned and never called."""


def listed_cells(
    checks: Checks, columns: Columns, conclusive: Array, count: Counted, cells: CellGroups
) -> tuple[CellChecks, ...]:
    """At most `MOST_CELLS` cells in the order of the cases: those that failed before those that are undecided, flaky
    ones and those that passed."""
    repeats = count.repeats
    flaky = (repeats.passed > 0) & (repeats.passed < repeats.decided)
    chosen = ranked_first(np.select([count.state == CASE_FAILED, count.state < 0, flaky], [0, 1, 2], 3))
    place = np.full(cells.n, -1, dtype=np.int64)
    place[chosen] = np.arange(len(chosen))
    rows, bounds = _rows(checks, columns, place[cells.of_sample])
    states = effective_states(checks, conclusive)
    check_of_cells: list[list[CheckOfCell]] = [[] for _ in chosen]
    for number, at in enumerate(np.flatnonzero(place[count.cell] >= 0).tolist()):
        mine = rows[bounds[number] : bounds[number + 1]]
        check_of_cells[int(place[count.cell[at]])].append(_check(checks, mine, states[mine], count, at))
    order = {name: place for place, name in enumerate(count.names)}
    listed = []
    for cell, its in zip(chosen.tolist(), check_of_cells, strict=True):
        its.sort(key=lambda check: (count.base[order[check.name]], order[check.name]))
        case, variant = cells.name(cell)
        listed.append(
            CellChecks(
                case_id=case,
                variant=variant,
                checks=tuple(its),
                holds=_message(int(count.state[cell])),
                clean=int(count.repeats.passed[cell]),
                decided=int(count.repeats.decided[cell]),
                rule_holds=_message(int(count.rule_holds[cell])),
            )
        )
    return tuple(listed)


def _rows(checks: Checks, columns: Columns, place: Array) -> tuple[Array, Array]:
    """The checks of some cells by cell, name and repeat, and where each cell's check of a name begins; `place` is the
    place of each sample's cell among them, below 0 of the others."""
    cell = place[checks.sample]
    rows = np.flatnonzero(cell >= 0)
    pair = cell[rows] * max(1, len(checks.names)) + checks.name[rows]
    order = np.lexsort((columns.repeat[checks.sample[rows]], pair))
    rows, pair = rows[order], pair[order]
    starts = np.flatnonzero(np.concatenate(([True], pair[1:] != pair[:-1]))) if len(pair) else np.empty(0, int)
    return rows, np.append(starts, len(rows))


def _check(checks: Checks, rows: Array, state: Array, count: Counted, at: int) -> CheckOfCell:
    name = int(count.name[at])
    values = checks.value[rows[state != NOT_RUN]]
    return CheckOfCell(
        name=count.names[name],
        passed=int(count.passed[at]),
        failed=int(count.failed[at]),
        not_run=int(count.not_run[at]),
        required_repeats=_RULES[int(count.rules[name])].value,
        holds=_message(int(count.holds[at])),
        detail=checks.details[int(checks.detail[_reporting(rows, state, int(count.holds[at]))])],
        values=tuple(values[~np.isnan(values)].tolist()),
        low=_end(checks.low[rows]),
        high=_end(checks.high[rows]),
    )


def _reporting(rows: Array, state: Array, holds: int) -> int:
    """The repeat whose words say most: what failed breaks a check, what did not run leaves it open."""
    for wanted in (NOT_RUN, FAILED) if holds < 0 else (FAILED, NOT_RUN):
        if len(result := rows[state == wanted]):
            return int(result[0])
    return int(rows[0])


def _end(values: Array) -> float | None:
    """The end of a range, which is the same in every repeat that tells it."""
    available = values[~np.isnan(values)]
    return float(available[0]) if len(available) else None


def _message(state: int) -> bool | None:
    return None if state < 0 else state == CASE_PASSED


# What came of a run's expectations over repeats: counts, the table of checks and the first cells one by one.


def checks_figures(data: RunData, run: Mapping[str, Estimate]) -> ChecksFigures | None:
    """The figures of a run whose metrics over cells are `run`; None for a suite without expectations.

    Checks of inconclusive samples, and of planned ones that are missing, did not run. A cell of which nothing came
    counts as undecided, and as one undecided check.
    """
    count, checks = data.counted, data.checks
    if count is None or checks is None:
        return None
    cells = data.cells
    return ChecksFigures(
        **{
            field: int(item.values(data, count).sum()) + _in_absent(item, cells) for field, item in _CELL_COUNTS.items()
        },
        cells_rate=run["cases.passed"],
        checks_rate=run["checks.passed"],
        by_check=_by_check(data, count),
        by_declared=_by_declared(data, count),
        passed={name: run[f"check.{name}.passed"] for name in count.declared},
        all_of={k: run[f"checks.pass_all.{k}"] for k in data.checks_pass_all},
        cells=(*listed_cells(checks, data.columns, data.table.conclusive, count, cells), *_uncalled_cells(data, count)),
    )


def _uncalled_cells(data: RunData, count: Counted) -> Iterator[CellChecks]:
    """The cells that were planned and never called: none of their checks ran."""
    rules = dict(zip(count.names, count.rules.tolist(), strict=True))
    default = (data.suite.expect or ExpectDescription()).required_repeats.value
    for cell in data.cells.uncalled:
        checks = [
            CheckOfCell(
                name=check.name,
                passed=0,
                failed=0,
                not_run=data.cells.repeats,
                required_repeats=_RULES[rules[check.name]].value if check.name in rules else default,
                holds=None,
                detail=NEVER_CALLED,
                low=check.low,
                high=check.high,
            )
            for check in cell.checks
        ]
        yield CellChecks(cell.case_id, cell.variant, tuple(checks), None, 0, 0, None, cell.about)


def _in_absent(item: _Count, cells: CellGroups) -> int:
    """What cells that were planned and of which nothing came bring to a count."""
    if not item.planned:
        return 0
    return cells.absent if item.in_absent is None else int(item.in_absent(cells))


def _by_check(data: RunData, count: Counted) -> tuple[CheckFigure, ...]:
    """The names that failed in most cells, in the order in which the suite declares their check, then as they came."""
    asked = [check.name for cell in data.cells.uncalled for check in cell.checks]
    names = list(dict.fromkeys([*count.names, *asked]))
    items = _check_figures(data, count, count.name, names, Counter(asked))
    order = {name: place for place, name in enumerate(count.declared)}
    base = [order.get(declared_check(name, order), len(order)) for name in names]
    chosen = ranked_first(np.array([-item.cells_failed for item in items]))
    return tuple(items[i] for i in sorted(chosen.tolist(), key=lambda code: (base[code], code)))


def _by_declared(data: RunData, count: Counted) -> tuple[CheckFigure, ...]:
    asked = Counter(declared_check(check.name, count.declared) for cell in data.cells.uncalled for check in cell.checks)
    return _check_figures(data, count, count.base[count.name], count.declared, asked)


def _check_figures(
    data: RunData, count: Counted, of: Array, names: Sequence[str], uncalled: Mapping[str, int]
) -> tuple[CheckFigure, ...]:
    """What became of the checks of cells by name; `of` is the place of each one's name, `uncalled` tells how many cells
    that were never called have it."""
    sums = {
        field: np.bincount(of, item.values(data, count), minlength=len(names))
        + [_in_uncalled(field, uncalled.get(name, 0), data.cells) for name in names]
        for field, item in _CHECK_COUNTS.items()
    }
    return tuple(
        CheckFigure(name, **{field: round(item[i]) for field, item in sums.items()}) for i, name in enumerate(names)
    )


def _in_uncalled(field: str, n: int, cells: CellGroups) -> int:
    """What a check of `n` cells that were never called brings to a count of its figures."""
    return n * {"undecided": 1, "not_run": cells.repeats}.get(field, 0)


_RAN = {"passed": "passed", "failed": "failed", "not_run": "did not run"}
_STATES = {"passed": CASE_PASSED, "failed": CASE_FAILED, "undecided": -1}


@frozen
class _Count:
    """A count over cells, or over the checks of cells: what every row brings, or a mark for those that bring 1; of
    `planned` cells, those that are missing bring 1 each, or together what `in_absent` gives."""

    name: str
    formula: str
    values: Callable[[RunData, Counted], Array]
    planned: bool = False
    in_absent: Callable[[CellGroups], float] | None = None


def _unknown(_: RunData, count: Counted) -> Array:
    return count.unknown


def _checks_in(code: int) -> Callable[[RunData, Counted], Array]:
    def values(data: RunData, count: Counted) -> Array:
        return count.of_cell(count.holds == code) + (_unknown(data, count) if code < 0 else 0)

    return values


def _in_state(state: str, code: int) -> Iterator[tuple[str, _Count]]:
    """Cells, and checks of cells, in one state."""
    formula = f"cells that are {state}: passed when every check and the pass rule are, failed when one of them is"
    yield f"cells_{state}", _Count(f"cases.count.{state}", formula, lambda _, count: count.state == code, code < 0)
    formula = f"checks of cells that are {state}; a cell of which no check is known is one undecided check"
    yield (
        f"checks_{state}",
        _Count(
            f"checks.count.{state}",
            formula,
            _checks_in(code),
            code < 0,
            lambda cells: cells.checks_in_absent().sum(),
        ),
    )


def _of_every_check() -> Iterator[tuple[str, _Count]]:
    for state, code in _STATES.items():
        field, formula = f"{'' if code < 0 else 'cells_'}{state}", f"cells in which the check is {state}"
        yield field, _Count(f"cells.{state}", formula, lambda _, count, code=code: count.holds == code)  # type: ignore[misc]
    for state, word in _RAN.items():
        formula = f"planned answers of its cells in which it {word}"
        yield state, _Count(f"answers.{state}", formula, lambda _, count, state=state: getattr(count, state))  # type: ignore[misc]


_CELL_COUNTS = {
    **{field: item for state, code in _STATES.items() for field, item in _in_state(state, code)},
    "n_cells": _Count(
        "cases.count.all", "stored cells + cells that are missing", lambda data, _: np.ones(data.cells.n), True
    ),
    "cells_unknown": _Count(
        "cases.count.unknown",
        "cells of which no check is known",
        _unknown,
        True,
        lambda cells: cells.absent - len(cells.uncalled),
    ),
}
"""By the name of its field, the counts over cells."""
_CHECK_COUNTS = dict(_of_every_check())
"""By the name of its field, the counts of one check."""
_CELLS = (
    "a cell is a case under a variant; a check passes over its repeats as `required_repeats` says; a repeat that"
    " failed, could not be read or is missing did not run the check; of a check that a sample has twice, the worse"
    " counts"
)


def of_cells(
    name: str, about: str, counts: str, contributions: Contribute, aggregate: Aggregate = Aggregate.SUM, **more: Any
) -> Metric:
    """A metric of cells that no gate can name: of the whole run, unless `more` says otherwise."""
    settings: dict[str, Any] = {
        "unit": "count",
        "level": Level.CELL,
        "of": "cells",
        "better": "lower",
        "gate": False,
        "sliced": False,
    }
    return Metric(
        name=name,
        about=about,
        formula=about,
        counts=counts,
        aggregate=aggregate,
        contributions=contributions,
        **settings | more,
    )


OF_CASE: dict[str, Any] = {"listed": True, "sliced": True, "stands_on": "the repeats of one case"}
"""What figures of one case have in common: they are listed, under every variant."""


def all_cases(data: RunData) -> Iterator[Names]:
    """The cases that have samples."""
    return ((data.table.case_ids[case],) for case in dict.fromkeys(data.cells.case.tolist()))


def of_case(data: RunData, case_id: str) -> Array:
    """The cells of a case."""
    case_ids = data.table.case_ids
    return np.asarray(data.cells.case == (case_ids.index(case_id) if case_id in case_ids else -1))


def _counted_cells(item: _Count) -> Contribute:
    """What every cell brings, and what a planned one does that is missing."""

    def contributions(data: RunData, _: Names) -> Contributions:
        each = _in_absent(item, data.cells) / data.cells.absent if data.cells.absent else 0.0
        return Contributions(item.values(data, data.checked).astype(float), absent=each)

    return contributions


def _check_figures_of(data: RunData) -> dict[str, CheckFigure]:
    """By name, the checks that are counted: those that are declared, with all values that they look for, and each value
    of those that failed in most cells."""
    if data.counted is None:
        return {}
    lines = (*_by_check(data, data.counted), *_by_declared(data, data.counted))
    return {line.name: line for line in lines}


def _check_names(data: RunData) -> list[Names]:
    return [(name,) for name in data.once(_check_figures_of)]


def _check_count(field: str) -> Callable[[RunData, Names], Estimate]:
    def figure(data: RunData, names: Names) -> Estimate:
        line = data.once(_check_figures_of)[names[0]]
        n = line.cells_passed + line.cells_failed + line.undecided
        return Estimate(float(getattr(line, field)), n)

    return figure


def _of_name(data: RunData, name: str) -> Array:
    """The checks of cells of that name; of a declared one, with any value that it looks for."""
    count = data.checked
    if name in count.declared:
        return np.asarray(count.base[count.name] == count.declared.index(name))
    return np.asarray(count.name == (count.names.index(name) if name in count.names else -1))


def _of_check(item: _Count) -> Contribute:
    """What the cells of one check bring."""

    def contributions(data: RunData, names: Names) -> Contributions:
        mine, cell, values = _of_name(data, names[0]), data.checked.cell, item.values(data, data.checked)
        has = np.bincount(cell[mine], minlength=data.cells.n) > 0
        total = np.bincount(cell[mine], values[mine], minlength=data.cells.n)
        return Contributions(np.where(has, total, np.nan), not_missing=~has, absent=0.0)

    return contributions


def _ran(state: str) -> Contribute:
    """In how many repeats of the cells of a case a check passed, failed or did not run, or was planned."""

    def contributions(data: RunData, names: Names) -> Contributions:
        count, cells = data.checked, data.cells
        rows = np.flatnonzero((count.name == _code(count, names[1])) & of_case(data, names[0])[count.cell])
        # A cell has a check of one name once.
        at = {int(cell): int(row) for cell, row in zip(count.cell[rows], rows, strict=True)}
        values = np.full(cells.n, np.nan)
        planned = count.passed + count.failed + count.not_run
        values[count.cell[rows]] = (planned if state == "n" else getattr(count, state))[rows]

        def detail(cell: int) -> str:
            row = at[cell]
            return f"{count.passed[row]} passed, {count.failed[row]} failed, {count.not_run[row]} did not run"

        return Contributions(values, not_missing=np.isnan(values), detail=detail)

    return contributions


def _code(count: Counted, name: str) -> int:
    return count.names.index(name) if name in count.names else -1


def _checks_of_cases(data: RunData) -> Iterator[Names]:
    count = data.counted
    if count is not None:
        cases = data.cells.case[count.cell].tolist()
        pairs = dict.fromkeys(zip(cases, count.name.tolist(), strict=True))
        yield from ((data.table.case_ids[case], count.names[name]) for case, name in pairs)


def _found_values(data: RunData) -> tuple[Array, Array, Array]:
    """Every figure that a check found: its row among the checks, its cell, and how manieth of its cell and name it is,
    from 0, by repeat."""
    checks = data.checks
    if checks is None or data.counted is None:
        return (np.empty(0, dtype=int),) * 3
    ran = effective_states(checks, data.table.conclusive) != NOT_RUN
    rows = np.flatnonzero(ran & ~np.isnan(checks.value))
    cell = data.cells.of_sample[checks.sample[rows]].astype(np.int64)
    pair = cell * max(1, len(checks.names)) + checks.name[rows]
    order = np.lexsort((data.columns.repeat[checks.sample[rows]], pair))
    rows, cell, pair = rows[order], cell[order], pair[order]
    _, first, n = np.unique(pair, return_index=True, return_counts=True)
    return rows, cell, np.arange(len(rows)) - np.repeat(first, n)


def _found_value(data: RunData, names: Names) -> Contributions:
    """The n-th figure that a check found in the repeats of a case."""
    rows, cell, rank = data.once(_found_values)
    values, checks = np.full(data.table.n, np.nan), data.checks
    if checks is not None and names[2].isdecimal():
        code = checks.names.index(names[1]) if names[1] in checks.names else -1
        mine = rows[of_case(data, names[0])[cell] & (checks.name[rows] == code) & (rank == int(names[2]) - 1)]
        values[checks.sample[mine]] = checks.value[mine]
    return Contributions(values, not_missing=np.isnan(values))


def _names_of_values(data: RunData) -> Iterator[Names]:
    rows, cell, rank = data.once(_found_values)
    if data.checks is not None:
        cases, checks = data.cells.case[cell].tolist(), data.checks.name[rows].tolist()
        found = dict.fromkeys(zip(cases, checks, rank.tolist(), strict=True))
        for case, name, place in found:
            yield data.table.case_ids[case], data.checks.names[name], str(place + 1)


for _item in _CELL_COUNTS.values():
    register(
        of_cells(
            _item.name,
            _item.formula,
            _CELLS,
            _counted_cells(_item),
            all_names=lambda data: [] if data.counted is None else [()],
            stands_on="planned cases and variants",
        )
    )
for _field, _item in _CHECK_COUNTS.items():
    register(
        of_cells(
            f"check.<name>.{_item.name}",
            _item.formula,
            _CELLS,
            _of_check(_item),
            figure=_check_count(_field),
            all_names=_check_names,
            stands_on="cases and variants that have the check",
        )
    )
for _state, _word in {**_RAN, "n": "was planned"}.items():
    register(
        of_cells(
            f"case.<case>.check.<name>.{_state}",
            f"repeats of one case in which the check {_word}",
            _CELLS,
            _ran(_state),
            **OF_CASE,
            all_names=_checks_of_cases,
        )
    )
register(
    of_cells(
        "case.<case>.check.<name>.value.<n>",
        "the figure that the check found in one repeat of a case, as recorded",
        _CELLS,
        _found_value,
        **OF_CASE | {"level": Level.SAMPLE, "of": "samples", "unit": "number"},
        all_names=_names_of_values,
    )
)


MOST_FAILING = 5
_UNDECIDED, _PASSED, _FAILED = range(3)
STATES = {"undecided": _UNDECIDED, "passed": _PASSED, "failed": _FAILED}
_COMPARE = {
    ">=": np.greater_equal,
    "<=": np.less_equal,
    "==": np.equal,
    "!=": np.not_equal,
    ">": np.greater,
    "<": np.less,
}


@frozen
class _Counted:
    """A rule with, for each cell, how many repeats could be looked at, in how many of them it passed, and how many were
    planned."""

    rule: RepeatsRule
    runs: Array
    passed: Array
    planned: Array

    def states(self) -> Array:
        """What holds, or does not, whatever came of the repeats that could not be looked at; with fewer than the rule
        asks for it does not hold yet, but may not hold any more."""
        planned = np.maximum(self.planned, self.rule.of)
        # passed / planned >= at_least / of, without a division.
        needed = planned * self.rule.at_least
        holds = (self.passed * self.rule.of >= needed) & (self.runs >= self.rule.of)
        could_hold = (self.passed + planned - self.runs) * self.rule.of >= needed
        return np.where(holds, _PASSED, np.where(could_hold, _UNDECIDED, _FAILED))


class Repeats:
    """The rules over repeats that a suite's criteria name, looked at in every cell of a run."""

    def __init__(self, table: Table, suite: SuiteModel) -> None:
        self._counted: list[_Counted] = []
        rules = repeat_rules(suite)
        if not rules:
            return
        self._cells = Cells(table, suite)
        self._planned = (suite.n_planned or 0) // max(1, suite.repeats)
        self._n_variants = max(1, len(suite.variants))
        present = self._cells.count(np.ones(table.n, dtype=bool))
        for rule in rules:
            looked_at, holds = _samples(table, rule)
            counts = (self._cells.count(looked_at), self._cells.count(looked_at & holds))
            self._counted.append(_Counted(rule, *counts, np.maximum(present, suite.repeats)))

    @property
    def is_empty(self) -> bool:
        """Whether no criterion names a rule over repeats."""
        return not self._counted

    def of(self, factor: str, groups: Groups) -> list[dict[str, Repeated]]:
        """For each group, what came of every rule, by its text."""
        if not self._counted:
            return [{} for _ in groups.names]
        size, (cell, group, unseen) = len(groups), self._by_group(factor, groups)
        repeateds: list[dict[str, Repeated]] = [{} for _ in groups.names]
        for counted in self._counted:
            states = counted.states()[cell]
            counts = np.bincount(group * 3 + states, minlength=size * 3).reshape(size, 3)
            failed = states == _FAILED
            for g in range(size):
                repeateds[g][counted.rule.text] = Repeated(
                    passed=int(counts[g, _PASSED]),
                    failed=int(counts[g, _FAILED]),
                    undecided=int(counts[g, _UNDECIDED] + unseen[g]),
                    failing=self._words(counted, cell[failed & (group == g)][:MOST_FAILING].tolist()),
                )
        return repeateds

    def _by_group(self, factor: str, groups: Groups) -> tuple[Array, Array, Array]:
        """Every cell of every group, the group, and of each group how many cells were planned and are missing."""
        size = len(groups)
        pair, _ = distinct(groups.of(self._cells.of_sample).astype(int) * size + groups.group)
        cell, group = pair // size, pair % size
        return cell, group, np.maximum(0, self._expected(factor) - np.bincount(group, minlength=size))

    def _expected(self, factor: str) -> int:
        """How many cells each group was planned to have, where the plan says it: every variant asks for every case."""
        if factor == "":
            return self._planned
        return self._planned // self._n_variants if factor == "variant" else 0

    def _words(self, counted: _Counted, cells: Iterable[int]) -> tuple[str, ...]:
        return tuple(f"{self._cells.name(cell)}: {counted.passed[cell]} of {counted.runs[cell]}" for cell in cells)


def repeat_rules(suite: SuiteModel) -> list[RepeatsRule]:
    """The different rules over repeats among the suite's criteria."""
    results = {}
    for criterion in suite.criteria:
        for text in (criterion.passes, criterion.fails):
            rule = parse_repeats(text) if text else None
            if rule is not None:
                results[rule.text] = rule
    return list(results.values())


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


class _States:
    """By cell and rule, whether it passes over the repeats of the cell (`STATES`), and the cell in words."""

    def __init__(self, data: RunData) -> None:
        self.cells, self._counted = data.cells, {}
        for rule in repeat_rules(data.suite):
            looked_at, holds = _samples(data.of_repeats, rule)
            counts = (self.cells.count_of(looked_at), self.cells.count_of(looked_at & holds))
            self._counted[rule.text] = _Counted(rule, *counts, self.cells.planned_repeats)

    def of(self, text: str) -> Array:
        return self._counted[text].states()

    def detail(self, text: str) -> Callable[[int], str]:
        counted = self._counted[text]
        return lambda cell: f"{counted.passed[cell]} of {counted.runs[cell]}"


def _criterion_in_state(state: str) -> Contribute:
    """The cells in one state or, for `share`, all that could be decided."""

    def contributions(data: RunData, names: Names) -> Contributions:
        of_rules = data.once(_States)
        states, detail = of_rules.of(names[0]), of_rules.detail(names[0])
        if state == "share":
            values = np.where(states == _UNDECIDED, np.nan, states == _PASSED)
            return Contributions(values, excluded=(("undecided", None),), detail=detail)
        return Contributions((states == STATES[state]).astype(float), absent=float(state == "undecided"), detail=detail)

    return contributions


_HOW = (
    "a cell is a case under a variant; the condition is looked for in its conclusive repeats; it passes only with as"
    " many of them as the rule asks for, and is undecided while the others could change it"
)
_OF_RULE: dict[str, Any] = {
    "listed": True,
    "sliced": True,
    "all_names": lambda data: [(rule.text,) for rule in repeat_rules(data.suite)],
}
for _state in STATES:
    register(
        of_cells(
            f"repeated.<rule>.{_state}",
            f"cells in which the condition over repeats {'is undecided' if _state == 'undecided' else _state}",
            _HOW,
            _criterion_in_state(_state),
            **_OF_RULE,
            stands_on="cases and variants",
        )
    )
register(
    of_cells(
        "repeated.<rule>.share",
        "cells in which it passes / cells that could be decided",
        _HOW,
        _criterion_in_state("share"),
        Aggregate.MEAN,
        **_OF_RULE,
        unit="share",
        stands_on="cases and variants that could be decided",
    )
)
