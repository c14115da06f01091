"""Paths into cases and answers: dotted ones and JSONPath."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields
from functools import lru_cache
from typing import Any, Final

from steelyard.errors import UsageError
from steelyard.frozen import frozen
from steelyard.suite.case import Attachment, Case
from steelyard.suite.patterns import Searched, Unsearchable, fits


class _Missing:
    """The type of MISSING: false, and says so when printed."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "MISSING"

    def __bool__(self) -> bool:
        return False

    def __reduce__(self) -> str:
        return "MISSING"


MISSING: Final = _Missing()
"""What a path gives when there is nothing at that place; a null that is there is None."""

EVERY: Final = "[]"
"""The step that goes on with every element of a list."""

_STEP = re.compile(r'"((?:[^"\\]|\\.)*)"|([^.\[\]"]+)')
_FIELDS = frozenset(item.name for kind in (Case, Attachment) for item in fields(kind))

Getter = Callable[[Any], Any]


def split_path(text: str) -> tuple[str, ...]:
    """The steps of a path, `[]` being a step of its own; ValueError with a sentence when it is not a path."""
    steps: list[str] = []
    place = 0
    while place < len(text):
        if steps and text.startswith(EVERY, place):
            steps.append(EVERY)
            place += len(EVERY)
            continue
        if steps:
            if text[place] != ".":
                raise ValueError(_broken(text, place))
            place += 1
        match = _STEP.match(text, place)
        if match is None:
            if not steps and text.startswith(EVERY, place):
                steps.append(EVERY)
                place += len(EVERY)
                continue
            raise ValueError(_broken(text, place))
        quoted, plain = match.groups()
        steps.append(re.sub(r"\\(.)", r"\1", quoted) if quoted is not None else plain.strip())
        if not steps[-1] and quoted is None:
            raise ValueError(_broken(text, place))
        place = match.end()
    return tuple(steps)


def path_step(name: str) -> str:
    """A key as a step of a path, in quotes where it has signs that a path has."""
    if any(sign in name for sign in '.[]"\\'):
        escaped = name.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{escaped}"'
    return name


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """What groups of keys hold, by path."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, f"{path}.{path_step(key)}" if path else path_step(key))
    elif value is not MISSING:
        yield path, value


def put(data: Any, steps: Sequence[str], value: Any) -> Any:
    """The data with a value at a path, or, for MISSING, with none there."""
    if not steps:
        return value
    step, rest = steps[0], steps[1:]
    if isinstance(data, list) and step.isdecimal() and int(step) < len(data):
        inner = put(data[int(step)], rest, value)
        return [*data[: int(step)], *([] if inner is MISSING else [inner]), *data[int(step) + 1 :]]
    if data is not None and data is not MISSING and not isinstance(data, dict):
        raise UsageError(f"there is no {step!r} in {data!r}: it is no group of keys")
    fields: dict[str, Any] = data if isinstance(data, dict) else {}
    inner = put(fields.get(step, MISSING), rest, value)
    return {key: item for key, item in (fields | {step: inner}).items() if item is not MISSING}


def in_answer(path: str) -> str | None:
    """The rest of a path that begins with `answer.`, which leads into the answer; None for one into the case."""
    first, _, rest = path.partition(".")
    return rest if first == "answer" and rest else None


@lru_cache(maxsize=4096)
def compile_path(text: str) -> Getter:
    """A function from data (or a Case) to the value at the path, or MISSING; it never raises.

    `""` is the whole. A step into a list is a number from 0; `[]` goes on with each element and gives a list without
    the elements that lack the rest of the path. ValueError with a sentence when the text is not a path.
    """
    return _getter(split_path(text))


def _getter(steps: Sequence[str]) -> Getter:
    if EVERY in steps:
        at = list(steps).index(EVERY)
        return _every(_getter(steps[:at]), _getter(steps[at + 1 :]))
    walk = tuple((step, int(step) if step.isascii() and step.isdigit() else None) for step in steps)

    def get(data: Any) -> Any:
        for key, index in walk:
            if isinstance(data, dict):
                data = data.get(key, MISSING)
            elif isinstance(data, (list, tuple)):
                if index is None or index >= len(data):
                    return MISSING
                data = data[index]
            elif isinstance(data, (Case, Attachment)) and key in _FIELDS:
                data = getattr(data, key, MISSING)
            else:
                return MISSING
        return data

    return get


def _every(before: Getter, after: Getter) -> Getter:
    def get(data: Any) -> Any:
        items = before(data)
        if not isinstance(items, (list, tuple)):
            return MISSING
        return [value for value in map(after, items) if value is not MISSING]

    return get


def _broken(text: str, place: int) -> str:
    return f"{text!r} is not a path: it breaks at character {place + 1}; write steps joined by dots, like expected.name"


# One step of a query that leads to at most one place. Names with escapes are left to the library.
_PLACE_STEP = re.compile(
    # All that is not ASCII is a letter. Said by what is none: Python takes 5 ms to compile the range of letters.
    r"""\.(?P<name>[^\x00-@\[-^`{-\x7f][^\x00-/:-@\[-^`{-\x7f]*)"""
    r"""|\[(?P<index>0|-?[1-9]\d{0,15})\]|\['(?P<single>[^'\\]*)'\]|\["(?P<double>[^"\\]*)"\]"""
)

MOST_VALUES: Final = 50_000
"""Values in an answer, inner ones included, that a query which branches is let loose on."""

Values = list[Any]
Step = str | int


@frozen
class AnswerPlace:
    """A place that may hold one value, or any number of them."""

    text: str
    single: bool
    """True when the path itself leads to at most one value."""
    start: tuple[Step, ...]
    """The steps before it branches: what must be there for anything to be found or missed."""
    values: Callable[[Any], Values | None]
    """From an answer to the values there; None when not even the start of the path is there. Raises Unsearchable."""

    @property
    def start_text(self) -> str:
        """The start as a dotted path."""
        return ".".join(str(step) for step in self.start)


@lru_cache(maxsize=4096)
def compile_place(text: str) -> AnswerPlace:
    """The place that a text names; ValueError with a sentence when it names none."""
    return _query(text) if text.lstrip().startswith("$") else _dotted(text)


def _dotted(text: str) -> AnswerPlace:
    steps, get = split_path(text), compile_path(text)
    if EVERY not in steps:
        return AnswerPlace(text, True, steps, lambda answer: _single(get(answer)))
    branches = steps.count(EVERY)

    def values(answer: Any) -> Values | None:
        results = get(answer)
        if results is MISSING:
            return None
        for _ in range(branches - 1):
            results = [value for part in results for value in part]
        return list(results)

    return AnswerPlace(text, False, steps[: steps.index(EVERY)], values)


def _query(text: str) -> AnswerPlace:
    query = text.strip()
    start, rest = _start(query[1:])
    if not rest:
        return AnswerPlace(query, True, start, lambda answer: _single(_walk(answer, start)))
    find = _compiled(query)

    def values(answer: Any) -> Values | None:
        # The library would read a text as a JSON document of its own.
        if not isinstance(answer, (dict, list)) or _walk(answer, start) is MISSING:
            return None
        return find(answer)

    return AnswerPlace(query, False, start, values)


def _start(rest: str) -> tuple[tuple[Step, ...], str]:
    """The leading steps that lead to at most one place, and the text after them."""
    steps: list[Step] = []
    while step := _PLACE_STEP.match(rest):
        index = step["index"]
        names = (step["name"], step["single"], step["double"])
        steps.append(int(index) if index is not None else next(name for name in names if name is not None))
        rest = rest[step.end() :]
    return tuple(steps), rest


def _walk(answer: Any, steps: tuple[Step, ...]) -> Any:
    """As RFC 9535 has it: a name only leads into an object, a number only into a list, from its end when below 0."""
    for step in steps:
        if isinstance(step, str):
            if not isinstance(answer, dict) or step not in answer:
                return MISSING
        elif not isinstance(answer, list) or not -len(answer) <= step < len(answer):
            return MISSING
        answer = answer[step]
    return answer


def _single(value: Any) -> Values | None:
    return None if value is MISSING else [value]


def _compiled(query: str) -> Callable[[Any], Values]:
    """The query by the library, which is only imported for queries that branch."""
    import jsonpath

    try:
        compiled = _environment().compile(query)
    except (jsonpath.JSONPathError, RecursionError) as error:
        message = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ValueError(f"{query!r} is not a JSONPath (RFC 9535): {message}") from None

    def find(answer: Any) -> Values:
        _refuse_many(answer)
        _under_way.searched = Searched()
        try:
            return list(compiled.findall(answer))
        except RecursionError:
            raise Unsearchable("the answer is nested too deeply to be searched") from None

    return find


def _refuse_many(answer: Any) -> None:
    """Unsearchable for an answer with so many values that the library would hold up the whole run over them."""
    left, layer = MOST_VALUES, [answer]
    while layer:
        inner = [value.values() if isinstance(value, dict) else value for value in layer]
        left -= sum(map(len, inner))
        if left < 0:
            raise Unsearchable(f"the answer holds more than {MOST_VALUES:,} values to search")
        layer = [value for values in inner for value in values if isinstance(value, (dict, list))]


class _UnderWay(threading.local):
    """What the query that is under way may still look at; the library has no place for it."""

    searched = Searched()


_under_way = _UnderWay()


@lru_cache(maxsize=1)
def _environment() -> Any:
    import jsonpath
    from jsonpath.function_extensions import Match, Search

    environment = jsonpath.JSONPathEnvironment(strict=True)

    def limited(function: type[Match] | type[Search], *, whole: bool) -> Any:
        class Limited(function):  # type: ignore[misc, valid-type]
            """The library's function, on the head of a long text and for a limited time."""

            def __call__(self, value: object, pattern: object) -> bool:
                compiled = self.check_cache(pattern) if isinstance(pattern, str) else None
                if compiled is None or not isinstance(value, str):
                    return False
                return fits(compiled, _under_way.searched.head(value), whole=whole)

        return Limited()

    environment.function_extensions |= {"match": limited(Match, whole=True), "search": limited(Search, whole=False)}
    return environment
