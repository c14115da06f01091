"""Figures that a file of another tool states, for charts: it holds no calls or answers to compute them by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from steelyard.analysis.checks import CheckDetails, CheckOfCell
from steelyard.analysis.latency import CellLatency, Spread, latency_metrics
from steelyard.analysis.stability import CellStability, StabilityDetails
from steelyard.stats.intervals import Estimate

_PRESENCE = "presence"
_CHECK = "check."


def stated_latency(stated: Mapping[str, Any]) -> list[CellLatency]:
    """What is stated of the times of each case; an `n` of 0 where it is not said. Empty when nothing is."""
    results = {case: parts.get("latency") or {} for case, parts in stated.items()}
    if not any("mean" in times for times in results.values()):
        return []
    return [
        CellLatency(
            case,
            "",
            Spread({"n": int(times.get("n", 0))} | {name: times.get(name) for name in latency_metrics()}),
            int(times.get("timeouts", 0)),
            int(times.get("failures", 0)),
        )
        for case, times in results.items()
    ]


def stated_stability(stated: Mapping[str, Any]) -> StabilityDetails | None:
    """What is stated of how alike the repeats of each case are; None when nothing is."""
    results = {case: parts.get("stability") or {} for case, parts in stated.items()}
    names = list(dict.fromkeys(name for shares in results.values() for name in shares if name != _PRESENCE))
    if not any(results.values()):
        return None
    cells = tuple(
        CellStability(
            case, "", 0, 0, Estimate(shares.get(_PRESENCE), 0), {name: Estimate(shares.get(name), 0) for name in names}
        )
        for case, shares in results.items()
    )
    return StabilityDetails("", dict.fromkeys(names, ""), cells)


def with_stated_values(details: CheckDetails, stated: Mapping[str, Any]) -> CheckDetails:
    """The same, checks with the figures of all repeats that are stated of them; what has none is there without."""
    cells = []
    for cell in details.cells:
        checks = {check.name: check for check in cell.checks}
        for part, values in (stated.get(cell.case_id) or {}).items():
            if part.startswith(_CHECK):
                name = part.removeprefix(_CHECK)
                available = checks.get(name, CheckOfCell(name, 0, 0, 1, "", None))
                checks[name] = replace(available, values=tuple(values.values()))
        cells.append(replace(cell, checks=tuple(checks.values())))
    return replace(details, cells=tuple(cells))
