"""Finds a suite's own Python: `module:name`, looked up in the suite's folder first."""

from __future__ import annotations

import hashlib
import importlib
import inspect
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from steelyard.errors import UserMistake

PLACE = re.compile(r"^[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*$")
"""How a place is written: `module:function`."""


def find_callable(place: str, folder: Path, what: str = "target") -> Any:
    """The callable behind `module:function`; UserMistake saying what is missing or why the import failed.

    `what` says in messages who needs it: target, scorer, judge.
    """
    module_name, _, attribute = place.partition(":")
    with _importable(folder, module_name.partition(".")[0]):
        module = _import(module_name, f"{what} {place}", folder)
    found: Any = module
    for step in attribute.split("."):
        try:
            found = getattr(found, step)
        except AttributeError:
            raise UserMistake(f"{what} {place}: {_told(module, folder)} has no {attribute!r}") from None
    if not callable(found):
        raise UserMistake(f"{what} {place}: {attribute!r} is a {type(found).__name__}, not a function")
    return found


def place_of(function: Any) -> str:
    """`module:function` for a function, a class or a callable object; a text is such a place already."""
    if isinstance(function, str):
        return function
    name = getattr(function, "__qualname__", type(function).__qualname__)
    return f"{getattr(function, '__module__', type(function).__module__)}:{name}"


def source_digest(function: Any) -> str | None:
    """A hash of the file that a function or class is written in; None when there is no such file."""
    try:
        file = inspect.getsourcefile(_written(function))
        return None if file is None else hashlib.sha256(Path(file).read_bytes()).hexdigest()[:16]
    except (TypeError, OSError, ValueError):
        return None


def _written(function: Any) -> Any:
    """What knows its file. A class only knows the name of its module, which another suite's may bear too."""
    if inspect.isroutine(function):
        return inspect.unwrap(function)
    owner = function if inspect.isclass(function) else type(function)
    methods = (one for one in vars(owner).values() if inspect.isfunction(one) and one.__module__ == owner.__module__)
    return next((one for one in methods if inspect.getsourcefile(one)), owner)


def _import(name: str, who: str, folder: Path) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(error.name + ".")):
            message = f"{who}: there is no module {error.name!r} in {folder.name}/ nor installed"
        else:
            message = f"{who}: importing {name} failed, since it needs {error.name!r}, which is not installed"
        raise UserMistake(message) from None
    except UserMistake as error:  # the module itself says what its user must do
        raise UserMistake(f"{who}: {error}") from None
    except (Exception, SystemExit) as error:  # a module may do anything when it is imported
        raise UserMistake(f"{who}: importing {name} failed: {type(error).__name__}: {error}") from error


@contextmanager
def _importable(folder: Path, top: str) -> Iterator[None]:
    """Puts the folder first on the import path for a moment.

    Modules of other folders that bear the name of one of this folder's would be found instead of it, so they step
    aside for the time of the import.
    """
    home = str(folder.resolve())
    own = {path.stem for path in folder.glob("*.py")} | {path.name for path in folder.iterdir() if path.is_dir()}
    own = (own | {top}) - sys.stdlib_module_names - {"steelyard"}
    aside = {
        name: module
        for name, module in list(sys.modules.items())
        if name.partition(".")[0] in own and _stands_in_the_way(module, name, Path(home))
    }
    for name in aside:
        del sys.modules[name]
    sys.path.insert(0, home)
    importlib.invalidate_caches()
    try:
        yield
    finally:
        if home in sys.path:
            sys.path.remove(home)
        sys.modules.update(aside)


def _stands_in_the_way(module: ModuleType, name: str, home: Path) -> bool:
    """True when this folder holds a module of the same top name and the loaded one is another."""
    top = name.partition(".")[0]
    if not ((home / f"{top}.py").exists() or (home / top).is_dir()):
        return False
    file = getattr(module, "__file__", None)
    places = [file] if file else list(getattr(module, "__path__", []))
    return not any(Path(place).resolve().is_relative_to(home) for place in places)


def _told(module: ModuleType, folder: Path) -> str:
    file = getattr(module, "__file__", None)
    if file is None:
        return module.__name__
    path = Path(file).resolve()
    return str(path.relative_to(folder.resolve())) if path.is_relative_to(folder.resolve()) else module.__name__
