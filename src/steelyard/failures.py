"""Why calls failed: the code and message that the other side reported, and failures grouped by cause with their counts.

Every report, the JSON of a run and a suite's own results file name causes with these functions, so that one cause reads
the same everywhere.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from steelyard.frozen import frozen

if TYPE_CHECKING:
    from steelyard.records import Sample

BROKE_OFF = "the answer broke off at the limit of tokens"
"""Said of an answer, be it of a target or a judge, that is `cut_off`."""
_STATUS = re.compile(r"^answered \d{3}: ?")
_DIGIT = re.compile(r"\d")
_CODE = re.compile(r"(?P<code>[A-Z][A-Z0-9_.-]*|[A-Za-z][A-Za-z_.-]*|\d{3,5}): (?=\S)")
"""A code before a message: MODEL_FAILURE, invalid_api_key, E1001, 404. Other words with digits are ids."""
_NAMING = ("model", "deployment", "engine")
"""Words before the name of what was asked for."""
_CODES = ("code", "error_code", "errorCode", "type", "status_code")
_MESSAGES = ("message", "msg", "detail", "details", "error", "errors", "error_description", "error_message", "title")
_DEEPEST = 4
_LONGEST_CODE = 80


@frozen
class FailureCause:
    """One cause of failed calls. `kind` is that of the failure (timeout, http_404, reported_error), `code` and
    `message` what the other side reported; `code` is "" where it gave none."""

    kind: str
    code: str
    message: str
    count: int = 1

    def __str__(self) -> str:
        return " ".join(filter(None, (self.kind, f"{self.code}: {self.message}" if self.code else self.message)))


def reported_error(data: Any) -> str:
    """Code and message in the JSON of an error: `MODEL_FAILURE: model 'm' not found`; "" where it holds neither.

    Reads the usual shapes: {error: {code, message}}, {errors: [{code, message}]}, {detail: [{type, loc, msg}]},
    {error: invalid_grant, error_description: ...}, a text.
    """
    return " ".join(_reported(data, _DEEPEST).split())


def failure_words(kind: str, message: str) -> str:
    """`http_401 invalid_api_key: Incorrect API key provided`; the kind alone when nothing more is known."""
    return f"{kind} {_unwrapped(message)}".strip()


def readable(message: str) -> str:
    """A failure's message with code and message in the place of the JSON of an error, the status kept before it."""
    status = _STATUS.match(message.strip())
    return (status[0] if status else "") + _unwrapped(message)


def failure_reason(kind: str, message: str) -> tuple[str, str]:
    """What tells the reason of a failure from others, and the reason in words.

    Messages of servers hold numbers and ids that differ from call to call: words with a digit in them do not tell,
    unless they are the code or name a model: that one model is not found does not say so of another.
    """
    text = _unwrapped(message)
    code, rest = _split(text)
    words = rest.split()
    named = (before.strip("\"'`:=(").casefold() in _NAMING for before in ("", *words))
    same = (word for word, tells in zip(words, named, strict=False) if tells or _DIGIT.search(word) is None)
    return f"{kind} {code} {' '.join(same)}", f"{kind} {text}".strip()


def causes_of(failures: Iterable[tuple[str, str, int]]) -> list[FailureCause]:
    """The causes of failures that are given as kind, message and count, most frequent first; of several wordings of one
    cause, the first."""
    counts: dict[str, int] = {}
    first: dict[str, tuple[str, str, str]] = {}
    for kind, message, count in failures:
        key, _ = failure_reason(kind, message)
        counts[key] = counts.get(key, 0) + count
        first.setdefault(key, (kind, *_split(_unwrapped(message))))
    return [FailureCause(*first[key], counts[key]) for key in sorted(counts, key=lambda key: -counts[key])]


def failure_causes(samples: Iterable[Sample]) -> list[FailureCause]:
    """Why calls of the system under test failed in these samples, most frequent first."""
    failures = (sample.call_result.failure for sample in samples)
    return causes_of((failure.kind, failure.message, 1) for failure in failures if failure is not None)


def _unwrapped(message: str) -> str:
    """A message without the status before it, as code and message where it is JSON."""
    text = _STATUS.sub("", message.strip())
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        data = None
    known = reported_error(data) if isinstance(data, (dict, list, str)) else ""
    return known or " ".join(text.split())


def _split(text: str) -> tuple[str, str]:
    """Code and rest of a message; "" and all of it when it begins with no code."""
    match = _CODE.match(text)
    return (match["code"], text[match.end() :]) if match and match.end() <= _LONGEST_CODE else ("", text)


def _reported(data: Any, depth: int) -> str:
    if isinstance(data, str):
        return data
    if isinstance(data, list) and depth:
        texts = list(dict.fromkeys(filter(None, (_reported(item, depth - 1) for item in data))))
        return f"{texts[0]} (and {len(texts) - 1} more)" if len(texts) > 1 else "".join(texts)
    if not isinstance(data, dict) or not depth:
        return ""
    inner = {name: _reported(data[name], depth - 1) for name in _MESSAGES if name in data}
    # In {error: invalid_grant, error_description: ...} the first is a code.
    short = inner.get("error", "")
    named = short if isinstance(data.get("error"), str) and len(inner) > 1 and not re.search(r"\s", short) else ""
    text = next((text for name, text in inner.items() if text and not (named and name == "error")), "")
    code = named or next((str(data[name]) for name in _CODES if _is_code(data.get(name))), "")
    if not text:
        return ""
    where = data.get("loc")
    text += f" ({'.'.join(map(str, where))})" if isinstance(where, list) and where else ""
    # What is inside may have its own code, which is nearer to the cause.
    return f"{code}: {text}" if code and not _CODE.match(text) and not text.startswith(code) else text


def _is_code(value: Any) -> bool:
    if isinstance(value, str):
        return 0 < len(value) <= _LONGEST_CODE and not re.search(r"\s", value)
    return isinstance(value, int) and not isinstance(value, bool)
