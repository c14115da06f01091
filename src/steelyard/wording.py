"""Numbers as text: one function for each kind, so that a figure reads the same in tables, sentences and gates.

    share          percent       85.4 %, as measured; threshold: 75 %, as declared
    difference     points        +3.8 points; difference, in any unit
    number         whole, plain  12,345; 3.42
    cost           money         0.000184
    time           seconds       1.25 s, as measured; time_text: 2.5 s, in few digits; duration_text: 5 min, of a wait
    calls a time   rate_text     20 a second
    p-value        p_text        p 0.004
    date           day, when     2026-01-18; 2026-01-18 16:00 UTC
    any            in_unit       as its unit is printed

`report/format.py` adds what estimates need: intervals and what a figure is based on.
"""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from steelyard.records import AtLeast

if TYPE_CHECKING:
    from steelyard.analysis.model import ReusedAnswers

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


def threshold(fraction: float) -> str:
    """A declared fraction with no more digits than it needs: `75 %`, `62.5 %`."""
    return f"{percentage(fraction, 9):g} %"


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


def time_text(length: float, digits: int = 3) -> str:
    """`14 ms`, `2.5 s`, `1,200 s`: in as many digits as are asked for, milliseconds below a second."""
    number, unit = (1000 * length, "ms") if length < 1 else (length, "s")
    rounded = float(f"{number:.{digits}g}")
    return f"{rounded:,.0f} {unit}" if rounded.is_integer() else f"{rounded:.{digits}g} {unit}"


def duration_text(length: float) -> str:
    """`5 min`, `90 s`, `0.5 s`: minutes where there is nothing beside them."""
    minutes, rest = divmod(round(length, 1), 60)
    return f"{minutes:g} min" if minutes and not rest else f"{round(length, 0 if length >= 10 else 1):g} s"


def rate_text(rate: float) -> str:
    """`20 a second`, or `90 a minute` where that is the rounder number."""
    for length, unit in ((1, "a second"), (60, "a minute"), (3600, "an hour")):
        whole = round(rate * length, 9)
        if whole >= 1 and whole == int(whole):
            return f"{int(whole):,} {unit}"
    return f"{rate:.3g} a second" if rate >= 1 else f"{rate * 60:.3g} a minute"


def p_text(p: float | None) -> str:
    """`p 0.004`, `p < 0.001`."""
    if p is None:
        return "p unknown"
    return "p < 0.001" if p < 0.001 else f"p {p:.3f}"


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


def when(timestamp: float | None) -> str:
    """A date with its time, as `2026-01-18 16:00 UTC`; empty when there is none."""
    if not timestamp:
        return ""
    try:
        return datetime.fromtimestamp(timestamp, UTC).strftime("%Y-%m-%d %H:%M UTC")
    except (OverflowError, ValueError, OSError):  # a forged or damaged file
        return "at no date that there is"


def iso_time(timestamp: float) -> str:
    """The same for programs: `2026-01-18T16:00:00Z`."""
    return datetime.fromtimestamp(timestamp, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def cached_in_words(cached: int, answers: int, made: ReusedAnswers) -> str:
    """`30 of 30 answers come from the cache of 2026-01-18`, with both ends where they are of several days."""
    text = f"{cached:,} of {answers:,} answers come from the cache"
    if made.first is None or made.last is None:
        return f"{text} (made at an unknown time)"
    return f"{text} of {' to '.join(dict.fromkeys(map(day, (made.first, made.last))))}"


def provider_cached_in_words(cached: int, answers: int) -> str:
    """`5 of 30 answers come from a cache of the provider`."""
    return f"{cached:,} of {answers:,} answers come from a cache of the provider"
