"""Case files of every kind as a stream of records; a record that cannot be read is reported, and reading goes on."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from steelyard.errors import Mistake, SuiteError
from steelyard.suite.inside import text_of
from steelyard.suite.json_stream import BrokenJson, JsonCursor, decode
from steelyard.suite.located import read_yaml
from steelyard.suite.paths import MISSING, compile_path, split_path
from steelyard.suite.record import Record, Report
from steelyard.suite.spelling import kind_of, listed, meant
from steelyard.suite.tables import read_csv, read_parquet

Reader = Callable[[Path, str, str, Report], Iterator[Record]]


def read_records(path: Path, name: str, at: str, report: Report) -> Iterator[Record]:
    """The records of one file, streamed; `name` is what messages call it, `at` where in it the list is."""
    try:
        yield from READERS[path.suffix.lower()](path, name, at, report)
    except UnicodeDecodeError as error:
        report(Mistake(f"not UTF-8 text: byte {error.object[error.start]:#04x} cannot be read", name, _bad_line(path)))
    except OSError as error:
        report(Mistake(f"cannot be read: {error.strerror or error}", name))


def read_one(path: Path, name: str, report: Report) -> Iterator[Record]:
    """The one record that a whole file is; its key is the file's stem."""
    try:
        text = text_of(path, name)
        if path.suffix.lower() == ".json":
            yield Record(decode(text), name, 1, path.stem, text)
            return
        located = read_yaml(text, name)
    except SuiteError as error:
        _report_all(list(error.mistakes), report)
        return
    except BrokenJson as error:
        report(Mistake(str(error), name, error.line))
        return
    except ValueError as error:
        report(Mistake(str(error), name))
        return
    _report_all(located.mistakes, report)
    yield Record(located.data, name, located.line(()), path.stem, located=located)


def _read_jsonl(path: Path, name: str, _at: str, report: Report) -> Iterator[Record]:
    with path.open(encoding="utf-8-sig", newline="\n") as stream:
        for line, text in enumerate(stream, 1):
            if not text.strip():
                continue
            try:
                data = decode(text)
            except ValueError as error:
                report(Mistake(str(error), name, line))
                continue
            yield Record(data, name, line)


def _read_json(path: Path, name: str, at: str, report: Report) -> Iterator[Record]:
    with path.open(encoding="utf-8-sig") as stream:
        cursor = JsonCursor(stream)
        try:
            if not cursor.peek():
                return
            yield from _walk_json(cursor, split_path(at), name, report)
            if not at:
                cursor.end()
        except BrokenJson as error:
            report(Mistake(str(error), name, error.line))


def _walk_json(cursor: JsonCursor, steps: tuple[str, ...], name: str, report: Report) -> Iterator[Record]:
    """The records under `steps`; what lies beside the way is read past."""
    sign = cursor.peek()
    if steps and sign == "{":
        seen = []
        for key in cursor.members():
            if key == steps[0]:
                yield from _walk_json(cursor, steps[1:], name, report)
                return
            seen.append(key)
            cursor.value()
        report(Mistake(_nothing_at(steps[0], seen), name))
    elif sign == "[" and not steps:
        for data, line, text in cursor.elements():
            yield Record(data, name, line, None, text)
    elif sign == "{":
        for key in cursor.members():
            data, line, text = cursor.value()
            if not isinstance(data, dict):
                report(Mistake(_not_a_list(key, data), name, line))
                return
            yield Record(data, name, line, key, text)
    else:
        data, line, _ = cursor.value()
        report(
            Mistake(f"expected a list of cases{' at ' + steps[0] if steps else ''}, found {kind_of(data)}", name, line)
        )


def _read_yaml(path: Path, name: str, at: str, report: Report) -> Iterator[Record]:
    try:
        located = read_yaml(text_of(path, name), name)
    except SuiteError as error:
        return _report_all(list(error.mistakes), report)
    except ValueError as error:
        return report(Mistake(str(error), name))
    _report_all(located.mistakes, report)
    data, steps = compile_path(at)(located.data), split_path(at)
    where: tuple[str | int, ...] = tuple(steps)
    if data is MISSING:
        keys = list(located.data) if isinstance(located.data, dict) else []
        return report(Mistake(_nothing_at(at, keys), name))
    if data is None:
        return None
    if isinstance(data, list):
        for n, item in enumerate(data):
            yield Record(item, name, located.line((*where, n)), located=located, path=(*where, n))
    elif isinstance(data, dict):
        for key, item in data.items():
            if not isinstance(item, dict):
                return report(Mistake(_not_a_list(key, item), name, located.line((*where, key))))
            yield Record(item, name, located.line((*where, key)), key, located=located, path=(*where, key))
    else:
        report(Mistake(f"expected a list of cases, found {kind_of(data)}", name, located.line(where)))
    return None


READERS: dict[str, Reader] = {
    ".csv": read_csv,
    ".json": _read_json,
    ".jsonl": _read_jsonl,
    ".ndjson": _read_jsonl,
    ".parquet": read_parquet,
    ".yaml": _read_yaml,
    ".yml": _read_yaml,
}
"""What each ending of a file's name is read with."""

ONE_CASE_A_FILE = (".json", ".yaml", ".yml")


def _nothing_at(step: str, keys: list[str]) -> str:
    hint = meant(step, keys) or (f"; there are: {listed(keys)}" if keys else "")
    return f"there is nothing at {step!r}{hint}"


def _not_a_list(key: str, value: Any) -> str:
    if isinstance(value, list):
        return f"the file holds an object, not a list: if the cases are under {key!r}, write at: {key}"
    return f"expected a list of cases, or an object of id and case; under {key!r} found {kind_of(value)}"


def _report_all(mistakes: list[Mistake], report: Report) -> None:
    for mistake in mistakes:
        report(mistake)


def _bad_line(path: Path) -> int | None:
    """The line on which a file stops being UTF-8."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    with path.open("rb") as stream:
        for line, raw in enumerate(stream, 1):
            try:
                decoder.decode(raw)
            except UnicodeDecodeError:
                return line
    return None
