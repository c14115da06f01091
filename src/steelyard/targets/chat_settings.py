"""The settings of a chat target."""

from __future__ import annotations

from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from steelyard.targets.http_settings import refuse_secrets_in
from steelyard.targets.settings import FromEnv, TargetSettings, TextFile, names_header, without_secrets

ResponseFormat = Literal["schema", "json", "text"]

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


class ChatSettings(TargetSettings):
    """Which model to ask, and how."""

    base_url: str = Field(description="Address of the OpenAI-compatible service, up to and with /v1.", min_length=1)
    model: str = Field(description="Name of the model; a template, such as {{ variant.model }}.", min_length=1)
    token: str | None = Field(
        default=None, description="Name of the environment variable that holds the API key.", min_length=1
    )
    headers: dict[str, str | FromEnv] = Field(
        default_factory=dict, description="Further headers: texts, or {env: NAME} for values from the environment."
    )
    system: str | TextFile | None = Field(
        default=None, description="System message: a template, or {file: PATH} of one. Default: none is sent."
    )
    user: str | TextFile | None = Field(
        default=None,
        description="User message: a template, or {file: PATH} of one. Default: the input, as text or as JSON.",
    )
    images: bool = Field(default=True, description="Whether the case's attachments are sent as images.")
    image_detail: Literal["low", "high", "auto"] | None = Field(
        default=None, description="How closely the model looks at images, where the server knows the field."
    )
    temperature: float | str | None = Field(
        default=None, description="Sampling temperature: a number, or a template such as {{ variant.temperature }}."
    )
    seed: int | str | None = Field(
        default=None,
        description="Seed of the first repeat: a whole number or a template. The repeat's index is added to it, so "
        "that repeats differ.",
    )
    max_tokens: int | None = Field(default=None, description="Most tokens of an answer.", gt=0)
    response_format: ResponseFormat = Field(
        default="text",
        description="schema: the suite's answer schema is enforced by the server; json: any JSON object; text: free.",
    )
    schema_strict: bool = Field(
        default=False, description="Ask the server to hold the answer to the schema strictly, where it knows the field."
    )
    when_refused: Literal["fail", "json", "text"] = Field(
        default="fail",
        description="What to do when the server refuses the response format: fail, or ask for this format instead "
        "from then on.",
    )
    extra: dict[str, Any] = Field(
        default_factory=dict, description="Further fields of the request body, such as top_p; texts are templates."
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

    @field_validator("headers")
    @classmethod
    def _hold_no_secret(cls, given: dict[str, str | FromEnv]) -> dict[str, str | FromEnv]:
        return without_secrets(given)

    @field_validator("extra")
    @classmethod
    def _leaves_our_fields_alone(cls, given: dict[str, Any]) -> dict[str, Any]:
        for name in given:
            if name in _OWN_FIELDS:
                raise ValueError(f"{name} cannot be an extra field: it is a setting of its own, or not supported")
        return given

    @field_validator("temperature", "seed")
    @classmethod
    def _is_a_number_or_template(cls, given: float | str | None) -> float | str | None:
        if isinstance(given, str) and "{{" not in given:
            raise ValueError(f"{given!r} is neither a number nor a template")
        return given

    @model_validator(mode="after")
    def _has_one_key(self) -> Self:
        if self.token is not None and names_header(self.headers, "Authorization"):
            raise ValueError("token and the header Authorization are two keys for one lock: keep one")
        return self

    @model_validator(mode="after")
    def _falls_back_to_less(self) -> Self:
        if self.when_refused == self.response_format or self.response_format == "text" != self.when_refused != "fail":
            raise ValueError(f"when_refused: {self.when_refused} asks for no less than the response format itself")
        return self
