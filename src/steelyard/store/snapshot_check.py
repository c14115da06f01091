"""Says what is wrong with a record of a snapshot, before anything of it is believed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jsonschema_rs

from steelyard.store.snapshot_schema import SCHEMA


def first_problem(kind: str) -> Callable[[Any], str | None]:
    """A check of one `run`, `case` or `sample`: the first thing wrong with it in words, or None."""
    validator = jsonschema_rs.Draft202012Validator(
        {"$ref": f"#/$defs/{kind}", "$defs": SCHEMA["$defs"]}, retriever=_no_remote
    )

    def check(record: Any) -> str | None:
        try:
            return told(record)
        except UnicodeEncodeError:
            # The validator can neither look up nor quote half of a surrogate pair, which model output may hold.
            return told(_without_halves(record))

    def told(record: Any) -> str | None:
        if validator.is_valid(record):
            return None
        error = next(iter(validator.iter_errors(record)))
        place = ".".join(str(step) for step in error.instance_path)
        message = error.message if len(error.message) <= 200 else f"{error.message[:200]}..."
        return f"{kind}{f'.{place}' if place else ''}: {message}"

    return check


def _without_halves(data: Any) -> Any:
    """The same with another character for each half of a surrogate pair: of the same shape, only to be checked."""
    if isinstance(data, str):
        return data.encode("utf-8", "replace").decode()
    if isinstance(data, dict):
        return {_without_halves(key): _without_halves(value) for key, value in data.items()}
    return [_without_halves(item) for item in data] if isinstance(data, list) else data


def _no_remote(address: str) -> Any:
    raise ValueError(f"a snapshot's schema refers to nothing outside itself, not to {address}")
