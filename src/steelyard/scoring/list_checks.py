"""Checks of what a list in the answer holds: how many, which values, and none of some."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, BeforeValidator, Field, field_validator, model_validator

from steelyard.scoring.base import Answered
from steelyard.scoring.check_rules import (
    AnswerNeed,
    CheckResult,
    CheckRule,
    HowMany,
    ReadyCheck,
    brief,
    in_case,
    is_number,
    is_place,
    is_scalar,
)
from steelyard.scoring.checks import plain_path
from steelyard.suite.case import Case, digest
from steelyard.suite.paths import EVERY, AnswerPlace, compile_path, compile_place
from steelyard.suite.yaml import result as was_found

_MOST_LISTED = 5
_LONGEST_NAME = 80


def _end(value: Any) -> Any:
    if value is None or (is_number(value) and math.isfinite(value)):
        return value
    if isinstance(value, str) and value.strip():
        compile_path(value)
        return value
    raise ValueError(f"an end is a number, a path into the case, or null for an open one; {was_found(value)}")


def _listed(given: str | list[Any]) -> str | list[Any]:
    if isinstance(given, str):
        compile_path(given)
        return given
    wrong = next((value for value in given if not is_scalar(value)), None)
    if not given or wrong is not None:
        raise ValueError(f"give a path into the case, or a list of texts or numbers; {was_found(wrong or given)}")
    return given


End = Annotated[int | float | str | None, BeforeValidator(_end)]


Listed = Annotated[str | list[Any], AfterValidator(_listed)]
"""The values themselves, or the path to them in the case."""


class CountCheck(CheckRule):
    """How many things there are at a place of the answer."""

    count: str = Field(description="What is counted: a path with [] (items[]) or a JSONPath ($.items[*]).")
    between: list[End] = Field(
        min_length=2,
        max_length=2,
        description="Fewest and most: a number, a path into the case, or null for an open end.",
    )

    _place = field_validator("count")(is_place)

    @model_validator(mode="after")
    def _can_fail(self) -> CountCheck:
        low, high = self.between
        if low is None and high is None:
            raise ValueError("both ends are open: every count would pass")
        if (message := _crossed(low, high)) is not None:
            raise ValueError(message)
        return self

    def _asked(self, case: Case) -> Iterator[ReadyCheck]:
        low, high = (_end_in(end, case) for end in self.between)
        if low is not None or high is not None:
            asks = AnswerNeed.SOME if low is not None and low > 0 else AnswerNeed.NOTHING
            yield ReadyCheck(lambda answered: self._look(answered, low, high), asks, low=low, high=high)

    def _look(self, answered: Answered, low: float | None, high: float | None) -> CheckResult:
        wanted = _range_in_words(low, high)
        place = compile_place(self.count)
        values = place.values(answered.answer)
        if values is not None and place.single:
            values = values[0] if isinstance(values[0], list) else None
        if values is None:
            return CheckResult(False, f"no list at {self.count} (expected {wanted})", wanted, "no list")
        n = len(values)
        passed = (low is None or n >= low) and (high is None or n <= high)
        return CheckResult(passed, f"{n} (expected {wanted})", wanted, n, float(n))

    def problem(self, case: Case) -> str | None:
        ends = [in_case(end, case) if isinstance(end, str) else end for end in self.between]
        for end, value in zip(self.between, ends, strict=True):
            if value is not None and not (is_number(value) and math.isfinite(value)):
                return f"{end} must be a number or null; {was_found(value)}"
        return _crossed(*ends)

    def _values(self) -> Mapping[str, Any]:
        return {f"between.{at}": end for at, end in enumerate(self.between)}

    def answer_places(self) -> tuple[AnswerPlace, ...]:
        return (compile_place(self.count),)

    def passing(self, case: Case) -> Mapping[str, Any]:
        path = plain_path(self.count)
        low, high = (_end_in(end, case) for end in self.between)
        if path is None or (low is None and high is None):
            return {}
        return {path: HowMany(math.ceil(low or 0), math.inf if high is None else high)}


class _Listed(CheckRule):
    """Base of checks with a list of values and a place where they are looked for."""

    key: ClassVar[str]

    in_: str = Field(alias="in", description="Where in the answer: items[].name, or $.items[*].name.")
    given: Listed

    _place = field_validator("in_")(is_place)

    def wanted(self, case: Case) -> list[Any]:
        """The values for this case, each once; empty when it has none."""
        values = in_case(self.given, case) if isinstance(self.given, str) else self.given
        if values is None:
            return []
        return list({_key(value): value for value in (values if isinstance(values, list) else [values])}.values())

    def problem(self, case: Case) -> str | None:
        values = in_case(self.given, case) if isinstance(self.given, str) else None
        if values is None or is_scalar(values) or (isinstance(values, list) and all(map(is_scalar, values))):
            return None
        return f"{self.given} must be a list of texts or numbers, one of them, or null; {was_found(values)}"

    def _values(self) -> Mapping[str, Any]:
        return {self.key: self.given}

    def answer_places(self) -> tuple[AnswerPlace, ...]:
        return (compile_place(self.in_),)

    def _there(self, answered: Answered) -> dict[Any, Any] | None:
        """What stands at the place, each value once; None when the answer has no such place."""
        place = compile_place(self.in_)
        values = place.values(answered.answer)
        if values is None:
            return None
        if place.single and isinstance(values[0], list):
            values = values[0]
        return {_key(value): value for value in values if is_scalar(value)}


class EachCheck(_Listed):
    """Each of these values stands at a place of the answer: one check a value."""

    key = "each"

    given: Listed = Field(
        alias="each", description="Path in the case to the values that must be there, or a list of them."
    )

    def passing(self, case: Case) -> Mapping[str, Any]:
        path, values = plain_path(self.in_), self.wanted(case)
        if path is None or not values:
            return {}
        return {path if EVERY in path else f"{path}{EVERY}": values}

    def _asked(self, case: Case) -> Iterator[ReadyCheck]:
        asks = AnswerNeed.THIS if isinstance(self.given, str) else AnswerNeed.SOME
        for value in self.wanted(case):
            yield ReadyCheck(lambda answered, value=value: self._look(answered, value), asks, _name_of(value))  # type: ignore[misc]

    def _look(self, answered: Answered, value: Any) -> CheckResult:
        there = self._there(answered)
        if there is None:
            return CheckResult(False, f"nothing at {self.in_}", brief(value))
        if _key(value) in there:
            return CheckResult(True, f"found in {self.in_}")
        # What else is there was not taken for it: the detail names it, and nothing was got instead.
        return CheckResult(False, f"not found in {self.in_}; there: {_few(there.values())}", brief(value))


class NoneCheck(_Listed):
    """None of these values stands at a place of the answer."""

    key = "none"

    given: Listed = Field(alias="none", description="Path in the case to the values that must not be there, or a list.")

    def _asked(self, case: Case) -> Iterator[ReadyCheck]:
        if unwanted := self.wanted(case):
            yield ReadyCheck(lambda answered: self._look(answered, unwanted))

    def _look(self, answered: Answered, unwanted: list[Any]) -> CheckResult:
        there = self._there(answered)
        expected = f"none of {_few(unwanted)}"
        if there is None:
            return CheckResult(False, f"nothing at {self.in_}", expected, "nothing")
        results = [value for value in unwanted if _key(value) in there]
        if not results:
            return CheckResult(True, f"none of them in {self.in_}")
        return CheckResult(False, f"found in {self.in_}: {_few(results)}", expected, _few(results))


def _end_in(end: Any, case: Case) -> float | None:
    value = in_case(end, case) if isinstance(end, str) else end
    return None if value is None else float(value)


def _crossed(low: Any, high: Any) -> str | None:
    if is_number(low) and is_number(high) and low > high:
        return f"{low:g} is above {high:g}: no count is between them"
    if low is None and is_number(high) and high < 0:
        return f"no count is at most {high:g}"
    return None


def _key(value: Any) -> tuple[str, Any]:
    """What two equal values share; true is not 1, and 1 is 1.0."""
    if isinstance(value, bool):
        return "bool", value
    return ("text" if isinstance(value, str) else "number"), value


def _name_of(value: Any) -> str:
    """The value as part of a check's name: on one line, and told apart from others when it is long."""
    if isinstance(value, bool):
        return "true" if value else "false"
    text = " ".join(str(value).split())
    if len(text) <= _LONGEST_NAME and text:
        return text
    return f"{text[: _LONGEST_NAME - 20]}… {digest(value)[:8]}"


def _few(values: Iterable[Any]) -> str:
    rows = list(values)
    more = f" and {len(rows) - _MOST_LISTED} more" if len(rows) > _MOST_LISTED else ""
    return ", ".join(brief(value) for value in rows[:_MOST_LISTED]) + more if rows else "nothing"


def _range_in_words(low: float | None, high: float | None) -> str:
    if low is None:
        return f"at most {high:g}"
    if high is None:
        return f"at least {low:g}"
    return f"{low:g}" if low == high else f"{low:g} to {high:g}"
