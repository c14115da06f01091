"""Writes a report file whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from steelyard.errors import UserMistake


def write_text(path: Path, text: str) -> None:
    """Put `text` at `path` in one step; a failure leaves what was there."""
    write_bytes(path, text.encode("utf-8", "replace"))


def write_bytes(path: Path, content: bytes) -> None:
    """Put `content` at `path` in one step; a failure leaves what was there."""
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    except OSError as error:
        raise UserMistake(f"cannot write {path}: {error.strerror}") from error
    waiting = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        waiting.chmod(0o666 & ~_umask())
        waiting.replace(path)
    except OSError as error:
        waiting.unlink(missing_ok=True)
        raise UserMistake(f"cannot write {path}: {error.strerror}") from error


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
