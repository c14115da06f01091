"""Checks that compare what stands at a place of the answer: equal, more or less, fitting a pattern, being there."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterator, Mapping
from re import _parser as re_parser  # type: ignore[attr-defined]  # what a pattern is made of
from typing import Any

from pydantic import Field, field_validator, model_validator

from steelyard.scoring.base import Answered
from steelyard.scoring.check_rules import (
    AnswerNeed,
    CheckResult,
    CheckRule,
    ReadyCheck,
    brief,
    in_case,
    is_number,
    is_place,
    same,
)
from steelyard.scoring.text import compile_pattern
from steelyard.suite.case import Case
from steelyard.suite.paths import EVERY, AnswerPlace, compile_path, compile_place
from steelyard.suite.patterns import MOST_SEARCHED, Searched, fits
from steelyard.suite.yaml import listed
from steelyard.suite.yaml import result as was_found

_CASE = "case"
_ORDER: dict[str, tuple[str, Callable[[Any, Any], bool]]] = {
    "at_least": ("at least", operator.ge),
    "at_most": ("at most", operator.le),
    "above": ("above", operator.gt),
    "below": ("below", operator.lt),
}
COMPARISONS = ("equals", "not_equals", *_ORDER, "matches")
_FROM_CASE = "a value, or {case: path} for one of the case"


class PathCheck(CheckRule):
    """What stands at a place of the answer, compared with a value; all comparisons that are given must hold."""

    path: str = Field(description="A JSONPath (RFC 9535), as in $.meta.model, or a dotted path.")
    equals: Any = Field(default=None, description=f"It is this: {_FROM_CASE}.")
    not_equals: Any = Field(default=None, description=f"It is there and not this: {_FROM_CASE}.")
    at_least: Any = Field(default=None, description="A number of at least this, or {case: path}.")
    at_most: Any = Field(default=None, description="A number of at most this, or {case: path}.")
    above: Any = Field(default=None, description="A number above this, or {case: path}.")
    below: Any = Field(default=None, description="A number below this, or {case: path}.")
    matches: Any = Field(
        default=None,
        description="A text in which this regular expression is found, or {case: path}; "
        f"of a long text the first {MOST_SEARCHED} characters are searched.",
    )
    exists: bool | None = Field(default=None, description="Whether there must be something, or must be nothing.")

    _place = field_validator("path")(is_place)

    @model_validator(mode="after")
    def _compares(self) -> PathCheck:
        given = [name for name in (*COMPARISONS, "exists") if name in self.model_fields_set]
        if not given:
            raise ValueError(f"say what it is compared with: {listed([*COMPARISONS, 'exists'])}")
        if self.exists is False and len(given) > 1:
            raise ValueError("exists: false says that nothing is there, so nothing can be compared")
        for name in self._compared():
            value = getattr(self, name)
            if (path := _path_in(value)) is not None:
                compile_path(path)
            elif (message := _unfit(name, value)) is not None:
                raise ValueError(message)
        return self

    def _compared(self) -> list[str]:
        return [name for name in COMPARISONS if name in self.model_fields_set]

    def _asked(self, case: Case) -> Iterator[ReadyCheck]:
        values = {name: _value_in(getattr(self, name), case) for name in self._compared()}
        from_case = [name for name in values if _path_in(getattr(self, name)) is not None]
        if any(values[name] is None for name in from_case):
            return
        asks = AnswerNeed.THIS if from_case else AnswerNeed.NOTHING
        low, high = (_bound(values, *names) for names in (("at_least", "above"), ("at_most", "below")))
        yield ReadyCheck(lambda answered: self._look(answered, values), asks, low=low, high=high)

    def _look(self, answered: Answered, values: dict[str, Any]) -> CheckResult:
        result = compile_place(self.path).values(answered.answer) or []
        if self.exists is False:
            got = brief(result[0]) if result else "nothing"
            return CheckResult(not result, f"there is {got}", "nothing", got)
        wanted = " and ".join(_in_words(name, value) for name, value in values.items()) or "something"
        if not result:
            return CheckResult(False, f"nothing at {self.path} (expected {wanted})", wanted, "nothing")
        searched = Searched()
        for got in result:
            wrong = next((name for name, value in values.items() if not _holds(name, got, value, searched)), None)
            if wrong is not None:
                cut = f", in its first {MOST_SEARCHED} characters" if _is_cut(wrong, got) else ""
                message = f"{brief(got)} (expected {_in_words(wrong, values[wrong])}{cut})"
                return CheckResult(False, message, wanted, brief(got), _figure(got, values))
        return CheckResult(
            True, brief(result[0]), wanted, value=_figure(result[0], values) if len(result) == 1 else None
        )

    def problem(self, case: Case) -> str | None:
        for name in self._compared():
            path = _path_in(getattr(self, name))
            value = None if path is None else in_case(path, case)
            if value is not None and (message := _unfit(name, value)) is not None:
                return f"{path}: {message}"
        return None

    def _values(self) -> Mapping[str, Any]:
        return {f"{name}.{_CASE}": _path_in(getattr(self, name)) for name in self._compared()}

    def answer_places(self) -> tuple[AnswerPlace, ...]:
        return (compile_place(self.path),)

    def passing(self, case: Case) -> Mapping[str, Any]:
        values = {name: _value_in(getattr(self, name), case) for name in self._compared()}
        path = plain_path(self.path)
        if path is None or self.exists is False or any(value is None for value in values.values()):
            return {}
        low, high = (_bound(values, *names) for names in (("at_least", "above"), ("at_most", "below")))
        tried = [values.get("equals"), *(_in_range(low, high) if low is not None or high is not None else ())]
        tried += [example_of(values["matches"]) if "matches" in values else None, "something", True, [], 1]
        fits = (v for v in tried if v is not None and all(_holds(n, v, w, Searched()) for n, w in values.items()))
        return {path: value} if (value := next(fits, None)) is not None else {}


def plain_path(text: str) -> str | None:
    """A place as a path to build an answer with: `$.items[*].name` is `items[].name`; None for other queries."""
    path = re.sub(r"\[(\d+)\]", r".\1", text.strip().removeprefix("$").lstrip(".").replace("[*]", EVERY))
    return None if re.search(r"[\[\]?@'\"]|\.\.", path.replace("[]", "")) else path


def _in_range(low: float | None, high: float | None) -> Iterator[float]:
    """Numbers between two ends, whole ones first."""
    ends = [end for end in (low, high) if end is not None]
    whole = [math.floor(end) + step for end in ends for step in (0, 1, -1)]
    yield from (*whole, sum(ends) / len(ends), *ends)


def example_of(pattern: str) -> str | None:
    """A short text that a plain regular expression is found in; None where this cannot tell."""
    try:
        text = _spelled(re_parser.parse(pattern))
        return text if fits(compile_pattern(pattern, ignore_case=False), text) else None
    except (ValueError, re.error, LookupError, TypeError):
        return None


def _spelled(parts: Any) -> str:
    """The shortest text of a parsed pattern, the first of several."""
    text = ""
    for kind, what in parts:
        name = str(kind)
        if name == "LITERAL":
            text += chr(what)
        elif name == "IN":
            first, inner = what[0]
            spell = {"LITERAL": chr, "RANGE": lambda ends: chr(ends[0]), "CATEGORY": _of_category}
            text += spell[str(first)](inner)
        elif name in ("MAX_REPEAT", "MIN_REPEAT"):
            text += _spelled(what[2]) * what[0]
        elif name == "SUBPATTERN":
            text += _spelled(what[-1])
        elif name == "BRANCH":
            text += _spelled(what[1][0])
        elif name != "AT":
            text += {"ANY": "a", "CATEGORY": _of_category(what), "NOT_LITERAL": "a"}[name]
    return text


def _of_category(what: Any) -> str:
    return {"CATEGORY_DIGIT": "1", "CATEGORY_SPACE": " "}.get(str(what), "a")


def _path_in(value: Any) -> str | None:
    """The path when the value is to be taken from the case."""
    if isinstance(value, dict) and list(value) == [_CASE] and isinstance(value[_CASE], str):
        return str(value[_CASE])
    return None


def _value_in(value: Any, case: Case) -> Any:
    path = _path_in(value)
    return value if path is None else in_case(path, case)


def _unfit(name: str, value: Any) -> str | None:
    """Why nothing can be compared with the value in that way; None when it can."""
    if name in _ORDER and not (is_number(value) and math.isfinite(value)):
        return f"{name} takes a number, or {{case: path}}; {was_found(value)}"
    if name != "matches":
        return None
    if not isinstance(value, str):
        return f"matches takes a regular expression, or {{case: path}}; {was_found(value)}"
    try:
        compile_pattern(value, ignore_case=False)
    except ValueError as error:
        return str(error)
    return None


def _holds(name: str, got: Any, value: Any, searched: Searched) -> bool:
    if name == "equals":
        return same(got, value)
    if name == "not_equals":
        return not same(got, value)
    if name == "matches":
        pattern = compile_pattern(value, ignore_case=False)
        return isinstance(got, str) and fits(pattern, searched.head(got))
    return is_number(got) and _ORDER[name][1](got, value)


def _is_cut(name: str, got: Any) -> bool:
    return name == "matches" and isinstance(got, str) and len(got) > MOST_SEARCHED


def _in_words(name: str, value: Any) -> str:
    if name == "equals":
        return brief(value)
    if name == "not_equals":
        return f"not {brief(value)}"
    return f"a text that fits {value}" if name == "matches" else f"{_ORDER[name][0]} {brief(value)}"


def _bound(values: Mapping[str, Any], *names: str) -> float | None:
    return next((float(values[name]) for name in names if name in values), None)


def _figure(got: Any, values: Mapping[str, Any]) -> float | None:
    """The number that was compared with an end of a range; None when there was none."""
    if not any(name in values for name in _ORDER) or not is_number(got) or abs(got) > 10**300:
        return None
    return float(got)
