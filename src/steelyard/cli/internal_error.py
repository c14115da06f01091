"""What a person is told of a defect of Steelyard itself: one line, what is safe, how to go on, where the rest is."""

from __future__ import annotations

import os
import shlex
import sys
import tempfile
import traceback
from pathlib import Path

from steelyard.cli.ending import same_command
from steelyard.errors import UNFINISHED
from steelyard.redact import redact_known
from steelyard.store.open import DEFAULT
from steelyard.user_code import raised_in_words

INTERNAL_ERROR = 70
"""EX_SOFTWARE of sysexits.h: no verdict has this code."""


def internal_error_text(error: BaseException) -> str:
    """The message; the full traceback is in a file, or in the message itself where a file would be lost."""
    notes = getattr(error, "__notes__", ())
    unfinished = [note.removeprefix(UNFINISHED) for note in notes if note.startswith(UNFINISHED)]
    lines = [f"steelyard: internal error: {raised_in_words(error)}"]
    if unfinished:
        lines += [f"What run {unfinished[0]} had finished is stored. Go on with:", f"  {_go_on(unfinished[0])}"]
    else:
        lines.append("Whatever runs had finished is stored as it was.")
    written = redact_known("".join(traceback.format_exception(error)))
    place = None if os.environ.get("CI") else _file(written)
    where = f"The full traceback is in {place}." if place else f"{written}\nThe full traceback is above."
    return "\n".join([*lines, f"{where} This is a defect of Steelyard, not of your suite: please report it with that."])


def _go_on(run_id: str) -> str:
    words = sys.argv[1:]
    if words[:1] in (["run"], ["ci"]):
        return same_command(run_id)
    if words[:1] in (["ab"], ["experiment"]) and "--resume" not in words:
        words.append("--resume")
    return shlex.join(["steelyard", *words])


def _file(text: str) -> str | None:
    """A file of this user's own with the text, beside the store of the working folder if there is one."""
    folder = DEFAULT.parent if DEFAULT.parent.is_dir() else Path(tempfile.gettempdir())
    try:
        number, place = tempfile.mkstemp(prefix="internal-error-", suffix=".log", dir=folder)
        with os.fdopen(number, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
    except OSError:
        return None
    return place
