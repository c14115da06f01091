"""From the body of an HTTP answer to the reply: the answer's text, its measures, or why there is none."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from steelyard.errors import TargetFailure
from steelyard.suite.paths import MISSING, Getter, compile_path
from steelyard.targets.base import Ask, Reply
from steelyard.targets.filling import to_json
from steelyard.targets.http_settings import HttpSettings, dotted_path
from steelyard.targets.wire import Received, excerpt_of, json_of


class AnswerTaker:
    """Takes the reply out of what was received, as the settings say."""

    def __init__(self, settings: HttpSettings) -> None:
        self._answer_path = settings.answer
        self._answer: Getter | None = compile_path(dotted_path(settings.answer)) if settings.answer else None
        self._failed_if = [(path, compile_path(dotted_path(path))) for path in settings.failed_if]
        self._markers = settings.error_markers
        self._usage = {name: compile_path(dotted_path(path)) for name, path in settings.usage.paths().items()}
        expected = settings.expect_errors
        self._statuses = frozenset(expected.statuses()) if expected else frozenset()
        self._when = compile_path(expected.when) if expected and expected.when is not None else None

    def expected_statuses(self, ask: Ask) -> frozenset[int]:
        """Error statuses that are an answer to this question."""
        if self._when is None or self._when(replace(ask.case, expected=ask.truth)):
            return self._statuses
        return frozenset()

    def reply(self, received: Received) -> Reply:
        """The answer with its measures; TargetFailure when the body reports a failure or holds no answer."""
        if not 200 <= received.status < 300:
            return Reply(text=received.text, status=received.status, first_byte=received.first_byte)
        for marker in self._markers:
            if marker in received.text:
                raise _reported(received, f"the body holds {marker!r}, an error marker: {excerpt_of(received.text)}")
        if self._answer is None and not self._failed_if and not self._usage:
            return Reply(text=received.text, status=received.status, first_byte=received.first_byte)
        data = json_of(received)
        for path, get in self._failed_if:
            if value := get(data):
                raise _reported(received, f"the body reports a failure at {path}: {excerpt_of(to_json(value))}")
        text = self._text(received, data)
        return Reply(text=text, status=received.status, first_byte=received.first_byte, **self._measures(data))

    def _text(self, received: Received, data: Any) -> str:
        if self._answer is None:
            return received.text
        value = self._answer(data)
        if value is MISSING:
            message = f"the body has nothing at {self._answer_path}: {excerpt_of(received.text)}"
            raise TargetFailure("no_answer", message, retry=False, status=received.status, body=received.text)
        return value if isinstance(value, str) else to_json(value)

    def _measures(self, data: Any) -> dict[str, Any]:
        found = {name: get(data) for name, get in self._usage.items()}
        return {name: value for name, value in found.items() if _fits(name, value)}


def _fits(name: str, value: Any) -> bool:
    if name == "model":
        return isinstance(value, str)
    kinds = (int, float) if name == "cost" else (int,)
    return isinstance(value, kinds) and not isinstance(value, bool) and value >= 0


def _reported(received: Received, message: str) -> TargetFailure:
    return TargetFailure("reported_error", message, retry=False, status=received.status, body=received.text)
