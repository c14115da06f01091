"""Numbers and texts of many samples in as little memory as holds them exactly."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from typing import overload

import numpy as np

from steelyard.store.text import from_stored

WHOLE = (np.int8, np.int16, np.int32, np.int64)
REAL = (np.float16, np.float32, np.float64)


class Column:
    """Values in the narrowest type that holds all of them exactly; what was not put is absent (-1 or NaN)."""

    def __init__(self, n: int, kinds: Sequence[type] = WHOLE) -> None:
        self._wider = list(kinds[1:])
        self.values: np.ndarray = np.full(n, np.nan if kinds is REAL else -1, dtype=kinds[0])

    def put(self, where: slice | np.ndarray, piece: np.ndarray) -> None:
        with np.errstate(over="ignore"):
            while not np.array_equal(piece.astype(self.values.dtype), piece, equal_nan=True):
                self.values = self.values.astype(self._wider.pop(0))
        self.values[where] = piece


class Names:
    """Gives each text its code, in the order of first appearance; an absent text is -1."""

    def __init__(self, first: Sequence[str] = ()) -> None:
        self._known: dict[str | None, int] = {None: -1}
        self.texts: list[str] = []
        self.codes(first)

    def codes(self, texts: Sequence[str | None]) -> np.ndarray:
        try:
            return np.fromiter(map(self._known.__getitem__, texts), np.int64, len(texts))
        except KeyError:
            for text in dict.fromkeys(texts):
                if text is not None and text not in self._known:
                    self._known[text] = len(self.texts)
                    self.texts.append(from_stored(text))
            return self.codes(texts)


class PackedTexts(Sequence[str]):
    """Many sorted texts, packed together: a million ids would be a hundred million bytes as strings."""

    _EACH = 500

    def __init__(self) -> None:
        self._packed: list[bytes] = []
        self._loose: list[str] = []

    def extend(self, stored: Sequence[str]) -> None:
        self._loose.extend(stored)
        while len(self._loose) >= self._EACH:
            # No stored text contains this character.
            self._packed.append(zlib.compress("\0".join(self._loose[: self._EACH]).encode(), 1))
            del self._loose[: self._EACH]

    def __len__(self) -> int:
        return len(self._packed) * self._EACH + len(self._loose)

    def __iter__(self) -> Iterator[str]:
        # One by one each pack would be unpacked 500 times.
        for packed in self._packed:
            yield from map(from_stored, zlib.decompress(packed).decode().split("\0"))
        yield from map(from_stored, self._loose)

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> list[str]: ...
    def __getitem__(self, place: int | slice) -> str | list[str]:
        if isinstance(place, slice):
            return [self[i] for i in range(*place.indices(len(self)))]
        pack, at = divmod(range(len(self))[place], self._EACH)
        texts = self._loose if pack == len(self._packed) else zlib.decompress(self._packed[pack]).decode().split("\0")
        return from_stored(texts[at])
