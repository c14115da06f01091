"""Makes what commands print harmless, in one place: it quotes answers, and a terminal or CI log obeys some of them."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import sys
from collections.abc import Iterator
from typing import TextIO

from steelyard.report.format import spelled_out
from steelyard.report.render.github import harmless_log

_NO_READER = (errno.EPIPE, errno.EBADF, errno.EIO)
"""Errors of a pipe, file or terminal that cannot be written to any more, or never could."""


class Output(io.TextIOBase):
    """A stream in front of another, whose reader may leave. `unguarded` is that other one."""

    def __init__(self, stream: TextIO) -> None:
        self.unguarded = stream

    def write(self, text: str) -> int:
        with self._reader_may_leave():
            self.unguarded.write(text)
        return len(text)

    def flush(self) -> None:
        with self._reader_may_leave():
            self.unguarded.flush()

    @contextlib.contextmanager
    def _reader_may_leave(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            # What is said on the way is no result: without room for it, the command goes on.
            if error.errno not in _NO_READER and self.unguarded.fileno() != 2:
                raise
            os.dup2(os.open(os.devnull, os.O_WRONLY), self.unguarded.fileno())

    def isatty(self) -> bool:
        return self.unguarded.isatty()

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self.unguarded.fileno()

    @property
    def encoding(self) -> str:  # type: ignore[override] # the base class has a variable
        return self.unguarded.encoding

    @property
    def errors(self) -> str | None:  # type: ignore[override]
        return self.unguarded.errors


class SafeOutput(Output):
    """The same of what is not a terminal; what is written is made harmless."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__(stream)
        self._line = ""
        """The part of the line being written that decides what may follow."""
        # Whoever wants colours in a log gets them: what is foreign was spelled out before it was coloured.
        self._keep = "\n\t\x1b" if os.environ.get("FORCE_COLOR") else "\n\t"

    def write(self, text: str) -> int:
        before = harmless_log(self._line)
        whole = self._line + spelled_out(text, keep=self._keep)
        with self._reader_may_leave():
            self.unguarded.write(harmless_log(whole)[len(before) :])
        line = whole.rpartition("\n")[2]
        self._line = line if line.strip() in ("", ":") else "." + line[-2:]
        return len(text)


@contextlib.contextmanager
def safe_output() -> Iterator[None]:
    """Everything that is printed meanwhile is harmless. A terminal gets it as it is: reports are safe for it."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = ((Output if stream.isatty() else SafeOutput)(stream) for stream in before)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


def workflow_command(line: str) -> None:
    """A command to the runner of a CI job. It reads standard error too; standard output stays the report's."""
    print(line, file=getattr(sys.stderr, "unguarded", sys.stderr), flush=True)
