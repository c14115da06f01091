"""Every word that a report gives as a verdict, with its colour, its signs and its exit code: one table."""

from __future__ import annotations

from enum import StrEnum

from steelyard.frozen import frozen

NO_VERDICT = "NO VERDICT"
INTERRUPTED = 130


class Colour(StrEnum):
    """What a verdict's colour says; a page has it as a class, a terminal as a colour."""

    GOOD = "pass"
    BAD = "fail"
    UNSURE = "ambiguous"
    INVALID = "invalid"
    NONE = "none"


@frozen
class Style:
    """How a verdict looks. Signs tell without colour what colour tells."""

    colour: Colour
    sign: str
    emoji: str = ""
    exit_code: int | None = None
    """None for words that no command ends with."""


_GOOD, _BAD, _UNSURE, _INVALID, _NONE = Colour.GOOD, Colour.BAD, Colour.UNSURE, Colour.INVALID, Colour.NONE

STYLES = {
    # runs, gates, judges
    "PASS": Style(_GOOD, "✓", "✅", 0),
    "FAIL": Style(_BAD, "✕", "❌", 1),
    "AMBIGUOUS": Style(_UNSURE, "?", "❔", 4),
    "INVALID": Style(_INVALID, "⚠", "⚠️", 3),
    NO_VERDICT: Style(_NONE, "", "ℹ️", 0),
    # comparisons
    "better": Style(_GOOD, "▲", "✅", 0),
    "worse": Style(_BAD, "▼", "❌", 1),
    "same": Style(_NONE, "=", "🟰", 0),
    "cannot tell": Style(_UNSURE, "?", "❔", 4),
    "changed": Style(_UNSURE, "◆", "❔", 4),
    "not tested": Style(_NONE, "–"),
    # experiments and A/B
    "ADOPT": Style(_GOOD, "✓", "✅", 0),
    "REJECT": Style(_BAD, "✕", "❌", 1),
    "CANNOT TELL": Style(_UNSURE, "?", "❔", 4),
    "B": Style(_GOOD, "✓", "✅", 0),
    "A": Style(_BAD, "✕", "❌", 1),
    # samples
    "passed": Style(_GOOD, "✓"),
    "failed": Style(_BAD, "✕"),
    "malformed": Style(_UNSURE, "⚠"),
    "inconclusive": Style(_INVALID, "?"),
    "scored": Style(_NONE, "•"),
    "excluded": Style(_NONE, "–"),
    # criteria of a variant, checks of an A/B
    "ok": Style(_GOOD, "✓"),
    "fails": Style(_BAD, "✕"),
    "between": Style(_UNSURE, "~"),
    "undecided": Style(_NONE, "?"),
    "invalid": Style(_INVALID, "⚠"),
    "look": Style(_UNSURE, "!"),
    "BROKEN": Style(_BAD, "✕"),
}


def style_of(word: str) -> Style:
    """How a word looks; plain for one that is no verdict."""
    return STYLES.get(word, STYLES[NO_VERDICT])


def exit_code(word: str | None) -> int:
    """The exit code that a verdict stands for; 0 without one."""
    return style_of(word or NO_VERDICT).exit_code or 0
