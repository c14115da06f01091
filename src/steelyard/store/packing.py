"""Large texts and columns packed with Zstandard, and the way back, of the beginning of a text alone, too."""

from __future__ import annotations

import threading
from functools import cache

LARGE = 2_000
"""Characters from which on a text is packed: as many bytes as PostgreSQL begins to pack at by itself."""
_WORTH_PACKING = 0.75
_MAGIC = b"\x28\xb5\x2f\xfd"
"""With which every Zstandard frame begins."""


class _Packers(threading.local):
    """Zstandard, imported by the thread that first needs it."""

    def __init__(self) -> None:
        import zstandard

        self.pack = zstandard.ZstdCompressor().compress
        self.unpack = zstandard.ZstdDecompressor().decompress
        self.open = zstandard.ZstdDecompressor().stream_reader


@cache
def _packers() -> _Packers:
    return _Packers()


def pack_bytes(data: bytes) -> bytes:
    """The data as one Zstandard frame where that is much smaller, else as they are."""
    packed: bytes = _packers().pack(data)
    return packed if len(packed) <= _WORTH_PACKING * len(data) else data


def unpack_bytes(data: bytes) -> bytes:
    """The data back from `pack_bytes`."""
    return _packers().unpack(data) if data.startswith(_MAGIC) else data


def pack_text(text: str) -> bytes | None:
    """A large text as a Zstandard frame; None for one that is small or would stay so large."""
    if len(text) < LARGE:
        return None
    data = text.encode()
    packed = pack_bytes(data)
    return None if packed is data else packed


def unpack_text(text: str | None, packed: bytes | None) -> str | None:
    """The text that is stored either way; None when none is."""
    return text if packed is None else unpack_bytes(bytes(packed)).decode()


BLOCK = 132_000
"""Bytes in which the first block of every Zstandard frame ends: 128 KiB of text and some bytes of its own."""


def head_of_text(text: str | None, packed: bytes | None, length: int) -> str | None:
    """The beginning of a text that is stored either way; the rest is not unpacked.

    Of a packed one, the first BLOCK bytes suffice for 32,000 characters.
    """
    if packed is not None:
        # No character takes more than four bytes.
        with _packers().open(bytes(packed)) as reader:
            text = reader.read(4 * length).decode(errors="ignore")
    return None if text is None else text[:length]
