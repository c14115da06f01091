"""Figures that a file of another tool states, for charts: it holds no calls or answers to compute them by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from steelyard.analysis.checks_model import CheckOfCell, ChecksFigures
from steelyard.analysis.latency_model import CellLatency, LatencyFigures, Spread
from steelyard.analysis.model import Estimate
from steelyard.analysis.stability import CellStability, StabilityFigures

_PRESENCE = "presence"
_CHECK = "check."
_POINTS = ("mean", "min", "max", "p50", "p95", "p99")


def stated_latency(stated: Mapping[str, Any]) -> LatencyFigures | None:
    """What is stated of the times of each case; an `n` of 0 where it is not said. None when nothing is."""
    found = {case: parts.get("latency") or {} for case, parts in stated.items()}
    if not any("mean" in times for times in found.values()):
        return None
    cells = tuple(
        CellLatency(
            case,
            "",
            Spread(int(times.get("n", 0)), **{name: times.get(name) for name in _POINTS}),
            int(times.get("timeouts", 0)),
            int(times.get("failures", 0)),
        )
        for case, times in found.items()
    )
    timeouts, failures = sum(cell.timeouts for cell in cells), sum(cell.failures for cell in cells)
    return LatencyFigures(Spread(0), timeouts, failures, cells=cells, n_cells=len(cells))


def stated_stability(stated: Mapping[str, Any]) -> StabilityFigures | None:
    """What is stated of how alike the repeats of each case are; None when nothing is."""
    found = {case: parts.get("stability") or {} for case, parts in stated.items()}
    names = list(dict.fromkeys(name for shares in found.values() for name in shares if name != _PRESENCE))
    if not any(found.values()):
        return None
    cells = tuple(
        CellStability(case, "", 0, 0, _share(shares, _PRESENCE), {name: _share(shares, name) for name in names})
        for case, shares in found.items()
    )
    nothing = Estimate(None, 0)
    return StabilityFigures("", dict.fromkeys(names, ""), nothing, cells=cells, n_cells=len(cells))


def with_stated_values(figures: ChecksFigures, stated: Mapping[str, Any]) -> ChecksFigures:
    """The same, checks with the figures of all repeats that are stated of them; what has none is there without."""
    cells = []
    for cell in figures.cells:
        checks = {check.name: check for check in cell.checks}
        for part, values in (stated.get(cell.case_id) or {}).items():
            if part.startswith(_CHECK):
                name = part.removeprefix(_CHECK)
                known = checks.get(name, CheckOfCell(name, 0, 0, 1, "", None))
                checks[name] = replace(known, values=tuple(values.values()))
        cells.append(replace(cell, checks=tuple(checks.values())))
    return replace(figures, cells=tuple(cells))


def _share(shares: Mapping[str, float | None], name: str) -> Estimate:
    return Estimate(shares.get(name), 0)
