"""Records and schemas out of files: YAML, JSON, JSON lines, CSV and Parquet, streamed where the format allows."""

from __future__ import annotations

import codecs
import csv
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import date, time
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from steelyard.errors import MissingExtra, Problem, SuiteError
from steelyard.frozen import slotted
from steelyard.suite.files import text_of
from steelyard.suite.paths import MISSING, compile_path, split_path
from steelyard.suite.streams import Damaged, ending, is_packed, open_bytes, open_text
from steelyard.suite.yaml import Located, Place, dotted, kind_of, listed, meant, read_yaml, result

if TYPE_CHECKING:
    from steelyard.suite.draft import Draft

Report = Callable[[Problem], None]
"""Takes a mistake: collects it when a suite is checked, raises it when cases are read for a run."""


def refuse(problem: Problem) -> None:
    """A Report that stops at once."""
    raise SuiteError([problem])


@slotted
class Record:
    """Data of one case before mapping. `key` is its name where the file gives one (an object's key, a file's stem)."""

    data: Any
    file: str
    line: int | None = None
    key: str | None = None
    text: str | None = None
    """The record's own text in the file, to find the line of a field."""
    located: Located | None = None
    path: tuple[str | int, ...] = ()
    """Where in `located` it stands."""

    @property
    def place(self) -> str:
        """File and line for messages."""
        return self.file if self.line is None else f"{self.file}:{self.line}"

    def problem(self, message: str, field: str = "") -> Problem:
        """A mistake in this record, at the line of `field` when it can be found."""
        return Problem(message, self.file, self.line_of([field] if field else []))

    def line_of(self, fields: Sequence[str]) -> int | None:
        """The line of the first of these field names that is in the record, or the record's own."""
        for name in fields:
            if self.located is not None:
                depth = len(self.path)
                for path, line in self.located.lines.items():
                    if len(path) > depth and path[-1] == name and path[:depth] == self.path:
                        return line
            elif self.text is not None and self.line is not None and (at := self.text.find(f'"{name}"')) >= 0:
                return self.line + self.text.count("\n", 0, at)
        return self.line


_CHUNK = 1 << 16
_NEAR_END = 16
"""An error this close to the end of what was read may only mean that the rest is not there yet."""


class BrokenJson(ValueError):
    """Not JSON: `line` says where."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.line = line


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON: leave the value out or write null")


def _no_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    data = dict(pairs)
    if len(data) != len(pairs):
        names = [name for name, _ in pairs]
        twin = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {twin!r} is given twice in one object")
    return data


DECODER = json.JSONDecoder(parse_constant=_no_constant, object_pairs_hook=_no_twins)
"""Strict: no NaN or Infinity, no key twice."""


def decode(text: str) -> Any:
    """The one value in `text`; ValueError with a sentence otherwise."""
    try:
        return DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise BrokenJson(f"not readable as JSON: {error.msg} at character {error.colno}", error.lineno) from None
    except RecursionError:
        raise ValueError("nested too deeply") from None


class JsonCursor:
    """A place in a JSON text that is read piece by piece; memory is bounded by the largest single value taken."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._buffer = ""
        self._at = 0
        self._ended = False
        self.line = 1

    def peek(self) -> str:
        """The next character that is not white space, "" at the end."""
        while True:
            buffer, at = self._buffer, self._at
            while at < len(buffer) and buffer[at] in " \t\r\n":
                at += 1
            self._move(at)
            if at < len(buffer):
                return buffer[at]
            if not self._more():
                return ""

    def take(self, sign: str) -> None:
        """Go past one sign, which must be there."""
        result = self.peek()
        if result != sign:
            raise BrokenJson(
                f"not readable as JSON: expected {sign!r}, found {result or 'the end of the file'!r}", self.line
            )
        self._at += 1

    def value(self) -> tuple[Any, int, str]:
        """The next value, the line it starts on and its own text."""
        if not self.peek():
            raise BrokenJson("not readable as JSON: the file ends in the middle", self.line)
        while True:
            try:
                data, end = DECODER.raw_decode(self._buffer, self._at)
            except json.JSONDecodeError as error:
                cut = error.msg.startswith("Unterminated") or error.pos >= len(self._buffer) - _NEAR_END
                if cut and self._more():
                    continue
                line = self.line + self._buffer.count("\n", self._at, error.pos)
                raise BrokenJson(f"not readable as JSON: {error.msg}", line) from None
            except RecursionError:
                raise BrokenJson("nested too deeply", self.line) from None
            except ValueError as error:
                raise BrokenJson(str(error), self.line) from None
            # A number that touches the end of the buffer may go on behind it.
            if end == len(self._buffer) and self._more():
                continue
            line, text = self.line, self._buffer[self._at : end]
            self._move(end)
            return data, line, text

    def elements(self) -> Iterator[tuple[Any, int, str]]:
        """Each element of the array that starts here."""
        self.take("[")
        if self.peek() == "]":
            self.take("]")
            return
        while True:
            yield self.value()
            if self.peek() != ",":
                break
            self.take(",")
        self.take("]")

    def members(self) -> Iterator[str]:
        """Each key of the object that starts here; the caller takes its value before going on."""
        self.take("{")
        if self.peek() == "}":
            self.take("}")
            return
        while True:
            if self.peek() != '"':
                self.take('"')
            key, _, _ = self.value()
            self.take(":")
            yield str(key)
            if self.peek() != ",":
                break
            self.take(",")
        self.take("}")

    def end(self) -> None:
        """Nothing but white space may follow."""
        if result := self.peek():
            raise BrokenJson(f"not readable as JSON: {result!r} after the end of the document", self.line)

    def _move(self, at: int) -> None:
        self.line += self._buffer.count("\n", self._at, at)
        self._at = at

    def _more(self) -> bool:
        if self._ended:
            return False
        # Reading as much again as is waiting keeps long values linear in time.
        waiting = self._buffer[self._at :]
        chunk = self._stream.read(max(_CHUNK, len(waiting)))
        self._buffer, self._at = waiting + chunk, 0
        self._ended = not chunk
        return bool(chunk)


_BATCH = 1_000

# The csv module's own limit of 128 KiB a cell is less than one long document.
csv.field_size_limit(1 << 30)


def read_csv(path: Path, name: str, _at: str, report: Report) -> Iterator[Record]:
    """Each row as a record of texts, an empty cell as null; `tags` and `attachments` are lists."""
    with open_text(path, newline="") as stream:
        rows = csv.reader(stream, strict=True)
        try:
            headings = next(rows, None)
            if headings is None:
                return
            if other := _other_separator(headings):
                message = f"the headings are separated by {other}, not by commas: save the file with commas"
                report(Problem(message, name, 1))
                return
            columns = _columns(headings, name, report)
            if columns is None:
                return
            for row in rows:
                if len(row) > len(columns):
                    message = f"{len(row)} cells under {len(columns)} headings: is a comma missing its quotes?"
                    report(Problem(message, name, rows.line_num))
                elif row:
                    cells = [cell_value(steps, cell) for steps, cell in zip(columns, row, strict=False)]
                    yield Record(_nested(columns, cells), name, rows.line_num)
        except csv.Error as error:
            report(Problem(f"not readable as CSV: {error}", name, rows.line_num))


def _other_separator(headings: list[str]) -> str | None:
    """What separates the headings when it is not the comma: the mark of a spreadsheet saved another way."""
    if len(headings) != 1:
        return None
    signs = {";": "semicolons", "\t": "tabs", "|": "bars"}
    return next((word for sign, word in signs.items() if sign in headings[0]), None)


def read_parquet(path: Path, name: str, _at: str, report: Report) -> Iterator[Record]:
    """Each row as a record, the file read in batches; MissingExtra when pyarrow is not installed."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise MissingExtra("reading Parquet files", "parquet") from None
    row = 0
    try:
        # Read in small pieces and by one thread: a group of 300,000 rows of 128 bytes took 44 MB instead of 109.
        with parquet.ParquetFile(path, pre_buffer=False, buffer_size=_CHUNK) as file:
            columns = _columns(file.schema_arrow.names, name, report)
            if columns is None:
                return
            for batch in file.iter_batches(batch_size=_BATCH, use_threads=False):
                for values in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                    row += 1
                    yield Record(_nested(columns, [_plain(value) for value in values]), f"{name} row {row}")
    except (pyarrow.ArrowException, OSError) as error:
        after = f" after row {row:,}" if row else ""
        report(Problem(f"not readable as Parquet{after}: {str(error).splitlines()[0]}", name))


def _plain(value: Any) -> Any:
    """A typed value as JSON would have it: dates as their text, decimals as numbers."""
    if isinstance(value, (date, time)):
        return value.isoformat()
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    return value


def cell_value(steps: tuple[str, ...], cell: str) -> Any:
    """What a cell of a table is read as, under the heading of these steps."""
    if steps == ("tags",):
        return split_list(cell)
    if steps == ("attachments",):
        return [part.strip() for part in cell.split(";") if part.strip()]
    return cell or None


def split_list(cell: str) -> list[str]:
    """The parts of a cell that holds a list, cut at semicolons or, without any, at commas."""
    return [part.strip() for part in cell.split(";" if ";" in cell else ",") if part.strip()]


def _columns(headings: list[str], name: str, report: Report) -> list[tuple[str, ...]] | None:
    """The steps of each heading, or None (and a report) when they cannot be told apart."""
    columns: list[tuple[str, ...]] = []
    for heading in headings:
        try:
            steps = split_path(heading.strip())
        except ValueError:
            steps = (heading,)
        if not steps:
            report(Problem("a heading is empty: give every column a name", name, 1))
            return None
        clash = next((other for other in columns if other[: len(steps)] == steps[: len(other)]), None)
        if clash is not None:
            message = "is there twice" if clash == steps else f"and {'.'.join(clash)!r} cannot both be there"
            report(Problem(f"the heading {heading!r} {message}", name, 1))
            return None
        columns.append(steps)
    return columns


def _nested(columns: list[tuple[str, ...]], cells: list[Any]) -> dict[str, Any]:
    record: dict[str, Any] = {}
    for steps, cell in zip(columns, cells, strict=False):
        inner = record
        for step in steps[:-1]:
            inner = inner.setdefault(step, {})
        inner[steps[-1]] = cell
    return record


Reader = Callable[[Path, str, str, Report], Iterator[Record]]


def read_records(path: Path, name: str, at: str, report: Report) -> Iterator[Record]:
    """The records of one file, streamed; `name` is what messages call it, `at` where in it the list is."""
    try:
        yield from READERS[ending(path)](path, name, at, report)
    except Damaged as error:
        line = _last_line(path)
        report(Problem(f"{error} after line {line:,}" if line else str(error), name, line or None))
    except UnicodeDecodeError as error:
        report(Problem(f"not UTF-8 text: byte {error.object[error.start]:#04x} cannot be read", name, _bad_line(path)))
    except OSError as error:
        report(Problem(f"cannot be read: {error.strerror or error}", name))


def read_one(path: Path, name: str, report: Report) -> Iterator[Record]:
    """The one record that a whole file is; its key is the file's stem."""
    try:
        text = text_of(path, name)
        if path.suffix.lower() == ".json":
            yield Record(decode(text), name, 1, path.stem, text)
            return
        located = read_yaml(text, name)
    except SuiteError as error:
        _report_all(list(error.problems), report)
        return
    except BrokenJson as error:
        report(Problem(str(error), name, error.line))
        return
    except ValueError as error:
        report(Problem(str(error), name))
        return
    _report_all(located.problems, report)
    yield Record(located.data, name, located.line(()), path.stem, located=located)


def _read_jsonl(path: Path, name: str, _at: str, report: Report) -> Iterator[Record]:
    with open_text(path, newline="\n") as stream:
        for line, text in enumerate(stream, 1):
            if not text.strip():
                continue
            try:
                data = decode(text)
            except ValueError as error:
                report(Problem(str(error), name, line))
                continue
            yield Record(data, name, line)


def _read_json(path: Path, name: str, at: str, report: Report) -> Iterator[Record]:
    with open_text(path) as stream:
        cursor = JsonCursor(stream)
        try:
            if not cursor.peek():
                return
            yield from _walk_json(cursor, split_path(at), name, report)
            if not at:
                cursor.end()
        except BrokenJson as error:
            report(Problem(str(error), name, error.line))


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
        report(Problem(_nothing_at(steps[0], seen), name))
    elif sign == "[" and not steps:
        for data, line, text in cursor.elements():
            yield Record(data, name, line, None, text)
    elif sign == "{":
        for key in cursor.members():
            data, line, text = cursor.value()
            if not isinstance(data, dict):
                report(Problem(_not_a_list(key, data), name, line))
                return
            yield Record(data, name, line, key, text)
    else:
        data, line, _ = cursor.value()
        report(
            Problem(f"expected a list of cases{' at ' + steps[0] if steps else ''}, found {kind_of(data)}", name, line)
        )


def _read_yaml(path: Path, name: str, at: str, report: Report) -> Iterator[Record]:
    try:
        located = read_yaml(text_of(path, name), name)
    except SuiteError as error:
        return _report_all(list(error.problems), report)
    except ValueError as error:
        return report(Problem(str(error), name))
    _report_all(located.problems, report)
    data, steps = compile_path(at)(located.data), split_path(at)
    where: tuple[str | int, ...] = tuple(steps)
    if data is MISSING:
        keys = list(located.data) if isinstance(located.data, dict) else []
        return report(Problem(_nothing_at(at, keys), name))
    if data is None:
        return None
    if isinstance(data, list):
        for n, item in enumerate(data):
            yield Record(item, name, located.line((*where, n)), located=located, path=(*where, n))
    elif isinstance(data, dict):
        for key, item in data.items():
            if not isinstance(item, dict):
                return report(Problem(_not_a_list(key, item), name, located.line((*where, key))))
            yield Record(item, name, located.line((*where, key)), key, located=located, path=(*where, key))
    else:
        report(Problem(f"expected a list of cases, found {kind_of(data)}", name, located.line(where)))
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
_STREAMED = (".csv", ".json", ".jsonl", ".ndjson")


def unreadable(name: str | Path) -> str | None:
    """Why no records are read from a file of this name; None when they are."""
    if ending(name) not in READERS:
        return f"is of no known kind; cases are read from {listed(sorted(READERS))}"
    if is_packed(name) and ending(name) not in _STREAMED:
        return f"is packed, which is read of {listed(_STREAMED)} files only"
    return None


ONE_CASE_A_FILE = (".json", ".yaml", ".yml")


def _nothing_at(step: str, keys: list[str]) -> str:
    hint = meant(step, keys) or (f"; there are: {listed(keys)}" if keys else "")
    return f"there is nothing at {step!r}{hint}"


def _not_a_list(key: str, value: Any) -> str:
    if isinstance(value, list):
        return f"the file holds an object, not a list: if the cases are under {key!r}, write at: {key}"
    return f"expected a list of cases, or an object of id and case; under {key!r} found {kind_of(value)}"


def _report_all(problems: list[Problem], report: Report) -> None:
    for problem in problems:
        report(problem)


def _bad_line(path: Path) -> int | None:
    """The line on which a file stops being UTF-8."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    with open_bytes(path) as stream:
        for line, raw in enumerate(stream, 1):
            try:
                decoder.decode(raw)
            except UnicodeDecodeError:
                return line
    return None


def _last_line(path: Path) -> int:
    """The last whole line of packed data that is damaged behind it."""
    n = 0
    with suppress(Damaged), open_bytes(path) as stream:
        for _ in stream:
            n += 1
    return n


def read_schema(given: Any, place: Place, draft: Draft) -> dict[str, Any] | None:
    """The schema; what cannot be read is noted and None, what is no valid schema is noted and given all the same."""
    schema = _from_file(given, place, draft) if isinstance(given, str) else given
    if not isinstance(schema, dict):
        return None
    import jsonschema_rs

    try:
        jsonschema_rs.validator_for(schema, retriever=_refuse)
    except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError) as error:
        message = str(error).splitlines()[0]
        draft.add_problem(f"{dotted(place)} is not a valid JSON Schema: {message}", place)
    return schema


def _from_file(name: str, place: Place, draft: Draft) -> Any:
    text = draft.text(name, place)
    if text is None:
        return None
    try:
        schema = decode(text)
    except BrokenJson as error:
        draft.add_problem(f"{name}:{error.line}: {error}", place)
        return None
    except ValueError as error:
        draft.add_problem(f"{name}: {error}", place)
        return None
    if not isinstance(schema, dict):
        draft.add_problem(f"{name} holds no JSON Schema; {result(schema)}", place)
        return None
    return schema


def _refuse(uri: str) -> Any:
    # A suite means the same on every machine and asks nobody: nothing is fetched.
    raise ValueError(f"a schema may not refer to {uri}: put the definition into the file")
