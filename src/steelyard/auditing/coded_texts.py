"""What a text says in plain or in code: backwards, in base64, in hexadecimal digits."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

_FEWEST_LETTERS = 3


def key(value: Any) -> Any:
    """A text without letter case, spaces and signs; any other value as it is."""
    if not isinstance(value, str):
        return value
    return "".join(filter(str.isalnum, value.casefold())) or value.strip()


def read_forms(value: Any) -> set[Any]:
    """What a value says: as it stands, backwards, and out of base64 and hexadecimal digits."""
    if not isinstance(value, str):
        return {value}
    plain = key(value)
    backwards = {plain[::-1]} if len(plain) >= _FEWEST_LETTERS else set()
    return {plain} | backwards | {key(text) for text in _decoded(value)}


@lru_cache(maxsize=64)
def decoded_words(text: str) -> set[str]:
    """What the words of a text say that are base64 or hexadecimal digits."""
    words = (word.strip("\"'`()[]{}<>.,;:!?") for word in text.split())
    results = {key(decoded) for word in words for decoded in _decoded(word)}
    return {item for item in results if len(item) >= _FEWEST_LETTERS}


def _decoded(text: str) -> Iterator[str]:
    packed = "".join(text.split())
    if re.fullmatch(r"(?:0x)?(?:[0-9a-fA-F]{2})+", packed):
        yield from _as_text(bytes.fromhex(packed.removeprefix("0x")))
    if len(packed) > 1 and re.fullmatch(r"[\w+/-]+={0,2}", packed, re.ASCII):
        bare = packed.rstrip("=").translate(str.maketrans("-_", "+/"))
        try:
            yield from _as_text(base64.b64decode(bare + "=" * (-len(bare) % 4)))
        except binascii.Error:
            return


def _as_text(raw: bytes) -> Iterator[str]:
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        return
    if text.isprintable() and text:
        yield text
