"""How items are compared: what a suite says about texts, groups and the codes of errors."""

from __future__ import annotations

from typing import Annotated

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
)

from steelyard.frozen import frozen
from steelyard.records import Finding
from steelyard.scoring.items.groups import (
    Grouping,
)
from steelyard.scoring.items.text_pairs import Allowed

FORMAT = "FORMAT"
"""The code of an answer that cannot be read, which is no error of an item."""


def _code(given: str) -> str:
    if not given.strip() or given == FORMAT:
        raise ValueError(f"{given!r} cannot be the code of an item's error")
    return given


Code = Annotated[str, AfterValidator(_code)]
Fitting = Finding | tuple[Finding, ...]
"""The finding for an error, or one per code that fits it."""


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
    leftover: Code | None = Field(
        default=None,
        description="A fragment of an item of the truth next to what was matched with that item, which is not an "
        "invention; left out, it has the code of a fragment, and without one that of an extra.",
    )
    wrong_text: Code = Field(default="WRONG_TEXT", description="A matched item whose text is wrong.")
    wrong_group: Code = Field(default="WRONG_GROUP", description="A matched item that is in the wrong group.")


@frozen
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
