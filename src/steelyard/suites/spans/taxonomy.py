"""The nine categories and their roles, as `taxonomy.yaml` lists them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

import yaml


@dataclass(frozen=True, slots=True)
class Category:
    """One category: what it is about, how much it hurts to miss a span of it, and its roles with a sentence each."""

    name: str
    about: str
    missed: str
    roles: MappingProxyType[str, str]


@cache
def categories() -> MappingProxyType[str, Category]:
    """All categories by name, in the order of the file."""
    path = Path(__file__).with_name("taxonomy.yaml")
    listed: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))["categories"]
    return MappingProxyType({name: _category(name, given) for name, given in listed.items()})


def category_of(role: str) -> str:
    """The first part of a role: `subject` of `subject.wardrobe`; a role of no category gives its own first part."""
    return role.partition(".")[0]


def severity_of(role: str) -> str:
    """How much it hurts to miss a span of that role: critical, important or minor."""
    category = categories().get(category_of(role))
    return "minor" if category is None else category.missed


def _category(name: str, given: dict[str, Any]) -> Category:
    roles = {f"{name}.{sub}": about for sub, about in given["roles"].items()}
    return Category(name, given["about"], given["missed"], MappingProxyType(roles))
