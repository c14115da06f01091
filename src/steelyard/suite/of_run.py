"""The suite of a stored run, found by its name: a path that a run or a snapshot records is data, and never opened."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from steelyard.errors import SuiteError, UserMistake
from steelyard.importing import PLACE
from steelyard.records import RunHeader
from steelyard.suite.discover import SUITE_FILE, find_suite
from steelyard.suite.inside import text_of
from steelyard.suite.load import load_suite
from steelyard.suite.located import read_yaml
from steelyard.suite.model import SuiteModel
from steelyard.suite.spelling import listed

_DEEPEST = 3
"""Folders below the current one that are looked into."""
_SKIPPED = ("node_modules", "site-packages", "__pycache__")
_CORE = Path(__file__).parent.parent


def suite_of_run(header: RunHeader, place: str | None = None) -> SuiteModel:
    """The suite at `place`, which a person named, or the only one of the run's suite name.

    That is a built-in or installed one, or a suite file in the current folder or up to three folders below. Code that
    comes with it is announced before it runs. UserMistake when there is none, or more than one.
    """
    if place is not None:
        return load_suite(place)
    name = header.suite_name
    known = find_suite(name)
    places = {path.resolve(): path for path in ([known] if known else [])}
    for path in _suite_files(Path()):
        if _raw(path, name).get("suite") == name:
            places.setdefault(path.resolve(), path)
    if len(places) > 1:
        several = listed([str(path) for path in places.values()])
        raise UserMistake(f"run {header.id} was made with suite {name}, and there are several: {several}; {_hint()}")
    if not places:
        made = f"run {header.id} was made with suite {name} from {header.suite_path}"
        raise UserMistake(f"{made}: {_hint(header.suite_path)}")
    path = next(iter(places.values()))
    _announce_code(path, name)
    return load_suite(name if path is known else path)


def _hint(path: str = "PATH") -> str:
    return f"name it with --suite {path}"


def _suite_files(folder: Path) -> Iterator[Path]:
    for where, folders, files in os.walk(folder):
        here = Path(where)
        if SUITE_FILE in files:
            yield here / SUITE_FILE
        deeper = [] if len(here.parts) >= _DEEPEST else sorted(folders)
        folders[:] = [
            one
            for one in deeper
            if not (one.startswith(".") or one in _SKIPPED or (here / one / "pyvenv.cfg").exists())
        ]


def _raw(path: Path, name: str) -> dict[str, Any]:
    """What stands in a suite file that may have this name, read as data; nothing of one that cannot be read."""
    try:
        text = text_of(path, str(path)) if path.is_file() else ""
        data = read_yaml(text, path.name).data if name in text else None
    except (SuiteError, ValueError):
        return {}
    return data if isinstance(data, dict) else {}


@cache
def _announce_code(path: Path, name: str) -> None:
    """Say, once a process, that a suite which nobody named brings code along that is not Steelyard's."""
    if path.resolve().is_relative_to(_CORE):
        return
    code = ["a suite in Python"] if path.suffix == ".py" else sorted(set(_places(_raw(path, name))))
    if code:
        print(f"steelyard: suite {name} was found at {path} and runs its code: {listed(code)}", file=sys.stderr)  # noqa: T201


def _places(data: Any) -> Iterator[str]:
    """All functions and classes that the data names, as `module:name`."""
    if isinstance(data, dict | list):
        for one in data.values() if isinstance(data, dict) else data:
            yield from _places(one)
    elif isinstance(data, str) and PLACE.match(data):
        yield data
