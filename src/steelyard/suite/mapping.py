"""Templates, and how rows of a file become cases."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from decimal import Decimal, InvalidOperation
from functools import cache
from typing import TYPE_CHECKING, Any

from steelyard.errors import Problem, SuiteError
from steelyard.frozen import frozen
from steelyard.suite.case import MISSING, Case, Getter, compile_path, path_step, split_path
from steelyard.suite.models import Variant
from steelyard.suite.readers import decode, split_list
from steelyard.suite.yaml import listed, meant, result, shown, unknown_key

if TYPE_CHECKING:
    from jinja2 import nodes
    from jinja2.runtime import Context
    from jinja2.sandbox import ImmutableSandboxedEnvironment


# Texts with holes, filled from a case: sandboxed Jinja in which an unknown name is an error, never an empty string.


# Jinja is imported when it is needed: most suites have no holes, or such as `{{ input.text }}`, which targets fill.

_TRUTH_SHOWN = "the template would show the truth to the system under test"
_NOT_FENCED = "the filter fenced is for the templates of a judge"
FENCE = "fence"
"""The name under which `fill` is given the function behind the filter `fenced`."""
NAMES = ("case", "input", "variant", "repeat")
"""Names that a template of a prompt, body or argument may use."""
JUDGE_NAMES = ("case", "input", "expected", "text", "metrics", "rubric", "shortened", "to_answer")
"""Names that a template of a judge may use."""
SHOWN_NAMES = ("part",)
"""Names that a template of how something is shown to a judge may use."""
_HOLE = re.compile(r"\{\{ *([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*) *\}\}", re.ASCII)


def _as_json(value: Any, indent: int | None = None) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent)


def _fenced(context: Context, value: Any) -> str:
    """The value between the marks of this one call, by the function that whoever fills the template brings along."""
    fence = context.get(FENCE)
    if not callable(fence):
        raise ValueError(_NOT_FENCED)
    return str(fence(value))


def _null_is_nothing(value: Any) -> Any:
    return "" if value is None else value


@cache
def _environment() -> ImmutableSandboxedEnvironment:
    from jinja2 import StrictUndefined, pass_context
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    # Prompts and request bodies are not HTML: escaping would change what the model is asked.
    environment = ImmutableSandboxedEnvironment(
        undefined=StrictUndefined, autoescape=False, keep_trailing_newline=True, finalize=_null_is_nothing
    )
    environment.filters["json"] = environment.filters["tojson"] = _as_json
    environment.filters["fenced"] = pass_context(_fenced)
    # A template must give the same text each time, and `range(10**9)` must not hang a run.
    for name in ("lipsum", "cycler", "joiner"):
        environment.globals.pop(name, None)
    environment.filters.pop("random", None)
    return environment


class Template:
    """A compiled text; `render` fills it for one call, `fill` from any names."""

    __slots__ = ("_template", "text", "where")

    def __init__(self, text: str, where: str, names: tuple[str, ...] | None) -> None:
        self.text = text
        self.where = where
        self._template: Any = None
        if _needs_no_check(text, names):
            return
        from jinja2 import TemplateError, TemplateSyntaxError, meta

        try:
            tree = _environment().parse(text)
            unknown = meta.find_undeclared_variables(tree) - set(_environment().globals)
            if names is not None and (unknown := unknown - set(names)):
                raise SuiteError([_unknown_name(sorted(unknown)[0], names, text, where)])
            if names is not None and "expected" not in names and (line := _line_of_truth(tree)):
                raise SuiteError([Problem(_TRUTH_SHOWN, *_place(where, line))])
            if "text" not in (names or ()) and (line := _line_of_fence(tree)):
                raise SuiteError([Problem(_NOT_FENCED, *_place(where, line))])
            self._template = _environment().from_string(text)
        except TemplateSyntaxError as error:
            message = f"the template does not compile: {error.message}"
            raise SuiteError([Problem(message, *_place(where, error.lineno))]) from None
        except (TemplateError, RecursionError, ValueError, TypeError) as error:
            raise SuiteError([Problem(f"the template does not compile: {error}", *_place(where, None))]) from None

    def render(self, case: Case, variant: Variant | Mapping[str, Any], repeat: int = 0) -> str:
        """The text for one call; SuiteError naming the file and the case when a name in it is not there."""
        values = variant.values if isinstance(variant, Variant) else variant
        try:
            return self.fill({"case": case, "input": case.input, "variant": values, "repeat": repeat})
        except SuiteError as error:
            messages = [Problem(f"{m.message} (case {case.id})", m.file, m.line) for m in error.problems]
            raise SuiteError(messages) from None

    def fill(self, names: Mapping[str, Any]) -> str:
        """The text with these names; SuiteError when one in it is not there or cannot be used so."""
        try:
            self._template = self._template or _environment().from_string(self.text)
            return str(self._template.render(names))
        except Exception as error:  # noqa: BLE001 - a template computes freely; whatever breaks is a mistake in it
            raise SuiteError([Problem(_broken(error), self.where)]) from None


def _needs_no_check(text: str, names: tuple[str, ...] | None) -> bool:
    """Whether all holes are plain paths from names that may be used: Jinja would find nothing wrong with that."""
    parts = _HOLE.split(text)
    if any(part.endswith("{") or any(mark in part for mark in ("{{", "{%", "{#")) for part in parts[::2]):
        return False
    steps = [path.split(".") for path in parts[1::2]]
    return names is not None and all(first in names and rest[:1] != ["expected"] for first, *rest in steps)


def _broken(error: Exception) -> str:
    """Why a template could not be filled."""
    from jinja2.exceptions import SecurityError, UndefinedError

    if isinstance(error, SecurityError):
        return f"the template does something that is not allowed: {error}"
    message = error.message if isinstance(error, UndefinedError) else error
    return f"the template cannot be filled: {message or type(error).__name__}"


def compile_template(text: str, *, where: str, names: tuple[str, ...] | None = NAMES) -> Template:
    """The text as a Template; SuiteError naming `where` when it does not compile or speaks of unknown names.

    `names` are the names it may use (None: any).
    """
    return Template(text, where, names)


def _line_of_truth(tree: nodes.Template) -> int | None:
    """Where the template speaks of `case.expected`, which is never filled."""
    from jinja2 import nodes

    named: list[tuple[nodes.Node, nodes.Node, Any]] = [
        (node, node.node, node.attr) for node in tree.find_all(nodes.Getattr)
    ]
    named += [(node, node.node, getattr(node.arg, "value", None)) for node in tree.find_all(nodes.Getitem)]
    for node, owner, key in named:
        if key == "expected" and isinstance(owner, nodes.Name) and owner.name == "case":
            return node.lineno
    return None


def _line_of_fence(tree: nodes.Template) -> int | None:
    from jinja2 import nodes

    return next((result.lineno for result in tree.find_all(nodes.Filter) if result.name == "fenced"), None)


def _unknown_name(name: str, names: tuple[str, ...], text: str, where: str) -> Problem:
    line = next((at for at, row in enumerate(text.splitlines(), 1) if name in row), None)
    allowed = ", ".join(sorted(names))
    return Problem(f"the template uses {name!r}, which does not exist; there are: {allowed}", *_place(where, line))


def _place(where: str, line: int | None) -> tuple[str, int | None]:
    """File and line of a mistake; a `where` that already ends in a line keeps its own."""
    head, _, tail = where.rpartition(":")
    if head and tail.isdigit():
        return head, int(tail)
    return where, line


_QUANTITIES: tuple[dict[str, str], ...] = (
    {"dollars": "1", "cents": "0.01"},
    {"euros": "1", "cents": "0.01"},
    {"pounds": "1", "pence": "0.01"},
    {
        "seconds": "1",
        "s": "1",
        "milliseconds": "0.001",
        "ms": "0.001",
        "minutes": "60",
        "hours": "3600",
        "days": "86400",
    },
    {"fraction": "1", "percent": "0.01"},
    {"units": "1", "thousands": "1000", "millions": "1000000", "billions": "1000000000"},
    {"m": "1", "cm": "0.01", "mm": "0.001", "km": "1000", "inches": "0.0254", "feet": "0.3048"},
    {"kg": "1", "g": "0.001", "mg": "0.000001"},
    {"bytes": "1", "kb": "1000", "mb": "1000000", "gb": "1000000000"},
)
"""Units that can be changed into one another, with their size."""

UNITS = tuple(dict.fromkeys(unit for sizes in _QUANTITIES for unit in sizes))
_MOST_DIGITS = 400


def unit_factor(text: str) -> tuple[Decimal, Decimal]:
    """What `dollars to cents` multiplies and divides by; ValueError with a sentence when it is no change of unit."""
    parts = text.lower().split()
    if len(parts) != 3 or parts[1] != "to":
        raise ValueError(f"{text!r} is not a change of unit: write it like dollars to cents")
    have, want = parts[0], parts[2]
    for sizes in _QUANTITIES:
        if have in sizes and want in sizes:
            return Decimal(sizes[have]), Decimal(sizes[want])
    for unit in (have, want):
        if unit not in UNITS:
            raise ValueError(f"unknown unit {unit!r}{meant(unit, UNITS) or '; there are: ' + listed(UNITS)}")
    raise ValueError(f"{have} cannot be changed to {want}")


def convert(value: Any, factor: tuple[Decimal, Decimal]) -> int | float:
    """The number in the other unit, an int when it is whole; ValueError when it is not a number."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise ValueError("is not a number")
    try:
        number = Decimal(str(value).strip())
        if not number.is_finite() or abs(number.adjusted()) > _MOST_DIGITS:
            raise ValueError("is not a number")
        result = number * factor[0] / factor[1]
    except (InvalidOperation, ValueError):
        raise ValueError("is not a number") from None
    return int(result) if result == result.to_integral_value() else float(result)


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
