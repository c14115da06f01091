"""One ladder from what a system printed to the structured answer in it.

Rungs, tried in this order; the first candidate that fits the schema wins and its rung is recorded:

whole      the text is one JSON document
fenced     the content between two fences (three backticks, language or none), the last block first: drafts and
           echoed prompts come before the answer
balanced   each outermost object or array standing in the text, the last first, objects before arrays
unescaped  a document written as the inside of a JSON text, with every quote escaped
repaired   a broken document mended by `json-repair`; only text that plainly began as JSON is tried, and only a
           result with content whose keys stand in the text is accepted, so that prose never becomes an answer

Without a schema any object or array fits. Parts of a document that parses are not tried on their own: a wrapped
answer is an answer in the wrong shape. Neither are parts of one that breaks off; repair gets it as a whole.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import json_repair

from steelyard.answer.cpu_limit import CpuLimit, OutOfTime
from steelyard.answer.reading import NotJson, bracket_depth, embedded_values, read_json, without_surrogates
from steelyard.answer.schema import SchemaValidator

FENCE: Final = "```"
MAX_REPAIR_CHARACTERS: Final = 32_000
"""Longer texts are not repaired: the repairer's time grows faster than the text."""

MAX_REPAIR_SECONDS: Final = 0.5
"""CPU that all repairs of one answer may take together; on some short texts the repairer takes minutes."""

MAX_REPAIR_DEPTH: Final = 64
_MAX_REPAIRS: Final = 3
_MAX_TRIED: Final = 1_000
"""Candidates of one kind that are held against the schema: a megabyte can hold 300,000."""
_MAX_EXPLAINED: Final = 20
_INFO_LINE = re.compile(r"[ \t]*(?:[A-Za-z][^\n{\[]*)?\r?\n")
_INLINE_LANGUAGE = re.compile(r"\s*[A-Za-z]\w*\s*(?=[{\[])")
_BEGINS_QUOTED = re.compile(r"""\{\s*(?:"[^"\n]{1,200}"|'[^'\n]{1,200}')\s*:|\[\s*["'{]""")
_BEGINS_ESCAPED = re.compile(r"""\s*[\[{]\s*+(?:\{\s*+)?\\["]""")
_BEGINS_AS_JSON = re.compile(rf"""{_BEGINS_QUOTED.pattern}|\{{\s*[A-Za-z_][\w\-]{{0,60}}\s*:""")


@dataclass(frozen=True, slots=True)
class Climbed:
    """What the ladder found: `rung` names how, None when nothing fits and `problems` says why."""

    value: Any
    rung: str | None
    problems: tuple[str, ...] = ()


def climb(text: str, validator: SchemaValidator | None = None, *, repair: bool = True) -> Climbed:
    """The answer in the text with the rung it was found on, or the problems of the best candidate. Never raises.

    Without `repair` only JSON that stands in the text as valid JSON counts, whatever is around it.
    """
    nearest = _Nearest(validator)
    # A bare word before a colon is a key only when a schema can confirm it; otherwise it may be prose in braces.
    begins = _BEGINS_AS_JSON if validator else _BEGINS_QUOTED
    gave_up: list[str] = []
    for rung, value in _candidates(text, begins, gave_up, repair=repair):
        if validator.fits(value) if validator else isinstance(value, (dict, list)):
            return Climbed(value, rung)
        nearest.consider(value)
    return Climbed(None, None, (*nearest.problems(text), *gave_up))


def _candidates(text: str, begins: re.Pattern[str], gave_up: list[str], *, repair: bool) -> Iterator[tuple[str, Any]]:
    try:
        yield "whole", read_json(text)
    except NotJson:
        pass
    else:
        return  # a document that parses has no other reading
    blocks = _first(list(_fenced(text)), "fenced blocks", gave_up)
    for block in blocks:
        try:
            yield "fenced", read_json(block)
        except NotJson:
            continue
    embedded = list(embedded_values(text))
    for kind in (dict, list):
        listed = [value for value in reversed(embedded) if isinstance(value, kind)]
        for value in _first(listed, "JSON values", gave_up):
            yield "balanced", value
    if repair:
        yield from (("unescaped", value) for value in _unescaped([*blocks, text]))
        yield from (("repaired", value) for value in _repaired([*blocks, text], begins, gave_up))


def _first(last_first: list[Any], kind: str, gave_up: list[str]) -> list[Any]:
    """As many as are tried; that some were not goes to `gave_up`."""
    if len(last_first) > _MAX_TRIED:
        gave_up.append(f"of its {len(last_first):,} {kind} only the last {_MAX_TRIED:,} were tried")
    return last_first[:_MAX_TRIED]


def _fenced(text: str) -> Iterator[str]:
    """What stands after each fence, last first. Every piece is given, so that a stray fence cannot shift the pairs."""
    for piece in reversed(text.split(FENCE)[1:]):
        info = _INFO_LINE.match(piece) or _INLINE_LANGUAGE.match(piece)
        body = piece[info.end() :] if info else piece
        if body and not body.isspace():
            yield body


def _unescaped(texts: list[str]) -> Iterator[Any]:
    """A document that was written as the inside of a JSON text, quotes and all: {\\"a\\": 1}."""
    for text in texts:
        if _BEGINS_ESCAPED.match(text):
            with contextlib.suppress(NotJson):
                yield read_json(str(read_json(f'"{text.strip()}"')))


def _repaired(texts: list[str], begins: re.Pattern[str], gave_up: list[str]) -> Iterator[Any]:
    """Broken documents as `json-repair` mends them; why one was left as it is goes to `gave_up`."""
    seen: set[str] = set()
    time_left = CpuLimit(MAX_REPAIR_SECONDS)
    for text in texts:
        begin = begins.search(text)
        if begin is None:
            continue
        broken = text[begin.start() :].strip()
        if broken in seen or bracket_depth(broken) > MAX_REPAIR_DEPTH:
            continue
        if len(broken) > MAX_REPAIR_CHARACTERS:
            gave_up.append(f"it was not repaired: it is longer than {MAX_REPAIR_CHARACTERS:,} characters")
            continue
        seen.add(broken)
        try:
            with time_left:
                value = _repair(broken)
        except OutOfTime:
            gave_up.append(f"its repair was given up after {MAX_REPAIR_SECONDS:g} s")
            return
        if value is not None:
            yield value
        if len(seen) == _MAX_REPAIRS:
            return


def _repair(broken: str) -> Any:
    """The mended object or array; None when there is none, it is empty, or a key of it is not in the text."""
    try:
        value = json_repair.repair_json(broken, return_objects=True, skip_json_loads=True)
    except (ValueError, RecursionError, IndexError, TypeError, KeyError, AttributeError):
        return None  # the repairer gives up in many ways on hostile text; none of them is an answer
    if broken.startswith("{") and isinstance(value, list):
        # Several documents in a row come back as a list that nobody wrote: the first one was being mended.
        value = next((item for item in value if isinstance(item, dict)), None)
    if not isinstance(value, (dict, list)) or not value:
        return None
    if isinstance(value, dict) and not all(_stands_as_key(key, broken) for key in value):
        return None
    return without_surrogates(value, broken + "\\ud8")


def _stands_as_key(key: str, text: str) -> bool:
    if re.search(rf"""["']?{re.escape(key)}["']?\s*:""", text):
        return True
    return "\\" in text and key.isprintable()


class _Nearest:
    """Remembers the candidate with the fewest problems, to explain a malformed answer."""

    def __init__(self, validator: SchemaValidator | None) -> None:
        self._validator = validator
        self._explained = 0
        self._problems: list[str] | None = None

    def consider(self, value: Any) -> None:
        if self._explained == _MAX_EXPLAINED:
            return
        self._explained += 1
        if self._validator is None:
            problems = [f"it is {_kind(value)}, not an object or an array"]
        else:
            problems = self._validator.problems(value) or ["it does not fit the schema"]
        if self._problems is None or len(problems) < len(self._problems):
            self._problems = problems

    def problems(self, text: str) -> tuple[str, ...]:
        if self._problems is not None:
            return tuple(self._problems)
        if not text or text.isspace():
            return ("the answer is empty",)
        if _BEGINS_AS_JSON.search(text) is None and text.lstrip()[0] not in "[{":
            return ("there is no JSON object or array in the answer",)
        return (f"the JSON in the answer cannot be read: {_where_it_breaks(text)}",)


def _where_it_breaks(text: str) -> str:
    begin = _BEGINS_AS_JSON.search(text)
    try:
        read_json(text[begin.start() :] if begin else text)
    except NotJson as error:
        return str(error)
    return "it could not be mended"


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true or false"
    return "a text" if isinstance(value, str) else "a number"
