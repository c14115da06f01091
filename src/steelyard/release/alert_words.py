"""Figures and changes as alerts say them."""

from __future__ import annotations

from steelyard.analysis.model import Estimate
from steelyard.analysis.number_text import difference, in_unit


def then_and_now(before: float, now: float, unit: str) -> str:
    """`78.0 % now, 90.0 % before: -12.0 points`."""
    return f"{in_unit(now, unit)} now, {in_unit(before, unit)} before: {difference(now - before, unit)}"


def rise_in_words(before: float, now: float, unit: str) -> str:
    """The same with how much more it is, as a share."""
    by = f" ({100 * (now / before - 1):+.0f} %)" if before > 0 else ""
    return f"{in_unit(now, unit)} now, {in_unit(before, unit)} before{by}"


def sureness(change: Estimate, p: float | None, unit: str, test: str, several: int = 1, of: str = "case") -> str:
    """`95 % interval -20.1 to -3.9 points, p 0.004 (exact McNemar, 50 cases)`."""
    interval = ""
    if change.low is not None and change.high is not None:
        low, high = (difference(end, unit) for end in (change.low, change.high))
        interval = f"95 % interval {low.removesuffix(' points').removesuffix(' s')} to {high}, "
    among = f", adjusted for {several} slices" if several > 1 else ""
    return f"{interval}{p_in_words(p)} ({test}, {counted(change.n, of)}{among})"


def both_n(now: int, before: int) -> str:
    """`(n 50 now, 480 before)`."""
    return f"(n {now:,} now, {before:,} before)"


def p_in_words(p: float | None) -> str:
    """`p 0.004`, `p < 0.001`."""
    if p is None:
        return "p unknown"
    return "p < 0.001" if p < 0.001 else f"p {p:.3f}"


def counted(n: int, thing: str) -> str:
    """`1 case`, `1,200 cases`."""
    return f"{n:,} {thing}{'' if n == 1 else 's'}"
