"""The standards that the built-in service knows, read from `standards.yaml`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

SEVERITIES = ("info", "warning", "violation")


@dataclass(frozen=True, slots=True)
class Standard:
    """One rule of a set, under its reference; `check` names the code that looks for breaches of it."""

    ref: str
    check: str
    category: str
    excerpt: str
    rationale: str


@dataclass(frozen=True, slots=True)
class Lexicon:
    """The words that the checks look for, or leave alone."""

    verbs: dict[str, str]
    """Verbs that nobody can measure, with how severe it is to use one."""
    known_letters: frozenset[str]
    loud_words: frozenset[str]


def standards_of(name: str) -> tuple[Standard, ...] | None:
    """The rules of a set; None when there is no such set."""
    entry = _file()["sets"].get(name)
    return None if entry is None else tuple(Standard(**rule) for rule in entry["rules"])


def strictnesses() -> tuple[str, ...]:
    """How strict a review can be, the mildest first."""
    return tuple(_file()["levels"])


def reported_at(strictness: str) -> frozenset[str]:
    """The severities that are reported at that strictness."""
    return frozenset(_file()["levels"][strictness])


@cache
def lexicon() -> Lexicon:
    """All words of the standards file."""
    file = _file()
    verbs = {verb: severity for severity, listed in file["verbs"].items() for verb in listed}
    return Lexicon(verbs, frozenset(file["known_letters"]), frozenset(file["loud_words"]))


@cache
def _file() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load(Path(__file__).with_name("standards.yaml").read_text(encoding="utf-8"))
    return loaded
