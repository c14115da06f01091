"""Names for people that say nothing of who they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from steelyard.store.base import Store


def pseudonyms(store: Store) -> dict[str, str]:
    """A name for each person of the store that says nothing of who it is: numbers, by who labelled first.

    Nobody's number changes when labels are taken back.
    """
    return {name: f"person-{number}" for number, name in enumerate(store.people.everybody(), start=1)}


def people_names(store: Store, *, names: bool) -> Callable[[str], str]:
    """What people are called: by name where that is asked for, else by pseudonym."""
    pseudonym_of: dict[str, str] = {}

    def pseudonym(name: str) -> str:
        # Who labels for the first time while we read has no number yet.
        if name not in pseudonym_of:
            pseudonym_of.update(pseudonyms(store))
        return pseudonym_of[name]

    return str if names else pseudonym
