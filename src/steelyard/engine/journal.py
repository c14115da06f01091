"""Paid-for answers of samples that are not complete yet, so that a kill between two calls loses neither."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from steelyard.records import CallResult
from steelyard.store.codec import decode, encode

TARGET = "target"
"""The part of a sample's journal that holds the answer of the system under test."""

SCORER = "scorer/"
"""What the parts begin with that hold what a model said for a scorer."""

Entry = tuple[str, dict[str, Any]]
"""A key and an attempt as plain data."""


class Journal:
    """What one sample of a run has been given so far, by part; failures are not stored: those calls are made again."""

    def __init__(
        self, position: int, retained: Mapping[str, dict[str, Any]], store: Callable[[Entry], Awaitable[None]]
    ) -> None:
        self._position = position
        self._stored = retained
        self._store_entry = store
        self.keys: list[str] = []
        """Everything it holds, to be forgotten when the sample is complete."""

    def get(self, part: str) -> CallResult | None:
        """The answer that an earlier session of this run was given; None when there is none."""
        key = self._key(part)
        data = self._stored.get(key)
        if data is None:
            return None
        self.keys.append(key)
        return decode(CallResult, data)

    async def put(self, part: str, call_result: CallResult) -> None:
        """Store an answer before it is used; it is committed when this returns."""
        if call_result.failure is None:
            key = self._key(part)
            self.keys.append(key)
            await self._store_entry((key, encode(call_result)))

    def _key(self, part: str) -> str:
        return f"{self._position}/{part}"
