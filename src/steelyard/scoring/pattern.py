"""The scorer for a regular expression."""

from __future__ import annotations

import re
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

from pydantic import Field, model_validator

from steelyard.scoring.base import UNKNOWN, Reading, Scorer
from steelyard.scoring.normalise import as_text
from steelyard.suite.case import Case
from steelyard.suite.paths import Getter, compile_path, fits

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
        got = as_text(self.seen(answer))
        value = self._fits(got, compile_pattern(text, ignore_case=self.ignore_case))
        return Reading(value, text, got)

    def truth(self, case: Case) -> Any:
        if self.pattern is not None:
            return self.example
        return None if self.known(case) is None else self.known(case, "example")

    def check(self, case: Case) -> str | None:
        raw = self.known(case) if self.expected is not None else None
        if raw is None:
            return None
        if not isinstance(raw, str):
            return f"{self.expected} is {raw!r}: a regular expression as text is needed"
        try:
            compiled = compile_pattern(raw, ignore_case=self.ignore_case)
        except ValueError as error:
            return f"{self.expected}: {error}"
        example = self.known(case, "example")
        if example is None or not self._fits(as_text(example), compiled):
            return f"{self.example} is {example!r}: an example that fits {raw!r} is needed"
        return None

    def _pattern(self, case: Case) -> str | None:
        raw = self.pattern if self.pattern is not None else self.known(case)
        return raw if isinstance(raw, str) else None

    def _fits(self, text: str, pattern: regex.Pattern[str]) -> float:
        return matches(text, pattern, whole=self.whole, max_characters=self.max_characters)
