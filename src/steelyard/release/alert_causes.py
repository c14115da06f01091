"""What a rule finds in a run, cause by cause: it is there, it is not, or nobody can tell."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class State(StrEnum):
    """What a rule says of one cause."""

    THERE = "there"
    GONE = "gone"
    """Looked for, and not found: an alert that is open for it is closed."""
    UNKNOWN = "unknown"
    """Nobody can tell: an open alert stays open, and none is raised."""
    NOT_WATCHED = "not watched"
    """What was looked at does not exist any more: an open alert is closed, and nobody says that it is well."""


class Level(StrEnum):
    """How loud an alert is, in GitHub's words."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Reading:
    """What a rule says of one cause in one run, in words for a person who was asleep a minute ago."""

    rule: str
    """The label of the rule."""
    subject: str
    """What tells this cause from the others of the rule."""
    state: State
    what: str
    how_much: str = ""
    how_sure: str = ""
    look: tuple[str, ...] = ()
    """Words of the command that shows it."""
    quotes: tuple[tuple[str, str], ...] = ()
    """Labelled texts of models: data, to be fenced wherever they are shown."""
    level: Level = Level.ERROR
    size: float | None = None
    """How far the figure has moved, where it is a change of one; an alert that is open for it is closed only when less
    than half of it is left."""

    @property
    def cause(self) -> str:
        """The name of the cause in its suite."""
        return f"{self.rule}: {self.subject}" if self.subject else self.rule

    def as_data(self) -> dict[str, Any]:
        """As the store keeps it."""
        return {
            "rule": self.rule,
            "subject": self.subject,
            "what": self.what,
            "how_much": self.how_much,
            "how_sure": self.how_sure,
            "look": list(self.look),
            "quotes": [list(each) for each in self.quotes],
            "level": self.level.value,
            "size": self.size,
        }


def unknown(rule: str, subject: str, why: str) -> Reading:
    """That nobody can tell, and why."""
    return Reading(rule, subject, State.UNKNOWN, why)


def reading_from(data: dict[str, Any]) -> Reading:
    """What an alert was raised with, from what the store keeps."""
    return Reading(
        rule=data["rule"],
        subject=data["subject"],
        state=State.THERE,
        what=data["what"],
        how_much=data["how_much"],
        how_sure=data["how_sure"],
        look=tuple(data["look"]),
        quotes=tuple((label, text) for label, text in data["quotes"]),
        level=Level(data["level"]),
        size=data["size"],
    )
