"""One completion: key and headers, the response format that the server accepts, the cost."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any, Self

from yarl import URL

from steelyard.errors import TargetFailure
from steelyard.redact import SecretRedactor
from steelyard.suite.prices import price_of
from steelyard.targets.base import Response, TargetContext
from steelyard.targets.completions import read_completion
from steelyard.targets.connection import HttpRequest
from steelyard.targets.filling import (
    to_json,
)
from steelyard.targets.model_address import ModelAddress
from steelyard.targets.protocols import AnswerForm, ResponseFormat
from steelyard.targets.settings import FromEnv, names_header, read_variable
from steelyard.targets.streams import Stream
from steelyard.targets.transport import Received, json_of, wire_of

_log = logging.getLogger(__name__)
_REFUSALS = frozenset({400, 404, 415, 422, 501})
"""Statuses with which servers refuse a field of the body."""


class ChatWire:
    """Sends completions to one model. `who` names the asker in messages. Used as an async context manager.

    UsageError when a variable of the environment that holds a key is not set.
    """

    def __init__(self, settings: ModelAddress, target_context: TargetContext, who: str = "target chat") -> None:
        self._settings = settings
        self._protocol = settings.protocol
        self._stream = bool(getattr(settings, "stream", False))
        self._url = lru_cache(64)(partial(settings.protocol.url, stream=self._stream))
        self._who, self._prices = who, target_context.prices
        self._formats = list(settings.formats)
        self._secrets: list[str] = []
        self._headers = self._fixed_headers(target_context)
        self._signer = settings.signer(target_context, who)
        if (signer := self._signer) is not None:
            self._secrets += [signer.access_key, signer.secret_key, signer.session_token or ""]
        self._wire = wire_of(settings, target_context, self._secrets)
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

    async def complete(
        self, body: dict[str, Any], schema: dict[str, Any] | None, base_url: str | None = None
    ) -> Response:
        """The model's text with tokens and cost, in the best format that the server accepts; TargetFailure when there
        is none. The body is in OpenAI's form, whatever the protocol; `base_url` is that of the settings, filled."""
        while True:
            asked_for = self.format
            read = partial(
                read_completion,
                self._protocol,
                max_tokens=body.get("max_tokens"),
                keep_calls=self._settings.keep_calls,
                schema=asked_for == "schema",
            )
            try:
                response = await self._send(*self.request(body, schema, base_url), read)
            except TargetFailure as failure:
                if not (self._refuses_format(failure, asked_for) and self._steps_down(asked_for, failure)):
                    raise
            else:
                response.cost = self._cost(body["model"], response)
                return response

    def _cost(self, model: str, response: Response) -> float | None:
        """By the price of the model that was asked for, else of the one that answered."""
        names = (model, response.model or model)
        prices = (price_of(self._settings, self._prices, name) for name in names)
        price = next((price for price in prices if price is not None), None)
        return None if price is None else price.of(response)

    def request(
        self, body: dict[str, Any], schema: dict[str, Any] | None, base_url: str | None = None
    ) -> tuple[URL, dict[str, Any]]:
        """The address and the body as the protocol has them, in the present format."""
        wanted = AnswerForm(self.format, schema, self._settings.schema_strict, self._stream)
        return self._url(base_url or self._settings.base_url, body["model"]), self._protocol.body(body, wanted)

    def secrets(self) -> list[str]:
        """The API key and every header value that came from the environment."""
        return list(self._secrets)

    async def _send(self, url: URL, body: dict[str, Any], read: Callable[[Any, Received], Response]) -> Response:
        data = to_json(body).encode("utf-8", "replace")
        signed = {} if self._signer is None else self._signer.headers("POST", url, self._headers, data)
        request = HttpRequest("POST", url, self._headers | signed, data)
        if not self._stream:
            received = await self._wire.send(request)
            response = read(json_of(received), received)
        else:
            stream = Stream(self._protocol)
            try:
                received = await self._wire.send(request, watch=stream.feed)
            except asyncio.CancelledError as stopped:
                if stream.first_token is not None:
                    stopped.first_token = stream.first_token - getattr(stopped, "sent", stream.first_token)  # type: ignore[attr-defined]
                raise
            response = read(stream.body(received), received)
            response.text = self._wire.redact(response.text)  # a secret may have come in pieces
            response.first_token = None if stream.first_token is None else stream.first_token - received.sent
        response.latency = received.took
        return response

    def _refuses_format(self, failure: TargetFailure, asked_for: ResponseFormat) -> bool:
        message = (failure.body or "").lower()
        named = any(word in message for word in self._protocol.format_words)
        return asked_for != "text" and failure.status in _REFUSALS and named

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

    def _fixed_headers(self, target_context: TargetContext) -> dict[str, str]:
        headers = dict(self._protocol.headers)
        if not names_header(self._settings.headers, "Content-Type"):
            headers["Content-Type"] = "application/json"
        for name, value in self._settings.headers.items():
            if isinstance(value, FromEnv):
                headers[name] = value.read(target_context, f"{self._who}, header {name}")
                self._secrets.append(headers[name].removeprefix(value.prefix))
            else:
                headers[name] = value
        variable = self._settings.key_variable(target_context.env)
        if variable is not None:
            key = read_variable(variable, target_context, self._who)
            self._secrets.append(key)
            headers[self._protocol.key_header] = f"{self._protocol.key_prefix}{key}"
        return headers
