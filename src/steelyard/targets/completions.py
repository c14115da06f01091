"""A completion's body as a whole: the text that the model gave, or why there is none."""

from __future__ import annotations

import json
from typing import Any

from steelyard.errors import TargetFailure
from steelyard.targets.base import Response
from steelyard.targets.connection import excerpt_of
from steelyard.targets.protocols import ANSWER, ChatProtocol, Completion, first_group, group_of
from steelyard.targets.transport import Received, refused_by_status

_ERRORS = {"rate_limit_error": 429, "overloaded_error": 529, "api_error": 500, "timeout_error": 504}
"""HTTP statuses of errors that Anthropic names in the body."""
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
        raise body_failure("bad_body", "the body is JSON, but not a completion", received)
    # A router whose provider broke off says so in the choice, beside what had come until then.
    choice = first_group(data.get("choices"))
    if error := data.get("error") or choice.get("error"):
        raise _reported(error, received)
    if choice.get("finish_reason") == "error":
        raise body_failure("reported_error", "the server says that an error ended the answer", received, retry=True)
    try:
        completion = protocol.read(data)
    except (AttributeError, KeyError, TypeError) as error:
        raise body_failure("bad_body", f"the body is no completion of {protocol.kind}: {error!r}", received) from None
    if completion is None:
        raise body_failure("no_answer", "the completion holds no choice", received, retry=True)
    reason = completion.reason if isinstance(completion.reason, str) else ""
    if reason in protocol.filtered:
        why = f": {excerpt_of(completion.detail)}" if completion.detail else ""
        raise body_failure("filtered", f"the server's content filter held the answer back{why}", received)
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
    group = group_of(error)
    text = group.get("message") if group else error
    code = group.get("code") or _ERRORS.get(str(group.get("type")))
    message = f"the body reports an error: {excerpt_of(text if isinstance(text, str) else json.dumps(error))}"
    failure = body_failure("reported_error", message, received)
    if isinstance(code, int) and 400 <= code <= 599:
        meant = refused_by_status(code, received.text)
        failure.retry, failure.throttled = meant.retry, meant.throttled
    return failure


def body_failure(kind: str, message: str, received: Received, *, retry: bool = False) -> TargetFailure:
    """The failure that a body stands for, which is kept with it."""
    return TargetFailure(kind, message, retry=retry, status=received.status, body=received.text)


def _answer_text(completion: Completion, *, keep_calls: bool, schema: bool) -> str:
    """What the tool that stands for the answer was called with; else the text, with the tool calls where they are kept.

    Where they are not (a judge may be made to answer by a tool of its own), the arguments of a single call count.
    """
    answers = [arguments for name, arguments in completion.calls if name == ANSWER and (schema or not keep_calls)]
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
