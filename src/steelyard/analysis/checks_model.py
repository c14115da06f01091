"""What came of the expectations of a run: check by check, case by case, over repeats."""

from __future__ import annotations

from dataclasses import dataclass, field

from steelyard.stats.intervals import Estimate


@dataclass(frozen=True, slots=True)
class CheckOfCell:
    """One check of one case under one variant, over its repeats: k of n, and whether that is enough."""

    name: str
    passed: int
    failed: int
    not_run: int
    """Repeats in which it could not run, because the call failed, the answer could not be read or it never came."""
    hold: str
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


@dataclass(frozen=True, slots=True)
class CellChecks:
    """All checks of one case under one variant."""

    case_id: str
    variant: str
    checks: tuple[CheckOfCell, ...]
    holds: bool | None
    """True when every check holds, False when one does not, None when it cannot be told."""
    clean: int
    """Repeats in which every check passed."""
    decided: int
    """Repeats in which every check ran, or one failed: those that say whether the answer was clean."""
    about: str = ""
    """What the case is there for, in the case's own words."""

    @property
    def flaky(self) -> bool:
        """True when some repeats were clean and others were not."""
        return 0 < self.clean < self.decided


@dataclass(frozen=True, slots=True)
class CheckFigure:
    """One declared check over all cases it applies to."""

    name: str
    held: int
    broken: int
    undecided: int
    passed: int
    """Answers in which it passed; with `failed` and `not_run`, every planned answer it applies to."""
    failed: int
    not_run: int


@dataclass(frozen=True, slots=True)
class ChecksFigures:
    """What came of a run's expectations. A cell is a case under a variant."""

    cells_held: int
    cells_broken: int
    cells_undecided: int
    checks_held: int
    """Over all cells; with `checks_broken` and `checks_undecided`, every check of every planned cell. A cell of which
    nothing is known counts as one undecided check."""
    checks_broken: int
    checks_undecided: int
    cells_rate: Estimate
    """Share of all planned cells that hold; those that cannot be told do not, and are missing: `n` is the others."""
    checks_rate: Estimate
    """Share of all checks of all cells that hold, with those that cannot be told as above."""
    by_check: tuple[CheckFigure, ...]
    """In the order of the suite, each value that was looked for on its own line; the first `MOST_CELLS` lines."""
    held: dict[str, Estimate] = field(default_factory=dict)
    """By declared check, the share of its checks over all cells that hold, whatever values they look for."""
    all_of: dict[int, Estimate] = field(default_factory=dict)
    """pass^k by k: the chance that k repeats of a case are all clean, mean over the cells with k decided repeats."""
    flaky: Estimate = field(default_factory=lambda: Estimate(None, 0))
    """Share of the cells with at least two decided repeats in which some are clean and others are not."""
    cells: tuple[CellChecks, ...] = ()
    """The first `MOST_CELLS` in the order of the cases."""
    n_cells: int = 0
    cells_unknown: int = 0
    """Cells of which nothing is known, not even how many checks they have."""


MOST_CELLS = 1_000
"""More cells than this are counted, but not kept one by one: a report of a million cases would hold them all."""
