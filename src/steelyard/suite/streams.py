"""Data files as plain bytes, whatever they are packed with: gzip or zstd."""

from __future__ import annotations

import io
import shutil
import tempfile
import weakref
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path, PurePosixPath
from typing import IO, Any, TextIO

_PACKED = {".gz": "gzip", ".zst": "zstd"}
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
