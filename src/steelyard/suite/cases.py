"""Sources of cases that can be read again and again: files of a suite, and lists given in Python."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from steelyard.suite.attachments import read_attachments
from steelyard.suite.case import Case
from steelyard.suite.located import Located
from steelyard.suite.mapping import FIELDS, Mapping, Unmappable
from steelyard.suite.readers import read_one, read_records
from steelyard.suite.record import Record, Report, refuse
from steelyard.suite.spelling import found, meant

PLAIN_MAPPING = Mapping()
"""The mapping of a file that is already in the shape of a case."""


@dataclass(frozen=True, slots=True)
class CaseFile:
    """One file of cases and the name messages call it by."""

    path: Path
    name: str


@dataclass(frozen=True)
class FileCases:
    """Cases read from files each time they are asked for; memory does not grow with their number."""

    folder: Path
    files: tuple[CaseFile, ...]
    one_each: bool = False
    """True when every file is one case."""
    at: str = ""
    mapping: Mapping = field(default=PLAIN_MAPPING, repr=False)

    def __iter__(self) -> Iterator[Case]:
        for _, case in self.walk(refuse):
            if case is not None:
                yield case

    def walk(self, report: Report) -> Iterator[tuple[Record, Case | None]]:
        """Each record with its case, or None (and a report) when it is not one."""
        for file in self.files:
            for record in self.records_of(file, report):
                yield record, build_case(record, self.mapping, self.folder, report)

    def records_of(self, file: CaseFile, report: Report) -> Iterator[Record]:
        """The records of one file, before mapping."""
        if self.one_each:
            return read_one(file.path, file.name, report)
        return read_records(file.path, file.name, self.at, report)


@dataclass(frozen=True)
class ListCases:
    """Cases given as data: in Python, or written into the suite file itself."""

    folder: Path
    records: Sequence[Any]
    mapping: Mapping = field(default=PLAIN_MAPPING, repr=False)
    located: Located | None = field(default=None, repr=False)
    """The suite file, when they are written there under `cases`."""

    def __iter__(self) -> Iterator[Case]:
        for _, case in self.walk(refuse):
            if case is not None:
                yield case

    def walk(self, report: Report) -> Iterator[tuple[Record, Case | None]]:
        """Each record with its case, or None (and a report) when it is not one."""
        for n, data in enumerate(self.records):
            if self.located is None:
                record = Record(data.as_data() if isinstance(data, Case) else data, f"cases[{n}]")
            else:
                path = ("cases", n)
                record = Record(data, self.located.file, self.located.line(path), located=self.located, path=path)
            yield record, build_case(record, self.mapping, self.folder, report)


def build_case(record: Record, mapping: Mapping, folder: Path, report: Report) -> Case | None:
    """The case in a record, or None (and a report of everything wrong with it)."""
    if not isinstance(record.data, dict):
        report(record.mistake(f"a case is a group of keys; {found(record.data)}"))
        return None
    try:
        fields = mapping.fields(_with_key(record))
    except Unmappable as error:
        report(record.mistake(str(error), error.field))
        return None
    if mapping is PLAIN_MAPPING:
        _report_misspelt(record, report)
    broken: list[tuple[str, str]] = []
    case_id = _id(fields.get("id", record.key), broken)
    case = Case(
        id=case_id,
        input=fields.get("input"),
        expected=fields.get("expected"),
        category=_label("category", fields.get("category"), broken),
        difficulty=_label("difficulty", fields.get("difficulty"), broken),
        tags=_tags(fields.get("tags"), broken),
        attachments=(),
        why=_label("why", fields.get("why"), broken) or "",
        source=record.place,
    )
    if fields.get("attachments"):
        try:
            attachments = read_attachments(fields["attachments"], folder)
            case = Case(**{name: getattr(case, name) for name in _BESIDE_ATTACHMENTS}, attachments=attachments)
        except ValueError as error:
            broken.append((f"case {case_id}: {error}", "attachments"))
    for message, name in broken:
        report(record.mistake(message, name))
    return None if broken else case


def _with_key(record: Record) -> dict[str, Any]:
    """The record's data; the key it stands under, or the name of its file, is its `id` unless it has one."""
    data: dict[str, Any] = record.data
    return data if record.key is None or "id" in data else {"id": record.key, **data}


_BESIDE_ATTACHMENTS = tuple(name for name in Case.__slots__ if name != "attachments")


def _id(value: Any, broken: list[tuple[str, str]]) -> str:
    if value is None or value == "":
        broken.append(("the case has no id", "id"))
        return ""
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        broken.append((f"an id is text or a number; {found(value)}", "id"))
        return ""
    text = str(value)
    if text != text.strip() or not text.isprintable():
        broken.append((f"the id {text!r} has spaces around it or characters that cannot be printed", "id"))
    return text


def _label(name: str, value: Any, broken: list[tuple[str, str]]) -> str | None:
    if value is None or value == "":
        return None
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        broken.append((f"{name} is text; {found(value)}", name))
        return None
    return str(value)


def _tags(value: Any, broken: list[tuple[str, str]]) -> tuple[str, ...]:
    if value is None or value == "":
        return ()
    items = value if isinstance(value, (list, tuple)) else [value]
    tags = [_label("a tag", item, broken) for item in items]
    return tuple(dict.fromkeys(tag for tag in tags if tag))


def _report_misspelt(record: Record, report: Report) -> None:
    """Tell of a key that is almost a field's name while that field is not there."""
    strange = [key for key in record.data if key not in FIELDS]
    if strange:
        absent = tuple(name for name in FIELDS if name not in record.data)
        for key in strange:
            if hint := _meant(str(key), absent):
                report(record.mistake(f"unknown key {key!r}{hint}", str(key)))


@lru_cache(maxsize=1024)
def _meant(key: str, absent: tuple[str, ...]) -> str:
    # A million records have the same few keys.
    return meant(key, absent)
