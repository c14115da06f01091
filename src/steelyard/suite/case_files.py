"""Files of cases as text: an edit replaces what it is about and leaves every other character as it is."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import field
from typing import Any

import yaml
from yaml.events import AliasEvent, DocumentStartEvent, MappingStartEvent, ScalarEvent

from steelyard.errors import UsageError
from steelyard.frozen import slotted
from steelyard.suite.case import canonical
from steelyard.suite.paths import MISSING, compile_path, leaves, path_step, put, split_path
from steelyard.suite.readers import cell_value, decode
from steelyard.suite.yaml import plain_scalar, read_yaml

Replacement = tuple[int, int, str]
"""From a character up to another, and what stands there instead."""
_LINES = (".jsonl", ".ndjson")
_CSV = ".csv"
EDITABLE = (".json", *_LINES, ".yaml", ".yml", _CSV)
_PLAIN = re.compile(r"(?!(?:yes|no|on|off|y|n)$)[^\W\d_](?:[\w .&'/()+-]*[\w.)])?")
"""A text that means itself in YAML of any version without quotes, wherever it stands."""
_NO_YAML = re.compile(r"\\u[dD][89a-fA-F][0-9a-fA-F]{2}|[\x7f-\x84\x86-\x9f\ufffe\uffff]")
"""What JSON may have and YAML may not: halves of a pair of escapes, and characters that cannot be printed."""


def cannot_edit(what: str) -> UsageError:
    """The error for what cannot be edited without risk to the rest of the file."""
    return UsageError(f"{what}: edit it by hand and say why with `steelyard truth note`")


def with_record(text: str, suffix: str, at: str, place: int, record: Any, case_id: str = "") -> str:
    """The text of a file of cases with another record at a place, with one more (a place behind the last), or, for
    MISSING, without the one there; `at` is where in a document the records are."""
    if suffix in _LINES:
        return _with_line(text, place, record)
    if suffix == _CSV:
        return _with_row(text, place, record)
    old = decode(text) if suffix == ".json" else read_yaml(text, "").data
    records = compile_path(at)(old)
    if isinstance(records, dict):
        # Their ids are the keys.
        key = [*records, case_id][place]
        if record is not MISSING and "id" not in records.get(key, {}):
            record = {name: value for name, value in record.items() if name != "id"}
        new = put(records, [key], record)
    else:
        new = [*records[:place], *([] if record is MISSING else [record]), *records[place + 1 :]]
    return rewritten(text, old, put(old, split_path(at), new), is_yaml=suffix != ".json")


def _with_line(text: str, place: int, record: Any) -> str:
    lines = re.findall(r"[^\n]*\n|[^\n]+", text)
    filled = [number for number, line in enumerate(lines) if line.strip()]
    if place < len(filled):
        line = lines[filled[place]]
        lines[filled[place]] = "" if record is MISSING else rewritten(line, decode(line), record, is_yaml=False)
    else:
        end = "\r\n" if "\r\n" in text else "\n"
        line = json.dumps(record, ensure_ascii=text.isascii() and "\\u" in text) + end
        lines.append(line if not text or text.endswith("\n") else end + line)
    return "".join(lines)


def written_records(records: Sequence[Any], suffix: str) -> str:
    """Records as the text of a new file: a list in JSON or YAML, else one per line."""
    if suffix == ".json":
        return json.dumps(records, ensure_ascii=False, indent=2) + "\n"
    if suffix in (".yaml", ".yml"):
        return yaml.safe_dump(list(records), sort_keys=False, allow_unicode=True)
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)


def with_whole_record(text: str, suffix: str, record: Any) -> str:
    """The text of a file that is one case with another record; the id stays out where the file's name is the id."""
    old = decode(text) if suffix == ".json" else read_yaml(text, "").data
    new = record if "id" in old else {name: value for name, value in record.items() if name != "id"}
    return rewritten(text, old, new, is_yaml=suffix != ".json")


def as_row(text: str, record: Any) -> Any:
    """A record as a table of cases holds it: texts under its headings; UsageError where a value has no column."""
    columns = [split_path(heading.strip()) for heading in next(csv.reader(text.splitlines()), [])]
    values = dict(leaves(record))
    inner = {path: value for path, value in values.items() if split_path(path) not in columns}
    row: dict[str, Any] = {}
    for steps in columns:
        path = ".".join(map(path_step, steps))
        value = compile_path(path)(record)
        inner = {name: part for name, part in inner.items() if split_path(name)[: len(steps)] != steps}
        row = put(row, steps, cell_value(steps, "" if value is MISSING else _cell(value)))
    if absent := [path for path, value in inner.items() if value is not None]:
        raise cannot_edit(f"the table has no column {absent[0]}: add the heading, or")
    return row


def _cell(value: Any) -> str:
    """A value as the text of a cell, from which `as: list`, `number`, `boolean` or `json` reads it again."""
    if isinstance(value, list) and all(isinstance(item, str) and ";" not in item for item in value):
        return "; ".join(value) + ";" * (len(value) == 1 and "," in value[0])
    return "" if value is None else value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _with_row(text: str, place: int, record: Any) -> str:
    """A table with another row; each row may have several lines."""
    lines = text.splitlines(keepends=True)
    rows, ends = csv.reader(lines, strict=True), [0]
    filled = [(rows.line_num, row) for row in rows if row]
    headings, starts = filled[0][1], []
    for end, _ in filled:
        starts.append(ends[-1])
        ends.append(end)
    new = ""
    if record is not MISSING:
        paths = (".".join(map(path_step, split_path(heading.strip()))) for heading in headings)
        cells = [_cell(compile_path(path)(record) or "") for path in paths]
        page = io.StringIO(newline="")
        csv.writer(page, lineterminator="\r\n" if "\r\n" in text else "\n").writerow(cells)
        new = page.getvalue()
    if place + 1 < len(filled):
        return "".join([*lines[: starts[place + 1]], new, *lines[ends[place + 2] :]])
    return text + ("" if text.endswith("\n") else "\n") + new


def rewritten(text: str, old: Any, new: Any, *, is_yaml: bool) -> str:
    """The text of an old value as that of a new one; what is the same in both stays as it is written."""
    editor = _Editor(text, is_yaml=is_yaml)
    # From the end on, so that what is not yet replaced stands where it stood; of several at one place the last first.
    for start, end, other in sorted(editor.changed(editor.root, old, new), key=lambda item: item[0])[::-1]:
        text = text[:start] + other + text[end:]
    return text


@slotted
class _Node:
    """A value in a text, and the members of an object or list."""

    begin: int
    """Where its key or the dash before it stands."""
    start: int
    end: int
    members: list[_Node] = field(default_factory=list)
    is_block: bool = False
    is_alias: bool = False


def _node(text: str, event: Any, events: Iterator[Any], begin: int = 0) -> _Node:
    start, end = event.start_mark.index, event.end_mark.index
    if isinstance(event, AliasEvent | ScalarEvent):
        if getattr(event, "style", None) in ("|", ">"):
            # Line ends and comments behind a text of several lines are not part of it.
            end = start + len(text[start:end].rstrip())
        return _Node(begin, start, end, is_alias=isinstance(event, AliasEvent))
    node = _Node(begin, start, end, is_block=not event.flow_style)
    while hasattr(inner := next(events), "anchor"):
        begin = inner.start_mark.index
        if isinstance(event, MappingStartEvent):
            inner = next(events)
        elif node.is_block:
            begin = text.rindex("-", 0, begin)
        node.members.append(_node(text, inner, events, begin))
    # The parser ends a block where the next begins, behind comments that are not part of it.
    node.end = node.members[-1].end if node.members and node.is_block else inner.end_mark.index
    return node


class _Editor:
    """Edits of one text in YAML or in JSON, whose values stand where those of YAML would."""

    def __init__(self, text: str, *, is_yaml: bool) -> None:
        self.text, self._is_yaml = text, is_yaml
        self._ascii = text.isascii() and "\\u" in text
        self._end = "\r\n" if "\r\n" in text else "\n"
        # As long as before, so that all else stands where it stood.
        read = text if is_yaml else _NO_YAML.sub(lambda match: r"\u0041"[-len(match[0]) :], text)
        events = yaml.parse(read, Loader=yaml.CSafeLoader)
        try:
            while not isinstance(next(events), DocumentStartEvent):
                pass
            self.root = _node(text, next(events), events)
        except yaml.YAMLError:
            raise cannot_edit("the file has characters that this command cannot place") from None

    def changed(self, node: _Node, old: Any, new: Any) -> Iterator[Replacement]:
        """What makes the old value at a node the new one."""
        if canonical(old) == canonical(new):
            return
        if node.is_alias:
            raise cannot_edit("the value is shared by an alias (*)")
        staying, gone, more = _members(old, new)
        if staying and len(gone) < 2:
            yield from (self._without(node, place) for place in gone)
            for place, before, after in staying:
                yield from self.changed(node.members[place], before, after)
            yield from (self._added(node, key, value) for key, value in more)
        else:
            # Nothing at all stands behind the colon of an empty YAML value.
            yield node.start, node.end, f"{' ' if node.start == node.end else ''}{self._written(new)}"

    def _without(self, node: _Node, place: int) -> Replacement:
        """What takes a member of an object or list away; it is not the only one."""
        member = node.members[place]
        line = self.text.rfind("\n", 0, member.begin) + 1
        if node.is_block and not self.text[line : member.begin].strip():
            end = self.text.find("\n", member.end)
            return line, len(self.text) if end < 0 else end + 1, ""
        return (node.members[place - 1].end, member.end, "") if place else (member.begin, node.members[1].begin, "")

    def _added(self, node: _Node, key: str | None, value: Any) -> Replacement:
        """What puts a member behind the last one of an object or list that has some."""
        last, begin = node.members[-1], node.members[0].begin
        if node.is_block:
            indent = begin - self.text.rfind("\n", 0, begin) - 1
            end = self.text.find("\n", last.end)
            end = len(self.text) if end < 0 else end - (self._end == "\r\n")
            entry = self._block(value if key is None else {key: value}, indent + 2 * (key is None))
            return end, end, self._end + " " * indent + ("- " if key is None else "") + entry
        gap = self.text[len(self.text[: last.begin].rstrip()) : last.begin]
        gap = gap or (" " if len(node.members) == 1 else "")
        pretty = "\n" in gap and isinstance(value, dict) and not self._is_yaml
        text = self._written(value, 2 if pretty else None).replace("\n", self._end + gap.rpartition("\n")[2])
        return last.end, last.end, f",{gap}{'' if key is None else self._written(key) + ': '}{text}"

    def _written(self, value: Any, indent: int | None = None) -> str:
        if self._is_yaml and isinstance(value, str) and _PLAIN.fullmatch(value) and plain_scalar(value) == value:
            return value
        return json.dumps(value, ensure_ascii=self._ascii, indent=indent)

    def _block(self, value: Any, indent: int) -> str:
        """A value as YAML of several lines, but for lists."""
        if not isinstance(value, dict) or not value:
            return self._written(value)
        lines = []
        for key, inner in value.items():
            gap = f"{self._end}{' ' * (indent + 2)}" if isinstance(inner, dict) and inner else " "
            lines.append(f"{self._written(key)}:{gap}{self._block(inner, indent + 2)}")
        return f"{self._end}{' ' * indent}".join(lines)


def _members(old: Any, new: Any) -> tuple[list[tuple[int, Any, Any]], list[int], list[tuple[str | None, Any]]]:
    """Which members stay, by place with what they were and are, which go, and which come behind them."""
    if isinstance(old, dict) and isinstance(new, dict):
        staying = [(place, old[key], new[key]) for place, key in enumerate(old) if key in new]
        gone = [place for place, key in enumerate(old) if key not in new]
        return staying, gone, [(key, value) for key, value in new.items() if key not in old]
    if not isinstance(old, list) or not isinstance(new, list):
        return [], [], []
    places, gone = list(range(len(old))), list(range(len(new), len(old)))
    if len(gone) == 1:
        differs = (place for place, value in enumerate(new) if canonical(old[place]) != canonical(value))
        gone = [places.pop(next(differs, len(new)))]
    staying = [(place, old[place], value) for place, value in zip(places, new, strict=False)]
    return staying, gone, [(None, value) for value in new[len(places) :]]
