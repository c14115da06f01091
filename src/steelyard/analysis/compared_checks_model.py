"""What changed in the expectations from run A to run B: plain data that every report is a view of."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class CheckMove:
    """One check of one case under one variant that holds in one run and is broken in the other."""

    case_id: str
    variant: str
    name: str
    passed_a: int
    """Repeats in which it passed, of `n_a` that were planned."""
    n_a: int
    passed_b: int
    n_b: int


@dataclass(frozen=True, slots=True)
class CheckMoves:
    """How many checks moved, and the first 50 of them."""

    count: int = 0
    lines: tuple[CheckMove, ...] = ()


@dataclass(frozen=True, slots=True)
class CellMoves:
    """How many cells (cases under a variant) moved, and the first 50 of them as case and variant."""

    count: int = 0
    names: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class ChecksChange:
    """What became of every check that both runs have, in cells with the same question and truth.

    `fixed`, `broken`, `unchanged` and `cannot_tell` are all of them; so are those of the cells.
    """

    fixed: CheckMoves = field(default_factory=CheckMoves)
    """Broken in A, holds in B."""
    broken: CheckMoves = field(default_factory=CheckMoves)
    """Holds in A, broken in B."""
    unchanged: int = 0
    cannot_tell: int = 0
    """In A or in B nobody can tell whether it holds."""
    only_a: int = 0
    """Checks of the same cells that only A has."""
    only_b: int = 0
    cells_fixed: CellMoves = field(default_factory=CellMoves)
    """In A a check is broken, in B all hold."""
    cells_broken: CellMoves = field(default_factory=CellMoves)
    cells_unchanged: int = 0
    cells_cannot_tell: int = 0
    hindered: str = ""
    """Why holding in A and holding in B is not the same thing, in words; "" when it is."""

    @property
    def n(self) -> int:
        """Checks that both runs have."""
        return self.fixed.count + self.broken.count + self.unchanged + self.cannot_tell

    @property
    def n_cells(self) -> int:
        """Cells that both runs have."""
        return self.cells_fixed.count + self.cells_broken.count + self.cells_unchanged + self.cells_cannot_tell
