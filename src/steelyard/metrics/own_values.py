"""The values of a suite's own metrics, stored with an ended run: its figures need neither the suite nor its code."""

from __future__ import annotations

import zlib
from base64 import b64decode, b64encode
from typing import Any

import numpy as np

from steelyard.errors import UsageError
from steelyard.metrics.registry import metrics
from steelyard.metrics.run_data import RunData
from steelyard.stats.arrays import Array
from steelyard.suite.models import SuiteModel

VALUES = "values"


def with_values(suite: SuiteModel, data: RunData, remaining: Array | None = None) -> SuiteModel:
    """The suite as a run stores it, with what each of its own metrics gives every sample of the run, or those that
    remain of it."""
    order, items = data.once(_by_key), []
    order = order if remaining is None else order[remaining[order]]
    for item in suite.metrics:
        given = metrics()[item["name"]].contributions(data, ())
        pairs = given.ratios or ((given.values, given.below),)
        packed = [[None if column is None else _pack(column[order]) for column in pair] for pair in pairs]
        items.append({**item, VALUES: packed})
    return suite.model_copy(update={"metrics": tuple(items)})


def without_values(suite: SuiteModel) -> SuiteModel:
    """The suite as it declares its metrics."""
    declared = ({key: value for key, value in item.items() if key != VALUES} for item in suite.metrics)
    return suite.model_copy(update={"metrics": tuple(declared)})


def unpacked(stored: list[list[str | None]], data: RunData) -> Any:
    """What the function of a metric gave, from what `with_values` stored of it."""
    order = data.once(_by_key)
    pairs = [tuple(None if text is None else _unpack(text, order) for text in pair) for pair in stored]
    return pairs[0][0] if pairs[0][1] is None else pairs


def _by_key(data: RunData) -> Array:
    """The places of all samples in the order of their case, variant and repeat, whatever order a store has them in."""
    columns = data.columns
    case, variant = (
        np.argsort(np.argsort(np.array(names, dtype=object)))[codes] if len(codes) else codes
        for names, codes in ((columns.case_ids, columns.case), (columns.variants, columns.variant))
    )
    return np.lexsort((columns.repeat, variant, case))


def _pack(column: Array) -> str:
    return b64encode(zlib.compress(column.astype("<f8").tobytes())).decode()


def _unpack(text: str, order: Array) -> Array:
    try:
        # One value a sample, and no more is unpacked, whatever a file says.
        raw = zlib.decompressobj().decompress(b64decode(text), 8 * len(order) + 8)
        ordered = np.frombuffer(raw[: len(raw) // 8 * 8], dtype="<f8")
    except (ValueError, zlib.error) as error:
        raise UsageError(f"the run's stored values of its own metrics cannot be read: {error}") from None
    if len(ordered) != len(order):
        raise UsageError(f"the run stores {len(ordered)} values of its own metrics for {len(order)} samples")
    column = np.empty(len(order))
    column[order] = ordered
    return column
