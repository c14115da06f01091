"""The protocol of chat models over HTTP: OpenAI's chat completions, and what the other providers' protocols share.

A request comes in OpenAI's form: `model`, `messages`, `temperature`, `seed`, `max_tokens`, and further fields as the
protocol itself writes them. Each protocol makes its own body of it, and reads its own answers, streamed or not.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, get_args

from yarl import URL

from steelyard.frozen import frozen, slotted

ResponseFormat = Literal["schema", "json", "text"]
FORMATS: tuple[ResponseFormat, ...] = get_args(ResponseFormat)
"""From the most that a server can be asked to hold an answer to, to the least."""
ANSWER = "answer"
"""What the schema of an answer is called, and the tool that stands for it."""


@slotted
class Completion:
    """What a model said, and why it stopped; `detail` is the reason of a filter."""

    text: str
    reason: Any = None
    model: Any = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    tokens_cached: int | None = None
    tokens_written: int | None = None
    detail: str = ""
    calls: Sequence[tuple[Any, Any]] = ()
    """Name and arguments of each tool call."""


@frozen
class AnswerForm:
    """In which form an answer is asked for."""

    form: ResponseFormat = "text"
    schema: Any = None
    strict: bool = False
    stream: bool = False


class ChatProtocol:
    """OpenAI's chat completions, which many services speak. The other protocols say what they do otherwise."""

    kind = "chat"
    path = "/chat/completions"
    formats = FORMATS
    lacks: frozenset[str] = frozenset()
    """Settings that the protocol has no field for."""
    own = frozenset(
        {"model", "messages", "temperature", "seed", "max_tokens", "response_format", "stream", "stream_options", "n"}
    )
    """Fields of the body that `extra` must not set."""
    key_header, key_prefix = "Authorization", "Bearer "
    headers: Mapping[str, str] = {}
    format_words: tuple[str, ...] = ("response_format", "json_schema", "json_object")
    """How a server that refuses a response format names it."""
    limited = frozenset({"length", "max_tokens", "model_length"})
    """How servers say that an answer reached the limit of tokens before its end."""
    filtered = frozenset({"content_filter"})

    def url(self, base_url: str, model: str, *, stream: bool) -> URL:  # noqa: ARG002
        """Where a request is sent."""
        return URL(base_url + self.path)

    def body(self, asked: Mapping[str, Any], wanted: AnswerForm) -> dict[str, Any]:
        """What is sent."""
        body = dict(asked)
        if wanted.form == "json":
            body["response_format"] = {"type": "json_object"}
        elif wanted.form == "schema":
            named = {"name": ANSWER, "schema": wanted.schema} | ({"strict": True} if wanted.strict else {})
            body["response_format"] = {"type": "json_schema", "json_schema": named}
        return body | ({"stream": True, "stream_options": {"include_usage": True}} if wanted.stream else {})

    def read(self, data: dict[str, Any]) -> Completion | None:
        """The completion in a body; None when there is no choice in it."""
        choice = first_group(data.get("choices"))
        if not isinstance(choice.get("message"), dict):
            return None
        counts = group_of(data.get("usage"))
        return Completion(
            _message_text(choice["message"]),
            choice.get("finish_reason"),
            data.get("model"),
            count_of(counts.get("prompt_tokens")),
            count_of(counts.get("completion_tokens")),
            count_of(group_of(counts.get("prompt_tokens_details")).get("cached_tokens")),
            calls=_message_calls(choice["message"]),
        )

    def add(self, whole: dict[str, Any], event: dict[str, Any]) -> bool:
        """Put an event of a stream into the body that it is a part of; True when it brings some of the answer."""
        whole |= {name: event[name] for name in ("id", "model", "usage", "error") if event.get(name)}
        if not (choice := first_group(event.get("choices"))):
            return False
        into = whole.setdefault("choices", [{"message": {}}])[0]
        message, delta = into["message"], group_of(choice.get("delta"))
        into |= {name: choice[name] for name in ("finish_reason", "error") if choice.get(name)}
        for name in ("content", "refusal"):
            if piece := _joined_text(delta.get(name)):
                message[name] = message.get(name, "") + piece
        for call in delta.get("tool_calls") or ():
            empty = {"function": {"name": "", "arguments": ""}}
            function = message.setdefault("tool_calls", {}).setdefault(call["index"], empty)["function"]
            for name in function:
                function[name] += call["function"].get(name) or ""
        return any(delta.get(name) for name in ("content", "refusal", "tool_calls"))

    def is_whole(self, whole: dict[str, Any]) -> bool:
        """Whether a stream has said why the answer ended; its counts may still come."""
        return bool(first_group(whole.get("choices")).get("finish_reason"))

    def is_over(self, whole: dict[str, Any]) -> bool:
        """Whether nothing of the answer can come any more, by the last event that the protocol has, or by an error."""
        return bool(whole.get("error"))


def first_group(items: Any) -> dict[str, Any]:
    """The first of a list of groups; an empty group where there is none."""
    return items[0] if isinstance(items, list) and items and isinstance(items[0], dict) else {}


def group_of(value: Any) -> dict[str, Any]:
    """A group; an empty one for anything else."""
    return value if isinstance(value, dict) else {}


_Counts = tuple[int | None, int | None, int | None, int | None]


def token_counts(usage: Any, names: Sequence[str]) -> _Counts:
    """Tokens sent, received, from the cache and written to it, where those sent are counted without the last two."""
    sent, received, cached, written = (count_of(group_of(usage).get(name)) for name in names)
    return None if sent is None else sent + (cached or 0) + (written or 0), received, cached, written


def count_of(value: Any) -> int | None:
    """A count; None for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _joined_text(content: Any) -> Any:
    """The text of a list of parts; anything else as it is."""
    if not isinstance(content, list):
        return content
    return "".join(str(part.get("text") or "") for part in content if isinstance(part, dict))


def _message_text(message: dict[str, Any]) -> str:
    content = message.get("content")
    content = _joined_text(content)
    if isinstance(content, str) and content:
        return content
    if content and not isinstance(content, str):
        return json.dumps(content, ensure_ascii=False)
    refusal = message.get("refusal")
    return refusal if isinstance(refusal, str) else ""


def _message_calls(message: dict[str, Any]) -> list[tuple[Any, Any]]:
    given = message.get("tool_calls")
    calls = list(given.values()) if isinstance(given, dict) else given
    functions = [call.get("function") for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []
    return [(item.get("name"), item.get("arguments")) for item in functions if isinstance(item, dict)]


Part = dict[str, Any]


def joined_url(base_url: str, rest: str) -> URL:
    """Both, with the rest as it is: `%3A` and `:` are not the same to a signature."""
    return URL(f"{URL(base_url)}{rest}", encoded=True)


def parted(
    asked: Mapping[str, Any], text: Callable[[str], Part], image: Callable[[str, str, str], Part]
) -> tuple[str, list[tuple[str, list[Part]]]]:
    """What the system messages say, and of all others the role and the parts. `image` is given a media type and base64,
    or an address."""
    system, others = [], []
    for message in asked["messages"]:
        role, content = message["role"], message["content"]
        if role == "system":
            system.append(content)
            continue
        parts = [text(content)] if isinstance(content, str) else []
        for part in () if parts else content:
            url = part["image_url"]["url"] if part["type"] == "image_url" else ""
            media_type, coded, data = url.removeprefix("data:").partition(";base64,")
            parts.append(
                text(part["text"]) if not url else image(media_type, data, "") if coded else image("", "", url)
            )
        others.append((role, parts))
    return "\n\n".join(system), others


def renamed(asked: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """Those of the fields that are given, each under the protocol's own name."""
    return {name: asked[given] for given, name in names.items() if given in asked}


def others(asked: Mapping[str, Any]) -> dict[str, Any]:
    """The further fields, which the protocol itself has."""
    ours = ("model", "messages", "temperature", "seed", "max_tokens")
    return {name: value for name, value in asked.items() if name not in ours}


def merged(body: dict[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    """Both, group by group; `more` wins."""
    both = {
        name: merged(body[name], value) if isinstance(value, dict) and isinstance(body.get(name), dict) else value
        for name, value in more.items()
    }
    return body | both
