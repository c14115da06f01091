"""Spans of OpenTelemetry traces (OTLP in JSON) as cases with recorded answers.

A span counts when it holds what was asked; without what came it is a failed call. They stand there as
`gen_ai.input.messages` and `gen_ai.output.messages`, or in the older events `gen_ai.user.message` and `gen_ai.choice`
(of the span, or as log records of the same file), or as `gen_ai.content.prompt`, `gen_ai.prompt` and their completions.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from steelyard.errors import Problem
from steelyard.suite.readers import BrokenJson, JsonCursor, Record, Report
from steelyard.suite.streams import open_text

_ERROR = (2, "STATUS_CODE_ERROR")
_NO_CONTENT = (
    "none of its {n:,} gen_ai spans holds what was asked and answered: let your instrumentation capture content"
    " (OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true, or as it calls that)"
)
Messages = list[dict[str, Any]]


def read_cases(path: Path, name: str, report: Report) -> Iterator[Record]:
    """A case for each span that holds a question: its id is the span's, spans of one trace are a cluster."""
    for span in _spans(path, name, report):
        yield Record(span["case"], name, span["line"])


def read_answers(path: Path, name: str, report: Report) -> Iterator[dict[str, Any]]:
    """What each of these spans answered, as a recording has it."""
    for span in _spans(path, name, report):
        yield span["answer"]


def _spans(path: Path, name: str, report: Report) -> Iterator[dict[str, Any]]:
    n = n_with_content = 0
    try:
        events = _logged(path)
        for span, line in _parts(path, "resourceSpans", "scopeSpans", "spans"):
            attributes = values(span.get("attributes"))
            if not any(key.startswith("gen_ai.") for key in attributes):
                continue
            n += 1
            happened = [(str(event.get("name")), values(event.get("attributes"))) for event in span.get("events") or ()]
            asked, answered = _content(attributes, [*happened, *events.get(span.get("spanId"), ())])
            failed = (span.get("status") or {}).get("code") in _ERROR
            n_with_content += bool(asked) and (answered is not None or failed)
            if asked:
                yield {"line": line, "case": _case(span, attributes, asked)} | {
                    "answer": _answer(span, attributes, None if failed else answered)
                }
    except BrokenJson as error:
        report(Problem(str(error), name, error.line))
        return
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        report(Problem(f"not traces in the JSON form of OTLP ({error!r:.100})", name))
        return
    if not n_with_content:
        report(Problem(_NO_CONTENT.format(n=n) if n else "there are no gen_ai spans in it", name))


def _parts(path: Path, *steps: str) -> Iterator[tuple[dict[str, Any], int]]:
    """Everything at these keys, one below the other, of a document or of one on each line."""
    with open_text(path) as stream:
        cursor = JsonCursor(stream)
        while cursor.peek():
            for key in cursor.members():
                if key != steps[0]:
                    cursor.value()
                    continue
                for resource, line, _ in cursor.elements():
                    for scope in resource.get(steps[1]) or ():
                        for part in scope.get(steps[2]) or ():
                            yield part, line


def _logged(path: Path) -> Mapping[Any, list[tuple[str, dict[str, Any]]]]:
    """The gen_ai events among the log records of a file, by the span they belong to."""
    results = defaultdict(list)
    for record, _ in _parts(path, "resourceLogs", "scopeLogs", "logRecords"):
        attributes = values(record.get("attributes"))
        name = str(record.get("eventName") or attributes.get("event.name") or "")
        if name.startswith("gen_ai."):
            body = value(record.get("body") or {})
            results[record.get("spanId")].append((name, attributes | (body if isinstance(body, dict) else {})))
    return results


def values(attributes: Any) -> dict[str, Any]:
    """Attributes as plain data."""
    return {item["key"]: value(item.get("value") or {}) for item in attributes or ()}


def value(given: Mapping[str, Any]) -> Any:
    """One value of OTLP as plain data; whole numbers come as texts there."""
    for kind, inner in given.items():
        if kind == "intValue":
            return int(inner)
        if kind == "arrayValue":
            return [value(item) for item in inner.get("values") or ()]
        if kind == "kvlistValue":
            return values(inner.get("values"))
        return inner
    return None


def _content(attributes: dict[str, Any], events: list[tuple[str, dict[str, Any]]]) -> tuple[Messages, str | None]:
    """What was asked, as messages, and what came."""
    for name, fields in events:
        if name == "gen_ai.client.inference.operation.details":
            attributes = attributes | fields
    asked = _messages(attributes.get("gen_ai.input.messages"))
    if asked and (system := _text(_data(attributes.get("gen_ai.system_instructions")))):
        asked = [{"role": "system", "content": system}, *asked]
    answers = _messages(attributes.get("gen_ai.output.messages"))
    for name, fields in events:
        content = fields | (_data(fields["gen_ai.event.content"]) if "gen_ai.event.content" in fields else {})
        if name == "gen_ai.choice":
            answers += _messages([_data(content.get("message", content))])
        elif name in ("gen_ai.system.message", "gen_ai.user.message", "gen_ai.assistant.message"):
            asked += _messages([{"role": name.split(".")[1], **content}])
        elif name == "gen_ai.content.prompt":
            asked += _messages(content.get("gen_ai.prompt"))
        elif name == "gen_ai.content.completion":
            answers += _messages(content.get("gen_ai.completion"))
    asked = asked or _messages(attributes.get("gen_ai.prompt")) or _numbered(attributes, "gen_ai.prompt")
    answers = answers or _messages(attributes.get("gen_ai.completion")) or _numbered(attributes, "gen_ai.completion")
    return asked, answers[0]["content"] if answers else None


def _data(given: Any) -> Any:
    """Data that may stand there as its JSON text."""
    if isinstance(given, str) and given[:1] in ("[", "{"):
        try:
            return json.loads(given)
        except ValueError:
            return given
    return given


def _messages(given: Any) -> Messages:
    data = _data(given)
    if isinstance(data, str):
        data = [{"role": "user", "content": data}]
    items = [data] if isinstance(data, dict) else data or []
    texts = [(item, _text(item.get("parts", item.get("content")))) for item in items if isinstance(item, dict)]
    return [{"role": str(item.get("role") or "user"), "content": text} for item, text in texts if text is not None]


def _text(parts: Any) -> str | None:
    """The text of a message: of one that calls tools, those calls as JSON; None where nothing was captured."""
    if parts is None or isinstance(parts, str):
        return parts
    parts = parts if isinstance(parts, list) else [parts]
    texts = [part if isinstance(part, str) else part.get("content", part.get("text")) for part in parts]
    written = [text for text in texts if isinstance(text, str)]
    return "\n".join(written) if written else json.dumps(parts, ensure_ascii=False) if parts else None


def _numbered(attributes: Mapping[str, Any], name: str) -> Messages:
    """Messages in the form `gen_ai.prompt.0.content`."""
    results: Messages = []
    while isinstance(content := attributes.get(f"{name}.{len(results)}.content"), str):
        results.append({"role": attributes.get(f"{name}.{len(results)}.role") or "user", "content": content})
    return results


def _case(span: Mapping[str, Any], attributes: Mapping[str, Any], asked: Messages) -> dict[str, Any]:
    given = {"text": asked[0]["content"]} if len(asked) == 1 else {"messages": asked}
    truth, category = _data(attributes.get("steelyard.expected")), attributes.get("steelyard.category")
    case = {"id": str(span["spanId"]), "input": given, "cluster": str(span.get("traceId") or "") or None}
    return case | {key: item for key, item in (("expected", truth), ("category", category)) if item is not None}


def _answer(span: Mapping[str, Any], attributes: Mapping[str, Any], answered: str | None) -> dict[str, Any]:
    start, end = int(span.get("startTimeUnixNano") or 0), int(span.get("endTimeUnixNano") or 0)
    facts = {
        "answer": answered,
        "latency": (end - start) / 1e9 if 0 < start < end else None,
        "tokens_in": attributes.get("gen_ai.usage.input_tokens", attributes.get("gen_ai.usage.prompt_tokens")),
        "tokens_out": attributes.get("gen_ai.usage.output_tokens", attributes.get("gen_ai.usage.completion_tokens")),
        "model": attributes.get("gen_ai.response.model") or attributes.get("gen_ai.request.model"),
        "response_id": attributes.get("gen_ai.response.id"),
    }
    if answered is None:
        status = span.get("status") or {}
        kind = "error" if status.get("code") in _ERROR else "no_output"
        message = "the span holds no output" if kind == "no_output" else "the span ended with an error"
        facts["failed"] = {
            "kind": str(attributes.get("error.type") or kind),
            "message": status.get("message") or message,
        }
    return {"case": str(span["spanId"])} | {key: item for key, item in facts.items() if item is not None}
