"""Probes put where scorers look, and what is sent to the target."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

from pydantic import BaseModel

from steelyard.suite.case import Case
from steelyard.suite.judge import MODELS
from steelyard.suite.models import SuiteModel, TargetSpec

_DEEPEST = 8


def filled(schema: dict[str, Any] | None, text: str, *, required_only: bool = False) -> Any:
    """A value that fits `schema` as far as plain filling can, every free string being `text`, cut to fit.

    Where the schema allows several forms, the first is filled.
    """
    return _filled(resolved(schema), text, required_only=required_only, depth=0)


def completed(schema: dict[str, Any] | None, value: Any, text: str) -> Any:
    """The value with whatever else the schema asks for filled in as `filled` does; None becomes a whole answer."""
    if value is None:
        return filled(schema, text, required_only=True)
    return _completed(resolved(schema), value, text)


def _completed(schema: Any, value: Any, text: str) -> Any:
    schema = schema if isinstance(schema, dict) else {}
    if isinstance(value, dict):
        properties = schema.get("properties", {})
        missing = {name: properties.get(name) for name in schema.get("required", []) if name not in value}
        return {name: _completed(properties.get(name), inner, text) for name, inner in value.items()} | {
            name: _filled(part, text, required_only=True, depth=0) for name, part in missing.items()
        }
    if isinstance(value, list):
        items = schema.get("items")
        lacking = int(schema.get("minItems", 0)) - len(value) if value else 0
        more = [_filled(items if isinstance(items, dict) else {}, text, required_only=True, depth=0)] * lacking
        return [_completed(items, inner, text) for inner in value] + more
    return value


def schema_of(values: Sequence[Any], *, loose: bool = False, inside_list: bool = False) -> dict[str, Any]:
    """A schema of answers such as these: every key of theirs is asked for, except in elements of lists.

    `loose` lets a number that stands by itself be any text, since nothing forbids it.
    """
    objects, lists = ([value for value in values if isinstance(value, kind)] for kind in (dict, list))
    if objects:
        names = list(dict.fromkeys(name for item in objects for name in item))
        parts = {
            name: schema_of([item[name] for item in objects if name in item], loose=loose, inside_list=inside_list)
            for name in names
        }
        return {"type": "object", "properties": parts, "required": [] if inside_list else names}
    if lists:
        inner = [element for item in lists for element in item]
        numbers = bool(inner) and all(isinstance(element, (int, float)) for element in inner)
        least = len(lists[0]) if numbers else 1  # a box has four numbers, whatever they are
        return {"type": "array", "items": schema_of(inner, inside_list=True), "minItems": least}
    for kind, name in ((bool, "boolean"), ((int, float), "number")):
        if values and all(isinstance(value, kind) for value in values) and not (loose and not inside_list):
            return {"type": name}
    return {}


def resolved(schema: dict[str, Any] | None) -> Any:
    """The schema with its own references followed, each once, and the first of several forms taken."""
    return _resolved(schema, schema or {}, ())


def _resolved(schema: Any, root: dict[str, Any], following: tuple[str, ...]) -> Any:
    if not isinstance(schema, dict):
        return schema
    here = dict(schema)
    reference = str(here.pop("$ref", ""))
    if reference:
        here = _joined(here, {} if reference in following else _referred(reference, root))
        following = (*following, reference)
    for form in _forms(here):
        here = _joined(here, _resolved(form, root, following))
    if isinstance(here.get("properties"), dict):
        here["properties"] = {name: _resolved(part, root, following) for name, part in here["properties"].items()}
    if "items" in here:
        here["items"] = _resolved(here["items"], root, following)
    return here


def _joined(schema: dict[str, Any], more: Any) -> dict[str, Any]:
    if not isinstance(more, dict):
        return schema
    properties = {**more.get("properties", {}), **schema.get("properties", {})}
    required = [*more.get("required", []), *schema.get("required", [])]
    return {**more, **schema} | ({"properties": properties, "required": required} if properties else {})


def _forms(schema: dict[str, Any]) -> list[Any]:
    forms = list(schema.pop("allOf", []))
    return forms + [form for key in ("anyOf", "oneOf") for form in list(schema.pop(key, []))[:1]]


def _referred(reference: str, root: dict[str, Any]) -> Any:
    if not reference.startswith("#"):
        return None
    here: Any = root
    for step in reference[1:].strip("/").split("/"):
        here = here.get(step.replace("~1", "/").replace("~0", "~")) if isinstance(here, dict) else None
    return here


def _filled(schema: dict[str, Any] | None, text: str, *, required_only: bool, depth: int) -> Any:
    if not schema or depth > _DEEPEST:
        return text
    if "const" in schema:
        return schema["const"]
    if schema.get("enum"):
        return schema["enum"][0]
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = next((name for name in kind if name != "null"), "null")
    if kind == "object" or "properties" in schema:
        return _object(schema, text, required_only=required_only, depth=depth)
    if kind == "array":
        items = schema.get("items") if isinstance(schema.get("items"), dict) else {}
        item = _filled(items, text, required_only=required_only, depth=depth + 1)
        return [item] * max(1, schema.get("minItems", 1))
    if kind in ("integer", "number"):
        return _number(schema, whole=kind == "integer")
    if kind == "boolean":
        return True
    if kind == "null":
        return None
    return _text(schema, text)


def _text(schema: dict[str, Any], text: str) -> Any:
    if "pattern" in schema and (example := next(iter(schema.get("examples", [])), schema.get("default"))):
        return example
    text *= max(1, -(-schema.get("minLength", 0) // max(1, len(text))))
    return text[: schema.get("maxLength", len(text))]


def _object(schema: dict[str, Any], text: str, *, required_only: bool, depth: int) -> dict[str, Any]:
    properties = schema.get("properties", {})
    wanted = dict.fromkeys([*(() if required_only else properties), *schema.get("required", [])])
    return {name: _filled(properties.get(name), text, required_only=required_only, depth=depth + 1) for name in wanted}


def _number(schema: dict[str, Any], *, whole: bool) -> float:
    low = schema.get("minimum", schema.get("exclusiveMinimum"))
    number = 1 if low is None else max(1, low + 1)
    high = schema.get("maximum")
    number = number if high is None else min(number, high)
    return int(number) if whole else number


def nulls(schema: Any) -> Any:
    """Every field that the schema names, and every one of them null."""
    properties = schema.get("properties") if isinstance(schema, dict) else None
    return {name: nulls(part) for name, part in properties.items()} if properties else None


# Which parts of a case the target is sent, and what a text says in plain or in code.

_FILLED = ("http", "command", *MODELS)
"""Kinds of targets that send what their templates name; of all others no more is known than that they get the input."""
_HOLE = re.compile(r"\{\{.*?\}\}|\{%.*?%\}", re.DOTALL)
_NAMED = re.compile(r"(?<![\w.])(case|input)\b((?:\.\w+(?!\w*\s*\()|\[\s*['\"]?\w+['\"]?\s*\])*)")
_PATH = re.compile(r"[^\W\d]\w*(?:\.\w+)*")
_FIELDS = ("id", "category", "difficulty", "cluster", "why")
_FEWEST_LETTERS = 3


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
    results = {key(decoded) for word in words for decoded in _decoded(word)}
    return {item for item in results if len(item) >= _FEWEST_LETTERS}


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
