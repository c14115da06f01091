"""Scorers of texts: exact, contains, choice, ordinal, regex."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache, partial
from itertools import compress, pairwise
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from pydantic import Field, field_validator, model_validator

from steelyard.scoring.base import UNKNOWN, Measure, Reading, Scorer
from steelyard.scoring.spelling import as_phrases, as_text, fold, has_phrase, normalise
from steelyard.suite.case import Case
from steelyard.suite.paths import Getter, compile_path
from steelyard.suite.patterns import fits

if TYPE_CHECKING:
    import regex


def matches(text: str, pattern: regex.Pattern[str], *, whole: bool, max_characters: int) -> float:
    """1 when the pattern is found in the text (or, `whole`, is all of it, spaces around it aside); else 0."""
    shown = text[:max_characters]
    if not shown.strip():
        return 0.0
    return float(fits(pattern, shown.strip() if whole else shown, whole=whole))


@lru_cache(maxsize=4096)
def compile_pattern(text: str, *, ignore_case: bool) -> regex.Pattern[str]:
    """The compiled pattern; ValueError with a sentence when it is broken or fits an empty text."""
    import regex

    try:
        # Python's own decides what a regular expression is; the other reads the same, and can be stopped.
        re.compile(text)
        pattern = regex.compile(text, regex.IGNORECASE if ignore_case else 0)
    except (re.error, regex.error, OverflowError, RecursionError) as error:
        raise ValueError(f"{text!r} is not a regular expression: {error}") from None
    if fits(pattern, ""):
        raise ValueError(f"{text!r} fits an empty answer, so every answer would earn full marks")
    return pattern


class Regex(Scorer):
    """1 when the answer fits a regular expression of Python's `re`; otherwise 0."""

    pattern: str | None = Field(default=None, description="The regular expression, the same for all cases.")
    expected: str | None = Field(default=None, description="Path to the regular expression in the case, instead.")
    example: str = Field(
        description="An answer that fits: for `pattern` the text itself, for `expected` a path in the case. "
        "Checked when the suite loads, and what `audit` takes for the truth."
    )
    ignore_case: bool = Field(default=False, description="Whether letter case does not count.")
    whole: bool = Field(default=False, description="Whether the whole answer must fit, not only a part of it.")
    max_characters: int = Field(default=20_000, gt=0, description="How much of a long answer is searched.")

    @model_validator(mode="after")
    def _one_pattern(self) -> Regex:
        if (self.pattern is None) == (self.expected is None):
            raise ValueError("give either `pattern` or `expected`")
        if self.pattern is not None:
            compiled = compile_pattern(self.pattern, ignore_case=self.ignore_case)
            if not self._fits(self.example, compiled):
                raise ValueError(f"the example {self.example!r} does not fit {self.pattern!r}")
        return self

    @cached_property
    def getters(self) -> dict[str, Getter]:
        """The base's, and the place of the example when that is a path."""
        getters = dict(super().getters)
        if self.expected is not None:
            getters["example"] = compile_path(self.example)
        return getters

    def read(self, answer: Any, case: Case) -> Reading:
        text = self._pattern(case)
        if text is None:
            return UNKNOWN
        got = as_text(self.answer_value(answer))
        value = self._fits(got, compile_pattern(text, ignore_case=self.ignore_case))
        return Reading(value, text, got)

    def truth(self, case: Case) -> Any:
        if self.pattern is not None:
            return self.example
        return None if self.expected_value(case) is None else self.expected_value(case, "example")

    def check(self, case: Case) -> str | None:
        raw = self.expected_value(case) if self.expected is not None else None
        if raw is None:
            return None
        if not isinstance(raw, str):
            return f"{self.expected} is {raw!r}: a regular expression as text is needed"
        try:
            compiled = compile_pattern(raw, ignore_case=self.ignore_case)
        except ValueError as error:
            return f"{self.expected}: {error}"
        example = self.expected_value(case, "example")
        if example is None or not self._fits(as_text(example), compiled):
            return f"{self.example} is {example!r}: an example that fits {raw!r} is needed"
        return None

    def _pattern(self, case: Case) -> str | None:
        raw = self.pattern if self.pattern is not None else self.expected_value(case)
        return raw if isinstance(raw, str) else None

    def _fits(self, text: str, pattern: regex.Pattern[str]) -> float:
        return matches(text, pattern, whole=self.whole, max_characters=self.max_characters)


Difference = Literal["case", "space", "punctuation", "accents"]


def exactly(got: Any, expected: Any, ignore: Sequence[Difference]) -> float:
    """1 when both are the same value, texts compared without the ignored differences; else 0. Nothing earns 0."""
    return 1.0 if not _empty(got) and _same(got, expected, ignore) else 0.0


def containing(text: str, phrases: Sequence[str], match: Literal["all", "any", "share"]) -> float:
    """How the phrases stand in the text as whole words: 1 or 0 for `all` and `any`, the part found for `share`."""
    words = normalise(text)
    if not words or not phrases:
        return 0.0
    result = sum(has_phrase(words, normalise(phrase)) for phrase in phrases)
    if match == "any":
        return 1.0 if result else 0.0
    return result / len(phrases) if match == "share" else float(result == len(phrases))


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
        expected = self.expected_value(case)
        if expected is None:
            return UNKNOWN
        got = self.answer_value(answer)
        return Reading(exactly(got, expected, self.ignore), expected, got)

    def truth(self, case: Case) -> Any:
        return self.expected_value(case)

    def keywords_of(self, case: Case) -> list[str]:
        return as_phrases(self.expected_value(case)) or []


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
        got = as_text(self.answer_value(answer))
        value = containing(got, phrases, self.match)
        words = normalise(got)
        lacking = [phrase for phrase in phrases if not has_phrase(words, normalise(phrase))]
        note = "" if value == 1 else f"not found: {', '.join(lacking)}"
        return Reading(value, phrases, got, note)

    def truth(self, case: Case) -> Any:
        phrases = self._phrases(case)
        return "; ".join(phrases) if phrases else None

    def check(self, case: Case) -> str | None:
        if not isinstance(self.expected, str) or (raw := self.expected_value(case)) is None:
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
        return as_phrases(self.expected_value(case)) or []


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
        expected = self.expected_value(case)
        if expected is None:
            return UNKNOWN
        got = as_text(self.answer_value(answer))
        label = chosen(got, self.labels, inside=self.inside)
        if label is None:
            return Reading(0.0, expected, got, f"not one of: {', '.join(self.labels)}")
        return Reading(float(normalise(label) == normalise(as_text(expected))), expected, got)

    def truth(self, case: Case) -> Any:
        expected = self.expected_value(case)
        return None if expected is None else as_text(expected)

    def check(self, case: Case) -> str | None:
        expected = self.expected_value(case)
        if expected is None or chosen(as_text(expected), self.labels, inside=False) is not None:
            return None
        return f"{self.expected} is {expected!r}, not one of: {', '.join(self.labels)}"

    def keywords_of(self, case: Case) -> list[str]:  # noqa: ARG002 - the labels are the same for all cases
        return list(self.labels)


class Ordinal(Scorer):
    """Marks for a label of an ordered scale, by how many steps it is from the right one; others earn 0 and say so."""

    has_strict: ClassVar[bool] = True
    measures: ClassVar[Mapping[str, Measure]] = MappingProxyType(
        {
            "exact": Measure("right", "labelled", "answers with the right label", "higher"),
            "within_one": Measure("near", "labelled", "answers with the right label or one next to it", "higher"),
            "too_high": Measure("above", "labelled", "answers with a label above the right one", "lower"),
            "too_low": Measure("below", "labelled", "answers with a label below the right one", "lower"),
            "outside": Measure("outside", "labelled", "answers with no label of the scale", "lower"),
        }
    )

    expected: str = Field(description="Path to the right label in the case.")
    order: tuple[str | int, ...] = Field(min_length=2, description="The labels from the lowest to the highest.")
    marks: tuple[float, ...] = Field(
        default=(),
        description="Marks by distance: of the right label (1), of one next to it and so on; what is farther earns 0. "
        "Left out, marks fall evenly to 0 at the other end of the scale.",
    )
    ignore: tuple[Difference, ...] = Field(
        default=("case", "space"), description="Differences between texts that do not count."
    )
    inside: bool = Field(
        default=False, description="Accept a label inside a longer text, when the text names no other label."
    )
    strict: bool = Field(default=False, description="Give marks for the right label alone.")

    @field_validator("marks")
    @classmethod
    def _fall(cls, marks: tuple[float, ...]) -> tuple[float, ...]:
        if marks and (marks[0] != 1 or marks[-1] < 0 or any(not near >= far for near, far in pairwise(marks))):
            raise ValueError("marks begin with 1 for the right label, and never rise with the distance or go below 0")
        return marks

    @model_validator(mode="after")
    def _distinct(self) -> Self:
        if not all(self._places) or len(self._places) < len(self.order):
            raise ValueError("labels must differ by more than what is ignored, and none may be blank")
        if self.inside and len(set(map(normalise, self._labels)) - {""}) < len(self.order):
            raise ValueError("to be found inside a text, labels must differ by more than case and punctuation")
        if len(self.marks) > len(self.order):
            raise ValueError(f"{len(self.marks)} marks are given, and {len(self.order)} labels")
        return self

    @cached_property
    def _labels(self) -> list[str]:
        return list(map(str, self.order))

    @cached_property
    def _places(self) -> dict[str, int]:
        """By label as it is compared, its place in the order."""
        return {text: place for place, text in enumerate(self._fold.fold(self._labels))}

    @cached_property
    def _fold(self) -> Folder:
        return Folder(self.ignore)

    def _place(self, value: Any, *, inside: bool) -> int | None:
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        text = _spoken(value)
        place = self._places.get(self._fold.fold([text])[0])
        if place is not None or not inside or (label := chosen(text, self._labels, inside=True)) is None:
            return place
        return self._labels.index(label)

    def read(self, answer: Any, case: Case) -> Reading:
        expected = self.expected_value(case)
        right = None if expected is None else self._place(expected, inside=False)
        if right is None:
            return UNKNOWN
        raw = self.answer_value(answer)
        got, place = as_text(raw), self._place(raw, inside=self.inside)
        if place is None:
            note = f"not one of: {', '.join(self._labels)}"
            return Reading(0.0, expected, got, note, counts=_labelled(outside=1))
        distance = abs(place - right)
        counts = _labelled(right=distance == 0, near=distance <= 1, above=place > right, below=place < right)
        note = f"{distance} of {len(self.order) - 1} steps too {'high' if place > right else 'low'}" if distance else ""
        return Reading(self._marks(distance), expected, got, note, counts=counts)

    def _marks(self, distance: int) -> float:
        if self.strict:
            return float(not distance)
        if self.marks:
            return self.marks[distance] if distance < len(self.marks) else 0.0
        return 1.0 - distance / (len(self.order) - 1)

    def nothing(self, case: Case) -> Mapping[str, int]:
        return {} if self.truth(case) is None else _labelled(outside=1)

    def truth(self, case: Case) -> Any:
        return self.expected_value(case)

    def check(self, case: Case) -> str | None:
        expected = self.expected_value(case)
        if expected is None or self._place(expected, inside=False) is not None:
            return None
        return f"{self.expected} is {expected!r}, not one of: {', '.join(self._labels)}"

    def keywords_of(self, case: Case) -> list[str]:  # noqa: ARG002 - the labels are the same for all cases
        return list(self._labels)


def _labelled(**counts: int) -> dict[str, int]:
    names = ("right", "near", "above", "below", "outside")
    return {"labelled": 1} | {name: int(counts.get(name, 0)) for name in names}


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
            and all(_same(item, other, ignore) for item, other in zip(got, expected, strict=True))
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


# Stands between texts that are folded together: neither a space, nor punctuation, nor a letter with two cases.
_BETWEEN = "\0"


class Folder:
    """Folds texts, each as `fold` would; plain ASCII texts go through in one piece."""

    __slots__ = ("_alone", "_collapses", "_spaces", "_table")

    def __init__(self, ignore: Sequence[Difference]) -> None:
        self._alone = partial(
            fold,
            case="case" in ignore,
            space="space" in ignore,
            punctuation="punctuation" in ignore,
            accents="accents" in ignore,
        )
        self._collapses = "space" in ignore or "punctuation" in ignore
        # Folding one ASCII character depends on nothing beside it, save for runs of spaces.
        folded = bytes(ord(self._alone(f"x{chr(code)}x")[1]) for code in range(128))
        self._table = folded + bytes(range(128, 256))
        self._spaces = bytes(code for code in range(128) if folded[code : code + 1] == b" ")

    def fold(self, texts: Sequence[str]) -> list[str]:
        """Each text as it is compared."""
        joined = _BETWEEN.join(texts)
        if joined.isascii():
            folded = self._at_once(joined)
            if len(folded) == len(texts):
                return folded
        plain = [text.isascii() and _BETWEEN not in text for text in texts]
        at_a_time = iter(self._at_once(_BETWEEN.join(compress(texts, plain))))
        return [next(at_a_time) if simple else self._alone(text) for text, simple in zip(texts, plain, strict=True)]

    def keys(self, texts: Sequence[str]) -> str:
        """The keys of all texts between separators; "" when two have the same or one has an empty key.

        The key of a text is the text folded and without any space.
        Texts that fold alike have the same key, so that different keys show that no text stands twice; and to take
        out all spaces needs half the time of leaving one of each run. One text takes less to keep than many do.
        """
        joined = _BETWEEN.join(texts)
        if joined.isascii():
            joined = joined.encode("ascii").translate(self._table, self._spaces).decode("ascii")
        else:
            joined = _BETWEEN.join(map(key_of, self.fold(texts)))
        keys = joined.split(_BETWEEN)
        different = set(keys)
        unlike = len(keys) == len(different) == len(texts) and "" not in different
        return _BETWEEN + joined + _BETWEEN if unlike else ""

    def _at_once(self, joined: str) -> list[str]:
        joined = joined.encode("ascii").translate(self._table).decode("ascii")
        if not self._collapses:
            return joined.split(_BETWEEN)
        while "  " in joined:
            joined = joined.replace("  ", " ")
        return list(map(str.strip, joined.split(_BETWEEN)))


def key_of(folded: str) -> str:
    """The key of a folded text: see `Folder.keys`."""
    return folded.replace(" ", "")


def has_key(keys: str, key: str) -> bool:
    """True when the key is one of those that `Folder.keys` gave."""
    return f"{_BETWEEN}{key}{_BETWEEN}" in keys
