"""Figures and changes as alerts say them."""

from __future__ import annotations

from steelyard.analysis.model import Estimate
from steelyard.release.gates import shown


def change_in_words(value: float, unit: str) -> str:
    """`-12.0 points`, `+0.200 s`, `+3`."""
    if unit in ("share", "score"):
        return f"{round(100 * value, 1) + 0.0:+.1f} points"
    if unit == "s":
        return f"{value + 0.0:+.3f} s"
    return f"{value + 0.0:+.3g}"


def then_and_now(before: float, now: float, unit: str) -> str:
    """`78.0 % now, 90.0 % before: -12.0 points`."""
    return f"{shown(now, unit)} now, {shown(before, unit)} before: {change_in_words(now - before, unit)}"


def rise_in_words(before: float, now: float, unit: str) -> str:
    """The same with how much more it is, as a share."""
    by = f" ({100 * (now / before - 1):+.0f} %)" if before > 0 else ""
    return f"{shown(now, unit)} now, {shown(before, unit)} before{by}"


def sureness(difference: Estimate, p: float | None, unit: str, test: str, several: int = 1, of: str = "case") -> str:
    """`95 % interval -20.1 to -3.9 points, p 0.004 (exact McNemar, 50 cases)`."""
    interval = ""
    if difference.low is not None and difference.high is not None:
        low, high = (change_in_words(end, unit) for end in (difference.low, difference.high))
        interval = f"95 % interval {low.removesuffix(' points').removesuffix(' s')} to {high}, "
    among = f", adjusted for {several} slices" if several > 1 else ""
    return f"{interval}{p_in_words(p)} ({test}, {counted(difference.n, of)}{among})"


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
