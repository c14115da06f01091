"""What a comparison says about expectations and stability: a sentence, the figures, and every check that moved."""

from __future__ import annotations

from collections.abc import Sequence

from steelyard.analysis.compare_model import Comparison
from steelyard.analysis.compared_checks_model import CellMoves, CheckMove, ChecksChange
from steelyard.report.figures import counted
from steelyard.report.safe_text import clipped
from steelyard.report.tables import Column, Kind, Table, cell_name

_MOST_NAMED = 3
_LONGEST_NAME = 40


def sentence(comparison: Comparison) -> str:
    """How many cases and checks were fixed and broken; "" when a run has no expectations."""
    found = comparison.checks
    if found is None:
        return ""
    cells = _moved(
        f"{found.cells_fixed.count:,} fixed{_named(found.cells_fixed)}",
        f"{found.cells_broken.count:,} broken{_named(found.cells_broken)}",
        found.cells_unchanged,
        found.cells_cannot_tell,
    )
    checks = _moved(
        f"{found.fixed.count:,} fixed", f"{found.broken.count:,} broken", found.unchanged, found.cannot_tell
    )
    beside = _only(found) + (f"; {found.hindered}" if found.hindered else "")
    return f"expectations of {counted(found.n_cells, 'case')}: {cells}; {counted(found.n, 'check')}: {checks}{beside}"


def moved(comparison: Comparison, limit: int) -> Table:
    """Every check that holds in one run and is broken in the other, those that broke first."""
    found = comparison.checks
    if found is None:
        return Table("", (), [])
    rows = [*_rows(found.broken.lines, "broken"), *_rows(found.fixed.lines, "fixed")][:limit]
    left_off = found.broken.count + found.fixed.count - len(rows)
    note = "k of n: repeats in which it passed"
    columns = (
        Column("Case", Kind.TEXT),
        Column("Check", Kind.TEXT),
        Column("A"),
        Column("B"),
        Column("Change"),
    )
    return Table("Checks that moved", columns, rows, f"{note}; {left_off:,} more are not shown" if left_off else note)


def _rows(lines: Sequence[CheckMove], change: str) -> list[tuple[str, ...]]:
    return [
        (
            cell_name(one.case_id, one.variant),
            one.name,
            f"{one.passed_a} of {one.n_a}",
            f"{one.passed_b} of {one.n_b}",
            change,
        )
        for one in lines
    ]


def _moved(fixed: str, broken: str, unchanged: int, cannot_tell: int) -> str:
    told = f"{fixed}, {broken}, {unchanged:,} unchanged"
    return f"{told}, {cannot_tell:,} cannot tell" if cannot_tell else told


def _named(found: CellMoves) -> str:
    names = [clipped(cell_name(*each), _LONGEST_NAME) for each in found.names[:_MOST_NAMED]]
    if not names:
        return ""
    more = found.count - len(names)
    return f" ({', '.join(names)}{f' and {more:,} more' if more else ''})"


def _only(found: ChecksChange) -> str:
    sides = [f"{n:,} only in {side}" for side, n in (("A", found.only_a), ("B", found.only_b)) if n]
    return f"; {' and '.join(sides)}" if sides else ""
