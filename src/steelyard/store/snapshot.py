"""A run as one portable JSON file, written and read as a stream; nothing of a file is believed before it is checked.

The shape of the records, and the published JSON Schema of it (`docs/snapshot.schema.json` is `snapshot_schema`, written
out), come from the same types (see `codec.py`).
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, TextIO

from steelyard.errors import SnapshotError, StoreError
from steelyard.records import RunHeader, RunState
from steelyard.store.case_rows import keep_cases
from steelyard.store.codec import encode
from steelyard.store.databases import Duplicate, Session, in_pieces, pages_of
from steelyard.store.run_rows import RUN_COLUMNS, find_run, run_row
from steelyard.store.sample_writing import keep_samples
from steelyard.store.samples import cases_after, page_after
from steelyard.store.score_layouts import Layouts
from steelyard.store.snapshot_format import FORMAT, VERSION, ContentDigest
from steelyard.store.snapshot_reader import SnapshotReader
from steelyard.store.sql import UPDATE_RUN, SqlStore, median_latency
from steelyard.store.stored_text import to_json, to_stored

BATCH = 500
"""How many records are in memory at a time."""


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
