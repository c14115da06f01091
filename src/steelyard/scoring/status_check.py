"""The check of the HTTP status and of what the body of an error says."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field, field_validator

from steelyard.scoring.base import Answered
from steelyard.scoring.check_rules import AnswerNeed, CheckResult, CheckRule, ReadyCheck, brief, in_case
from steelyard.suite.case import Case
from steelyard.suite.paths import compile_path
from steelyard.suite.yaml import result as was_found

_CLASS = re.compile(r"[1-5]xx")
_FIRST_ERROR = 300


class BodyText(BaseModel):
    """A text that is the same for every case."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    text: str = Field(min_length=1, description="The text that the body must hold.")


class StatusCheck(CheckRule):
    """The HTTP status, and a text in the body: for cases that expect an error."""

    reads_json: ClassVar[bool] = False

    status: int | str | list[int | str] = Field(description="A status such as 422, a class such as 4xx, or a list.")
    body_has: str | BodyText | None = Field(
        default=None,
        description="Path in the case to a text that occurs in the body as a word of its own, such as an error code; "
        "or {text: ...} for the same in every case.",
    )

    @field_validator("status", mode="before")
    @classmethod
    def _is_status(cls, given: Any) -> Any:
        for item in given if isinstance(given, list) else [given]:
            whole = isinstance(item, int) and not isinstance(item, bool) and 100 <= item <= 599
            if not whole and not (isinstance(item, str) and _CLASS.fullmatch(item)):
                raise ValueError(f"a status is a number from 100 to 599 or a class such as 4xx; {was_found(item)}")
        if given == []:
            raise ValueError("give at least one status, such as 422 or 4xx")
        return given

    @field_validator("body_has")
    @classmethod
    def _names_a_text(cls, given: str | BodyText | None) -> str | BodyText | None:
        if isinstance(given, str):
            compile_path(given)
        return given

    @property
    def _wanted(self) -> list[int | str]:
        return self.status if isinstance(self.status, list) else [self.status]

    @property
    def wants_error(self) -> bool:
        return min(item if isinstance(item, int) else int(item[0]) * 100 for item in self._wanted) >= _FIRST_ERROR

    def _asked(self, case: Case) -> Iterator[ReadyCheck]:
        text = self.body_has.text if isinstance(self.body_has, BodyText) else None
        from_case = in_case(self.body_has, case) if isinstance(self.body_has, str) else None
        if isinstance(self.body_has, str) and from_case is None and self.only_if is None and self.unless is None:
            return  # nothing else says which cases it is for
        wanted = text if from_case is None else str(from_case)
        asks = AnswerNeed.NOTHING if from_case is None else AnswerNeed.THIS
        yield ReadyCheck(lambda answered: self._look(answered, wanted), asks)

    def _look(self, answered: Answered, wanted: str | None) -> CheckResult:
        if answered.status is None:
            raise ValueError("looks at the HTTP status, and the target reports none: only an http target does")
        statuses = " or ".join(str(item) for item in self._wanted)
        expected = statuses if wanted is None else f"{statuses} with {brief(wanted)}"
        if not any(_fits(answered.status, item) for item in self._wanted):
            return CheckResult(False, f"{answered.status} (expected {expected})", expected, answered.status)
        if wanted is not None and not _holds_word(answered, wanted):
            message = f"{answered.status}, and {brief(wanted)} is not in the body: {brief(answered.text)}"
            return CheckResult(False, message, expected, f"{answered.status}: {brief(answered.text)}")
        return CheckResult(True, f"{answered.status}" if wanted is None else f"{answered.status} with {brief(wanted)}")

    def problem(self, case: Case) -> str | None:
        value = in_case(self.body_has, case) if isinstance(self.body_has, str) else None
        if value is None or (isinstance(value, str) and value.strip()) or (type(value) is int):
            return None
        return f"{self.body_has} must be a text or null; {was_found(value)}"

    def _values(self) -> Mapping[str, Any]:
        return {"body_has": self.body_has}


def _fits(status: int, wanted: int | str) -> bool:
    return status == wanted if isinstance(wanted, int) else status // 100 == int(wanted[0])


def _holds_word(answered: Answered, wanted: str) -> bool:
    """True when the body holds it as a word of its own: EMPTY is not in NOT_EMPTY."""
    before = r"(?<!\w)" if re.match(r"\w", wanted) else ""
    after = r"(?!\w)" if re.search(r"\w\Z", wanted) else ""
    word = re.compile(before + re.escape(wanted) + after)
    if word.search(answered.text) or "\\" not in answered.text or answered.answer is None:
        return word.search(answered.text) is not None
    # A JSON body may spell letters as escapes.
    return word.search(json.dumps(answered.answer, ensure_ascii=False)) is not None
