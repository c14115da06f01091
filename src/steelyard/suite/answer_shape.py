"""What an answer must look like: plain text, JSON, or JSON that fits a schema which is checked here."""

from __future__ import annotations

from typing import Any

from steelyard.suite.draft import Draft
from steelyard.suite.model import AnswerShape
from steelyard.suite.schema_files import read_schema


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
    schema = read_schema(given, ("answer", "schema"), draft)
    return AnswerShape("json") if schema is None else AnswerShape("json", schema, repair)
