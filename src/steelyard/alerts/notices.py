"""Notices: an alert was raised, or it is closed."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import replace
from enum import StrEnum
from typing import Any

from steelyard import __version__
from steelyard.alerts.evidence import AlertLevel, AlertReading
from steelyard.frozen import frozen, values_of
from steelyard.report.format import clipped, one_line, shortened, visible
from steelyard.wording import iso_time, when

LONGEST_QUOTE = 500
_LONGEST = 600
_LONGEST_SUBJECT = 150


class NoticeKind(StrEnum):
    """What a notice says of an alert."""

    RAISED = "raised"
    RECOVERED = "recovered"
    """Its cause was looked for and is not there any more."""
    WITHDRAWN = "withdrawn"
    """Nobody looks for its cause any more."""


@frozen
class Notice:
    """One alert as a message tells it."""

    kind: NoticeKind
    suite: str
    run_id: str
    """The run that shows it."""
    reading: AlertReading
    """What the alert was raised with."""
    since_run: str
    since_at: float
    now: AlertReading | None = None
    """What the run that closed it shows; None when nothing looks at it any more."""
    alert: int | None = None
    """Its number in the store; None when it was not stored."""

    @property
    def closed(self) -> bool:
        """Whether the alert is over."""
        return self.kind is not NoticeKind.RAISED

    @property
    def level(self) -> str:
        """error or warning; of what is over, notice."""
        return "notice" if self.closed else self.reading.level.value

    @property
    def title(self) -> str:
        """What it is about, on one line."""
        before = {
            NoticeKind.RAISED: "",
            NoticeKind.RECOVERED: "RECOVERED: ",
            NoticeKind.WITHDRAWN: "NO LONGER WATCHED: ",
        }[self.kind]
        message = self.reading if self.now is None else self.now
        return before + one_line(message.what, _LONGEST)

    def facts(self) -> list[tuple[str, str]]:
        """Pairs of label and text, each on one line."""
        message = self.reading if self.now is None else self.now
        since = f"run {self.since_run} of {when(self.since_at)}"
        rows = [
            ("What", self.title),
            ("Now" if self.closed and self.now else "Change", message.how_much),
            ("Significance", message.significance),
            ("Since", since + (" (this run)" if self.since_run == self.run_id else f"; seen in run {self.run_id}")),
            ("Command", self.command),
        ]
        return [(label, one_line(text, _LONGEST)) for label, text in rows if text]

    @property
    def command(self) -> str:
        """The command that shows it, as one types it."""
        return shlex.join((self.now or self.reading).look or ("steelyard", "report", self.run_id))

    def quotes(self) -> list[tuple[str, str]]:
        """Labelled texts of models, every sign in them visible; they must be fenced."""
        return [(one_line(label), shortened(visible(text), LONGEST_QUOTE)) for label, text in self.reading.quotes]

    def as_data(self) -> dict[str, Any]:
        """As plain data for programs: the texts as they are."""
        message = self.reading if self.now is None else self.now
        return {
            "kind": self.kind.value,
            **values_of(self, "level", "alert", "suite"),
            "run": self.run_id,
            **values_of(self.reading, "cause", "rule", "subject"),
            "title": self.title,
            "what": self.reading.what,
            **values_of(message, "how_much", "significance"),
            "since": {"run": self.since_run, "at": iso_time(self.since_at)},
            "look": self.command,
            "quotes": [{"label": label, "text": text} for label, text in self.reading.quotes],
        }


@frozen
class Message:
    """Everything that is sent to one channel after one run."""

    suite: str
    run_id: str
    notices: tuple[Notice, ...]

    @property
    def subject(self) -> str:
        """One line that says it all: for the subject of a mail."""
        first = self.notices[0]
        rest = len(self.notices) - 1
        more = f" (and {rest} more)" if rest else ""
        return clipped(f"[steelyard] {self.suite}: {first.title}", _LONGEST_SUBJECT - len(more)) + more

    def text(self) -> str:
        """The message as plain text; what models said is set off by `> `."""
        return (
            "\n\n".join(_block(notice, self.suite) for notice in self.notices) + f"\n\n-- \nSteelyard {__version__}\n"
        )

    def as_data(self) -> dict[str, Any]:
        """The message as plain data."""
        return {
            "source": "steelyard",
            "version": __version__,
            "suite": self.suite,
            "run": self.run_id,
            "subject": self.subject,
            "alerts": [notice.as_data() for notice in self.notices],
        }


def _block(notice: Notice, suite: str) -> str:
    rows = [("Suite", one_line(suite, _LONGEST)), *notice.facts()]
    lines = [f"{label + ':':<10}{text}" for label, text in rows]
    for label, text in notice.quotes():
        lines += [f"{label}:", *(f"> {line}" for line in text.split("\n"))]
    return "\n".join(lines)


def redacted(reading: AlertReading, redact: Callable[[str], str]) -> AlertReading:
    """The reading with every secret redacted."""
    return replace(
        reading,
        what=redact(reading.what),
        how_much=redact(reading.how_much),
        significance=redact(reading.significance),
        quotes=tuple((redact(label), redact(text)) for label, text in reading.quotes),
    )


def loudest_first(notices: Sequence[Notice]) -> list[Notice]:
    """Errors, then warnings, then what is over."""
    order = [AlertLevel.ERROR.value, AlertLevel.WARNING.value, "notice"]
    return sorted(notices, key=lambda item: order.index(item.level))
