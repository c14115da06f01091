"""How long answers took, as tables: all calls together, what was not answered, and the slowest cases."""

from __future__ import annotations

from steelyard.analysis.latency_model import CellLatency, LatencyFigures, Spread
from steelyard.report import figures, wording
from steelyard.report.model import Report
from steelyard.report.tables import Column, Kind, Table, cell_name

_POINTS = ("p50", "p95", "p99", "mean", "min", "max")
_FEW_POINTS = ("p50", "p95", "max")


def latency(report: Report) -> list[tuple[str, str]]:
    """All answered calls, those that were not, first byte, queue and load; nothing where times are not looked at."""
    found = report.summary.latency
    if found is None or not wording.times_have_a_part(report):
        return []
    rows = [("Answered calls", _spread(found.overall, _POINTS))]
    if found.timeouts or found.failures:
        rows.append(("Not answered", _unanswered(found)))
    if found.first_byte is not None:
        rows.append(("First byte", _spread(found.first_byte, _FEW_POINTS)))
    if found.queued is not None:
        rows.append(("Sent late by", _spread(found.queued, _FEW_POINTS)))
    # An open load stands among the notes at the top, and what looks wrong among the warnings.
    if found.load and found.queued is None:
        rows.append(("Load", found.load))
    if found.bottleneck:
        rows.append(("Client", found.bottleneck))
    said = " ".join(report.header.suspect)
    return rows + [("Looks wrong", hint) for hint in found.hints if hint not in said]


def slowest_cases(report: Report, limit: int) -> Table:
    """The cases whose 95th percentile is highest, after those without any answered call."""
    found = report.summary.latency
    if found is None or not wording.times_have_a_part(report) or len(found.cells) < 2:
        return Table("", (), [])
    ordered = sorted(found.cells, key=_slowest_first)
    unanswered = any(cell.timeouts or cell.failures for cell in ordered[:limit])
    rows = [
        (
            cell_name(cell.case_id, cell.variant),
            *(figures.seconds(getattr(cell.spread, name)) for name in ("mean", "p50", "p95", "max")),
            f"{cell.spread.n:,}",
            *((f"{cell.timeouts:,}", f"{cell.failures:,}") if unanswered else ()),
        )
        for cell in ordered[:limit]
    ]
    titles = ("Mean", "p50", "p95", "Max", "n", *(("Timed out", "Failed") if unanswered else ()))
    more = found.n_cells - len(rows)
    note = f"{more:,} more are not shown" if more > 0 else ""
    return Table("Slowest cases", (Column("Case", Kind.TEXT), *map(Column, titles)), rows, note)


def _spread(spread: Spread, names: tuple[str, ...]) -> str:
    if not spread.n:
        return f"{figures.NOT_AVAILABLE} (no call was answered)"
    told = ", ".join(f"{name} {figures.seconds(getattr(spread, name))}" for name in names)
    return f"{told}; n {spread.n:,}"


def _unanswered(found: LatencyFigures) -> str:
    return f"{found.timeouts:,} timed out, {found.failures:,} failed otherwise: in no figure of time"


def _slowest_first(cell: CellLatency) -> tuple[bool, float]:
    return (cell.spread.n > 0, -(cell.spread.p95 or 0.0))
