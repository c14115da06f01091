"""Every JSON document that stands in a judge's answer, with its place and the keys that are in it twice."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from steelyard.frozen import frozen
from steelyard.scoring.json_text import embedded_json, finite, shallow, without_surrogates


@frozen
class JsonDocument:
    """One outermost object or array. `value` is None when it is nested too deeply."""

    start: int
    end: int
    value: Any
    repeated: frozenset[str] = frozenset()
    """Keys of the object itself, not of those inside it, that stand in it more than once."""
    repeated_inside: frozenset[tuple[str, str]] = frozenset()
    """The same of the objects that are its fields: the field, and the key that stands in it more than once."""


class _Pairs:
    """Builds objects and remembers the repeated keys of the last one built, which is the outermost."""

    def __init__(self) -> None:
        self.repeated: frozenset[str] = frozenset()
        self.repeated_inside: frozenset[tuple[str, str]] = frozenset()
        self._of: dict[int, frozenset[str]] = {}

    def __call__(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        built = dict(pairs)
        self.repeated_inside = frozenset()
        if self._of:
            inside = ((key, name) for key, value in pairs for name in self._of.get(id(value), ()))
            self.repeated_inside = frozenset(inside)
        self._of.pop(id(built), None)  # an object that is gone may have had this one's identity
        if len(built) == len(pairs):
            self.repeated = frozenset()
        else:
            counts = Counter(key for key, _ in pairs)
            self.repeated = self._of[id(built)] = frozenset(key for key, count in counts.items() if count > 1)
        return built


def documents(text: str) -> list[JsonDocument]:
    """The outermost JSON documents of a text in order. Never raises, and reads each character about once.

    Parts of a document, even of one that breaks off, are not given on their own. No number, infinity and 1e999 are
    no values: they read as null.
    """
    pairs = _Pairs()
    decoder = json.JSONDecoder(object_pairs_hook=pairs, parse_float=finite, parse_constant=lambda _: None)
    results: list[JsonDocument] = []
    for start, source, value in embedded_json(text, decoder, past_deep=True):
        whole = without_surrogates(value, source) if shallow(value, source) else None
        repeated = (pairs.repeated, pairs.repeated_inside) if isinstance(whole, dict) else ()
        results.append(JsonDocument(start, start + len(source), whole, *repeated))
    return results


def blanked(text: str, gone: list[JsonDocument]) -> str:
    """The text with spaces where those documents stood."""
    pieces, after = [], 0
    for item in gone:
        pieces += [text[after : item.start], " " * (item.end - item.start)]
        after = item.end
    return "".join([*pieces, text[after:]])
