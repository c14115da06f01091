"""Which grave errors are in the samples that fail, where no gain tells: their components weigh nothing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from steelyard.analysis.model import CodeFigure, FailingCodes
from steelyard.analysis.severity import GRAVE, rank, severities
from steelyard.metrics.table import Table
from steelyard.suite.models import SuiteDescription


def failing_codes(table: Table, codes: Sequence[CodeFigure], suite: SuiteDescription) -> FailingCodes | None:
    """The critical and major codes of what weighs nothing, by the failing samples they are in; None without any."""
    known = severities(suite)
    grave = [figure.code for figure in codes if not figure.weighs and known.get(figure.code) in GRAVE]
    failing = table.passed() == 0
    if not grave or not failing.any():
        return None
    counts: dict[str, int] = {}
    any_of_them = np.zeros(table.n, dtype=bool)
    for code in grave:
        has = np.zeros(table.n, dtype=bool)
        has[table.finding_sample[table.finding_code == table.codes.index(code)]] = True
        counts[code] = int((has & failing).sum())
        any_of_them |= has & failing
    # What a judge gave follows from what scorers found: the cause stands before it.
    judged = {each.finding_code for each in suite.components if each.kind in ("dimension", "flag")}
    order = sorted(
        (code for code in grave if counts[code]), key=lambda code: (code in judged, rank(known[code]), -counts[code])
    )
    if not order:
        return None
    return FailingCodes(int(failing.sum()), int(any_of_them.sum()), {code: counts[code] for code in order})
