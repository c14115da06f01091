"""Scorers for plain text: exact, contains and choice."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from pydantic import Field, field_validator

from steelyard.scoring.base import UNKNOWN, Reading, Scorer
from steelyard.scoring.normalise import as_phrases, as_text, fold, has_phrase, normalise
from steelyard.suite.case import Case

Difference = Literal["case", "space", "punctuation", "accents"]


def exactly(got: Any, expected: Any, ignore: Sequence[Difference]) -> float:
    """1 when both are the same value, texts compared without the ignored differences; else 0. Nothing earns 0."""
    return 1.0 if not _empty(got) and _same(got, expected, ignore) else 0.0


def containing(text: str, phrases: Sequence[str], match: Literal["all", "any", "share"]) -> float:
    """How the phrases stand in the text as whole words: 1 or 0 for `all` and `any`, the part found for `share`."""
    words = normalise(text)
    if not words or not phrases:
        return 0.0
    found = sum(has_phrase(words, normalise(phrase)) for phrase in phrases)
    if match == "any":
        return 1.0 if found else 0.0
    return found / len(phrases) if match == "share" else float(found == len(phrases))


def chosen(text: str, labels: Sequence[str], *, inside: bool) -> str | None:
    """The one label that the text is (or, `inside`, that it names); None when it is none or names several."""
    words = normalise(text)
    same = [label for label in labels if normalise(label) == words]
    if same or not inside:
        return same[0] if words and same else None
    named = [label for label in labels if has_phrase(words, normalise(label))]
    # A label that is part of a longer named one ("good" in "very good") is not a second choice.
    outer = [label for label in named if not any(label != other and _within(label, other) for other in named)]
    return outer[0] if len(outer) == 1 else None


class Exact(Scorer):
    """1 when the answer equals the truth, after a declared normalisation; otherwise 0."""

    expected: str = Field(description="Path to the truth in the case.")
    ignore: tuple[Difference, ...] = Field(
        default=("case", "space"), description="Differences between texts that do not count."
    )

    def read(self, answer: Any, case: Case) -> Reading:
        expected = self.known(case)
        if expected is None:
            return UNKNOWN
        got = self.seen(answer)
        return Reading(exactly(got, expected, self.ignore), expected, got)

    def truth(self, case: Case) -> Any:
        return self.known(case)

    def keywords_of(self, case: Case) -> list[str]:
        return as_phrases(self.known(case)) or []


class Contains(Scorer):
    """Whether phrases stand in the answer as whole words, whatever the case and punctuation."""

    expected: str | tuple[str, ...] = Field(description="Path to the phrases in the case, or the phrases as a list.")
    match: Literal["all", "any", "share"] = Field(
        default="all", description="`all` or `any` of the phrases for a 1, or the `share` of them that is found."
    )

    @field_validator("expected")
    @classmethod
    def _some_phrases(cls, value: str | tuple[str, ...]) -> str | tuple[str, ...]:
        if not isinstance(value, str) and (not value or not all(map(normalise, value))):
            raise ValueError("give at least one phrase, each with a letter or a digit")
        return value

    def read(self, answer: Any, case: Case) -> Reading:
        phrases = self._phrases(case)
        if not phrases:
            return UNKNOWN
        got = as_text(self.seen(answer))
        value = containing(got, phrases, self.match)
        words = normalise(got)
        lacking = [phrase for phrase in phrases if not has_phrase(words, normalise(phrase))]
        note = "" if value == 1 else f"not found: {', '.join(lacking)}"
        return Reading(value, phrases, got, note)

    def truth(self, case: Case) -> Any:
        phrases = self._phrases(case)
        return "; ".join(phrases) if phrases else None

    def check(self, case: Case) -> str | None:
        if not isinstance(self.expected, str) or (raw := self.known(case)) is None:
            return None
        phrases = as_phrases(raw)
        if phrases is None:
            return f"{self.expected} is {raw!r}: a text or a list of texts is needed"
        if not all(map(normalise, phrases)):
            return f"{self.expected} holds a phrase without a letter or a digit: any answer would contain it"
        return None

    def keywords_of(self, case: Case) -> list[str]:
        return self._phrases(case)

    def _phrases(self, case: Case) -> list[str]:
        if not isinstance(self.expected, str):
            return list(self.expected)
        return as_phrases(self.known(case)) or []


class Choice(Scorer):
    """1 when the answer is the right label of a closed set; a label outside the set earns 0 and says so."""

    expected: str = Field(description="Path to the right label in the case.")
    labels: tuple[str, ...] = Field(min_length=2, description="The closed set of labels.")
    inside: bool = Field(
        default=False, description="Accept a label inside a longer text, when the text names no other label."
    )

    @field_validator("labels")
    @classmethod
    def _distinct(cls, labels: tuple[str, ...]) -> tuple[str, ...]:
        spelled = [normalise(label) for label in labels]
        if not all(spelled) or len(set(spelled)) < len(spelled):
            raise ValueError("labels must differ by more than case and punctuation, and none may be blank")
        return labels

    def read(self, answer: Any, case: Case) -> Reading:
        expected = self.known(case)
        if expected is None:
            return UNKNOWN
        got = as_text(self.seen(answer))
        label = chosen(got, self.labels, inside=self.inside)
        if label is None:
            return Reading(0.0, expected, got, f"not one of: {', '.join(self.labels)}")
        return Reading(float(normalise(label) == normalise(as_text(expected))), expected, got)

    def truth(self, case: Case) -> Any:
        expected = self.known(case)
        return None if expected is None else as_text(expected)

    def check(self, case: Case) -> str | None:
        expected = self.known(case)
        if expected is None or chosen(as_text(expected), self.labels, inside=False) is not None:
            return None
        return f"{self.expected} is {expected!r}, not one of: {', '.join(self.labels)}"

    def keywords_of(self, case: Case) -> list[str]:  # noqa: ARG002 - the labels are the same for all cases
        return list(self.labels)


def _within(label: str, other: str) -> bool:
    return has_phrase(normalise(other), normalise(label))


def _empty(value: Any) -> bool:
    return value is None or (isinstance(value, str) and not value.strip()) or value in ([], {})


def _same(got: Any, expected: Any, ignore: Sequence[Difference]) -> bool:
    if isinstance(expected, dict):
        return (
            isinstance(got, dict)
            and got.keys() == expected.keys()
            and all(_same(got[key], expected[key], ignore) for key in expected)
        )
    if isinstance(expected, (list, tuple)):
        return (
            isinstance(got, (list, tuple))
            and len(got) == len(expected)
            and all(_same(one, other, ignore) for one, other in zip(got, expected, strict=True))
        )
    if isinstance(got, str) or isinstance(expected, str):
        return not isinstance(got, (dict, list)) and _same_text(_spoken(got), _spoken(expected), ignore)
    return isinstance(got, bool) == isinstance(expected, bool) and bool(got == expected)


def _spoken(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else as_text(value)


def _same_text(got: str, expected: str, ignore: Sequence[Difference]) -> bool:
    if got == expected:
        return bool(got)
    wanted = {name: name in ignore for name in ("case", "space", "punctuation", "accents")}
    folded = fold(expected, **wanted)
    return bool(folded) and fold(got, **wanted) == folded
