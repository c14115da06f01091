"""What the average would be if the errors of one code were mended, code by code: what to mend first.

Each finding says by what share of its scale its component would rise. A sample's score rises by that times the
component's part of the weights it was weighed with, never above 1. An answer that could not be read would be worth
at most 1: nobody can tell what it would have said.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from steelyard.analysis.model import CodeFigure, Slice
from steelyard.analysis.severity import rank
from steelyard.metrics.table import Table
from steelyard.stats.arrays import Array, add_at, pieces
from steelyard.stats.groups import Groups
from steelyard.stats.intervals import Estimate


def code_figures(
    table: Table, run: Groups, overall: Slice, severities: Mapping[str, str] | None = None
) -> list[CodeFigure]:
    """Every code that was found, what is worth most first; `run` is the whole run as one group.

    Codes of what weighs nothing come last, the gravest and most frequent of them first. A code
    with findings that no component stands behind (runs of before gains were noted) has no mended average.
    """
    if not overall.findings:
        return []
    mending = _Mending(table)
    found = [_figure(code, mending, table, run, overall) for code in overall.findings]
    known = severities or {}

    def place(figure: CodeFigure) -> tuple[bool, float, int, str]:
        if figure.weighs:
            return (False, -figure.gain, -figure.count, figure.code)
        return (True, rank(known.get(figure.code, "")), -overall.finding_samples.get(figure.code, 0), figure.code)

    return sorted(found, key=place)


def _figure(code: str, mending: _Mending, table: Table, run: Groups, overall: Slice) -> CodeFigure:
    average = overall.average
    scores, at_most = mending.mended(table.codes.index(code))
    if scores is None or average.value is None:
        mended, gain = Estimate(None, 0, overall.n_planned), 0.0
    else:
        mended = run.means(scores)[0]
        # Rounded, so that equal gains do not change places with the order in which samples were added up.
        gain = max(0.0, round((mended.value or 0.0) - average.value, 12))
        mended = mended if gain else average
    weighs = mending.weighs(table.codes.index(code))
    return CodeFigure(code, overall.findings[code], overall.finding_rates[code], mended, gain, at_most, weighs)


def mended_scores(table: Table, code: str) -> Array:
    """The scores as they would be without the findings of a code, whose worth is known."""
    scores, _ = _Mending(table).mended(table.codes.index(code))
    return table.score() if scores is None else scores


class _Mending:
    """The scores of a run as they are, and what each finding would add to them."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._score = table.score()
        self._origin = table.finding_origin()
        self._part = np.empty(0)
        if self._origin is not None:
            # The last is what a code below 0 points at.
            self._part = np.array([*(table.weights.get(name, 0.0) for name in self._origin[1]), 0.0])
            self._known = np.array([*(name in table.scales for name in self._origin[1]), False])
            self._total = table.total_weight()

    def mended(self, code: int) -> tuple[Array | None, bool]:
        """The scores with all findings of the code mended, and whether some could not be read; None when not known."""
        table = self._table
        scores, at_most = self._score.copy(), False
        for piece in pieces(len(table.finding_sample)):
            here = np.flatnonzero(table.finding_code[piece] == code)
            sample = table.finding_sample[piece][here].astype(int)
            unread = table.malformed[sample]
            at_most = at_most or bool(unread.any())
            scores[sample[unread]] = 1.0
            rises = self._rises(piece, here[~unread], sample[~unread])
            if rises is None:
                return None, at_most
            add_at(scores, sample[~unread], rises)
        return np.minimum(scores, 1.0, out=scores), at_most

    def weighs(self, code: int) -> bool:
        """False when all findings of the code are of components that count nothing in the score."""
        if self._origin is None:
            return True
        table = self._table
        for piece in pieces(len(table.finding_sample)):
            here = np.flatnonzero(table.finding_code[piece] == code)
            component = self._origin[0][piece][here].astype(int)
            unread = table.malformed[table.finding_sample[piece][here].astype(int)]
            if bool((unread | ~self._known[component] | (self._part[component] > 0)).any()):
                return True
        return False

    def _rises(self, piece: slice, here: Array, sample: Array) -> Array | None:
        if not len(here):
            return np.empty(0)
        if self._origin is None:
            return None
        component = self._origin[0][piece][here].astype(int)
        if not self._known[component].all():
            return None
        gain = self._origin[2][piece][here].astype(float)
        part, total = self._part[component], self._total[sample]
        rises: Array = gain * np.divide(part, total, out=np.zeros(len(here)), where=total > 0)
        return rises


def codes_by_component(table: Table) -> dict[str, set[str]]:
    """The codes of the findings that each component has made."""
    origin = table.finding_origin()
    if origin is None:
        return {}
    component, names, _ = origin
    n_codes = len(table.codes)
    seen = np.zeros((len(names) + 1) * n_codes, dtype=bool)
    for piece in pieces(len(component)):
        # A code below 0 takes the place after the last name.
        place = component[piece].astype(int) % (len(names) + 1)
        seen[place * n_codes + table.finding_code[piece]] = True
    table_of = seen.reshape(-1, n_codes)
    return {name: {table.codes[i] for i in np.flatnonzero(table_of[place])} for place, name in enumerate(names) if name}
