"""JSON out of an answer's text: whole text, fenced blocks, balanced objects, repair."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator
from typing import Any, Final

from steelyard.frozen import frozen
from steelyard.scoring.cpu_limit import CpuLimit, OutOfTime
from steelyard.scoring.json_schema import SchemaValidator
from steelyard.scoring.json_text import OPENER, NotJson, bracket_depth, embedded_values, read_json, without_surrogates

FENCE: Final = "```"
MAX_REPAIR_CHARACTERS: Final = 32_000
"""Longer texts are not repaired: the repairer's time grows faster than the text."""

MAX_REPAIR_SECONDS: Final = 0.5
"""CPU that all repairs of one answer may take together; on some short texts the repairer takes minutes."""

MAX_REPAIR_DEPTH: Final = 64
_MAX_REPAIRS: Final = 3
_MAX_TRIED: Final = 1_000
"""Candidates of one kind that are compared with the schema: a megabyte can hold 300,000."""
_INFO_LINE = re.compile(r"[ \t]*(?:[A-Za-z][^\n{\[]*)?\r?\n")
_INLINE_LANGUAGE = re.compile(r"\s*[A-Za-z]\w*\s*(?=[{\[])")
_BEGINS_QUOTED = re.compile(r"""\{\s*(?:"[^"\n]{1,200}"|'[^'\n]{1,200}')\s*:|\[\s*["'{]""")
_BEGINS_ESCAPED = re.compile(r"""\s*[\[{]\s*+(?:\{\s*+)?\\["]""")
_BEGINS_AS_JSON = re.compile(rf"""{_BEGINS_QUOTED.pattern}|\{{\s*[A-Za-z_][\w\-]{{0,60}}\s*:""")


@frozen
class Extraction:
    """What the extraction found: `step` names how, None when nothing fits and `problems` says why."""

    value: Any
    step: str | None
    problems: tuple[str, ...] = ()
    best: str = ""
    """Where nothing fits, the part of the text that `problems` are about: "" when nothing in it looks like JSON."""


def extract_json(text: str, validator: SchemaValidator | None = None, *, repair: bool = True) -> Extraction:
    """The answer in the text with the step it was found on, or the problems of the best candidate. Never raises.

    Without `repair` only JSON that stands in the text as valid JSON counts, whatever is around it.
    """
    # A bare word before a colon is a key only when a schema can confirm it; otherwise it may be prose in braces.
    begins = _BEGINS_AS_JSON if validator else _BEGINS_QUOTED
    gave_up: list[str] = []
    repaired: list[tuple[str, Any]] = []
    for step, source, value in _candidates(text, begins, gave_up, repair=repair):
        if validator.fits(value) if validator else isinstance(value, (dict, list)):
            return Extraction(value, step)
        if step == "repaired":
            repaired.append((source, value))
    best, fenced = _best_candidate(text)
    return Extraction(None, None, (*_problems(text, best, fenced, validator, repaired), *gave_up), best)


def _candidates(
    text: str, begins: re.Pattern[str], gave_up: list[str], *, repair: bool
) -> Iterator[tuple[str, str, Any]]:
    """Step, the text it was tried on, and value of everything in the text that could be the answer, in order."""
    try:
        yield "whole", text, read_json(text)
    except NotJson:
        pass
    else:
        return  # a document that parses has no other reading
    blocks = _first(list(_fenced(text)), "fenced blocks", gave_up)
    for block in blocks:
        try:
            yield "fenced", block, read_json(block)
        except NotJson:
            continue
    embedded = list(embedded_values(text))
    for kind in (dict, list):
        listed = [value for value in reversed(embedded) if isinstance(value, kind)]
        for value in _first(listed, "JSON values", gave_up):
            yield "balanced", text, value
    if repair:
        yield from (("unescaped", text, value) for value in _unescaped([*blocks, text]))
        yield from (("repaired", *pair) for pair in _repaired([*blocks, text], begins, gave_up))


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


def _repaired(texts: list[str], begins: re.Pattern[str], gave_up: list[str]) -> Iterator[tuple[str, Any]]:
    """Broken documents and what `json-repair` makes of them; why one was left as it is goes to `gave_up`."""
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
        # Imported before the clock starts, and not before an answer needs it: few do.
        from json_repair import repair_json

        try:
            with time_left:
                value = _repair(broken, repair_json)
        except OutOfTime:
            gave_up.append(f"its repair was given up after {MAX_REPAIR_SECONDS:g} s")
            return
        if value is not None:
            yield broken, value
        if len(seen) == _MAX_REPAIRS:
            return


def _repair(broken: str, repair: Callable[..., Any]) -> Any:
    """The fixed object or array; None when there is none, it is empty, or a key of it is not in the text."""
    try:
        value = repair(broken, return_objects=True, skip_json_loads=True)
    except (ValueError, RecursionError, IndexError, TypeError, KeyError, AttributeError):
        return None  # the repairer gives up in many ways on hostile text; none of them is an answer
    if broken.startswith("{") and isinstance(value, list):
        # Several documents in a row come back as a list that nobody wrote: the first one was being fixed.
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


_STRING_OR_BRACKET = re.compile(r'"(?:[^"\\\n]|\\.)*+"|[\[\]{}]')
_LOOKS_LIKE_JSON = re.compile(rf"{OPENER.pattern}|{_BEGINS_AS_JSON.pattern}")


def _best_candidate(text: str) -> tuple[str, bool]:
    """The largest fenced block that begins as JSON does, else the largest such part of the text; and if it is fenced.

    "" where there is none. The text itself where it is JSON as a whole.
    """
    try:
        read_json(text)
    except NotJson:
        pass
    else:
        return text.strip(), False
    blocks = [block.strip() for block in _fenced(text) if _LOOKS_LIKE_JSON.match(block.lstrip())]
    if blocks:
        return max(blocks, key=len), True
    return max(_documents(text), key=len, default=""), False


def _documents(text: str) -> Iterator[str]:
    """Each outermost part of the text that begins as JSON does, to the bracket that closes it.

    One that nothing closes goes to the end of the text if it begins with a key or a text: an answer that broke off.
    """
    budget, place = 4 * len(text) + 100_000, 0
    while budget > 0 and (opener := _LOOKS_LIKE_JSON.search(text, place)):
        start = opener.start()
        end = _closed_at(text, start)
        budget -= (end or len(text)) - start
        if end is None and not _BEGINS_AS_JSON.match(text, start):
            place = start + 1
            continue
        place = end or len(text)
        yield text[start:place].strip()


def _closed_at(text: str, start: int) -> int | None:
    """Where the bracket that opens at `start` is closed, brackets in strings not regarded; None when it is not."""
    depth = 0
    for token in _STRING_OR_BRACKET.finditer(text, start):
        if token.group() in ("{", "["):
            depth += 1
        elif token.group() in ("}", "]"):
            depth -= 1
            if depth == 0:
                return token.end()
    return None


def _problems(
    text: str, best: str, fenced: bool, validator: SchemaValidator | None, repaired: list[tuple[str, Any]]
) -> tuple[str, ...]:
    """What is wrong with the best candidate, as it stands or as it was repaired."""
    if not text or text.isspace():
        return ("the answer is empty",)
    if not best:
        return ("there is no JSON object or array in the answer",)
    try:
        value = read_json(best)
    except NotJson as error:
        fixed = [value for source, value in repaired if source.startswith(best) or best.startswith(source)]
        if not fixed:
            part = "the fenced block" if fenced else "the JSON"
            return (f"{part} in the answer cannot be read: {error}",)
        value = fixed[0]
    if validator is not None:
        return tuple(validator.problems(value)) or ("it does not fit the schema",)
    return (f"it is {_kind(value)}, not an object or an array",)


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true or false"
    return "a text" if isinstance(value, str) else "a number"
