"""JSON schemas compiled once, that never fetch anything, with problems told in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NoReturn

MAX_PROBLEMS: Final = 5
"""How many problems of one answer are reported; more is noise."""

_LONGEST_HEAD: Final = 40
_LONGEST_TAIL: Final = 100


class SchemaValidator:
    """Says whether a value fits a schema, and if not, why."""

    def __init__(self, schema: Any) -> None:
        import jsonschema_rs

        try:
            self._validator = jsonschema_rs.validator_for(schema, retriever=_refuse)
        except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError, TypeError) as error:
            raise ValueError(f"this is not a JSON schema: {_shorten(str(error).splitlines()[0])}") from error
        self.schema = schema

    def fits(self, value: Any) -> bool:
        """True when the value fits; a value that cannot even be examined does not."""
        try:
            return bool(self._validator.is_valid(value))
        except (ValueError, TypeError, OverflowError, RecursionError):
            return False

    def problems(self, value: Any) -> list[str]:
        """What is wrong with the value, place first, at most five; empty when it fits."""
        results: list[str] = []
        try:
            for error in (inner for outer in self._validator.iter_errors(value) for inner in _nearest(outer)):
                if len(results) == MAX_PROBLEMS:
                    results.append("and more")
                    break
                place = ".".join(str(step) for step in error.instance_path)
                message = _shorten(error.message)
                results.append(f"{place}: {message}" if place else message)
        except (ValueError, TypeError, OverflowError, RecursionError) as error:
            results.append(f"it cannot be examined: {_shorten(str(error))}")
        return results


def compile_schema(schema: Any) -> SchemaValidator:
    """A validator for the schema; ValueError with a sentence when it is not one or refers to another document."""
    return SchemaValidator(schema)


def _nearest(error: Any) -> Iterator[Any]:
    """What is wrong by the form that comes nearest, where the schema allows several: the one that fits furthest in."""
    forms = [form for form in getattr(error.kind, "context", None) or () if form]
    if not forms:
        yield error
        return
    for inner in max(forms, key=lambda form: (max(len(item.instance_path) for item in form), -len(form))):
        yield from _nearest(inner)


def _refuse(address: str) -> NoReturn:
    raise ValueError(f"the schema refers to {address}, and remote references are refused: put the part inside it")


def _shorten(text: str) -> str:
    """Without its middle: a message begins with the value and ends with what is wrong with it."""
    if len(text) <= _LONGEST_HEAD + _LONGEST_TAIL:
        return text
    return f"{text[:_LONGEST_HEAD]}…{text[-_LONGEST_TAIL:]}"
