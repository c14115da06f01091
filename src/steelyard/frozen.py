"""Dataclasses that are quick to define: the one way in which this package defines classes of fields.

`@frozen` gives what `@dataclass(frozen=True, slots=True)` gives, and `@slotted`, for objects that change, what
`@dataclass(slots=True)` gives; both take `eq=False`. `field`, `fields`, `replace` and `asdict` are those of
`dataclasses`. A class with a `cached_property` has a `__dict__` to keep its value in, and a class with an `__init__`
keeps it. There is no `__post_init__`.

The standard library compiles six methods for every class: a fifth of the CPU of a short run, which imports three
hundred classes and makes objects of few of them. Here `__init__` alone is compiled, when the first object is made, and
the other methods are the same functions for all classes. Measured in `docs/design/0015-classes.md`.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable
from dataclasses import MISSING, Field, FrozenInstanceError, dataclass, field, fields
from functools import cached_property, partial
from inspect import get_annotations
from reprlib import recursive_repr
from typing import Any, NoReturn, TypeVar, dataclass_transform, overload

T = TypeVar("T")


@overload
def frozen(cls: type[T], /) -> type[T]: ...


@overload
def frozen(*, eq: bool = True) -> Callable[[type[T]], type[T]]: ...


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(cls: type[T] | None = None, /, *, eq: bool = True) -> type[T] | Callable[[type[T]], type[T]]:
    """The class as a dataclass whose objects cannot be changed, have no other attributes, and can be hashed.

    With `eq=False` an object equals itself alone, as arrays inside require.
    """
    shared = _FROZEN if eq else _without_equality(_FROZEN)
    return partial(_defined, shared=shared) if cls is None else _defined(cls, shared)


@overload
def slotted(cls: type[T], /) -> type[T]: ...


@overload
def slotted(*, eq: bool = True) -> Callable[[type[T]], type[T]]: ...


@dataclass_transform(field_specifiers=(field,))
def slotted(cls: type[T] | None = None, /, *, eq: bool = True) -> type[T] | Callable[[type[T]], type[T]]:
    """The class as a dataclass whose objects can be changed and have no other attributes."""
    shared = _SHARED if eq else _without_equality(_SHARED)
    return partial(_defined, shared=shared) if cls is None else _defined(cls, shared)


def values_of(item: Any, *names: str) -> dict[str, Any]:
    """These attributes of an object by their own names: `values_of(page, "count", "total")`."""
    return {name: getattr(item, name) for name in names}


def _without_equality(shared: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in shared.items() if name not in {"__eq__", "__hash__"}}


def _defined(cls: type[T], shared: dict[str, Any]) -> type[T]:
    """The class with its fields; methods that it has itself stay."""
    inherited: dict[str, Field[Any]] = {}
    for base in cls.__mro__[:0:-1]:
        inherited |= base.__dict__.get("__dataclass_fields__", {})
    own = {name: _field(cls, name, hint) for name, hint in get_annotations(cls).items() if "ClassVar" not in str(hint)}
    items = inherited | own
    compared = [item.name for item in items.values() if item.compare]
    # Python puts None in the place of a hash for a class with an equality of its own.
    left_out = {"__dict__", "__weakref__", *own, *(name for name in shared if vars(cls).get(name) is None)}
    cached = any(isinstance(value, cached_property) for value in vars(cls).values())
    init = _LateInit()
    metaclass: Any = type(cls)
    made = metaclass(
        cls.__name__,
        cls.__bases__,
        shared
        | {"__init__": init}
        | {name: value for name, value in vars(cls).items() if name not in left_out}
        | {
            "__doc__": cls.__doc__ or cls.__name__,
            "__qualname__": cls.__qualname__,
            "__slots__": (*(name for name in own if name not in inherited), *(["__dict__"] if cached else [])),
            "__dataclass_fields__": items,
            "__match_args__": tuple(items),
            "__compared__": staticmethod(operator.attrgetter(*compared) if len(compared) > 1 else _few(compared)),
        },
    )
    init.owner = made
    return made  # type: ignore[no-any-return]


def _field(cls: type, name: str, hint: Any) -> Field[Any]:
    default = cls.__dict__.get(name, MISSING)
    item: Any = default if isinstance(default, Field) else field(default=default)
    if item.default.__class__.__hash__ is None:
        raise ValueError(f"mutable default of {cls.__name__}.{name}: use field(default_factory=...)")
    item.name, item.type, item.kw_only, item._field_type = name, hint, False, _KIND
    return item  # type: ignore[no-any-return]


class _LateInit:
    """Stands in the place of `__init__` until somebody wants it."""

    owner: type

    def __get__(self, item: Any, _: type) -> Any:
        self.owner.__init__ = init = _init(self.owner)  # type: ignore[misc]
        return init if item is None else init.__get__(item)


def _few(names: list[str]) -> Callable[[Any], tuple[Any, ...]]:
    """As `attrgetter`, which gives no tuple for fewer than two names."""
    if not names:
        return lambda _: ()
    value = operator.attrgetter(names[0])
    return lambda item: (value(item),)


def _init(cls: type) -> Any:
    names: dict[str, Any] = {"_MISSING": MISSING}
    changeable = "__setattr__" not in cls.__dict__
    parameters, lines = [], []
    for item in fields(cls):
        name, parameter, value = item.name, item.name, item.name
        if item.default is not MISSING:
            names[f"_default_{name}"], parameter = item.default, f"{name}=_default_{name}"
        elif item.default_factory is not MISSING:
            names[f"_factory_{name}"], parameter = item.default_factory, f"{name}=_MISSING"
            value = f"_factory_{name}() if {name} is _MISSING else {name}"
        if item.init:
            parameters.append(parameter)
        else:
            value = parameter.partition("=")[2] if item.default is not MISSING else f"_factory_{name}()"
        # What a slot itself does is quicker than `object.__setattr__`, which looks the name up.
        names[f"_set_{name}"] = getattr(cls, name).__set__
        lines.append(f" self.{name} = {value}\n" if changeable else f" _set_{name}(self, {value})\n")
    exec(f"def __init__(self, {', '.join(parameters)}):\n{''.join(lines) or ' pass'}", names)  # noqa: S102 - names of fields
    names["__init__"].__qualname__ = f"{cls.__qualname__}.__init__"
    return names["__init__"]


def _equal(self: Any, other: Any) -> Any:
    if type(other) is not type(self):
        return NotImplemented
    mine, theirs = self.__compared__(self), self.__compared__(other)
    # As the standard library does: before 3.13 by tuples, which take one NaN object to equal itself, then by fields.
    return mine == theirs if sys.version_info < (3, 13) else self is other or all(map(operator.eq, mine, theirs))


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


def _usual(*, is_frozen: bool) -> Any:
    """A dataclass of the standard library, for what it notes at classes and fields."""
    plain = type("_Usual", (), {"__doc__": "Usual.", "__annotations__": {"a": int}})
    return dataclass(init=False, repr=False, eq=False, frozen=is_frozen)(plain)


_USUAL = _usual(is_frozen=False)
_KIND = fields(_USUAL)[0]._field_type  # type: ignore[attr-defined]
_SHARED = {"__dataclass_params__": _USUAL.__dataclass_params__, "__eq__": _equal, "__hash__": None, "__repr__": _repr}
_FROZEN = _SHARED | {
    "__dataclass_params__": _usual(is_frozen=True).__dataclass_params__,
    "__hash__": _hash,
    "__setattr__": _setattr,
    "__delattr__": _delattr,
    "__getstate__": _getstate,
    "__setstate__": _setstate,
}
