"""Finds a suite's own Python: `module:name`, looked up in the suite's folder first."""

from __future__ import annotations

import ast
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
from steelyard.user_code import raised_in_words

PLACE = re.compile(r"^[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*$")
"""How a place is written: `module:function`."""
_FILE_NAME = re.compile(r"[\w./ *-]{0,200}\.\w{1,8}")
"""A text in code that may name a file; `*` stands for what code puts in."""


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


def source_digest(function: Any, *, data: bool = False) -> str | None:
    """A hash of the file that a function or class is written in and of the files beside it that it imports, and so on.

    With `data`, files count too that one of these names in a text, as in `open(folder / "rules.yaml")`: they stand
    beside it or one folder below. None when there is no source. What is installed elsewhere is not looked at.
    """
    try:
        file = inspect.getsourcefile(_written(function))
        if file is None:
            return None
        first, *others = [hashlib.sha256(one.read_bytes()).hexdigest() for one in _read_with(Path(file), data=data)]
    except (TypeError, OSError, ValueError, SyntaxError):
        return None
    return hashlib.sha256("".join([first, *sorted(others)]).encode()).hexdigest()[:16] if others else first[:16]


def _read_with(file: Path, *, data: bool) -> list[Path]:
    """The file and every file that it imports or, with `data`, names from its own folder or below, each once."""
    sources = [file]
    named: set[Path] = set()
    for source in sources:
        folders = [source.parent, *(path for path in source.parent.iterdir() if data and path.is_dir())]
        for node in ast.walk(ast.parse(source.read_bytes())):
            sources.extend(path for path in _imported(node, source) if path not in sources)
            if data and _FILE_NAME.fullmatch(name := _text(node)) and not name.startswith("/"):
                named.update(path for folder in folders for path in folder.glob(name) if path.is_file())
    return [*sources, *sorted(named - {*sources})]


def _text(node: ast.AST) -> str:
    """The text that a node of code is, with `*` in the place of values; "" for any other node."""
    if isinstance(node, ast.JoinedStr):
        return "".join(_text(part) or "*" for part in node.values)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _imported(node: ast.AST, file: Path) -> Iterator[Path]:
    """The files that an import statement of a file may mean, as far as they stand beside it or in its own package."""
    if isinstance(node, ast.Import):
        whole = [alias.name.split(".") for alias in node.names]
        named = [(base, parts) for parts in whole for base in _bases(parts, file)]
    elif isinstance(node, ast.ImportFrom):
        steps = node.module.split(".") if node.module else []
        bases = [file.parents[node.level - 1]] if node.level else _bases(steps, file)
        named = [(base, [*steps, *more]) for base in bases for more in ([], *([alias.name] for alias in node.names))]
    else:
        return
    for folder, parts in named:
        place = folder.joinpath(*parts)
        for path in (place.with_suffix(".py"), place / "__init__.py"):
            if parts and path.is_file():
                yield path


def _bases(parts: list[str], file: Path) -> list[Path]:
    """The folders in which the first name of an absolute import is looked for: the file's own, and that of its package.

    `from pack.helper import score` in `pack/main.py` means a file beside it. What Steelyard itself is made of is told
    by its version.
    """
    bases = [file.parent]
    if parts[0] == "steelyard":
        return bases
    for folder in file.parents:
        if folder.name == parts[0]:
            return [*bases, folder.parent]
        if not (folder / "__init__.py").is_file():
            break
    return bases


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
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a module may do anything when it is imported
        raise UserMistake(f"{who}: importing {name} failed: {raised_in_words(error)}") from error


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
