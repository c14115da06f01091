"""Sentences of a text that speak to its judge: they may stand there, and they prove nothing."""

from __future__ import annotations

import re
from typing import Final

from steelyard.judging.fence import visible

_WHOM = r"(?:judge|evaluator|grader|reviewer|rater|assessor)"
_ORDER: Final = re.compile(
    r"\b(?:ignore|disregard|forget|override)\b.{0,40}\b(?:above|previous|prior|earlier|instructions?|rubric|prompt)\b"
    r"|\b(?:give|assign|award|rate|score|grade|mark)\b.{0,60}\b(?:highest|maximum|top|full|perfect)\s+"
    r"(?:scores?|marks?|points?|rating|grade)\b"
    r"|\b(?:highest|maximum|full|perfect)\s+(?:scores?|marks?)\b"
    r"|\bset\b.{0,30}\bflags?\b"
    r"|(?:^|(?<=\w)(?=\W*?[.!?]\s))\W*+(?:system|assistant|developer)\s*(?:prompt|message|turn)?\s*:"
    r"|<\|[a-z_]+\|>|\[/?INST\]|<</?SYS>>|<<<(?:BEGIN|END)"
    r"|\b(?:new|updated)\s+(?:instructions?|rubric|scale)\b|\brubric\s+(?:update|change)"
    rf"|\b(?:dear|attention|note\s+to(?:\s+the)?|message\s+to(?:\s+the)?)\s+{_WHOM}\b|\b{_WHOM}['’]?s?\s+note\b"
    rf"|\byou\s+are\s+(?:the|a|an)\s+{_WHOM}\b"
    r"|\bpre-?computed\s+metrics\b"
    r"|\b(?:copy|output|return)\b.{0,30}\b(?:json|answer|scores?)\b"
    r"|\byour\s+answer\b.{0,40}\bchecked\b"
    r"""|["']\w+["']\s*:\s*(?:\d|true\b|false\b)""",
    re.IGNORECASE | re.MULTILINE,
)
_HINTS: Final = (
    *("ignore", "disregard", "forget", "override", "score", "mark", "flag", "system", "assistant", "developer", "<|"),
    *("inst]", "sys>>", "<<<", "instruction", "rubric", "scale", "judge", "evaluator", "grader", "reviewer", "rater"),
    *("assessor", "metrics", "json", "your answer", "points", "rating", "grade", '":', "':", '" :', "' :"),
)
"""Every order holds one of these: looking for them first takes a fraction of the time."""
_HIDDEN: Final = re.compile(r"<U\+[0-9A-F]{4,6}>")
"""What an unseen character becomes when it is made visible."""
_PIECES: Final = re.compile(r"(?<=[.!?\])])[ \t]+|\n+")


def without_orders(text: str) -> tuple[str, str]:
    """The text without the sentences that speak to a judge or hide something, and those sentences."""
    seen = visible(text)
    bare = _HIDDEN.sub("", seen)
    if bare == seen and not _may_hold_order(text):
        return text, ""
    retained: list[str] = []
    orders: list[str] = []
    for piece in _PIECES.split(seen):
        shown = _HIDDEN.sub("", piece)
        if shown == piece and not (_may_hold_order(shown) and _ORDER.search(shown)):
            retained.append(shown)
        else:
            orders.append(shown or piece)
    return ("\n".join(retained), "\n".join(orders)) if orders else (text, "")


def _may_hold_order(text: str) -> bool:
    lowered = text.lower()
    return any(hint in lowered for hint in _HINTS)
