"""Words for messages: what a value is, what was probably meant, how a list of names reads."""

from __future__ import annotations

import json
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

_MOST_NAMES = 25
_MOST_CHARACTERS = 60


def meant(word: str, allowed: Iterable[str]) -> str:
    """ ": did you mean X?" when an allowed word is close, "" otherwise."""
    choices = sorted(set(allowed))
    close = get_close_matches(word, choices, n=1, cutoff=0.6)
    if not close:
        folded = {choice.casefold(): choice for choice in choices}
        close = [folded[word.casefold()]] if word.casefold() in folded else []
    return f": did you mean {close[0]}?" if close else ""


def listed(names: Iterable[str]) -> str:
    """The names joined by commas, cut when there are very many."""
    rows = list(names)
    more = len(rows) - _MOST_NAMES
    return ", ".join(rows[:_MOST_NAMES]) + (f" and {more} more" if more > 0 else "")


def unknown_key(word: str, allowed: Iterable[str]) -> str:
    """The sentence for a name that is not one of those allowed, with a hint or the whole list."""
    choices = list(allowed)
    hint = meant(word, choices)
    return f"unknown key {word!r}{hint}" + ("" if hint else f"; allowed here: {listed(choices)}")


def shown(value: Any) -> str:
    """A value as it looked in the file, short enough for one line."""
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        text = repr(value)
    # Half a surrogate pair cannot be printed, but can be named.
    text = text.encode(errors="backslashreplace").decode()
    return text if len(text) <= _MOST_CHARACTERS else text[: _MOST_CHARACTERS - 3] + "..."


def kind_of(value: Any) -> str:
    """What a value is, in a reader's words."""
    if value is None:
        return "empty"
    if isinstance(value, bool):
        return "true/false"
    if isinstance(value, (int, float)):
        return "a number"
    if isinstance(value, str):
        return "text"
    if isinstance(value, (list, tuple)):
        return "a list"
    if isinstance(value, dict):
        return "a group of keys"
    return type(value).__name__


def found(value: Any) -> str:
    """ "found 3 (a number)": what stood there."""
    return "found nothing" if value is None else f"found {shown(value)} ({kind_of(value)})"
