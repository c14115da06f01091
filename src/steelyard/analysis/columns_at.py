"""The columns of some samples of a run: of those that are kept, with their tags, findings and checks."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any, TypeVar

import numpy as np

from steelyard.stats.arrays import Array
from steelyard.store.base import Checks, Columns

L = TypeVar("L", Columns, Checks)


def columns_at(columns: Columns, remaining: Array, place: Array) -> Columns:
    """The columns of the samples that are kept, whose new places are given."""
    listed = listed_at(listed_at(columns, "tag_", remaining, place), "finding_", remaining, place)
    mine: dict[str, Any] = {
        name: value[remaining]
        for name in (field.name for field in fields(columns))
        if isinstance(value := getattr(columns, name), np.ndarray)
        and len(value) == columns.n
        and name != "tag"
        and not name.startswith(("tag_", "finding_"))
    }
    present, mine["case"] = np.unique(mine["case"], return_inverse=True)
    return replace(
        listed,
        **mine,
        n=int(remaining.sum()),
        case_ids=[columns.case_ids[code] for code in present.tolist()],
        components={name: values[remaining] for name, values in columns.components.items()},
        counts={name: {key: item[remaining] for key, item in some.items()} for name, some in columns.counts.items()},
    )


def listed_at(listed: L, prefix: str, remaining: Array, place: Array) -> L:
    """What is listed by sample, of the samples that are kept: tags, findings or checks."""
    sample = getattr(listed, f"{prefix}sample")
    inside = remaining[sample.astype(int)]
    names = [field.name for field in fields(listed) if field.name.startswith(prefix) or field.name == prefix[:-1]]
    columns = {name: value for name in names if isinstance(value := getattr(listed, name), np.ndarray)}
    rows = {name: value[inside] for name, value in columns.items() if len(value) == len(sample)}
    rows[f"{prefix}sample"] = place[sample[inside].astype(int)].astype(sample.dtype)
    return replace(listed, **rows)
