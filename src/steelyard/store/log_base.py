"""Whether the write-ahead log beside an SQLite file belongs to it, or to one that stood there before.

SQLite applies any log whose own checksums are right. Beside a file that was replaced, say by a backup, it would damage
it. So a small file next to the log (`FILE-base`) holds the log's salts, which are others each time the log begins anew,
and digests of some pages of the file as they were then. From then on SQLite changes a page of the file only to one that
is in the log. A log is refused on evidence alone: without such a file, or with that of another log, it is applied.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import threading
import time
from pathlib import Path

from steelyard.errors import StoreError

_LOG_HEADER, _FRAME_HEADER = 32, 24
_SAMPLED = 16
"""Pages whose digests are recorded, the first and the last among them."""
_LOOKS, _PAUSE = 3, 0.1
"""Another process may be writing: a log is refused when it is found so several times."""

_Place = tuple[int, int]
_held: dict[_Place, list[int]] = {}
"""By device and number of a database file, a descriptor of it and how many use it."""
_guard = threading.Lock()


class LogBase:
    """What the log of one SQLite file is based on."""

    def __init__(self, path: Path) -> None:
        self._path, self._log, self._file = path, Path(f"{path}-wal"), Path(f"{path}-base")
        self._salts = b""
        self._place: _Place | None = None
        self.is_new = True
        """True until the first page has been written since the log began anew: its counter tells the file from all
        earlier states of it."""

    def refuse_foreign(self) -> None:
        """StoreError when the log is not that of the file; nothing was changed."""
        for look in range(_LOOKS):
            if not self._is_foreign():
                return
            if look + 1 < _LOOKS:
                time.sleep(_PAUSE)
        raise StoreError(
            f"{self._path} was replaced, and {self._log.name} beside it is the log of the file that was there before:"
            f" with it the store would be damaged, so nothing was read or changed. To use the file as it is, move"
            f" {self._log.name} away; to keep what only the log holds, bring back the earlier file first"
        )

    def record(self) -> None:
        """Note what the log is based on if it has begun anew; a disk that is full keeps no note."""
        salts, size = self._head()
        if not salts or salts == self._salts:
            return
        self._salts, self.is_new = salts, True
        with contextlib.suppress(OSError):
            n = max(1, os.fstat(self._descriptor()).st_size // size)
            pages = sorted({1 + round(at * (n - 1) / (_SAMPLED - 1)) for at in range(_SAMPLED)})
            lines = [salts.hex(), *(f"{page} {self._digest(page, size)}" for page in pages)]
            new = Path(f"{self._file}.{os.getpid()}")
            new.write_text("\n".join(lines), encoding="ascii")
            new.replace(self._file)

    def close(self) -> None:
        """Forget the file once no connection of this process is open; without a log there is nothing to tell of it."""
        with contextlib.suppress(OSError):
            if not self._log.exists():
                self._file.unlink(missing_ok=True)
        with _guard:
            if self._place is not None:
                held = _held[self._place]
                held[1] -= 1
                if not held[1]:
                    os.close(held[0])
                    del _held[self._place]
                self._place = None

    def _is_foreign(self) -> bool:
        try:
            salts, size = self._head()
            first, *lines = self._file.read_text(encoding="ascii").split("\n")
            if not salts or first != salts.hex():
                return False
            base = {int(page): digest for page, digest in map(str.split, lines)}
            changed = {page for page, digest in base.items() if self._digest(page, size) not in ("", digest)}
            for page, digest in self._logged(changed, salts, size):
                if page in changed and digest == self._digest(page, size):
                    changed.discard(page)
        except (OSError, ValueError):
            return False
        return bool(changed) and self._head()[0] == salts

    def _head(self) -> tuple[bytes, int]:
        """The salts of the log and the size of pages; nothing where there is no log."""
        try:
            with self._log.open("rb") as file:
                head = file.read(_LOG_HEADER)
        except OSError:
            return b"", 0
        return (head[16:24], int.from_bytes(head[8:12], "big")) if len(head) == _LOG_HEADER else (b"", 0)

    def _logged(self, pages: set[int], salts: bytes, size: int) -> list[tuple[int, str]]:
        """The pages among these that the log holds, each with the digest of what it makes of them."""
        found = []
        if pages:
            with self._log.open("rb") as file:
                file.seek(_LOG_HEADER)
                while len(head := file.read(_FRAME_HEADER)) == _FRAME_HEADER and head[8:16] == salts:
                    content, page = file.read(size), int.from_bytes(head[:4], "big")
                    if page in pages:
                        found.append((page, _digest_of(content)))
        return found

    def _digest(self, page: int, size: int) -> str:
        """Of a page as it is in the file itself; "" where it has none."""
        content = os.pread(self._descriptor(), size, (page - 1) * size)
        return _digest_of(content) if content else ""

    def _descriptor(self) -> int:
        # Closing any descriptor of a file ends the locks that SQLite has on it in this process: one is kept for all
        # stores of the file, to the last of them.
        with _guard:
            if self._place is None:
                now = self._path.stat()
                self._place = (now.st_dev, now.st_ino)
                if self._place not in _held:
                    _held[self._place] = [os.open(self._path, os.O_RDONLY | os.O_CLOEXEC), 0]
                _held[self._place][1] += 1
            return _held[self._place][0]


def _digest_of(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=8).hexdigest()
