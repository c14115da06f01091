"""From the body of an HTTP answer to the response: the answer's text, its measures, or why there is none."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from steelyard.errors import TargetFailure
from steelyard.failures import reported_error
from steelyard.suite.paths import MISSING, Getter, compile_path
from steelyard.targets.base import Request, Response
from steelyard.targets.connection import excerpt_of
from steelyard.targets.filling import to_json
from steelyard.targets.http_settings import HttpSettings, dotted_path
from steelyard.targets.transport import Received, json_of

_LONGEST_ERROR = 1_000
_BEFORE_MARKER = 40
"""Characters of the body before an error marker that a message shows with it."""


class AnswerTaker:
    """Takes the reply out of what was received, as the settings say."""

    def __init__(self, settings: HttpSettings) -> None:
        self._answer_path = settings.answer
        self._answer: Getter | None = compile_path(dotted_path(settings.answer)) if settings.answer else None
        self._failed_if = [(path, compile_path(dotted_path(path))) for path in settings.failed_if]
        self._markers = settings.error_markers
        self._usage = {name: compile_path(dotted_path(path)) for name, path in settings.usage.paths().items()}
        expected = settings.expect_errors
        self._statuses = frozenset(status for item in expected if item.when is None for status in item.statuses())
        self._when = [(compile_path(item.when), item.statuses()) for item in expected if item.when is not None]

    def expected_statuses(self, ask: Request) -> frozenset[int]:
        """Error statuses that are an answer to this question."""
        if not self._when:
            return self._statuses
        case = replace(ask.case, expected=ask.truth)
        return self._statuses.union(*(statuses for when, statuses in self._when if when(case)))

    def response(self, received: Received) -> Response:
        """The answer with its measures; TargetFailure when the body reports a failure or holds no answer."""
        if not 200 <= received.status < 300:
            return _response(received, received.text)
        needs_json = bool(self._answer is not None or self._failed_if or self._usage)
        try:
            data = json_of(received) if needs_json else None
        except TargetFailure:
            self._raise_if_marked(received)  # an error page is no JSON, and its marker tells more
            raise
        # What stands at a path is the error itself, with its code and message; a marker only shows that there is one.
        for path, get in self._failed_if:
            if value := get(data):
                error = reported_error(value)
                message = f"{excerpt_of(error, _LONGEST_ERROR)} (at {path} of the body)" if error else ""
                raise _reported(
                    received, message or f"the body reports a failure at {path}: {excerpt_of(to_json(value))}"
                )
        self._raise_if_marked(received)
        if not needs_json:
            return _response(received, received.text)
        text = self._text(received, data)
        measures = self._measures(data)
        return _response(received, text, **(measures | {"cached": measures.get("cached", False) or received.cached}))

    def _raise_if_marked(self, received: Received) -> None:
        for marker in self._markers:
            if (at := received.text.find(marker)) >= 0:
                around = received.text[max(0, at - _BEFORE_MARKER) :]
                raise _reported(received, f"the body holds {marker!r}, an error marker: {excerpt_of(around)}")

    def _text(self, received: Received, data: Any) -> str:
        if self._answer is None:
            return received.text
        value = self._answer(data)
        if value is MISSING:
            message = f"the body has nothing at {self._answer_path}: {excerpt_of(received.text)}"
            raise TargetFailure("no_answer", message, retry=False, status=received.status, body=received.text)
        return value if isinstance(value, str) else to_json(value)

    def _measures(self, data: Any) -> dict[str, Any]:
        results = {name: get(data) for name, get in self._usage.items()}
        return {name: value for name, value in results.items() if _fits(name, value)}


def _response(received: Received, text: str, **more: Any) -> Response:
    settings = {"cached": received.cached} | more
    return Response(text=text, status=received.status, first_byte=received.first_byte, **settings)


def _fits(name: str, value: Any) -> bool:
    if name in ("model", "response_id"):
        return isinstance(value, str)
    if name == "cached":
        return isinstance(value, bool)
    kinds = (int, float) if name == "cost" else (int,)
    return isinstance(value, kinds) and not isinstance(value, bool) and value >= 0


def _reported(received: Received, message: str) -> TargetFailure:
    return TargetFailure("reported_error", message, retry=False, status=received.status, body=received.text)
