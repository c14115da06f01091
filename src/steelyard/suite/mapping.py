"""How rows of a file become cases: where each field comes from, and how its value is converted."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from typing import Any

from steelyard.errors import SuiteError
from steelyard.frozen import frozen
from steelyard.suite.paths import MISSING, Getter, compile_path, path_step, split_path
from steelyard.suite.readers import decode, split_list
from steelyard.suite.templates import compile_template
from steelyard.suite.units import convert, unit_factor
from steelyard.suite.yaml import result, shown, unknown_key

_TRUE = ("true", "yes", "1", "y")
_FALSE = ("false", "no", "0", "n")


def _as_number(value: Any) -> int | float:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return value
    text = str(value).strip()
    try:
        return int(text)
    except ValueError:
        try:
            return float(text)
        except ValueError:
            raise ValueError("is not a number") from None


def _as_integer(value: Any) -> int:
    number = _as_number(value)
    if not math.isfinite(number) or number != int(number):
        raise ValueError("is not a whole number")
    return int(number)


def _as_boolean(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    word = str(value).strip().casefold()
    if word in _TRUE or word in _FALSE:
        return word in _TRUE
    raise ValueError("is neither true nor false")


def _as_list(value: Any) -> list[Any]:
    if isinstance(value, str):
        return split_list(value)
    return value if isinstance(value, list) else [value]


def _json_text(value: Any) -> Any:
    return decode(value) if isinstance(value, str) else value


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


CONVERSIONS: dict[str, Callable[[Any], Any]] = {
    "number": _as_number,
    "integer": _as_integer,
    "list": _as_list,
    "json": _json_text,
    "boolean": _as_boolean,
    "text": _as_text,
}
"""What `as:` can turn a value into."""


FIELDS = ("id", "input", "expected", "category", "difficulty", "cluster", "tags", "attachments", "why", "pending")
"""The fields of a case, in the order documents list them."""

_LEAF = ("from", "default", "unit", "as")

AddProblem = Callable[[str, tuple[str | int, ...]], None]
"""Takes a sentence and the place in the mapping it speaks of."""
Rule = Callable[[Any], Any]


class Unmappable(ValueError):
    """A record's value does not fit the mapping; `field` is where in the record it was."""

    def __init__(self, message: str, field: str = "") -> None:
        super().__init__(message)
        self.field = field


@frozen
class Source:
    """A path that the mapping reads, to tell when no record has it."""

    path: str
    get: Getter
    spec: tuple[str | int, ...]


@frozen(eq=False)
class RowMapping:
    """A compiled mapping; `fields` of a record are what a case is built from.

    Without rules the record is in the shape of a case already.
    """

    rules: dict[str, Rule] = field(default_factory=dict)
    sources: list[Source] = field(default_factory=list)
    plain: bool = True
    """Whether records have the keys of a case, so that a key that is almost one is a slip."""
    spec: Mapping[str, Any] = field(default_factory=dict)

    def fields(self, record: dict[str, Any]) -> dict[str, Any]:
        """The case's fields that the record has; Unmappable when a value does not fit."""
        if not self.rules:
            return {name: record[name] for name in FIELDS if name in record}
        taken = {name: rule(record) for name, rule in self.rules.items()}
        return {name: value for name, value in taken.items() if value is not MISSING}

    def origin(self, path: str) -> tuple[str, Callable[[Any], Any]] | None:
        """Where in a record the value at a path of its case comes from, and from the case's value to the record's.

        None where it is made of a constant, a template, or a value that cannot be converted back.
        """
        node: Any = self.spec
        steps = list(split_path(path))
        if steps[:1] and steps[0] not in node:
            return path, _same
        while isinstance(node, Mapping) and "from" not in node and steps:
            if steps[0] not in node:
                if not isinstance(node.get("*"), str):
                    return None
                node = node["*"]
                break
            node = node[steps.pop(0)]
        back: Callable[[Any], Any] = _same
        if isinstance(node, Mapping):
            convertible = set(node) <= {"from", "default", "unit", "as"} and "from" in node
            if not convertible:
                return None
            if "unit" in node:
                size, other = unit_factor(str(node["unit"]))
                back = lambda value: value if value is None else convert(value, (other, size))  # noqa: E731
            node = node["from"]
        return (".".join([node, *map(path_step, steps)]), back) if isinstance(node, str) else None

    def keys(self, name: str) -> set[str]:
        """The keys of a record that a field of the case is made of; without templates."""
        return {split_path(path)[0] for path in _paths(self.spec.get(name, name))}


def _same(value: Any) -> Any:
    return value


def _paths(spec: Any) -> Iterator[str]:
    """The paths that a part of a mapping names."""
    if isinstance(spec, str):
        yield spec
    elif isinstance(spec, Mapping):
        inner = [spec["from"]] if "from" in spec else [] if {"constant", "template"} & set(spec) else spec.values()
        for part in inner:
            yield from _paths(part)


def compile_mapping(spec: dict[str, Any], report: AddProblem) -> RowMapping:
    """The mapping in `spec`; fields it leaves out come from the record's keys of the same name."""
    mapping = RowMapping({name: compile_path(name) for name in FIELDS}, plain=set(spec) <= {"cluster"}, spec=spec)
    for name, rule in spec.items():
        if name not in FIELDS:
            report(unknown_key(name, FIELDS), (name,))
            continue
        mapping.rules[name] = _compile(rule, (name,), mapping, report)
    return mapping


def _compile(spec: Any, place: tuple[str | int, ...], mapping: RowMapping, report: AddProblem) -> Rule:
    if isinstance(spec, str):
        return _path(spec, place, mapping, report)
    if not isinstance(spec, dict):
        report(f"expected a path, or from, constant or template; {result(spec)}", place)
        return lambda _: MISSING
    if set(spec) == {"constant"}:
        constant = spec["constant"]
        return lambda _: constant
    if set(spec) == {"template"}:
        return _template(spec["template"], place, report)
    if "from" in spec:
        return _leaf(spec, place, mapping, report)
    return _object(spec, place, mapping, report)


def _path(
    text: str, place: tuple[str | int, ...], mapping: RowMapping, report: AddProblem, *, needed: bool = True
) -> Getter:
    try:
        get = compile_path(text)
    except ValueError as error:
        report(str(error), place)
        return lambda _: MISSING
    if needed:
        mapping.sources.append(Source(text, get, place))
    return get


def _template(text: Any, place: tuple[str | int, ...], report: AddProblem) -> Rule:
    if not isinstance(text, str):
        report(f"a template is text; {result(text)}", place)
        return lambda _: MISSING
    try:
        template = compile_template(text, where="the mapping", names=None)
    except SuiteError as error:
        report(error.problems[0].message, (*place, "template"))
        return lambda _: MISSING

    def rule(record: Any) -> str:
        try:
            return template.fill(record if isinstance(record, dict) else {})
        except SuiteError as error:
            raise Unmappable(error.problems[0].message) from None

    return rule


def _leaf(spec: dict[str, Any], place: tuple[str | int, ...], mapping: RowMapping, report: AddProblem) -> Rule:
    for key in spec:
        if key not in _LEAF:
            report(unknown_key(key, _LEAF), (*place, key))
    path = spec["from"]
    if not isinstance(path, str):
        report(f"from names a path; {result(path)}", (*place, "from"))
        return lambda _: MISSING
    get = _path(path, (*place, "from"), mapping, report, needed="default" not in spec)
    default = spec.get("default", MISSING)
    steps = _steps(spec, place, report)

    def rule(record: Any) -> Any:
        value = get(record)
        if value is MISSING or value is None:
            return value if default is MISSING else default
        for step in steps:
            try:
                value = step(value)
            except (ValueError, RecursionError) as error:
                raise Unmappable(f"{path} {shown(value)} {error}", path.rpartition(".")[2]) from None
        return value

    return rule


def _steps(spec: dict[str, Any], place: tuple[str | int, ...], report: AddProblem) -> list[Rule]:
    """What is done to a value one after the other: first `as`, then `unit`."""
    steps: list[Rule] = []
    if "as" in spec:
        if isinstance(spec["as"], str) and spec["as"] in CONVERSIONS:
            steps.append(CONVERSIONS[spec["as"]])
        else:
            report(f"unknown conversion: {result(spec['as'])}; allowed: {', '.join(CONVERSIONS)}", (*place, "as"))
    if "unit" in spec:
        try:
            factor = unit_factor(str(spec["unit"]))
            steps.append(lambda value: convert(value, factor))
        except ValueError as error:
            report(str(error), (*place, "unit"))
    return steps


def _object(spec: dict[str, Any], place: tuple[str | int, ...], mapping: RowMapping, report: AddProblem) -> Rule:
    whole = spec.get("*")
    merge = _path(whole, (*place, "*"), mapping, report) if isinstance(whole, str) else None
    if "*" in spec and merge is None:
        report(f'"*" names the path of an object to copy; {result(whole)}', (*place, "*"))
    rules = {key: _compile(rule, (*place, key), mapping, report) for key, rule in spec.items() if key != "*"}

    def rule(record: Any) -> dict[str, Any]:
        base = merge(record) if merge else {}
        if base is MISSING or base is None:
            base = {}
        if not isinstance(base, dict):
            raise Unmappable(f"{whole} is to be copied key by key, but {result(base)}", str(whole).rpartition(".")[2])
        built = ((key, part(record)) for key, part in rules.items())
        return base | {key: value for key, value in built if value is not MISSING}

    return rule
