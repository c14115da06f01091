"""Reads an OpenAI-compatible completion: the text the model gave, or why there is none."""

from __future__ import annotations

import json
from typing import Any

from steelyard.errors import TargetFailure
from steelyard.targets.base import Reply
from steelyard.targets.wire import Received, excerpt_of, refused_by_status

_LIMITED = frozenset({"length", "max_tokens", "model_length"})
"""How servers say that an answer reached the limit of tokens before its end."""


def read_completion(data: Any, received: Received, max_tokens: Any = None) -> Reply:
    """The reply in a completion's body; TargetFailure when it reports an error, was filtered or holds no choice.

    An answer cut off by the token limit, a refusal and an empty message are answers: the system gave them. The first is
    marked as such; `max_tokens` is what was asked for, since some servers do not say why an answer ended.
    """
    if not isinstance(data, dict):
        raise _failure("bad_body", "the body is JSON, but not a completion", received)
    if error := data.get("error"):
        raise _reported(error, received)
    choices = data.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    if not isinstance(choice, dict) or not isinstance(choice.get("message"), dict):
        raise _failure("no_answer", "the completion holds no choice", received, retry=True)
    if choice.get("finish_reason") == "content_filter":
        raise _failure("filtered", "the server's content filter held the answer back", received)
    usage = data.get("usage")
    counts = usage if isinstance(usage, dict) else {}
    model = data.get("model")
    tokens_out = _count(counts.get("completion_tokens"))
    return Reply(
        text=_text(choice["message"]),
        status=received.status,
        tokens_in=_count(counts.get("prompt_tokens")),
        tokens_out=tokens_out,
        model=model if isinstance(model, str) else None,
        first_byte=received.first_byte,
        cut_off=_is_cut_off(choice.get("finish_reason"), tokens_out, max_tokens),
    )


def _is_cut_off(reason: Any, tokens_out: int | None, max_tokens: Any) -> bool:
    if reason is not None:
        return reason in _LIMITED if isinstance(reason, str) else False
    return isinstance(max_tokens, int) and tokens_out is not None and tokens_out >= max_tokens


def _text(message: dict[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, list):
        content = "".join(str(part.get("text") or "") for part in content if isinstance(part, dict))
    if isinstance(content, str) and content:
        return content
    if content and not isinstance(content, str):
        return json.dumps(content, ensure_ascii=False)
    refusal = message.get("refusal")
    if isinstance(refusal, str) and refusal:
        return refusal
    return _tool_calls(message.get("tool_calls"))


def _tool_calls(calls: Any) -> str:
    """The arguments of a single call, or a list of names and arguments; empty without calls."""
    functions = [call.get("function") for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []
    known = [function for function in functions if isinstance(function, dict)]
    if not known:
        return ""
    if len(known) == 1:
        arguments = known[0].get("arguments")
        return arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    told = [{"name": function.get("name"), "arguments": function.get("arguments")} for function in known]
    return json.dumps(told, ensure_ascii=False)


def _reported(error: Any, received: Received) -> TargetFailure:
    """The failure an `error` object in a 2xx stands for; its code counts where it is an HTTP status."""
    told = error.get("message") if isinstance(error, dict) else error
    code = error.get("code") if isinstance(error, dict) else None
    message = f"the body reports an error: {excerpt_of(told if isinstance(told, str) else json.dumps(error))}"
    failure = _failure("reported_error", message, received)
    if isinstance(code, int) and 400 <= code <= 599:
        meant = refused_by_status(code, received.text)
        failure.retry, failure.throttled = meant.retry, meant.throttled
    return failure


def _failure(kind: str, message: str, received: Received, *, retry: bool = False) -> TargetFailure:
    return TargetFailure(kind, message, retry=retry, status=received.status, body=received.text)


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
