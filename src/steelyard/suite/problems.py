"""What a validation found, as sentences for the person who wrote the file."""

from __future__ import annotations

import types
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from steelyard.suite.spelling import found, listed, meant, unknown_key

Place = tuple[str | int, ...]

_WANTED = {
    "string": "text",
    "int": "a whole number",
    "float": "a number",
    "decimal": "a number",
    "finite": "a finite number",
    "bool": "true or false",
    "list": "a list",
    "tuple": "a list",
    "set": "a list",
    "frozen": "a list",
    "dict": "a group of keys",
    "mapping": "a group of keys",
    "model": "a group of keys",
    "none": "nothing",
}

_TYPE_ENDINGS = (
    "type", "parsing", "from_float", "number", "attributes_type", "set_type", "required", "parsing_size", "unicode",
)  # fmt: skip
"""How pydantic's names for a value of the wrong type end."""
_NOTHING = object()


@dataclass(frozen=True, slots=True)
class Problem:
    """One sentence and the place in the data it speaks of."""

    message: str
    place: Place


def explain(error: ValidationError, data: Any, model: type[BaseModel], at: Place = ()) -> list[Problem]:
    """The problems in a failed validation of `data`, in the order of the file; `at` is where `data` stands."""
    groups: dict[Place, list[ErrorDetails]] = {}
    for detail in error.errors(include_url=False):
        groups.setdefault(_resolve(detail, data), []).append(detail)
    # A union complains once for each of its forms; where one form got further, only that one speaks.
    deepest = [place for place in groups if not any(other[: len(place)] == place != other for other in groups)]
    kept = [place for place in groups if place in deepest or not _of_a_union(groups[place], place)]
    kept = [place for place in kept if not _only_misspelt(place, groups)]
    return [Problem(_sentence(groups[place], place, data, model, at), (*at, *place)) for place in kept]


def _resolve(detail: ErrorDetails, data: Any) -> Place:
    """The part of an error's location that is in the data, the names of union members left out."""
    place: list[str | int] = []
    for step in detail["loc"]:
        inner = _value(data, (step,))
        if inner is _NOTHING:
            continue
        data = inner
        place.append(step)
    if detail["type"] == "missing":
        place.append(detail["loc"][-1])
    return tuple(place)


def _only_misspelt(place: Place, groups: dict[Place, list[ErrorDetails]]) -> bool:
    """True for a missing key that is there under a misspelt name, which is told already."""
    if groups[place][0]["type"] != "missing":
        return False
    beside = [
        str(other[-1])
        for other, details in groups.items()
        if details[0]["type"] == "extra_forbidden" and other[:-1] == place[:-1]
    ]
    return any(meant(name, [str(place[-1])]) for name in beside)


def _of_a_union(details: Sequence[ErrorDetails], place: Place) -> bool:
    return any(len(detail["loc"]) > len(place) for detail in details)


def _sentence(details: list[ErrorDetails], place: Place, data: Any, model: type[BaseModel], at: Place) -> str:
    name = dotted((*at, *place))
    detail = details[0]
    value = _value(data, place)
    value = None if value is _NOTHING else value
    if detail["type"] == "missing":
        return f"{name} is missing"
    if detail["type"] == "extra_forbidden":
        return _inside(unknown_key(str(place[-1]), _keys(model, place[:-1])), (*at, *place[:-1]))
    own = next((one for one in details if one["type"] in ("value_error", "assertion_error")), None)
    if own is not None:
        return _inside(str(own.get("ctx", {}).get("error", own["msg"])), (*at, *place))
    if detail["type"] in ("literal_error", "enum") and isinstance(value, str):
        expected = detail.get("ctx", {}).get("expected", "")
        choices = [word.strip().strip("'") for word in expected.replace(" or ", ",").split(",")]
        hint = meant(value, choices)
        return f"{name}: {value!r} is not known{hint}" + ("" if hint else f"; allowed: {listed(choices)}")
    wanted = [word for word in dict.fromkeys(_wanted(one) for one in details) if word]
    if wanted:
        return f"{name} must be {' or '.join(wanted)}; {found(value)}"
    return f"{name}: {detail['msg'][:1].lower()}{detail['msg'][1:]}; {found(value)}"


def _wanted(detail: ErrorDetails) -> str:
    context = detail.get("ctx", {})
    for key, words in (("gt", "above"), ("ge", "at least"), ("lt", "below"), ("le", "at most")):
        if key in context:
            return f"{words} {context[key]}"
    if detail["type"] in ("string_too_short", "too_short"):
        return "not empty" if context.get("min_length") == 1 else f"at least {context.get('min_length')} long"
    if detail["type"] in ("literal_error", "enum"):
        return str(context.get("expected", ""))
    head, _, tail = detail["type"].partition("_")
    if tail in _TYPE_ENDINGS:
        return _WANTED.get(head, "")
    return ""


def _inside(sentence: str, place: Place) -> str:
    return f"{dotted(place)}: {sentence}" if place else sentence


def dotted(place: Place) -> str:
    """A place as people write it: limits.timeout, gates[2]."""
    text = ""
    for step in place:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text


def _value(data: Any, place: Place) -> Any:
    for step in place:
        try:
            data = _NOTHING if isinstance(data, str) else data[step]
        except (KeyError, IndexError, TypeError):
            return _NOTHING
    return data


def _keys(model: type[BaseModel], place: Place) -> list[str]:
    """The keys a model allows at a place."""
    forms: list[Any] = [model]
    for step in place:
        forms = [inner for form in forms for inner in _step_into(form, step)]
    names = [key_name(form, name) for form in forms if _is_model(form) for name in form.model_fields]
    return list(dict.fromkeys(names))


def key_name(model: type[BaseModel], field: str) -> str:
    """The name of a field as it is written in files."""
    return model.model_fields[field].alias or field


def _step_into(form: Any, step: str | int) -> list[Any]:
    if _is_model(form):
        named = {key_name(form, name): info.annotation for name, info in form.model_fields.items()}
        return _members(named[step]) if step in named else []
    if get_origin(form) in (dict, list, tuple):
        return _members(get_args(form)[-1])
    return []


def _members(annotation: Any) -> list[Any]:
    if get_origin(annotation) in (Union, types.UnionType):
        return [member for argument in get_args(annotation) for member in _members(argument)]
    if hasattr(annotation, "__metadata__"):
        return _members(get_args(annotation)[0])
    return [annotation]


def _is_model(form: Any) -> bool:
    return isinstance(form, type) and issubclass(form, BaseModel)
