"""Protocols of models over HTTP: OpenAI's chat completions, Anthropic's Messages, Gemini's generateContent, Bedrock's
Converse.

A request comes in OpenAI's form: `model`, `messages`, `temperature`, `seed`, `max_tokens`, and further fields as the
protocol itself writes them. Each protocol makes its own body of it, and reads its own answers, streamed or not.
"""

from __future__ import annotations

import codecs
import json
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, get_args
from urllib.parse import quote

from yarl import URL

from steelyard.errors import TargetFailure
from steelyard.frozen import frozen, slotted
from steelyard.targets.base import Response
from steelyard.targets.connection import excerpt_of
from steelyard.targets.transport import Received, json_of, refused_by_status

ResponseFormat = Literal["schema", "json", "text"]
FORMATS: tuple[ResponseFormat, ...] = get_args(ResponseFormat)
"""From the most that a server can be asked to hold an answer to, to the least."""
_ANSWER = "answer"
"""What the schema of an answer is called, and the tool that stands for it."""
_ERRORS = {"rate_limit_error": 429, "overloaded_error": 529, "api_error": 500, "timeout_error": 504}
"""HTTP statuses of errors that Anthropic names in the body."""


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
            named = {"name": _ANSWER, "schema": wanted.schema} | ({"strict": True} if wanted.strict else {})
            body["response_format"] = {"type": "json_schema", "json_schema": named}
        return body | ({"stream": True, "stream_options": {"include_usage": True}} if wanted.stream else {})

    def read(self, data: dict[str, Any]) -> Completion | None:
        """The completion in a body; None when there is no choice in it."""
        choice = _first(data.get("choices"))
        if not isinstance(choice.get("message"), dict):
            return None
        counts = _group(data.get("usage"))
        return Completion(
            _message_text(choice["message"]),
            choice.get("finish_reason"),
            data.get("model"),
            _count(counts.get("prompt_tokens")),
            _count(counts.get("completion_tokens")),
            _count(_group(counts.get("prompt_tokens_details")).get("cached_tokens")),
            calls=_message_calls(choice["message"]),
        )

    def add(self, whole: dict[str, Any], event: dict[str, Any]) -> bool:
        """Put an event of a stream into the body that it is a part of; True when it brings some of the answer."""
        whole |= {name: event[name] for name in ("id", "model", "usage", "error") if event.get(name)}
        if not (choice := _first(event.get("choices"))):
            return False
        into = whole.setdefault("choices", [{"message": {}}])[0]
        message, delta = into["message"], _group(choice.get("delta"))
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
        return bool(_first(whole.get("choices")).get("finish_reason"))

    def is_over(self, whole: dict[str, Any]) -> bool:
        """Whether nothing of the answer can come any more, by the last event that the protocol has, or by an error."""
        return bool(whole.get("error"))


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

        system, talk = _parted(asked, lambda text: {"type": "text", "text": text}, image)
        messages = [{"role": role, "content": parts} for role, parts in talk]
        body = dict(asked) | {"messages": messages} | ({"system": system} if system else {})
        if wanted.form == "schema":
            body = _merged(
                {"output_config": {"format": {"type": "json_schema", "schema": closed(wanted.schema)}}}, body
            )
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
        why = str(_group(data.get("stop_details")).get("explanation") or "")
        tokens = _tokens(data.get("usage"), names)
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
                counted = {name: n for name, n in _group(event.get("usage")).items() if n is not None}
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
        return _joined(base_url, f"/{quote(named)}:{how}")

    def body(self, asked: Mapping[str, Any], wanted: AnswerForm) -> dict[str, Any]:
        def image(media_type: str, data: str, url: str) -> dict[str, Any]:
            return {"fileData": {"fileUri": url}} if url else {"inlineData": {"mimeType": media_type, "data": data}}

        system, talk = _parted(asked, lambda text: {"text": text}, image)
        config = _renamed(asked, {"temperature": "temperature", "seed": "seed", "max_tokens": "maxOutputTokens"})
        config |= {"responseMimeType": "application/json"} if wanted.form != "text" else {}
        config |= {"responseJsonSchema": wanted.schema} if wanted.form == "schema" else {}
        roles = {"assistant": "model"}
        body: dict[str, Any] = {"contents": [{"role": roles.get(role, role), "parts": parts} for role, parts in talk]}
        body |= {"systemInstruction": {"parts": [{"text": system}]}} if system else {}
        return _merged(body | ({"generationConfig": config} if config else {}), _others(asked))

    def read(self, data: dict[str, Any]) -> Completion | None:
        candidate, usage = _first(data.get("candidates")), _group(data.get("usageMetadata"))
        blocked = _group(data.get("promptFeedback")).get("blockReason")
        if not candidate and not blocked:
            return None
        parts = [part for part in _group(candidate.get("content")).get("parts") or () if not part.get("thought")]
        calls = [(call.get("name"), call.get("args")) for part in parts if (call := part.get("functionCall"))]
        text = "".join(part["text"] for part in parts if isinstance(part.get("text"), str))
        reason = candidate.get("finishReason") if candidate else "BLOCKED"
        names = ("prompt", "toolUsePrompt", "candidates", "thoughts", "cachedContent")
        sent, used, received, thought, cached = (_count(usage.get(f"{name}TokenCount")) for name in names)
        tokens_in = None if sent is None else sent + (used or 0)
        tokens_out = None if received is None else received + (thought or 0)
        detail = str(blocked or reason or "")
        return Completion(text, reason, data.get("modelVersion"), tokens_in, tokens_out, cached, None, detail, calls)

    def add(self, whole: dict[str, Any], event: dict[str, Any]) -> bool:
        names = ("usageMetadata", "modelVersion", "promptFeedback", "error", "responseId")
        whole |= {name: event[name] for name in names if event.get(name)}
        if not (candidate := _first(event.get("candidates"))):
            return False
        into = whole.setdefault("candidates", [{"content": {"parts": []}}])[0]
        into |= {"finishReason": candidate["finishReason"]} if candidate.get("finishReason") else {}
        parts = _group(candidate.get("content")).get("parts") or []
        into["content"]["parts"] += parts
        return any((part.get("text") or part.get("functionCall")) and not part.get("thought") for part in parts)

    def is_whole(self, whole: dict[str, Any]) -> bool:
        blocked = _group(whole.get("promptFeedback")).get("blockReason")
        return bool(blocked or _first(whole.get("candidates")).get("finishReason"))


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
        return _joined(base_url, f"/model/{quote(model, safe='')}/converse")

    def body(self, asked: Mapping[str, Any], wanted: AnswerForm) -> dict[str, Any]:
        def image(media_type: str, data: str, url: str) -> dict[str, Any]:
            if url:
                message = f"{excerpt_of(url)}: Bedrock takes images as files, not by address"
                raise TargetFailure("bad_attachment", message, retry=False)
            return {"image": {"format": media_type.partition("/")[2], "source": {"bytes": data}}}

        system, talk = _parted(asked, lambda text: {"text": text}, image)
        body: dict[str, Any] = {"messages": [{"role": role, "content": parts} for role, parts in talk]}
        body |= {"system": [{"text": system}]} if system else {}
        config = _renamed(asked, {"temperature": "temperature", "max_tokens": "maxTokens"})
        body |= {"inferenceConfig": config} if config else {}
        if wanted.form == "schema":
            tool = {"toolSpec": {"name": _ANSWER, "inputSchema": {"json": wanted.schema}}}
            body["toolConfig"] = {"tools": [tool], "toolChoice": {"tool": {"name": _ANSWER}}}
        return _merged(body, _others(asked))

    def read(self, data: dict[str, Any]) -> Completion | None:
        message = _group(data.get("output")).get("message")
        if not isinstance(message, dict):
            return None
        blocks, reason = message.get("content") or [], data.get("stopReason")
        calls = [(use.get("name"), use.get("input")) for block in blocks if (use := block.get("toolUse"))]
        text = "".join(block["text"] for block in blocks if "text" in block)
        names = ("inputTokens", "outputTokens", "cacheReadInputTokens", "cacheWriteInputTokens")
        return Completion(text, reason, None, *_tokens(data.get("usage"), names), str(reason or ""), calls)


# Parts of requests, as OpenAI has them and as the others do.

_Part = dict[str, Any]


def _joined(base_url: str, rest: str) -> URL:
    """Both, with the rest as it is: `%3A` and `:` are not the same to a signature."""
    return URL(f"{URL(base_url)}{rest}", encoded=True)


def _parted(
    asked: Mapping[str, Any], text: Callable[[str], _Part], image: Callable[[str, str, str], _Part]
) -> tuple[str, list[tuple[str, list[_Part]]]]:
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


def _renamed(asked: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    return {name: asked[given] for given, name in names.items() if given in asked}


def _others(asked: Mapping[str, Any]) -> dict[str, Any]:
    """The further fields, which the protocol itself has."""
    ours = ("model", "messages", "temperature", "seed", "max_tokens")
    return {name: value for name, value in asked.items() if name not in ours}


def _merged(body: dict[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    """Both, group by group; `more` wins."""
    both = {
        name: _merged(body[name], value) if isinstance(value, dict) and isinstance(body.get(name), dict) else value
        for name, value in more.items()
    }
    return body | both


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


# Parts of answers.


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


def _answer_text(completion: Completion, *, keep_calls: bool, schema: bool) -> str:
    """What the tool that stands for the answer was called with; else the text, with the tool calls where they are kept.

    Where they are not (a judge may be made to answer by a tool of its own), the arguments of a single call count.
    """
    answers = [arguments for name, arguments in completion.calls if name == _ANSWER and (schema or not keep_calls)]
    if answers:
        return _json_text(answers[0])
    calls = [{"name": name, "arguments": _parsed(arguments)} for name, arguments in completion.calls]
    if not calls or (completion.text and not keep_calls):
        return completion.text
    if keep_calls:
        return json.dumps({"content": completion.text, "tool_calls": calls}, ensure_ascii=False)
    return _json_text(completion.calls[0][1] if len(calls) == 1 else calls)


def _parsed(arguments: Any) -> Any:
    """The arguments as data; a text that is not JSON as it is."""
    try:
        return json.loads(arguments) if isinstance(arguments, str) else arguments
    except (RecursionError, ValueError):
        return arguments


def _json_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _first(items: Any) -> dict[str, Any]:
    return items[0] if isinstance(items, list) and items and isinstance(items[0], dict) else {}


def _group(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


_Counts = tuple[int | None, int | None, int | None, int | None]


def _tokens(usage: Any, names: Sequence[str]) -> _Counts:
    """Tokens sent, received, from the cache and written to it, where those sent are counted without the last two."""
    sent, received, cached, written = (_count(_group(usage).get(name)) for name in names)
    return None if sent is None else sent + (cached or 0) + (written or 0), received, cached, written


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


# An answer as a whole: the text that the model gave, or why there is none.


_IDS = ("id", "responseId")
_CACHED = ("cached", "cache_hit", "from_cache")
"""How gateways mark a body that comes from their cache."""


def read_completion(
    protocol: ChatProtocol,
    data: Any,
    received: Received,
    max_tokens: Any = None,
    *,
    keep_calls: bool = False,
    schema: bool = False,
) -> Response:
    """The response in a completion's body; TargetFailure when it reports an error, was filtered or holds no choice.

    With `keep_calls`, one with tool calls is `{"content": TEXT, "tool_calls": [{"name": ..., "arguments": ...}]}`.
    `schema` tells that a schema was asked for, which some protocols have as a tool.

    An answer cut off by the token limit, a refusal and an empty message are answers: the system gave them. The first is
    marked as such; `max_tokens` is what was asked for, since some servers do not say why an answer ended.
    """
    if not isinstance(data, dict):
        raise _failure("bad_body", "the body is JSON, but not a completion", received)
    # A router whose provider broke off says so in the choice, beside what had come until then.
    choice = _first(data.get("choices"))
    if error := data.get("error") or choice.get("error"):
        raise _reported(error, received)
    if choice.get("finish_reason") == "error":
        raise _failure("reported_error", "the server says that an error ended the answer", received, retry=True)
    try:
        completion = protocol.read(data)
    except (AttributeError, KeyError, TypeError) as error:
        raise _failure("bad_body", f"the body is no completion of {protocol.kind}: {error!r}", received) from None
    if completion is None:
        raise _failure("no_answer", "the completion holds no choice", received, retry=True)
    reason = completion.reason if isinstance(completion.reason, str) else ""
    if reason in protocol.filtered:
        why = f": {excerpt_of(completion.detail)}" if completion.detail else ""
        raise _failure("filtered", f"the server's content filter held the answer back{why}", received)
    tokens_out = completion.tokens_out
    at_limit = isinstance(max_tokens, int) and tokens_out is not None and tokens_out >= max_tokens
    return Response(
        text=_answer_text(completion, keep_calls=keep_calls, schema=schema),
        status=received.status,
        tokens_in=completion.tokens_in,
        tokens_out=tokens_out,
        model=completion.model if isinstance(completion.model, str) else None,
        first_byte=received.first_byte,
        cut_off=at_limit if completion.reason is None else reason in protocol.limited,
        tokens_cached=completion.tokens_cached,
        tokens_written=completion.tokens_written,
        response_id=next((item for name in _IDS if isinstance(item := data.get(name), str) and item), None),
        cached=received.cached or any(data.get(name) is True for name in _CACHED),
    )


def _reported(error: Any, received: Received) -> TargetFailure:
    """The failure an `error` object in a 2xx stands for; its code counts where it is an HTTP status."""
    group = _group(error)
    text = group.get("message") if group else error
    code = group.get("code") or _ERRORS.get(str(group.get("type")))
    message = f"the body reports an error: {excerpt_of(text if isinstance(text, str) else json.dumps(error))}"
    failure = _failure("reported_error", message, received)
    if isinstance(code, int) and 400 <= code <= 599:
        meant = refused_by_status(code, received.text)
        failure.retry, failure.throttled = meant.retry, meant.throttled
    return failure


def _failure(kind: str, message: str, received: Received, *, retry: bool = False) -> TargetFailure:
    return TargetFailure(kind, message, retry=retry, status=received.status, body=received.text)


_FOR_COUNTS = 2.0
"""Seconds in which the counts of tokens, or more of the answer, may follow on the reason why it ended."""
_FOR_CLOSING = 0.25
"""Seconds in which the HTTP message of an answer that is over may end, so that its connection can be used again."""


class Stream:
    """Reads server-sent events as they come, and puts them together to the body that they are parts of.

    It ends with the answer, not with the connection, which some servers leave open: at the protocol's last event or,
    where that does not come, a short time after the reason why the answer ended. What comes after the end is no part of
    the answer.
    """

    def __init__(self, protocol: ChatProtocol) -> None:
        self._protocol = protocol
        self._rest = b""
        self._mark = codecs.BOM_UTF8
        """What may stand before the first line."""
        self._data: list[bytes] = []
        self._whole: dict[str, Any] = {}
        self._is_done = False
        self.first_token: float | None = None
        """When the first part of the answer came, by `time.perf_counter`."""
        self._ended: float | None = None
        """When the last part of an answer that has ended came."""

    def feed(self, part: bytes) -> tuple[int, float | None]:
        """Take in more. Gives how many of these bytes belong to the answer and, when they changed it and it has ended,
        how many seconds to wait for the end of the message; TargetFailure when it is not of this protocol."""
        if self._is_done:
            return 0, None
        *lines, self._rest = (self._rest + part).split(b"\n")
        ended = self._ended
        for number, line in enumerate(lines, 1):
            self._line(line.rstrip(b"\r"))
            if self._is_done:
                after = sum(len(one) + 1 for one in lines[number:]) + len(self._rest)
                self._rest = b""
                return len(part) - after, _FOR_CLOSING
        return len(part), None if self._ended == ended else _FOR_COUNTS

    def body(self, received: Received) -> Any:
        """All of it as one body; TargetFailure `cut` when the stream ended before the answer did."""
        for line in () if self._is_done else (self._rest, b""):
            self._line(line)
        if not self._whole and received.text.lstrip()[:1] == "{":  # a server that does not stream
            return json_of(received)
        if not (self._is_done or self._protocol.is_whole(self._whole)):
            raise _failure("cut", "the stream ended before the answer was complete", received, retry=True)
        return self._whole

    def _line(self, line: bytes) -> None:
        line, self._mark = line.removeprefix(self._mark), b""
        if line.startswith(b"data:"):
            self._data.append(line[5:].strip())
        if self._data == [b"[DONE]"]:
            self._is_done, self._ended = True, time.perf_counter()
            return
        if line or not self._data:
            return
        data, self._data = b"\n".join(self._data), []
        try:
            brings = self._protocol.add(self._whole, json.loads(data))
            self._is_done, is_whole = self._protocol.is_over(self._whole), self._protocol.is_whole(self._whole)
        except (AttributeError, KeyError, RecursionError, TypeError, ValueError) as error:
            message = f"the stream has an event that is not of {self._protocol.kind}: {excerpt_of(repr(error))}"
            raise TargetFailure("bad_body", message, retry=False) from None
        now = time.perf_counter()
        if brings and self.first_token is None:
            self.first_token = now
        # A sign of life between events puts nothing off.
        if self._is_done or (is_whole and (brings or self._ended is None)):
            self._ended = now
