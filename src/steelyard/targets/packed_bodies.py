"""Packed bodies of HTTP answers, unpacked piece by piece and never further than asked for."""

from __future__ import annotations

import zlib

from steelyard.errors import TargetFailure

_PLAIN = frozenset({"", "identity"})
_GZIP = frozenset({"gzip", "x-gzip"})
_OTHERS = frozenset({"br", "zstd", "compress", "x-compress"})
_GZIP_BITS = zlib.MAX_WBITS | 16
_ZLIB_METHOD = 8
"""In the low half of the first byte of deflated data with a header; without one, it is bare deflate."""
_PIECE = 262_144


class Unpacker:
    """Takes a body as it comes and gives what is in it.

    A name of a packing that nobody knows is taken for a slip of the service: the body then counts as it is.
    """

    def __init__(self, encoding: str, status: int) -> None:
        self._status = status
        names = [name.strip().lower() for name in encoding.split(",")]
        packed = [name for name in names if name not in _PLAIN]
        if len(packed) > 1 or any(name in _OTHERS for name in packed):
            raise self._failed(f"the body is packed as {encoding!r}, which was not asked for", retry=False)
        name = packed[0] if packed else ""
        self._gzip = name in _GZIP
        self._packed = self._gzip or name == "deflate"
        self._stream: zlib._Decompress | None = None
        self._started = False

    def feed(self, data: bytes, room: int) -> bytes:
        """What these bytes unpack to, cut once it is more than `room`; TargetFailure when they cannot be unpacked."""
        if not self._packed:
            return data
        parts: list[bytes] = []
        size = 0
        while data and size <= room:
            if self._stream is None:
                if self._started and not (self._gzip and data[:1] == b"\x1f"):
                    break  # padding after the end, which every browser overlooks
                self._stream = self._new_stream(data)
            try:
                part = self._stream.decompress(data, min(_PIECE, room + 1 - size))
            except zlib.error:
                raise self._failed("the body cannot be unpacked", retry=True) from None
            parts.append(part)
            size += len(part)
            ended = self._stream.eof
            data = self._stream.unused_data if ended else self._stream.unconsumed_tail
            if ended:
                self._stream = None
        return b"".join(parts)

    def finish(self) -> None:
        """The body is over; TargetFailure when what was packed is not complete."""
        if self._stream is not None:
            raise TargetFailure("cut", "the body breaks off before the end of what is packed in it")

    def _new_stream(self, data: bytes) -> zlib._Decompress:
        self._started = True
        if self._gzip:
            return zlib.decompressobj(_GZIP_BITS)
        bare = data[0] & 0xF != _ZLIB_METHOD
        return zlib.decompressobj(-zlib.MAX_WBITS if bare else zlib.MAX_WBITS)

    def _failed(self, message: str, *, retry: bool) -> TargetFailure:
        return TargetFailure("bad_encoding", message, retry=retry, status=self._status)
