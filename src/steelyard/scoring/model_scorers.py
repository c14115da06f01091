"""Scorers that need a model: a run asks it between two readings of an answer, and what it says is recorded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import field
from typing import Any

from steelyard.frozen import frozen, slotted
from steelyard.records import ScorerCall


@frozen
class NeededCall:
    """What a model has to be asked before an answer can be read; `key` is the digest of the question."""

    key: str
    connection: Any
    """The settings of the model."""
    texts: tuple[str, str]
    why: str
    """Why there is no answer to it yet."""


@slotted
class Lookup:
    """What models have said, by key, while one answer is read, and what is missing."""

    recorded: Mapping[str, ScorerCall]
    lenient: bool = False
    """True where nobody is asked and the best is assumed, for `audit`."""
    wanted: dict[str, NeededCall] = field(default_factory=dict)


LOOKUP: ContextVar[Lookup | None] = ContextVar("LOOKUP", default=None)
"""None where scorers that need a model are left out."""


@contextmanager
def looking_up(calls: Iterable[ScorerCall] = (), *, lenient: bool = False) -> Iterator[Lookup]:
    """Let scorers find these calls."""
    lookup = Lookup({call.key: call for call in calls}, lenient)
    token = LOOKUP.set(lookup)
    try:
        yield lookup
    finally:
        LOOKUP.reset(token)


def models_asked(components: Iterable[Any]) -> list[Any]:
    """The settings of the models that the scorers of these components need."""
    return [model for component in components for model in getattr(component.scorer, "needed_models", tuple)()]
