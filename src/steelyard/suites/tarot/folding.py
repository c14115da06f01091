"""Text with the differences of typography taken out, and the way back to the places in the original."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from functools import lru_cache

_SAME = str.maketrans(
    {"‘": "'", "’": "'", "ʼ": "'", "`": "'", "´": "'", "′": "'", "“": '"', "”": '"', "„": '"', "‐": "-", "‑": "-",
     "―": "—", "−": "-"}
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Folded:
    """The folded text; `places[i]` is where its i-th character stands in the original, None when all stand alike."""

    text: str
    places: tuple[int, ...] | None

    def place(self, at: int) -> int:
        """Where the original has what the folded text has at this place."""
        return at if self.places is None else self.places[at]


def fold(text: str) -> Folded:
    """The text with plain quotes, spaces, digits and letters: no accents, ligatures, wide forms or invisible signs."""
    if text.isascii():
        return Folded(text, None)
    signs: list[str] = []
    places: list[int] = []
    for at, sign in enumerate(text):
        plain = sign if sign.isascii() else _plain(sign)
        signs.append(plain)
        places.extend([at] * len(plain))
    places.append(len(text))
    return Folded("".join(signs), tuple(places))


@lru_cache(maxsize=4096)
def _plain(sign: str) -> str:
    if sign in "–—":
        return sign
    same = sign.translate(_SAME)
    if same != sign:
        return same
    parts = unicodedata.normalize("NFKD", sign)
    kept = "".join(part for part in parts if unicodedata.category(part) not in ("Mn", "Cf"))
    # A line or paragraph separator ends a line; every other kind of space is a space.
    return "\n" if kept in ("\u2028", "\u2029") else kept
