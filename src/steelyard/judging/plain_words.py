"""Texts made comparable: whether a quote stands in a text when case, spacing, marks and emphasis are not regarded."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import Final

# Each pattern begins with a literal or one set of characters, which is what a long text is searched for quickly.
_SHOWN_UNSEEN = re.compile(r"<[uU]\+[0-9a-fA-F]{4,6}>")
_UNDERSCORES = re.compile(r"_+(?!\w)|(?<!\w)_+")
_LINE_MARKS = re.compile(r"\n[ \t]*(?:#{1,6}[ \t]|>[ \t]?|[-+•][ \t])+")
_MARKS: Final = dict.fromkeys('"‘’‚‛“”„‟«»‹›´′″「」『』', "'") | dict.fromkeys("‐‑‒–—―−", "-")
# One search for all of them: emphasis and unseen signs, which go, and marks and dashes, which become one kind.
_SIGNS = re.compile(
    "[*`~\\\\\xad\u034f\u061c\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff"
    + "".join(_MARKS)
    + "]"
)
_DASH_AND_MORE = re.compile("-[- ]+")
_ELLIPSIS = re.compile(r"\s*[\[(]?\s*(?:\.\s?){3,}[\])]?\s*")
_WORDS = re.compile(r"[^\s\w]*\w\S*")
_ENDS: Final = " .,;:!?'()[]{}-…/|"
# Writing without spaces between words: a quote may begin and end anywhere in it.
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")


def plain(text: str) -> str:
    """The text without regard to case, spacing, kind of quotation mark and dash, Markdown emphasis, unseen signs."""
    text = _LINE_MARKS.sub("\n", f"\n{text}")
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    text = _SIGNS.sub(_one_kind, text)
    if "<" in text:
        text = _SHOWN_UNSEEN.sub("", text)
    if "_" in text:
        text = _UNDERSCORES.sub("", text)
    text = " ".join(text.casefold().split())
    if "-" in text:
        text = _DASH_AND_MORE.sub("-", text).replace(" -", "-")
    return text


def _one_kind(sign: re.Match[str]) -> str:
    return _MARKS.get(sign[0], "")


@lru_cache(maxsize=64)
def plain_of_long(text: str) -> str:
    """The same, remembered: one text is looked through for the quotes of many ballots."""
    return plain(text)


def n_words(text: str) -> int:
    """How many words a text has; in writing without spaces two signs count as one."""
    if text.isascii():
        return len(_WORDS.findall(text))
    signs = len(_UNSPACED.findall(text))
    words = sum(any(sign.isalnum() for sign in word) for word in _UNSPACED.sub(" ", text).split())
    return words + (signs + 1) // 2


class Quote:
    """A quote made comparable. One with an ellipsis is found when its parts are, in order."""

    __slots__ = ("_parts", "_whole", "words")

    def __init__(self, text: str) -> None:
        comparable = plain(text)
        self._whole = comparable.strip(_ENDS)
        parts = _ELLIPSIS.split(comparable) if ".." in comparable or ". ." in comparable else [comparable]
        self._parts = [end for part in parts if (end := part.strip(_ENDS))]
        self.words = max((n_words(part) for part in self._parts), default=0)
        """Of the longest part: single words with gaps between them quote nothing."""

    def stands_in(self, comparable: str) -> bool:
        """True when the quote is in a text that was made comparable, at the edges of words."""
        if not self._whole:
            return False
        if _find(self._whole, comparable, 0) is not None:
            return True
        place = 0
        for part in self._parts:
            end = _find(part, comparable, place)
            if end is None:
                return False
            place = end
        return len(self._parts) > 1


def _find(part: str, text: str, start: int) -> int | None:
    """Where the part ends in the text, at the edges of words; None when it is not there."""
    at = text.find(part, start)
    while at >= 0:
        end = at + len(part)
        if not _inside_word(text, at) and not _inside_word(text, end):
            return end
        at = text.find(part, at + 1)
    return None


def _inside_word(text: str, at: int) -> bool:
    if not 0 < at < len(text):
        return False
    before, after = text[at - 1], text[at]
    if _UNSPACED.match(before) or _UNSPACED.match(after):
        return unicodedata.category(after).startswith("M")
    return (before.isalnum() or unicodedata.category(before).startswith("M")) and (
        after.isalnum() or unicodedata.category(after).startswith("M")
    )
