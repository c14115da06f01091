"""How items are compared: what a suite says about texts, groups and the codes of errors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from steelyard.scoring.grouping import Grouping
from steelyard.scoring.similar import Allowed

FORMAT = "FORMAT"
"""The code of an answer that cannot be read, which is no error of an item."""


def _code(given: str) -> str:
    if not given.strip() or given == FORMAT:
        raise ValueError(f"{given!r} cannot be the code of an item's error")
    return given


Code = Annotated[str, AfterValidator(_code)]


class ItemCodes(BaseModel):
    """The code of each kind of error."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    missed: Code = Field(default="MISSED", description="An item of the truth that the answer does not have.")
    extra: Code = Field(default="EXTRA", description="An item of the answer that the truth does not have.")
    copy_: Code | None = Field(
        default=None,
        alias="copy",
        description="A second copy of an item that was already matched; left out, it is an extra.",
    )
    fragment: Code | None = Field(
        default=None,
        description="A matched item whose text is a true fragment of the truth; left out, its text is wrong.",
    )
    wrong_text: Code = Field(default="WRONG_TEXT", description="A matched item whose text is wrong.")
    wrong_group: Code = Field(default="WRONG_GROUP", description="A matched item that is in the wrong group.")


@dataclass(frozen=True, slots=True)
class Rules:
    """How items are compared."""

    similarity: float
    allowed: Allowed
    right_from: float
    """A similarity; a hair below what was declared, so that rounding does not decide."""
    grouping: Grouping
    codes: ItemCodes
    has_groups: bool
    extras_cost: bool
