"""The scorer for a name that goes by several: one of them must be given, and not hidden in a list of guesses."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, ClassVar

from pydantic import Field

from steelyard.scoring.base import UNKNOWN, Reading, Scorer
from steelyard.scoring.spelling import as_phrases, as_text, has_phrase, normalise
from steelyard.suite.case import Case

_BETWEEN_NAMES = re.compile(r"[,;/|\n•·&+]|\b(?:or|and|und|et|y|oder|ou)\b", re.IGNORECASE)
_NAMED = "\0"
_PARTICLES = frozenset({"van", "von", "de", "del", "della", "den", "der", "di", "da", "du", "la", "le", "ten", "ter"})
"""What a family name may begin with."""
_KINDS = """
and co company corp corporation inc incorporated ltd limited llc plc gmbh ag sa cie bros brothers son sons group
industries international products manufacturing manufactory manufacturers mfg factory works workshop workshops studio
studios mill mills foundry press publishing publishers pottery potteries porcelain ceramics china glass glassworks
silver furniture
"""
_GENERIC = frozenset(_KINDS.split())
"""What a name ends with that says what kind of house it is: many others have the same."""
_DENIALS = frozenset({"not", "isn", "wasn", "neither", "nor", "unlike", "never"})


def naming(text: str, accepted: Sequence[str], *, max_others: int, max_extra_words: int) -> float:
    """1 when the text is an accepted name, or has one as whole words beside few other names and words; else 0.

    Other names are counted as the pieces between commas, slashes, "or" and "and" that hold nothing accepted.
    """
    words = normalise(text)
    names = [name for name in map(normalise, accepted) if name]
    if not words:
        return 0.0
    if words in names:
        return 1.0
    named = sorted((name for name in names if has_phrase(words, name)), key=len, reverse=True)
    if not named:
        return 0.0
    extra = len(_without(words, named).split())
    if not extra or extra > max_extra_words:
        return float(not extra)
    return float(count_others(text, named) <= max_others)


def naming_one(text: str, accepted: Sequence[str], *, max_extra_words: int) -> float:
    """The strict rule: as `naming`, with no other name at all and no denial in the text."""
    if normalise(text) in {name for name in map(normalise, accepted) if name}:
        return 1.0
    if _DENIALS.intersection(normalise(text).split()):
        return 0.0
    return naming(text, accepted, max_others=0, max_extra_words=max_extra_words)


@lru_cache(maxsize=4096)
def distinctive_part(name: str) -> str:
    """The words of a name that tell it from others: what comes before "Pottery", "Company" and the like, or a family
    name from its "van" or "de" on; normalised, and "" when that is the whole name or cannot be told."""
    words = normalise(name).split()
    retained = words
    while retained and retained[-1] in _GENERIC:
        retained = retained[:-1]
    if retained != words:
        return " ".join(retained)
    first = next((place for place, word in enumerate(words) if place and word in _PARTICLES), len(words))
    return "" if words[-1] in _PARTICLES else " ".join(words[first:])


def by_distinctive_part(text: str, name: str) -> bool:
    """True when the text is made of words of the name alone, and has all that are distinctive."""
    wanted, stated = distinctive_part(name).split(), normalise(text).split()
    return bool(wanted) and set(wanted) <= set(stated) <= set(normalise(name).split())


def count_others(text: str, named: Sequence[str]) -> int:
    """How many pieces of the text hold none of the (normalised) names that stand in it, longest first."""
    for name in named:
        text = _spelled(name).sub(_NAMED, text)
    return sum(1 for piece in _BETWEEN_NAMES.split(text) if _NAMED not in piece and normalise(piece))


@lru_cache(maxsize=4096)
def _spelled(name: str) -> re.Pattern[str]:
    """A normalised name as it may be written, punctuation between its words included."""
    return re.compile(r"(?<!\w)" + r"[\W_]+".join(map(re.escape, name.split())) + r"(?!\w)", re.IGNORECASE)


def _without(words: str, names: Sequence[str]) -> str:
    padded = f" {words} "
    for name in names:
        padded = padded.replace(f" {name} ", "  ")
    return padded


class Alternatives(Scorer):
    """1 when the answer gives the truth or one of its alternatives; a list of guesses that holds it by luck earns 0."""

    version: ClassVar[int] = 2
    has_strict: ClassVar[bool] = True
    case_paths: ClassVar[tuple[str, ...]] = ("expected", "also")

    expected: str = Field(description="Path to the true name in the case.")
    also: str | None = Field(default=None, description="Path to a list of other names that are as good.")
    max_others: int = Field(
        default=2, ge=0, description="How many other names may occur with the right one; `strict` allows none."
    )
    max_extra_words: int = Field(
        default=12, ge=0, description="How many words may occur with the right name in a longer answer."
    )
    strict: bool = Field(default=False, description="Score by the strict rule: a single name, and no denial of it.")

    def read(self, answer: Any, case: Case) -> Reading:
        accepted = self._accepted(case)
        if not accepted:
            return UNKNOWN
        got = as_text(self.answer_value(answer))
        if self.strict:
            value = naming_one(got, accepted, max_extra_words=self.max_extra_words)
        else:
            value = naming(got, accepted, max_others=self.max_others, max_extra_words=self.max_extra_words)
        expected = accepted[0] if len(accepted) == 1 else f"{accepted[0]} (or {', '.join(accepted[1:])})"
        if not value and not self.strict and by_distinctive_part(got, accepted[0]):
            return Reading(1.0, expected, got, f"by its distinctive part: {distinctive_part(accepted[0])}")
        listed = value == 0 and naming(got, accepted, max_others=len(got), max_extra_words=len(got))
        return Reading(value, expected, got, "the name is there, among too much else" if listed else "")

    def truth(self, case: Case) -> Any:
        expected = self.expected_value(case)
        return None if expected is None else as_text(expected)

    def check(self, case: Case) -> str | None:
        expected = self.expected_value(case)
        if expected is not None and (not isinstance(expected, str) or not normalise(expected)):
            return f"{self.expected} is {expected!r}: a name is needed"
        also = self.expected_value(case, "also")
        if also is None:
            return None
        names = as_phrases(also)
        if names is None or not all(map(normalise, names)):
            return f"{self.also} is {also!r}: a list of names is needed"
        return None

    def keywords_of(self, case: Case) -> list[str]:
        return self._accepted(case)

    def _accepted(self, case: Case) -> list[str]:
        expected = self.expected_value(case)
        if expected is None:
            return []  # alternatives of an unknown truth are no truth: the suite's policy decides
        return [as_text(expected), *(as_phrases(self.expected_value(case, "also")) or [])]
