"""How items are compared: what a suite says about texts, groups and the codes of errors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from steelyard.scoring.grouping import Grouping
from steelyard.scoring.similar import Allowed


class Codes(Protocol):
    """The suite's code for each kind of error; None where another kind's serves."""

    @property
    def missed(self) -> str: ...
    @property
    def extra(self) -> str: ...
    @property
    def copy_(self) -> str | None: ...
    @property
    def fragment(self) -> str | None: ...
    @property
    def wrong_text(self) -> str: ...
    @property
    def wrong_group(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Rules:
    """How items are compared."""

    similarity: float
    allowed: Allowed
    right_from: float
    """A similarity; a hair below what was declared, so that rounding does not decide."""
    grouping: Grouping
    codes: Codes
    has_groups: bool
    extras_cost: bool
