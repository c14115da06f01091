"""YAML that knows its lines, and what is wrong with a file as sentences with places and \"did you mean\"."""

from __future__ import annotations

import json
import re
import types
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field
from typing import Any, Union, get_args, get_origin

import yaml
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails
from yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from steelyard.errors import Problem, SuiteError
from steelyard.frozen import frozen, slotted

_MOST_NAMES = 25
_MOST_CHARACTERS = 60
_KINDS: tuple[tuple[Any, str], ...] = (
    (type(None), "empty"),
    (bool, "true/false"),
    (int | float, "a number"),
    (str, "text"),
    (list | tuple, "a list"),
    (dict, "a group of keys"),
)


def meant(word: str, allowed: Iterable[str]) -> str:
    """ ": did you mean X?" when an allowed word is close, "" otherwise."""
    from difflib import get_close_matches  # only a wrong word needs it

    choices = sorted(set(allowed))
    close = get_close_matches(word, choices, n=1, cutoff=0.6)
    if not close:
        folded = {choice.casefold(): choice for choice in choices}
        close = [folded[word.casefold()]] if word.casefold() in folded else []
    return f": did you mean {close[0]}?" if close else ""


def listed(names: Iterable[str], most: int = _MOST_NAMES) -> str:
    """The names joined by commas, cut when there are very many."""
    rows = list(names)
    more = len(rows) - most
    return ", ".join(rows[:most]) + (f" and {more} more" if more > 0 else "")


def meant_or_listed(word: str, allowed: Iterable[str]) -> str:
    """The close word as `meant` has it, or all that are allowed: "; there are: a, b"."""
    choices = list(allowed)
    return meant(word, choices) or f"; there are: {listed(choices)}"


def unknown_key(word: str, allowed: Iterable[str]) -> str:
    """The sentence for a name that is not one of those allowed, with a hint or the whole list."""
    choices = list(allowed)
    hint = meant(word, choices)
    return f"unknown key {word!r}{hint}" + ("" if hint else f"; allowed here: {listed(choices)}")


def shown(value: Any) -> str:
    """A value as it looked in the file, short enough for one line."""
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        text = repr(value)
    # Half a surrogate pair cannot be printed, but can be named.
    text = text.encode(errors="backslashreplace").decode()
    return text if len(text) <= _MOST_CHARACTERS else text[: _MOST_CHARACTERS - 3] + "..."


def kind_of(value: Any) -> str:
    """What a value is, in a reader's words."""
    return next((words for kind, words in _KINDS if isinstance(value, kind)), type(value).__name__)


def result(value: Any) -> str:
    """ "found 3 (a number)": what stood there."""
    return "found nothing" if value is None else f"found {shown(value)} ({kind_of(value)})"


Place = tuple[str | int, ...]

_SPARE_NODES = 100_000
_MOST_DEPTH = 100
_STR = "tag:yaml.org,2002:str"
_TOO_MUCH = "nested too deeply, or aliases (&, *) that repeat themselves"
_PLAIN_TAGS = {f"tag:yaml.org,2002:{name}" for name in ("str", "int", "float", "bool", "null", "seq", "map")}

# The scalars of YAML 1.2's core schema, so `no`, `on` and dates stay text; numbers with leading zeros are codes
# or ids more often than numbers, and stay text too.
_INT = re.compile(r"[-+]?(0|[1-9][0-9]*)|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(
    r"[-+]?(\.[0-9]+|(0|[1-9][0-9]*)(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)"
)
_UNQUOTED_PATH = re.compile(r"(?:[:,]\s+|[\[{]\s*)(\w[\w.]*\[\][\w.\[\]]*)")
_WORDS = {
    "": None,
    "~": None,
    **dict.fromkeys(("null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}


@slotted
class Located:
    """Plain data with the file it came from and, for each path into it, the line it stood on."""

    data: Any
    file: str = ""
    lines: dict[Place, int] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    """What was wrong with the text but did not keep it from being read, such as a key given twice."""

    def line(self, path: Sequence[str | int]) -> int | None:
        """The line of the value at the path, or of the nearest thing around it."""
        place = tuple(path)
        while place and place not in self.lines:
            place = place[:-1]
        return self.lines.get(place)

    def problem(self, message: str, path: Sequence[str | int] = ()) -> Problem:
        """A mistake at the path."""
        return Problem(message, self.file, self.line(path))


def read_yaml(text: str, file: str) -> Located:
    """The one YAML document in `text`; SuiteError with the line when it cannot be read."""
    # Events instead of the loader's own nodes: its composer recurses in C and crashes on deep nesting.
    reader = _Reader(file, yaml.parse(text, Loader=yaml.CSafeLoader), len(text) + _SPARE_NODES)
    try:
        data = reader.document()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        message = f"not readable as YAML: {error.problem or error.context}{_hint(text, error)}"
        raise SuiteError([Problem(message, file, mark.line + 1 if mark else None)]) from None
    except (yaml.YAMLError, ValueError) as error:
        note = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise SuiteError([Problem(f"not readable as YAML: {note}", file)]) from None
    return Located(data, file, reader.lines, reader.problems)


def _hint(text: str, error: yaml.MarkedYAMLError) -> str:
    """What a person probably did, for the three mistakes that YAML explains worst."""
    mark = error.problem_mark
    lines = text.splitlines()
    line = lines[mark.line] if mark and mark.line < len(lines) else ""
    if line[: len(line) - len(line.lstrip())].count("\t"):
        return "; the line begins with a tab: indent with spaces"
    if "expected key" in (error.problem or "") or "block end" in (error.problem or ""):
        return "; is the line indented like its neighbours?"
    if unquoted := _UNQUOTED_PATH.search(line):
        return f'; inside {{ }} a path with [] is quoted: "{unquoted[1]}"'
    return ""


class _Reader:
    """Turns parser events into data, counting what it builds so that nested aliases cannot blow up."""

    def __init__(self, file: str, events: Iterator[Any], most_nodes: int) -> None:
        self.file = file
        self.events = events
        self.most_nodes = most_nodes
        self.lines: dict[Place, int] = {}
        self.problems: list[Problem] = []
        self.n = 0
        self.anchors: dict[str, tuple[Any, int]] = {}

    def document(self) -> Any:
        """The data of the only document, None when there is none."""
        data: Any = None
        seen = False
        for event in self.events:
            if isinstance(event, DocumentStartEvent):
                if seen:
                    raise SuiteError([self._problem("a second document starts here (---): write one to a file", event)])
                seen = True
                data = self.value(next(self.events), (), 0)
        return data

    def value(self, event: Any, path: Place, depth: int) -> Any:
        """What starts with this event; SuiteError when it is too much."""
        if isinstance(event, AliasEvent):
            return self._alias(event)
        before = self.n
        self.n += 1
        if self.n > self.most_nodes or depth > _MOST_DEPTH:
            raise SuiteError([self._problem(_TOO_MUCH, event)])
        self.lines.setdefault(path, event.start_mark.line + 1)
        if event.tag is not None and event.tag not in _PLAIN_TAGS:
            tag = event.tag.replace("tag:yaml.org,2002:", "!!")
            self.problems.append(self._problem(f"the tag {tag} is not allowed: write plain data", event))
        if isinstance(event, ScalarEvent):
            text = event.tag == _STR or (event.tag is None and not event.implicit[0])
            data: Any = event.value if text else plain_scalar(event.value)
        elif isinstance(event, SequenceStartEvent):
            data = self._sequence(path, depth)
        else:
            data = self._mapping(path, depth)
        if event.anchor is not None:
            self.anchors[event.anchor] = (data, self.n - before)
        return data

    def _alias(self, event: AliasEvent) -> Any:
        if event.anchor not in self.anchors:
            message = f"*{event.anchor} names no anchor that ends before it"
            raise SuiteError([self._problem(message, event)])
        data, n = self.anchors[event.anchor]
        self.n += n
        if self.n > self.most_nodes:
            raise SuiteError([self._problem(_TOO_MUCH, event)])
        return data

    def _sequence(self, path: Place, depth: int) -> list[Any]:
        data: list[Any] = []
        while not isinstance(event := next(self.events), SequenceEndEvent):
            data.append(self.value(event, (*path, len(data)), depth + 1))
        return data

    def _mapping(self, path: Place, depth: int) -> dict[str, Any]:
        data: dict[str, Any] = {}
        first: dict[str, int] = {}
        while not isinstance(event := next(self.events), MappingEndEvent):
            key = self._key(event, path, first, depth)
            value = next(self.events)
            if key is None:
                self.value(value, (*path, ""), depth + 1)
                continue
            first[key] = event.start_mark.line + 1
            self.lines[(*path, key)] = first[key]
            data[key] = self.value(value, (*path, key), depth + 1)
        return data

    def _key(self, event: Any, path: Place, first: dict[str, int], depth: int) -> str | None:
        """The key that starts with this event, or None when it cannot be one."""
        wrong = ""
        if not isinstance(event, ScalarEvent):
            self.value(event, (*path, ""), depth + 1)
            wrong = "a key must be plain text"
        elif event.value == "<<" and event.implicit[0]:
            wrong = "merge keys (<<) are not part of YAML 1.2: repeat the keys"
        elif event.value in first:
            wrong = f"the key {event.value!r} is given twice; the first is on line {first[event.value]}"
        if wrong:
            self.problems.append(self._problem(wrong, event))
            return None
        return str(event.value)

    def _problem(self, message: str, event: Any) -> Problem:
        return Problem(message, self.file, event.start_mark.line + 1)


def plain_scalar(text: str) -> Any:
    """An unquoted word as YAML 1.2 reads it: null, true/false, a number, or text."""
    if text in _WORDS:
        return _WORDS[text]
    if _INT.fullmatch(text):
        # More digits than Python converts at once are no sensible number; they stay text.
        return int(text, 0) if len(text) < 4000 else text
    if _FLOAT.fullmatch(text):
        return float(text.lower().replace(".inf", "inf").replace(".nan", "nan"))
    return text


_WANTED = {
    "string": "text",
    "int": "a whole number",
    "float": "a number",
    "decimal": "a number",
    "finite": "a finite number",
    "bool": "true or false",
    "list": "a list",
    "tuple": "a list",
    "set": "a list",
    "frozen": "a list",
    "dict": "a group of keys",
    "mapping": "a group of keys",
    "model": "a group of keys",
    "none": "nothing",
}

_TYPE_ENDINGS = (
    "type", "parsing", "from_float", "number", "attributes_type", "set_type", "required", "parsing_size", "unicode",
)  # fmt: skip
"""How pydantic's names for a value of the wrong type end."""
_NOTHING = object()


@frozen
class PlacedProblem:
    """One sentence and the place in the data it speaks of."""

    message: str
    place: Place


def explain(error: ValidationError, data: Any, model: type[BaseModel], at: Place = ()) -> list[PlacedProblem]:
    """The problems in a failed validation of `data`, in the order of the file; `at` is where `data` stands."""
    groups: dict[Place, list[ErrorDetails]] = {}
    for detail in error.errors(include_url=False):
        groups.setdefault(_resolve(detail, data), []).append(detail)
    # A union complains once for each of its forms; where one form got further, only that one speaks.
    deepest = [place for place in groups if not any(other[: len(place)] == place != other for other in groups)]
    retained = [place for place in groups if place in deepest or not _of_a_union(groups[place], place)]
    retained = [place for place in retained if not _only_misspelt(place, groups)]
    return [PlacedProblem(_sentence(groups[place], place, data, model, at), (*at, *place)) for place in retained]


def _resolve(detail: ErrorDetails, data: Any) -> Place:
    """The part of an error's location that is in the data, the names of union members left out."""
    place: list[str | int] = []
    for step in detail["loc"]:
        inner = _value(data, (step,))
        if inner is _NOTHING:
            continue
        data = inner
        place.append(step)
    if detail["type"] == "missing":
        place.append(detail["loc"][-1])
    return tuple(place)


def _only_misspelt(place: Place, groups: dict[Place, list[ErrorDetails]]) -> bool:
    """True for a missing key that is there under a misspelt name, which is told already."""
    if groups[place][0]["type"] != "missing":
        return False
    extra = [
        str(other[-1])
        for other, details in groups.items()
        if details[0]["type"] == "extra_forbidden" and other[:-1] == place[:-1]
    ]
    return any(meant(name, [str(place[-1])]) for name in extra)


def _of_a_union(details: Sequence[ErrorDetails], place: Place) -> bool:
    return any(len(detail["loc"]) > len(place) for detail in details)


def _sentence(details: list[ErrorDetails], place: Place, data: Any, model: type[BaseModel], at: Place) -> str:
    name = dotted((*at, *place))
    detail = details[0]
    value = _value(data, place)
    value = None if value is _NOTHING else value
    if detail["type"] == "missing":
        return f"{name} is missing"
    if detail["type"] == "extra_forbidden":
        return _inside(unknown_key(str(place[-1]), _keys(model, place[:-1])), (*at, *place[:-1]))
    own = next((detail for detail in details if detail["type"] in ("value_error", "assertion_error")), None)
    if own is not None:
        return _inside(str(own.get("ctx", {}).get("error", own["msg"])), (*at, *place))
    if detail["type"] in ("literal_error", "enum") and isinstance(value, str):
        expected = detail.get("ctx", {}).get("expected", "")
        choices = [word.strip().strip("'") for word in expected.replace(" or ", ",").split(",")]
        hint = meant(value, choices)
        return f"{name}: {value!r} is not known{hint}" + ("" if hint else f"; allowed: {listed(choices)}")
    wanted = [word for word in dict.fromkeys(_wanted(detail) for detail in details) if word]
    if wanted:
        return f"{name} must be {' or '.join(wanted)}; {result(value)}"
    return f"{name}: {detail['msg'][:1].lower()}{detail['msg'][1:]}; {result(value)}"


def _wanted(detail: ErrorDetails) -> str:
    context = detail.get("ctx", {})
    for key, words in (("gt", "above"), ("ge", "at least"), ("lt", "below"), ("le", "at most")):
        if key in context:
            return f"{words} {context[key]}"
    if detail["type"] in ("string_too_short", "too_short"):
        return "not empty" if context.get("min_length") == 1 else f"at least {context.get('min_length')} long"
    if detail["type"] in ("literal_error", "enum"):
        return str(context.get("expected", ""))
    head, _, tail = detail["type"].partition("_")
    if tail in _TYPE_ENDINGS:
        return _WANTED.get(head, "")
    return ""


def _inside(sentence: str, place: Place) -> str:
    return f"{dotted(place)}: {sentence}" if place else sentence


def dotted(place: Place) -> str:
    """A place as people write it: limits.timeout, gates[2]."""
    text = ""
    for step in place:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text


def _value(data: Any, place: Place) -> Any:
    for step in place:
        try:
            data = _NOTHING if isinstance(data, str) else data[step]
        except (KeyError, IndexError, TypeError):
            return _NOTHING
    return data


def _keys(model: type[BaseModel], place: Place) -> list[str]:
    """The keys a model allows at a place."""
    forms: list[Any] = [model]
    for step in place:
        forms = [inner for form in forms for inner in _step_into(form, step)]
    names = [key for form in forms if _is_model(form) for key in written_keys(form)]
    return list(dict.fromkeys(names))


def written_keys(model: type[BaseModel]) -> list[str]:
    """The keys of a model that a file writes: all but the one under which the part stands."""
    keys = model.unwritten() if hasattr(model, "unwritten") else ()
    return [key_name(model, name) for name in model.model_fields if name not in keys]


def key_name(model: type[BaseModel], field: str) -> str:
    """The name of a field as it is written in files."""
    return str(model.model_fields[field].validation_alias or field)


def _step_into(form: Any, step: str | int) -> list[Any]:
    if _is_model(form):
        named = {key_name(form, name): info.annotation for name, info in form.model_fields.items()}
        return _members(named[step]) if step in named else []
    if get_origin(form) in (dict, list, tuple):
        return _members(get_args(form)[-1 if get_origin(form) is dict else 0])
    return []


def _members(annotation: Any) -> list[Any]:
    if get_origin(annotation) in (Union, types.UnionType):
        return [member for argument in get_args(annotation) for member in _members(argument)]
    if hasattr(annotation, "__metadata__"):
        return _members(get_args(annotation)[0])
    return [annotation]


def _is_model(form: Any) -> bool:
    return isinstance(form, type) and issubclass(form, BaseModel)
