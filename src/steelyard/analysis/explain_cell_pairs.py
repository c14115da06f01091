"""A figure of a comparison over cells (a case under a variant, all repeats), traced to the cells of both runs."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping

from steelyard.analysis.compare_model import MetricChange
from steelyard.analysis.explain_model import BehindPair, Computed, PairExplanation
from steelyard.analysis.explain_pairs import most_against, why_not_known
from steelyard.analysis.explain_parts import Reasons
from steelyard.analysis.explain_readings import Reading
from steelyard.suite.gates import Gate

Cells = Mapping[tuple[str, str, str], Reading | None]
"""What the cells of a run bring, by case, variant and check."""
_FORMULAS = {
    "cases.held": "cells whose every check holds / n, of A and of B; B - A",
    "checks.held": "checks of cells that hold / n, of A and of B; B - A",
    "stability.presence": "mean over cells of items in both repeats / items in either, of A and of B; B - A",
    "stability.<field>": "mean over cells of how alike the field is, of A and of B; B - A",
}
_HOW = "over what both runs have, of cases with the same question and truth, where it is known on both sides"


def explain_cell_pairs(
    gate: Gate, change: MetricChange, a: Cells, b: Cells, same: Collection[str], method: str
) -> PairExplanation:
    """The figure with everything behind it; `same` are the cases whose cells are compared."""
    excluded, rows = Reasons(), []
    missing = 0
    for key in [*a, *(key for key in b if key not in a)]:
        if why := _not_shared(key, a, b, same):
            excluded.add(why, key[0])
            continue
        before, after = a[key], b[key]
        if before is None and after is None:
            excluded.add("the case asks for no items", key[0])
            continue
        before, after = before or Reading(None, "nothing was listed"), after or Reading(None, "nothing was listed")
        if before.value is None or after.value is None:
            excluded.add(why_not_known(before, after), key[0])
            missing += 1
        else:
            rows.append(BehindPair(key[0], key[1], None, before.value, after.value, key[2]))
    order, ranked = most_against(change, rows)
    return PairExplanation(
        metric=gate.metric,
        formula=_FORMULAS[gate.pattern],
        how=_HOW,
        of="checks of cells" if gate.pattern == "checks.held" else "cells",
        change=change,
        a=_mean([row.a for row in rows], missing),
        b=_mean([row.b for row in rows], missing),
        interval=method,
        excluded=excluded.counted(),
        order=order,
        behind=ranked,
    )


def _not_shared(key: tuple[str, str, str], a: Cells, b: Cells, same: Collection[str]) -> str:
    if key not in a or key not in b:
        return f"only in {'A' if key in a else 'B'}"
    return "" if key[0] in same else "another question or truth"


def _mean(values: list[float], missing: int) -> Computed:
    total, n = math.fsum(values), len(values)
    return Computed(total / n if n else None, n, missing, (("sum", total), ("n", float(n))))
