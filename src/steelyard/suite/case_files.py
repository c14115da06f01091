"""Files of cases as text: an edit replaces what it is about and leaves every other character as it is."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import yaml
from yaml.events import AliasEvent, DocumentStartEvent, MappingStartEvent, ScalarEvent

from steelyard.errors import UsageError
from steelyard.suite.case import canonical, compile_path, leaves, split_path
from steelyard.suite.yaml import plain_scalar

Step = str | int
"""A key, or the place of an entry or of a key."""
Replacement = tuple[int, int, str]
"""From a character up to another, and what stands there instead."""
EDITABLE = (".csv", ".json", ".jsonl", ".ndjson", ".yaml", ".yml")
_LINES = (".jsonl", ".ndjson")
_PLAIN = re.compile(r"(?!(?:yes|no|on|off|y|n)$)[^\W\d_](?:[\w .&'/()+-]*[\w.)])?")
"""A text that means itself in YAML of any version without quotes, wherever it stands."""
_NO_YAML = re.compile(r"\\u[dD][89a-fA-F][0-9a-fA-F]{2}|[\x7f-\x84\x86-\x9f\ufffe\uffff]")
"""What JSON may have and YAML may not: halves of a pair of escapes, and characters that cannot be printed."""


def cannot_edit(what: str) -> UsageError:
    """The error for what cannot be edited without risk to the rest of the file."""
    return UsageError(f"{what}: edit it by hand and say why with `steelyard truth note`")


@dataclass(slots=True)
class _Node:
    """A value in a text; `members` are those of an object or list, each with its key and where it begins."""

    start: int
    end: int
    members: list[tuple[str, int, _Node]] = field(default_factory=list)
    is_block: bool = False
    is_alias: bool = False


def _node(text: str, event: Any, events: Iterator[Any]) -> _Node:
    start, end = event.start_mark.index, event.end_mark.index
    if isinstance(event, AliasEvent | ScalarEvent):
        if getattr(event, "style", None) in ("|", ">"):
            # Line ends and comments behind a text of several lines are not part of it.
            end = start + len(text[start:end].rstrip())
        return _Node(start, end, is_alias=isinstance(event, AliasEvent))
    node = _Node(start, end, is_block=not event.flow_style)
    while hasattr(inner := next(events), "anchor"):
        key, begin = str(len(node.members)), inner.start_mark.index
        if isinstance(event, MappingStartEvent):
            key, inner = getattr(inner, "value", ""), next(events)
        elif node.is_block:
            begin = text.rindex("-", 0, begin)
        node.members.append((key, begin, _node(text, inner, events)))
    # The parser ends a block where the next begins, behind comments that are not part of it.
    node.end = node.members[-1][2].end if node.members and node.is_block else inner.end_mark.index
    return node


class _Editor:
    """Edits of one text in YAML or in JSON, whose values stand where those of YAML would."""

    def __init__(self, text: str, *, is_yaml: bool) -> None:
        self.text = text
        self.root = _Node(0, len(text))
        self._is_yaml = is_yaml
        self._ascii = text.isascii() and "\\u" in text
        self._end = "\r\n" if "\r\n" in text else "\n"
        # As long as before, so that all else stands where it stood.
        read = text if is_yaml else _NO_YAML.sub(lambda match: r"\u0041"[-len(match[0]) :], text)
        events = yaml.parse(read, Loader=yaml.CSafeLoader)
        try:
            if any(isinstance(event, DocumentStartEvent) for event in events):
                self.root = _node(text, next(events), events)
        except yaml.YAMLError:
            raise cannot_edit("the file has characters that this command cannot place") from None

    def at(self, steps: Sequence[Step]) -> _Node:
        """The value at a place that is there."""
        node = self.root
        for step in steps:
            keys = [key for key, _, _ in node.members]
            node = node.members[step if isinstance(step, int) else keys.index(step)][2]
            if node.is_alias:
                raise cannot_edit("the case is shared by an alias (*)")
        return node

    def done(self, replacements: Iterator[Replacement]) -> str:
        """The text with everything replaced."""
        text = self.text
        # Of several at one place the last is put in first.
        for start, end, new in sorted(replacements, key=lambda item: item[0])[::-1]:
            text = text[:start] + new + text[end:]
        return text

    def changed(self, node: _Node, old: Any, new: Any) -> Iterator[Replacement]:
        """What makes the old value at a node the new one."""
        if canonical(old) == canonical(new):
            return
        if node.is_alias:
            raise cannot_edit("the value is shared by an alias (*)")
        gone = [key for key in old if key not in new] if isinstance(old, dict) and isinstance(new, dict) else None
        if gone is not None and old and len(gone) < min(2, len(old)):
            for place, (key, (_, _, value)) in enumerate(zip(old, node.members, strict=True)):
                if key in gone:
                    yield self.without(node, place)
                else:
                    yield from self.changed(value, old[key], new[key])
            yield from (self.added(node, value, key) for key, value in new.items() if key not in old)
        elif isinstance(old, list) and isinstance(new, list) and 0 < len(old) <= len(new):
            for place, (_, _, value) in enumerate(node.members):
                yield from self.changed(value, old[place], new[place])
            yield from (self.added(node, value) for value in new[len(old) :])
        else:
            # Nothing at all stands behind the colon of an empty YAML value.
            yield node.start, node.end, f"{' ' if node.start == node.end else ''}{self._written(new)}"

    def without(self, node: _Node, place: int) -> Replacement:
        """What takes a member of an object or list away; it is not the only one."""
        _, start, value = node.members[place]
        line = self.text.rfind("\n", 0, start) + 1
        if node.is_block and not self.text[line:start].strip():
            end = self.text.find("\n", value.end)
            return line, len(self.text) if end < 0 else end + 1, ""
        return (node.members[place - 1][2].end, value.end, "") if place else (start, node.members[1][1], "")

    def added(self, node: _Node, value: Any, key: str | None = None) -> Replacement:
        """What puts a member behind the last one of an object or list that has some."""
        _, start, last = node.members[-1]
        if node.is_block:
            first = node.members[0][1]
            indent = first - self.text.rfind("\n", 0, first) - 1
            end = self.text.find("\n", last.end)
            end = len(self.text) if end < 0 else end - (self._end == "\r\n")
            entry = self.block(value if key is None else {key: value}, indent + 2 * (key is None))
            return end, end, self._end + " " * indent + ("- " if key is None else "") + entry
        gap = self.text[len(self.text[:start].rstrip()) : start] or (" " if len(node.members) == 1 else "")
        pretty = "\n" in gap and isinstance(value, dict) and not self._is_yaml
        text = self._written(value, 2 if pretty else None).replace("\n", self._end + gap.rpartition("\n")[2])
        return last.end, last.end, f",{gap}{'' if key is None else self._written(key) + ': '}{text}"

    def _written(self, value: Any, indent: int | None = None) -> str:
        if self._is_yaml and isinstance(value, str) and _PLAIN.fullmatch(value) and plain_scalar(value) == value:
            return value
        return json.dumps(value, ensure_ascii=self._ascii, indent=indent)

    def block(self, value: Any, indent: int) -> str:
        """A value as YAML of several lines, but for lists."""
        if not isinstance(value, dict) or not value:
            return self._written(value)
        below = f"{self._end}{' ' * (indent + 2)}"
        lines = (
            f"{self._written(key)}:{below if isinstance(inner, dict) and inner else ' '}{self.block(inner, indent + 2)}"
            for key, inner in value.items()
        )
        return f"{self._end}{' ' * indent}".join(lines)


@dataclass(frozen=True, slots=True)
class Spot:
    """Where a record stands in its file: by its line, or by the steps to it in a document."""

    suffix: str
    line: int | None = None
    steps: tuple[Step, ...] = ()


def replaced(text: str, spot: Spot, old: dict[str, Any], new: dict[str, Any] | None) -> str:
    """The file's text with another record at a place, or, for None, without it."""
    if spot.suffix == ".csv":
        return _csv_replaced(text, spot.line, new)
    if spot.suffix in _LINES:
        lines = text.split("\n")
        place = (spot.line or 1) - 1
        line = [] if new is None else [replaced(lines[place], Spot(".json"), old, new)]
        return "\n".join([*lines[:place], *line, *lines[place + 1 :]])
    editor = _Editor(text, is_yaml=spot.suffix != ".json")
    node = editor.at(spot.steps)
    if new is not None:
        return editor.done(editor.changed(node, old, new))
    around = editor.at(spot.steps[:-1])
    if len(around.members) < 2:
        raise UsageError("it is the only case of its file: a suite without cases cannot be run")
    place = next(place for place, (_, _, value) in enumerate(around.members) if value is node)
    return editor.done(iter([editor.without(around, place)]))


def appended(text: str, suffix: str, at: str, record: dict[str, Any]) -> str:
    """The file's text with one more record at its end; `at` is where in a document its records are."""
    end = "\r\n" if "\r\n" in text else "\n"
    if suffix == ".csv":
        line = _csv_line(next(csv.reader(io.StringIO(text, newline=""))), record, end)
    elif suffix in _LINES:
        line = json.dumps(record, ensure_ascii=text.isascii() and "\\u" in text) + end
    else:
        editor = _Editor(text, is_yaml=suffix != ".json")
        node = editor.at(split_path(at))
        if not node.members:
            raise cannot_edit("there is no case yet behind which another could stand")
        keyed = text[node.members[0][1]] != "-" if node.is_block else text[node.start] == "{"
        rest = {name: value for name, value in record.items() if not keyed or name != "id"}
        return editor.done(iter([editor.added(node, rest, str(record.get("id")) if keyed else None)]))
    return text + ("" if not text or text.endswith("\n") else end) + line


def new_file(suffix: str, record: dict[str, Any]) -> str:
    """A file that is one case."""
    if suffix == ".json":
        return json.dumps(record, ensure_ascii=False, indent=2) + "\n"
    return _Editor("", is_yaml=True).block(record, 0) + "\n"


def _csv_replaced(text: str, line: int | None, new: dict[str, Any] | None) -> str:
    lines = list(io.StringIO(text, newline=""))
    rows = csv.reader(lines, strict=True)
    headings, begin = next(rows), rows.line_num
    for _ in rows:
        if rows.line_num == line:
            end = "\r\n" if lines[line - 1].endswith("\r\n") else "\n"
            lines[begin:line] = [] if new is None else [_csv_line(headings, new, end)]
            break
        begin = rows.line_num
    return "".join(lines)


def _csv_line(headings: Sequence[str], record: dict[str, Any], end: str) -> str:
    names = [heading.strip() for heading in headings]
    if lost := [path for path, value in leaves(record) if value not in (None, []) and path not in names]:
        raise cannot_edit(f"the file has no column {lost[0]}")
    stream = io.StringIO(newline="")
    csv.writer(stream, lineterminator=end).writerow([as_cell(compile_path(name)(record)) for name in names])
    return stream.getvalue()


def as_cell(value: Any) -> str:
    """A value as the cell of a table has it."""
    if isinstance(value, list):
        return "; ".join(map(as_cell, value))
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if value or value == 0 else ""
