"""How alike repeats are, as tables: over all cases with what that means, and the cases that differ most."""

from __future__ import annotations

from collections.abc import Sequence

from steelyard.analysis.model import Estimate
from steelyard.analysis.stability_model import BANDS, CellStability, StabilityFigures, band_of
from steelyard.report import figures
from steelyard.report.model import Report
from steelyard.report.tables import Column, Kind, Table, cell_name


def stability(report: Report) -> Table:
    """Presence and every declared field over all cases, each with its n, its comparisons and the band it is in."""
    found = report.summary.stability
    if found is None:
        return Table("", (), [])
    named = {"presence": found.presence}
    named |= {name: found.fields.get(name, Estimate(None, 0)) for name in found.how}
    rows = [
        (
            f"{name} ({found.how[name]})" if name in found.how else name,
            figures.percent(estimate.value),
            figures.interval(estimate),
            band_of(estimate.value),
            f"{found.comparisons.get(name, 0):,}",
            _cases(estimate),
        )
        for name, estimate in named.items()
    ]
    titles = ("Alike", "95 % interval", "Band", "Comparisons", "Cases")
    return Table(
        "Stability over repeats", (Column("Items", Kind.TEXT), *map(Column, titles)), rows, _bands(found, rows)
    )


def _cases(estimate: Estimate) -> str:
    return f"{estimate.n:,}, {estimate.n_missing:,} n/a" if estimate.n_missing else f"{estimate.n:,}"


def _bands(found: StabilityFigures, rows: Sequence[tuple[str, ...]]) -> str:
    """What the bands in the table mean, and what the items are paired by."""
    told = [f"{band}: {BANDS[band]}" for band in dict.fromkeys(row[3] for row in rows)]
    paired = f"items are paired by {found.key} over all pairs of repeats; presence: both have it"
    keyless = f"{figures.counted(found.keyless, 'item')} came without {found.key}" if found.keyless else ""
    return "; ".join(filter(None, [*told, paired, keyless]))


def least_stable(report: Report, limit: int) -> Table:
    """The cases whose repeats differ most, the worst first; those that are the same every time are left out."""
    found = report.summary.stability
    if found is None:
        return Table("", (), [])
    differing = sorted((cell for cell in found.cells if _least(cell) < 1.0), key=_least)
    rows = [
        (
            cell_name(cell.case_id, cell.variant),
            *(_share(each) for each in (cell.presence, *(_of(cell, name) for name in found.how))),
            f"{cell.runs:,} of {cell.runs + cell.missing:,}",
        )
        for cell in differing[:limit]
    ]
    columns = (Column("Case", Kind.TEXT), *map(Column, ("presence", *found.how)), Column("Answers read"))
    return Table("Least stable", columns, rows, _note(found, len(differing), len(rows)))


def _note(found: StabilityFigures, n_differing: int, n_shown: int) -> str:
    """How many more differ, how many are the same every time, and of how many nothing could be compared."""
    told = ["n: comparisons"]
    if n_differing > n_shown:
        told.append(f"{n_differing - n_shown:,} more differ")
    same = sum(_least(cell) == 1.0 for cell in found.cells)
    told += [f"{same:,} {'is' if same == 1 else 'are'} the same every time"] if same else []
    nothing = len(found.cells) - same - n_differing
    told += [f"{nothing:,} {'has' if nothing == 1 else 'have'} nothing to compare"] if nothing else []
    unknown = found.n_cells - len(found.cells)
    return "; ".join(told + ([f"{unknown:,} are not listed one by one"] if unknown > 0 else []))


def _share(estimate: Estimate) -> str:
    if estimate.value is None:
        return figures.NOT_AVAILABLE
    return f"{figures.percent(estimate.value)} (n {estimate.n:,})"


def _of(cell: CellStability, name: str) -> Estimate:
    return cell.fields.get(name, Estimate(None, 0))


def _least(cell: CellStability) -> float:
    """The lowest of the cell's shares; more than 1 where it has nothing to compare."""
    values = [each.value for each in (cell.presence, *cell.fields.values()) if each.value is not None]
    return min(values, default=2.0)
