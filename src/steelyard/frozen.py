"""Frozen dataclasses that are quick to define.

`@frozen` gives what `@dataclass(frozen=True, slots=True)` gives. The standard library compiles six methods for every
class: a quarter of the CPU of a short run, which imports two hundred classes and makes few of them. Here `__init__`
alone is compiled, and the other methods are the same functions for all classes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, FrozenInstanceError, dataclass, field, fields
from operator import attrgetter
from reprlib import recursive_repr
from typing import Any, NoReturn, TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(cls: type[T]) -> type[T]:
    """The class as a dataclass whose objects cannot be changed, have no other attributes, and can be hashed.

    Methods that the class has itself stay. No `__post_init__`, and no fields that are not given to `__init__`.
    """
    # The standard library would compute the signature to describe a class that does not describe itself.
    cls.__doc__ = cls.__doc__ or cls.__name__
    made: Any = dataclass(init=False, repr=False, eq=False, slots=True)(cls)
    compared = [item.name for item in fields(made) if item.compare]
    made.__compared__ = staticmethod(attrgetter(*compared) if len(compared) > 1 else _few(compared))
    made.__init__ = _init(made)
    for name, method in _SHARED.items():
        # Python puts None here for a class with an equality of its own.
        if cls.__dict__.get(name) is None:
            setattr(made, name, method)
    return made  # type: ignore[no-any-return]


def _few(names: list[str]) -> Callable[[Any], tuple[Any, ...]]:
    """As `attrgetter`, which gives no tuple for fewer than two names."""
    return lambda item: tuple(getattr(item, name) for name in names)


def _init(cls: type) -> Any:
    names: dict[str, Any] = {"_setattr": object.__setattr__, "_MISSING": MISSING}
    parameters, lines = [], []
    for item in fields(cls):
        name, parameter, value = item.name, item.name, item.name
        if item.default is not MISSING:
            names[f"_default_{name}"], parameter = item.default, f"{name}=_default_{name}"
        elif item.default_factory is not MISSING:
            names[f"_factory_{name}"], parameter = item.default_factory, f"{name}=_MISSING"
            value = f"_factory_{name}() if {name} is _MISSING else {name}"
        parameters.append(parameter)
        lines.append(f" _setattr(self, {name!r}, {value})\n")
    exec(f"def __init__(self, {', '.join(parameters)}):\n{''.join(lines) or ' pass'}", names)  # noqa: S102 - names of fields
    names["__init__"].__qualname__ = f"{cls.__qualname__}.__init__"
    return names["__init__"]


def _equal(self: Any, other: Any) -> Any:
    return self.__compared__(self) == self.__compared__(other) if type(other) is type(self) else NotImplemented


def _hash(self: Any) -> int:
    return hash(self.__compared__(self))


@recursive_repr()
def _repr(self: Any) -> str:
    shown = ", ".join(f"{item.name}={getattr(self, item.name)!r}" for item in fields(self) if item.repr)
    return f"{type(self).__qualname__}({shown})"


def _setattr(_self: object, name: str, _value: object) -> NoReturn:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _delattr(_self: object, name: str) -> NoReturn:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _getstate(self: Any) -> list[Any]:
    return [getattr(self, item.name) for item in fields(self)]


def _setstate(self: Any, state: list[Any]) -> None:
    for item, value in zip(fields(self), state, strict=True):
        object.__setattr__(self, item.name, value)


_SHARED = {
    "__eq__": _equal,
    "__hash__": _hash,
    "__repr__": _repr,
    "__setattr__": _setattr,
    "__delattr__": _delattr,
    "__getstate__": _getstate,
    "__setstate__": _setstate,
}
