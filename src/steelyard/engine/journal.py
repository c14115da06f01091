"""Paid-for answers of samples that are not complete yet, so that a kill between two calls loses neither."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from steelyard.records import Attempt
from steelyard.store.codec import decode, encode

TARGET = "target"
"""The part of a sample's journal that holds the answer of the system under test."""

Entry = tuple[str, dict[str, Any]]
"""A key and an attempt as plain data."""


class Journal:
    """What one sample of a run has been given so far, by part; failures are not kept, since they are asked anew."""

    def __init__(
        self, position: int, kept: Mapping[str, dict[str, Any]], store: Callable[[Entry], Awaitable[None]]
    ) -> None:
        self._position = position
        self._kept = kept
        self._store_entry = store
        self.keys: list[str] = []
        """Everything it holds, to be forgotten when the sample is complete."""

    def get(self, part: str) -> Attempt | None:
        """The answer that an earlier session of this run was given; None when there is none."""
        key = self._key(part)
        data = self._kept.get(key)
        if data is None:
            return None
        self.keys.append(key)
        return decode(Attempt, data)

    async def put(self, part: str, attempt: Attempt) -> None:
        """Store an answer before it is used; it is committed when this returns."""
        if attempt.failure is None:
            key = self._key(part)
            self.keys.append(key)
            await self._store_entry((key, encode(attempt)))

    def _key(self, part: str) -> str:
        return f"{self._position}/{part}"
