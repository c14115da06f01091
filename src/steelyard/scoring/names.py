"""The scorer for a free-text name: the better of keyword matches and fuzzy likeness."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, ClassVar, Final, Literal

from pydantic import Field
from rapidfuzz import fuzz
from rapidfuzz.distance import Levenshtein

from steelyard.frozen import values_of
from steelyard.scoring.base import UNKNOWN, Reading, Scorer
from steelyard.scoring.spelling import as_phrases, as_text, has_phrase, normalise
from steelyard.suite.case import Case

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
            limits = values_of(self, "floor", "min_precision")
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
