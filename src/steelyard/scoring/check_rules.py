"""What a check of an answer is: when it applies to a case, what it asks for, and what it says of an answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from enum import IntEnum
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field, field_validator

from steelyard.frozen import frozen
from steelyard.scoring.base import Answered
from steelyard.suite.case import Case
from steelyard.suite.models import RequiredRepeats
from steelyard.suite.paths import MISSING, AnswerPlace, compile_path, compile_place

_MOST_SHOWN = 60


class AnswerNeed(IntEnum):
    """How much of an answer it takes to pass a check."""

    NOTHING = 0
    """One that holds nothing can pass: a check that something is absent, or the same for every case."""
    SOME = 1
    """It must hold something, whatever that is."""
    THIS = 2
    """It must hold what this case, and maybe no other, asks for."""


@frozen
class CheckResult:
    """What a check says of one answer."""

    passed: bool
    detail: str
    expected: Any = None
    got: Any = None
    value: float | None = None


@frozen
class ReadyCheck:
    """A check made ready for one case. `wanted` is what was looked for when one declaration makes several checks."""

    look: Callable[[Answered], CheckResult]
    asks: AnswerNeed = AnswerNeed.NOTHING
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

    def asked(self, case: Case) -> tuple[ReadyCheck, ...]:
        """What it asks of an answer to this case; empty when it does not apply."""
        if self.only_if is not None and not in_case(self.only_if, case):
            return ()
        if self.unless is not None and in_case(self.unless, case):
            return ()
        return tuple(self._asked(case))

    def _asked(self, case: Case) -> Iterator[ReadyCheck]:
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
