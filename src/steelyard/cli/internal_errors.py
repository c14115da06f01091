"""The message for a defect of Steelyard itself: one line, what is safe, how to go on, where the rest is."""

from __future__ import annotations

import errno
import os
import shlex
import sys
import tempfile
import traceback
from pathlib import Path

from steelyard.errors import NO_MORE_FILES, UNFINISHED
from steelyard.redact import redact_known

_LONGEST_NAME = 80


def internal_error_text(error: BaseException) -> str:
    """The message; the full traceback is in a file, or in the message itself where a file would be lost."""
    from steelyard.user_code import raised_in_words

    notes = getattr(error, "__notes__", ())
    unfinished = [note.removeprefix(UNFINISHED) for note in notes if note.startswith(UNFINISHED)]
    lines = [f"steelyard: internal error: {raised_in_words(error)}"]
    if unfinished:
        lines += [f"The finished samples of run {unfinished[0]} are stored. Resume with:", f"  {_go_on(unfinished[0])}"]
    else:
        lines.append("Finished samples of all runs are stored.")
    written = redact_known("".join(traceback.format_exception(error)))
    place = None if os.environ.get("CI") else _file(written)
    where = f"The full traceback is in {place}." if place else f"{written}\nThe full traceback is above."
    return "\n".join([*lines, f"{where} This is a defect of Steelyard, not of your suite: please report it with that."])


SYSTEM_ERRORS = {
    errno.ENAMETOOLONG: "the name is longer than the file system allows",
    errno.ELOOP: "links lead in a circle",
    errno.EACCES: "it is not yours to read or write",
    errno.EPERM: "it is not yours to read or write",
    errno.EROFS: "it is on a file system that is read-only",
    errno.EDQUOT: "your quota on this file system is used up",
    errno.EMFILE: NO_MORE_FILES,
    errno.ENFILE: "the system has no more files to open",
}
"""What a file system or the system refuses, in words: no defect of Steelyard."""


def system_error_text(error: OSError) -> str:
    """What the system refused, for which file, and how to go on with a run that it ended."""
    name = "" if error.filename is None else os.fsdecode(error.filename)
    shown = name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]}... ({len(name):,} characters)"
    notes = getattr(error, "__notes__", ())
    unfinished = [note.removeprefix(UNFINISHED) for note in notes if note.startswith(UNFINISHED)]
    resume = f". Finished samples are stored; resume with: {_go_on(unfinished[0])}" if unfinished else ""
    return f"{f'{shown}: ' if name else ''}{SYSTEM_ERRORS[error.errno or 0]}{resume}"


def _go_on(run_id: str) -> str:
    words = sys.argv[1:]
    if words[:1] in (["run"], ["ci"]):
        from steelyard.cli.resume import same_command

        return same_command(run_id)
    if words[:1] in (["ab"], ["experiment"]) and "--resume" not in words:
        words.append("--resume")
    return shlex.join(["steelyard", *words])


def _file(text: str) -> str | None:
    """A file of this user's own with the text, beside the store of the working folder if there is one."""
    from steelyard.store.sql import DEFAULT

    folder = DEFAULT.parent if DEFAULT.parent.is_dir() else Path(tempfile.gettempdir())
    try:
        number, place = tempfile.mkstemp(prefix="internal-error-", suffix=".log", dir=folder)
        with os.fdopen(number, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
    except OSError:
        return None
    return place
