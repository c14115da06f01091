"""One record of a case file, as it stands there, with where it stands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from steelyard.errors import Mistake, SuiteError
from steelyard.suite.located import Located

Report = Callable[[Mistake], None]
"""Takes a mistake: collects it when a suite is checked, raises it when cases are read for a run."""


def refuse(mistake: Mistake) -> None:
    """A Report that stops at once."""
    raise SuiteError([mistake])


@dataclass(slots=True)
class Record:
    """Data of one case before mapping. `key` is its name where the file gives one (an object's key, a file's stem)."""

    data: Any
    file: str
    line: int | None = None
    key: str | None = None
    text: str | None = None
    """The record's own text in the file, to find the line of a field."""
    located: Located | None = None
    path: tuple[str | int, ...] = ()
    """Where in `located` it stands."""

    @property
    def place(self) -> str:
        """File and line for messages."""
        return self.file if self.line is None else f"{self.file}:{self.line}"

    def mistake(self, message: str, field: str = "") -> Mistake:
        """A mistake in this record, at the line of `field` when it can be found."""
        return Mistake(message, self.file, self.line_of([field] if field else []))

    def line_of(self, fields: Sequence[str]) -> int | None:
        """The line of the first of these field names that is in the record, or the record's own."""
        for field in fields:
            if self.located is not None:
                depth = len(self.path)
                for path, line in self.located.lines.items():
                    if len(path) > depth and path[-1] == field and path[:depth] == self.path:
                        return line
            elif self.text is not None and self.line is not None and (at := self.text.find(f'"{field}"')) >= 0:
                return self.line + self.text.count("\n", 0, at)
        return self.line
