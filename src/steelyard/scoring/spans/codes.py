"""What a suite says about its spans besides where they are: the codes of errors and the categories of roles."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, lru_cache
from typing import Any

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    field_validator,
    model_validator,
)
from pydantic_core import CoreSchema

from steelyard.scoring.items.item_rules import Code
from steelyard.scoring.spans.schemes import SCHEMES


class SpanCodes(BaseModel):
    """The code of each kind of error."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    missed: Code = Field(default="MISSED", description="A gold span that the answer does not have.")
    extra: Code = Field(default="EXTRA", description="A span that is not in the truth.")
    wrong_role: Code = Field(default="WRONG_ROLE", description="A span that was found and has the wrong role.")
    too_fine: Code = Field(default="TOO_FINE", description="A span that is only a piece of a gold span.")
    too_coarse: Code = Field(default="TOO_COARSE", description="A span that is more than a gold span, or several.")
    duplicate: Code = Field(
        default="DUPLICATE", description="A second span for a gold span that has one, or the same span again."
    )
    misplaced: Code | None = Field(
        default=None,
        description="A span whose offsets do not give its text; left out, one that can be put where its text is counts "
        "there without an error, and one that cannot is an extra.",
    )


class Categories(BaseModel):
    """What kinds of roles there are: the category of a role is its first part."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    names: tuple[str, ...] = Field(default=(), description="The categories, each measured on its own.")
    up_to: str = Field(default=".", min_length=1, description="What the first part of a role ends at.")

    @model_validator(mode="before")
    @classmethod
    def _names_alone(cls, given: Any) -> Any:
        return {"names": given} if isinstance(given, (list, tuple)) else given

    @classmethod
    def __get_pydantic_json_schema__(cls, core: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {"anyOf": [{"type": "array", "items": {"type": "string"}}, handler(core)]}

    @field_validator("names")
    @classmethod
    def _names_are_free(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        for name in names:
            if name in SCHEMES or not name.strip():
                raise ValueError(f"a category cannot be called {name!r}")
        if len(set(names)) < len(names):
            raise ValueError("a category is named twice")
        return names

    @cached_property
    def of(self) -> Callable[[str], str]:
        """A function from a role to its category."""
        up_to = self.up_to
        return lru_cache(maxsize=4096)(lambda role: role.partition(up_to)[0])
