"""Records as JSON, as rows of a database and back, all derived from dataclass fields.

A field that has its default is left out of the JSON, and so is one that is no part of the record's identity
(`field(compare=False)`). A number that is not finite is nothing: a field falls back to its default or to null, a
mapping loses the entry. Where such a number means something the type says so (`records.RawFloat`): it is then written
as the text "NaN", "Infinity" or "-Infinity". A class with `to_data` and `from_data` makes its JSON object
itself (`records.Signature`). `record_schema` makes the JSON Schema of it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, Field, fields, is_dataclass
from enum import StrEnum
from functools import cache, cached_property
from operator import attrgetter, index
from types import NoneType, UnionType
from typing import Annotated, Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from steelyard.frozen import frozen
from steelyard.store.stored_text import from_stored, number_word, to_json, to_stored

Row = tuple[Any, ...]
Schema = dict[str, Any]
_Record = TypeVar("_Record")


_NOTHING: Any = object()
"""What a number that is not finite, or out of its range, is written as: not at all."""


_Way = Callable[[Any], Any]


@frozen
class _Form:
    """How the values of one type are written; None where a value is plain data already."""

    schema: Schema
    encode: _Way | None = None
    decode: _Way | None = None


def _number(value: Any) -> Any:
    return value if math.isfinite(value) else _NOTHING


def _raw_number(value: Any) -> Any:
    if type(value) is float and math.isfinite(value):
        return value
    try:
        number = float(value)
    except OverflowError:
        # A whole number beyond all floats.
        number = math.inf if value > 0 else -math.inf
    return number if math.isfinite(number) else number_word(number)


def whole_in(allowed: range, value: Any) -> int | None:
    """The value as a plain whole number; None when it is none, or not among the allowed."""
    try:
        whole = index(value)
    except TypeError:
        return None
    return whole if whole in allowed else None


def _whole_form(allowed: range) -> _Form:
    low, high = allowed.start, allowed[-1]

    def encode(value: Any) -> Any:
        if type(value) is int and low <= value <= high:
            return value
        whole = whole_in(allowed, value)
        return _NOTHING if whole is None else whole

    return _Form({"type": "integer", "minimum": low, "maximum": high}, encode)


_WORDS = {"enum": ["NaN", "Infinity", "-Infinity"]}
_FLOAT = _Form({"type": "number"}, _number)
_PLAIN: dict[Any, _Form] = {
    Any: _Form({}),
    str: _Form({"type": "string"}),
    bool: _Form({"type": "boolean"}),
    int: _whole_form(range(-(2**63), 2**63)),
    float: _FLOAT,
}


@cache
def _form_of(hint: Any) -> _Form:
    """How values of a type are written: of those types that fields of records have."""
    if hint in _PLAIN:
        return _PLAIN[hint]
    origin, args = get_origin(hint), get_args(hint)
    if origin is Annotated:
        if isinstance(args[1], range):
            return _whole_form(args[1])
        return _Form({"anyOf": [{"type": "number"}, _WORDS]}, _raw_number, float)
    if origin in (Union, UnionType):
        return _union(args)
    if origin is tuple:
        return _sequence(_form_of(args[0])) if args[1:] == (...,) else _fixed([_form_of(arg) for arg in args])
    if origin in (list, dict, Mapping):
        return _listed(_form_of(args[0])) if origin is list else _mapping(*args)
    if hasattr(hint, "from_data"):
        return _Form({"type": "object"}, lambda value: value.to_data(), hint.from_data)
    if issubclass(hint, StrEnum):
        return _Form({"enum": [member.value for member in hint]}, attrgetter("_value_"), hint)
    if isinstance(hint, type) and is_dataclass(hint):
        # Most headers have none of the plans that they may have: those are looked at when the first is there.
        return _Form(
            {"$ref": f"#/$defs/{hint.__name__}"},
            lambda value: codec_of(hint).encode(value),
            lambda data: codec_of(hint).decode(data),
        )
    raise TypeError(f"no form for {hint}")


def _union(args: tuple[Any, ...]) -> _Form:
    present = [arg for arg in args if arg is not NoneType]
    if set(present) == {float, bool}:
        form = _Form({"type": ["number", "boolean"]}, _number)
    else:
        (only,) = present
        form = _form_of(only)
    if NoneType not in args:
        return form
    return _Form({"anyOf": [form.schema, {"type": "null"}]}, _or_none(form.encode), _or_none(form.decode))


def _or_none(way: _Way | None) -> _Way | None:
    if way is None:
        return None
    return lambda value: None if value is None or (data := way(value)) is _NOTHING else data


def _sequence(item: _Form) -> _Form:
    encode, decode = item.encode, item.decode
    return _Form(
        {"type": "array"} | ({"items": item.schema} if item.schema else {}),
        list if encode is None else lambda values: [data for data in map(encode, values) if data is not _NOTHING],
        tuple if decode is None else lambda data: tuple([decode(item) for item in data]),
    )


def _listed(item: _Form) -> _Form:
    """The same of a list."""
    form, decode = _sequence(item), item.decode
    return _Form(form.schema, form.encode, None if decode is None else lambda data: [decode(item) for item in data])


def _numbered(form: _Form) -> _Form:
    """A mapping whose keys are whole numbers, which JSON writes as text."""
    encode, decode = form.encode or dict, form.decode or dict
    return _Form(
        form.schema,
        lambda value: encode({str(key): item for key, item in value.items()}),
        lambda data: {int(key): item for key, item in decode(data).items()},
    )


def _fixed(items: list[_Form]) -> _Form:
    # Numbers in plain form: a scorer may give those of numpy, which no other JSON writer knows.
    ways = [_float if form is _FLOAT else form.encode for form in items]

    def encode(values: Any) -> Any:
        data = []
        for way, value in zip(ways, values, strict=True):
            number = value if way is None else way(value)
            if number is _NOTHING:
                return _NOTHING
            data.append(number)
        return data

    n = len(items)
    return _Form({"type": "array", "items": items[0].schema, "minItems": n, "maxItems": n}, encode, tuple)


def _float(value: Any) -> Any:
    return float(value) if math.isfinite(value) else _NOTHING


def _mapping(key: Any, hint: Any) -> _Form:
    if key is int:
        return _numbered(_mapping(str, hint))
    form = _form_of(hint)
    way, read, isfinite = form.encode, form.decode, math.isfinite
    schema = {"type": "object"} | ({"additionalProperties": form.schema} if form.schema else {})
    if way is None:
        return _Form(schema, dict)
    if way is _number:
        return _Form(schema, lambda value: {key: item for key, item in value.items() if isfinite(item)})
    return _Form(
        schema,
        lambda value: {key: data for key, item in value.items() if (data := way(item)) is not _NOTHING},
        None if read is None else lambda data: {key: read(item) for key, item in data.items()},
    )


@frozen
class _Part:
    """One field of a record."""

    name: str
    form: _Form
    default: Any
    """MISSING where there is none: then the field is always written."""

    def all_default(self, values: Sequence[Any]) -> bool:
        return values.count(self.default) == len(values) if self.default or self.default is None else not any(values)


KNOWN: dict[str, Any] = {}
"""What hints of fields may name besides what their module imports when it runs."""


class _Codec:
    """How the records of one class are written.

    The functions are made of source text when first needed, as those of dataclasses are: they run for every sample.
    """

    def __init__(self, record: type[Any]) -> None:
        self._record = record
        hints = get_type_hints(record, localns=KNOWN, include_extras=True)
        self.parts = [
            # What may be None, and is so by default, is left out instead.
            _Part(
                part.name,
                _form_of(_without_none(hints[part.name]) if part.default is None else hints[part.name]),
                _default(part),
            )
            for part in fields(record)
            if part.compare
        ]
        self.values = attrgetter(*[part.name for part in self.parts])
        # The writer of JSON takes a tuple for a list, and a member of an enumeration for its text.
        self.packers = {
            at: part.form.encode
            for at, part in enumerate(self.parts)
            if part.form.encode not in (None, list) and "enum" not in part.form.schema
        }
        self._column_hints = {part.name: (_without_none(hints[part.name]), _default(part)) for part in fields(record)}

    @cached_property
    def encode(self) -> _Way:
        names = {f"encode_{part.name}": part.form.encode for part in self.parts} | {"NOTHING": _NOTHING}
        names |= {f"default_{part.name}": part.default for part in self.parts}
        return self._function("record", [" data = {}", *map(_encode_source, self.parts), " return data"], names)

    @cached_property
    def decode(self) -> _Way:
        names = {part.name: part.form.decode for part in self.parts if part.form.decode is not None}
        lines = [f" if {name!r} in data: data[{name!r}] = decode_{name}(data[{name!r}])" for name in names]
        lines = [" data = dict(data)", *lines, " return record_type(**data)"]
        return self._function("data", lines, {f"decode_{name}": way for name, way in names.items()})

    @cached_property
    def _columns(self) -> dict[str, tuple[_Way, _Way]]:
        return {name: _column(*column) for name, column in self._column_hints.items()}

    @cached_property
    def to_row(self) -> _Way:
        values = [f"None if (v := record.{name}) is None else write_{name}(v)" for name in self._columns]
        names = {f"write_{name}": write for name, (write, _) in self._columns.items()}
        return self._function("record", [f" return ({', '.join(values)},)"], names)

    @cached_property
    def from_row(self) -> _Way:
        values = [f"None if {name} is None else read_{name}({name})" for name in self._columns]
        lines = [f" {', '.join(self._columns)}, = row", f" return record_type({', '.join(values)})"]
        return self._function("row", lines, {f"read_{name}": read for name, (_, read) in self._columns.items()})

    def _function(self, given: str, lines: list[str], names: dict[str, Any]) -> _Way:
        scope: dict[str, Any] = {"record_type": self._record, **names}
        exec("\n".join([f"def function({given}):", *lines]), scope)  # noqa: S102 - source of the names of our own fields
        return cast("_Way", scope["function"])


def _encode_source(part: _Part) -> str:
    """The lines that write one field."""
    name = part.name
    if is_required(part):
        if part.form.encode is None:
            return f" data[{name!r}] = record.{name}"
        return f" v = encode_{name}(record.{name})\n if v is NOTHING: return NOTHING\n data[{name!r}] = v"
    if part.default is None:
        there = f" if (v := record.{name}) is not None:"
    else:
        there = f" if (v := record.{name}) != default_{name}:" if part.default else f" if v := record.{name}:"
    if part.form.encode is None:
        return f"{there} data[{name!r}] = v"
    return f"{there}\n  v = encode_{name}(v)\n  if v is not NOTHING: data[{name!r}] = v"


def is_required(part: _Part) -> bool:
    """Whether a record cannot be made without the field."""
    return part.default is MISSING


def _default(part: Field[Any]) -> Any:
    return part.default if part.default_factory is MISSING else part.default_factory()


def _without_none(hint: Any) -> Any:
    """The type of a value that is there."""
    args = get_args(hint)
    if NoneType not in args:
        return hint
    return Union[tuple(arg for arg in args if arg is not NoneType)]  # noqa: UP007 - made of a list of types


_CODECS: dict[Any, _Codec] = {}


def codec_of(kind: Any) -> _Codec:
    """What writes and reads records of a class; made once."""
    try:
        return _CODECS[kind]
    except KeyError:
        return _CODECS.setdefault(kind, _Codec(kind))


def encode(record: Any) -> dict[str, Any]:
    """A record as plain data, what has its default left out."""
    data: dict[str, Any] = codec_of(type(record)).encode(record)
    if data is _NOTHING:
        raise ValueError(f"a number of {record!r} cannot be kept")
    return data


def decode(kind: type[_Record], data: dict[str, Any]) -> _Record:
    """The record back from `encode`."""
    return cast("_Record", codec_of(kind).decode(data))


def pack(records: Sequence[Any]) -> str:
    """The records of one class in one text; a field that has its default in all of them is null."""
    if not records:
        return "[]"
    codec = codec_of(type(records[0]))
    columns: list[Any] = list(zip(*map(codec.values, records), strict=True))
    for at, part in enumerate(codec.parts):
        if part.default is not MISSING and part.all_default(columns[at]):
            columns[at] = None
        elif at in codec.packers:
            way = codec.packers[at]
            columns[at] = [None if value is None else way(value) for value in columns[at]]
            if _NOTHING in columns[at]:
                # As inside other records: one that has no number where it needs one is nothing.
                pairs = zip(records, columns[at], strict=True)
                return pack([record for record, value in pairs if value is not _NOTHING])
    return to_json(columns)


def unpack(kind: type[_Record], text: str) -> tuple[_Record, ...]:
    """The records back from `pack`."""
    columns = json.loads(text)
    if not columns:
        return ()
    n = len(columns[0])
    read = []
    for part, column in zip(codec_of(kind).parts, columns, strict=True):
        way = part.form.decode
        if column is None:
            read.append([part.default] * n)
        elif way is None:
            read.append(column)
        else:
            read.append([None if value is None else way(value) for value in column])
    return tuple(map(kind, *read))


def unpacked_columns(kind: type[Any], packed: Sequence[list[Any]]) -> list[list[Any]]:
    """For each field of the records in some parsed texts of `pack` the values of all of them, as they are written."""
    columns: list[list[Any]] = []
    for at, part in enumerate(codec_of(kind).parts):
        values: list[Any] = []
        for texts in packed:
            if texts:
                values += [part.default] * len(texts[0]) if texts[at] is None else texts[at]
        columns.append(values)
    return columns


def _column(hint: Any, default: Any) -> tuple[_Way, _Way]:
    """How a value is written into a column and read from there: text and numbers as they are, the rest as JSON."""
    if hint is str:
        return to_stored, from_stored
    if hint is bool:
        return int, bool
    default = None if default is MISSING else default
    if hint is float:
        return (lambda value: float(value) if math.isfinite(value) else default), _same
    form = _form_of(hint)
    encode, decode = form.encode or _same, form.decode or _same
    plain = form.schema.get("type") == "integer" or "enum" in form.schema
    # Plain finite numbers are written alike by Python and JSON.
    written: _Way = _same if plain else repr if "minItems" in form.schema else to_json

    def write(value: Any) -> Any:
        data = encode(value)
        return default if data is _NOTHING else written(data)

    return to_json if form.encode is None else write, decode if plain else lambda text: decode(json.loads(text))


def _same(value: Any) -> Any:
    return value


def columns_of(kind: type[Any]) -> tuple[str, ...]:
    """The names of the columns of `to_row`: those of the fields."""
    return tuple(item.name for item in fields(kind))


def to_row(record: Any) -> Row:
    """The record as a row, None where a field is None."""
    row: Row = codec_of(type(record)).to_row(record)
    return row


def from_row(kind: type[_Record], row: Iterable[Any]) -> _Record:
    """The record back from `to_row`."""
    return cast("_Record", codec_of(kind).from_row(row))
