"""An edit of a file of cases and its line in the ledger: both are there, or neither, also after a kill.

What an edit is about to do is written down first, in a folder beside the ledger that also holds all its temporary
files. Whoever loads the suite next completes what was begun, or takes it back, and removes the folder.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pydantic import ValidationError

from steelyard.errors import SteelyardError, UsageError
from steelyard.suite.files import write_bytes
from steelyard.suite.ledger import LEDGER_FILE, LedgerLine, append_lines, wait_for_others

EDIT_FOLDER = ".truth-edit"
_INTENT = "intent.json"


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Nobody else edits the suite in this folder meanwhile; an edit that was interrupted is completed first."""
    descriptor = None
    with suppress(OSError):  # Windows
        descriptor = os.open(folder, os.O_RDONLY)
        wait_for_others(descriptor)
    try:
        _finish(folder)
        yield
    finally:
        if descriptor is not None:
            os.close(descriptor)


def finish_interrupted_edit(folder: Path) -> None:
    """Complete the edit that a kill interrupted, or take it back; waits for one that is under way."""
    if (folder / EDIT_FOLDER).exists():
        with alone_in(folder):
            pass


@contextmanager
def edit_folder(folder: Path) -> Iterator[Path]:
    """A folder for the temporary files of one edit; gone afterwards, whatever happens. For use in `alone_in`."""
    place = folder / EDIT_FOLDER
    try:
        place.mkdir()
    except OSError as error:
        raise UsageError(f"cannot write {place}: {error.strerror}") from None
    try:
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)


def write_edit(place: Path, path: Path, data: bytes, line: LedgerLine) -> None:
    """Put the new content of a file of cases in its place and the line into the ledger; UsageError, and neither is
    there, when that fails. `place` is the edit's folder."""
    folder, old = place.parent, path.read_bytes()
    intent = {"file": str(path), "before": _digest(old), "after": _digest(data), "line": line.as_data()}
    waiting = place / f"new-{path.name}"
    try:
        waiting.write_bytes(data)
        # Who may read a file does not change with what is in it.
        waiting.chmod(stat.S_IMODE(path.stat().st_mode))
        _sync(waiting)
        (place / _INTENT).write_text(json.dumps(intent), encoding="utf-8")
        _sync(place / _INTENT)
    except OSError as error:
        raise UsageError(f"cannot write {place}: {error.strerror}") from error
    try:
        waiting.replace(path)
    except OSError:  # on another file system
        write_bytes(path, data)
    try:
        append_lines(folder, [line])
    except SteelyardError:
        write_bytes(path, old)
        raise


def _sync(path: Path) -> None:
    with path.open("rb+") as file:
        os.fsync(file.fileno())


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _finish(folder: Path) -> None:
    place = folder / EDIT_FOLDER
    if not place.exists():
        return
    # Without a whole intent nothing had been changed yet.
    with suppress(OSError, ValueError, KeyError, TypeError, ValidationError):
        intent = json.loads((place / _INTENT).read_text(encoding="utf-8"))
        line, path = LedgerLine.model_validate(intent["line"]), Path(intent["file"])
        now = _digest(path.read_bytes()) if path.exists() else ""
        what = f"the edit of {line.case} that was interrupted ({line.by}: {line.reason})"
        if now == intent["after"]:
            if not _is_in_ledger(folder, line):
                append_lines(folder, [line])
            _report(f"{what} is completed")
        elif now == intent["before"]:
            _report(f"{what} is taken back: nothing was changed; repeat it")
        else:
            _report(f"{what} is not in the ledger, and {path.name} was edited since: see `steelyard truth diff`")
    shutil.rmtree(place, ignore_errors=True)


def _is_in_ledger(folder: Path, line: LedgerLine) -> bool:
    path = folder / LEDGER_FILE
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return any(json.loads(text) == line.as_data() for text in lines if text.strip())


def _report(text: str) -> None:
    print(f"steelyard: {text}", file=sys.stderr)  # noqa: T201
