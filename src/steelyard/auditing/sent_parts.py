"""Which parts of a case the target is sent."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel

from steelyard.suite.case import Case
from steelyard.suite.judge import MODELS
from steelyard.suite.models import SuiteModel, TargetSpec

_FILLED = ("http", "command", *MODELS)
"""Kinds of targets that send what their templates name; of all others no more is known than that they get the input."""
_HOLE = re.compile(r"\{\{.*?\}\}|\{%.*?%\}", re.DOTALL)
_NAMED = re.compile(r"(?<![\w.])(case|input)\b((?:\.\w+(?!\w*\s*\()|\[\s*['\"]?\w+['\"]?\s*\])*)")
_PATH = re.compile(r"[^\W\d]\w*(?:\.\w+)*")
_FIELDS = ("id", "category", "difficulty", "cluster", "why")


def sent_paths(suite: SuiteModel) -> tuple[str, ...]:
    """What the targets of a suite send, as paths such as `input.text` and `category`; "" is the whole case."""
    results: set[str] = set()
    for target in (suite.target, *suite.targets.values()):
        named = {*_named_by(target, suite)} if target.kind in _FILLED else set()
        # A model is sent the bytes of a picture; of all others it is not known that they do not see its name.
        results |= (named or {"input"}) | (set() if target.kind in MODELS else {"attachments"})
    return tuple(sorted(results))


def is_sent(path: str, sent: tuple[str, ...]) -> bool:
    """Whether the value at a path of the case is in what is sent."""
    plain = path.replace("[", ".").replace("]", "")
    return any(not item or plain == item or plain.startswith(f"{item}.") for item in sent)


def case_fields(case: Case) -> dict[str, list[str]]:
    """By path, what a case says of itself beside its question; of its id also the words that it is made of."""
    given = {name: [value] for name in _FIELDS if (value := getattr(case, name))}
    words = re.findall(r"[^\W\d_]+", case.id)
    return given | {"id": [case.id, "".join(words), *words]} | ({"tags": [*case.tags]} if case.tags else {})


def _named_by(target: TargetSpec, suite: SuiteModel) -> Iterator[str]:
    """The paths that the templates of a target and of the variants name."""
    settings = target.settings
    data = settings.model_dump(mode="json", by_alias=True) if isinstance(settings, BaseModel) else dict(settings)
    body = data.get("json")
    if isinstance(body, str) and _PATH.fullmatch(body):
        yield body
    if target.kind in MODELS and data.get("user") is None:
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
