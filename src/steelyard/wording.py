"""Numbers as text."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from steelyard.records import AtLeast

if TYPE_CHECKING:
    from steelyard.analysis.model import ReusedAnswers

# The one way in which numbers are rounded and written: a figure reads the same in tables, sentences and gates.

NOT_AVAILABLE = "n/a"
HEADLINE_METRICS = {"pass_rate": "pass rate", "average": "average score"}
"""What the metrics that decide are called in sentences."""
SHARES = ("share", "score")
_POINTS = ("points", "kappa", "alpha", "size")
"""Units of figures about a judge and its dimensions: plain numbers with two decimals."""
_MOST_DIGITS = 8
_EQUAL = 1e-9
DIFFERENCE = "±"
"""Stands before the unit of a figure that says how much more or less."""


def percentage(share: float, digits: int = 1) -> float:
    """A share in percent, rounded: 50.8 for 0.5075, though 100 x 0.5075 is a hair below 50.75; never -0.0."""
    return round(round(share * 100, 9), digits) + 0.0


def percent(fraction: float | None, digits: int = 1) -> str:
    """A fraction as `85.4 %`; what is not quite all or nothing never reads as `100.0 %` or `0.0 %`."""
    if fraction is None or not math.isfinite(fraction):
        return NOT_AVAILABLE
    rounded = percentage(fraction, digits)
    step = f"{10.0**-digits:.{digits}f}"
    if 0 < fraction < 1 and rounded == 0:
        return f"<{step} %"
    if 0 < fraction < 1 and rounded == 100:
        return f">{100 - 10.0**-digits:.{digits}f} %"
    return f"{rounded:.{digits}f} %"


def points(fraction: float, digits: int = 1) -> str:
    """A difference of two fractions as percentage points: `+3.8 points`."""
    return f"{percentage(fraction, digits):+.{digits}f} points"


def signed_points(share: float | None) -> str:
    """A share as points with its sign: `+1.4`; `0.0` for nothing."""
    if share is None:
        return NOT_AVAILABLE
    rounded = percentage(share)
    return f"{rounded:+.1f}" if rounded else "0.0"


def whole(value: float | None) -> str:
    """A count with thousands marked: `12,345`; one that is no whole number keeps one decimal."""
    if value is None or not math.isfinite(value):
        return NOT_AVAILABLE
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.1f}"


def money(value: float | None, more: int = 0) -> str:
    """An amount in the unit of the suite's own prices: `12.50`; small amounts keep three figures, `0.000184`."""
    if value is None or not math.isfinite(value):
        return NOT_AVAILABLE
    if value == 0 or abs(value) >= 1:
        return f"{value:,.{2 + more}f}"
    digits = 2 - math.floor(math.log10(abs(value))) + more
    return f"{value:.{digits}f}"


def seconds(value: float | None, more: int = 0) -> str:
    """A duration: `14 ms`, `1.25 s`, `18.1 s`, `3 min 05 s`, as a lower bound `≥ 5.00 s`; `more` digits where those do
    not tell it from another."""
    if value is None or not math.isfinite(value):
        return NOT_AVAILABLE
    if isinstance(value, AtLeast):
        return f"≥ {seconds(float(value), more)}"
    if value < 0.9995:
        return f"{value * 1000:.{more}f} ms" if value >= 0.00095 or value == 0 or more else "<1 ms"
    if value < 9.995:
        return f"{value:.{2 + more}f} s"
    if value < 119.95 or more:
        return f"{value:.{1 + more}f} s"
    minutes, rest = divmod(round(value), 60)
    return f"{minutes} min {rest:02d} s"


def plain(value: float | None, digits: int = 2) -> str:
    """A number of points or a coefficient: `3.42`, `-0.10`."""
    if value is None or not math.isfinite(value):
        return NOT_AVAILABLE
    text = f"{value:.{digits}f}"
    return text.removeprefix("-") if float(text) == 0 else text


def in_unit(value: float | None, unit: str, more: int = 0) -> str:
    """A figure as its unit is printed, with so many digits more; `unit` is one of GateResult's. `≥ 5.00 s` is a lower
    bound."""
    if value is None or not math.isfinite(value):
        return NOT_AVAILABLE
    if isinstance(value, AtLeast):
        return f"≥ {in_unit(float(value), unit, more)}"
    if unit.startswith(DIFFERENCE):
        return difference(value, unit.removeprefix(DIFFERENCE), more=more)
    if unit in SHARES:
        return percent(value, 1 + more) if abs(value) <= 1 else plain(value, 2 + more)
    if unit in _POINTS:
        return plain(value, 2 + more)
    if unit == "s":
        return seconds(value, more)
    if unit == "cost":
        return money(value, more)
    if unit in ("count", "tokens"):
        return whole(value) + (" tokens" if unit == "tokens" else "")
    return f"{value:.{6 + more}g}"


def difference(value: float, unit: str, *, bare: bool = False, more: int = 0) -> str:
    """How much more or less, with its sign: `-3.8 points`, `+120 ms`; `bare` without the word for shares."""
    if unit in SHARES:
        text = points(value, 1 + more)
        return text.removesuffix(" points") if bare else text
    return f"{'-' if value < 0 else '+'}{in_unit(abs(value), unit, more)}"


def distinguished(value: float | None, unit: str, *limits: float) -> str:
    """A figure with as many digits as it takes not to look equal to a limit that it does not equal."""
    if value is None or not math.isfinite(value):
        return NOT_AVAILABLE
    others = [limit for limit in limits if abs(value - limit) > _EQUAL * max(1.0, abs(limit))]
    text = in_unit(value, unit)
    for more in range(_MOST_DIGITS):
        text = in_unit(value, unit, more)
        if all(text != in_unit(limit, unit, more) for limit in others):
            break
    return text


def counted(number: int, noun: str, plural: str = "") -> str:
    """A count with its noun: `1 sample`, `2 samples`."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def day(timestamp: float) -> str:
    """A date as `2026-01-18`."""
    return datetime.fromtimestamp(timestamp, UTC).strftime("%Y-%m-%d")


def cached_in_words(cached: int, answers: int, made: ReusedAnswers) -> str:
    """`30 of 30 answers come from the cache of 2026-01-18`, with both ends where they are of several days."""
    text = f"{cached:,} of {answers:,} answers come from the cache"
    if made.first is None or made.last is None:
        return f"{text} (made at an unknown time)"
    return f"{text} of {' to '.join(dict.fromkeys(map(day, (made.first, made.last))))}"


def provider_cached_in_words(cached: int, answers: int) -> str:
    """`5 of 30 answers come from a cache of the provider`."""
    return f"{cached:,} of {answers:,} answers come from a cache of the provider"
