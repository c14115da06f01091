"""What a check finds: where a document breaks a rule, how badly, and what to do."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Breach:
    """One place of a document that breaks a rule; `span` is None when it is about the whole."""

    span: tuple[int, int] | None
    severity: str
    message: str
    suggested_fix: str
    confidence: float
