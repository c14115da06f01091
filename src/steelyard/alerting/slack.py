"""A message as Slack's incoming webhooks take it: `{"text": ...}`, in which nothing foreign is markup."""

from __future__ import annotations

import re
from typing import Any

from steelyard.alerting.notices import Message, Notice

_MOST_NOTICES = 15
_SIGNS = {"error": ":red_circle:", "warning": ":large_yellow_circle:", "notice": ":large_green_circle:"}
_BREAK = "\u200b"
_MARKS = re.compile(r"(?=[*_~`@#:])|(?<=[*_~`@#:])")


def slack_shape(message: Message) -> dict[str, Any]:
    """The message as the JSON that Slack, and those that took over its shape, understand."""
    blocks = [_block(each, message.suite) for each in message.notices[:_MOST_NOTICES]]
    left = len(message.notices) - len(blocks)
    blocks += [f"and {left} more: `steelyard alerts list`"] if left > 0 else []
    return {"text": "\n\n".join(blocks)}


def _block(notice: Notice, suite: str) -> str:
    facts = notice.facts()
    lines = [f"{_SIGNS[notice.level]} *{plain(suite)}*: {plain(facts[0][1])}"]
    lines += [f"*{label}*  {plain(text)}" for label, text in facts[1:] if label != "Look"]
    lines += [f"*{label}*\n{fenced(text)}" for label, text in notice.quotes()]
    lines.append(f"*Look*  `{_escaped(_without_ticks(notice.command))}`")
    return "\n".join(lines)


def plain(text: str) -> str:
    """Foreign text in which nothing is a link, a mention, an emoji or markup."""
    return _escaped(_MARKS.sub(_BREAK, text))


def fenced(text: str) -> str:
    """Foreign text as a block of code that nothing in it can end."""
    return f"```\n{_escaped(_without_ticks(text))}\n```"


def _without_ticks(text: str) -> str:
    return text.replace("`", "'")


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
