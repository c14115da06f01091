"""One figure of a comparison as text: what A and B have, by how much they differ, how surely, and by which method."""

from __future__ import annotations

from collections.abc import Sequence

from steelyard.pairing.model import LEVEL, MetricChange
from steelyard.report import format as fmt
from steelyard.report.format import clipped
from steelyard.stats.intervals import FEW_CASES, FEWEST, MOST, SHORT_INTERVALS
from steelyard.stats.paired import SIGNIFICANT
from steelyard.stats.resampling import SEED
from steelyard.wording import HEADLINE_METRICS

_MCNEMAR, _QUANTILE, _DRAWN = "exact McNemar", "quantile", "drawn sign flips"
_BOOTSTRAP, _STUDENT = "studentised bootstrap", "Student t"
_MOST_DIGITS = 4
_LONGEST_SECTION = 40
_NAMES = HEADLINE_METRICS | {
    "inconclusive_rate": "inconclusive",
    "target_failed_rate": "target failed",
    "judge_failed_rate": "judge failed",
    "malformed_rate": "malformed",
}


def name(change: MetricChange) -> str:
    """The figure as gates name it, with its scale where that is not 0 to 1."""
    available = _NAMES.get(change.name, change.name)
    if change.group == "sections":
        section = clipped(change.name.removeprefix("section."), _LONGEST_SECTION)
        return f"findings a sample in {section}" if section else "findings a sample in no section"
    if change.unit == "points" and change.scale is not None:
        return f"{available} ({change.scale[0]:g}..{change.scale[1]:g})"
    return available


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
    """B minus A, always with its sign: `+40.0` (percentage points), `-0.25`, `+120 ms`; `≥ +120 ms` where B is a lower
    bound, `≤ -120 ms` where A is."""
    if change.a.at_least and change.b.at_least:
        return fmt.NOT_AVAILABLE
    sign = "≥ " if change.b.at_least else "≤ " if change.a.at_least else ""
    return sign + _signed(change.difference.value, change.unit)


def interval(change: MetricChange) -> str:
    """The 95 % interval of the difference: `[+14.3, +57.9]`."""
    low, high = change.difference.low, change.difference.high
    if low is None or high is None or change.a.at_least or change.b.at_least:
        return fmt.no_interval(change.difference.n)
    return f"[{_signed(low, change.unit)}, {_signed(high, change.unit)}]"


def chance(change: MetricChange) -> str:
    """The adjusted p-value, never rounded onto the line between noise and change: `<0.001`, `0.021`, `0.0496`."""
    p = change.p_adjusted
    if p is None:
        return fmt.NOT_AVAILABLE if change.difference.n > 1 else fmt.UNDEFINED
    if p < 0.001:
        return "<0.001"
    text = f"{p:.3f}"
    return text if float(text) != SIGNIFICANT or p == SIGNIFICANT else f"{p:.5f}"


def effect(change: MetricChange) -> str:
    """The effect size with its sign: `+0.42`."""
    if change.effect is None:
        return fmt.NOT_AVAILABLE if change.difference.n > 1 else fmt.UNDEFINED
    return f"{change.effect:+.2f}"


def sides(change: MetricChange) -> str:
    """Cases that got better, stayed and got worse: `12/35/3`; that rose, stayed and fell where neither is better."""
    if not change.rose + change.level + change.fell:
        return fmt.NOT_AVAILABLE
    won, lost = (change.fell, change.rose) if change.better_when == "lower" else (change.rose, change.fell)
    return f"{won:,}/{change.level:,}/{lost:,}"


def effect_in_words(change: MetricChange) -> str:
    """`+0.42 standard deviations of a case's difference; 12 cases better, 35 the same, 3 worse`; "" when unknown."""
    counted = sides(change)
    if counted == fmt.NOT_AVAILABLE:
        return ""
    won, level, lost = counted.split("/")
    size = "" if change.effect is None else f"{effect(change)} standard deviations of a {change.counts}'s difference; "
    return f"{size}{change.counts}s better {won}, the same {level}, worse {lost}"


def base(change: MetricChange) -> str:
    """What the figure stands on: `20` pairs, `60 (20)` where they are of fewer cases, and what is missing."""
    if change.runs is not None:
        return f"{change.runs[0]:,} and {change.runs[1]:,} runs"
    pairs, cases = change.a.n, change.difference.n
    message = f"{pairs:,}" if pairs == cases else f"{pairs:,} ({cases:,})"
    return f"{message},\n{change.a.n_missing:,} missing" if change.a.n_missing else message


def change_of(change: MetricChange) -> str:
    """The figure in A and in B: `pass rate 50.0 % -> 90.0 %`."""
    return f"{name(change)} {before(change)} -> {after(change)}"


def sentence(change: MetricChange) -> str:
    """One line: `pass rate 50.0 % -> 90.0 % (+40.0 points [+14.3, +57.9], n 20, p 0.021)`."""
    points = " points" if change.unit == "share" else ""
    shown = "" if change.difference.low is None else f" {interval(change)}"
    missing = f", {change.a.n_missing:,} missing" if change.a.n_missing else ""
    cases = "" if change.a.n == change.difference.n else f" of {fmt.counted(change.difference.n, change.counts)}"
    n = f"n {change.a.n:,}{cases}{missing}" if change.runs is None else base(change)
    return f"{change_of(change)} ({difference(change)}{points}{shown}, {n}, p {chance(change)})"


def _value(value: float | None, unit: str) -> str:
    if unit == "share":
        return fmt.in_unit(value, unit)
    if unit == "seconds":
        return fmt.seconds(value)
    if unit == "cost":
        return fmt.money(value)
    return fmt.whole(value) if unit == "tokens" else fmt.plain(value)


def _signed(value: float | None, unit: str) -> str:
    if value is None:
        return fmt.NOT_AVAILABLE
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


def of_changes(changes: Sequence[MetricChange], adjusted: str, *, intervals: bool = True) -> str:
    """What the rows of a table of a comparison stand on: tests, adjustment, intervals, and the seed if one was used."""
    tested = [change for change in changes if change.p is not None]
    if not tested:
        return ""
    tests = list(dict.fromkeys(change.test for change in tested))
    bounded = [change for change in tested if intervals and change.difference.low is not None]
    ways = list(dict.fromkeys(map(_way, bounded)))
    drawn = _BOOTSTRAP in ways or any(_DRAWN in test for test in tests)
    parts = [f"p: {', '.join(tests)}, {adjusted}"]
    level = "95 %, adjusted as p" if any(change.confidence_level > LEVEL for change in bounded) else "95 %"
    parts += [f"{level}: {', '.join(ways)}"] if ways else []
    parts.append(f"seed {SEED}" if drawn else "nothing drawn")
    parts += [SHORT_INTERVALS] if any(map(_may_be_short, bounded)) else []
    return " | ".join(parts)


def _way(change: MetricChange) -> str:
    if change.test == _MCNEMAR:
        return "Bonett and Price"
    if change.test == _QUANTILE:
        return "Woodruff"
    if change.runs is not None:
        return f"{_STUDENT} over runs"
    moved, available = change.rose + change.fell, change.rose + change.fell + change.level
    if available and 2 * moved < available:
        return f"{_STUDENT} with two more cases"
    return _BOOTSTRAP if FEWEST <= change.difference.n <= MOST else _STUDENT


def _may_be_short(change: MetricChange) -> bool:
    """True for an interval that may hold less than it says: few values without ends (design note 6, by simulation)."""
    return change.scale is None and change.test != _QUANTILE and not change.runs and change.difference.n <= FEW_CASES
