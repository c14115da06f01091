"""YAML as plain data that still knows which line each value stood on."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import yaml
from yaml import MappingNode, Node, ScalarNode, SequenceNode

from steelyard.errors import Mistake, SuiteError

Path = tuple[str | int, ...]

_SPARE_NODES = 100_000
_MOST_DEPTH = 100
_STR = "tag:yaml.org,2002:str"
_PLAIN = "plain"
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


class _PlainLoader(yaml.CSafeLoader):
    """Leaves unquoted words unresolved, so that they can be read by the rules of YAML 1.2."""


_PlainLoader.yaml_implicit_resolvers = {None: [(_PLAIN, re.compile(""))]}


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
    try:
        node = yaml.compose(text, Loader=_PlainLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        message = f"not readable as YAML: {error.problem or error.context}"
        raise SuiteError([Mistake(message, file, mark.line + 1 if mark else None)]) from None
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        told = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise SuiteError([Mistake(f"not readable as YAML: {told}", file)]) from None
    # Without aliases a text has fewer nodes than characters.
    reader = _Reader(file, len(text) + _SPARE_NODES)
    if node is None:
        return Located(None, file)
    data = reader.value(node, (), 0)
    return Located(data, file, reader.lines, reader.mistakes)


class _Reader:
    """Turns nodes into data, counting what it builds so that nested aliases cannot blow up."""

    def __init__(self, file: str, most_nodes: int) -> None:
        self.file = file
        self.most_nodes = most_nodes
        self.lines: dict[Path, int] = {}
        self.mistakes: list[Mistake] = []
        self.n = 0

    def value(self, node: Node, path: Path, depth: int) -> Any:
        self.n += 1
        if self.n > self.most_nodes or depth > _MOST_DEPTH:
            raise SuiteError([self._mistake("nested too deeply, or aliases (&, *) that repeat themselves", node)])
        self.lines.setdefault(path, node.start_mark.line + 1)
        if isinstance(node, ScalarNode):
            return self._scalar(node)
        if node.tag not in _PLAIN_TAGS:
            self.mistakes.append(self._mistake(f"the tag {_short(node.tag)} is not allowed: write plain data", node))
        if isinstance(node, SequenceNode):
            return [self.value(item, (*path, at), depth + 1) for at, item in enumerate(node.value)]
        return self._mapping(node, path, depth) if isinstance(node, MappingNode) else None

    def _mapping(self, node: MappingNode, path: Path, depth: int) -> dict[str, Any]:
        data: dict[str, Any] = {}
        first: dict[str, int] = {}
        for key_node, value_node in node.value:
            if not isinstance(key_node, ScalarNode):
                self.mistakes.append(self._mistake("a key must be plain text", key_node))
                continue
            line = key_node.start_mark.line + 1
            if key_node.tag == _PLAIN and key_node.value == "<<":
                self.mistakes.append(
                    self._mistake("merge keys (<<) are not part of YAML 1.2: repeat the keys", key_node)
                )
                continue
            key = key_node.value
            if key in first:
                self.mistakes.append(
                    self._mistake(f"the key {key!r} is given twice; the first is on line {first[key]}", key_node)
                )
                continue
            first[key] = line
            self.lines[(*path, key)] = line
            data[key] = self.value(value_node, (*path, key), depth + 1)
        return data

    def _scalar(self, node: ScalarNode) -> Any:
        if node.tag == _PLAIN:
            return plain_scalar(node.value)
        if node.tag not in _PLAIN_TAGS:
            self.mistakes.append(self._mistake(f"the tag {_short(node.tag)} is not allowed: write plain data", node))
        return node.value if node.tag == _STR else plain_scalar(node.value)

    def _mistake(self, message: str, node: Node) -> Mistake:
        return Mistake(message, self.file, node.start_mark.line + 1)


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


def _short(tag: str) -> str:
    return tag.replace("tag:yaml.org,2002:", "!!")
