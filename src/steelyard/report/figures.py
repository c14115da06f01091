"""The one place that turns numbers into text: every view prints the same figure the same way, with its n."""

from __future__ import annotations

import math
from collections.abc import Sequence

from steelyard.analysis.model import Estimate

NOT_AVAILABLE = "n/a"
UNDEFINED = "undefined"
_SHARES = ("share", "score")
_POINTS = ("points", "kappa", "alpha", "size")
"""Units of figures about a judge and its dimensions: plain numbers with two decimals."""
_MOST_DIGITS = 6
DIFFERENCE = "±"
"""Stands before the unit of a figure that says how much more or less."""


def percent(fraction: float | None, digits: int = 1) -> str:
    """A fraction as `85.4 %`; what is not quite all or nothing never reads as `100.0 %` or `0.0 %`."""
    if fraction is None or not math.isfinite(fraction):
        return NOT_AVAILABLE
    text = _hundredfold(fraction, digits)
    step = f"{10.0**-digits:.{digits}f}"
    if 0 < fraction < 1 and float(text) == 0:
        return f"<{step} %"
    if 0 < fraction < 1 and float(text) == 100:
        return f">{100 - 10.0**-digits:.{digits}f} %"
    return f"{text} %"


def _hundredfold(fraction: float, digits: int) -> str:
    # A mean of exact steps such as 0.8545 may be stored a hair below; without the nudge it would round down.
    text = f"{round(fraction * 100, 9):.{digits}f}"
    return text.removeprefix("-") if float(text) == 0 else text


def threshold(fraction: float) -> str:
    """A declared fraction with no more digits than it needs: `75 %`, `62.5 %`."""
    return f"{round(fraction * 100, 2):g} %"


def points(fraction: float) -> str:
    """A difference of two fractions as percentage points: `+3.8 points`."""
    return f"{round(fraction * 100, 9):+.1f} points"


def whole(value: float | None) -> str:
    """A count with thousands marked: `12,345`; one that is no whole number keeps one decimal."""
    if value is None or not math.isfinite(value):
        return NOT_AVAILABLE
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.1f}"


def tokens(value: float | None) -> str:
    """A number of tokens: `12,345 tokens`."""
    return NOT_AVAILABLE if value is None else f"{whole(value)} tokens"


def money(value: float | None) -> str:
    """An amount in the unit of the suite's own prices: `12.50`; small amounts keep three figures, `0.000184`."""
    if value is None or not math.isfinite(value):
        return NOT_AVAILABLE
    if value == 0 or abs(value) >= 1:
        return f"{value:,.2f}"
    digits = 2 - math.floor(math.log10(abs(value)))
    return f"{value:.{digits}f}"


def seconds(value: float | None) -> str:
    """A duration: `14 ms`, `1.25 s`, `18.1 s`, `3 min 05 s`."""
    if value is None or not math.isfinite(value):
        return NOT_AVAILABLE
    if value < 0.9995:
        return f"{value * 1000:.0f} ms" if value >= 0.00095 or value == 0 else "<1 ms"
    if value < 9.995:
        return f"{value:.2f} s"
    if value < 119.95:
        return f"{value:.1f} s"
    minutes, rest = divmod(round(value), 60)
    return f"{minutes} min {rest:02d} s"


def in_unit(value: float | None, unit: str) -> str:
    """A figure as its unit is printed; `unit` is one of GateResult's."""
    if value is None or not math.isfinite(value):
        return NOT_AVAILABLE
    if unit.startswith(DIFFERENCE):
        return difference(value, unit.removeprefix(DIFFERENCE))
    if unit in _SHARES:
        return percent(value) if abs(value) <= 1 else f"{value:.2f}"
    if unit in _POINTS:
        return plain(value)
    by_unit = {"count": whole, "s": seconds, "cost": money, "tokens": tokens}
    return by_unit[unit](value) if unit in by_unit else f"{value:g}"


def difference(value: float, unit: str, *, bare: bool = False) -> str:
    """How much more or less, with its sign: `-3.8 points`, `+120 ms`; `bare` without the word for shares."""
    if unit in _SHARES:
        text = f"{round(value * 100, 9) + 0.0:+.1f}"
        return text if bare else f"{text} points"
    return f"{'-' if value < 0 else '+'}{in_unit(abs(value), unit)}"


def beside_threshold(value: float | None, threshold: float, unit: str) -> str:
    """A figure with as many digits as it takes not to look equal to a threshold it does not equal."""
    text = in_unit(value, unit)
    if value is None or value == threshold or unit not in (*_SHARES, *_POINTS) or not math.isfinite(value):
        return text
    shown, fewest = (percent, 1) if unit in _SHARES else (plain, 2)
    for digits in range(fewest, _MOST_DIGITS):
        text = shown(value, digits)
        if text != shown(threshold, digits):
            return text
    return text


def plain(value: float | None, digits: int = 2) -> str:
    """A number of points or a coefficient: `3.42`, `-0.10`."""
    if value is None or not math.isfinite(value):
        return NOT_AVAILABLE
    text = f"{value:.{digits}f}"
    return text.removeprefix("-") if float(text) == 0 else text


def signed(value: float | None) -> str:
    """A number that is more or less than nothing, in points: `+0.42`."""
    text = plain(value)
    return text if value is None or text.startswith("-") or float(text) == 0 else f"+{text}"


def interval(estimate: Estimate, unit: str = "share") -> str:
    """The 95 % interval as `[78.1, 91.0]`; `undefined` below n 2, `no interval` for what else cannot be bounded."""
    if estimate.low is None or estimate.high is None:
        return no_interval(estimate.n)
    return f"[{_bare(estimate.low, unit)}, {_bare(estimate.high, unit)}]"


def no_interval(n: int) -> str:
    """What stands for an interval that there is not: one reading says nothing of noise."""
    return "no interval" if n > 1 else UNDEFINED


def _bare(value: float, unit: str) -> str:
    if unit.startswith(DIFFERENCE):
        return difference(value, unit.removeprefix(DIFFERENCE), bare=True)
    return _hundredfold(value, 1) if unit in _SHARES and abs(value) <= 1 else in_unit(value, unit)


def base(n: int, n_missing: int = 0) -> str:
    """What a figure stands on: `n 50`, or `n 48, 2 missing`."""
    return f"n {n:,}, {n_missing:,} missing" if n_missing else f"n {n:,}"


def bare_base(estimate: Estimate) -> str:
    """What a figure stands on, under a heading that already says n: `50`, or `48, 2 missing`."""
    return base(estimate.n, estimate.n_missing).removeprefix("n ")


def with_base(estimate: Estimate, unit: str = "share") -> str:
    """A figure with its interval, n and missing: `85.4 % [78.1, 91.0] n 50`."""
    parts = [in_unit(estimate.value, unit)]
    if estimate.low is not None and estimate.high is not None:
        parts.append(interval(estimate, unit))
    return " ".join([*parts, base(estimate.n, estimate.n_missing)])


def pass_rate(estimate: Estimate, passing: str) -> str:
    """The pass rate with its threshold: `76.0 % (score >= 75 %) [62.6, 85.7] n 50`."""
    if not passing:
        return f"{NOT_AVAILABLE} (the suite declares no pass threshold) {base(estimate.n, estimate.n_missing)}"
    value, *rest = with_base(estimate).split(" [", 1)
    if rest:
        return f"{value} ({passing}) [{rest[0]}"
    return f"{percent(estimate.value)} ({passing}) {base(estimate.n, estimate.n_missing)}"


def on_scale(value: float | None, scale: Sequence[float] = (0.0, 1.0)) -> str:
    """A component's value: a percentage on the scale 0..1, otherwise the number with its scale (`3.82 of 1..5`)."""
    if tuple(scale) == (0.0, 1.0):
        return percent(value)
    if value is None or not math.isfinite(value):
        return NOT_AVAILABLE
    return f"{value:.2f} of {scale[0]:g}..{scale[1]:g}"


def interval_on_scale(estimate: Estimate, scale: Sequence[float] = (0.0, 1.0)) -> str:
    """The 95 % interval of a component's average, in the numbers that `on_scale` prints."""
    if tuple(scale) == (0.0, 1.0):
        return interval(estimate)
    if estimate.low is None or estimate.high is None:
        return no_interval(estimate.n)
    return f"[{estimate.low:.2f}, {estimate.high:.2f}]"


def band_count(share: Estimate) -> str:
    """How many samples a share stands for: `29 of 50`."""
    if share.value is None:
        return f"0 of {share.n:,}"
    return f"{round(share.value * share.n):,} of {share.n:,}"


def counted(number: int, one: str, many: str = "") -> str:
    """A count with its noun: `1 sample`, `2 samples`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"
