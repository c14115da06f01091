"""How to reach a chat model: what the settings of a chat target and of a judge share, and those of a judge."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Self, get_args

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from steelyard.targets.http_settings import refuse_secrets_in
from steelyard.targets.settings import TargetSettings, Values, names_header

ResponseFormat = Literal["schema", "json", "text"]
FORMATS: tuple[ResponseFormat, ...] = get_args(ResponseFormat)
"""From the most that a server can be asked to hold an answer to, to the least."""

_OWN_FIELDS = frozenset({"model", "messages", "temperature", "seed", "max_tokens", "response_format", "stream", "n"})


class Price(BaseModel):
    """What a million tokens cost."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    input: float = Field(description="Price of a million tokens sent.", ge=0)
    output: float = Field(description="Price of a million tokens received.", ge=0)

    def of(self, tokens_in: int | None, tokens_out: int | None) -> float | None:
        """The cost of one answer; None when the server did not count."""
        if tokens_in is None or tokens_out is None:
            return None
        return (tokens_in * self.input + tokens_out * self.output) / 1_000_000


class ModelAddress(TargetSettings):
    """Where a model is, with which key it is asked, and what may be sent and received."""

    harmless: ClassVar[frozenset[str]] = frozenset({"token", "price", "max_bytes", "connect_timeout"})
    """Settings that cannot change an answer; they are no part of the identity."""

    base_url: str = Field(description="Address of the OpenAI-compatible service, up to and with /v1.", min_length=1)
    model: str = Field(description="Name of the model.", min_length=1)
    token: str | None = Field(
        default=None, description="Name of the environment variable that holds the API key.", min_length=1
    )
    headers: Values = Field(
        default_factory=dict, description="Further headers: texts, or {env: NAME} for values from the environment."
    )
    max_tokens: int | None = Field(default=None, description="Most tokens of an answer.", gt=0)
    schema_strict: bool = Field(
        default=False, description="Ask the server to hold the answer to the schema strictly, where it knows the field."
    )
    extra: dict[str, Any] = Field(
        default_factory=dict, description="Further fields of the request body, such as top_p."
    )
    price: Price | None = Field(default=None, description="Prices, to compute what each answer costs.")
    max_bytes: int = Field(default=10_000_000, description="Largest body that is read.", gt=0)
    connect_timeout: float = Field(default=10.0, description="Seconds to wait for a connection.", gt=0)

    @field_validator("base_url")
    @classmethod
    def _is_an_address(cls, url: str) -> str:
        if not url.startswith(("http://", "https://")):
            raise ValueError(f"{url!r} is not an address: write http:// or https:// before it")
        return refuse_secrets_in(url).rstrip("/")

    @field_validator("extra")
    @classmethod
    def _leaves_our_fields_alone(cls, given: dict[str, Any]) -> dict[str, Any]:
        for name in given:
            if name in _OWN_FIELDS:
                raise ValueError(f"{name} cannot be an extra field: it is a setting of its own, or not supported")
        return given

    @model_validator(mode="after")
    def _has_one_key(self) -> Self:
        if self.token is not None and names_header(self.headers, "Authorization"):
            raise ValueError("token and the header Authorization are two keys for one lock: keep one")
        return self

    @property
    def formats(self) -> tuple[ResponseFormat, ...]:
        """The response formats to ask for: the first, and each next one when the server refuses the one before."""
        return ("text",)

    def identity(self) -> dict[str, Any]:
        """Kind, model, address and every setting that can change an answer; variables stand by name."""
        settings = self.model_dump(mode="json", exclude={*self.harmless, "model", "base_url"}, exclude_defaults=True)
        return {"kind": "chat", "model": self.model, "address": self.base_url, "settings": settings}


class ChatConnection(ModelAddress):
    """Which model judges, and how it is asked."""

    harmless: ClassVar[frozenset[str]] = ModelAddress.harmless | {"timeout"}

    temperature: float | None = Field(default=None, description="Sampling temperature.", ge=0, allow_inf_nan=False)
    seed: int | None = Field(
        default=None,
        description="Seed of the first call. The judging repeat's index is added to it, and 1000 for each time the "
        "judge is asked again, so that no two calls share one.",
    )
    timeout: float | None = Field(
        default=None,
        description="Seconds to wait for an answer. Default: the timeout of the suite's limits.",
        gt=0,
        allow_inf_nan=False,
    )
    response_format: ResponseFormat = Field(
        default="schema",
        description="schema: the server holds the answer to the response schema; json: to any JSON object; text: to "
        "nothing.",
    )
    when_refused: Literal["fail", "json", "text"] = Field(
        default="text",
        description="How far to go down, step by step, when the server refuses a response format: schema, then json, "
        "then text. What is not refused is used from then on. fail: not at all.",
    )

    @property
    def formats(self) -> tuple[ResponseFormat, ...]:
        """From the format asked for, down to the least that is allowed."""
        if self.when_refused == "fail":
            return (self.response_format,)
        first, last = FORMATS.index(self.response_format), FORMATS.index(self.when_refused)
        return FORMATS[first : max(first, last) + 1]
