"""What the models of suite files are made of: shares, rates, times and labels as people write them, and their base."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from itertools import pairwise
from typing import Annotated, Any, Self, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    TypeAdapter,
    ValidationError,
    ValidationInfo,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import InitErrorDetails, PydanticCustomError, PydanticKnownError, core_schema

from steelyard.records import DrawnSample, Load
from steelyard.suite.paths import split_path
from steelyard.suite.yaml import result, shown, unknown_key
from steelyard.wording import rate_text

MIN_PAIRED = 0.9
"""Of the cases that either of two runs answered, the share that must be in pairs unless a suite declares another."""
OPEN_CONCURRENCY = 1_000
"""Most calls under way under an open load, where nobody says otherwise."""
_LONGEST = 86_400
_FASTEST = 100_000.0
_NUMBER = r"(\d+\.?\d*|\.\d+)"
_SHARE = re.compile(r"([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*(%?)")
_PASSING = re.compile(r"score\s*>=\s*(.+)")
_RATE = re.compile(rf"{_NUMBER}\s*(?:(?:/|per|a)\s*(s|sec|second|min|minute|m|h|hour))?", re.IGNORECASE)
_TIME = re.compile(rf"{_NUMBER}\s*(s|sec|seconds?|m|min|minutes?|h|hours?)?", re.IGNORECASE)
_SECONDS = re.compile(rf"{_NUMBER}\s*(ms|s)?")
_UNITS = {"%": Decimal(1) / 100, "ms": Decimal(1) / 1000, "m": Decimal(60), "h": Decimal(3600)}
"""What one of a unit is; seconds, and what has none, are 1."""


def _number(value: Any, pattern: re.Pattern[str], how: str, *, a: bool = False) -> float:
    """The number meant by a text of the pattern, whose second group is the unit (`a` for that of a rate), or by a bare
    number; ValueError with how it is written when it is neither."""
    if isinstance(value, str) and (written := pattern.fullmatch(value.strip())):
        unit = (written[2] or "").lower()
        size = _UNITS.get(unit if unit in _UNITS else unit[:1], Decimal(1))
        return float(Decimal(written[1]) / size if a else Decimal(written[1]) * size)
    if isinstance(value, int | float) and not isinstance(value, bool):
        # Numbers too large for a float are too large all the same.
        return float(max(min(value, 10**300), -(10**300)))
    raise ValueError(f"{how}; {result(value)}")


def share(value: Any) -> float:
    """The fraction meant by `0.75` or `75 %`; ValueError with a sentence when it is neither."""
    fraction = _number(value, _SHARE, "a share is written 0.75 or 75 %")
    text = value.strip() if isinstance(value, str) else shown(value)
    if not math.isfinite(fraction) or fraction < 0:
        raise ValueError(f"{text} is not between 0 and 1")
    if fraction > 1:
        more = " is above 100 %" if text.endswith("%") else f" is above 1: write {text} % or {_as_share(text)}"
        raise ValueError(f"{text}{more}")
    return fraction


def passing(text: Any) -> float:
    """The fraction in `score >= 75 %` (or a bare share); ValueError with a sentence when it is neither."""
    if isinstance(text, str) and (rule := _PASSING.fullmatch(text.strip())):
        return _can_fail(share(rule.group(1)))
    try:
        return _can_fail(share(text))
    except ValueError as error:
        if isinstance(text, str) and not _SHARE.fullmatch(text.strip()):
            raise ValueError(f"{shown(text)} is not a pass rule: write score >= 0.75 or score >= 75 %") from None
        raise error


def _can_fail(fraction: float) -> float:
    if fraction <= 0:
        raise ValueError("every answer, the empty one too, would pass: write a share above 0")
    return fraction


def _as_share(text: str) -> str:
    fraction = Decimal(text) / 100 if text[:1].isdigit() and not text.endswith(".") else Decimal(2)
    return f"{fraction.normalize():f}" if fraction <= 1 else "a fraction such as 0.75"


def parse_rate(value: Any) -> float:
    """Calls a second in `20/s`, `90/min` or a bare 20; ValueError with a sentence when it is none."""
    rate = _number(value, _RATE, "a rate is written 20/s or 90/min", a=True)
    if not math.isfinite(rate) or rate <= 0:
        raise ValueError(f"{shown(value)} is not a rate: write a number above 0, such as 20/s")
    if rate > _FASTEST:
        raise ValueError(f"{shown(value)} is more than {_FASTEST:,.0f} calls a second")
    return rate


def parse_time(value: Any) -> float:
    """Seconds in `90 s`, `5m`, `1 h` or a bare 90; 0 is allowed. ValueError with a sentence when it is none."""
    how = "a time is written 5m or 90s, and 0 is none"
    length = _number(value, _TIME, how)
    if math.isnan(length) or length < 0:
        raise ValueError(f"{how}; {result(value)}")
    if length > _LONGEST:
        raise ValueError(f"{shown(value)} is more than a day")
    return length


def seconds(value: Any) -> float:
    """The seconds in `100 ms`, `10 s` or a bare 10, as gates have them; ValueError with a sentence when it is none."""
    length = _number(value, _SECONDS, "a time is written 100 ms or 10 s")
    if not math.isfinite(length) or length <= 0:
        raise ValueError(f"{shown(value)} is not a time above 0: write 100 ms or 10 s")
    if length > _LONGEST:
        raise ValueError(f"{shown(value)} is more than a day ({_LONGEST:,} s)")
    return length


def sample_in_words(sample: DrawnSample) -> str:
    """Which cases were drawn: `sample of 200 by category, seed 7`."""
    return f"sample of {sample.n:,}{f' by {sample.by}' if sample.by else ''}, seed {sample.seed}"


def load_in_words(load: Load | None) -> str:
    """How the calls were made: `8 at a time`, or `20 a second, whatever comes back`; "" when it is not known."""
    if load is None:
        return ""
    if load.rate:
        return f"{rate_text(load.rate)}, whatever comes back"
    limit = f", {rate_text(load.requests_per_second)} at most" if load.requests_per_second else ""
    return f"{load.concurrency:,} at a time{limit}"


class SuitePart(BaseModel):
    """A part of a suite: checked when a file is read, used as it is at run time, stored by `model_dump`.

    Strict, since YAML says what is a number and what is a text; `from_data` reads what JSON made of it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, populate_by_name=True, defer_build=True)

    def data(self) -> dict[str, Any]:
        """The part as JSON-able data under the names that files use."""
        return self.model_dump(mode="json", by_alias=True)

    @classmethod
    def from_file(cls, data: Any, *, whole: bool = True) -> Self:
        """The part as a file writes it; what is built from what is written (see `InFile`) stands in it as written.

        When it is not the whole of it, keys that a file must have may be missing.
        """
        return cls.model_validate(data, context=_IN_FILE if whole else _IN_PART, by_alias=True, by_name=False)

    @model_validator(mode="before")
    @classmethod
    def _with_what_is_missing(cls, data: Any, info: ValidationInfo) -> Any:
        needed = [] if info.context is not _IN_FILE else [key for key, form in cls._forms() if form.needed]
        return {**dict.fromkeys(needed, _ABSENT), **data} if isinstance(data, dict) and needed else data

    @classmethod
    def _forms(cls) -> Iterator[tuple[str, InFile]]:
        """The key in files and the form of each field that files write otherwise."""
        for name, field in cls.model_fields.items():
            for form in field.metadata:
                if isinstance(form, InFile):
                    yield str(field.validation_alias or name), form

    @classmethod
    def from_data(cls, data: Mapping[str, Any] | None) -> Self:
        """The part back from its `data`; what holds where nobody says anything for None."""
        return cls.model_validate(data or {}, strict=False)

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler) -> Any:
        described = handler.resolve_ref_schema(handler(schema))
        properties, about = described.get("properties", {}), described.get("description", "")
        described |= {"description": about.partition("\n\n")[0]} if about else {}
        required = {*described.pop("required", ()), *(key for key, form in cls._forms() if form.needed)}
        for key in cls.unwritten():
            properties.pop(key, None)
        for key in required & properties.keys():
            properties[key].pop("default", None)
        needed = [key for key in properties if key in required]
        return described | ({"required": needed} if needed else {})

    @classmethod
    def given_by_key(cls) -> list[str]:
        """The fields that a file gives as the key under which the part stands."""
        return [name for name, field in cls.model_fields.items() if BY_KEY in field.metadata]

    @classmethod
    def unwritten(cls) -> list[str]:
        """The fields that are no keys of a file: given by the key of the part, or by the process or run."""
        return [*cls.given_by_key(), *(key for key, form in cls._forms() if form.written is None)]


class _ByKey:
    """Marks a field that a file gives as the key under which the part stands."""


BY_KEY = _ByKey()
Key = Annotated[str, BY_KEY]


_IN_FILE, _IN_PART = "file", "part"
"""The contexts of validation in which data is what a file says, the whole of it or some; None elsewhere."""
_ABSENT = object()
"""In the place of a key that a file must have and has not."""


class InFile:
    """Annotation of a field that a file writes in another form; without one, a file does not write it at all.

    What is written is checked by that form and stands in the field until `suite.build` puts what it makes of it there:
    that takes the suite's folder, its code and its other parts.
    """

    def __init__(self, written: Any = None, *, needed: bool = False) -> None:
        self.written = written
        self.needed = needed
        self._form: TypeAdapter[Any] | None = None

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        def by_form(value: Any, usual: core_schema.ValidatorFunctionWrapHandler, info: ValidationInfo) -> Any:
            if info.context is None:
                return usual(value)
            if self.written is None or value is _ABSENT:
                raise PydanticKnownError("missing" if value is _ABSENT else "extra_forbidden")
            return self.form.validate_python(value, strict=True, context=info.context, by_alias=True, by_name=False)

        return core_schema.with_info_wrap_validator_function(by_form, handler(source))

    @property
    def form(self) -> TypeAdapter[Any]:
        """What checks the form in which a file writes it."""
        self._form = self._form or TypeAdapter(self.written)
        return self._form

    def __get_pydantic_json_schema__(self, _: Any, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        # Wrapped, so that what an annotation of the form says of its JSON schema counts.
        written = core_schema.no_info_before_validator_function(lambda value: value, self.form.core_schema)
        return {} if self.written is None else handler(written)


UNWRITTEN = InFile()


class Group:
    """Annotation of a tuple of parts that a file writes as a group of keys; stored data has a list.

    Parts are validated where they stand, so that problems are found at their line, and then get their key. `plain` is
    the field that a file gives in the place of the whole part, and its JSON schema: `Good: 75 %`.
    """

    def __init__(self, plain: tuple[str, dict[str, Any]] | None = None) -> None:
        self._plain = plain

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        model: type[SuitePart] = get_args(source)[0]
        (key,) = model.given_by_key()

        def without_key(part: Any) -> Any:
            if self._plain is not None:
                return {key: "", self._plain[0]: part}
            if isinstance(part, Mapping) and key in part:
                written = [field.alias or name for name, field in model.model_fields.items() if name != key]
                raise ValueError(unknown_key(key, written))
            return {**part, key: ""} if isinstance(part, Mapping) else part

        def with_keys(parts: dict[str, SuitePart]) -> tuple[SuitePart, ...]:
            return tuple(part.model_copy(update={key: name}) for name, part in parts.items())

        item = handler.generate_schema(model)
        in_file = core_schema.no_info_before_validator_function(without_key, item)
        group = core_schema.dict_schema(core_schema.str_schema(), in_file)
        return core_schema.tagged_union_schema(
            {
                "(group)": core_schema.no_info_after_validator_function(with_keys, group),
                "(list)": core_schema.tuple_schema([item], variadic_item_index=0, strict=False),
            },
            lambda value: "(list)" if isinstance(value, list | tuple) else "(group)",
        )

    def __get_pydantic_json_schema__(self, schema: Any, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        while "choices" not in schema:  # what else the field asks for stands around the group
            schema = schema["schema"]
        values = schema["choices"]["(group)"]["schema"]["values_schema"]["schema"]
        return {"type": "object", "additionalProperties": handler(values) if self._plain is None else self._plain[1]}


def raise_located(problems: Iterable[tuple[str, tuple[str | int, ...]]]) -> None:
    """Raise what a validator finds at several places at once: sentences with places inside what it validates."""
    details = [
        InitErrorDetails(type=PydanticCustomError("value_error", "{error}", {"error": message}), loc=place, input=None)
        for message, place in problems
    ]
    if details:
        raise ValidationError.from_exception_data("suite", details)


def _ascending(scale: tuple[float, float]) -> tuple[float, float]:
    low, high = scale
    if low >= high:
        raise ValueError(f"{low:g} is not below {high:g}")
    return scale


def _label_text(value: Any) -> Any:
    return str(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else value


_SHARE_TEXT = {"type": "string", "pattern": r"^\s*[0-9.]+\s*%?\s*$", "examples": ["75 %"]}
_SHARE_SCHEMA = {"anyOf": [{"type": "number", "minimum": 0, "maximum": 1}, _SHARE_TEXT]}
PASS_SCHEMA = {
    "anyOf": [
        {"type": "string", "pattern": r"^\s*(score\s*>=\s*)?[0-9.]+\s*%?\s*$", "examples": ["score >= 75 %"]},
        {"type": "number", "minimum": 0, "maximum": 1},
    ]
}
_RATE_TEXT = {"type": "string", "pattern": r"^\s*[0-9.]+\s*((/|per|a)\s*[a-z]+)?\s*$", "examples": ["20/s", "90/min"]}
_RATE_SCHEMA = {"anyOf": [_RATE_TEXT, {"type": "number", "exclusiveMinimum": 0}]}
_TIME_TEXT = {"type": "string", "pattern": r"^\s*[0-9.]+\s*[a-z]*\s*$", "examples": ["5m", "90s"]}
_TIME_SCHEMA = {"anyOf": [_TIME_TEXT, {"type": "number", "minimum": 0}]}
_SECONDS_TEXT = {"type": "string", "pattern": r"^\s*[0-9.]+\s*(ms|s)?\s*$", "examples": ["100 ms", "10 s"]}
_SECONDS_SCHEMA = {"anyOf": [_SECONDS_TEXT, {"type": "number", "exclusiveMinimum": 0}]}
PLACE_SCHEMA = {"type": "string", "pattern": r"^[A-Za-z_][\w.]*:[A-Za-z_][\w.]*$", "examples": ["my_module:Name"]}

_SCALE_SCHEMA = {"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 2}
Scale = Annotated[tuple[float, float], Field(strict=False), AfterValidator(_ascending), WithJsonSchema(_SCALE_SCHEMA)]
"""The lowest and the highest value."""
Texts = Annotated[tuple[str, ...], Field(strict=False)]

SLICED = ("input", "expected", "cluster")
"""The fields of a case that slices can be made by; by category, difficulty and tags they are made anyway."""


def slice_path_problem(path: str) -> str:
    """Why a path names no field that slices can be made by; "" when it does."""
    try:
        root = next(iter(split_path(path)), "")
    except ValueError as error:
        return str(error)
    if root in ("category", "difficulty", "tags"):
        return f"every suite is sliced by {root} already: leave it out"
    written = "a field to slice by begins with input or expected, or is cluster"
    return "" if root in SLICED else f"{written}, as in input.language; found {path!r}"


def _slice_paths(paths: tuple[str, ...]) -> tuple[str, ...]:
    raise_located((problem, (at,)) for at, path in enumerate(paths) if (problem := slice_path_problem(path)))
    return tuple(dict.fromkeys(paths))


def slice_tag(path: str, name: str) -> str:
    """How a sample says that it is in a slice by a field: as a tag, `input.language=de`."""
    return f"{path}={name}"


SlicePaths = Annotated[tuple[str, ...], Field(strict=False), AfterValidator(_slice_paths)]
Time = Annotated[float, BeforeValidator(parse_time), WithJsonSchema(_TIME_SCHEMA)]
Seconds = Annotated[float, BeforeValidator(seconds), WithJsonSchema(_SECONDS_SCHEMA)]
Rate = Annotated[float, BeforeValidator(parse_rate), WithJsonSchema(_RATE_SCHEMA)]
Share = Annotated[float, BeforeValidator(share), WithJsonSchema(_SHARE_SCHEMA)]
Label = Annotated[str, BeforeValidator(_label_text), WithJsonSchema({"type": ["string", "number"]})]
Anything = Annotated[Any, WithJsonSchema({})]


class TextFile(SuitePart):
    """A text kept in a file of the suite's folder."""

    file: str = Field(min_length=1, description="Path of the file, inside the suite's folder.")


class Band(SuitePart):
    """A rating: `name` for values of `at_least` and above, up to the next band; the best one holds 1.0 too."""

    name: Key
    at_least: Share


def _descending_to_zero(bands: tuple[Band, ...]) -> tuple[Band, ...]:
    problems = []
    for higher, lower in pairwise(bands):
        if higher.at_least == lower.at_least:
            problems.append((f"starts where {higher.name} does", (lower.name,)))
        elif higher.at_least < lower.at_least:
            problems.append((f"starts above {higher.name}: write them from the highest to the lowest", (lower.name,)))
    if bands and min(band.at_least for band in bands) > 0:
        problems.append(("is the lowest, and must start at 0, so that every value has one", (bands[-1].name,)))
    raise_located(problems)
    return bands


Bands = Annotated[tuple[Band, ...], Group(("at_least", _SHARE_SCHEMA)), AfterValidator(_descending_to_zero)]
"""Bands as a file writes them, `Good: 75 %`, from the highest down to 0."""
