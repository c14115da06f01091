"""Scorers of names: alternatives and keywords."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any, ClassVar, Final, Literal

from pydantic import Field
from rapidfuzz import fuzz
from rapidfuzz.distance import Levenshtein

from steelyard.scoring.base import UNKNOWN, Reading, Scorer
from steelyard.scoring.text import as_phrases, as_text, has_phrase, normalise
from steelyard.suite.case import Case

# The scorer for a name that goes by several: one of them must be given, and not hidden in a list of guesses.

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


# The scorer for a free-text name: the better of keyword matches and fuzzy likeness.

Likeness = Callable[[str, str], float]


def letter_pairs(item: str, other: str) -> float:
    """How alike two texts are, 0..1: Dice's coefficient over pairs of neighbouring letters, case and spaces left out.

    The npm package `string-similarity`, by far the best-known `stringSimilarity`, computes the same, except that it
    takes capitals for other letters.
    """
    item, other = "".join(item.lower().split()), "".join(other.lower().split())
    if item == other:
        return 1.0
    if len(item) < 2 or len(other) < 2:
        return 0.0
    shared = Counter(pairwise(item)) & Counter(pairwise(other))
    return 2 * shared.total() / (len(item) + len(other) - 2)


def edits(item: str, other: str) -> float:
    """How alike two texts are, 0..1, letter case not regarded: rapidfuzz's normalised indel similarity."""
    return fuzz.ratio(item.lower(), other.lower()) / 100.0


def levenshtein(item: str, other: str) -> float:
    """How alike two texts are, 0..1, letter case not regarded: 1 - Levenshtein distance / length of the longer one."""
    return Levenshtein.normalized_similarity(item.lower(), other.lower())


_LIKENESS: Final[dict[str, Likeness]] = {"letter_pairs": letter_pairs, "edits": edits, "levenshtein": levenshtein}


def keyword_or_fuzzy(actual: str, expected: str, keywords: Sequence[str], likeness: Likeness = letter_pairs) -> float:
    """The published rule as written: 1 for the same name, else the better of keywords found inside and likeness.

    Defined beyond it: an answer without a letter or a digit earns 0, and no keywords make a keyword score of 0.
    """
    name = normalise(actual)
    if not name:
        return 0.0
    if name == normalise(expected):
        return 1.0
    return max(_keywords_inside(actual.lower(), keywords), likeness(actual, expected))


def keyword_or_fuzzy_strict(
    actual: str,
    expected: str,
    keywords: Sequence[str],
    likeness: Likeness = letter_pairs,
    *,
    floor: float,
    min_precision: float,
) -> float:
    """The strict rule: keywords as whole words, weighed down in proportion when most words are about something else.

    `min_precision` is the share of the answer's words that must belong to the name or its keywords for full marks.
    Likeness up to `floor` earns 0 and is stretched over the rest of the scale above it.
    """
    name = normalise(actual)
    if not name:
        return 0.0
    if name == normalise(expected):
        return 1.0
    phrases = [phrase for phrase in map(normalise, keywords) if phrase]
    signs = [keyword.strip() for keyword in keywords if not normalise(keyword)]
    result = sum(has_phrase(name, phrase) for phrase in phrases) + sum(sign in actual for sign in signs)
    recall = result / len(keywords) if keywords else 0.0
    by_keywords = recall * min(1.0, _precision(name, expected, phrases) / min_precision)
    by_likeness = (likeness(actual, expected) - floor) / (1.0 - floor)
    return min(1.0, max(0.0, by_keywords, by_likeness))


def _keywords_inside(actual_lower: str, keywords: Sequence[str]) -> float:
    if not keywords:
        return 0.0
    return sum(keyword.lower() in actual_lower for keyword in keywords) / len(keywords)


def _precision(name: str, expected: str, phrases: Sequence[str]) -> float:
    relevant = set(normalise(expected).split())
    for phrase in phrases:
        relevant.update(phrase.split())
    words = name.split()
    # A word said twice counts once as right: repeating a keyword does not make room for others.
    return len(relevant.intersection(words)) / len(words)


class KeywordsOrFuzzy(Scorer):
    """1 for the true name; otherwise the better of the share of keywords found and the fuzzy likeness to the name."""

    has_strict: ClassVar[bool] = True
    case_paths: ClassVar[tuple[str, ...]] = ("expected", "keywords")

    expected: str = Field(description="Path to the true name in the case.")
    keywords: str | None = Field(default=None, description="Path to the list of keywords in the case.")
    likeness: Literal["letter_pairs", "edits", "levenshtein"] = Field(
        default="letter_pairs",
        description="Alike by shared pairs of letters, or by how few edits (a replaced letter is two) or, for "
        "`levenshtein`, how few inserted, deleted and replaced letters lead from one to the other.",
    )
    strict: bool = Field(default=False, description="Score by the strict rule.")
    floor: float = Field(
        default=0.6, ge=0, lt=1, description="Strict rule: likeness up to this earns nothing; above it is rescaled."
    )
    min_precision: float = Field(
        default=0.5, gt=0, le=1, description="Strict rule: the share of words to the point that full marks need."
    )

    def read(self, answer: Any, case: Case) -> Reading:
        expected = self.expected_value(case)
        if expected is None:
            return UNKNOWN
        name, keywords = as_text(expected), self._keywords(case)
        got = as_text(self.answer_value(answer))
        if self.strict:
            limits = {"floor": self.floor, "min_precision": self.min_precision}
            value = keyword_or_fuzzy_strict(got, name, keywords, _LIKENESS[self.likeness], **limits)
        else:
            value = keyword_or_fuzzy(got, name, keywords, _LIKENESS[self.likeness])
        return Reading(value, name, got, _result(got, keywords) if keywords and value < 1 else "")

    def truth(self, case: Case) -> Any:
        expected = self.expected_value(case)
        return None if expected is None else as_text(expected)

    def check(self, case: Case) -> str | None:
        expected = self.expected_value(case)
        if expected is not None and not normalise(as_text(expected)):
            return f"{self.expected} is {expected!r}: a name with a letter or a digit is needed"
        raw = self.expected_value(case, "keywords")
        if raw is None:
            return None
        keywords = as_phrases(raw) if isinstance(raw, (list, tuple)) else None
        if keywords is None:
            return f"{self.keywords} is {raw!r}: a list of words is needed"
        if not all(keyword.strip() for keyword in keywords):
            return f"{self.keywords} holds a blank keyword: every answer would contain it"
        return None

    def keywords_of(self, case: Case) -> list[str]:
        return self._keywords(case)

    def _keywords(self, case: Case) -> list[str]:
        return as_phrases(self.expected_value(case, "keywords")) or []


def _result(got: str, keywords: Sequence[str]) -> str:
    lower = got.lower()
    lacking = [keyword for keyword in keywords if keyword.lower() not in lower]
    return f"{len(keywords) - len(lacking)} of {len(keywords)} keywords"
