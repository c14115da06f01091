"""Acronyms that are used before, or without, being spelled out."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .breach import Breach
from .standards import lexicon
from .text_parts import paragraphs

_ACRONYM = re.compile(r"(?<![\w/&-])([A-Z][A-Z0-9]{1,6}(?:[/&][A-Z]{1,4})?)(?=s?(?![\w]))")
_ROMAN = re.compile(r"X{0,3}(?:IX|IV|V?I{0,3})")
_LETTERS = re.compile(r"[^\W\d_]")
_LAST_WORDS = re.compile(r"[^.;:\n(]*\Z")
_LONGEST_NAME = 200


def find(content: str) -> Iterator[Breach]:
    """Every acronym at its first use, unless it is explained there."""
    seen: set[str] = set()
    loud = [part.span for part in paragraphs(content) if _is_shouted(part.text)]
    for found in _ACRONYM.finditer(content):
        letters = found.group(1)
        in_loud_line = any(start <= found.start() < end for start, end in loud)
        if letters in seen or in_loud_line or _needs_no_words(letters):
            continue
        seen.add(letters)
        at = _explained_at(letters, content)
        if at is None:
            yield _breach(found.span(1), "warning", f'"{letters}" is never explained.')
        elif at > found.start(1):
            yield _breach(found.span(1), "info", f'"{letters}" is used before it is explained.')


def _breach(span: tuple[int, int], severity: str, message: str) -> Breach:
    return Breach(span, severity, message, "Spell it out at its first use, with the letters in brackets.", 0.85)


def _needs_no_words(letters: str) -> bool:
    known = letters in lexicon().known_letters or letters in lexicon().loud_words
    return known or _ROMAN.fullmatch(letters) is not None or sum(one.isalpha() for one in letters) < 2


def _is_shouted(text: str) -> bool:
    """True for a line that is all capitals: a headline, in which letters are no acronyms."""
    letters = _LETTERS.findall(text)
    return len(letters) > 8 and all(one.isupper() for one in letters)


def _explained_at(letters: str, content: str) -> int | None:
    """Where the letters stand beside their words: in brackets after them, before them in brackets, or "stands for"."""
    name = re.escape(letters)
    for found in re.finditer(rf"\(\s*({name})s?\s*[),;]", content):
        before = _LAST_WORDS.search(content, max(0, found.start() - _LONGEST_NAME), found.start())
        if before and _could_stand_for(letters, before.group().split()):
            return found.start(1)
    for found in re.finditer(
        rf"\b{name}s?\s*(?:\(([^)]{{1,{_LONGEST_NAME}}})\)|(?:stands for|means|is short for)\s+([^.;,\n]+))", content
    ):
        if _could_stand_for(letters, (found.group(1) or found.group(2)).split(), anywhere=True):
            return found.start()
    return None


def _could_stand_for(letters: str, words: list[str], *, anywhere: bool = False) -> bool:
    """True when the first letters of the words give the acronym in order; small words may be left out."""
    wanted = [one.lower() for one in letters if one.isalpha()]
    initials = [one[0].lower() for word in words for one in re.findall(r"[A-Za-z][A-Za-z']*", word)]
    if not anywhere:
        initials = initials[-2 * len(wanted) - 2 :]
    at = 0
    for initial in initials:
        if at < len(wanted) and initial == wanted[at]:
            at += 1
    return at == len(wanted) or (len(wanted) > 2 and at == len(wanted) - 1)
