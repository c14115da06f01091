"""Files at addresses, such as `s3://bucket/cases.jsonl`.

They are copied once: cases are read several times, and must be the same each time.
"""

from __future__ import annotations

import re
import shutil
from typing import Any
from urllib.parse import urlsplit

from steelyard.errors import MissingExtra, UsageError
from steelyard.suite.streams import LocalCopy

_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
_GLOB = "*?["


def is_address(name: str) -> bool:
    """True for `s3://bucket/cases.jsonl` and the like."""
    return _ADDRESS.match(name) is not None


def fetch(address: str) -> LocalCopy:
    """A copy of the file there; ValueError with a sentence when it cannot be read, UsageError without fsspec.

    Whoever may read it is known from the environment alone.
    """
    files, path = _file_system(address)
    copy = LocalCopy(path.rstrip("/"))
    try:
        if files.isdir(path):
            raise ValueError(f"{address} is a folder: name files in it, such as {address.rstrip('/')}/*.jsonl")
        with files.open(path, "rb") as source, copy.path.open("wb") as target:
            shutil.copyfileobj(source, target, 1 << 20)
    except FileNotFoundError:
        raise ValueError(f"there is no file {address}") from None
    except ValueError:
        raise
    except Exception as error:  # noqa: BLE001 - each file system raises errors of its own
        raise ValueError(f"{address} cannot be read: {_reason(error)}") from None
    return copy


def addresses(pattern: str) -> list[str]:
    """The addresses that a glob fits, sorted; the address itself when it is none. ValueError when there are none."""
    files, path = _file_system(pattern)
    if not any(sign in pattern for sign in _GLOB):
        return [pattern]
    try:
        fitting = sorted(files.unstrip_protocol(item) for item in files.glob(path))
    except Exception as error:  # noqa: BLE001 - each file system raises errors of its own
        raise ValueError(f"{pattern} cannot be read: {_reason(error)}") from None
    if not fitting:
        raise ValueError(f"no file fits {pattern}")
    return fitting


def _file_system(address: str) -> tuple[Any, str]:
    """The file system and the path in it; UsageError when there is none, ValueError for an address with a secret."""
    parts = urlsplit(address.replace("?", "%3F") if "*" in address else address)
    if "@" in parts.netloc and ":" in parts.netloc.rpartition("@")[0]:
        raise ValueError(f"an address holds no password ({parts.scheme}://…): give it by the environment")
    if parts.query:
        raise ValueError(f"an address holds no query ({address.partition('?')[0]}?…), which may be a key")
    try:
        import fsspec
    except ImportError:
        raise MissingExtra(f"reading {parts.scheme}:// addresses", "fsspec") from None
    try:
        files, path = fsspec.core.url_to_fs(address)
        # What another process wrote since is there, too.
        files.invalidate_cache()
    except ImportError as error:
        raise UsageError(f"reading {parts.scheme}:// addresses needs a package more: {_reason(error)}") from None
    except Exception as error:  # noqa: BLE001 - each file system raises errors of its own
        raise ValueError(f"{address} cannot be read: {_reason(error)}") from None
    return files, str(path)


def _reason(error: Exception) -> str:
    lines = str(error).splitlines()
    return lines[0] if lines else type(error).__name__
