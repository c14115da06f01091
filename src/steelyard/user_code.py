"""The border to code that is not Steelyard's: scorers, judges, targets, hooks and formats that a suite brings along."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import math
import threading
import traceback
import types
from collections.abc import Callable, Mapping
from decimal import Decimal
from functools import cache
from numbers import Real
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

from steelyard.redact import redact_known

_LONGEST = 300
Fit = Callable[[Any], Any]


class UserCodeError(ValueError):
    """Code of a suite raised, or returned what cannot be used: the message says what, and names its file and line."""


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
    code, place = code_of(function), place_in_words(function)
    for frame, line in traceback.walk_tb(error.__traceback__):
        file = frame.f_code.co_filename
        if code is None or file == code.co_filename:
            place = f" ({Path(file).name}:{line})"
    return f"{type(error).__name__}: {in_one_line(error, str)}{place}"


def place_in_words(function: Any) -> str:
    """Where a function is written, as in ` (scorers.py:12)`; "" when that is in no file."""
    code = code_of(function)
    return "" if code is None else f" ({Path(code.co_filename).name}:{code.co_firstlineno})"


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


_DEEPEST = 100


_NUMBERS = (float, int, bool)


_WANTED: dict[Any, str] = {float: "a number", int: "a whole number", bool: "true or false", str: "a text"}


_WANTED |= {Mapping: "a dict", tuple | list: "such a list"}


class _Unfit(Exception):
    """What is wrong with a value, and at which place of what was returned."""


@cache
def _fit(hint: Any) -> Fit:
    """What gives a value back as this type, or raises _Unfit; made once a type, since scorers are called often."""
    kind, inner = get_origin(hint) or hint, get_args(hint)
    if hint is Any:
        return plain_data
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


def plain_data(value: Any, depth: int = 0) -> Any:
    """The value as JSON data; what JSON cannot hold becomes its text, since it is only shown."""
    if isinstance(value, str):
        return redact_known(value)
    if value is None or type(value) in (bool, int, float):
        return value
    if depth > _DEEPEST:
        raise _Unfit(f"data nested more than {_DEEPEST} deep")
    if isinstance(value, Mapping):
        return {in_one_line(key, str): plain_data(part, depth + 1) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain_data(part, depth + 1) for part in value]
    result = number(value)
    return in_one_line(value, str) if result is None else result


def code_of(function: Any) -> types.CodeType | None:
    """The compiled code of a function or a callable object; None where there is none."""
    while isinstance(function, functools.partial):
        function = function.func
    routine = function if inspect.isroutine(function) else getattr(type(function), "__call__", None)  # noqa: B004 - not called
    return getattr(inspect.unwrap(routine), "__code__", None) if routine else None
