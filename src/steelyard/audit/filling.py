"""Builds answers that fit a JSON schema without knowing anything: the material of probes."""

from __future__ import annotations

from typing import Any

from steelyard.suite.paths import EACH, split_path

_DEEPEST = 8


def filled(schema: dict[str, Any] | None, text: str, *, required_only: bool = False, depth: int = 0) -> Any:
    """A value that fits `schema` as far as plain filling can, every free string being `text`, cut to fit."""
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
        item = filled(items, text, required_only=required_only, depth=depth + 1)
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
    return {name: filled(properties.get(name), text, required_only=required_only, depth=depth + 1) for name in wanted}


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
