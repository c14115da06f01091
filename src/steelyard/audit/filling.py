"""Builds answers that fit a JSON schema without knowing anything: the material of probes."""

from __future__ import annotations

from typing import Any

from steelyard.suite.paths import EACH, split_path

_DEEPEST = 8


def filled(schema: dict[str, Any] | None, text: str, *, required_only: bool = False) -> Any:
    """A value that fits `schema` as far as plain filling can, every free string being `text`, cut to fit.

    Where the schema allows several forms, the first is filled.
    """
    return _filled(_resolved(schema, schema or {}, ()), text, required_only=required_only, depth=0)


def _resolved(schema: Any, root: dict[str, Any], following: tuple[str, ...]) -> Any:
    """The schema with its own references followed, each once, and the first of several forms taken."""
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
    return text[: schema.get("maxLength", len(text))]


def _object(schema: dict[str, Any], text: str, *, required_only: bool, depth: int) -> dict[str, Any]:
    wanted = schema.get("required", []) if required_only else schema.get("properties", {})
    properties = schema.get("properties", {})
    return {name: _filled(properties.get(name), text, required_only=required_only, depth=depth + 1) for name in wanted}


def _number(schema: dict[str, Any], *, whole: bool) -> float:
    low = schema.get("minimum", schema.get("exclusiveMinimum"))
    number = 1 if low is None else max(1, low + 1)
    high = schema.get("maximum")
    number = number if high is None else min(number, high)
    return int(number) if whole else number


def nulls(schema: dict[str, Any] | None, paths: list[str]) -> Any:
    """Every field that the schema or a scorer names, and every one of them null."""
    answer: dict[str, Any] = dict.fromkeys((schema or {}).get("properties", {}))
    for path in paths:
        put(answer, path, None)
    return answer


def put(answer: dict[str, Any], path: str, value: Any) -> None:
    """Set the value at a dotted path, making the objects and lists on the way."""
    steps = split_path(path)
    here: Any = answer
    for step, after in zip(steps, (*steps[1:], None), strict=True):
        if after is None:
            here[step] = value
        elif after == EACH:
            # A scorer that looks at each element is given the values themselves.
            here[step] = value
            return
        else:
            if not isinstance(here.get(step), dict):
                here[step] = {}
            here = here[step]
