"""Text with the differences of typography taken out, and the way back to the places in the original."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from functools import lru_cache

_SAME = str.maketrans(
    {"‘": "'", "’": "'", "ʼ": "'", "`": "'", "´": "'", "′": "'", "“": '"', "”": '"', "„": '"', "‐": "-", "‑": "-",
     "―": "—", "−": "-"}
)  # fmt: skip

# Letters of other alphabets that look like a Latin one: the usual ones of Unicode's confusables.txt.
_LOOK_ALIKES = {
    "a": "аαɑᴀ", "b": "Ьʙ", "c": "сϲᴄ", "d": "ԁᴅ", "e": "еєεᴇ", "f": "ꜰϝ", "g": "ɡɢ", "h": "һհʜ", "i": "іιıɪӏ",
    "j": "јᴊ", "k": "кκᴋ", "l": "ʟⅼ", "m": "мᴍ", "n": "ոηɴ", "o": "оοօᴏ", "p": "рρᴘ", "q": "ԛ", "r": "ʀг",
    "s": "ѕꜱ", "t": "тτᴛ", "u": "υսᴜ", "v": "ѵνᴠ", "w": "ԝωᴡ", "x": "хχ", "y": "уүγʏ", "z": "ᴢ", "A": "АΑ",
    "B": "ВΒ", "C": "СϹ", "E": "ЕΕ", "H": "НΗ", "I": "ІΙ", "J": "Ј", "K": "КΚ", "M": "МΜ", "N": "Ν", "O": "ОΟ",
    "P": "РΡ", "S": "Ѕ", "T": "ТΤ", "V": "Ѵ", "W": "Ԝ", "X": "ХΧ", "Y": "УΥҮ", "Z": "Ζ",
}  # fmt: skip
_LATIN = {ord(other): letter for letter, others in _LOOK_ALIKES.items() for other in others}


@dataclass(frozen=True, slots=True)
class Folded:
    """The folded text; `places[i]` is where its i-th character stands in the original, None when all stand alike."""

    text: str
    places: tuple[int, ...] | None

    def place(self, at: int) -> int:
        """Where the original has what the folded text has at this place."""
        return at if self.places is None else self.places[at]


def fold(text: str) -> Folded:
    """The text with plain quotes, spaces, digits and Latin letters: no accents, ligatures, look-alikes or invisible
    signs."""
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
    letters = "".join(part for part in parts if unicodedata.category(part) not in ("Mn", "Cf"))
    # A line or paragraph separator ends a line; every other kind of space is a space.
    return "\n" if letters in ("\u2028", "\u2029") else letters.translate(_LATIN)
