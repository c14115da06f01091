"""JSON out of an answer's text: whole text, fenced blocks, balanced objects, repair; and items out of an answer."""

from __future__ import annotations

import contextlib
import json
import math
import re
import sys
import time
from collections.abc import Callable, Iterator
from functools import lru_cache
from types import FrameType
from typing import Any, Final, NoReturn, Self

from steelyard.frozen import frozen
from steelyard.records import Item
from steelyard.suite.case import MISSING, compile_path, compile_place
from steelyard.suite.models import StabilityRules

# Strict JSON out of text that may be hostile: no crash, no infinities, bounded depth and bounded work.

BROKE_OFF: Final = "the answer broke off at the limit of tokens"
"""Said of an answer, be it of a target or a judge, that is `cut_off`."""
MAX_DEPTH: Final = 200
"""Deeper documents are refused: everything downstream may then walk them without care."""

_RECURSION_WORK: Final = 1_000
_WINDOW: Final = 4_096
_OPENER = re.compile(r'\{(?=\s*["}])|\[(?=\s*["\[{\]\d\-tfn])')
_BRACKET = re.compile(r"[\[\]{}]")
_ESCAPED_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_SURROGATE = re.compile("[\ud800-\udfff]")


def finite(digits: str) -> float | None:
    """The number; None when it is too large for one."""
    number = float(digits)
    return number if math.isfinite(number) else None


# Not a number, infinity and 1e999 are no values: they read as null, which a schema then judges.
_DECODER = json.JSONDecoder(parse_float=finite, parse_constant=lambda _: None)


class NotJson(ValueError):
    """The text is not one JSON document; the message says where it breaks."""


def read_json(text: str) -> Any:
    """The value of a text that is exactly one JSON document; NotJson otherwise. Of a repeated key the last counts."""
    stripped = text.strip()
    try:
        value, end = _DECODER.raw_decode(stripped)
    except json.JSONDecodeError as error:
        raise NotJson(f"{error.msg} at line {error.lineno}, column {error.colno}") from None
    except RecursionError:
        raise NotJson("it is nested too deeply") from None
    except ValueError:
        raise NotJson(f"a number in it has more than {sys.get_int_max_str_digits():,} digits") from None
    if end != len(stripped):
        raise NotJson(f"there is more text after the JSON, from character {end + 1} on")
    if not shallow(value, stripped):
        raise NotJson(f"it is nested more than {MAX_DEPTH} deep")
    return without_surrogates(value, stripped)


def embedded_values(text: str) -> Iterator[Any]:
    """Each outermost object or array that stands in the text and is not nested too deeply, in order."""
    for _, source, value in embedded_json(text, _DECODER):
        if shallow(value, source):
            yield without_surrogates(value, source)


def embedded_json(text: str, decoder: json.JSONDecoder, *, past_deep: bool = False) -> Iterator[tuple[int, str, Any]]:
    """Place, source and value of each outermost object or array that stands in the text, in order.

    Every bracket that could open a document is tried from there with the JSON parser itself, so braces of templates
    or stray quotes before it do no harm. What lies inside a document, even one that breaks off later, is part of that
    document and not given; so every character is read once, and only nesting bombs need a budget. Where one that is
    too deep for the parser ends cannot tell: it is the last, unless `past_deep` says to look inside it.
    """
    budget = len(text) + 100_000
    rest, offset, place = text, 0, 0
    while budget > 0 and (opener := _OPENER.search(rest, place)):
        start = opener.start()
        if start > _WINDOW:
            # A parse error counts the lines before it: without a fresh start, many errors cost the text squared.
            rest, offset, start = rest[start:], offset + start, 0
        try:
            value, place = decoder.raw_decode(rest, start)
        except json.JSONDecodeError as error:
            place = max(start + 1, error.pos)
            continue
        except (ValueError, RecursionError) as error:
            if isinstance(error, RecursionError) and not past_deep:
                return
            place = start + 1
            budget -= _RECURSION_WORK
            continue
        yield offset + start, rest[start:place], value


def shallow(value: Any, source: str) -> bool:
    """True when the value is nested at most MAX_DEPTH deep; `source` is the text it came from."""
    if source.count("{") + source.count("[") <= MAX_DEPTH:
        return True
    layer = [value]
    for _ in range(MAX_DEPTH + 1):
        inner: list[Any] = []
        for item in layer:
            if isinstance(item, dict):
                inner.extend(item.values())
            elif isinstance(item, list):
                inner.extend(item)
        layer = [item for item in inner if isinstance(item, (dict, list))]
        if not layer:
            return True
    return False


def bracket_depth(text: str) -> int:
    """How deep brackets are opened in the text, strings not regarded; a cheap upper guess."""
    deepest = depth = 0
    for bracket in _BRACKET.finditer(text):
        if bracket.group() in "[{":
            depth += 1
            deepest = max(deepest, depth)
        else:
            depth = max(0, depth - 1)
    return deepest


def without_surrogates(value: Any, source: str) -> Any:
    """The value with half characters replaced by U+FFFD: they cannot be stored, sent or shown."""
    if not _ESCAPED_SURROGATE.search(source) and not _SURROGATE.search(source):
        return value
    return _fixed(value)


def _fixed(value: Any) -> Any:
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value)
    if isinstance(value, list):
        return [_fixed(item) for item in value]
    if isinstance(value, dict):
        return {_fixed(key): _fixed(item) for key, item in value.items()}
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


# JSON schemas compiled once, that never fetch anything, with problems told in words.

MAX_PROBLEMS: Final = 5
"""How many problems of one answer are reported; more is noise."""

_LONGEST_HEAD: Final = 40
_LONGEST_TAIL: Final = 100


class SchemaValidator:
    """Says whether a value fits a schema, and if not, why."""

    def __init__(self, schema: Any) -> None:
        import jsonschema_rs

        try:
            self._validator = jsonschema_rs.validator_for(schema, retriever=_refuse)
        except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError, TypeError) as error:
            raise ValueError(f"this is not a JSON schema: {_shorten(str(error).splitlines()[0])}") from error
        self.schema = schema

    def fits(self, value: Any) -> bool:
        """True when the value fits; a value that cannot even be examined does not."""
        try:
            return bool(self._validator.is_valid(value))
        except (ValueError, TypeError, OverflowError, RecursionError):
            return False

    def problems(self, value: Any) -> list[str]:
        """What is wrong with the value, place first, at most five; empty when it fits."""
        results: list[str] = []
        try:
            for error in (inner for outer in self._validator.iter_errors(value) for inner in _nearest(outer)):
                if len(results) == MAX_PROBLEMS:
                    results.append("and more")
                    break
                place = ".".join(str(step) for step in error.instance_path)
                message = _shorten(error.message)
                results.append(f"{place}: {message}" if place else message)
        except (ValueError, TypeError, OverflowError, RecursionError) as error:
            results.append(f"it cannot be examined: {_shorten(str(error))}")
        return results


def compile_schema(schema: Any) -> SchemaValidator:
    """A validator for the schema; ValueError with a sentence when it is not one or refers to another document."""
    return SchemaValidator(schema)


def _nearest(error: Any) -> Iterator[Any]:
    """What is wrong by the form that comes nearest, where the schema allows several: the one that fits furthest in."""
    forms = [form for form in getattr(error.kind, "context", None) or () if form]
    if not forms:
        yield error
        return
    for inner in max(forms, key=lambda form: (max(len(item.instance_path) for item in form), -len(form))):
        yield from _nearest(inner)


def _refuse(address: str) -> NoReturn:
    raise ValueError(f"the schema refers to {address}, and remote references are refused: put the part inside it")


def _shorten(text: str) -> str:
    """Without its middle: a message begins with the value and ends with what is wrong with it."""
    if len(text) <= _LONGEST_HEAD + _LONGEST_TAIL:
        return text
    return f"{text[:_LONGEST_HEAD]}…{text[-_LONGEST_TAIL:]}"


# Stops a call of a library that offers no limit of its own.

_EVENTS_A_LOOK = 64
"""Calls and returns between two looks at the clock, which costs more than they do."""


class OutOfTime(BaseException):
    """The limit is reached. Not an Exception, so that the library's own handlers let it through."""


class CpuLimit:
    """Raises OutOfTime inside the `with` block once its thread has used so many seconds of CPU in all of its blocks.

    It looks at the clock when a Python function is called or returns, so one long call into C is not stopped.
    """

    def __init__(self, seconds: float) -> None:
        self._left = seconds
        self._events = 0

    def __enter__(self) -> Self:
        self._began, self._before = time.thread_time(), sys.getprofile()
        sys.setprofile(self._look)
        return self

    def __exit__(self, *exc_info: object) -> None:
        sys.setprofile(self._before)
        self._left -= time.thread_time() - self._began

    def _look(self, _frame: FrameType, _event: str, _argument: Any) -> None:
        self._events += 1
        if self._events % _EVENTS_A_LOOK == 0 and time.thread_time() - self._began > self._left:
            raise OutOfTime


# One extraction from what a system printed to the structured answer in it.

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
class Extracted:
    """What the extraction found: `step` names how, None when nothing fits and `problems` says why."""

    value: Any
    step: str | None
    problems: tuple[str, ...] = ()
    best: str = ""
    """Where nothing fits, the part of the text that `problems` are about: "" when nothing in it looks like JSON."""


def extract_json(text: str, validator: SchemaValidator | None = None, *, repair: bool = True) -> Extracted:
    """The answer in the text with the step it was found on, or the problems of the best candidate. Never raises.

    Without `repair` only JSON that stands in the text as valid JSON counts, whatever is around it.
    """
    # A bare word before a colon is a key only when a schema can confirm it; otherwise it may be prose in braces.
    begins = _BEGINS_AS_JSON if validator else _BEGINS_QUOTED
    gave_up: list[str] = []
    repaired: list[tuple[str, Any]] = []
    for step, source, value in _candidates(text, begins, gave_up, repair=repair):
        if validator.fits(value) if validator else isinstance(value, (dict, list)):
            return Extracted(value, step)
        if step == "repaired":
            repaired.append((source, value))
    best, fenced = _best_candidate(text)
    return Extracted(None, None, (*_problems(text, best, fenced, validator, repaired), *gave_up), best)


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


# Why an answer is malformed: what is wrong with its best candidate, never with a log line beside it.

_STRING_OR_BRACKET = re.compile(r'"(?:[^"\\\n]|\\.)*+"|[\[\]{}]')
_LOOKS_LIKE_JSON = re.compile(rf"{_OPENER.pattern}|{_BEGINS_AS_JSON.pattern}")


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


# What repeats of the same question are compared by: the items of an answer with their keys and declared fields.


def items_of(rules: StabilityRules, answer: Any) -> tuple[Item, ...]:
    """The items of one answer in their order; none when the answer has no list there.

    An item without the key has the key "": it is kept, and compared with others without one.
    """
    return _stability_reader(rules.items, rules.key, tuple(rules.fields))(answer)


@lru_cache(maxsize=64)
def _stability_reader(items: str, key: str, fields: tuple[str, ...]) -> Callable[[Any], tuple[Item, ...]]:
    place, key_of = compile_place(items), compile_path(key)
    getters = [compile_path(field) for field in fields]

    def read(answer: Any) -> tuple[Item, ...]:
        result = place.values(answer) or []
        if place.single and len(result) == 1:
            # The list itself may be named, with or without [] behind it.
            result = result[0] if isinstance(result[0], list) else []
        return tuple([Item(key_text(key_of(item)), tuple([_plain(get(item)) for get in getters])) for item in result])

    return read


def key_text(value: Any) -> str:
    """A key as text, the same for the same plain data: 3 and 3.0 are "3", true is "true"; "" when there is none."""
    if value is None or value is MISSING:
        return ""
    if isinstance(value, str):
        return value
    return json.dumps(_whole(value), ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def _whole(value: Any) -> Any:
    """The data with every number that is whole written as such."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, (list, tuple)):
        return [_whole(inner) for inner in value]
    if isinstance(value, dict):
        return {str(name): _whole(inner) for name, inner in value.items()}
    return value


def _plain(value: Any) -> Any:
    return None if value is MISSING else value
