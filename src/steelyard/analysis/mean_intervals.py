"""The intervals of the means of groups by the studentised bootstrap, where a scale has no ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from steelyard.analysis.estimates import Scale, bounded
from steelyard.analysis.model import Estimate
from steelyard.analysis.pieces import Array
from steelyard.analysis.studentised import FEWEST, MOST, studentised

if TYPE_CHECKING:
    from steelyard.analysis.groups import Groups


def resampled(groups: Groups, found: list[Estimate], values: Array, clusters: Array, scale: Scale) -> list[Estimate]:
    """The means with the interval of the studentised bootstrap in groups of few clusters."""
    few = (clusters >= FEWEST) & (clusters <= MOST)
    if not few.any():
        return found
    sums, sizes = groups.by_cluster(values), groups.by_cluster(np.where(np.isnan(values), np.nan, 1.0))
    at = np.flatnonzero(few[groups.cluster_group] & (sizes > 0))
    at = at[np.argsort(groups.cluster_group[at], kind="stable")]
    for mine in np.split(at, np.flatnonzero(np.diff(groups.cluster_group[at])) + 1):
        g = int(groups.cluster_group[mine[0]])
        before = found[g]
        if before.low is not None and before.value is not None:
            bounds = studentised(sums[mine], sizes[mine])
            found[g] = bounded(before.value, before.n, before.n_missing, bounds, scale)
    return found
