"""The figures that were kept with a run when it ended: hundreds of runs are read without touching their samples."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import asdict
from typing import Any

from steelyard.analysis.model import Proportion, Slice, Summary
from steelyard.stats.intervals import Estimate

_ESTIMATES = ("average", "median", "pass_rate")
_BY_NAME = ("bands", "components", "latency", "finding_rates", "outcome_rates", "totals", "over_repeats", "metrics")
_PLAIN = ("outcomes", "findings", "finding_samples")


def summary_data(summary: Summary) -> dict[str, Any]:
    """All figures as plain data, with nothing that JSON cannot say."""
    return {name: _plain(value) for name, value in asdict(summary).items()}


def _plain(data: Any) -> Any:
    if isinstance(data, dict):
        return {str(key): _plain(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [_plain(value) for value in data]
    return None if isinstance(data, float) and not math.isfinite(data) else data


def stored_summary(data: Mapping[str, Any] | None, factors: Collection[str] = ()) -> Summary | None:
    """The whole run's figures from what its header keeps, and those of the slices of some factors.

    None when nothing is kept, or nothing that this version can read: then they are computed again.
    """
    if not isinstance(data, Mapping):
        return None
    try:
        slices = data.get("slices") or {}
        return Summary(
            passing=str(data.get("passing") or ""),
            overall=_slice(data["overall"]),
            slices={factor: [_slice(each) for each in slices[factor]] for factor in factors if factor in slices},
            repeats=int(data.get("repeats") or 1),
            extra=dict(data.get("extra") or {}),
        )
    except (KeyError, TypeError, ValueError, AttributeError):
        return None


def _slice(data: Mapping[str, Any]) -> Slice:
    figures: dict[str, Any] = {name: dict(data.get(name) or {}) for name in _PLAIN}
    figures |= {name: _estimate(data[name]) for name in _ESTIMATES}
    figures |= {name: {key: _estimate(each) for key, each in (data.get(name) or {}).items()} for name in _BY_NAME}
    return Slice(
        factor=data["factor"],
        name=data["name"],
        n_planned=data["n_planned"],
        **figures,
        measures={
            component: {name: _proportion(each) for name, each in found.items()}
            for component, found in (data.get("measures") or {}).items()
        },
        set_aside=int(data.get("set_aside") or 0),
    )


def _estimate(data: Mapping[str, Any]) -> Estimate:
    missing, constant = data.get("n_missing", 0), bool(data.get("constant"))
    return Estimate(data["value"], data["n"], missing, data.get("low"), data.get("high"), constant)


def _proportion(data: Mapping[str, Any]) -> Proportion:
    return Proportion(_estimate(data["estimate"]), data["numerator"], data["denominator"], data.get("mean_of", 0))
