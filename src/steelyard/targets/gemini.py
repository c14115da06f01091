"""Models in Gemini's generateContent, as targets and as judges."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar
from urllib.parse import quote

from pydantic import BaseModel, Field
from yarl import URL

from steelyard.targets.chat import ChatSettings, ChatTarget
from steelyard.targets.model_address import ChatConnection
from steelyard.targets.protocols import (
    AnswerForm,
    ChatProtocol,
    Completion,
    count_of,
    first_group,
    group_of,
    joined_url,
    merged,
    others,
    parted,
    renamed,
)


class GeminiProtocol(ChatProtocol):
    """Gemini's generateContent."""

    kind = "gemini"
    lacks = frozenset({"image_detail", "schema_strict"})
    own = frozenset({"model", "messages", "contents", "systemInstruction", "temperature", "seed", "max_tokens"})
    key_header, key_prefix = "x-goog-api-key", ""
    format_words = ("mime", "schema", "json mode")
    limited = frozenset({"MAX_TOKENS"})
    filtered = frozenset(
        {"BLOCKED", "SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "LANGUAGE", "IMAGE_SAFETY"}
        | {"IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION"}
    )

    def url(self, base_url: str, model: str, *, stream: bool) -> URL:
        named = model if "/" in model else f"models/{model}"
        how = "streamGenerateContent?alt=sse" if stream else "generateContent"
        return joined_url(base_url, f"/{quote(named)}:{how}")

    def body(self, asked: Mapping[str, Any], wanted: AnswerForm) -> dict[str, Any]:
        def image(media_type: str, data: str, url: str) -> dict[str, Any]:
            return {"fileData": {"fileUri": url}} if url else {"inlineData": {"mimeType": media_type, "data": data}}

        system, talk = parted(asked, lambda text: {"text": text}, image)
        config = renamed(asked, {"temperature": "temperature", "seed": "seed", "max_tokens": "maxOutputTokens"})
        config |= {"responseMimeType": "application/json"} if wanted.form != "text" else {}
        config |= {"responseJsonSchema": wanted.schema} if wanted.form == "schema" else {}
        roles = {"assistant": "model"}
        body: dict[str, Any] = {"contents": [{"role": roles.get(role, role), "parts": parts} for role, parts in talk]}
        body |= {"systemInstruction": {"parts": [{"text": system}]}} if system else {}
        return merged(body | ({"generationConfig": config} if config else {}), others(asked))

    def read(self, data: dict[str, Any]) -> Completion | None:
        candidate, usage = first_group(data.get("candidates")), group_of(data.get("usageMetadata"))
        blocked = group_of(data.get("promptFeedback")).get("blockReason")
        if not candidate and not blocked:
            return None
        parts = [part for part in group_of(candidate.get("content")).get("parts") or () if not part.get("thought")]
        calls = [(call.get("name"), call.get("args")) for part in parts if (call := part.get("functionCall"))]
        text = "".join(part["text"] for part in parts if isinstance(part.get("text"), str))
        reason = candidate.get("finishReason") if candidate else "BLOCKED"
        names = ("prompt", "toolUsePrompt", "candidates", "thoughts", "cachedContent")
        sent, used, received, thought, cached = (count_of(usage.get(f"{name}TokenCount")) for name in names)
        tokens_in = None if sent is None else sent + (used or 0)
        tokens_out = None if received is None else received + (thought or 0)
        detail = str(blocked or reason or "")
        return Completion(text, reason, data.get("modelVersion"), tokens_in, tokens_out, cached, None, detail, calls)

    def add(self, whole: dict[str, Any], event: dict[str, Any]) -> bool:
        names = ("usageMetadata", "modelVersion", "promptFeedback", "error", "responseId")
        whole |= {name: event[name] for name in names if event.get(name)}
        if not (candidate := first_group(event.get("candidates"))):
            return False
        into = whole.setdefault("candidates", [{"content": {"parts": []}}])[0]
        into |= {"finishReason": candidate["finishReason"]} if candidate.get("finishReason") else {}
        parts = group_of(candidate.get("content")).get("parts") or []
        into["content"]["parts"] += parts
        return any((part.get("text") or part.get("functionCall")) and not part.get("thought") for part in parts)

    def is_whole(self, whole: dict[str, Any]) -> bool:
        blocked = group_of(whole.get("promptFeedback")).get("blockReason")
        return bool(blocked or first_group(whole.get("candidates")).get("finishReason"))


class _Gemini(BaseModel):
    protocol: ClassVar[ChatProtocol] = GeminiProtocol()

    base_url: str = Field(
        default="https://generativelanguage.googleapis.com/v1beta",
        description="Address of the service, up to and with /v1beta.",
    )
    token: str | None = Field(
        default="GEMINI_API_KEY", description="Name of the environment variable that holds the API key."
    )


class GeminiSettings(_Gemini, ChatSettings):
    """Which model to ask by Gemini's generateContent, and how."""


class GeminiConnection(_Gemini, ChatConnection):
    """Which model judges by Gemini's generateContent, and how it is asked."""


class GeminiTarget(ChatTarget):
    """A chat target that speaks Gemini's generateContent."""

    Settings = GeminiSettings
