"""How to reach a chat model: what the settings of a chat target and of a judge share, and those of a judge."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from pydantic import Field, field_validator, model_validator

from steelyard.suite.prices import Price
from steelyard.targets.base import TargetContext
from steelyard.targets.filling import (
    has_holes,
)
from steelyard.targets.http_settings import refuse_secrets_in
from steelyard.targets.protocols import (
    FORMATS,
    ChatProtocol,
    ResponseFormat,
)
from steelyard.targets.settings import TargetSettings, Values, names_header

if TYPE_CHECKING:
    from steelyard.targets.aws import Signer


class ModelAddress(TargetSettings):
    """Where a model is, with which key it is asked, and what may be sent and received."""

    harmless: ClassVar[frozenset[str]] = frozenset({"token", "price", "max_bytes", "connect_timeout", "trust_env"})
    """Settings that cannot change an answer; they are no part of the identity."""
    protocol: ClassVar[ChatProtocol] = ChatProtocol()
    keep_calls: ClassVar[bool] = False
    """Whether the tool calls of an answer are a part of it, with their names."""

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
    trust_env: bool = Field(
        default=False, description="Whether HTTPS_PROXY, HTTP_PROXY and NO_PROXY of the environment are used."
    )

    @field_validator("base_url")
    @classmethod
    def _is_an_address(cls, url: str) -> str:
        if has_holes(url):
            cls.check_template(url)
        elif not url.startswith(("http://", "https://")):
            raise ValueError(f"{url!r} is not an address: write http:// or https:// before it")
        return refuse_secrets_in(url).rstrip("/")

    @classmethod
    def check_template(cls, url: str) -> None:
        """ValueError for an address that is a template: a judge has no variants."""
        raise ValueError(f"{url!r}: the address of a judge cannot be a template")

    @field_validator("extra")
    @classmethod
    def _leaves_our_fields_alone(cls, given: dict[str, Any]) -> dict[str, Any]:
        for name in given:
            if name in cls.protocol.own:
                raise ValueError(f"{name} cannot be an extra field: it is a setting of its own, or not supported")
        return given

    @model_validator(mode="after")
    def _has_one_key(self) -> Self:
        header = self.protocol.key_header
        if self.token is not None and "token" in self.model_fields_set and names_header(self.headers, header):
            raise ValueError(f"token and the header {header} are two keys for one lock: keep one")
        return self

    @model_validator(mode="after")
    def _has_fields_for_all(self) -> Self:
        protocol = self.protocol
        for name in sorted(protocol.lacks):
            if getattr(self, name, None):
                raise ValueError(f"{name}: the protocol of {protocol.kind} has no field for it: take it out")
        for name in ("response_format", "when_refused"):
            if (form := getattr(self, name, "text")) not in (*protocol.formats, "fail"):
                raise ValueError(f"{name}: {protocol.kind} knows {' and '.join(protocol.formats)}, no {form}")
        return self

    @property
    def formats(self) -> tuple[ResponseFormat, ...]:
        """The response formats to ask for: the first, and each next one when the server refuses the one before."""
        return ("text",)

    def key_variable(self, env: Mapping[str, str]) -> str | None:  # noqa: ARG002
        """The environment variable with the key; None when none is sent, or a header brings it."""
        return None if names_header(self.headers, self.protocol.key_header) else self.token

    def signer(self, target_context: TargetContext, who: str) -> Signer | None:  # noqa: ARG002
        """What signs requests that are sent without a key."""
        return None

    def identity(self) -> dict[str, Any]:
        """Kind, model, address and every setting that can change an answer; variables stand by name."""
        settings = self.model_dump(mode="json", exclude={*self.harmless, "model", "base_url"}, exclude_defaults=True)
        return {"kind": self.protocol.kind, "model": self.model, "address": self.base_url, "settings": settings}


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
        return tuple(form for form in FORMATS[first : max(first, last) + 1] if form in self.protocol.formats)
