"""Whether a quote stands in a text when case, spacing, marks and emphasis are not regarded."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import islice
from typing import Final

# Each pattern begins with a literal or one set of characters, which is what a long text is searched for quickly.
_SHOWN_UNSEEN = re.compile(r"<[uU]\+[0-9a-fA-F]{4,6}>")
_UNDERSCORES = re.compile(r"(?<!_)_++(?!\w)|(?<!\w)_+")
_LINE_MARKS = re.compile(r"\n[ \t]*(?:#{1,6}[ \t]|>[ \t]?|[-+•][ \t])+")
_MARKS: Final = dict.fromkeys('"‘’‚‛“”„‟«»‹›´′″「」『』', "'") | dict.fromkeys("‐‑‒–—―−", "-")
# One search for all of them: emphasis and unseen signs, which go, and marks and dashes, which become one kind.
_SIGNS = re.compile(
    "[*`~\\\\\xad\u034f\u061c\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff"
    + "".join(_MARKS)
    + "]"
)
_DASH_AND_MORE = re.compile("-[- ]+")
_BEFORE_PERCENT = re.compile(r"(?<=[0-9]) (?=%)")
# A word that was cut at the end of a line, and items of a list: both may be quoted as one line of prose.
_CUT_WORD = re.compile(r"(?<=[^\W\d_])[-\u2010\xad][ \t]*\r?\n[ \t]*(?=[^\W\d_])")
_LIST_ITEM = re.compile(r"\r?\n[ \t]*+(?:[-+*•]|[0-9]{1,2}[.)])[ \t]+")
# `[T]he choice`: a letter that the quote writes large or small where the text does not.
_OTHER_CASE = re.compile(r"(?<!\w)\[(\w)\](?=\w)")
_ELLIPSIS = re.compile(r"\s*[\[(]?\s*(?:\.\s?){3,}[\])]?\s*")
_WORDS = re.compile(r"\w\S*")
_NEGATION = re.compile(
    r"(?<!\w)(?:not|no|never|none|nor|neither|nobody|nothing|nowhere|without|cannot|hardly|nicht|nie|niemals|kein\w*|"
    r"nichts|niemand|weder|ohne|pas|jamais|rien|sans|nunca|nada|sin)(?!\w)|n't(?!\w)"
)
_SENTENCE_END = re.compile(r"[.!?](?=[\s')\]]|$)")
_LONGEST_LEFT_OUT: Final = 400
"""Signs before the next part that are looked through: no sentence that is worth quoting is longer."""
_MOST_PLACES: Final = 64
"""Of one part of a quote with gaps: a text of nothing but the same word must cost little."""
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
    if "%" in text:
        text = _BEFORE_PERCENT.sub("", text)
    return text


def _one_kind(sign: re.Match[str]) -> str:
    return _MARKS.get(sign[0], "")


@lru_cache(maxsize=64)
def readings_of(text: str) -> tuple[str, ...]:
    """The ways to read a text that is quoted from, made comparable; most texts have one.

    A hyphen at the end of a line may belong to the word or not, and items of a list may be quoted with commas between
    them or without. Remembered: one text is looked through for the quotes of many votes.
    """
    written = [text]
    if _CUT_WORD.search(text):
        written.append(_CUT_WORD.sub("", text))
    for entry in written[:]:
        *items, last = _LIST_ITEM.split(entry)
        written += [", ".join([*(item.rstrip(" \t.,;") for item in items), last])] if items else []
    return tuple(dict.fromkeys(plain(item) for item in written))


def n_words(text: str) -> int:
    """How many words a text has; in writing without spaces two signs count as one."""
    if text.isascii():
        return len(_WORDS.findall(text))
    signs = len(_UNSPACED.findall(text))
    words = sum(any(sign.isalnum() for sign in word) for word in _UNSPACED.sub(" ", text).split())
    return words + (signs + 1) // 2


class ComparableQuote:
    """A quote made comparable. One with an ellipsis is found when its parts are, in order."""

    __slots__ = ("_parts", "_whole", "words")

    def __init__(self, text: str) -> None:
        comparable = plain(_OTHER_CASE.sub(r"\1", text))
        self._whole = comparable.strip(_ENDS)
        parts = _ELLIPSIS.split(comparable) if ".." in comparable or ". ." in comparable else [comparable]
        self._parts = [end for part in parts if (end := part.strip(_ENDS))]
        self.words = max((n_words(part) for part in self._parts), default=0)
        """Of the longest part: single words with gaps between them quote nothing."""

    def stands_in(self, readings: Iterable[str]) -> bool:
        """True when the quote is in one of the readings of a text, at the edges of words."""
        return bool(self._whole) and any(self._result(reading) for reading in readings)

    def _result(self, text: str) -> bool:
        if next(_places(self._whole, text, 0), None) is not None:
            return True
        if len(self._parts) < 2:
            return False
        ends = [end for _, end in islice(_places(self._parts[0], text, 0), _MOST_PLACES)]
        for part in self._parts[1:]:
            if not ends:
                return False
            # The nearest end before a part leaves out the least, and so hides the least.
            ends = [
                end
                for start, end in islice(_places(part, text, ends[0]), _MOST_PLACES)
                if not _turns_around(text[max(ends[bisect_right(ends, start) - 1], start - _LONGEST_LEFT_OUT) : start])
            ]
        return bool(ends)


def _turns_around(left_out: str) -> bool:
    """True when the words that an ellipsis leaves out hold the "not" of the sentence that goes on after it.

    A "not" in a sentence before that is no matter: whoever quotes only the later words leaves it out as well.
    """
    begins = 0
    for end in _SENTENCE_END.finditer(left_out):
        begins = end.end()
    return _NEGATION.search(left_out, begins) is not None


def _places(part: str, text: str, start: int) -> Iterator[tuple[int, int]]:
    """Where the part begins and ends in the text, at the edges of words."""
    at = text.find(part, start)
    while at >= 0:
        end = at + len(part)
        if not _inside_word(text, at) and not _inside_word(text, end):
            yield at, end
        at = text.find(part, at + 1)


def _inside_word(text: str, at: int) -> bool:
    if not 0 < at < len(text):
        return False
    before, after = text[at - 1], text[at]
    if _UNSPACED.match(before) or _UNSPACED.match(after):
        return unicodedata.category(after).startswith("M")
    return (before.isalnum() or unicodedata.category(before).startswith("M")) and (
        after.isalnum() or unicodedata.category(after).startswith("M")
    )
