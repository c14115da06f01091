"""The grid of cases by variants: its cells hold the repeats of one case under one variant."""

from __future__ import annotations

from typing import Any

import numpy as np

from steelyard.analysis.pieces import Array, add_at, pieces, tally, translated
from steelyard.analysis.table import Table


class Cells:
    """Which cell each sample is in. Cells are numbered case by case, variants in the order the suite declares them."""

    def __init__(self, table: Table, suite: dict[str, Any]) -> None:
        declared = list(suite.get("variants") or ())
        counts = tally(table.variant, len(table.variants))
        present = [name for i, name in enumerate(table.variants) if counts[i]]
        rank = {name: declared.index(name) if name in declared else len(declared) for name in present}
        self.variants = sorted(present, key=lambda name: (rank[name], name))
        self.n = len(table.case_ids) * len(self.variants)
        place = {name: i for i, name in enumerate(self.variants)}
        variant = translated(table.variant, [place.get(name, 0) for name in table.variants])
        width = np.min_scalar_type(-max(1, self.n))
        self.of_sample = table.case.astype(width) * len(self.variants) + variant
        self._table = table

    def name(self, cell: int) -> str:
        """The cell in words: its case, and its variant unless that has no name."""
        case, variant = divmod(cell, len(self.variants))
        name = self.variants[variant]
        return f"{self._table.case_ids[case]} ({name})" if name else self._table.case_ids[case]

    def count(self, mask: Array) -> Array:
        """How many samples of each cell `mask` marks."""
        found = np.zeros(self.n, dtype=np.int32)
        for piece in pieces(len(mask)):
            add_at(found, self.of_sample[piece][mask[piece]])
        return found

    def means(self, values: Array) -> Array:
        """The mean of each cell over the samples whose value is known, as a table of cases by variants; NaN of none."""
        total, n = np.zeros(self.n), self.count(~np.isnan(values))
        for piece in pieces(len(values)):
            known = ~np.isnan(values[piece])
            add_at(total, self.of_sample[piece][known], values[piece][known])
        total[n == 0] = np.nan
        total /= np.maximum(n, 1)
        return total.reshape(-1, len(self.variants))
