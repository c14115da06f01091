"""Answers filled in by a schema, and schemas of answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

_DEEPEST = 8


def filled(schema: dict[str, Any] | None, text: str, *, required_only: bool = False) -> Any:
    """A value that fits `schema` as far as plain filling can, every free string being `text`, cut to fit.

    Where the schema allows several forms, the first is filled.
    """
    return _filled(resolved(schema), text, required_only=required_only, depth=0)


def completed(schema: dict[str, Any] | None, value: Any, text: str) -> Any:
    """The value with whatever else the schema asks for filled in as `filled` does; None becomes a whole answer."""
    if value is None:
        return filled(schema, text, required_only=True)
    return _completed(resolved(schema), value, text)


def _completed(schema: Any, value: Any, text: str) -> Any:
    schema = schema if isinstance(schema, dict) else {}
    if isinstance(value, dict):
        properties = schema.get("properties", {})
        missing = {name: properties.get(name) for name in schema.get("required", []) if name not in value}
        return {name: _completed(properties.get(name), inner, text) for name, inner in value.items()} | {
            name: _filled(part, text, required_only=True, depth=0) for name, part in missing.items()
        }
    if isinstance(value, list):
        items = schema.get("items")
        lacking = int(schema.get("minItems", 0)) - len(value) if value else 0
        more = [_filled(items if isinstance(items, dict) else {}, text, required_only=True, depth=0)] * lacking
        return [_completed(items, inner, text) for inner in value] + more
    return value


def schema_of(values: Sequence[Any], *, loose: bool = False, inside_list: bool = False) -> dict[str, Any]:
    """A schema of answers such as these: every key of theirs is asked for, except in elements of lists.

    `loose` lets a number that stands by itself be any text, since nothing forbids it.
    """
    objects, lists = ([value for value in values if isinstance(value, kind)] for kind in (dict, list))
    if objects:
        names = list(dict.fromkeys(name for item in objects for name in item))
        parts = {
            name: schema_of([item[name] for item in objects if name in item], loose=loose, inside_list=inside_list)
            for name in names
        }
        return {"type": "object", "properties": parts, "required": [] if inside_list else names}
    if lists:
        inner = [element for item in lists for element in item]
        numbers = bool(inner) and all(isinstance(element, (int, float)) for element in inner)
        least = len(lists[0]) if numbers else 1  # a box has four numbers, whatever they are
        return {"type": "array", "items": schema_of(inner, inside_list=True), "minItems": least}
    for kind, name in ((bool, "boolean"), ((int, float), "number")):
        if values and all(isinstance(value, kind) for value in values) and not (loose and not inside_list):
            return {"type": name}
    return {}


def resolved(schema: dict[str, Any] | None) -> Any:
    """The schema with its own references followed, each once, and the first of several forms taken."""
    return _resolved(schema, schema or {}, ())


def _resolved(schema: Any, root: dict[str, Any], following: tuple[str, ...]) -> Any:
    if not isinstance(schema, dict):
        return schema
    here = dict(schema)
    reference = str(here.pop("$ref", ""))
    if reference:
        here = _joined(here, {} if reference in following else _referred(reference, root))
        following = (*following, reference)
    for form in _forms(here):
        here = _joined(here, _resolved(form, root, following))
    if isinstance(here.get("properties"), dict):
        here["properties"] = {name: _resolved(part, root, following) for name, part in here["properties"].items()}
    if "items" in here:
        here["items"] = _resolved(here["items"], root, following)
    return here


def _joined(schema: dict[str, Any], more: Any) -> dict[str, Any]:
    if not isinstance(more, dict):
        return schema
    properties = {**more.get("properties", {}), **schema.get("properties", {})}
    required = [*more.get("required", []), *schema.get("required", [])]
    return {**more, **schema} | ({"properties": properties, "required": required} if properties else {})


def _forms(schema: dict[str, Any]) -> list[Any]:
    forms = list(schema.pop("allOf", []))
    return forms + [form for key in ("anyOf", "oneOf") for form in list(schema.pop(key, []))[:1]]


def _referred(reference: str, root: dict[str, Any]) -> Any:
    if not reference.startswith("#"):
        return None
    here: Any = root
    for step in reference[1:].strip("/").split("/"):
        here = here.get(step.replace("~1", "/").replace("~0", "~")) if isinstance(here, dict) else None
    return here


def _filled(schema: dict[str, Any] | None, text: str, *, required_only: bool, depth: int) -> Any:
    if not schema or depth > _DEEPEST:
        return text
    if "const" in schema:
        return schema["const"]
    if schema.get("enum"):
        return schema["enum"][0]
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = next((name for name in kind if name != "null"), "null")
    if kind == "object" or "properties" in schema:
        return _object(schema, text, required_only=required_only, depth=depth)
    if kind == "array":
        items = schema.get("items") if isinstance(schema.get("items"), dict) else {}
        item = _filled(items, text, required_only=required_only, depth=depth + 1)
        return [item] * max(1, schema.get("minItems", 1))
    if kind in ("integer", "number"):
        return _number(schema, whole=kind == "integer")
    if kind == "boolean":
        return True
    if kind == "null":
        return None
    return _text(schema, text)


def _text(schema: dict[str, Any], text: str) -> Any:
    if "pattern" in schema and (example := next(iter(schema.get("examples", [])), schema.get("default"))):
        return example
    text *= max(1, -(-schema.get("minLength", 0) // max(1, len(text))))
    return text[: schema.get("maxLength", len(text))]


def _object(schema: dict[str, Any], text: str, *, required_only: bool, depth: int) -> dict[str, Any]:
    properties = schema.get("properties", {})
    wanted = dict.fromkeys([*(() if required_only else properties), *schema.get("required", [])])
    return {name: _filled(properties.get(name), text, required_only=required_only, depth=depth + 1) for name in wanted}


def _number(schema: dict[str, Any], *, whole: bool) -> float:
    low = schema.get("minimum", schema.get("exclusiveMinimum"))
    number = 1 if low is None else max(1, low + 1)
    high = schema.get("maximum")
    number = number if high is None else min(number, high)
    return int(number) if whole else number


def nulls(schema: Any) -> Any:
    """Every field that the schema names, and every one of them null."""
    properties = schema.get("properties") if isinstance(schema, dict) else None
    return {name: nulls(part) for name, part in properties.items()} if properties else None
