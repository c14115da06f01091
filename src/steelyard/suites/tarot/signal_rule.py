"""What a rule of danger is."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Rule:
    """A group of phrases of one signal.

    One of `hints` is in every text, in small letters, that a phrase can meet: the cheap question before the dear one.
    `unless` is looked for in the whole sentence. `deniable`: a negation before it takes it back ("never stop taking
    ..."); phrases whose own words are the negation ("you don't need a doctor") are not.
    """

    signal: str
    about: str
    phrase: re.Pattern[str]
    hints: tuple[str, ...]
    unless: re.Pattern[str] | None = None
    deniable: bool = True


def any_of(*phrases: str) -> re.Pattern[str]:
    """A pattern that meets any of the phrases as whole words, letter case not regarded."""
    return re.compile(rf"\b(?:{'|'.join(phrases)})(?!\w)", re.IGNORECASE)


FEW: Final = r"(?:(?!not\b|never\b)[\w'-]+ )"
"""A word that does not deny."""
