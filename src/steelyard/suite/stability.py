"""What a suite says of its repeats: which items of an answer should come again, and what of them stay the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from steelyard.suite.answer_places import compile_place
from steelyard.suite.draft import Draft
from steelyard.suite.model import AnswerShape, StabilityRules
from steelyard.suite.paths import compile_path

PRESENCE = "presence"
"""What the share of items that come again is called; no field may be called so."""


class StabilityPart(BaseModel):
    """What repeats of the same question should bring again."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    items: str = Field(
        min_length=1, description="Where the list of items is in the answer: a path, or a JSONPath that begins with $."
    )
    key: str = Field(
        description="Path in an item: items with the same key are held against each other; empty for the item itself."
    )
    fields: dict[str, Literal["equal", "overlap"]] = Field(
        default={},
        description="Paths in an item, each with how two values are held against each other: `equal`, or `overlap` of"
        " [start, end).",
    )

    @field_validator("items")
    @classmethod
    def _is_a_place(cls, text: str) -> str:
        compile_place(text)
        return text

    @field_validator("key")
    @classmethod
    def _is_a_path(cls, text: str) -> str:
        compile_path(text)
        return text


def build_stability(raw: Any, answer: AnswerShape, draft: Draft) -> StabilityRules | None:
    """The suite's rules, or None when it has none or everything wrong with them is noted."""
    if raw is None:
        return None
    before = len(draft.mistakes)
    part = draft.check_part(StabilityPart, raw, ("stability",))
    if answer.format != "json":
        draft.tell("stability reads JSON: write answer: {format: json}, or a schema", ("stability",))
    if part is None:
        return None
    for name in part.fields:
        if name == PRESENCE:
            told = "stability.presence is the share of items that come again: write a field of that name in quotes"
            draft.tell(f"stability.fields: {told}, '\"presence\"'", ("stability", "fields", name))
        elif wrong := _wrong(compile_path, name):
            draft.tell(f"stability.fields: {wrong}", ("stability", "fields", name))
    return None if len(draft.mistakes) > before else StabilityRules(part.items, part.key, dict(part.fields))


def _wrong(check: Callable[[str], Any], text: str) -> str:
    try:
        check(text)
    except ValueError as error:
        return str(error)
    return ""
