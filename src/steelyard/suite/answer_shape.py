"""What an answer must look like: plain text, JSON, or JSON that fits a schema which is checked here."""

from __future__ import annotations

from typing import Any

import jsonschema_rs

from steelyard.suite.draft import Draft
from steelyard.suite.json_stream import BrokenJson, decode
from steelyard.suite.model import AnswerShape
from steelyard.suite.spelling import found


def build_answer(raw: Any, draft: Draft) -> AnswerShape:
    """The shape of answers; a schema that cannot be read or is none is noted."""
    if not isinstance(raw, dict):
        return AnswerShape()
    given = raw.get("schema")
    repair = raw.get("repair") is not False
    if given is None:
        return AnswerShape("json" if raw.get("format") == "json" else "text", repair=repair)
    if raw.get("format") == "text":
        draft.tell("answer: a schema is for JSON answers: leave out format: text", ("answer", "format"))
    schema = _read_schema(given, draft) if isinstance(given, str) else given
    if not isinstance(schema, dict):
        return AnswerShape("json")
    try:
        jsonschema_rs.validator_for(schema, retriever=_refuse)
    except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError) as error:
        told = str(error).splitlines()[0]
        draft.tell(f"answer.schema is not a valid JSON Schema: {told}", ("answer", "schema"))
    return AnswerShape("json", schema, repair)


def _read_schema(name: str, draft: Draft) -> Any:
    text = draft.text(name, ("answer", "schema"))
    if text is None:
        return None
    try:
        schema = decode(text)
    except BrokenJson as error:
        draft.tell(f"{name}:{error.line}: {error}", ("answer", "schema"))
        return None
    except ValueError as error:
        draft.tell(f"{name}: {error}", ("answer", "schema"))
        return None
    if not isinstance(schema, dict):
        draft.tell(f"{name} holds no JSON Schema; {found(schema)}", ("answer", "schema"))
        return None
    return schema


def _refuse(uri: str) -> Any:
    # A suite means the same on every machine and asks nobody: nothing is fetched.
    raise ValueError(f"a schema may not refer to {uri}: put the definition into the file")
