"""A run as one portable JSON file, written and read as a stream."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from steelyard.errors import SnapshotError, StoreError
from steelyard.records import RunHeader
from steelyard.store.database import Duplicate, Session
from steelyard.store.ids import find_run
from steelyard.store.load import case_contents, page_after
from steelyard.store.snapshot_form import FORMAT, VERSION, ContentDigest, run_data, sample_data
from steelyard.store.snapshot_reader import SnapshotReader, keep_snapshot
from steelyard.store.sql import SqlStore
from steelyard.store.text import to_json, to_stored


def write_snapshot(store: SqlStore, run_id: str, path: str | Path) -> None:
    """Write the run to a file, which appears whole or not at all."""
    digest = ContentDigest()
    with store.database.reading() as session:
        header = find_run(session, run_id, store.place)
        run = _number(session, header)
        with whole_file(Path(path)) as file:
            file.write(f'{{"format":"{FORMAT}",\n"version":{VERSION},\n"run":')
            file.write(_written(run_data(header), digest))
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
            known = _digest_of_stored(session, header.id)
        if known is None:
            try:
                with store.database.writing() as session:
                    keep_snapshot(session, reader, header)
                    if use is not None:
                        _refuse_unusable(use, header, str(path))
            except Duplicate as error:
                raise SnapshotError(
                    f"{path}: a sample is there twice, or another process brought the run in meanwhile. "
                    "Nothing was imported"
                ) from error
        elif reader.skim() != known:
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
    return (json.loads(content) for content in case_contents(session, run))


def _samples(session: Session, run: int) -> Iterator[Any]:
    page, seq = page_after(session, run, -1)
    while page:
        for sample, _case in page:
            yield sample_data(sample)
        page, seq = page_after(session, run, seq)


def _number(session: Session, header: RunHeader) -> int:
    return int(session.execute("SELECT number FROM runs WHERE id = ?", (to_stored(header.id),))[0][0])


def _digest_of_stored(session: Session, run_id: str) -> str | None:
    """The digest a snapshot of the stored run would carry; None when there is no such run."""
    if not session.execute("SELECT 1 FROM runs WHERE id = ?", (to_stored(run_id),)):
        return None
    header = find_run(session, run_id, "")
    run = _number(session, header)
    digest = ContentDigest()
    digest.add(run_data(header))
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
