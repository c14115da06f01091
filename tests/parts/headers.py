"""Headers of runs written as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from steelyard.records import RunHeader, Signature, TargetFacts


def typed(values: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments of a header in which a signature and a target that are plain mappings are records."""
    kinds = {"signature": Signature, "target": TargetFacts}
    return {
        name: kinds[name].from_data(value) if name in kinds and isinstance(value, Mapping) else value
        for name, value in values.items()
    }


def run_header(**values: Any) -> RunHeader:
    """The header of these values."""
    return RunHeader(**typed(values))
