"""The one spelling of text for comparison, and finding phrases in it."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import Any

_ASCII_BREAK = re.compile(r"[^a-z0-9]+")
_SPACE = re.compile(r"\s+")
# Scripts written without spaces have no word boundaries to look for. Compiled when needed: it takes 2 ms.
_UNSPACED = "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]"


@lru_cache(maxsize=8192)
def normalise(text: str) -> str:
    """The text casefolded, every run of punctuation, symbols and spaces made one space; accents are kept."""
    if text.isascii():
        return _ASCII_BREAK.sub(" ", text.lower()).strip()
    folded = unicodedata.normalize("NFC", text.casefold())
    return " ".join("".join(char if unicodedata.category(char)[0] in "LMN" else " " for char in folded).split())


def fold(text: str, *, case: bool, space: bool, punctuation: bool, accents: bool) -> str:
    """The text with each named difference taken out; `space` collapses runs and trims."""
    text = unicodedata.normalize("NFC", text)
    if case:
        text = unicodedata.normalize("NFC", text.casefold())
    if accents:
        bare = (char for char in unicodedata.normalize("NFD", text) if unicodedata.category(char) != "Mn")
        text = unicodedata.normalize("NFC", "".join(bare))
    if punctuation:
        text = "".join(" " if unicodedata.category(char)[0] in "PS" else char for char in text)
    return _SPACE.sub(" ", text).strip() if space or punctuation else text


def has_phrase(normalised: str, phrase: str) -> bool:
    """True when the normalised phrase stands in the normalised text as whole words; an empty phrase never does."""
    if not phrase:
        return False
    if not phrase.isascii() and re.search(_UNSPACED, phrase):
        return phrase in normalised
    return f" {phrase} " in f" {normalised} "


def as_text(value: Any) -> str:
    """A value as the text a person would say: texts as they are, numbers and lists written out, anything else ""."""
    if isinstance(value, str):
        return value
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        try:
            return str(value)
        except ValueError:  # an integer of thousands of digits
            return ""
    if isinstance(value, (list, tuple)):
        return ", ".join(part for part in map(as_text, value) if part)
    return ""


def as_phrases(value: Any) -> list[str] | None:
    """A list of texts out of a list of scalars or a single one; None when it is something else."""
    if isinstance(value, list) and set(map(type, value)) == {str}:
        return value
    if isinstance(value, (str, int, float)) and not isinstance(value, bool):
        return [as_text(value)]
    if isinstance(value, (list, tuple)) and all(
        isinstance(item, (str, int, float)) and not isinstance(item, bool) for item in value
    ):
        return [as_text(item) for item in value]
    return None
