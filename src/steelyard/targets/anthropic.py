"""Models in Anthropic's Messages, as targets and as judges."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import BaseModel, Field

from steelyard.targets.chat import ChatSettings, ChatTarget
from steelyard.targets.model_address import ChatConnection
from steelyard.targets.protocols import (
    AnswerForm,
    ChatProtocol,
    Completion,
    group_of,
    merged,
    parted,
    token_counts,
)


class AnthropicProtocol(ChatProtocol):
    """Anthropic's Messages."""

    kind = "anthropic"
    path = "/v1/messages"
    formats = ("schema", "text")
    lacks = frozenset({"seed", "image_detail", "schema_strict"})
    own = frozenset({"model", "messages", "system", "temperature", "max_tokens", "stream"})
    key_header, key_prefix = "x-api-key", ""
    headers: Mapping[str, str] = {"anthropic-version": "2023-06-01"}
    format_words = ("output_config", "output_format", "schema")
    limited = frozenset({"max_tokens", "model_context_window_exceeded"})
    filtered = frozenset({"refusal"})

    def body(self, asked: Mapping[str, Any], wanted: AnswerForm) -> dict[str, Any]:
        def image(media_type: str, data: str, url: str) -> dict[str, Any]:
            coded = {"type": "base64", "media_type": media_type, "data": data}
            return {"type": "image", "source": {"type": "url", "url": url} if url else coded}

        system, talk = parted(asked, lambda text: {"type": "text", "text": text}, image)
        messages = [{"role": role, "content": parts} for role, parts in talk]
        body = dict(asked) | {"messages": messages} | ({"system": system} if system else {})
        if wanted.form == "schema":
            body = merged({"output_config": {"format": {"type": "json_schema", "schema": closed(wanted.schema)}}}, body)
        return body | ({"stream": True} if wanted.stream else {})

    def read(self, data: dict[str, Any]) -> Completion | None:
        content = data.get("content")
        blocks = list(content.values()) if isinstance(content, dict) else content
        if not isinstance(blocks, list):
            return None
        uses = [block for block in blocks if block.get("type") == "tool_use"]
        calls = [(use.get("name"), use.get("partial_json") or use.get("input")) for use in uses]
        text = "".join(block["text"] for block in blocks if block.get("type") == "text")
        names = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
        why = str(group_of(data.get("stop_details")).get("explanation") or "")
        tokens = token_counts(data.get("usage"), names)
        return Completion(text, data.get("stop_reason"), data.get("model"), *tokens, why, calls)

    def add(self, whole: dict[str, Any], event: dict[str, Any]) -> bool:
        match event.get("type"):
            case "message_start":
                whole |= event["message"] | {"content": {}}
            case "content_block_start":
                whole["content"][event["index"]] = dict(event["content_block"])
            case "content_block_delta":
                block, delta = whole["content"][event["index"]], event["delta"]
                pieces = {name: delta[name] for name in ("text", "partial_json") if name in delta}
                block |= {name: block.get(name, "") + piece for name, piece in pieces.items()}
                return any(pieces.values())
            case "message_delta":
                counted = {name: n for name, n in group_of(event.get("usage")).items() if n is not None}
                whole |= event["delta"] | {"usage": whole["usage"] | counted}
            case "message_stop":
                whole["stopped"] = True
            case "error":
                whole["error"] = event["error"]
        return False

    def is_whole(self, whole: dict[str, Any]) -> bool:
        return bool(whole.get("stopped") or whole.get("stop_reason"))

    def is_over(self, whole: dict[str, Any]) -> bool:
        return bool(whole.get("stopped") or whole.get("error"))


_PLAIN = frozenset({"type", "enum", "const", "required", "description", "title", "default", "format", "$ref"})
_NAMED = frozenset({"properties", "$defs", "definitions"})
_SILENT = frozenset({"$schema", "$id", "additionalProperties"})


def closed(schema: Any) -> Any:
    """The schema as Anthropic takes it: objects have no further fields, and limits of values stand in descriptions."""
    if not isinstance(schema, dict):
        return schema
    made: dict[str, Any] = {}
    limits: dict[str, Any] = {}
    for key, value in schema.items():
        if key in _NAMED and isinstance(value, dict):
            made[key] = {name: closed(part) for name, part in value.items()}
        elif key in ("anyOf", "oneOf", "allOf") and isinstance(value, list):
            made["anyOf" if key == "oneOf" else key] = [closed(part) for part in value]
        elif key == "items":
            made[key] = closed(value)
        elif key in _PLAIN or (key == "minItems" and value in (0, 1)):
            made[key] = value
        elif key not in _SILENT:
            limits[key] = value
    if "properties" in made or made.get("type") == "object":
        made["additionalProperties"] = False
    if limits:
        made["description"] = f"{made.get('description', '')} {json.dumps(limits, ensure_ascii=False)}".strip()
    return made


class _Anthropic(BaseModel):
    protocol: ClassVar[ChatProtocol] = AnthropicProtocol()

    base_url: str = Field(default="https://api.anthropic.com", description="Address of the service, without /v1.")
    token: str | None = Field(
        default="ANTHROPIC_API_KEY", description="Name of the environment variable that holds the API key."
    )
    max_tokens: int | None = Field(default=4096, description="Most tokens of an answer; must be sent.", gt=0)


class AnthropicSettings(_Anthropic, ChatSettings):
    """Which model to ask by Anthropic's Messages, and how."""


class AnthropicConnection(_Anthropic, ChatConnection):
    """Which model judges by Anthropic's Messages, and how it is asked."""


class AnthropicTarget(ChatTarget):
    """A chat target that speaks Anthropic's Messages."""

    Settings = AnthropicSettings
