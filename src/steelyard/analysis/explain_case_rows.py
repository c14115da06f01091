"""Stability and latency of every case under every variant, and which variant is best: traced to their samples."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from statistics import fmean, stdev
from typing import Any

from steelyard.analysis.explain_cells import Cell, CellFigure
from steelyard.analysis.explain_check_rows import case_names
from steelyard.analysis.explain_model import Behind, Computed
from steelyard.analysis.explain_parts import Parts, Reasons
from steelyard.analysis.explain_readings import Rules
from steelyard.analysis.explain_things import Figure, Read, Thing, Words
from steelyard.analysis.explain_times import answered_calls, called, failed_calls, spread_figures
from steelyard.analysis.intervals import t_two_sided
from steelyard.analysis.model import BestVariant, Difference, Estimate, Summary
from steelyard.analysis.paired_tests import least_p
from steelyard.analysis.stability import alikeness
from steelyard.analysis.stability_model import CellStability
from steelyard.records import Outcome, Sample
from steelyard.suite.formulas import asked_metric
from steelyard.suite.gates import NONE

_PAIRS = "every repeat of a cell is held against every other; items are paired by key"
_NO_SPREAD = 1e-12


def case_figures(summary: Summary, suite: Mapping[str, Any]) -> Iterator[Figure]:
    """Stability and latency case by case, their counts over all, and the best variant."""
    yield from _stability(summary, suite)
    if summary.latency is not None:
        words = Words(
            "cells with a call that was answered or failed", "answers from the cache are no calls", of="cells"
        )
        yield Figure(("latency", "cells"), "latency.n_cells", summary.latency.n_cells, words, lambda: called(words))
        for number, cell in enumerate(summary.latency.cells):
            own, place = (cell.case_id, cell.variant), f"latency.cells[{number}]"
            names, here = case_names(*own), _only(*own)
            yield from spread_figures(
                (*names, "latency"), f"{place}.spread", cell.spread, _within(answered_calls, here)
            )
            yield from failed_calls(names, place, cell.timeouts, cell.failures, here)
    if summary.best_variant is not None:
        yield from _best(summary.best_variant, suite)


def _only(case_id: str, variant: str) -> Callable[[Sample], bool]:
    return lambda sample: (sample.case_id, sample.variant) == (case_id, variant)


def _within(read: Read, here: Callable[[Sample], bool]) -> Read:
    def within(sample: Sample) -> Iterator[Thing]:
        if here(sample):
            yield from read(sample)

    return within


def _stability(summary: Summary, suite: Mapping[str, Any]) -> Iterator[Figure]:
    found = summary.stability
    if found is None:
        return

    def figure(names: tuple[str, ...], place: str, reported: Estimate | float, formula: str, told: _Told) -> Figure:
        unit = "share" if isinstance(reported, Estimate) else "count"
        words = Words(formula, _PAIRS, of=told.of, unit=unit, interval="none: one case is no sample of cases")
        return Figure(names, place, reported, words, lambda: _Stable(suite, told))

    for name, n in found.comparisons.items():
        formula = "items in either of two repeats" if name == "presence" else "items in both of two repeats"
        told = _Told(name if name == "presence" else "shared", own=None)
        yield figure(("stability", "comparisons", name), f"stability.comparisons.{name}", n, formula, told)
    yield figure(
        ("stability", "items", "keyless"), "stability.keyless", found.keyless, "items without the key", _Told("keyless")
    )
    yield figure(
        ("stability", "cells", "all"),
        "stability.n_cells",
        found.n_cells,
        "cells of which items may be asked for: all but those whose answers were read and have none",
        _Told("cells"),
    )
    for number, cell in enumerate(found.cells):
        yield from _stable_cell(cell, f"stability.cells[{number}]", list(found.how), figure)


def _stable_cell(cell: CellStability, place: str, fields: list[str], figure: Any) -> Iterator[Figure]:
    own = (cell.case_id, cell.variant)
    names = (*case_names(*own), "stability")
    runs, missing = "repeats whose answer could be read", "planned repeats without such an answer"
    yield figure((*names, "runs"), f"{place}.runs", cell.runs, runs, _Told("runs", own))
    yield figure((*names, "missing"), f"{place}.missing", cell.missing, missing, _Told("missing", own))
    if cell.presence.value is not None:
        formula, told = "items in both of two repeats / items in either", _Told("presence_share", own, "items")
        yield figure((*names, "presence"), f"{place}.presence", cell.presence, formula, told)
    for number, name in enumerate(fields):
        estimate = cell.fields[name]
        if estimate.value is not None:
            formula, told = "how alike the field is / items in both repeats", _Told("field", own, "items", number)
            yield figure((*names, "field", name), f"{place}.fields.{name}", estimate, formula, told)


class _Told:
    """What is asked of the items of all cells, or of one."""

    def __init__(self, what: str, own: tuple[str, str] | None = None, of: str = "cells", field: int = 0) -> None:
        self.what, self.own, self.of, self.field = what, own, of, field


class _Stable(CellFigure):
    """A figure of the items of cells in the making."""

    def __init__(self, suite: Mapping[str, Any], told: _Told) -> None:
        super().__init__(asked_metric("stability.presence"), suite, 0)
        self._told = told

    def add(self, sample: Sample) -> None:
        if self._told.own in (None, (sample.case_id, sample.variant)):
            super().add(sample)

    def ended(self, absent: int) -> Parts:  # noqa: ARG002 - cells that never came are counted as cells
        rows, value, n = [], 0.0, 0
        for (case, variant), cell in self._cells.items():
            above, below, said = self._one(cell)
            value, n = value + above, n + below
            rows.append(Behind(case, variant, None, above, said))
        if self._told.what == "cells":
            value += self._never_came()
        shares = self._told.what in ("presence_share", "field")
        inputs = (("sum", value), ("of", float(n)))
        rows = sorted((row for row in rows if row.value or self._told.own), key=lambda row: -row.value)
        computed = Computed((value / n if n else None) if shares else value, n, 0, inputs)
        return Parts(computed, (), (), "highest first", tuple(rows))

    def _one(self, cell: Cell) -> tuple[float, int, str]:
        """What one cell adds above and below the line, and in words."""
        how = list(((self._suite.get("stability") or {}).get("fields") or {}).values())
        found, runs = alikeness(cell.items, how), len(cell.items)
        planned = max(len(cell.states), self._repeats)
        said = f"{runs} of {planned} repeats read; {found.shared} items in both, {found.either} in either"
        above, below = {
            "presence": (found.either, 1),
            "shared": (found.shared, 1),
            "keyless": (sum(not item.key for answer in cell.items for item in answer), 1),
            "cells": (not (cell.read and not cell.items), 1),
            "runs": (runs, 1),
            "missing": (planned - runs, 1),
            "presence_share": (found.shared, found.either),
            "field": (found.alike[self._told.field] if found.alike else 0.0, found.shared),
        }[self._told.what]
        return float(above), below, said


def _best(found: BestVariant, suite: Mapping[str, Any]) -> Iterator[Figure]:
    how = "repeats of a case are averaged first; cases for which one of the two has no score are missing"
    pairs = "made for all pairs of variants (Bonferroni)"
    for number, each in enumerate(found.differences):
        place, name = f"best_variant.differences[{number}]", ("best", each.other or NONE)
        interval = f"Student's t over the differences of cases, {pairs}"
        words = Words(
            f"mean over cases of the score of {each.first or NONE} - that of {each.other or NONE}",
            how,
            "cases",
            "difference",
            interval,
            "lowest first",
        )
        yield Figure(name, f"{place}.difference", each.estimate, words, _against(each, suite, False))
        if each.p is not None:
            words = Words(
                f"two-sided p of the paired t-test, at least that of the sign test, {pairs}", how, "cases", "number"
            )
            yield Figure((*name, "p"), f"{place}.p", each.p, words, _against(each, suite, True))


def _against(difference: Difference, suite: Mapping[str, Any], as_p: bool) -> Callable[[], _Against]:
    return lambda: _Against(difference, suite, as_p)


class _Against:
    """One variant against another, case by case."""

    def __init__(self, difference: Difference, suite: Mapping[str, Any], as_p: bool) -> None:
        self._pair, self._suite, self._as_p = (difference.first, difference.other), suite, as_p
        self._rules = Rules(suite)
        self._scores: dict[str, dict[str, list[float]]] = {}
        self._variants: set[str] = set()

    def add(self, sample: Sample) -> None:
        self._variants.add(sample.variant)
        found = self._scores.setdefault(sample.case_id, {})
        score = 0.0 if sample.outcome is Outcome.MALFORMED else sample.score
        if not self._rules.left_out(sample) and score is not None:
            found.setdefault(sample.variant, []).append(score)

    def ended(self, absent: int) -> Parts:  # noqa: ARG002 - missing are cases
        first, other = self._pair
        rows, excluded = [], Reasons()
        for case, scores in self._scores.items():
            if first in scores and other in scores:
                mine, theirs = fmean(scores[first]), fmean(scores[other])
                rows.append(Behind(case, "", None, mine - theirs, f"{mine:.4g} against {theirs:.4g}"))
            else:
                excluded.add("one of the two has no score", case)
        planned = max(self._planned(), len(self._scores))
        if never := planned - len(self._scores):
            excluded.add("planned and never came", n=never)
        values = [row.value for row in rows]
        value = (self._p(values) if self._as_p else fmean(values)) if values else None
        rows.sort(key=lambda row: row.value)
        inputs = (("sum of differences", math.fsum(values)), ("cases", float(len(values))))
        computed = Computed(value, len(values), planned - len(values), inputs)
        return Parts(computed, excluded.counted(), (), "lowest first", tuple(rows))

    def _planned(self) -> int:
        asked = max(len(self._suite.get("variants") or ()), len(self._variants))
        samples_a_case = asked * max(1, int(self._suite.get("repeats") or 1))
        return int(self._suite.get("n_planned") or 0) // samples_a_case

    def _p(self, values: list[float]) -> float | None:
        n, pairs = len(values), len(self._variants) * (len(self._variants) - 1) // 2
        if n < 2:
            return None
        mean, spread = fmean(values), stdev(values)
        if spread <= _NO_SPREAD:
            return min(1.0, pairs * (least_p(n) if abs(mean) > _NO_SPREAD else 1.0))
        moved = sum(abs(value) > _NO_SPREAD for value in values)
        return min(1.0, pairs * max(t_two_sided(mean / (spread / math.sqrt(n)), n - 1), least_p(moved)))
