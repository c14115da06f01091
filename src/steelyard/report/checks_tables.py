"""What came of expectations over repeats, as tables: which cases hold, which checks are broken, and how steadily."""

from __future__ import annotations

from dataclasses import replace

from steelyard.analysis.checks_model import CellChecks, CheckFigure, CheckOfCell, ChecksFigures
from steelyard.analysis.model import Estimate
from steelyard.report import figures
from steelyard.report.model import Report
from steelyard.report.tables import Column, Kind, Table, cell_name, computed
from steelyard.suite.expectations import EXPECT

_NOTHING = Table("", (), [])
_MOST_NAMED = 6
_FEW_IN_A_ROW = 5
_HOLD = {
    "all": "when it passes in every repeat",
    "majority": "when it passes in more than half of the repeats",
    "first": "when it passes in the first repeat",
}

_APART = "each passes in most answers, but not all of them in the same ones"


def headline(report: Report) -> str:
    """`Cases held 12 of 18, 1 cannot tell; checks 40 of 45`; "" for a suite without expectations."""
    found = report.summary.checks
    if found is None:
        return ""
    cases = f"{_cells_word(found).capitalize()} held {found.cells_held:,} of {found.n_cells:,}"
    open_cases = f", {found.cells_undecided:,} cannot tell" if found.cells_undecided else ""
    open_checks = f", {found.checks_undecided:,} cannot tell" if found.checks_undecided else ""
    return f"{cases}{open_cases}; checks {found.checks_held:,} of {_n_checks(found)}{open_checks}"


def says_it_all(report: Report) -> bool:
    """True when a suite weighs by its expectations alone: components, patterns, priorities and worst samples would say
    once more what broken checks and the errors by code say."""
    only = list(computed(report)) == [EXPECT]
    return only and report.summary.checks is not None and report.summary.failing is None


def expectations(report: Report) -> list[tuple[str, str]]:
    """Cases and checks that hold, how likely several repeats are all clean, and which cases are flaky."""
    found = report.summary.checks
    if found is None:
        return []
    word = _cells_word(found).capitalize()
    rows = [
        (f"{word} held", f"{found.cells_held:,} of {found.n_cells:,}: {figures.with_base(found.cells_rate)}"),
        ("Checks held", f"{found.checks_held:,} of {_n_checks(found)}: {figures.with_base(found.checks_rate)}"),
        ("A check holds", _holding(found)),
    ]
    if len(found.all_of) > 1:
        rows += [("pass^k", _in_a_row(found.all_of)), ("Flaky", _flaky(found))]
    return rows


def broken(report: Report, limit: int) -> Table:
    """Every check that does not hold, case by case, with k of n and what was found; the first `limit` of them."""
    found = report.summary.checks
    if found is None:
        return _NOTHING
    rows = [
        (cell_name(cell.case_id, cell.variant), check.name, f"{check.passed} of {check.n}", _state(check), check.detail)
        for holds in (False, None)
        for cell in found.cells
        for check in cell.checks
        if check.holds is holds
    ]
    rows += [
        (cell_name(cell.case_id, cell.variant), "all at once", f"{cell.clean} of {cell.decided}", _state(cell), _APART)
        for cell in found.cells
        if cell.checks and not cell.holds and all(check.holds for check in cell.checks)
    ]
    rows += [
        (cell_name(cell.case_id, cell.variant), "", "", "cannot tell", "nothing came of it")
        for cell in found.cells
        if not cell.checks
    ]
    in_all = max(found.checks_broken + found.checks_undecided, len(rows))
    shown = rows[:limit]
    note = f"{len(shown)} of {in_all:,}; {in_all - len(shown):,} are not shown" if in_all > len(shown) else ""
    columns = (_text("Case"), _text("Check"), Column("Passed"), Column("State"), _text("What was found"))
    if all(row[3] == "broken" for row in shown):
        return Table("Broken checks", (*columns[:3], columns[4]), [(*row[:3], row[4]) for row in shown], note)
    return Table("Checks that do not hold", columns, shown, note)


def broken_by_case(report: Report, limit: int) -> Table:
    """The same with a line a case and check, for a narrow place."""
    table = broken(report, limit)
    cases: dict[str, list[str]] = {}
    for name, check, passed, *state, detail in table.rows:
        told = f"{check} {passed}".strip()
        told += f" ({state[0]})" if state and state[0] != "broken" else ""
        cases.setdefault(name, []).append(f"{told}: {detail}" if told else f"{state[0]}: {detail}")
    rows = [(name, "\n".join(lines)) for name, lines in cases.items()]
    return Table(
        table.title, (_text("Case"), Column("Check, answers that passed, what was found", Kind.LINES)), rows, table.note
    )


def by_check(report: Report) -> Table:
    """Of each declared check: cases that hold, are broken or cannot be told; answers that passed, failed, never ran."""
    found = report.summary.checks
    if found is None:
        return _NOTHING
    declared: dict[str, CheckFigure] = {}
    for each in found.by_check:
        name = each.name.partition(":")[0]
        declared[name] = _sum(declared[name], each) if name in declared else replace(each, name=name)
    return _table("By check", [*declared.values()], _not_run_note([*declared.values()]))


def by_value(report: Report) -> Table:
    """The same for each value that was looked for; nothing when no check looks for several."""
    found = report.summary.checks
    if found is None:
        return _NOTHING
    declared = [each.name.partition(":")[0] for each in found.by_check]
    several = [each for each, name in zip(found.by_check, declared, strict=True) if declared.count(name) > 1]
    return _table("By check and value", several)


def _table(title: str, lines: list[CheckFigure], note: str = "") -> Table:
    names = ("held", "broken", "undecided", "passed", "failed", "not_run")
    rows = [(each.name, *(f"{getattr(each, name):,}" for name in names)) for each in lines]
    titles = ("Held", "Broken", "Cannot tell", "Answers passed", "Failed", "Not run")
    return Table(title, (_text("Check"), *map(Column, titles)), rows, note)


def _sum(one: CheckFigure, other: CheckFigure) -> CheckFigure:
    return CheckFigure(
        one.name,
        one.held + other.held,
        one.broken + other.broken,
        one.undecided + other.undecided,
        one.passed + other.passed,
        one.failed + other.failed,
        one.not_run + other.not_run,
    )


def _not_run_note(lines: list[CheckFigure]) -> str:
    if not any(each.not_run for each in lines):
        return ""
    return "not run: the call failed, the answer could not be read or never came; it never counts as passed"


def _holding(found: ChecksFigures) -> str:
    rules = dict.fromkeys(check.hold for cell in found.cells for check in cell.checks)
    if len(rules) == 1:
        return _HOLD[next(iter(rules))]
    return f"each by its own rule: {', '.join(rules)}" if rules else "none ran"


def _n_checks(found: ChecksFigures) -> str:
    """How many checks there are; of cases that were never asked nobody knows how many they have."""
    n = found.checks_held + found.checks_broken + found.checks_undecided
    return f"at least {n:,}" if found.cells_unknown else f"{n:,}"


def _in_a_row(all_of: dict[int, Estimate]) -> str:
    """The chance that so many repeats are all clean: for the first few k and the largest."""
    ks = sorted(all_of)
    shown = ks if len(ks) <= _FEW_IN_A_ROW else [*ks[: _FEW_IN_A_ROW - 1], ks[-1]]
    bases = [figures.base(all_of[k].n, all_of[k].n_missing) for k in shown]
    chances = [f"{k}: {figures.percent(all_of[k].value)}" for k in shown]
    if len(set(bases)) == 1:
        told = f"{', '.join(chances)}; {bases[0]}"
    else:
        # Where calls failed, fewer cases have answers enough for a larger k.
        told = ", ".join(f"{chance} ({base})" for chance, base in zip(chances, bases, strict=True))
    return f"{told}; chance that k answers are all clean"


def _flaky(found: ChecksFigures) -> str:
    """`3 of 24 cases: case_02 (2 of 5 clean), ...`."""
    share = found.flaky
    if share.value is None:
        return f"{figures.NOT_AVAILABLE} (no case has two answers that tell)"
    count = round(share.value * share.n)
    told = f"{count:,} of {share.n:,} {_cells_word(found)}"
    flaky = [cell for cell in found.cells if cell.flaky]
    named = [f"{cell_name(cell.case_id, cell.variant)} {cell.clean} of {cell.decided}" for cell in flaky[:_MOST_NAMED]]
    if not named:
        return told
    more = f", and {count - len(named):,} more" if count > len(named) else ""
    return f"{told}, some answers clean and others not: {', '.join(named)}{more}"


def _cells_word(found: ChecksFigures) -> str:
    return "cases and variants" if any(cell.variant for cell in found.cells) else "cases"


def _state(check: CheckOfCell | CellChecks) -> str:
    return "broken" if check.holds is False else "cannot tell"


def _text(title: str) -> Column:
    return Column(title, Kind.TEXT)
