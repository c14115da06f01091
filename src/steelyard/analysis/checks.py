"""Checks: what came of the expectations of a run, check by check and case by case, over repeats."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from steelyard.analysis.cell_metrics import OF_CASE, of_case, of_cells, ranked_first
from steelyard.frozen import frozen
from steelyard.metrics.cells import (
    CASE_FAILED,
    CASE_PASSED,
    FAILED,
    NOT_RUN,
    CellGroups,
    Counted,
    declared_check,
    effective_states,
)
from steelyard.metrics.registry import Contribute, Contributions, Level, Names, register
from steelyard.metrics.run_data import RunData
from steelyard.stats.arrays import Array
from steelyard.stats.intervals import Estimate
from steelyard.store.base import Checks, Columns
from steelyard.suite.models import ExpectDescription, RequiredRepeats


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
class CheckDetails:
    """What is listed of a run's expectations, cell by cell (a case under a variant); their numbers are figures of the
    run: `cases.count.passed`, `checks.passed`, `check.<name>.cells.failed`."""

    by_check: tuple[str, ...]
    """The names of checks in the order of the suite, each value that was looked for apart; at most `MOST_CELLS`, those
    that failed in most cells."""
    cells: tuple[CellChecks, ...] = ()
    """At most `MOST_CELLS` in the order of the cases, those that failed first among them."""


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


def check_details(data: RunData) -> CheckDetails | None:
    """The checks and cells of a run; None for a suite without expectations.

    Checks of inconclusive samples, and of planned ones that are missing, did not run.
    """
    count, checks = data.counted, data.checks
    if count is None or checks is None:
        return None
    cells = listed_cells(checks, data.columns, data.table.conclusive, count, data.cells)
    return CheckDetails(tuple(data.once(_by_check)), (*cells, *_uncalled_cells(data, count)))


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


CheckCounts = dict[str, int]
"""The counts of one check by the end of their names: `cells.passed`."""


def _by_check(data: RunData) -> dict[str, CheckCounts]:
    """The names that failed in most cells, in the order in which the suite declares their check, then as they came."""
    count = data.checked
    asked = [check.name for cell in data.cells.uncalled for check in cell.checks]
    names = list(dict.fromkeys([*count.names, *asked]))
    counts = _counts_by_name(data, count.name, names, Counter(asked))
    order = {name: place for place, name in enumerate(count.declared)}
    base = [order.get(declared_check(name, order), len(order)) for name in names]
    chosen = ranked_first(np.array([-counts[name]["cells.failed"] for name in names]))
    return {names[i]: counts[names[i]] for i in sorted(chosen.tolist(), key=lambda code: (base[code], code))}


def _counted_checks(data: RunData) -> dict[str, CheckCounts]:
    """By name, the checks that are counted: those that are declared, with all values that they look for, and each value
    of those that failed in most cells."""
    count = data.counted
    if count is None:
        return {}
    asked = Counter(declared_check(check.name, count.declared) for cell in data.cells.uncalled for check in cell.checks)
    return data.once(_by_check) | _counts_by_name(data, count.base[count.name], count.declared, asked)


def _counts_by_name(
    data: RunData, of: Array, names: Sequence[str], uncalled: Mapping[str, int]
) -> dict[str, CheckCounts]:
    """What became of the checks of cells by name; `of` is the place of each one's name, `uncalled` tells how many cells
    that were never called have it."""
    in_uncalled = {"cells.undecided": 1, "answers.not_run": data.cells.repeats}
    sums = {
        item.name: np.bincount(of, item.values(data, data.checked), minlength=len(names))
        + [uncalled.get(name, 0) * in_uncalled.get(item.name, 0) for name in names]
        for item in _CHECK_COUNTS
    }
    return {name: {which: round(item[i]) for which, item in sums.items()} for i, name in enumerate(names)}


_RAN = {"passed": "passed", "failed": "failed", "not_run": "did not run"}
_STATES = {"passed": CASE_PASSED, "failed": CASE_FAILED, "undecided": -1}
_ENDED = {"passed": "passed", "failed": "failed", "undecided": "cannot be decided"}
_IN_STATE = {
    "passed": "cells in which every check and the pass rule passed",
    "failed": "cells in which a check or the pass rule failed",
    "undecided": "cells in which no check failed, nor the pass rule, and one of them cannot be decided",
}


@frozen
class _Count:
    """A count over cells, or over the checks of cells: what every row brings, or a mark for those that bring 1; planned
    cells that are missing bring together what `in_absent` gives."""

    name: str
    formula: str
    values: Callable[[RunData, Counted], Array]
    in_absent: Callable[[CellGroups], float] = lambda _: 0


def _unknown(_: RunData, count: Counted) -> Array:
    return count.unknown


def _checks_in(code: int) -> Callable[[RunData, Counted], Array]:
    def values(data: RunData, count: Counted) -> Array:
        return count.of_cell(count.holds == code) + (_unknown(data, count) if code < 0 else 0)

    return values


def _in_state(state: str, code: int) -> Iterator[_Count]:
    """Cells, and checks of cells, in one state."""
    open_ = code < 0
    yield _Count(
        f"cases.count.{state}",
        _IN_STATE[state],
        lambda _, count: count.state == code,
        lambda cells: cells.absent * open_,
    )
    formula = f"checks that {_ENDED[state]}, counted per cell; a cell of which no check is known is one undecided check"
    yield _Count(
        f"checks.count.{state}", formula, _checks_in(code), lambda cells: cells.checks_in_absent().sum() * open_
    )


def _of_every_check() -> Iterator[_Count]:
    for state, code in _STATES.items():
        formula = f"cells in which the check {_ENDED[state]}"
        yield _Count(f"cells.{state}", formula, lambda _, count, code=code: count.holds == code)  # type: ignore[misc]
    for state, word in _RAN.items():
        formula = f"planned answers of its cells in which it {word}"
        yield _Count(f"answers.{state}", formula, lambda _, count, state=state: getattr(count, state))  # type: ignore[misc]


_CELL_COUNTS = (
    *(item for state, code in _STATES.items() for item in _in_state(state, code)),
    _Count(
        "cases.count.all",
        "stored cells + cells that are missing",
        lambda data, _: np.ones(data.cells.n),
        lambda cells: cells.absent,
    ),
    _Count(
        "cases.count.unknown",
        "cells of which no check is known",
        _unknown,
        lambda cells: cells.absent - len(cells.uncalled),
    ),
)
"""The counts over cells."""
_CHECK_COUNTS = tuple(_of_every_check())
"""The counts of one check."""
_CELLS = (
    "a cell is a case under a variant; a check passes over its repeats as `required_repeats` says; a repeat that"
    " failed, could not be read or is missing did not run the check; of a check that a sample has twice, the worse"
    " counts"
)


def _counted_cells(item: _Count) -> Contribute:
    """What every cell brings, and what a planned one does that is missing."""

    def contributions(data: RunData, _: Names) -> Contributions:
        absent = data.cells.absent
        each = item.in_absent(data.cells) / absent if absent else 0.0
        return Contributions(item.values(data, data.checked).astype(float), absent=each)

    return contributions


def _check_names(data: RunData) -> list[Names]:
    return [(name,) for name in data.once(_counted_checks)]


def _check_count(which: str) -> Callable[[RunData, Names], Estimate]:
    def figure(data: RunData, names: Names) -> Estimate:
        counts = data.once(_counted_checks)[names[0]]
        return Estimate(float(counts[which]), sum(counts[f"cells.{state}"] for state in _STATES))

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


for _item in _CELL_COUNTS:
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
for _item in _CHECK_COUNTS:
    register(
        of_cells(
            f"check.<name>.{_item.name}",
            _item.formula,
            _CELLS,
            _of_check(_item),
            figure=_check_count(_item.name),
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
