"""YAML as plain data that still knows which line each value stood on."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import yaml
from yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from steelyard.errors import Mistake, SuiteError

Path = tuple[str | int, ...]

_SPARE_NODES = 100_000
_MOST_DEPTH = 100
_STR = "tag:yaml.org,2002:str"
_TOO_MUCH = "nested too deeply, or aliases (&, *) that repeat themselves"
_PLAIN_TAGS = {f"tag:yaml.org,2002:{name}" for name in ("str", "int", "float", "bool", "null", "seq", "map")}

# The scalars of YAML 1.2's core schema, so `no`, `on` and dates stay text; numbers with leading zeros are codes
# or ids more often than numbers, and stay text too.
_INT = re.compile(r"[-+]?(0|[1-9][0-9]*)|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(
    r"[-+]?(\.[0-9]+|(0|[1-9][0-9]*)(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)"
)
_WORDS = {
    "": None,
    "~": None,
    **dict.fromkeys(("null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}


@dataclass(slots=True)
class Located:
    """Plain data with the file it came from and, for each path into it, the line it stood on."""

    data: Any
    file: str = ""
    lines: dict[Path, int] = field(default_factory=dict)
    mistakes: list[Mistake] = field(default_factory=list)
    """What was wrong with the text but did not keep it from being read, such as a key given twice."""

    def line(self, path: Sequence[str | int]) -> int | None:
        """The line of the value at the path, or of the nearest thing around it."""
        place = tuple(path)
        while place and place not in self.lines:
            place = place[:-1]
        return self.lines.get(place)

    def mistake(self, message: str, path: Sequence[str | int] = ()) -> Mistake:
        """A mistake at the path."""
        return Mistake(message, self.file, self.line(path))


def read_yaml(text: str, file: str) -> Located:
    """The one YAML document in `text`; SuiteError with the line when it cannot be read."""
    # Events instead of the loader's own nodes: its composer recurses in C and crashes on deep nesting.
    reader = _Reader(file, yaml.parse(text, Loader=yaml.CSafeLoader), len(text) + _SPARE_NODES)
    try:
        data = reader.document()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        message = f"not readable as YAML: {error.problem or error.context}{_hint(text, error)}"
        raise SuiteError([Mistake(message, file, mark.line + 1 if mark else None)]) from None
    except (yaml.YAMLError, ValueError) as error:
        told = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise SuiteError([Mistake(f"not readable as YAML: {told}", file)]) from None
    return Located(data, file, reader.lines, reader.mistakes)


def _hint(text: str, error: yaml.MarkedYAMLError) -> str:
    """What a person probably did, for the two mistakes that YAML explains worst."""
    mark = error.problem_mark
    lines = text.splitlines()
    line = lines[mark.line] if mark and mark.line < len(lines) else ""
    if line[: len(line) - len(line.lstrip())].count("\t"):
        return "; the line begins with a tab: indent with spaces"
    if "expected key" in (error.problem or "") or "block end" in (error.problem or ""):
        return "; is the line indented like its neighbours?"
    return ""


class _Reader:
    """Turns parser events into data, counting what it builds so that nested aliases cannot blow up."""

    def __init__(self, file: str, events: Iterator[Any], most_nodes: int) -> None:
        self.file = file
        self.events = events
        self.most_nodes = most_nodes
        self.lines: dict[Path, int] = {}
        self.mistakes: list[Mistake] = []
        self.n = 0
        self.anchors: dict[str, tuple[Any, int]] = {}

    def document(self) -> Any:
        """The data of the only document, None when there is none."""
        data: Any = None
        seen = False
        for event in self.events:
            if isinstance(event, DocumentStartEvent):
                if seen:
                    raise SuiteError([self._mistake("a second document starts here (---): write one to a file", event)])
                seen = True
                data = self.value(next(self.events), (), 0)
        return data

    def value(self, event: Any, path: Path, depth: int) -> Any:
        """What starts with this event; SuiteError when it is too much."""
        if isinstance(event, AliasEvent):
            return self._alias(event)
        before = self.n
        self.n += 1
        if self.n > self.most_nodes or depth > _MOST_DEPTH:
            raise SuiteError([self._mistake(_TOO_MUCH, event)])
        self.lines.setdefault(path, event.start_mark.line + 1)
        if event.tag is not None and event.tag not in _PLAIN_TAGS:
            tag = event.tag.replace("tag:yaml.org,2002:", "!!")
            self.mistakes.append(self._mistake(f"the tag {tag} is not allowed: write plain data", event))
        if isinstance(event, ScalarEvent):
            text = event.tag == _STR or (event.tag is None and not event.implicit[0])
            data: Any = event.value if text else plain_scalar(event.value)
        elif isinstance(event, SequenceStartEvent):
            data = self._sequence(path, depth)
        else:
            data = self._mapping(path, depth)
        if event.anchor is not None:
            self.anchors[event.anchor] = (data, self.n - before)
        return data

    def _alias(self, event: AliasEvent) -> Any:
        if event.anchor not in self.anchors:
            message = f"*{event.anchor} stands for nothing that ends before it"
            raise SuiteError([self._mistake(message, event)])
        data, n = self.anchors[event.anchor]
        self.n += n
        if self.n > self.most_nodes:
            raise SuiteError([self._mistake(_TOO_MUCH, event)])
        return data

    def _sequence(self, path: Path, depth: int) -> list[Any]:
        data: list[Any] = []
        while not isinstance(event := next(self.events), SequenceEndEvent):
            data.append(self.value(event, (*path, len(data)), depth + 1))
        return data

    def _mapping(self, path: Path, depth: int) -> dict[str, Any]:
        data: dict[str, Any] = {}
        first: dict[str, int] = {}
        while not isinstance(event := next(self.events), MappingEndEvent):
            key = self._key(event, path, first, depth)
            value = next(self.events)
            if key is None:
                self.value(value, (*path, ""), depth + 1)
                continue
            first[key] = event.start_mark.line + 1
            self.lines[(*path, key)] = first[key]
            data[key] = self.value(value, (*path, key), depth + 1)
        return data

    def _key(self, event: Any, path: Path, first: dict[str, int], depth: int) -> str | None:
        """The key that starts with this event, or None when it cannot be one."""
        wrong = ""
        if not isinstance(event, ScalarEvent):
            self.value(event, (*path, ""), depth + 1)
            wrong = "a key must be plain text"
        elif event.value == "<<" and event.implicit[0]:
            wrong = "merge keys (<<) are not part of YAML 1.2: repeat the keys"
        elif event.value in first:
            wrong = f"the key {event.value!r} is given twice; the first is on line {first[event.value]}"
        if wrong:
            self.mistakes.append(self._mistake(wrong, event))
            return None
        return str(event.value)

    def _mistake(self, message: str, event: Any) -> Mistake:
        return Mistake(message, self.file, event.start_mark.line + 1)


def plain_scalar(text: str) -> Any:
    """An unquoted word as YAML 1.2 reads it: null, true/false, a number, or text."""
    if text in _WORDS:
        return _WORDS[text]
    if _INT.fullmatch(text):
        # More digits than Python converts at once are no sensible number; they stay text.
        return int(text, 0) if len(text) < 4000 else text
    if _FLOAT.fullmatch(text):
        return float(text.lower().replace(".inf", "inf").replace(".nan", "nan"))
    return text
