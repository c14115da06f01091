"""Takes secrets out of every text that comes from outside, however they are spelled there."""

from __future__ import annotations

import base64
import html
import re
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache, cached_property, partial
from typing import Any

REDACTED = "[redacted]"
SHORTEST = 8
"""A shorter value (`x`, `EMPTY`, `ollama`) is a placeholder for a key: redacting it would falsify answers."""
_MOST_LAYERS = 4
"""How often a text may have been escaped over again."""
_IN_ADDRESS = re.compile(r"%(?:25)*([2-7][0-9a-f])")
_ESCAPED = re.compile(r"(?:u00|x|%(?:25)*)([2-7][0-9a-f])")
_TOO_SHORT_TO_ENCODE = 6
"""Bytes below which base64 or hex is a few letters that stand in any text."""
_SECRET_NAME = re.compile(
    r"auth(?!or(?!i))|api[-_]?key|access[-_]?key|subscription[-_]?key|token(?!i[sz]e)|cookie|secret|passw|credential"
    r"|signature|^key$|[-_]key$",
    re.I,
)


class SecretRedactor:
    """Replaces every secret in a text, in any letter case and in each spelling that a later decoding would undo.

    A secret is found letter by letter, each as it is or escaped for JSON (`\\u002B`, `\\/`, also twice), for an address
    (`%2B`, `%252B`) or for HTML, and as a whole in hex or base64, also as a part of what was encoded (`user:key`).
    """

    def __init__(self, secrets: Iterable[str], shortest: int = SHORTEST) -> None:
        spellings = dict(pair for secret in secrets if len(secret) >= shortest for pair in _spellings(secret))
        # Longest first, so that a secret inside a longer one leaves no rest behind.
        longest_first = sorted(spellings.items(), key=lambda pair: len(pair[0]), reverse=True)
        # A pattern is long: it is made when a text needs it.
        self._patterns = [(_folded(spelling), cache(pattern)) for spelling, pattern in longest_first]

    def __call__(self, text: str) -> str:
        if not self._patterns:
            return text
        # The patterns are slow, and almost no text holds a secret: they are for texts that do when all is decoded.
        folded = _folded(text)
        for spelling, pattern in self._patterns:
            if spelling in folded or not spelling.isascii():
                text = re.sub(pattern(), REDACTED, text)
        return text


class _Available:
    """All secrets that this process has learned of."""

    secrets: frozenset[str] = frozenset()
    redact = SecretRedactor(())


def learn_secrets(secrets: Iterable[str]) -> None:
    """From here on `redact_known` takes these out."""
    if new := frozenset(secrets) - _Available.secrets:
        _Available.secrets |= new
        _Available.redact = SecretRedactor(_Available.secrets)


def redact_known(text: str) -> str:
    """A text from outside without any secret that this process has learned of; to be used before it is cut short."""
    return _Available.redact(text)


def _begun_secret(text: str) -> int:
    """How many characters at the end of a text may be the beginning of a known secret, in any letter case."""
    longest = max((len(secret) for secret in _Available.secrets), default=0)
    end = text[-longest:].casefold() if longest else ""
    for start in range(len(end)):
        if any(secret.casefold().startswith(end[start:]) for secret in _Available.secrets if len(secret) >= SHORTEST):
            return len(end) - start
    return 0


class RedactedStream:
    """A text stream without secrets: what code of a suite prints is shown, and kept in logs.

    What may be the beginning of a secret waits for what is written next, so that no secret gets out piece by piece.
    """

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._begun = ""
        self._guard = threading.Lock()

    def write(self, text: str) -> int:
        """Write it, with every known secret taken out."""
        with self._guard:
            whole = redact_known(self._begun + text)
            end = len(whole) - _begun_secret(whole)
            self._begun = whole[end:]
            self._stream.write(whole[:end])
        return len(text)

    def write_begun(self) -> None:
        """Write what has waited: nothing follows."""
        with self._guard:
            begun, self._begun = self._begun, ""
            if begun:
                self._stream.write(begun)

    @cached_property
    def buffer(self) -> Any:
        """The bytes below, likewise without secrets."""
        return _RedactedBytes(self._stream.buffer)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write them, likewise."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class _RedactedBytes:
    """A stream of bytes without secrets. Each byte is a character meanwhile, so that any bytes come out unchanged."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._texts = RedactedStream(self)
        self._write = stream.write

    def write(self, data: Any) -> int:
        """Write them, with every known secret taken out."""
        if isinstance(data, str):  # on its way back
            return int(self._write(data.encode("latin-1")))
        self._texts.write(bytes(data).decode("latin-1"))
        return len(data)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def redacted_output() -> Iterator[None]:
    """What is printed in this process meanwhile is without secrets, whoever prints it."""
    before = sys.stdout, sys.stderr
    streams = [item if isinstance(item, RedactedStream) else RedactedStream(item) for item in before]
    sys.stdout, sys.stderr = streams
    try:
        yield
    finally:
        for stream, earlier in zip(streams, before, strict=True):
            if stream is not earlier:
                stream.write_begun()
        # What code of a suite has put in their place is left there.
        sys.stdout = before[0] if sys.stdout is streams[0] else sys.stdout
        sys.stderr = before[1] if sys.stderr is streams[1] else sys.stderr


def looks_secret(name: str) -> bool:
    """True for names of headers, parameters and variables that usually hold a secret."""
    return _SECRET_NAME.search(name) is not None


def secrets_in(env: Mapping[str, str]) -> list[str]:
    """The values of the variables whose names look like a secret's: code in this process sees them all."""
    return [value.strip() for name, value in env.items() if looks_secret(name)]


def _folded(text: str) -> str:
    """The text in small letters with every escape of an ASCII letter undone, and without backslashes."""
    folded, escapes = text.lower(), "\\" in text
    for _ in range(_MOST_LAYERS if escapes or "%" in text or "&" in text else 0):
        before = folded
        folded = html.unescape(folded).lower().replace("\\", "")
        folded = (_ESCAPED if escapes else _IN_ADDRESS).sub(lambda match: chr(int(match[1], 16)), folded)
        if folded == before:
            break
    return folded


def _spellings(secret: str) -> Iterator[tuple[str, Callable[[], str]]]:
    """All ways in which the secret may stand in a text, each with what makes its pattern."""
    yield secret, lambda: "".join(_letter(item, any_case=len(secret) >= SHORTEST) for item in secret)
    raw = secret.encode("utf-8", "surrogatepass")
    if len(raw) < _TOO_SHORT_TO_ENCODE:
        return
    yield raw.hex(), partial(_hex_digits, raw.hex())
    for encode in (base64.standard_b64encode, base64.urlsafe_b64encode):
        for part in _encoded(raw, encode):
            yield part, partial(_in_base64, part)


def _in_base64(part: str) -> str:
    return "".join(_letter(item) for item in part) + r"[\w+/-]{0,2}={0,2}"


def _encoded(raw: bytes, encode: Callable[[bytes], bytes]) -> list[str]:
    """What base64 of anything around the secret holds: it begins at the first, second or third byte of a group."""
    parts = []
    for before in range(3):
        text = encode(bytes(before) + raw).decode()
        # A letter is 6 bits: the first may hold bits of what is before, the last of what is behind.
        parts.append(text[-(-before * 8 // 6) : (before + len(raw)) * 8 // 6])
    return parts


def _letter(letter: str, *, any_case: bool = False) -> str:
    """A pattern for one letter: as it is, or escaped once or more. Every repetition is bounded, so that it is fast."""
    letters = {letter, letter.lower(), letter.upper()} if any_case else {letter}
    return f"(?:{'|'.join(sorted({form for letter in letters for form in _forms(letter)}))})"


def _forms(letter: str) -> Iterable[str]:
    yield re.escape(letter)
    slashes = r"\\(?:u005[cC]|\\){0,7}"
    if not letter.isalnum():
        yield slashes + ("" if letter == "\\" else re.escape(letter))
    units = letter.encode("utf-16-be", "surrogatepass")
    yield "".join(f"{slashes}u{_hex(units[at : at + 2])}" for at in range(0, len(units), 2))
    raw = letter.encode("utf-8", "surrogatepass")
    yield "".join(f"%(?:25){{0,4}}{_hex(bytes([byte]))}" for byte in raw)
    if len(raw) == 1:
        yield f"{slashes}x{_hex(raw)}"
    for code in map(ord, letter):
        yield f"&#(?:[xX]0{{0,6}}{_hex_digits(f'{code:x}')}|0{{0,6}}{code});"
    if (escaped := html.escape(letter)) != letter:
        yield re.escape(escaped)


def _hex(raw: bytes) -> str:
    return _hex_digits(raw.hex())


def _hex_digits(digits: str) -> str:
    return "".join(f"[{digit}{digit.upper()}]" if digit.isalpha() else digit for digit in digits)
