"""A failed call in a few words: the kind, and what the other side said of it without its wrapping."""

from __future__ import annotations

import json
import re
from typing import Any

_ANSWERED = re.compile(r"^answered \d{3}: ?")
_DIGIT = re.compile(r"\d")
_SAID_IN = ("message", "detail", "error", "error_description", "title")


def failure_words(kind: str, message: str) -> str:
    """`http_401 Incorrect API key provided`; the kind alone when nothing more is known."""
    said = " ".join(_said(_ANSWERED.sub("", message.strip())).split())
    return f"{kind} {said}".strip()


def failure_reason(kind: str, message: str) -> tuple[str, str]:
    """What tells the reason of a failure from others, and the reason in words.

    Messages of servers hold numbers and ids that differ from call to call: words with a digit in them do not tell.
    """
    words = failure_words(kind, message)
    same = (word for word in words.removeprefix(kind).split() if _DIGIT.search(word) is None)
    return f"{kind} {' '.join(same)}", words


def _said(message: str) -> str:
    """The message of an error that is JSON; any other message as it is."""
    try:
        body = json.loads(message)
    except (ValueError, RecursionError):
        return message
    return _inside(body) or message


def _inside(body: Any, depth: int = 3) -> str:
    if isinstance(body, str):
        return body
    if not isinstance(body, dict) or not depth:
        return ""
    found = (_inside(body[name], depth - 1) for name in _SAID_IN if name in body)
    return next((text for text in found if text), "")
