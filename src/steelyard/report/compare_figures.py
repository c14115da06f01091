"""The figures of a comparison as text: what A and B have, by how much they differ, and what that stands on."""

from __future__ import annotations

from steelyard.analysis.compare_model import MetricChange
from steelyard.analysis.paired_tests import SIGNIFICANT
from steelyard.report import figures
from steelyard.report.safe_text import clipped

_MOST_DIGITS = 4
_LONGEST_SECTION = 40
_NAMES = {
    "pass_rate": "pass rate",
    "average": "average score",
    "inconclusive_rate": "inconclusive",
    "target_failed_rate": "target failed",
    "judge_failed_rate": "judge failed",
    "malformed_rate": "malformed",
}


def name(change: MetricChange) -> str:
    """The figure as gates name it, with its scale where that is not 0 to 1."""
    known = _NAMES.get(change.name, change.name)
    if change.group == "sections":
        section = clipped(change.name.removeprefix("section."), _LONGEST_SECTION)
        return f"findings a sample in {section}" if section else "findings a sample in no section"
    if change.unit == "points" and change.scale is not None:
        return f"{known} ({change.scale[0]:g}..{change.scale[1]:g})"
    return known


def unpaired_name(change: MetricChange) -> str:
    """The figure where it stands under a heading that says its kind: `chairs: pass rate`, `MISSED`."""
    group, _, figure = change.name.rpartition(".")
    if change.group in ("findings", "sections"):
        return clipped(group.partition(".")[2], _LONGEST_SECTION)
    if change.group in ("headline", "components", "failures", "confusions"):
        return clipped(name(change).removeprefix("score.").replace(".points", "", 1), 2 * _LONGEST_SECTION)
    return f"{clipped(group.partition('.')[2], _LONGEST_SECTION)}: {_NAMES.get(figure, figure)}"


def before(change: MetricChange) -> str:
    """The figure in A."""
    return _value(change.a.value, change.unit)


def after(change: MetricChange) -> str:
    """The figure in B."""
    return _value(change.b.value, change.unit)


def difference(change: MetricChange) -> str:
    """B minus A, always with its sign: `+40.0` (percentage points), `-0.25`, `+120 ms`."""
    return _signed(change.difference.value, change.unit)


def interval(change: MetricChange) -> str:
    """The 95 % interval of the difference: `[+14.3, +57.9]`."""
    low, high = change.difference.low, change.difference.high
    if low is None or high is None:
        return figures.no_interval(change.difference.n)
    return f"[{_signed(low, change.unit)}, {_signed(high, change.unit)}]"


def chance(change: MetricChange) -> str:
    """The adjusted p-value, never rounded onto the line between noise and change: `<0.001`, `0.021`, `0.0496`."""
    p = change.p_adjusted
    if p is None:
        return figures.NOT_AVAILABLE if change.difference.n > 1 else figures.UNDEFINED
    if p < 0.001:
        return "<0.001"
    text = f"{p:.3f}"
    return text if float(text) != SIGNIFICANT or p == SIGNIFICANT else f"{p:.5f}"


def effect(change: MetricChange) -> str:
    """The effect size with its sign: `+0.42`."""
    if change.effect is None:
        return figures.NOT_AVAILABLE if change.difference.n > 1 else figures.UNDEFINED
    return f"{change.effect:+.2f}"


def sides(change: MetricChange) -> str:
    """Cases that got better, stayed and got worse: `12/35/3`; that rose, stayed and fell where neither is better."""
    if not change.rose + change.level + change.fell:
        return figures.NOT_AVAILABLE
    won, lost = (change.fell, change.rose) if change.better_when == "lower" else (change.rose, change.fell)
    return f"{won:,}/{change.level:,}/{lost:,}"


def effect_in_words(change: MetricChange) -> str:
    """`+0.42 standard deviations of a case's difference; 12 cases better, 35 the same, 3 worse`; "" when unknown."""
    counted = sides(change)
    if counted == figures.NOT_AVAILABLE:
        return ""
    won, level, lost = counted.split("/")
    size = "" if change.effect is None else f"{effect(change)} standard deviations of a case's difference; "
    return f"{size}cases better {won}, the same {level}, worse {lost}"


def base(change: MetricChange) -> str:
    """What the figure stands on: `20` pairs, `60 (20)` where they are of fewer cases, and what is missing."""
    if change.runs is not None:
        return f"{change.runs[0]:,} and {change.runs[1]:,} runs"
    pairs, cases = change.a.n, change.difference.n
    told = f"{pairs:,}" if pairs == cases else f"{pairs:,} ({cases:,})"
    return f"{told},\n{change.a.n_missing:,} missing" if change.a.n_missing else told


def change_of(change: MetricChange) -> str:
    """The figure in A and in B: `pass rate 50.0 % -> 90.0 %`."""
    return f"{name(change)} {before(change)} -> {after(change)}"


def sentence(change: MetricChange) -> str:
    """One line: `pass rate 50.0 % -> 90.0 % (+40.0 points [+14.3, +57.9], n 20, p 0.021)`."""
    points = " points" if change.unit == "share" else ""
    shown = "" if change.difference.low is None else f" {interval(change)}"
    missing = f", {change.a.n_missing:,} missing" if change.a.n_missing else ""
    cases = "" if change.a.n == change.difference.n else f" of {figures.counted(change.difference.n, 'case')}"
    n = f"n {change.a.n:,}{cases}{missing}" if change.runs is None else base(change)
    return f"{change_of(change)} ({difference(change)}{points}{shown}, {n}, p {chance(change)})"


def _value(value: float | None, unit: str) -> str:
    if unit == "share":
        return figures.in_unit(value, unit)
    if unit == "seconds":
        return figures.seconds(value)
    if unit == "cost":
        return figures.money(value)
    return figures.whole(value) if unit == "tokens" else figures.plain(value)


def _signed(value: float | None, unit: str) -> str:
    if value is None:
        return figures.NOT_AVAILABLE
    size = abs(value)
    if unit == "share":
        text = _enough_digits(round(100 * size, 9), 1)
    elif unit == "tokens":
        text = _enough_digits(size, 1)
    elif unit in ("seconds", "cost"):
        text = _value(size, unit)
    else:
        text = _enough_digits(size, 2)
    sign = "" if size == 0 or text.strip("0.") == "" else "-" if value < 0 else "+"
    return sign + text


def _enough_digits(size: float, fewest: int) -> str:
    """With as many digits as it takes not to look like nothing, up to four."""
    for digits in range(fewest, _MOST_DIGITS + 1):
        text = f"{size:,.{digits}f}"
        if size == 0 or float(text.replace(",", "")) != 0:
            return text
    return f"{0:.{fewest}f}"
