"""Folding many texts at once: what a suite says does not count is taken out of each."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import compress
from typing import TYPE_CHECKING

from steelyard.scoring.normalise import fold

if TYPE_CHECKING:
    from steelyard.scoring.text import Difference

# Stands between texts that are folded together: neither a space, nor punctuation, nor a letter with two cases.
_BETWEEN = "\0"


class Folder:
    """Folds texts, each as `fold` would; plain ASCII texts go through in one piece."""

    __slots__ = ("_alone", "_collapses", "_spaces", "_table")

    def __init__(self, ignore: Sequence[Difference]) -> None:
        self._alone = partial(
            fold,
            case="case" in ignore,
            space="space" in ignore,
            punctuation="punctuation" in ignore,
            accents="accents" in ignore,
        )
        self._collapses = "space" in ignore or "punctuation" in ignore
        # Folding one ASCII character depends on nothing beside it, save for runs of spaces.
        folded = bytes(ord(self._alone(f"x{chr(code)}x")[1]) for code in range(128))
        self._table = folded + bytes(range(128, 256))
        self._spaces = bytes(code for code in range(128) if folded[code : code + 1] == b" ")

    def fold(self, texts: Sequence[str]) -> list[str]:
        """Each text as it is compared."""
        joined = _BETWEEN.join(texts)
        if joined.isascii():
            folded = self._at_once(joined)
            if len(folded) == len(texts):
                return folded
        plain = [text.isascii() and _BETWEEN not in text for text in texts]
        at_a_time = iter(self._at_once(_BETWEEN.join(compress(texts, plain))))
        return [next(at_a_time) if simple else self._alone(text) for text, simple in zip(texts, plain, strict=True)]

    def keys(self, texts: Sequence[str]) -> str:
        """The keys of all texts between separators; "" when two have the same or one has an empty key.

        The key of a text is the text folded and without any space.
        Texts that fold alike have the same key, so that different keys show that no text stands twice; and to take
        out all spaces needs half the time of leaving one of each run. One text takes less to keep than many do.
        """
        joined = _BETWEEN.join(texts)
        if joined.isascii():
            joined = joined.encode("ascii").translate(self._table, self._spaces).decode("ascii")
        else:
            joined = _BETWEEN.join(map(key_of, self.fold(texts)))
        keys = joined.split(_BETWEEN)
        different = set(keys)
        unlike = len(keys) == len(different) == len(texts) and "" not in different
        return _BETWEEN + joined + _BETWEEN if unlike else ""

    def _at_once(self, joined: str) -> list[str]:
        joined = joined.encode("ascii").translate(self._table).decode("ascii")
        if not self._collapses:
            return joined.split(_BETWEEN)
        while "  " in joined:
            joined = joined.replace("  ", " ")
        return list(map(str.strip, joined.split(_BETWEEN)))


def key_of(folded: str) -> str:
    """The key of a folded text: see `Folder.keys`."""
    return folded.replace(" ", "")


def has_key(keys: str, key: str) -> bool:
    """True when the key is one of those that `Folder.keys` gave."""
    return f"{_BETWEEN}{key}{_BETWEEN}" in keys
