"""Models in the protocols of their providers, as targets and as judges: Anthropic, Gemini, Bedrock."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import BaseModel, Field, model_validator

from steelyard.targets.aws import Signer
from steelyard.targets.base import TargetContext
from steelyard.targets.chat import ChatSettings, ChatTarget
from steelyard.targets.model_address import ChatConnection
from steelyard.targets.protocols import AnthropicProtocol, BedrockProtocol, ChatProtocol, GeminiProtocol
from steelyard.targets.settings import names_header, read_variable


class _Anthropic(BaseModel):
    protocol: ClassVar[ChatProtocol] = AnthropicProtocol()

    base_url: str = Field(default="https://api.anthropic.com", description="Address of the service, without /v1.")
    token: str | None = Field(
        default="ANTHROPIC_API_KEY", description="Name of the environment variable that holds the API key."
    )
    max_tokens: int | None = Field(default=4096, description="Most tokens of an answer; must be sent.", gt=0)


class _Gemini(BaseModel):
    protocol: ClassVar[ChatProtocol] = GeminiProtocol()

    base_url: str = Field(
        default="https://generativelanguage.googleapis.com/v1beta",
        description="Address of the service, up to and with /v1beta.",
    )
    token: str | None = Field(
        default="GEMINI_API_KEY", description="Name of the environment variable that holds the API key."
    )


class _Bedrock(BaseModel):
    protocol: ClassVar[ChatProtocol] = BedrockProtocol()

    region: str = Field(description="Region of the service, such as us-east-1.", pattern=r"^[a-z0-9-]+$")
    base_url: str = Field(default="", description="Address of the service. Default: that of the region.")
    token: str | None = Field(
        default=None,
        description="Name of the environment variable that holds a Bedrock API key. Default: AWS_BEARER_TOKEN_BEDROCK "
        "where it is set; else requests are signed with AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and "
        "AWS_SESSION_TOKEN.",
    )

    @model_validator(mode="before")
    @classmethod
    def _in_its_region(cls, given: Any) -> Any:
        if not isinstance(given, dict) or given.get("base_url") or not given.get("region"):
            return given
        return given | {"base_url": f"https://bedrock-runtime.{given['region']}.amazonaws.com"}

    def key_variable(self, env: Mapping[str, str]) -> str | None:
        """The key's variable, if one is named or the usual one is set."""
        usual = "AWS_BEARER_TOKEN_BEDROCK" if env.get("AWS_BEARER_TOKEN_BEDROCK") else None
        return None if names_header(self.headers, "Authorization") else self.token or usual  # type: ignore[attr-defined]

    def signer(self, target_context: TargetContext, who: str) -> Signer | None:
        """Signs with the usual variables when there is no key; UsageError when they are not set."""
        if self.key_variable(target_context.env) or names_header(self.headers, "Authorization"):  # type: ignore[attr-defined]
            return None
        who = f"{who} has no AWS_BEARER_TOKEN_BEDROCK and so"
        keys = [read_variable(name, target_context, who) for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")]
        return Signer(self.region, keys[0], keys[1], target_context.env.get("AWS_SESSION_TOKEN", "").strip() or None)


class AnthropicSettings(_Anthropic, ChatSettings):
    """Which model to ask by Anthropic's Messages, and how."""


class GeminiSettings(_Gemini, ChatSettings):
    """Which model to ask by Gemini's generateContent, and how."""


class BedrockSettings(_Bedrock, ChatSettings):
    """Which model to ask by Bedrock's Converse, and how."""


class AnthropicConnection(_Anthropic, ChatConnection):
    """Which model judges by Anthropic's Messages, and how it is asked."""


class GeminiConnection(_Gemini, ChatConnection):
    """Which model judges by Gemini's generateContent, and how it is asked."""


class BedrockConnection(_Bedrock, ChatConnection):
    """Which model judges by Bedrock's Converse, and how it is asked."""


class AnthropicTarget(ChatTarget):
    """A chat target that speaks Anthropic's Messages."""

    Settings = AnthropicSettings


class GeminiTarget(ChatTarget):
    """A chat target that speaks Gemini's generateContent."""

    Settings = GeminiSettings


class BedrockTarget(ChatTarget):
    """A chat target that speaks Bedrock's Converse."""

    Settings = BedrockSettings
