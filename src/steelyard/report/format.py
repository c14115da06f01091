"""Numbers and foreign text as every report writes them.

Figures stand with their n, what is missing and their interval. Text that came from a model or a file is made harmless
to look at: nothing in it can move a cursor or hide.
"""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from steelyard.wording import (
    DIFFERENCE,
    NOT_AVAILABLE,
    SHARES,
    counted,
    difference,
    distinguished,
    in_unit,
    money,
    percent,
    percentage,
    plain,
    points,
    seconds,
    threshold,
    when,
    whole,
)

if TYPE_CHECKING:
    from steelyard.stats.intervals import Estimate

__all__ = [
    "DIFFERENCE",
    "NOT_AVAILABLE",
    "counted",
    "difference",
    "distinguished",
    "in_unit",
    "money",
    "percent",
    "percentage",
    "plain",
    "points",
    "seconds",
    "threshold",
    "when",
    "whole",
]

_LINE_ENDS = re.compile(r"\r\n?|[\x0b\x0c\x85\u2028\u2029]")
# Controls, lone surrogates, non-characters, and format characters that reorder or hide text. The joiners of emoji
# and of Persian or Indic words (U+200C, U+200D) stay: without them honest text would be broken.
_NONCHARACTERS = "".join(chr(plane * 0x10000 + last) for plane in range(17) for last in (0xFFFE, 0xFFFF))
_NOT_FOR_EYES = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f"
    f"\ufeff\ufff9-\ufffb\ud800-\udfff\ufdd0-\ufdef\U000e0000-\U000e007f{_NONCHARACTERS}]"
)

_NOT_IN_A_LOG = re.compile(f"[\r\x0b\x0c\x85\u2028\u2029]|{_NOT_FOR_EYES.pattern}")

# A line end stands in no JSON string, so this finds lists and never a text that looks like one.
_NUMBERS = re.compile(r"\[\n\s+-?\d[\d.eE+-]*(?:,\n\s+-?\d[\d.eE+-]*)*\n\s*\]")


def visible(text: str) -> str:
    """The text with every control, bidi and invisible character spelled out (`\\x1b`, `\\u202e`).

    Every kind of line end becomes \\n.
    """
    text = _LINE_ENDS.sub("\n", text)
    if text.isascii() and text.isprintable():
        return text
    return _NOT_FOR_EYES.sub(lambda result: _spelled(result.group()), text)


def spelled_out(text: str, keep: str = "\n\t") -> str:
    """The text with every control, bidi and invisible character spelled out, line ends too, but for those to keep."""
    if text.isascii() and text.isprintable():
        return text
    return _NOT_IN_A_LOG.sub(lambda result: result[0] if result[0] in keep else _spelled(result[0]), text)


def escaped_json(text: str) -> str:
    """The same JSON with everything escaped that a terminal obeys, reorders or hides."""
    return _NOT_IN_A_LOG.sub(lambda result: json.dumps(result[0])[1:-1], text)


def _spelled(sign: str) -> str:
    code = ord(sign)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def one_line(text: str, limit: int | None = None) -> str:
    """The text made visible and set on one line, every run of spaces one space, shortened to `limit` characters."""
    line = " ".join(visible(text).split())
    return line if limit is None else shortened(line, limit)


def shortened(text: str, limit: int) -> str:
    """The text, or its beginning with `... (+1,234 characters)` that says how much was left off."""
    if len(text) <= limit:
        return text
    left_off = len(text) - limit
    head = text[:limit]
    # Never part a letter from its accents or an emoji from its modifiers: what is left would be another letter.
    while head and left_off and unicodedata.combining(text[len(head)]):
        head, left_off = head[:-1], left_off + 1
    return f"{head}... (+{left_off:,} characters)"


_LONGEST_CAUSE = 120
_MOST_CAUSES = 3


def causes(counts: Mapping[str, int]) -> str:
    """Causes with their counts, the first few by name: `http_500 out of memory (12), timeout (2)`."""
    named = [f"{clipped(cause, _LONGEST_CAUSE)} ({n:,})" for cause, n in list(counts.items())[:_MOST_CAUSES]]
    more = sum(list(counts.values())[_MOST_CAUSES:])
    return ", ".join([*named, *([f"for other reasons ({more:,})"] if more else [])])


def clipped(text: str, limit: int) -> str:
    """One line for a narrow place: at most `limit` characters, the cut shown by `...` and made between words."""
    line = one_line(text)
    if len(line) <= limit:
        return line
    end = max(limit - 3, 1)
    # A word longer than half of the place is cut inside: little would be left without it.
    between = line.rfind(" ", end // 2, end + 1)
    return line[: between if between > 0 else end].rstrip(" ,;") + "..."


def clipped_pair(first: str, second: str, limit: int) -> tuple[str, str]:
    """Two texts clipped so that what differs is in view: where both would be cut before it, what they begin with is
    left out (`...`) up to a few words."""
    first, second = one_line(first), one_line(second)
    pairs = enumerate(zip(first, second, strict=False))
    both = next((at for at, (a, b) in pairs if a != b), min(len(first), len(second)))
    if first == second or both < limit - _IN_VIEW:
        return clipped(first, limit), clipped(second, limit)
    start = first.rfind(" ", 0, max(0, both - limit // 4)) + 1 or both - limit // 4
    # The key of a value of JSON says where the difference is.
    key = max(first.rfind(mark, both - limit // 2, both) + len(mark) - 1 for mark in (', "', '{"'))
    start = key if key > both - limit // 2 else max(start, both - limit // 2)
    return tuple(f"...{clipped(text[start:], limit - 3)}" for text in (first, second))  # type: ignore[return-value]


_IN_VIEW = 10
"""Characters of a clipped text that must be left after the first difference."""
_WHOLE_BELOW = 1e15
"""Whole numbers below this are written without a decimal."""


def as_text(value: Any, *, indent: int | None = None) -> str:
    """Any stored value as text a person reads: strings as they are, nothing as an empty string, the rest as JSON."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, float) and value.is_integer() and abs(value) < _WHOLE_BELOW:
        return f"{value:.0f}"
    return json.dumps(value, ensure_ascii=False, indent=indent, default=str)


def contrasted(expected: Any, got: Any, limit: int) -> tuple[str, str]:
    """Two values as texts that are clipped so that what differs is in view; keys of JSON are in one order in both."""
    both = isinstance(expected, dict | list) and isinstance(got, dict | list)
    first, second = (
        json.dumps(value, ensure_ascii=False, sort_keys=True, default=str) if both else as_text(value)
        for value in (expected, got)
    )
    return clipped_pair(first, second, limit)


def laid_out(value: Any) -> str:
    """A stored value as text that is easy to read: JSON indented, every list of numbers on one line."""
    if isinstance(value, str):
        return value
    return _NUMBERS.sub(
        lambda result: re.sub(r"(?<=,)\n\s+", " ", re.sub(r"(?<!,)\n\s*", "", result.group())), as_text(value, indent=2)
    )


def ascii_only(text: str) -> str:
    """The text for a terminal that knows ASCII alone; every other sign spelled out (`\\xe9`)."""
    return text.replace("≥", ">=").replace("≤", "<=").encode("ascii", "backslashreplace").decode("ascii")


UNDEFINED = "undefined"
_NO_END = "no upper end"
"""Ends an interval that calls which timed out reach into."""
OF_A_RUN = "95 %: Wilson, order statistics | nothing drawn"
AND_BASELINES = f"{OF_A_RUN} | against a baseline: paired, as compare does; for sure: Clopper-Pearson, Gaffke"
OF_A_JUDGE = "95 %: Wilson; kappa, alpha, correlations: jackknife over cases | nothing drawn"
"""How the intervals of a table were made, and whether anything was drawn at random."""


def signed(value: float | None) -> str:
    """A number that is more or less than nothing, in points: `+0.42`."""
    text = plain(value)
    return text if value is None or text.startswith("-") or float(text) == 0 else f"+{text}"


def interval(estimate: Estimate, unit: str = "share") -> str:
    """The 95 % interval as `[78.1, 91.0]`; `undefined` below n 2, `no interval` for what else cannot be bounded."""
    if estimate.low is None:
        return no_interval(estimate.n)
    high = _NO_END if estimate.high is None else _bare(estimate.high, unit)
    return f"[{_bare(estimate.low, unit)}, {high}]"


def no_interval(n: int) -> str:
    """What stands for an interval that there is not: one reading says nothing of noise."""
    return "no interval" if n > 1 else UNDEFINED


def _bare(value: float, unit: str) -> str:
    if unit.startswith(DIFFERENCE):
        return difference(value, unit.removeprefix(DIFFERENCE), bare=True)
    return f"{percentage(value):.1f}" if unit in SHARES and abs(value) <= 1 else in_unit(value, unit)


def base(n: int, n_missing: int = 0) -> str:
    """What a figure stands on: `n 50`, or `n 48, 2 missing`."""
    return f"n {n:,}, {n_missing:,} missing" if n_missing else f"n {n:,}"


def bare_base(estimate: Estimate) -> str:
    """What a figure stands on, under a heading that already says n: `50`, or `48, 2 missing`."""
    return _base_of(estimate).removeprefix("n ")


def with_bounds(estimate: Estimate, unit: str = "share") -> str:
    """What a figure stands on, and where it lies whatever is missing: `n 48, 2 missing: 94.0 to 98.0 %`."""
    message = base(estimate.n, estimate.n_missing)
    return f"{message}: {bounds(estimate, unit)}" if estimate.possible else message


def bounds(estimate: Estimate, unit: str = "share") -> str:
    """The lowest and the highest value that a figure could have if nothing were missing; "" when nothing is."""
    if estimate.possible is None:
        return ""
    low, high = (in_unit(end, unit) for end in estimate.possible.ends)
    return f"{low.removesuffix(' %')} to {high}"


def _base_of(estimate: Estimate) -> str:
    return base(estimate.n, estimate.n_missing) + (", all the same" if estimate.constant else "")


def with_base(estimate: Estimate, unit: str = "share", limits: Sequence[float] = ()) -> str:
    """A figure with its interval, n and missing: `85.4 % [78.1, 91.0] n 50`; with digits that tell it from limits."""
    parts = [distinguished(estimate.value, unit, *limits)]
    if estimate.low is not None:
        parts.append(interval(estimate, unit))
    return " ".join([*parts, _base_of(estimate)])


def pass_rate(estimate: Estimate, passing: str, limits: Sequence[float] = ()) -> str:
    """The pass rate with its threshold: `76.0 % (score >= 75 %) [62.6, 85.7] n 50`."""
    if not passing:
        return f"{NOT_AVAILABLE} (the suite declares no pass threshold) {base(estimate.n, estimate.n_missing)}"
    value, *rest = with_base(estimate, limits=limits).split(" [", 1)
    if rest:
        return f"{value} ({passing}) [{rest[0]}"
    return f"{distinguished(estimate.value, 'share', *limits)} ({passing}) {base(estimate.n, estimate.n_missing)}"


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


def heading(factor: str) -> str:
    """What stands above the slices of a factor: `Category`, `input.language`."""
    return factor if "." in factor else factor.capitalize()
