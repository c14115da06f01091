"""What every way to send a message shares: how long to try, and what to raise when it does not arrive."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path


class Undelivered(Exception):
    """A message did not arrive; `retry` says whether another try may help, `after` how long the other side asks for."""

    def __init__(self, detail: str, *, retry: bool = True, after: float | None = None) -> None:
        super().__init__(detail)
        self.retry, self.after = retry, after


class NotHere(Exception):
    """The channel does not exist where this runs, such as GitHub on somebody's own machine."""


@dataclass(frozen=True, slots=True)
class Patience:
    """How long delivery may take: a run is over, and somebody waits for its exit code."""

    tries: int = 4
    first_wait: float = 0.5
    """Seconds before the second try; each wait after it is three times as long."""
    each: float = 10.0
    """Seconds for one try."""
    in_all: float = 30.0
    """Seconds for all channels, which are tried side by side."""
    to_end: float = 1.0
    """Of these, seconds at the end in which nothing is tried any more, and a program that hangs is ended."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a channel works: its environment, its folder, and where lines for people go."""

    env: Mapping[str, str]
    folder: Path
    tell: Callable[[str], None]

    def secret(self, variable: str) -> str:
        """The value of a variable; Undelivered naming it when it is not set."""
        value = self.env.get(variable, "").strip()
        if not value:
            raise Undelivered(f"the environment variable {variable} is not set", retry=False)
        return value
