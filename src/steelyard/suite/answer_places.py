"""Places in an answer as a suite writes them: a dotted path, or a JSONPath query (RFC 9535) that begins with `$`."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from steelyard.suite.paths import EACH, MISSING, compile_path, split_path
from steelyard.suite.patterns import Searched, Unsearchable, fits

# One step of a query that leads to at most one place. Names with escapes are left to the library.
_STEP = re.compile(
    r"""\.(?P<name>[A-Za-z_\u0080-\U0010ffff][\w\u0080-\U0010ffff]*)"""
    r"""|\[(?P<index>0|-?[1-9]\d{0,15})\]|\['(?P<single>[^'\\]*)'\]|\["(?P<double>[^"\\]*)"\]"""
)

MOST_VALUES: Final = 50_000
"""Values in an answer, inner ones included, that a query which branches is let loose on."""

Values = list[Any]
Step = str | int


@dataclass(frozen=True, slots=True)
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
    if EACH not in steps:
        return AnswerPlace(text, True, steps, lambda answer: _one(get(answer)))
    branches = steps.count(EACH)

    def values(answer: Any) -> Values | None:
        found = get(answer)
        if found is MISSING:
            return None
        for _ in range(branches - 1):
            found = [value for part in found for value in part]
        return list(found)

    return AnswerPlace(text, False, steps[: steps.index(EACH)], values)


def _query(text: str) -> AnswerPlace:
    query = text.strip()
    start, rest = _start(query[1:])
    if not rest:
        return AnswerPlace(query, True, start, lambda answer: _one(_walk(answer, start)))
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
    while step := _STEP.match(rest):
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


def _one(value: Any) -> Values | None:
    return None if value is MISSING else [value]


def _compiled(query: str) -> Callable[[Any], Values]:
    """The query by the library, which is only imported for queries that branch."""
    import jsonpath

    try:
        compiled = _environment().compile(query)
    except (jsonpath.JSONPathError, RecursionError) as error:
        told = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ValueError(f"{query!r} is not a JSONPath (RFC 9535): {told}") from None

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
