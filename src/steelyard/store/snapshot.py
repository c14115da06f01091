"""A run as one portable JSON file, written and read as a stream; nothing of a file is believed before it is checked.

The shape of the records, and the published JSON Schema of it (`docs/snapshot.schema.json` is `snapshot_schema`, written
out), come from the same types (see `codec.py`).
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from typing import Any, TextIO

import jsonschema_rs

from steelyard.errors import SnapshotError, StoreError
from steelyard.records import RunHeader, RunState, Sample
from steelyard.store.codec import Schema, decode, encode, schemas_of, to_json, to_stored
from steelyard.store.databases import Duplicate, Session, in_pieces, pages_of
from steelyard.store.samples import Layouts, case_row, cases_after, keep_cases, keep_samples, page_after
from steelyard.store.sql import RUN_COLUMNS, UPDATE_RUN, SqlStore, find_run, median_latency, run_row
from steelyard.suite.case import Case
from steelyard.suite.readers import BrokenJson, JsonCursor

FORMAT = "steelyard-snapshot"
VERSION = 1
BATCH = 500
"""How many records are in memory at a time."""

_KINDS = {"run": RunHeader, "case": Case, "sample": Sample}
_DAMAGED = "The file is damaged or was edited: export the run again. Nothing was imported"
_HASH = re.compile("[0-9a-f]{16}")
_canonical = json.JSONEncoder(sort_keys=True, separators=(",", ":"))


class ContentDigest:
    """A digest over the run, its cases and its samples that does not depend on white space or the order of keys."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()

    def add(self, record: Any) -> None:
        """Take one record in."""
        self._hash.update(_canonical.encode(record).encode() + b"\n")

    def text(self) -> str:
        """The digest as it stands in the file."""
        return f"sha256:{self._hash.hexdigest()}"


@cache
def snapshot_schema() -> Schema:
    """The JSON Schema of a snapshot."""
    refs = {name: {"$ref": f"#/$defs/{kind.__name__}"} for name, kind in _KINDS.items()}
    properties: Schema = {
        "format": {"const": FORMAT},
        "version": {"const": VERSION},
        "run": refs["run"],
        "cases": {"type": "array", "items": refs["case"], "description": "Each once, by id."},
        "samples": {"type": "array", "items": refs["sample"], "description": "By position."},
        "digest": {"type": "string", "pattern": "^sha256:[0-9a-f]{64}$"},
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Steelyard snapshot",
        "description": "One run as one file. The keys come in the order given here. Times are seconds since 1970 "
        "(UTC), latencies seconds. A field that has its default, null where none is given, is left out.",
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
        "$defs": schemas_of(_KINDS.values()),
    }


def write_snapshot(store: SqlStore, run_id: str, path: str | Path) -> None:
    """Write the run to a file, which appears whole or not at all."""
    digest = ContentDigest()
    with store.database.reading() as session:
        header = find_run(session, run_id, store.place)
        run = _number(session, header)
        with whole_file(Path(path)) as file:
            file.write(f'{{"format":"{FORMAT}",\n"version":{VERSION},\n"run":')
            file.write(_written(encode(header), digest))
            for name, records in (("cases", _cases(session, run)), ("samples", _samples(session, run))):
                file.write(f',\n"{name}":[')
                separator = "\n"
                for record in records:
                    file.write(separator + _written(record, digest))
                    separator = ",\n"
                file.write("\n]")
            file.write(f',\n"digest":"{digest.text()}"}}\n')


def read_snapshot(store: SqlStore, path: str | Path, use: Callable[[RunHeader], object] | None = None) -> str:
    """Bring the run of a snapshot into the store and give its id; all of it, or, with an error, nothing.

    A run that is there already is left alone when it is the same, and refused when it differs. `use` does with the run
    what a user will do next: a file whose parts do not fit together is refused now, and not later.
    """
    with _reading_file(Path(path)) as file:
        reader = SnapshotReader(file, str(path))
        header = reader.header()
        with store.database.reading() as session:
            stored = _digest_of_stored(session, header.id)
        if stored is None:
            try:
                with store.database.writing() as session:
                    _keep_snapshot(session, reader, header, packs=store.database.dialect.packs)
                    if use is not None:
                        _refuse_unusable(use, header, str(path))
            except Duplicate as error:
                raise SnapshotError(
                    f"{path}: a sample is there twice, or another process brought the run in meanwhile. "
                    "Nothing was imported"
                ) from error
        elif reader.skim() != stored:
            raise SnapshotError(
                f"{path}: {store.place} already holds a run {header.id} with other content. Nothing was imported"
            )
    return header.id


def _refuse_unusable(use: Callable[[RunHeader], object], header: RunHeader, path: str) -> None:
    try:
        use(header)
    except StoreError:
        raise
    except Exception as error:
        raise SnapshotError(
            f"{path}: its parts do not fit together, so that no report can be made of it"
            f" ({type(error).__name__}: {str(error)[:200]}). Nothing was imported"
        ) from error


def _written(record: Any, digest: ContentDigest) -> str:
    digest.add(record)
    return to_json(record)


def _cases(session: Session, run: int) -> Iterator[Any]:
    pages = pages_of(partial(cases_after, session, run), None)
    return (json.loads(content) for page in pages for _id, content in page)


def _samples(session: Session, run: int) -> Iterator[Any]:
    return (encode(sample) for page in pages_of(partial(page_after, session, run), -1) for sample, _case in page)


def _number(session: Session, header: RunHeader) -> int:
    return int(session.execute("SELECT number FROM runs WHERE id = ?", (to_stored(header.id),))[0][0])


def _digest_of_stored(session: Session, run_id: str) -> str | None:
    """The digest a snapshot of the stored run would carry; None when there is no such run."""
    if not session.execute("SELECT 1 FROM runs WHERE id = ?", (to_stored(run_id),)):
        return None
    header = find_run(session, run_id, "")
    run = _number(session, header)
    digest = ContentDigest()
    digest.add(encode(header))
    for records in (_cases(session, run), _samples(session, run)):
        for record in records:
            digest.add(record)
    return digest.text()


@contextmanager
def whole_file(path: Path) -> Iterator[TextIO]:
    """A file that takes its name only when it is complete and on the disk."""
    target = Path(os.path.realpath(path))
    # A device or pipe cannot be replaced by a finished file: it is written to as it is.
    direct = target.exists() and not target.is_file() and not target.is_dir()
    passing = target if direct else target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
    try:
        if target.is_dir():
            raise IsADirectoryError(0, "it is a folder")
        try:
            with passing.open("w" if direct else "x", encoding="utf-8", newline="\n") as file:
                yield file
                file.flush()
                if not direct:
                    os.fsync(file.fileno())
            if not direct:
                passing.replace(target)
        except BaseException:
            if not direct:
                passing.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise SnapshotError(f"{path} cannot be written: {error.strerror}. Nothing was left behind") from error


@contextmanager
def _reading_file(path: Path) -> Iterator[TextIO]:
    try:
        with path.open(encoding="utf-8") as file:
            yield file
    except UnicodeDecodeError as error:
        raise SnapshotError(f"{path} is not a snapshot: it is no UTF-8 text. Nothing was imported") from error
    except OSError as error:
        raise SnapshotError(f"{path} cannot be read: {error.strerror}") from error


# ---- reading


class SnapshotReader:
    """One pass over a snapshot: header, then cases, then samples, then `finish`."""

    def __init__(self, file: TextIO, name: str) -> None:
        self._cursor = JsonCursor(file)
        self._name = name
        self._keys: Iterator[str] = iter(())
        self._digest = ContentDigest()
        self._hashes: set[int] = set()
        """The hashes of the cases seen, as numbers: a fifth of the memory of text."""

    def header(self) -> RunHeader:
        """The run; SnapshotError when the file is something else, or of another version."""
        try:
            self._keys = self._cursor.members()
            first = next(self._keys, None)
            if first != "format" or self._cursor.value()[0] != FORMAT:
                raise self._foreign()
        except BrokenJson:
            raise self._foreign() from None
        self._go_to("version")
        version, line, _text = self._value()
        if not isinstance(version, int) or isinstance(version, bool) or version < 1:
            raise self._error(f"version {version!r} is not a snapshot version. {_DAMAGED}", line)
        if version > VERSION:
            raise self._error(
                f"the snapshot is version {version}, this Steelyard reads up to {VERSION}: upgrade it "
                "(pip install -U steelyard). Nothing was imported",
                line,
            )
        self._go_to("run")
        data, line, _text = self._value()
        problem = _first_problem("run")
        # Snapshots of before the figures were rows state a summary; it is made of the samples again.
        self._take(data, line, lambda run: problem(_without_summary(run)))
        data = _without_summary(data)
        if not data["id"]:
            raise self._error(f"run.id: it is empty. {_DAMAGED}", line)
        return decode(RunHeader, data)

    def cases(self) -> Iterator[tuple[str, str, str]]:
        """Each case as the row it is stored in, in the order of the file."""
        self._go_to("cases")
        check = _first_problem("case")
        for data, line in self._elements():
            self._take(data, line, check)
            row = case_row(decode(Case, data))
            self._hashes.add(int(row[1], 16))
            yield row

    def samples(self) -> Iterator[Sample]:
        """Each sample, in the order of the plan; its case has come before."""
        self._go_to("samples")
        check = _first_problem("sample")
        last = -1
        for data, line in self._elements():
            self._take(data, line, check)
            sample = decode(Sample, data)
            if not _HASH.fullmatch(sample.case_hash) or int(sample.case_hash, 16) not in self._hashes:
                raise self._error(f"case {sample.case_id!r} is not among the cases. {_DAMAGED}", line)
            if sample.position is None or sample.position <= last:
                raise self._error(f"position {sample.position} comes after {last}. {_DAMAGED}", line)
            last = sample.position
            yield sample

    def finish(self) -> str:
        """The digest, once it is clear that the file ends here and holds what it held when it was written."""
        self._go_to("digest")
        digest, line, _text = self._value()
        if digest != self._digest.text():
            raise self._error(f"the content does not fit the digest {str(digest)[:80]!r}. {_DAMAGED}", line)
        try:
            for extra in self._keys:
                raise self._error(f"unexpected {extra!r}. {_DAMAGED}", self._cursor.line)
            self._cursor.end()
        except BrokenJson as error:
            raise self._broken(error) from None
        return self._digest.text()

    def skim(self) -> str:
        """The digest after reading and checking the rest."""
        for _case in self.cases():
            pass
        for _sample in self.samples():
            pass
        return self.finish()

    def _go_to(self, key: str) -> None:
        try:
            result = next(self._keys, None)
        except BrokenJson as error:
            raise self._broken(error) from None
        if result != key:
            expected = f"expected {key!r} here, found {result!r}" if result else f"{key!r} is missing"
            raise self._error(f"{expected}. {_DAMAGED}", self._cursor.line)

    def _value(self) -> tuple[Any, int, str]:
        try:
            return self._cursor.value()
        except BrokenJson as error:
            raise self._broken(error) from None

    def _elements(self) -> Iterator[tuple[Any, int]]:
        try:
            for data, line, _text in self._cursor.elements():
                yield data, line
        except BrokenJson as error:
            raise self._broken(error) from None

    def _take(self, data: Any, line: int, check: Callable[[Any], str | None]) -> None:
        if problem := check(data):
            raise self._error(f"{problem}. {_DAMAGED}", line)
        self._digest.add(data)

    def _foreign(self) -> SnapshotError:
        return SnapshotError(
            f"{self._name} is not a Steelyard snapshot: it does not begin with "
            f'{{"format": "{FORMAT}", ...}}. Nothing was imported'
        )

    def _broken(self, error: BrokenJson) -> SnapshotError:
        return self._error(f"{error}. {_DAMAGED}", error.line)

    def _error(self, message: str, line: int) -> SnapshotError:
        return SnapshotError(f"{self._name}:{line}: {message}")


def _keep_snapshot(session: Session, reader: SnapshotReader, header: RunHeader, *, packs: bool) -> None:
    """Store a whole snapshot inside one transaction."""
    values = dict(zip(RUN_COLUMNS, run_row(header), strict=True))
    # Nothing can be added to an ended run, so it ends last.
    values["state"] = RunState.RUNNING.value
    session.insert("runs", RUN_COLUMNS, [tuple(values.values())])
    run = int(session.execute("SELECT number FROM runs WHERE id = ?", (values["id"],))[0][0])
    for cases in in_pieces(reader.cases(), BATCH):
        keep_cases(session, cases)
    layouts: Layouts | None = None
    for samples in in_pieces(reader.samples(), BATCH):
        hashes = [sample.case_hash for sample in samples]
        layouts = keep_samples(session, run, samples, hashes, layouts, packs=packs)
    reader.finish()
    session.execute(UPDATE_RUN, (*run_row(header), median_latency(session, run, header), run))


def _first_problem(kind: str) -> Callable[[Any], str | None]:
    """A check of one `run`, `case` or `sample`: the first thing wrong with it in words, or None."""
    schema = snapshot_schema()
    validator = jsonschema_rs.Draft202012Validator(
        {"$ref": f"#/$defs/{_KINDS[kind].__name__}", "$defs": schema["$defs"]}, retriever=_no_remote
    )

    def check(record: Any) -> str | None:
        try:
            return problem(record)
        except UnicodeEncodeError:
            # The validator can neither look up nor quote half of a surrogate pair, which model output may hold.
            return problem(_without_halves(record))

    def problem(record: Any) -> str | None:
        if validator.is_valid(record):
            return None
        error = next(iter(validator.iter_errors(record)))
        place = ".".join(str(step) for step in error.instance_path)
        message = error.message if len(error.message) <= 200 else f"{error.message[:200]}..."
        return f"{kind}{f'.{place}' if place else ''}: {message}"

    return check


def _without_summary(run: Any) -> Any:
    return {name: value for name, value in run.items() if name != "summary"} if isinstance(run, dict) else run


def _without_halves(data: Any) -> Any:
    """The same with another character for each half of a surrogate pair: of the same shape, only to be checked."""
    if isinstance(data, str):
        return data.encode("utf-8", "replace").decode()
    if isinstance(data, dict):
        return {_without_halves(key): _without_halves(value) for key, value in data.items()}
    return [_without_halves(item) for item in data] if isinstance(data, list) else data


def _no_remote(address: str) -> Any:
    raise ValueError(f"a snapshot's schema refers to nothing outside itself, not to {address}")
