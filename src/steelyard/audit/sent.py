"""Which parts of a case the target is sent, and what a text says in plain or in code."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from pydantic import BaseModel

from steelyard.suite.case import Case
from steelyard.suite.models import SuiteModel, TargetSpec

_FILLED = ("http", "chat", "command")
"""Kinds of targets that send what their templates name; of all others no more is known than that they get the input."""
_HOLE = re.compile(r"\{\{.*?\}\}|\{%.*?%\}", re.DOTALL)
_NAMED = re.compile(r"(?<![\w.])(case|input)\b((?:\.\w+(?!\w*\s*\()|\[\s*['\"]?\w+['\"]?\s*\])*)")
_PATH = re.compile(r"[^\W\d]\w*(?:\.\w+)*")
_FIELDS = ("id", "category", "difficulty", "cluster", "why")
_FEWEST_LETTERS = 3


def sent_paths(suite: SuiteModel) -> tuple[str, ...]:
    """What the targets of a suite send, as paths such as `input.text` and `category`; "" is the whole case."""
    found: set[str] = set()
    for target in (suite.target, *suite.targets.values()):
        named = {*_named_by(target, suite)} if target.kind in _FILLED else set()
        found |= named or {"input"}
    return tuple(sorted(found))


def is_sent(path: str, sent: tuple[str, ...]) -> bool:
    """Whether the value at a path of the case is in what is sent."""
    plain = path.replace("[", ".").replace("]", "")
    return any(not one or plain == one or plain.startswith(f"{one}.") for one in sent)


def case_fields(case: Case) -> dict[str, list[str]]:
    """By path, what a case says of itself beside its question; of its id also the words that it is made of."""
    given = {name: [value] for name in _FIELDS if (value := getattr(case, name))}
    words = re.findall(r"[^\W\d_]+", case.id)
    return given | {"id": [case.id, "".join(words), *words]} | ({"tags": [*case.tags]} if case.tags else {})


def key(value: Any) -> Any:
    """A text without letter case, spaces and signs; any other value as it is."""
    if not isinstance(value, str):
        return value
    return "".join(filter(str.isalnum, value.casefold())) or value.strip()


def read_forms(value: Any) -> set[Any]:
    """What a value says: as it stands, backwards, and out of base64 and hexadecimal digits."""
    if not isinstance(value, str):
        return {value}
    plain = key(value)
    backwards = {plain[::-1]} if len(plain) >= _FEWEST_LETTERS else set()
    return {plain} | backwards | {key(text) for text in _decoded(value)}


@lru_cache(maxsize=64)
def decoded_words(text: str) -> set[str]:
    """What the words of a text say that are base64 or hexadecimal digits."""
    words = (word.strip("\"'`()[]{}<>.,;:!?") for word in text.split())
    found = {key(decoded) for word in words for decoded in _decoded(word)}
    return {each for each in found if len(each) >= _FEWEST_LETTERS}


def _decoded(text: str) -> Iterator[str]:
    packed = "".join(text.split())
    if re.fullmatch(r"(?:0x)?(?:[0-9a-fA-F]{2})+", packed):
        yield from _as_text(bytes.fromhex(packed.removeprefix("0x")))
    if len(packed) > 1 and re.fullmatch(r"[\w+/-]+={0,2}", packed, re.ASCII):
        bare = packed.rstrip("=").translate(str.maketrans("-_", "+/"))
        try:
            yield from _as_text(base64.b64decode(bare + "=" * (-len(bare) % 4)))
        except binascii.Error:
            return


def _as_text(raw: bytes) -> Iterator[str]:
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        return
    if text.isprintable() and text:
        yield text


def _named_by(target: TargetSpec, suite: SuiteModel) -> Iterator[str]:
    """The paths that the templates of a target and of the variants name."""
    settings = target.settings
    data = settings.model_dump(mode="json", by_alias=True) if isinstance(settings, BaseModel) else dict(settings)
    body = data.get("json")
    if isinstance(body, str) and _PATH.fullmatch(body):
        yield body
    if target.kind == "chat" and data.get("user") is None:
        yield "input"
    for text in _texts([data, *(variant.values for variant in suite.variants), *suite.prompts.values()]):
        for hole in _HOLE.findall(text):
            for root, rest in _NAMED.findall(hole):
                path = re.sub(r"[\[\]'\"\s]+", ".", rest).strip(".").replace("..", ".")
                yield path if root == "case" else f"input.{path}".strip(".")


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list | tuple):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _texts(inner)
