"""JSON, and texts that are written whole or not at all."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping
from enum import Enum
from pathlib import Path
from typing import Any

from steelyard.frozen import values_of
from steelyard.records import Signature, TargetFacts
from steelyard.report.format import escaped_json
from steelyard.report.render.github import harmless_json
from steelyard.suite.files import write_bytes

FLAT = {"flat": True}
"""Metadata of a dataclass's field: in JSON its own fields stand in its place."""
HIDDEN = {"hidden": True}
"""Metadata of a dataclass's field that JSON leaves out."""


def encode(value: Any) -> Any:
    """The value as `json.dumps(..., allow_nan=False)` can write it.

    A dataclass is an object of its fields by their own names, an enum its value, NaN null.
    """
    if value is None or (isinstance(value, bool | int) and not isinstance(value, Enum)):
        return value
    if isinstance(value, Enum):
        return encode(value.value)
    if isinstance(value, str):
        # A lone surrogate, which no file or terminal can take, is spelled out.
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Signature | TargetFacts):
        return encode(value.to_data())
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return encode_object(value)
    if isinstance(value, Mapping):
        return {encode(str(key.value if isinstance(key, Enum) else key)): encode(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [encode(item) for item in value]
    if hasattr(value, "model_dump"):
        return encode(value.model_dump())
    return str(value)


def encode_object(value: Any) -> dict[str, Any]:
    """A dataclass as an object of its fields by their own names."""
    data: dict[str, Any] = {}
    for field in dataclasses.fields(value):
        if field.metadata.get("hidden"):
            continue
        if field.metadata.get("if_known") and getattr(value, field.name) is None:
            continue
        item = encode(getattr(value, field.name))
        if field.metadata.get("flat"):
            data |= item
        else:
            data[field.metadata.get("name", field.name)] = item
    return data


def picked(value: Any, *names: str) -> dict[str, Any]:
    """Some attributes of an object by their own names, as JSON has them."""
    return {name: encode(item) for name, item in values_of(value, *names).items()}


def to_text(data: Any) -> str:
    """The data as indented JSON in which everything that a terminal or a CI log would obey is escaped."""
    text = json.dumps(encode(data), indent=2, ensure_ascii=False, allow_nan=False)
    return harmless_json(escaped_json(text))


def write_text(path: Path, text: str) -> None:
    """Put `text` at `path` in one step; a failure leaves what was there."""
    write_bytes(path, text.encode("utf-8", "replace"))
