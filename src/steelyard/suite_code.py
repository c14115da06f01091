"""A suite's own Python: `module:name`, looked up in the suite's folder first, and a digest of its source."""

from __future__ import annotations

import ast
import functools
import hashlib
import importlib
import inspect
import re
import sys
import time
import types
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from steelyard.errors import UsageError
from steelyard.user_code import code_of, plain_data, raised_in_words

PLACE = re.compile(r"^[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*$")
"""How a place is written: `module:function`."""
_FILE_NAME = re.compile(r"[\w./ *-]{0,200}\.\w{1,8}")
"""A text in code that may name a file; `*` stands for what code puts in."""


def find_callable(place: str, folder: Path, what: str = "target") -> Any:
    """The callable behind `module:function`; UsageError saying what is missing or why the import failed.

    `what` says in messages who needs it: target, scorer, judge.
    """
    module_name, _, attribute = place.partition(":")
    with _importable(folder, module_name.partition(".")[0]):
        module = _import(module_name, f"{what} {place}", folder)
    result: Any = module
    for step in attribute.split("."):
        try:
            result = getattr(result, step)
        except AttributeError:
            raise UsageError(f"{what} {place}: {_message(module, folder)} has no {attribute!r}") from None
    if not callable(result):
        raise UsageError(f"{what} {place}: {attribute!r} is a {type(result).__name__}, not a function")
    return result


def place_of(function: Any) -> str:
    """`module:function` for a function, a class or a callable object; a text is such a place already."""
    if isinstance(function, str):
        return function
    while isinstance(function, functools.partial):
        function = function.func
    name = getattr(function, "__qualname__", type(function).__qualname__)
    return f"{getattr(function, '__module__', type(function).__module__)}:{name}"


def source_digest(function: Any, *, data: bool = False) -> str | None:
    """A hash of the file that a function or class is written in and of the files beside it that it imports, and so on.

    With `data`, files count too that one of these names in a text, as in `open(folder / "rules.yaml")`: they stand
    beside it or one folder below. A function of a notebook or a prompt, which is in no file, counts by its compiled
    code. None when there is neither. What is installed elsewhere is not looked at.
    """
    try:
        file = inspect.getsourcefile(_written(function))
        if file is None or not Path(file).is_file():
            code = code_of(function)
            return None if code is None else hashlib.sha256(repr(_compiled(code)).encode()).hexdigest()[:16]
        first, *others = [hashlib.sha256(item.read_bytes()).hexdigest() for item in _read_with(Path(file), data=data)]
    except (TypeError, OSError, ValueError, SyntaxError):
        return None
    return hashlib.sha256("".join([first, *sorted(others)]).encode()).hexdigest()[:16] if others else first[:16]


def _compiled(code: types.CodeType) -> tuple[Any, ...]:
    """What a function does, without where it is written."""
    constants = [_compiled(item) if isinstance(item, types.CodeType) else repr(item) for item in code.co_consts]
    return code.co_code.hex(), code.co_names, code.co_varnames, constants


def bound_values(function: Any) -> Any:
    """What a function holds that its source does not say: plain values of a closure or a partial, or None."""
    if isinstance(function, functools.partial):
        return [plain_data(list(function.args)), plain_data(function.keywords), bound_values(function.func)]
    try:
        held = inspect.getclosurevars(inspect.unwrap(function)).nonlocals
    except (TypeError, ValueError):  # no function of Python, or a variable that is not set yet
        return None
    plain = (str, int, float, bool, list, tuple, dict)
    return {name: plain_data(value) for name, value in held.items() if isinstance(value, plain)} or None


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
    while isinstance(function, functools.partial):
        function = function.func
    if inspect.isroutine(function):
        return inspect.unwrap(function)
    owner = function if inspect.isclass(function) else type(function)
    methods = (var for var in vars(owner).values() if inspect.isfunction(var) and var.__module__ == owner.__module__)
    return next((method for method in methods if inspect.getsourcefile(method)), owner)


_RECENT = 2.0
"""Seconds after an edit in which another one may leave the file with the same second of change."""


@contextmanager
def own_source(folder: Path) -> Iterator[None]:
    """Imports code of a folder so that the next process runs the code as it is then.

    Python takes compiled code for that of any source with the same size, changed in the same second: of two quick edits
    it would run the first, under the hash of the second. So nothing is compiled to a file right after an edit.
    """
    before, now = sys.dont_write_bytecode, time.time()
    files = (path for pattern in ("*.py", "*/*.py") for path in folder.glob(pattern))
    sys.dont_write_bytecode = before or any(_modified(path) > now - _RECENT for path in files)
    try:
        yield
    finally:
        sys.dont_write_bytecode = before


def _modified(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:  # it is gone again
        return 0.0


def _import(name: str, who: str, folder: Path) -> ModuleType:
    try:
        with own_source(folder):
            return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(error.name + ".")):
            message = f"{who}: there is no module {error.name!r} in {folder.name}/ nor installed"
        else:
            message = f"{who}: importing {name} failed, since it needs {error.name!r}, which is not installed"
        raise UsageError(message) from None
    except UsageError as error:  # the module itself says what its user must do
        raise UsageError(f"{who}: {error}") from None
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a module may do anything when it is imported
        raise UsageError(f"{who}: importing {name} failed: {raised_in_words(error)}") from error


@contextmanager
def _importable(folder: Path, top: str) -> Iterator[None]:
    """Puts the folder first on the import path for a moment.

    Modules of other folders that bear the name of one of this folder's would be found instead of it, so they are
    taken out for the time of the import. This folder's own are read again once a file of theirs was edited: runs are
    signed with the code as it is in the files.
    """
    home = folder.resolve()
    names = {path.stem for path in folder.glob("*.py")} | {path.name for path in folder.iterdir() if path.is_dir()}
    names = (names | {top}) - sys.stdlib_module_names - {"steelyard"}

    def loaded() -> dict[str, ModuleType]:
        return {name: module for name, module in list(sys.modules.items()) if name.partition(".")[0] in names}

    excluded = {name: module for name, module in loaded().items() if _stands_in_the_way(module, name, home)}
    for name in excluded:
        del sys.modules[name]
    own = {name: module for name, module in loaded().items() if _is_below(module, home)}
    if _edited(own.values()):
        for name in own:
            del sys.modules[name]
    sys.path.insert(0, str(home))
    importlib.invalidate_caches()
    try:
        yield
    finally:
        if str(home) in sys.path:
            sys.path.remove(str(home))
        _edited(module for module in loaded().values() if _is_below(module, home))
        sys.modules.update(excluded)


def _edited(modules: Iterable[ModuleType]) -> bool:
    """Whether a file of the modules has changed since it was looked at first, which is right after its import."""
    changed = False
    for module in modules:
        file = Path(getattr(module, "__file__", None) or "")
        if file.is_file():
            state = (file.stat().st_mtime_ns, file.stat().st_size)
            changed |= vars(module).setdefault("__steelyard_file__", state) != state
    return changed


def _stands_in_the_way(module: ModuleType, name: str, home: Path) -> bool:
    """True when this folder holds a module of the same top name and the loaded one is another."""
    top = name.partition(".")[0]
    if not ((home / f"{top}.py").exists() or (home / top).is_dir()):
        return False
    return not _is_below(module, home)


def _is_below(module: ModuleType, home: Path) -> bool:
    file = getattr(module, "__file__", None)
    places = [file] if file else list(getattr(module, "__path__", []))
    return any(Path(place).resolve().is_relative_to(home) for place in places)


def _message(module: ModuleType, folder: Path) -> str:
    file = getattr(module, "__file__", None)
    if file is None:
        return module.__name__
    path = Path(file).resolve()
    return str(path.relative_to(folder.resolve())) if path.is_relative_to(folder.resolve()) else module.__name__
