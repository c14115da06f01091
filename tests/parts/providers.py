"""What the services of three providers answer, in the form that each of them publishes.

Field names are those of Messages (anthropic-sdk-python, `types/message.py`, `types/raw_message_stream_event.py`),
of generateContent (python-genai, `types.py`, as JSON in camel case) and of Converse (botocore, bedrock-runtime
`service-2.json`). Tokens: 12 sent as they are, 30 from the cache, 8 written to it (not by Gemini), 7 received.
"""

from __future__ import annotations

import json
from typing import Any

from parts.loopback import Behaviour, json_answer, text_answer

PATHS = {
    "anthropic": "/v1/messages",
    "gemini": "/models/m-1:generateContent",
    "bedrock": "/model/m-1/converse",
}
ENDS = {
    "anthropic": {"stop": "end_turn", "limit": "max_tokens", "filter": "refusal"},
    "gemini": {"stop": "STOP", "limit": "MAX_TOKENS", "filter": "SAFETY"},
    "bedrock": {"stop": "end_turn", "limit": "max_tokens", "filter": "content_filtered"},
}
KEYS = {
    "anthropic": {"ANTHROPIC_API_KEY": "sk-ant-very-secret"},
    "gemini": {"GEMINI_API_KEY": "AIza-very-secret"},
    "bedrock": {"AWS_BEARER_TOKEN_BEDROCK": "bedrock-very-secret"},
}


def settings(kind: str, base_url: str, **more: Any) -> dict[str, Any]:
    """Of a target or a judge at that address."""
    region = {"region": "us-east-1"} if kind == "bedrock" else {}
    return {"base_url": base_url, "model": "m-1"} | region | more


def answer(kind: str, text: str, end: str = "stop", tool: Any = None, name: str = "answer") -> Behaviour:
    """One answer of a model; `tool` is what it calls the tool `name` with."""
    if kind == "anthropic":
        blocks = [{"type": "thinking", "thinking": "hm", "signature": "s"}, {"type": "text", "text": text}]
        if tool is not None:
            blocks.append({"type": "tool_use", "id": "t", "name": name, "input": tool})
        usage = {"input_tokens": 12, "cache_read_input_tokens": 30, "cache_creation_input_tokens": 8}
        return json_answer(
            {
                "id": "msg_1",
                "type": "message",
                "role": "assistant",
                "model": "m-1-2026",
                "content": blocks,
                "stop_reason": ENDS[kind][end],
                "usage": usage | {"output_tokens": 7},
            }
        )
    if kind == "gemini":
        parts: list[dict[str, Any]] = [{"text": "hm", "thought": True}, {"text": text}]
        parts += [] if tool is None else [{"functionCall": {"name": name, "args": tool}}]
        return json_answer(
            {
                "candidates": [
                    {"content": {"role": "model", "parts": parts}, "finishReason": ENDS[kind][end], "index": 0}
                ],
                "usageMetadata": {
                    "promptTokenCount": 42,
                    "cachedContentTokenCount": 30,
                    "candidatesTokenCount": 5,
                    "thoughtsTokenCount": 2,
                },
                "modelVersion": "m-1-2026",
            }
        )
    content: list[dict[str, Any]] = [{"reasoningContent": {"reasoningText": {"text": "hm"}}}, {"text": text}]
    if tool is not None:
        content.append({"toolUse": {"toolUseId": "t", "name": name, "input": tool}})
    usage = {"inputTokens": 12, "outputTokens": 7, "totalTokens": 57}
    return json_answer(
        {
            "output": {"message": {"role": "assistant", "content": content}},
            "stopReason": ENDS[kind][end],
            "usage": usage | {"cacheReadInputTokens": 30, "cacheWriteInputTokens": 8},
            "metrics": {"latencyMs": 5},
        }
    )


def events(*data: Any, named: bool = False) -> bytes:
    """Server-sent events; `named` ones say their type, too. A text is sent as it is."""
    lines = [item if isinstance(item, str) else json.dumps(item) for item in data]
    heads = [f"event: {item['type']}\n" if named else "" for item in data]
    return "".join(f"{head}data: {line}\n\n" for head, line in zip(heads, lines, strict=True)).encode()


def streamed(kind: str, *pieces: str, whole: bool = True) -> Behaviour:
    """An answer in pieces; without `whole` its end is missing, and the server closes as if all were well."""
    if kind == "chat":
        chunks = [{"choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}}], "model": "m-1-2026"}]
        chunks += [{"choices": [{"index": 0, "delta": {"content": piece}, "finish_reason": None}]} for piece in pieces]
        usage = {"prompt_tokens": 42, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": 30}}
        end = [{"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}, {"choices": [], "usage": usage}]
        body = events(*chunks, *(([*end, "[DONE]"]) if whole else []))
    elif kind == "anthropic":
        usage = {"input_tokens": 12, "cache_read_input_tokens": 30, "cache_creation_input_tokens": 8}
        start = {"id": "msg_1", "model": "m-1-2026", "content": [], "usage": usage | {"output_tokens": 1}}
        head = [
            {"type": "message_start", "message": start},
            {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
            {"type": "ping"},
        ]
        deltas = [
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": piece}}
            for piece in pieces
        ]
        end = [
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 7}},
            {"type": "message_stop"},
        ]
        body = events(*head, *deltas, *(end if whole else []), named=True)
    else:
        parts = [{"candidates": [{"content": {"role": "model", "parts": [{"text": piece}]}}]} for piece in pieces]
        usage = {"promptTokenCount": 42, "cachedContentTokenCount": 30, "candidatesTokenCount": 7}
        last = {"candidates": [{"finishReason": "STOP"}], "usageMetadata": usage, "modelVersion": "m-1-2026"}
        body = events(*parts, *([last] if whole else []))
    return text_answer(body.decode(), content_type="text/event-stream")
