"""The cards on the table, as a case lists them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .deck import card_named, nearest
from .folding import fold
from .orientation import Orientation


@dataclass(frozen=True, slots=True)
class Drawn:
    """One card on the table; `orientation` is None when the case does not say."""

    card: str
    position: str
    orientation: Orientation | None


def drawn_cards(listed: Any) -> list[Drawn]:
    """The cards of a case's list; those that `spread_mistake` would tell of are left out."""
    cards: list[Drawn] = []
    for entry in listed if isinstance(listed, (list, tuple)) else ():
        card = card_named(_plain(entry, "card"))
        if card is not None and all(card.name != other.card for other in cards):
            cards.append(Drawn(card.name, _plain(entry, "position"), _orientation(entry)))
    return cards


def spread_mistake(listed: Any, path: str) -> str | None:
    """What is wrong with a case's list of cards, in words for its author; None when nothing is."""
    if not isinstance(listed, (list, tuple)) or not listed:
        found = "missing" if listed is None else "empty" if listed in ([], ()) else repr(listed)
        return f"{path} is {found}: a list of cards is needed, each with position, card and orientation"
    seen: dict[str, int] = {}
    for number, entry in enumerate(listed, 1):
        told = _entry_mistake(entry)
        if told:
            return f"{path}, card {number}: {told}"
        card = card_named(_plain(entry, "card"))
        name = "" if card is None else card.name
        if name in seen:
            return f"{path}, card {number}: {name} was already drawn as card {seen[name]}, and a deck holds it once"
        seen[name] = number
    return None


def _entry_mistake(entry: Any) -> str | None:
    if not isinstance(entry, Mapping):
        return f"{entry!r} is no card: an object with position, card and orientation is needed"
    name = _plain(entry, "card")
    if not name:
        return "it has no card name"
    if card_named(name) is None:
        close = nearest(name)
        return f"{name!r} is no card of the deck" + (f": did you mean {close}?" if close else "")
    turned = entry.get("orientation")
    if turned is not None and _orientation(entry) is None:
        return f"orientation is {turned!r}: upright or reversed is needed"
    return None


def _plain(entry: Any, key: str) -> str:
    value = entry.get(key) if isinstance(entry, Mapping) else None
    return fold(value).text.strip() if isinstance(value, str) else ""


def _orientation(entry: Any) -> Orientation | None:
    turned = _plain(entry, "orientation").lower()
    if turned == "upright":
        return "upright"
    return "reversed" if turned == "reversed" else None
