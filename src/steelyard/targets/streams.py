"""An answer that comes in parts: server-sent events, put together to the body that they are parts of."""

from __future__ import annotations

import codecs
import json
import time
from typing import Any

from steelyard.errors import TargetFailure
from steelyard.targets.completions import body_failure
from steelyard.targets.connection import excerpt_of
from steelyard.targets.protocols import ChatProtocol
from steelyard.targets.transport import Received, json_of

_FOR_COUNTS = 2.0
"""Seconds in which the counts of tokens, or more of the answer, may follow on the reason why it ended."""
_FOR_CLOSING = 0.25
"""Seconds in which the HTTP message of an answer that is over may end, so that its connection can be used again."""


class Stream:
    """Reads server-sent events as they come, and puts them together to the body that they are parts of.

    It ends with the answer, not with the connection, which some servers leave open: at the protocol's last event or,
    where that does not come, a short time after the reason why the answer ended. What comes after the end is no part of
    the answer.
    """

    def __init__(self, protocol: ChatProtocol) -> None:
        self._protocol = protocol
        self._rest = b""
        self._mark = codecs.BOM_UTF8
        """What may stand before the first line."""
        self._data: list[bytes] = []
        self._whole: dict[str, Any] = {}
        self._is_done = False
        self.first_token: float | None = None
        """When the first part of the answer came, by `time.perf_counter`."""
        self._ended: float | None = None
        """When the last part of an answer that has ended came."""

    def feed(self, part: bytes) -> tuple[int, float | None]:
        """Take in more. Gives how many of these bytes belong to the answer and, when they changed it and it has ended,
        how many seconds to wait for the end of the message; TargetFailure when it is not of this protocol."""
        if self._is_done:
            return 0, None
        *lines, self._rest = (self._rest + part).split(b"\n")
        ended = self._ended
        for number, line in enumerate(lines, 1):
            self._line(line.rstrip(b"\r"))
            if self._is_done:
                after = sum(len(one) + 1 for one in lines[number:]) + len(self._rest)
                self._rest = b""
                return len(part) - after, _FOR_CLOSING
        return len(part), None if self._ended == ended else _FOR_COUNTS

    def body(self, received: Received) -> Any:
        """All of it as one body; TargetFailure `cut` when the stream ended before the answer did."""
        for line in () if self._is_done else (self._rest, b""):
            self._line(line)
        if not self._whole and received.text.lstrip()[:1] == "{":  # a server that does not stream
            return json_of(received)
        if not (self._is_done or self._protocol.is_whole(self._whole)):
            raise body_failure("cut", "the stream ended before the answer was complete", received, retry=True)
        return self._whole

    def _line(self, line: bytes) -> None:
        line, self._mark = line.removeprefix(self._mark), b""
        if line.startswith(b"data:"):
            self._data.append(line[5:].strip())
        if self._data == [b"[DONE]"]:
            self._is_done, self._ended = True, time.perf_counter()
            return
        if line or not self._data:
            return
        data, self._data = b"\n".join(self._data), []
        try:
            brings = self._protocol.add(self._whole, json.loads(data))
            self._is_done, is_whole = self._protocol.is_over(self._whole), self._protocol.is_whole(self._whole)
        except (AttributeError, KeyError, RecursionError, TypeError, ValueError) as error:
            message = f"the stream has an event that is not of {self._protocol.kind}: {excerpt_of(repr(error))}"
            raise TargetFailure("bad_body", message, retry=False) from None
        now = time.perf_counter()
        if brings and self.first_token is None:
            self.first_token = now
        # A sign of life between events puts nothing off.
        if self._is_done or (is_whole and (brings or self._ended is None)):
            self._ended = now
