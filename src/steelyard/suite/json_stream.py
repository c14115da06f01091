"""JSON documents of any length, one element at a time, each with its line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, TextIO

_CHUNK = 1 << 16
_NEAR_END = 16
"""An error this close to the end of what was read may only mean that the rest is not there yet."""


class BrokenJson(ValueError):
    """Not JSON: `line` says where."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.line = line


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON: leave the value out or write null")


def _no_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    data = dict(pairs)
    if len(data) != len(pairs):
        names = [name for name, _ in pairs]
        twin = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {twin!r} is given twice in one object")
    return data


DECODER = json.JSONDecoder(parse_constant=_no_constant, object_pairs_hook=_no_twins)
"""Strict: no NaN or Infinity, no key twice."""


def decode(text: str) -> Any:
    """The one value in `text`; ValueError with a sentence otherwise."""
    try:
        return DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise BrokenJson(f"not readable as JSON: {error.msg} at character {error.colno}", error.lineno) from None
    except RecursionError:
        raise ValueError("nested too deeply") from None


class JsonCursor:
    """A place in a JSON text that is read piece by piece; memory is bounded by the largest single value taken."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._buffer = ""
        self._at = 0
        self._ended = False
        self.line = 1

    def peek(self) -> str:
        """The next character that is not white space, "" at the end."""
        while True:
            buffer, at = self._buffer, self._at
            while at < len(buffer) and buffer[at] in " \t\r\n":
                at += 1
            self._move(at)
            if at < len(buffer):
                return buffer[at]
            if not self._more():
                return ""

    def take(self, sign: str) -> None:
        """Go past one sign, which must be there."""
        found = self.peek()
        if found != sign:
            raise BrokenJson(
                f"not readable as JSON: expected {sign!r}, found {found or 'the end of the file'!r}", self.line
            )
        self._at += 1

    def value(self) -> tuple[Any, int, str]:
        """The next value, the line it starts on and its own text."""
        if not self.peek():
            raise BrokenJson("not readable as JSON: the file ends in the middle", self.line)
        while True:
            try:
                data, end = DECODER.raw_decode(self._buffer, self._at)
            except json.JSONDecodeError as error:
                cut = error.msg.startswith("Unterminated") or error.pos >= len(self._buffer) - _NEAR_END
                if cut and self._more():
                    continue
                line = self.line + self._buffer.count("\n", self._at, error.pos)
                raise BrokenJson(f"not readable as JSON: {error.msg}", line) from None
            except RecursionError:
                raise BrokenJson("nested too deeply", self.line) from None
            except ValueError as error:
                raise BrokenJson(str(error), self.line) from None
            # A number that touches the end of the buffer may go on behind it.
            if end == len(self._buffer) and self._more():
                continue
            line, text = self.line, self._buffer[self._at : end]
            self._move(end)
            return data, line, text

    def elements(self) -> Iterator[tuple[Any, int, str]]:
        """Each element of the array that starts here."""
        self.take("[")
        if self.peek() == "]":
            self.take("]")
            return
        while True:
            yield self.value()
            if self.peek() != ",":
                break
            self.take(",")
        self.take("]")

    def members(self) -> Iterator[str]:
        """Each key of the object that starts here; the caller takes its value before going on."""
        self.take("{")
        if self.peek() == "}":
            self.take("}")
            return
        while True:
            if self.peek() != '"':
                self.take('"')
            key, _, _ = self.value()
            self.take(":")
            yield str(key)
            if self.peek() != ",":
                break
            self.take(",")
        self.take("}")

    def end(self) -> None:
        """Nothing but white space may follow."""
        if found := self.peek():
            raise BrokenJson(f"not readable as JSON: {found!r} after the end of the document", self.line)

    def _move(self, at: int) -> None:
        self.line += self._buffer.count("\n", self._at, at)
        self._at = at

    def _more(self) -> bool:
        if self._ended:
            return False
        # Reading as much again as is waiting keeps long values linear in time.
        waiting = self._buffer[self._at :]
        chunk = self._stream.read(max(_CHUNK, len(waiting)))
        self._buffer, self._at = waiting + chunk, 0
        self._ended = not chunk
        return bool(chunk)
