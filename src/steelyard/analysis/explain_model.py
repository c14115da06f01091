"""What stands behind one figure: its formula, its inputs, what it leaves out, and the samples that it is made of."""

from __future__ import annotations

import math
from dataclasses import dataclass

from steelyard.analysis.compare_model import MetricChange
from steelyard.analysis.model import Estimate

_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Behind:
    """One sample, or one cell (`repeat` is None), and what it brings into a figure."""

    case_id: str
    variant: str
    repeat: int | None
    value: float
    said: str = ""
    """In words, what went wrong in it or how its value came about."""


@dataclass(frozen=True, slots=True)
class Counted:
    """So many samples or cells for one reason, and the first cases of them in the order of the plan."""

    why: str
    count: int
    cases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Computed:
    """A figure computed again from its samples, one by one."""

    value: float | None
    n: int
    n_missing: int
    inputs: tuple[tuple[str, float], ...] = ()
    """What stands in the formula, by name."""

    def equals(self, reported: Estimate) -> bool:
        """Whether a report's figure is the same; what is missing from no figure is counted differently."""
        if self.value is None or reported.value is None:
            return self.value is None and reported.value is None and self.n == reported.n
        close = math.isclose(self.value, reported.value, rel_tol=_ROUNDING, abs_tol=_ROUNDING)
        return close and (self.n, self.n_missing) == (reported.n, reported.n_missing)


@dataclass(frozen=True, slots=True)
class Explanation:
    """One figure of a run with everything behind it."""

    metric: str
    """With its slice: `category.chairs.average`."""
    unit: str
    about: str
    formula: str
    how: str
    of: str
    """What `n` counts: samples, cells, checks of cells."""
    reported: Estimate
    """As every report prints it."""
    computed: Computed
    interval: str
    """How the interval is made, in words."""
    excluded: tuple[Counted, ...]
    """What is not in it, by reason."""
    noted: tuple[Counted, ...]
    """What is in it otherwise than as it stands: a malformed answer that counts as 0."""
    order: str
    """Which samples come first."""
    behind: tuple[Behind, ...]
    """Everything that is in it, what counts most against the system first."""

    @property
    def agrees(self) -> bool:
        """Whether the report's figure is what its samples come to."""
        return self.computed.equals(self.reported)


@dataclass(frozen=True, slots=True)
class BehindPair:
    """One sample, cell or check of a cell in A and in B; `repeat` is None for a cell."""

    case_id: str
    variant: str
    repeat: int | None
    a: float
    b: float
    check: str = ""
    """Of a check of a cell, its name."""

    @property
    def moved(self) -> float:
        """B minus A."""
        return self.b - self.a


@dataclass(frozen=True, slots=True)
class PairExplanation:
    """One figure of a comparison with everything behind it."""

    metric: str
    formula: str
    how: str
    of: str
    """What `n` counts: pairs, cells or checks of cells that both runs have."""
    change: MetricChange
    """As the comparison prints it."""
    a: Computed
    b: Computed
    interval: str
    excluded: tuple[Counted, ...]
    order: str
    behind: tuple[BehindPair, ...]
    """What moved most against the system first."""

    @property
    def agrees(self) -> bool:
        """Whether both figures, and the difference where it is one of them, are what their samples come to."""
        before, after = self.change.own or (self.change.a, self.change.b)
        if not (self.a.equals(before) and self.b.equals(after)):
            return False
        if self.change.own is not None:
            # The difference is that of several runs, whose samples are not at hand.
            return True
        difference = self.change.difference.value
        if difference is None or self.a.value is None or self.b.value is None:
            return difference is None
        return math.isclose(self.b.value - self.a.value, difference, rel_tol=_ROUNDING, abs_tol=_ROUNDING)
