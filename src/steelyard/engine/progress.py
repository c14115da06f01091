"""What a run tells while it goes on; the command line shows it, tests collect it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from steelyard.records import Outcome


@dataclass(slots=True)
class Counts:
    """Samples that are durable, by how they ended."""

    planned: int = 0
    scored: int = 0
    malformed: int = 0
    failed: int = 0

    @property
    def done(self) -> int:
        """All that are durable."""
        return self.scored + self.malformed + self.failed

    def add(self, outcome: Outcome) -> None:
        """Count one more sample."""
        if outcome is Outcome.SCORED:
            self.scored += 1
        elif outcome is Outcome.MALFORMED:
            self.malformed += 1
        else:
            self.failed += 1


class Progress(Protocol):
    """Told from the writer's thread, after each commit."""

    def update(self, counts: Counts) -> None: ...

    def note(self, text: str) -> None:
        """Something a person should know now: throttled, stopping, resuming."""
        ...


class Silent:
    """Shows nothing."""

    def update(self, counts: Counts) -> None:
        """Ignore it."""

    def note(self, text: str) -> None:
        """Ignore it."""
