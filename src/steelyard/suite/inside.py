"""Files named by a suite: found inside the suite's folder, symbolic links followed, and nowhere else."""

from __future__ import annotations

from pathlib import Path, PurePosixPath, PureWindowsPath

from steelyard.suite.spelling import meant

_CHUNK = 1 << 16


def inside(folder: Path, name: str) -> Path:
    """The file that `name` means; ValueError with a sentence when it is not a readable file inside `folder`."""
    path = place_inside(folder, name)
    if path.is_dir():
        raise ValueError(f"{name} is a folder, not a file")
    if not path.exists():
        raise ValueError(f"there is no file {name}{_near(folder, name)}")
    if not path.is_file():
        raise ValueError(f"{name} is not a regular file")
    return path


def folder_inside(folder: Path, name: str) -> Path:
    """The folder that `name` means; ValueError with a sentence when there is none inside `folder`."""
    path = place_inside(folder, name)
    if not path.is_dir():
        raise ValueError(
            f"there is no folder {name}{_near(folder, name)}" if not path.exists() else f"{name} is a file"
        )
    return path


def place_inside(folder: Path, name: str) -> Path:
    """Where `name` leads, links followed; ValueError with a sentence when that is outside `folder`."""
    if not name.strip() or "\0" in name:
        raise ValueError("the name of a file is empty" if not name.strip() else f"{name!r} is not the name of a file")
    if PurePosixPath(name).is_absolute() or PureWindowsPath(name).drive or name.startswith(("\\", "~")):
        raise ValueError(f"{name} is an absolute path: write it relative to the suite's folder")
    root = folder.resolve()
    try:
        path = (root / name).resolve()
    except (OSError, RuntimeError, ValueError) as error:
        raise ValueError(f"{name} cannot be followed: {error}") from None
    if not path.is_relative_to(root):
        raise ValueError(f"{name} leads out of the suite's folder")
    return path


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


def _near(folder: Path, name: str) -> str:
    parent = (folder / name).parent
    try:
        names = [entry.name for entry in parent.iterdir()] if parent.is_dir() else []
    except OSError:
        names = []
    return meant(Path(name).name, names)
