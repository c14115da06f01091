"""Finds a suite's own Python: `module:function`, looked up in the suite's folder first."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from steelyard.errors import UserMistake


def find_callable(place: str, folder: Path) -> Any:
    """The callable behind `module:function`; UserMistake saying what is missing or why the import failed."""
    module_name, _, attribute = place.partition(":")
    with _importable(folder, module_name.partition(".")[0]):
        module = _import(module_name, place, folder)
    found: Any = module
    for step in attribute.split("."):
        try:
            found = getattr(found, step)
        except AttributeError:
            raise UserMistake(f"target {place}: {_told(module, folder)} has no {attribute!r}") from None
    if not callable(found):
        raise UserMistake(f"target {place}: {attribute!r} is a {type(found).__name__}, not a function")
    return found


def _import(name: str, place: str, folder: Path) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(error.name + ".")):
            message = f"target {place}: there is no module {error.name!r} in {folder.name}/ nor installed"
        else:
            message = f"target {place}: importing {name} failed, since it needs {error.name!r}, which is not installed"
        raise UserMistake(message) from None
    except UserMistake as error:  # the module itself says what its user must do
        raise UserMistake(f"target {place}: {error}") from None
    except (Exception, SystemExit) as error:  # a module may do anything when it is imported
        raise UserMistake(f"target {place}: importing {name} failed: {type(error).__name__}: {error}") from error


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
