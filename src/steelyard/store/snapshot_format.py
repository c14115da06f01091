"""The format of a snapshot: its version, its JSON Schema, and the digest that shows whether it was edited."""

from __future__ import annotations

import hashlib
import json
from functools import cache
from typing import Any

from steelyard.records import RunHeader, Sample
from steelyard.store.codec import Schema
from steelyard.store.record_schema import schemas_of
from steelyard.suite.case import Case

FORMAT = "steelyard-snapshot"
VERSION = 1
KINDS = {"run": RunHeader, "case": Case, "sample": Sample}
_canonical = json.JSONEncoder(sort_keys=True, separators=(",", ":"))


class ContentDigest:
    """A digest over the run, its cases and its samples that does not depend on white space or the order of keys."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()

    def add(self, record: Any) -> None:
        """Take one record in."""
        self._hash.update(_canonical.encode(record).encode() + b"\n")

    def text(self) -> str:
        """The digest as it stands in the file."""
        return f"sha256:{self._hash.hexdigest()}"


@cache
def snapshot_schema() -> Schema:
    """The JSON Schema of a snapshot."""
    refs = {name: {"$ref": f"#/$defs/{kind.__name__}"} for name, kind in KINDS.items()}
    properties: Schema = {
        "format": {"const": FORMAT},
        "version": {"const": VERSION},
        "run": refs["run"],
        "cases": {"type": "array", "items": refs["case"], "description": "Each once, by id."},
        "samples": {"type": "array", "items": refs["sample"], "description": "By position."},
        "digest": {"type": "string", "pattern": "^sha256:[0-9a-f]{64}$"},
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Steelyard snapshot",
        "description": "One run as one file. The keys come in the order given here. Times are seconds since 1970 "
        "(UTC), latencies seconds. A field that has its default, null where none is given, is left out.",
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
        "$defs": schemas_of(KINDS.values()),
    }
