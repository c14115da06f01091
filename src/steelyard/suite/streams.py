"""Data files as plain bytes, whatever they are packed with: gzip, zstd, or a place that fsspec reads."""

from __future__ import annotations

import io
import re
import shutil
import tempfile
import weakref
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path, PurePosixPath
from typing import IO, Any, TextIO
from urllib.parse import urlsplit

from steelyard.errors import MissingExtra, UsageError

_PACKED = {".gz": "gzip", ".zst": "zstd"}
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
_GLOB = "*?["
MAX_UNPACKED = 1 << 28
"""Bytes that a file inside an archive may have unpacked: it is read whole."""
MAX_RATIO, _FREE = 200, 1 << 26
"""Packed data may unpack to 64 MiB, and beyond that to 200 times its size: JSON and CSV pack to a tenth, at best a
fiftieth, and what unpacks to more is made to fill a disk or a memory."""
_IN, _IN_ZSTD, _OUT = 1 << 14, 1 << 10, 1 << 16
"""Bytes read and handed on at a time: what is packed with gzip may be a thousand times as large unpacked, and with zstd
thirty thousand times."""


class Damaged(ValueError):
    """Packed data that cannot be unpacked to its end."""


def ending(name: str | Path) -> str:
    """What a file holds, by its name and whatever it is packed with: `.jsonl` of `cases.jsonl.gz`."""
    path = PurePosixPath(str(name))
    last = path.suffix.lower()
    return path.with_suffix("").suffix.lower() if last in _PACKED else last


def is_packed(name: str | Path) -> bool:
    """True for a name that ends like gzip or zstd data."""
    return PurePosixPath(str(name)).suffix.lower() in _PACKED


def open_bytes(path: Path) -> IO[bytes]:
    """The file's content, unpacked while it is read; Damaged when that cannot be done to its end."""
    kind = _PACKED.get(path.suffix.lower())
    return path.open("rb") if kind is None else io.BufferedReader(_Unpacked(path, kind), _OUT)


def open_text(path: Path, newline: str | None = None) -> TextIO:
    """The file's UTF-8 text, unpacked while it is read, without a byte-order mark."""
    if not is_packed(path):
        return path.open(encoding="utf-8-sig", newline=newline)
    return io.TextIOWrapper(open_bytes(path), encoding="utf-8-sig", newline=newline)


class _Unpacked(io.RawIOBase):
    """The content of a packed file. One that is cut off is told from one that has ended."""

    def __init__(self, path: Path, kind: str) -> None:
        self._kind = kind
        self._begin, self._errors = _unpacker(kind)
        self._source = path.open("rb")
        self._unpacker: Any = None
        self._waiting, self._ready = b"", memoryview(b"")
        self._n_in = self._n_out = 0

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        self._source.close()
        super().close()

    def readinto(self, buffer: Any) -> int:
        while not self._ready:
            packed = self._waiting
            if not packed:
                packed = self._source.read(_IN if self._kind == "gzip" else _IN_ZSTD)
                self._n_in += len(packed)
            self._waiting = b""
            if not packed:
                if self._unpacker is not None:
                    raise Damaged(f"the {self._kind} data is cut off")
                return 0
            self._unpack(packed)
        n = min(len(buffer), len(self._ready))
        buffer[:n], self._ready = self._ready[:n], self._ready[n:]
        return n

    def _unpack(self, packed: bytes) -> None:
        if self._unpacker is None:
            # Files that were put one behind the other are one file; zeros fill up blocks of a tape.
            packed = packed.lstrip(b"\0")
            if not packed:
                return
            self._unpacker = self._begin()
        try:
            self._ready = memoryview(self._unpacker.decompress(packed))
        except self._errors as error:
            raise Damaged(f"the {self._kind} data is damaged: {error}") from None
        self._n_out += len(self._ready)
        if self._n_out > max(_FREE, MAX_RATIO * self._n_in):
            raise Damaged(
                f"the {self._kind} data unpacks to more than {MAX_RATIO} times its size: unpack it first if it is right"
            )
        if self._unpacker.eof:
            self._waiting, self._unpacker = self._unpacker.unused_data, None


def _unpacker(kind: str) -> tuple[Callable[[], Any], type[Exception]]:
    if kind == "gzip":
        return lambda: zlib.decompressobj(wbits=31), zlib.error
    import zstandard

    return lambda: zstandard.ZstdDecompressor().decompressobj(), zstandard.ZstdError


class LocalCopy:
    """A file of this process alone, which is removed when nobody has this object any more."""

    def __init__(self, name: str) -> None:
        folder = tempfile.mkdtemp(prefix="steelyard-")
        self.path = Path(folder) / PurePosixPath(name).name
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)


def lines_copy(name: str, lines: Iterable[bytes]) -> LocalCopy:
    """A plain file of these lines, for what is read in any order."""
    copy = LocalCopy(name)
    with copy.path.open("wb") as stream:
        stream.writelines(lines)
    return copy


# Files at addresses. They are copied once: cases are read several times, and must be the same each time.


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
