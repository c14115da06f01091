"""Whether the same judge reads the same answers otherwise than it did: then a difference is not the system's."""

from __future__ import annotations

import numpy as np

from steelyard.analysis.compared_run import ComparedRun
from steelyard.analysis.number_text import percentage
from steelyard.analysis.paired_tests import SIGNIFICANT, case_starts, paired_mean
from steelyard.analysis.pairing import Pairing
from steelyard.records import Mode

_FEWEST_CASES = 2


def drift_in_words(a: ComparedRun, b: ComparedRun, pairing: Pairing) -> str | None:
    """By how much, for two runs with one instrument; None when it does not, or nothing shows it.

    Of an answer that is the same to the byte in both runs the system has no part in any change.
    """
    # Code reads the same answer alike; a model may not.
    if a.digests is None or b.digests is None or a.mode != b.mode or a.mode not in (Mode.MODEL, Mode.BASIC):
        return None
    here, there = a.digests()[pairing.first], b.digests()[pairing.second]
    judged = (a.columns.mode[pairing.first] >= 0) & (b.columns.mode[pairing.second] >= 0)
    rows = np.flatnonzero((here == there) & (here != 0) & judged)
    starts = case_starts(pairing.case[rows])
    if len(starts) < _FEWEST_CASES:
        return None
    moved = b.table.score()[pairing.second[rows]] - a.table.score()[pairing.first[rows]]
    found = paired_mean(np.add.reduceat(moved, starts), np.diff(np.append(starts, len(rows))), 1.0)
    if found.difference is None or found.p is None or found.p >= SIGNIFICANT:
        return None
    by = percentage(abs(found.difference))
    far = f"{by:.1f}" if by else "less than 0.1"
    return (
        f"the judge has drifted: it scores {len(rows):,} answers that are the same in both runs {far} points"
        f" {'higher' if found.difference > 0 else 'lower'} in B"
    )
