"""Code that is found by name: scorers, targets and checks of plug-ins, and a suite's own Python."""

from __future__ import annotations

import ast
import dataclasses
import functools
import hashlib
import importlib
import inspect
import math
import re
import sys
import threading
import time
import traceback
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from decimal import Decimal
from functools import cache
from numbers import Real
from pathlib import Path
from types import ModuleType
from typing import Any, get_args, get_origin, get_type_hints

from steelyard.errors import UsageError
from steelyard.redact import redact_known

# One registry for scorers, targets and checks: built-ins and plug-ins are found the same way.

_BUILT_IN = {
    "scorers": {
        "alternatives": "steelyard.scoring.aliases:Alternatives",
        "choice": "steelyard.scoring.text:Choice",
        "contains": "steelyard.scoring.text:Contains",
        "exact": "steelyard.scoring.text:Exact",
        "fields": "steelyard.scoring.structure:Fields",
        "item_set": "steelyard.scoring.sets:ItemSet",
        "json_schema": "steelyard.scoring.structure:JsonSchema",
        "keywords_or_fuzzy": "steelyard.scoring.names:KeywordsOrFuzzy",
        "match_items": "steelyard.scoring.items.match:MatchItems",
        "match_spans": "steelyard.scoring.spans.match:MatchSpans",
        "money_range": "steelyard.scoring.money:MoneyRange",
        "number": "steelyard.scoring.numbers:Number",
        "ordinal": "steelyard.scoring.text:Ordinal",
        "regex": "steelyard.scoring.text:Regex",
        "retrieval": "steelyard.scoring.retrieval:Retrieval",
        "similarity": "steelyard.scoring.similarity:Similarity",
        "subset": "steelyard.scoring.sets:Subset",
        "year_range": "steelyard.scoring.years:YearRange",
    },
    "targets": {
        "anthropic": "steelyard.targets.providers:AnthropicTarget",
        "bedrock": "steelyard.targets.providers:BedrockTarget",
        "chat": "steelyard.targets.chat:ChatTarget",
        "command": "steelyard.targets.command:CommandTarget",
        "gemini": "steelyard.targets.providers:GeminiTarget",
        "http": "steelyard.targets.http:HttpTarget",
        "python": "steelyard.targets.python:PythonTarget",
        "recorded": "steelyard.targets.recorded:RecordedTarget",
    },
    "checks": {
        "count": "steelyard.scoring.list_checks:CountCheck",
        "each": "steelyard.scoring.list_checks:EachCheck",
        "none": "steelyard.scoring.list_checks:NoneCheck",
        "path": "steelyard.scoring.checks:PathCheck",
        "status": "steelyard.scoring.expectations:StatusCheck",
    },
    # The scorer of all checks together; nobody chooses it by name.
    "expectations": {"expect": "steelyard.scoring.expectations:Expectations"},
    # The scorers that plain functions become.
    "functions": {
        "measure": "steelyard.scoring.functions:FunctionMeasure",
        "python": "steelyard.scoring.functions:FunctionScorer",
    },
    # The settings of a judge that is asked; who asks it is not chosen by name.
    "judges": {
        "anthropic": "steelyard.targets.providers:AnthropicConnection",
        "bedrock": "steelyard.targets.providers:BedrockConnection",
        "chat": "steelyard.targets.model_address:ChatConnection",
        "gemini": "steelyard.targets.providers:GeminiConnection",
    },
    # Those of a model that a scorer needs, which a run asks.
    "models": {"embeddings": "steelyard.targets.embeddings:EmbeddingsConnection"},
    # What the kernel takes from features, which it does not import: one line per function.
    "features": {
        "contested_cases": "steelyard.people.experts:contested_in",
        "import_file": "steelyard.exchange.imports:import_foreign",
        "spread": "steelyard.cluster.spread:spread",
        "spread_scoring": "steelyard.cluster.spread:spread_scoring",
        "to_arrow": "steelyard.tables.arrow:table_of",
        "to_own_format": "steelyard.exchange.imports:document_of",
        "to_pandas": "steelyard.tables.frames:to_pandas",
        "to_polars": "steelyard.tables.frames:to_polars",
    },
}


@cache
def _places(kind: str) -> dict[str, str]:
    from importlib.metadata import entry_points  # takes longer to import than the whole command line

    places = {point.name: point.value for point in entry_points(group=f"steelyard.{kind}")}
    return places | _BUILT_IN[kind]


def names(kind: str) -> list[str]:
    """All names known for `scorers`, `targets` or `checks`, sorted."""
    return sorted(_places(kind))


def is_known(kind: str, name: str) -> bool:
    """Whether there is a scorer, target or check of that name; packages are searched only when none of ours has it."""
    return name in _BUILT_IN[kind] or name in _places(kind)


def built_in(kind: str) -> frozenset[str]:
    """The names of what comes with Steelyard, whose behaviour is known."""
    return frozenset(_BUILT_IN[kind])


def find(kind: str, name: str) -> Any:
    """The class behind a name; KeyError when there is none, UsageError when its module cannot be imported."""
    place = _BUILT_IN[kind].get(name) or _places(kind)[name]
    module, _, attribute = place.partition(":")
    try:
        return getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise UsageError(f"{kind[:-1]} {name!r} is declared at {place}, which cannot be imported: {error}") from error


# The border to code that is not Steelyard's: scorers, judges, targets, hooks and formats that a suite brings along.

_LONGEST = 300
_DEEPEST = 100
_NUMBERS = (float, int, bool)
_WANTED: dict[Any, str] = {float: "a number", int: "a whole number", bool: "true or false", str: "a text"}
_WANTED |= {Mapping: "a dict", tuple | list: "such a list"}

Fit = Callable[[Any], Any]


class UserCodeError(ValueError):
    """Code of a suite raised, or returned what cannot be used: the message says what, and names its file and line."""


class _Unfit(Exception):
    """What is wrong with a value, and at which place of what was returned."""


def checked_call(who: str, function: Callable[..., Any], *given: Any, returns: Any, written: Any = None) -> Any:
    """What `function` returns for what is given, as the type `returns`; UserCodeError, with `who`, when it does not.

    `written` is the code that messages name the line of, where that is not the function.

    A KeyboardInterrupt of the main thread goes on to whoever runs this: it is Ctrl-C, and nobody's mistake.
    """
    try:
        value = function(*given)
        return value if returns is object else _fit(returns)(value)
    except UserCodeError:
        raise
    except _Unfit as error:
        raise UserCodeError(f"{who} returned {error}{place_in_words(written or function)}") from None
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt) and threading.current_thread() is threading.main_thread():
            raise
        raise UserCodeError(f"{who} raised {raised_in_words(error, written or function)}") from error


def raised_in_words(error: BaseException, function: Any = None) -> str:
    """What somebody else's code raised, in one line, with the last line of the function's file that it came through."""
    code, place = _code(function), place_in_words(function)
    for frame, line in traceback.walk_tb(error.__traceback__):
        file = frame.f_code.co_filename
        if code is None or file == code.co_filename:
            place = f" ({Path(file).name}:{line})"
    return f"{type(error).__name__}: {in_one_line(error, str)}{place}"


def place_in_words(function: Any) -> str:
    """Where a function is written, as in ` (scorers.py:12)`; "" when that is in no file."""
    code = _code(function)
    return "" if code is None else f" ({Path(code.co_filename).name}:{code.co_firstlineno})"


def _code(function: Any) -> types.CodeType | None:
    while isinstance(function, functools.partial):
        function = function.func
    routine = function if inspect.isroutine(function) else getattr(type(function), "__call__", None)  # noqa: B004 - not called
    return getattr(inspect.unwrap(routine), "__code__", None) if routine else None


def is_own(code: Any) -> bool:
    """True when a class or function comes with a suite or a plug-in, and not with Steelyard's core."""
    module = getattr(code, "__module__", None) or ""
    return not module.startswith("steelyard.") or module.startswith("steelyard.suites.")


def number(value: Any) -> float | int | None:
    """The value as a Python number, of whatever kind of number it is; None when it is none."""
    if type(value) is float or type(value) is int:
        return value
    try:
        if getattr(value, "ndim", None) == 0:  # numpy's numbers, true and false
            value = value.item()
        if isinstance(value, Real | Decimal):
            return int(value) if isinstance(value, int) else float(value)
    except Exception:  # noqa: BLE001 - an object of somebody else's, or a number that no float can hold
        return None
    return None


def in_one_line(value: Any, written: Callable[[Any], str] = repr) -> str:
    """The value's text for a message, and not too much of it, whatever its own methods do."""
    try:
        text = redact_known(" ".join(written(value).split()).encode(errors="backslashreplace").decode())
    except KeyboardInterrupt:
        raise
    except BaseException:  # noqa: BLE001 - an object may do anything when it is asked for its text
        return "what cannot be printed"
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


@cache
def _fit(hint: Any) -> Fit:
    """What gives a value back as this type, or raises _Unfit; made once a type, since scorers are called often."""
    kind, inner = get_origin(hint) or hint, get_args(hint)
    if hint is Any:
        return _plain
    if types.NoneType in inner:
        available = _fit(inner[0])
        return lambda value: None if value is None else available(value)
    if kind is types.UnionType:  # one of a kind, or several of it
        one, several = map(_fit, inner)
        return lambda value: several(value) if isinstance(value, tuple | list) else one(value)
    if hint is str:
        return lambda value: redact_known(value) if isinstance(value, str) else _refuse(value, str)
    if hint in _NUMBERS:
        return lambda value: value if type(value) is hint else _as_number(value, hint)
    if inner:
        wanted, fit = (Mapping, _fit(inner[1])) if issubclass(kind, Mapping) else (tuple | list, _fit(inner[0]))
        length = len(inner) if kind is tuple and inner[-1] is not Ellipsis else None
        return lambda value: _with_parts(value, fit, wanted, length)
    fields = dataclasses.fields(kind) if dataclasses.is_dataclass(kind) else ()
    fits = [(field.name, field.default, _fit(get_type_hints(kind)[field.name])) for field in fields]
    return lambda value: _record(value, fits) if isinstance(value, kind) else _refuse(value, kind)


def _refuse(value: Any, kind: Any) -> Any:
    if inspect.iscoroutine(value):
        value.close()  # nobody will await it, and Python would warn of that
    wanted = _WANTED.get(kind) or f"a {kind.__name__}"
    raise _Unfit(f"{in_one_line(value)} ({type(value).__name__}), not {wanted}")


def _as_number(value: Any, kind: Any) -> Any:
    result = number(value)
    if result is None or (kind is not float and not (math.isfinite(result) and kind(result) == result)):
        return _refuse(value, kind)
    return kind(result)


def _with_parts(value: Any, fit: Fit, kind: Any, length: int | None) -> Any:
    if not value and type(value) is (dict if kind is Mapping else tuple) and not length:
        return value
    if not isinstance(value, kind) or (length or len(value)) != len(value):
        return _refuse(value, kind)
    if isinstance(value, Mapping):
        return {_fit(str)(key): fit(part) for key, part in value.items()}
    return tuple([fit(part) for part in value])


def _record(value: Any, fits: list[tuple[str, Any, Fit]]) -> Any:
    changed = {}
    for name, default, fit in fits:
        before = getattr(value, name)
        try:
            if before is not default and (after := fit(before)) is not before:
                changed[name] = after
        except _Unfit as error:
            raise _Unfit(f"{type(value).__name__}.{name}: {error}") from None
    return dataclasses.replace(value, **changed) if changed else value


def _plain(value: Any, depth: int = 0) -> Any:
    """The value as JSON data; what JSON cannot hold becomes its text, since it is only shown."""
    if isinstance(value, str):
        return redact_known(value)
    if value is None or type(value) in (bool, int, float):
        return value
    if depth > _DEEPEST:
        raise _Unfit(f"data nested more than {_DEEPEST} deep")
    if isinstance(value, Mapping):
        return {in_one_line(key, str): _plain(part, depth + 1) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part, depth + 1) for part in value]
    result = number(value)
    return in_one_line(value, str) if result is None else result


# Finds a suite's own Python: `module:name`, looked up in the suite's folder first.

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
            code = _code(function)
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
        return [_plain(list(function.args)), _plain(function.keywords), bound_values(function.func)]
    try:
        held = inspect.getclosurevars(inspect.unwrap(function)).nonlocals
    except (TypeError, ValueError):  # no function of Python, or a variable that is not set yet
        return None
    plain = (str, int, float, bool, list, tuple, dict)
    return {name: _plain(value) for name, value in held.items() if isinstance(value, plain)} or None


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
