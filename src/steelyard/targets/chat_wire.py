"""One completion from an OpenAI-compatible service: key and headers, the response format it accepts, the cost."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Any, Self

from yarl import URL

from steelyard.errors import TargetFailure
from steelyard.redact import SecretRedactor
from steelyard.targets.base import Reply, Surroundings
from steelyard.targets.chat_connection import ModelAddress, ResponseFormat
from steelyard.targets.chat_reply import read_completion
from steelyard.targets.filling import to_json
from steelyard.targets.settings import FromEnv, names_header, read_variable
from steelyard.targets.wire import Request, Wire, WireLimits, json_of

_log = logging.getLogger(__name__)
_REFUSALS = frozenset({400, 404, 415, 422, 501})
"""Statuses with which servers refuse a field of the body."""


class ChatWire:
    """Sends completions to one model. `who` names the asker in messages. Used as an async context manager.

    UserMistake when a variable of the environment that holds a key is not set.
    """

    def __init__(self, settings: ModelAddress, surroundings: Surroundings, who: str = "target chat") -> None:
        self._settings = settings
        self._who = who
        self.url = URL(settings.base_url + "/chat/completions")
        self._formats = list(settings.formats)
        self._secrets: list[str] = []
        self._headers = self._fixed_headers(surroundings)
        self._wire = Wire(WireLimits(surroundings.max_connections, settings.connect_timeout, settings.max_bytes))
        self._wire.redact = SecretRedactor(self._secrets)

    async def __aenter__(self) -> Self:
        await self._wire.__aenter__()
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self._wire.__aexit__(*exc_info)

    @property
    def format(self) -> ResponseFormat:
        """The response format asked for now: the first of the settings' that the server has not refused."""
        return self._formats[0]

    async def complete(self, body: dict[str, Any], schema: dict[str, Any] | None) -> Reply:
        """The model's text with tokens and cost, in the best format that the server accepts; TargetFailure when there
        is none."""
        while True:
            asked_for = self.format
            try:
                reply = await self._send(body | self.response_format(schema))
            except TargetFailure as failure:
                if not (_refuses_format(failure, asked_for) and self._steps_down(asked_for, failure)):
                    raise
            else:
                if self._settings.price is not None:
                    reply.cost = self._settings.price.of(reply.tokens_in, reply.tokens_out)
                return reply

    def response_format(self, schema: dict[str, Any] | None) -> dict[str, Any]:
        """The part of the body that asks for the present format; empty for text."""
        if self.format == "text":
            return {}
        if self.format == "json":
            return {"response_format": {"type": "json_object"}}
        named: dict[str, Any] = {"name": "answer", "schema": schema}
        if self._settings.schema_strict:
            named["strict"] = True
        return {"response_format": {"type": "json_schema", "json_schema": named}}

    def secrets(self) -> list[str]:
        """The API key and every header value that came from the environment."""
        return list(self._secrets)

    async def _send(self, body: dict[str, Any]) -> Reply:
        data = to_json(body).encode("utf-8", "replace")
        received = await self._wire.send(Request("POST", self.url, self._headers, data))
        return replace(read_completion(json_of(received), received, body.get("max_tokens")), latency=received.took)

    def _steps_down(self, refused: ResponseFormat, failure: TargetFailure) -> bool:
        """Whether there is another format to ask for; calls under way at the same time step down only once."""
        if self.format != refused:
            return True
        if len(self._formats) == 1:
            return False
        del self._formats[0]
        _log.warning(
            "%s: the server refuses response_format %s (%s): asking for %s", self._who, refused, failure, self.format
        )
        return True

    def _fixed_headers(self, surroundings: Surroundings) -> dict[str, str]:
        headers: dict[str, str] = {}
        if not names_header(self._settings.headers, "Content-Type"):
            headers["Content-Type"] = "application/json"
        for name, value in self._settings.headers.items():
            if isinstance(value, FromEnv):
                headers[name] = value.read(surroundings, f"{self._who}, header {name}")
                self._secrets.append(headers[name].removeprefix(value.prefix))
            else:
                headers[name] = value
        if self._settings.token is not None:
            key = read_variable(self._settings.token, surroundings, self._who)
            self._secrets.append(key)
            headers["Authorization"] = f"Bearer {key}"
        return headers


def _refuses_format(failure: TargetFailure, asked_for: ResponseFormat) -> bool:
    told = (failure.body or "").lower()
    named = "response_format" in told or "json_schema" in told or "json_object" in told
    return asked_for != "text" and failure.status in _REFUSALS and named
