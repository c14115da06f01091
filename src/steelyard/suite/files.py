"""Files of a suite's folder: nothing outside of it is read, attachments are known by their bytes, pictures by size."""

from __future__ import annotations

import hashlib
import importlib
import mimetypes
import os
import re
import stat
import tempfile
import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import IO, Any
from urllib.parse import urlsplit

from steelyard.errors import UsageError
from steelyard.frozen import frozen
from steelyard.suite.case import Attachment, Case
from steelyard.suite.yaml import meant, result, shown

_CHUNK = 1 << 16


def inside(folder: Path, name: str, allow: Sequence[Path] | None = None) -> Path:
    """The file that `name` means; ValueError with a sentence when it is not a readable file inside `folder`, or below
    what is allowed besides."""
    path = place_inside(folder, name, allow)
    if path.is_dir():
        raise ValueError(f"{name} is a folder, not a file")
    if not path.exists():
        raise ValueError(f"there is no file {name}{_near(folder, name)}")
    if not path.is_file():
        raise ValueError(f"{name} is not a regular file")
    return path


def folder_inside(folder: Path, name: str, allow: Sequence[Path] | None = None) -> Path:
    """The folder that `name` means; ValueError with a sentence when there is none, there or in what is allowed."""
    path = place_inside(folder, name, allow)
    if not path.is_dir():
        raise ValueError(
            f"there is no folder {name}{_near(folder, name)}" if not path.exists() else f"{name} is a file"
        )
    return path


def place_inside(folder: Path, name: str, allow: Sequence[Path] | None = None) -> Path:
    """Where `name` leads, links followed; ValueError with a sentence when that is outside `folder`, and of what is
    allowed besides where anything may be."""
    absolute = PurePosixPath(name).is_absolute() or PureWindowsPath(name).drive or name.startswith(("\\", "~"))
    path, root = _followed(folder, name), folder.resolve()
    if any(path.is_relative_to(place) for place in (*(allow or ()), *(() if absolute else (root,)))):
        return path
    place = PurePosixPath(name) if path.is_dir() else PurePosixPath(name).parent
    to = ""
    if allow is not None and os.path.normpath(root / name) != str(path):
        place, to = PurePosixPath(path.parent), f", to {path}"
    cure = "" if allow is None else f", or list it in the suite: allow: [{place}]"
    if absolute:
        raise ValueError(f"{name} is an absolute path: write it relative to the suite's folder{cure}")
    raise ValueError(f"{name} leads out of the suite's folder{to}{cure.replace(', or', ':')}")


def _followed(folder: Path, name: str) -> Path:
    if not name.strip() or "\0" in name:
        raise ValueError("the name of a file is empty" if not name.strip() else f"{name!r} is not the name of a file")
    try:
        return (folder.resolve() / name).resolve()
    except (OSError, RuntimeError, ValueError) as error:
        raise ValueError(f"{name} cannot be followed: {error}") from None


def allowed(folder: Path, names: Sequence[str]) -> tuple[Path, ...]:
    """The places outside a suite's folder whose files it may read, links followed."""
    return tuple(_followed(folder, name) for name in names)


def text_inside(folder: Path, name: str) -> str:
    """The text of the file that `name` means; ValueError with a sentence when it cannot be read."""
    return text_of(inside(folder, name), name)


def text_of(path: Path, name: str) -> str:
    """The UTF-8 text of a file, a byte-order mark left out; ValueError with a sentence when it cannot be read."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"{name} is not UTF-8 text: byte {error.object[error.start]:#04x} at {error.start}") from None
    except OSError as error:
        raise ValueError(f"{name} cannot be read: {error.strerror or error}") from None


def write_bytes(path: Path, content: bytes) -> None:
    """Put `content` at `path` in one step, durable on return; UsageError, and what was there stays, when it fails."""
    waiting = None
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        waiting = Path(name)
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        # Who may read a file does not change with what is in it.
        waiting.chmod(stat.S_IMODE(path.stat().st_mode) if path.exists() else 0o666 & ~_umask())
        waiting.replace(path)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from error
    finally:
        if waiting is not None:
            waiting.unlink(missing_ok=True)


_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""What a spreadsheet takes for a formula begins so."""


def formula_safe(value: Any) -> Any:
    """A cell of a CSV file: a text that a spreadsheet would take for a formula gets an apostrophe, numbers stay."""
    return f"'{value}" if isinstance(value, str) and (value.startswith(_FORMULA) or is_formula_safe(value)) else value


def is_formula_safe(cell: str) -> bool:
    """Whether `formula_safe` put an apostrophe before the cell."""
    return cell.startswith("'") and cell.lstrip("'").startswith(_FORMULA)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _near(folder: Path, name: str) -> str:
    parent = (folder / name).parent
    try:
        names = [entry.name for entry in parent.iterdir()] if parent.is_dir() else []
    except OSError:
        names = []
    return meant(Path(name).name, names)


_ON_ITS_SIDE = (5, 6, 7, 8)
"""EXIF orientations that turn a picture by a quarter."""
_ORIENTATION, _WIDTH, _HEIGHT = 274, 256, 257
"""Tags of EXIF and TIFF."""
_LFS_POINTER = b"version https://git-lfs"
_HEAD = 4096
_SVG = re.compile(rb"<svg[\s:>/]")
_WEB_PAGE = re.compile(rb"<html[\s>]", re.IGNORECASE)
_MOST_REMEMBERED = 4096

# Decoding takes up to four bytes a pixel, and muffling warnings is the whole process's business: one at a time.
_one_at_a_time = threading.Lock()


@frozen
class _Kind:
    """A kind of picture: how its files begin and which class of Pillow reads it."""

    name: str
    media_type: str
    reader: str
    beginnings: tuple[bytes, ...]
    marked: bytes = b""
    """What stands at byte 8, where the beginning alone does not tell."""

    def fits(self, head: bytes) -> bool:
        return head.startswith(self.beginnings) and head.startswith(self.marked, 8)


_KINDS = (
    _Kind("PNG", "image/png", "PngImagePlugin.PngImageFile", (b"\x89PNG\r\n\x1a\n",)),
    _Kind("JPEG", "image/jpeg", "JpegImagePlugin.JpegImageFile", (b"\xff\xd8\xff",)),
    _Kind("WebP", "image/webp", "WebPImagePlugin.WebPImageFile", (b"RIFF",), b"WEBP"),
    _Kind("GIF", "image/gif", "GifImagePlugin.GifImageFile", (b"GIF87a", b"GIF89a")),
    _Kind("TIFF", "image/tiff", "TiffImagePlugin.TiffImageFile", (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")),
    _Kind("BMP", "image/bmp", "BmpImagePlugin.BmpImageFile", (b"BM",)),
)
_DECODED = "PNG, JPEG, WebP, GIF, BMP or TIFF"
_NOT_DECODED = {
    "image/heic": "HEIC",
    "image/heif": "HEIF",
    "image/heic-sequence": "HEIC",
    "image/heif-sequence": "HEIF",
    "image/avif": "AVIF",
    "image/svg+xml": "SVG",
}
"""Kinds that no decoder here reads, by media type: only how they begin is looked at."""
CHECKED = frozenset(
    {kind.media_type for kind in _KINDS}
    | {f"image/{name}" for name in ("apng", "jpg", "pjpeg", "x-ms-bmp")}
    | set(_NOT_DECODED)
)
"""Media types of files that `picture_problem` can judge."""


def media_type_of(head: bytes) -> str | None:
    """The media type of the picture that begins so, whatever its name says; None when the bytes do not tell."""
    kind = _kind_of(head)
    return None if kind is None else kind.media_type


def picture_problem(path: Path, *, max_pixels: int, media_type: str = "") -> str | None:
    """What is wrong with the picture, to be read after its name ("is empty"); None when it can be sent.

    It is decoded once for as long as the file does not change, and never when its header tells of more than
    `max_pixels`. Of an animation or several pages the first is looked at. A file said to be of a `media_type` that
    cannot be decoded here (HEIC, HEIF, AVIF, SVG) must begin like one.
    """
    try:
        about = path.stat()
        if not stat.S_ISREG(about.st_mode):
            return "is a folder, not a file" if stat.S_ISDIR(about.st_mode) else "is not a regular file"
        if about.st_size == 0:
            return "is empty"
        with _one_at_a_time:
            return _picture_problem(str(path), about.st_mtime_ns, about.st_size, max_pixels, media_type)
    except (FileNotFoundError, NotADirectoryError):
        return "does not exist"
    except OSError as error:
        return f"cannot be read: {error.strerror or error}"


def picture_size(path: Path) -> tuple[int, int] | None:
    """Width and height as a person sees the picture, turned as its EXIF says; None when its header cannot be read."""
    try:
        about = path.stat()
        if not stat.S_ISREG(about.st_mode):
            return None
        with _one_at_a_time:
            return _size(str(path), about.st_mtime_ns, about.st_size)
    except OSError:
        return None


@lru_cache(maxsize=_MOST_REMEMBERED)
def _picture_problem(path: str, _changed: int, n_bytes: int, max_pixels: int, media_type: str) -> str | None:
    with Path(path).open("rb") as stream, _silence():
        head = stream.read(_HEAD)
        kind = _kind_of(head)
        if kind is None:
            expected = _NOT_DECODED.get(media_type, _DECODED)
            return None if _begins_like(expected, head) else _not_an_image(head, expected)
        try:
            return _problem_inside(kind, stream, max_pixels)
        except MemoryError:
            raise OSError("there is not enough memory to decode it") from None
        except Exception as error:  # noqa: BLE001 - a broken file makes decoders raise nearly anything
            return _message(error, kind, head, n_bytes, max_pixels)


@lru_cache(maxsize=_MOST_REMEMBERED)
def _size(path: str, _changed: int, _n_bytes: int) -> tuple[int, int] | None:
    with Path(path).open("rb") as stream, _silence():
        kind = _kind_of(stream.read(32))
        if kind is None:
            return None
        try:
            width, height, orientation = _shape(kind, _opened(kind, stream))
        except Exception:  # noqa: BLE001 - a broken file makes decoders raise nearly anything
            return None
    return (height, width) if orientation in _ON_ITS_SIDE else (width, height)


@contextmanager
def _silence() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _kind_of(head: bytes) -> _Kind | None:
    return next((kind for kind in _KINDS if kind.fits(head)), None)


def _begins_like(name: str, head: bytes) -> bool:
    """Whether a file may be of a kind that is not decoded."""
    if name == "SVG":
        text = head.replace(b"\0", b"")  # so that UTF-16 reads like UTF-8
        match = _SVG.search(text)
        # A page that says "not found" may have a drawing in it.
        return match is not None and _WEB_PAGE.search(text, 0, match.start()) is None
    return name != _DECODED and head[4:8] == b"ftyp"


def _opened(kind: _Kind, stream: IO[bytes]) -> Any:
    # Not Image.open: it judges the size by a limit of its own, and then does not tell what the size is.
    module, _, name = kind.reader.partition(".")
    stream.seek(0)
    return getattr(importlib.import_module(f"PIL.{module}"), name)(stream)


def _problem_inside(kind: _Kind, stream: IO[bytes], max_pixels: int) -> str | None:
    picture = _opened(kind, stream)
    width, height = picture.size
    if width * height > max_pixels:
        return f"has {width:,} x {height:,} pixels, more than the {max_pixels:,} allowed"
    if kind.name == "JPEG":
        # At an eighth of the size every byte is still read, in a fraction of the time and memory.
        picture.draft("L", (1, 1))
    picture.load()
    if kind.name == "PNG":
        # Pixels may be complete although the file is not: this goes through every block up to the last.
        _opened(kind, stream).verify()
    return None


def _shape(kind: _Kind, picture: Any) -> tuple[int, int, int]:
    """Width and height as stored, and the orientation."""
    from PIL import Image

    if kind.name == "TIFF":
        # Newer Pillows have turned `size` already, older ones have not.
        tags = picture.tag_v2
        return tags[_WIDTH], tags[_HEIGHT], tags.get(_ORIENTATION, 1)
    try:
        # Of the base class: that of PNG decodes the picture when it finds no EXIF.
        orientation = Image.Image.getexif(picture).get(_ORIENTATION, 1)
    except Exception:  # noqa: BLE001 - EXIF that cannot be read turns nothing
        orientation = 1
    return *picture.size, orientation


def _not_an_image(head: bytes, expected: str) -> str:
    if head.startswith(_LFS_POINTER):
        return "is a pointer of Git LFS, not the picture itself: run git lfs pull"
    return f"is not an image ({expected}): it begins with {_shown(head[:16])}"


def _shown(head: bytes) -> str:
    try:
        text = head.decode("ascii")
    except UnicodeDecodeError:
        text = ""
    return repr(text) if text else "the bytes " + head[:8].hex(" ")


def _message(error: Exception, kind: _Kind, head: bytes, n_bytes: int, max_pixels: int) -> str:
    from PIL import Image

    if isinstance(error, Image.DecompressionBombError):
        own = Image.MAX_IMAGE_PIXELS
        return f"has more pixels than the {max_pixels if own is None else min(max_pixels, 2 * own):,} allowed"
    # What follows "RIFF" is the length of the rest.
    promised = int.from_bytes(head[4:8], "little") + 8 if kind.name == "WebP" else 0
    if promised > n_bytes:
        return f"is cut off: {n_bytes:,} of {promised:,} bytes are there"
    if "truncated" in str(error).lower():
        return f"is cut off: its {kind.name} data ends early, after {n_bytes:,} bytes"
    why = str(error)[:200] or type(error).__name__
    return f"is damaged or cut off: its {kind.name} data cannot be decoded ({why})"


_READ_CHUNK = 1 << 20
_REMOTE = ("http://", "https://")
_MISSING = "missing"
"""The digest of a file that cannot be read: no hash looks like it."""

# Python's own table only: what a machine has installed must not change what a suite means.
_TYPES = mimetypes.MimeTypes(filenames=())
for _type, _ending in (
    ("image/webp", ".webp"), ("image/avif", ".avif"), ("image/heic", ".heic"), ("image/heif", ".heif"),
    ("image/jxl", ".jxl"), ("text/markdown", ".md"), ("application/x-ndjson", ".jsonl"), ("application/yaml", ".yaml"),
):  # fmt: skip
    _TYPES.add_type(_type, _ending)


def read_attachments(value: Any, folder: Path) -> tuple[Attachment, ...]:
    """The attachments a record names; ValueError with a sentence when one is written wrongly.

    A file that is not there, or cannot be read, is the business of the run: it fails the case, not the suite.
    """
    if value is None or value == "" or value == []:
        return ()
    items = value if isinstance(value, list) else [value]
    return tuple(_attachment(item, folder) for item in items)


def _attachment(item: Any, folder: Path) -> Attachment:
    if (
        isinstance(item, dict)
        and isinstance(item.get("place"), str)
        and set(item) <= {"place", "media_type", "digest", "size"}
    ):
        place, media_type = item["place"], item.get("media_type")
    elif isinstance(item, str):
        place, media_type = item, None
    else:
        raise ValueError(f"an attachment is a path, a URL or {{place: ..., media_type: ...}}; {result(item)}")
    remote = place.startswith(_REMOTE)
    if not remote:
        if "://" in place or place.startswith("data:"):
            raise ValueError(f"attachment {shown(place)}: only http and https addresses can be sent")
        try:
            place_inside(folder, place)
        except ValueError as error:
            raise ValueError(f"attachment {error}") from None
    if media_type is None:
        media_type = _TYPES.guess_type(urlsplit(place).path if remote else place)[0]
    if not isinstance(media_type, str) or "/" not in media_type:
        raise ValueError(
            f"attachment {place} is of no known media type: write {{place: {place}, media_type: image/jpeg}}"
        )
    if remote:
        return Attachment(place, media_type)
    digest = _digest_of(place, folder)
    is_picture = digest != _MISSING and _kind(media_type) in CHECKED
    return Attachment(place, media_type, digest, picture_size(place_inside(folder, place)) if is_picture else None)


def unsendable(case: Case, folder: Path, *, max_pixels: int) -> str | None:
    """Why the case's files cannot be sent, in a sentence; None when they can. Addresses are not looked at."""
    problems = [_problem(attachment, folder, max_pixels) for attachment in case.attachments if not attachment.is_url]
    message = "; ".join(problem for problem in problems if problem)
    return f"an attachment cannot be sent: {message}" if message else None


def _problem(attachment: Attachment, folder: Path, max_pixels: int) -> str | None:
    place = attachment.place
    media_type = _kind(attachment.media_type)
    try:
        path = inside(folder, place)
        with path.open("rb") as stream:
            is_empty = not stream.read(1)
    except ValueError as error:
        return str(error)
    except OSError as error:
        return f"{place} cannot be read: {error.strerror or error}"
    if media_type in CHECKED:
        problem = picture_problem(path, max_pixels=max_pixels, media_type=media_type)
        return None if problem is None else f"{place} {problem}"
    return f"{place} is empty" if is_empty and media_type.startswith("image/") else None


def _kind(media_type: str) -> str:
    return media_type.partition(";")[0].strip().lower()


def _digest_of(place: str, folder: Path) -> str:
    try:
        path = place_inside(folder, place)
        about = path.stat()
        if not stat.S_ISREG(about.st_mode):
            return _MISSING
        return _file_digest(str(path), about.st_mtime_ns, about.st_size)
    except OSError:
        return _MISSING


@lru_cache(maxsize=4096)
def _file_digest(path: str, _changed: int, _size: int) -> str:
    hashing = hashlib.sha256()
    with Path(path).open("rb") as stream:
        while chunk := stream.read(_READ_CHUNK):
            hashing.update(chunk)
    return hashing.hexdigest()[:16]
