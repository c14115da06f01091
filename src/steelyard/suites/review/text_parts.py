"""A document in parts that know their places: paragraphs, sentences, words. Offsets are code points."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_PARAGRAPH = re.compile(r"[^\n]+(?:\n(?![^\S\n]*+(?:\n|[-*•]\s|\d+[.)]\s|#))[^\n]+)*")
_SENTENCE = re.compile(r"\S.*?(?:[.!?](?=\s|$)|$)", re.DOTALL)
_WORD = re.compile(r"[A-Za-z][A-Za-z'’-]*|\d+(?:\.\d+)?")
_LIST_ITEM = re.compile(r"\s*(?:[-*•]|\d+[.)])\s")
_ENDINGS = ("ings", "ing", "ied", "ies", "ed", "es", "s")

_STOP_WORDS = (
    "a an the of to in on at by for with and or but is are was were be been being it its this that these those as from"
    " will shall must should may can not no never always every all any each only their his her they he she who which"
    " have has had do does did than then there when while if unless during before after under into out up about"
    " need needs needed required mandatory optional prohibited forbidden allowed permitted once per more least most"
    " time times also so such"
)
STOP_WORDS = frozenset(_STOP_WORDS.split())


@dataclass(frozen=True, slots=True)
class TextPart:
    """A piece of a text and where it begins."""

    text: str
    start: int

    @property
    def end(self) -> int:
        """The place after its last character."""
        return self.start + len(self.text)

    @property
    def span(self) -> tuple[int, int]:
        """First character and the one after the last."""
        return self.start, self.end


def paragraphs(content: str) -> list[TextPart]:
    """The paragraphs; each item of a list and each heading is one of its own."""
    return [TextPart(match.group(), match.start()) for match in _PARAGRAPH.finditer(content) if match.group().strip()]


def sentences(part: TextPart) -> Iterator[TextPart]:
    """The sentences of a paragraph, without the blanks around them."""
    for match in _SENTENCE.finditer(part.text):
        text = match.group().rstrip()
        if text:
            yield TextPart(text, part.start + match.start())


def words(text: str) -> list[str]:
    """The words and figures in it, as they stand."""
    return _WORD.findall(text)


def stems(text: str) -> set[str]:
    """The words that carry the meaning, without their endings."""
    return {stem(word.lower()) for word in words(text) if word.lower() not in STOP_WORDS}


def stem(word: str) -> str:
    """A word without its ending, so that `log`, `logs` and `logged` are one."""
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            cut = word[: -len(ending)]
            return cut[:-1] if len(cut) > 3 and cut[-1] == cut[-2] and cut[-1] not in "sle" else cut.rstrip("e")
    return word.rstrip("e") if len(word) > 3 else word


def is_list_item(part: TextPart) -> bool:
    """True for a line that begins with a bullet or a number."""
    return _LIST_ITEM.match(part.text) is not None


def is_heading(part: TextPart) -> bool:
    """True for a line with a mark of a heading, or of a few words without an end."""
    text = part.text.strip()
    if text.startswith("#"):
        return True
    return "\n" not in text and not is_list_item(part) and len(words(text)) <= 8 and text[-1] not in ".!?;,"
