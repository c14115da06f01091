"""Cosines from an OpenAI-compatible service of embeddings."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Self

from pydantic import Field, SerializerFunctionWrapHandler, field_validator, model_serializer
from yarl import URL

from steelyard.errors import TargetFailure
from steelyard.redact import SecretRedactor
from steelyard.targets.base import (
    FromEnv,
    Response,
    TargetContext,
    TargetSettings,
    Values,
    read_variable,
    to_json,
)
from steelyard.targets.connection import HttpRequest, excerpt_of
from steelyard.targets.http import refuse_secrets_in
from steelyard.targets.transport import Received, Wire, WireLimits, json_of


class EmbeddingsConnection(TargetSettings):
    """Which model embeds texts, and how it is asked."""

    harmless: ClassVar[frozenset[str]] = frozenset({"token", "price", "timeout"})
    """Settings that cannot change a vector; they are no part of a signature."""

    base_url: str = Field(description="Address of the OpenAI-compatible service, up to and with /v1.", min_length=1)
    model: str = Field(description="Name of the model.", min_length=1)
    token: str | None = Field(
        default=None, description="Name of the environment variable that holds the API key.", min_length=1
    )
    headers: Values = Field(
        default_factory=dict, description="Further headers: texts, or {env: NAME} for values from the environment."
    )
    dimensions: int | None = Field(default=None, description="Length of the vectors, where the model offers it.", gt=0)
    price: float | None = Field(default=None, description="Price of a million tokens.", ge=0)
    timeout: float | None = Field(
        default=None, description="Seconds to wait for an answer. Default: the timeout of the suite's limits.", gt=0
    )

    @field_validator("base_url")
    @classmethod
    def _is_an_address(cls, url: str) -> str:
        if not url.startswith(("http://", "https://")):
            raise ValueError(f"{url!r} is not an address: write http:// or https:// before it")
        return refuse_secrets_in(url).rstrip("/")

    @model_serializer(mode="wrap")
    def _as_signed(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {name: value for name, value in dump(self).items() if name not in self.harmless}


class EmbeddingsWire:
    """Asks one model how alike two texts are. Used as an async context manager.

    UsageError when a variable of the environment that holds a key is not set.
    """

    def __init__(self, settings: EmbeddingsConnection, target_context: TargetContext) -> None:
        self._settings = settings
        self._url = URL(settings.base_url + "/embeddings")
        who = f"embeddings {settings.model}"
        self._headers, self.secrets = {"Content-Type": "application/json"}, []
        for name, value in settings.headers.items():
            self._headers[name] = value.read(target_context, who) if isinstance(value, FromEnv) else value
            if isinstance(value, FromEnv):
                self.secrets.append(self._headers[name].removeprefix(value.prefix))
        if settings.token is not None:
            self.secrets.append(read_variable(settings.token, target_context, who))
            self._headers["Authorization"] = f"Bearer {self.secrets[-1]}"
        self._wire = Wire(WireLimits(target_context.max_connections))
        self._wire.redact = SecretRedactor(self.secrets)

    async def __aenter__(self) -> Self:
        await self._wire.__aenter__()
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self._wire.__aexit__(*exc_info)

    async def cosine(self, text: str, other: str) -> Response:
        """The cosine of both texts' vectors, as text, with tokens and cost; TargetFailure when there is none."""
        body: dict[str, Any] = {"model": self._settings.model, "input": [text, other]}
        if self._settings.dimensions is not None:
            body["dimensions"] = self._settings.dimensions
        data = to_json(body).encode("utf-8", "replace")
        received = await self._wire.send(HttpRequest("POST", self._url, self._headers, data))
        answer = json_of(received)
        first, second = _vectors(answer, received)
        usage = answer.get("usage")
        tokens = usage.get("prompt_tokens") if isinstance(usage, dict) else None
        tokens = tokens if isinstance(tokens, int) and not isinstance(tokens, bool) and tokens >= 0 else None
        price, model = self._settings.price, answer.get("model")
        return Response(
            text=repr(round(cosine(first, second), 9)),
            status=received.status,
            tokens_in=tokens,
            cost=None if price is None or tokens is None else tokens * price / 1_000_000,
            model=model if isinstance(model, str) else None,
            latency=received.took,
            first_byte=received.first_byte,
        )


def cosine(first: list[float], second: list[float]) -> float:
    """The cosine of the angle between two vectors that are not zero."""
    one, other = math.hypot(*first), math.hypot(*second)
    return max(-1.0, min(1.0, math.fsum((x / one) * (y / other) for x, y in zip(first, second, strict=True))))


def _vectors(answer: Any, received: Received) -> tuple[list[float], list[float]]:
    """Both vectors in the order of the texts, whatever the order of the answer."""
    data = answer.get("data") if isinstance(answer, dict) else None
    items = [item for item in data if isinstance(item, dict)] if isinstance(data, list) else []
    by_place = {item.get("index", place): item.get("embedding") for place, item in enumerate(items)}
    first, second = by_place.get(0) or [], by_place.get(1) or []
    if not (_is_vector(first) and _is_vector(second) and len(items) == 2 and len(first) == len(second)):
        message = f"answered {received.status} without a vector for each of both texts: {excerpt_of(received.text)}"
        raise TargetFailure("bad_body", message, retry=False, status=received.status, body=received.text)
    return first, second


def _is_vector(value: Any) -> bool:
    numbers = isinstance(value, list) and all(type(item) in (int, float) and abs(item) < 1e150 for item in value)
    return numbers and any(value)
