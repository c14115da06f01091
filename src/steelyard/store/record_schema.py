"""The JSON Schema of records, from the fields of their classes and what their docstrings say."""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Iterable
from dataclasses import is_dataclass
from itertools import pairwise
from typing import Any, get_args, get_type_hints

from steelyard.store.codec import Schema, codec_of, is_required


def schemas_of(kinds: Iterable[type[Any]]) -> dict[str, Schema]:
    """The JSON Schema of records, and of all records inside them, by the names of their classes."""
    schemas: dict[str, Schema] = {}
    waiting = list(kinds)
    while waiting:
        kind = waiting.pop(0)
        if kind.__name__ not in schemas:
            schemas[kind.__name__] = _schema(kind)
            hints = get_type_hints(kind)
            waiting += [inner for part in codec_of(kind).parts for inner in _records_in(hints[part.name])]
    return schemas


def _schema(kind: type[Any]) -> Schema:
    about = _docstrings(kind)
    properties = {}
    for part in codec_of(kind).parts:
        described: Schema = {"description": about[part.name]} if part.name in about else {}
        default = {"default": part.default} if isinstance(part.default, str | float | int) else {}
        properties[part.name] = described | part.form.schema | default
    return {
        "description": " ".join((kind.__doc__ or "").split()),
        "type": "object",
        "properties": properties,
        "required": [part.name for part in codec_of(kind).parts if is_required(part)],
        "additionalProperties": False,
    }


def _records_in(hint: Any) -> list[type[Any]]:
    if isinstance(hint, type) and is_dataclass(hint):
        return [] if hasattr(hint, "from_data") else [hint]
    return [record for arg in get_args(hint) for record in _records_in(arg)]


def _docstrings(kind: type[Any]) -> dict[str, str]:
    """What stands below the fields of a class, by field."""
    tree = ast.parse(inspect.getsource(sys.modules[kind.__module__]))
    body = next(node.body for node in tree.body if isinstance(node, ast.ClassDef) and node.name == kind.__name__)
    texts = {}
    for field_node, below in pairwise(body):
        if isinstance(field_node, ast.AnnAssign) and isinstance(below, ast.Expr):
            texts[ast.unparse(field_node.target)] = " ".join(str(ast.literal_eval(below.value)).split())
    return texts
