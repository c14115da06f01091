"""A scripted judge: an OpenAI-compatible server on a free loopback port.

    with judge_server({"tone": 3}, "no JSON at all", refuses=("schema",)) as server:
        server.by_model("m-2", lambda request: {"tone": 5 if "please" in last_message(request) else 1})
        ... ChatConnection(base_url=server.base_url, model="m-1") ...
    server.requests    # the body of every request as it arrived
    server.headers     # and its headers

A step of a script is the judge's answer: a text, data (sent as JSON), a function from the request's body to either, or
any behaviour of `parts.loopback` (`error(500)`, `slow(2)`, `garbage()`, `throttle(1)`, `cut_mid_body()` ...). Steps are
taken in turn and the last one stays.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from parts.loopback import Behaviour, Loopback, Seen, chat_answer, error

__all__ = ["JudgeServer", "Step", "cut_off", "empty", "formats_of", "judge_server", "last_message"]

Step = str | Mapping[str, Any] | Behaviour | Callable[[dict[str, Any]], Any]

_PATH = "/v1/chat/completions"
_FORMATS = {"json_schema": "schema", "json_object": "json"}


def cut_off(text: str) -> Behaviour:
    """An answer that the token limit cut short."""
    return chat_answer(text, finish="length")


def empty() -> Behaviour:
    """An answer without any content."""
    return chat_answer("")


def last_message(request: Mapping[str, Any]) -> str:
    """What the judge was told last."""
    return str(request["messages"][-1]["content"])


def formats_of(requests: list[dict[str, Any]]) -> list[str]:
    """The response format of each request: schema, json or text."""
    return [_FORMATS.get(one.get("response_format", {}).get("type"), "text") for one in requests]


class JudgeServer:
    """The server. `tokens` is the usage it reports (None: it does not), `delay` the seconds before each answer."""

    def __init__(
        self, *script: Step, refuses: tuple[str, ...] = (), tokens: tuple[int, int] | None = (100, 20), delay: float = 0
    ) -> None:
        self._scripts: dict[str | None, list[Step]] = {None: list(script)}
        self._refuses = refuses
        self._tokens = tokens
        self._delay = delay
        self._lock = threading.Lock()
        self.loopback = Loopback().on(_PATH, self._answer)

    @property
    def base_url(self) -> str:
        return self.loopback.url("/v1")

    @property
    def requests(self) -> list[dict[str, Any]]:
        return [one.json for one in self.loopback.seen(_PATH)]

    @property
    def headers(self) -> list[dict[str, str]]:
        return [one.headers for one in self.loopback.seen(_PATH)]

    def by_model(self, model: str, *script: Step) -> None:
        """What one model answers; the script given at first is for all others."""
        with self._lock:
            self._scripts[model] = list(script)

    def _answer(self, seen: Seen) -> Behaviour:
        request = seen.json
        if (asked_for := formats_of([request])[0]) in self._refuses:
            named = request["response_format"]["type"]
            told = {"error": {"message": f"response_format of type {named} ({asked_for}) is not supported"}}
            return error(400, json.dumps(told))
        said = self._next(request["model"])
        if callable(said):
            said = said(request)
        if not isinstance(said, Behaviour):
            text = said if isinstance(said, str) else json.dumps(said)
            said = chat_answer(text, tokens=self._tokens, model=request["model"])
        return dataclasses.replace(said, delay=said.delay or self._delay)

    def _next(self, model: str) -> Step:
        with self._lock:
            script = self._scripts.get(model) or self._scripts[None]
            if not script:
                return error(500, f"nobody wrote a script for {model}")
            return script.pop(0) if len(script) > 1 else script[0]


@contextlib.contextmanager
def judge_server(*script: Step, **more: Any) -> Iterator[JudgeServer]:
    """A running server; see JudgeServer for what else it can be told."""
    server = JudgeServer(*script, **more)
    with server.loopback:
        yield server
