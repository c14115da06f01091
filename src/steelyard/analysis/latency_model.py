"""How long answers took: only calls that were answered, with those that were not beside them."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Spread:
    """Times in seconds over `n` answered calls; all None when n is 0, and percentiles that take more calls."""

    n: int
    mean: float | None = None
    min: float | None = None
    max: float | None = None
    p50: float | None = None
    p95: float | None = None
    p99: float | None = None

    @property
    def tail(self) -> tuple[str, float | None]:
        """The 95th percentile, or of too few calls the longest, by its name."""
        return ("p95", self.p95) if self.p95 is not None else ("max", self.max)


@dataclass(frozen=True, slots=True)
class CellLatency:
    """One case under one variant."""

    case_id: str
    variant: str
    spread: Spread
    timeouts: int
    failures: int
    """Calls that failed in any other way."""


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar of a histogram: calls that took `low` and more, and less than `high`."""

    low: float
    high: float
    count: int


@dataclass(frozen=True, slots=True)
class LatencyFigures:
    """All times of a run. Answers from a cache, and those that another tool recorded without a time, are not in it."""

    overall: Spread
    timeouts: int
    failures: int
    first_byte: Spread | None = None
    """None when the target cannot tell."""
    queued: Spread | None = None
    """How late calls were sent under an open load; None under a closed one."""
    load: str = ""
    """How the calls were made, in words: `8 at a time`, or `20 a second, whatever came back`."""
    bottleneck: str = ""
    """That this process, not the system, was the slow one, in words; "" when it was not, or nobody can tell."""
    bars: tuple[Bar, ...] = ()
    """At most twenty, side by side; every call in `overall` is in exactly one."""
    log_bars: bool = False
    """Whether the bars grow by a ratio: where the slowest call took over 100 times as long as the fastest."""
    cells: tuple[CellLatency, ...] = ()
    """The first `checks_model.MOST_CELLS` in the order of the cases."""
    n_cells: int = 0
    slow: str = ""
    """Which calls took longer than the suite's `latency: {above}`, in words."""
    hints: tuple[str, ...] = field(default=())
    """What looks wrong about the medians, in words; it makes the run suspect."""
