"""The line under a table that says how its intervals and p-values were made, with the seed of what was drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from steelyard.analysis.compare_model import MetricChange
from steelyard.analysis.resampling import SEED
from steelyard.analysis.studentised import FEW_CASES, FEWEST, MOST, SHORT_INTERVALS

if TYPE_CHECKING:
    from steelyard.report.tables import Table

OF_A_RUN = f"95 %: Wilson, order statistics, studentised bootstrap | seed {SEED}"
AND_BASELINES = f"{OF_A_RUN} | against a baseline: paired, as compare does"
OF_A_JUDGE = "95 %: Wilson; kappa and alpha: jackknife over cases; correlations: Fisher | nothing drawn"
_MCNEMAR, _QUANTILE, _DRAWN = "exact McNemar", "quantile", "drawn sign flips"
_BOOTSTRAP, _STUDENT = "studentised bootstrap", "Student t"


def signed(table: Table) -> Table:
    """A table of a run, with the line if intervals stand in it and it has none of its own."""
    has_intervals = any("interval" in column.title.lower() for column in table.columns)
    return replace(table, signature=OF_A_RUN) if has_intervals and not table.signature else table


def of_changes(changes: Sequence[MetricChange], adjusted: str, *, intervals: bool = True) -> str:
    """What the rows of a table of a comparison stand on: tests, adjustment, intervals, and the seed if one was used."""
    tested = [change for change in changes if change.p is not None]
    if not tested:
        return ""
    tests = list(dict.fromkeys(change.test for change in tested))
    bounded = [change for change in tested if intervals and change.difference.low is not None]
    ways = list(dict.fromkeys(map(_interval, bounded)))
    drawn = _BOOTSTRAP in ways or any(_DRAWN in test for test in tests)
    parts = [f"p: {', '.join(tests)}, {adjusted}"]
    parts += [f"95 %: {', '.join(ways)}"] if ways else []
    parts.append(f"seed {SEED}" if drawn else "nothing drawn")
    parts += [SHORT_INTERVALS] if any(map(_may_be_short, bounded)) else []
    return " | ".join(parts)


def _interval(change: MetricChange) -> str:
    if change.test == _MCNEMAR:
        return "Bonett and Price"
    if change.test == _QUANTILE:
        return "Woodruff"
    if change.runs is not None:
        return f"{_STUDENT} over runs"
    moved, known = change.rose + change.fell, change.rose + change.fell + change.level
    if known and 2 * moved < known:
        return f"{_STUDENT} with two more cases"
    return _BOOTSTRAP if FEWEST <= change.difference.n <= MOST else _STUDENT


def _may_be_short(change: MetricChange) -> bool:
    """True for an interval that may hold less than it says: few values without ends (design note 6, by simulation)."""
    return change.scale is None and change.test != _QUANTILE and not change.runs and change.difference.n <= FEW_CASES
