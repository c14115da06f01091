"""Real picture files for tests, good and bad."""

from __future__ import annotations

import io
import random
import struct
import zlib
from pathlib import Path
from typing import Any

from PIL import Image


def noise(width: int = 40, height: int = 30, mode: str = "RGB", *, seed: int = 1) -> Image.Image:
    """A picture that no compression makes much smaller, so that a cut takes away pixels."""
    bands = len(Image.new(mode, (1, 1)).getbands())
    return Image.frombytes(mode, (width, height), random.Random(seed).randbytes(width * height * bands))


def photo_bytes(format_: str = "PNG", picture: Image.Image | None = None, **options: Any) -> bytes:
    buffer = io.BytesIO()
    (picture or noise()).save(buffer, format_, **options)
    return buffer.getvalue()


def bomb_bytes(width: int = 10_000, height: int = 10_000) -> bytes:
    """A valid black and white PNG: some kilobytes in the file, `width * height` pixels when decoded."""
    packer = zlib.compressobj(9)
    row = bytes(1 + (width + 7) // 8)
    packed = b"".join([*(packer.compress(row) for _ in range(height)), packer.flush()])
    header = struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", header) + _chunk(b"IDAT", packed) + _chunk(b"IEND", b"")


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def bad_photos(folder: Path) -> dict[str, str]:
    """Writes five photos that cannot be sent; gives what must be told of each, by file name."""
    whole = photo_bytes("JPEG", quality=90)
    (folder / "empty.png").write_bytes(b"")
    (folder / "cut.jpg").write_bytes(whole[: len(whole) * 2 // 3])
    (folder / "bomb.png").write_bytes(bomb_bytes())
    (folder / "page.png").write_bytes(b"<html><body>404</body></html>")
    return {
        "missing.png": "there is no file missing.png",
        "empty.png": "empty.png is empty",
        "cut.jpg": f"cut.jpg is cut off: its JPEG data ends early, after {len(whole) * 2 // 3:,} bytes",
        "bomb.png": "bomb.png has 10,000 x 10,000 pixels, more than the 64,000,000 allowed",
        "page.png": "page.png is not an image (PNG, JPEG, WebP, GIF, BMP or TIFF): it begins with '<html><body>404<'",
    }
