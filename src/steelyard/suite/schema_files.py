"""A JSON Schema that a suite brings along, in a file or written where it is used."""

from __future__ import annotations

from typing import Any

import jsonschema_rs

from steelyard.suite.draft import Draft
from steelyard.suite.json_stream import BrokenJson, decode
from steelyard.suite.problems import Place, dotted
from steelyard.suite.spelling import found


def read_schema(given: Any, place: Place, draft: Draft) -> dict[str, Any] | None:
    """The schema; what cannot be read is noted and None, what is no valid schema is noted and given all the same."""
    schema = _from_file(given, place, draft) if isinstance(given, str) else given
    if not isinstance(schema, dict):
        return None
    try:
        jsonschema_rs.validator_for(schema, retriever=_refuse)
    except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError) as error:
        told = str(error).splitlines()[0]
        draft.tell(f"{dotted(place)} is not a valid JSON Schema: {told}", place)
    return schema


def _from_file(name: str, place: Place, draft: Draft) -> Any:
    text = draft.text(name, place)
    if text is None:
        return None
    try:
        schema = decode(text)
    except BrokenJson as error:
        draft.tell(f"{name}:{error.line}: {error}", place)
        return None
    except ValueError as error:
        draft.tell(f"{name}: {error}", place)
        return None
    if not isinstance(schema, dict):
        draft.tell(f"{name} holds no JSON Schema; {found(schema)}", place)
        return None
    return schema


def _refuse(uri: str) -> Any:
    # A suite means the same on every machine and asks nobody: nothing is fetched.
    raise ValueError(f"a schema may not refer to {uri}: put the definition into the file")
