"""Checks of an answer: a path, values of a list, counts."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import IntEnum
from re import _parser as re_parser  # type: ignore[attr-defined]  # what a pattern is made of
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, field_validator, model_validator

from steelyard.frozen import frozen
from steelyard.scoring.base import Answered
from steelyard.scoring.text import compile_pattern
from steelyard.suite.case import (
    EVERY,
    MISSING,
    MOST_SEARCHED,
    AnswerPlace,
    Case,
    Searched,
    compile_path,
    compile_place,
    digest,
    fits,
)
from steelyard.suite.models import RequiredRepeats
from steelyard.suite.yaml import listed
from steelyard.suite.yaml import result as was_found

# What a check of an answer is: when it applies to a case, what it asks for, and what it says of an answer.

_MOST_SHOWN = 60


class Asks(IntEnum):
    """How much of an answer it takes to pass a check."""

    NOTHING = 0
    """One that holds nothing can pass: a check that something is absent, or the same for every case."""
    SOME = 1
    """It must hold something, whatever that is."""
    THIS = 2
    """It must hold what this case, and maybe no other, asks for."""


@frozen
class Hit:
    """What a check says of one answer."""

    passed: bool
    detail: str
    expected: Any = None
    got: Any = None
    value: float | None = None


@frozen
class Asked:
    """A check made ready for one case. `wanted` is what was looked for when one declaration makes several checks."""

    look: Callable[[Answered], Hit]
    asks: Asks = Asks.NOTHING
    wanted: str = ""
    low: float | None = None
    high: float | None = None


@frozen
class HowMany:
    """How many things a list must hold to pass a check."""

    fewest: int
    most: float


class CheckRule(BaseModel):
    """Base of all kinds of checks; the fields are its keys in the suite file and part of the suite's signature."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    version: ClassVar[int] = 1
    reads_json: ClassVar[bool] = True
    """False for one that needs no parsed answer."""

    only_if: str | None = Field(default=None, description="Path into the case: it applies only where that is true.")
    unless: str | None = Field(default=None, description="Path into the case: it does not apply where that is true.")
    required_repeats: RequiredRepeats | None = Field(
        default=None, description="In how many repeats it must pass: all, majority or first; left out, as the suite's."
    )
    code: str = Field(default="", description="The code of its finding; left out, its name in capitals.")

    @field_validator("only_if", "unless")
    @classmethod
    def _is_a_path(cls, text: str | None) -> str | None:
        if text is not None:
            compile_path(text)
        return text

    def asked(self, case: Case) -> tuple[Asked, ...]:
        """What it asks of an answer to this case; empty when it does not apply."""
        if self.only_if is not None and not in_case(self.only_if, case):
            return ()
        if self.unless is not None and in_case(self.unless, case):
            return ()
        return tuple(self._asked(case))

    def _asked(self, case: Case) -> Iterator[Asked]:
        raise NotImplementedError

    def problem(self, case: Case) -> str | None:  # noqa: ARG002 - for those that take values from the case
        """What is wrong with the case for this check, in words for its author; None when nothing is."""
        return None

    def case_paths(self) -> Mapping[str, str]:
        """Every path into the case, by the key that holds it."""
        named = {"only_if": self.only_if, "unless": self.unless, **self._values()}
        return {key: path for key, path in named.items() if isinstance(path, str)}

    def _values(self) -> Mapping[str, Any]:
        """What it is compared with, by key: a text is a path into the case."""
        return {}

    def answer_places(self) -> tuple[AnswerPlace, ...]:
        """The places in the answer that it looks at."""
        return ()

    def passing(self, case: Case) -> Mapping[str, Any]:  # noqa: ARG002 - for those that know one
        """By path into the answer, what would pass it, for `audit`: a value; of a path with `[]`, all that must be
        there, or how many. Empty where nothing is needed, or nothing is known."""
        return {}

    @property
    def wants_error(self) -> bool:
        """True when only an error passes it; only a check of the status can say so."""
        return False


def in_case(path: str, case: Case) -> Any:
    """What the case holds there; None when nothing is there."""
    value = compile_path(path)(case)
    return None if value is MISSING else value


def is_place(text: str) -> str:
    """The text itself; ValueError with a sentence when it names no place in an answer."""
    compile_place(text)
    return text


def is_scalar(value: Any) -> bool:
    """True for a text, a number, true and false."""
    return isinstance(value, (str, int, float))


def is_number(value: Any) -> bool:
    """True for a number; true and false are none."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def same(item: Any, other: Any) -> bool:
    """True when two pieces of JSON are equal; true is not 1."""
    if isinstance(item, bool) or isinstance(other, bool):
        return item is other
    if isinstance(item, dict) and isinstance(other, dict):
        return item.keys() == other.keys() and all(same(item[key], other[key]) for key in item)
    if isinstance(item, list) and isinstance(other, list):
        return len(item) == len(other) and all(map(same, item, other))
    return bool(item == other)


def brief(value: Any) -> str:
    """A value of an answer in a few words, whatever its size."""
    if isinstance(value, dict):
        return f"an object of {len(value)} keys" if value else "an empty object"
    if isinstance(value, (list, tuple)):
        return f"a list of {len(value)}" if value else "an empty list"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, str):
        text = " ".join(value[: 2 * _MOST_SHOWN].split()) or "an empty text"
    else:
        text = "a number of very many digits" if abs(value) > 10**40 else str(value)
    # Half a surrogate pair cannot be printed or stored, but can be named.
    text = text.encode(errors="backslashreplace").decode()
    return text if len(text) <= _MOST_SHOWN else text[: _MOST_SHOWN - 1] + "…"


# Checks that compare what stands at a place of the answer: equal, more or less, fitting a pattern, being there.

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

    def _asked(self, case: Case) -> Iterator[Asked]:
        values = {name: _value_in(getattr(self, name), case) for name in self._compared()}
        from_case = [name for name in values if _path_in(getattr(self, name)) is not None]
        if any(values[name] is None for name in from_case):
            return
        asks = Asks.THIS if from_case else Asks.NOTHING
        low, high = (_bound(values, *names) for names in (("at_least", "above"), ("at_most", "below")))
        yield Asked(lambda answered: self._look(answered, values), asks, low=low, high=high)

    def _look(self, answered: Answered, values: dict[str, Any]) -> Hit:
        result = compile_place(self.path).values(answered.answer) or []
        if self.exists is False:
            got = brief(result[0]) if result else "nothing"
            return Hit(not result, f"there is {got}", "nothing", got)
        wanted = " and ".join(_in_words(name, value) for name, value in values.items()) or "something"
        if not result:
            return Hit(False, f"nothing at {self.path} (expected {wanted})", wanted, "nothing")
        searched = Searched()
        for got in result:
            wrong = next((name for name, value in values.items() if not _holds(name, got, value, searched)), None)
            if wrong is not None:
                cut = f", in its first {MOST_SEARCHED} characters" if _is_cut(wrong, got) else ""
                message = f"{brief(got)} (expected {_in_words(wrong, values[wrong])}{cut})"
                return Hit(False, message, wanted, brief(got), _figure(got, values))
        return Hit(True, brief(result[0]), wanted, value=_figure(result[0], values) if len(result) == 1 else None)

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


# Checks of what a list in the answer holds: how many, which values, and none of some.

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

    def _asked(self, case: Case) -> Iterator[Asked]:
        low, high = (_end_in(end, case) for end in self.between)
        if low is not None or high is not None:
            asks = Asks.SOME if low is not None and low > 0 else Asks.NOTHING
            yield Asked(lambda answered: self._look(answered, low, high), asks, low=low, high=high)

    def _look(self, answered: Answered, low: float | None, high: float | None) -> Hit:
        wanted = _range_in_words(low, high)
        place = compile_place(self.count)
        values = place.values(answered.answer)
        if values is not None and place.single:
            values = values[0] if isinstance(values[0], list) else None
        if values is None:
            return Hit(False, f"no list at {self.count} (expected {wanted})", wanted, "no list")
        n = len(values)
        passed = (low is None or n >= low) and (high is None or n <= high)
        return Hit(passed, f"{n} (expected {wanted})", wanted, n, float(n))

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

    def _asked(self, case: Case) -> Iterator[Asked]:
        asks = Asks.THIS if isinstance(self.given, str) else Asks.SOME
        for value in self.wanted(case):
            yield Asked(lambda answered, value=value: self._look(answered, value), asks, _name_of(value))  # type: ignore[misc]

    def _look(self, answered: Answered, value: Any) -> Hit:
        there = self._there(answered)
        if there is None:
            return Hit(False, f"nothing at {self.in_}", brief(value))
        if _key(value) in there:
            return Hit(True, f"found in {self.in_}")
        # What else is there was not taken for it: the detail names it, and nothing was got instead.
        return Hit(False, f"not found in {self.in_}; there: {_few(there.values())}", brief(value))


class NoneCheck(_Listed):
    """None of these values stands at a place of the answer."""

    key = "none"

    given: Listed = Field(alias="none", description="Path in the case to the values that must not be there, or a list.")

    def _asked(self, case: Case) -> Iterator[Asked]:
        if unwanted := self.wanted(case):
            yield Asked(lambda answered: self._look(answered, unwanted))

    def _look(self, answered: Answered, unwanted: list[Any]) -> Hit:
        there = self._there(answered)
        expected = f"none of {_few(unwanted)}"
        if there is None:
            return Hit(False, f"nothing at {self.in_}", expected, "nothing")
        results = [value for value in unwanted if _key(value) in there]
        if not results:
            return Hit(True, f"none of them in {self.in_}")
        return Hit(False, f"found in {self.in_}: {_few(results)}", expected, _few(results))


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
