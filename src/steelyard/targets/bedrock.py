"""Models in Bedrock's Converse, as targets and as judges."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar
from urllib.parse import quote

from pydantic import BaseModel, Field, model_validator
from yarl import URL

from steelyard.errors import TargetFailure
from steelyard.targets.aws import Signer
from steelyard.targets.base import TargetContext
from steelyard.targets.chat import ChatSettings, ChatTarget
from steelyard.targets.connection import excerpt_of
from steelyard.targets.model_address import ChatConnection
from steelyard.targets.protocols import (
    ANSWER,
    AnswerForm,
    ChatProtocol,
    Completion,
    group_of,
    joined_url,
    merged,
    others,
    parted,
    renamed,
    token_counts,
)
from steelyard.targets.settings import names_header, read_variable


class BedrockProtocol(ChatProtocol):
    """Bedrock's Converse; a schema is that of a tool that the model has to use."""

    kind = "bedrock"
    formats = ("schema", "text")
    lacks = frozenset({"seed", "image_detail", "schema_strict", "stream"})
    own = frozenset({"model", "modelId", "messages", "system", "temperature", "max_tokens"})
    format_words = ("tool", "schema")
    limited = frozenset({"max_tokens", "model_context_window_exceeded"})
    filtered = frozenset({"content_filtered", "guardrail_intervened"})

    def url(self, base_url: str, model: str, *, stream: bool) -> URL:  # noqa: ARG002
        return joined_url(base_url, f"/model/{quote(model, safe='')}/converse")

    def body(self, asked: Mapping[str, Any], wanted: AnswerForm) -> dict[str, Any]:
        def image(media_type: str, data: str, url: str) -> dict[str, Any]:
            if url:
                message = f"{excerpt_of(url)}: Bedrock takes images as files, not by address"
                raise TargetFailure("bad_attachment", message, retry=False)
            return {"image": {"format": media_type.partition("/")[2], "source": {"bytes": data}}}

        system, talk = parted(asked, lambda text: {"text": text}, image)
        body: dict[str, Any] = {"messages": [{"role": role, "content": parts} for role, parts in talk]}
        body |= {"system": [{"text": system}]} if system else {}
        config = renamed(asked, {"temperature": "temperature", "max_tokens": "maxTokens"})
        body |= {"inferenceConfig": config} if config else {}
        if wanted.form == "schema":
            tool = {"toolSpec": {"name": ANSWER, "inputSchema": {"json": wanted.schema}}}
            body["toolConfig"] = {"tools": [tool], "toolChoice": {"tool": {"name": ANSWER}}}
        return merged(body, others(asked))

    def read(self, data: dict[str, Any]) -> Completion | None:
        message = group_of(data.get("output")).get("message")
        if not isinstance(message, dict):
            return None
        blocks, reason = message.get("content") or [], data.get("stopReason")
        calls = [(use.get("name"), use.get("input")) for block in blocks if (use := block.get("toolUse"))]
        text = "".join(block["text"] for block in blocks if "text" in block)
        names = ("inputTokens", "outputTokens", "cacheReadInputTokens", "cacheWriteInputTokens")
        return Completion(text, reason, None, *token_counts(data.get("usage"), names), str(reason or ""), calls)


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


class BedrockSettings(_Bedrock, ChatSettings):
    """Which model to ask by Bedrock's Converse, and how."""


class BedrockConnection(_Bedrock, ChatConnection):
    """Which model judges by Bedrock's Converse, and how it is asked."""


class BedrockTarget(ChatTarget):
    """A chat target that speaks Bedrock's Converse."""

    Settings = BedrockSettings
