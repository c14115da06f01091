"""Judge drift, measured on answers that were judged twice."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from steelyard.frozen import frozen
from steelyard.pairing.pairs import Pairing
from steelyard.pairing.runs import ComparedRun
from steelyard.records import Anchors, Mode
from steelyard.stats.arrays import Array
from steelyard.stats.intervals import Z
from steelyard.stats.paired import FEWEST_TO_SHOW, SIGNIFICANT, Paired, case_starts, paired_mean
from steelyard.store.headers import arm_of
from steelyard.wording import percentage


def unseen_spread(n_cases: int) -> float:
    """Half the interval of a shift that all of so many cases agree on: that they agree is no certainty, and no score
    varies more than a rate (Bonett and Price's interval when none moved)."""
    return Z * math.sqrt(2) / (n_cases + 2)


def readings(run: ComparedRun, *, by_pass: bool) -> Array:
    """For each sample what it adds to the headline number; NaN where it is inconclusive."""
    table = run.table
    score, passed = table.score(), table.passed()
    values = passed.astype(float) if by_pass else score
    available = table.conclusive & ~np.isnan(score)
    if run.passes:
        available &= passed >= 0
    return np.where(available, values, np.nan)


FEWEST_CASES = 2
"""Anchors of fewer cases show no spread, and so nothing about other answers."""
_STEPS = 4
"""Bands lie around the quarters of the scale: those of 1 to 5 around 1, 2, 3, 4 and 5."""
_MOST_UNCOVERED = 0.1
"""Of the judged pairs; where anchors are silent about more, a drift has not been measured."""


@frozen
class Drift:
    """What is known of how the same judge reads the same answers in both runs."""

    n: int
    """Anchors."""
    n_reread: int
    """Anchors whose answers are not the same in both runs."""
    shift: Paired
    """By how much B's judge scores them higher, every band counting as much as it has pairs."""
    headline: Paired
    """The same of what the headline number is made of."""
    uncovered: int
    """Judged pairs in bands without anchors."""
    judged: int
    is_due: bool = True
    """False where it need not be measured, but only told when it shows: code is taken to read the same answer alike,
    and the two arms of an experiment are judged side by side."""

    @property
    def is_shown(self) -> bool:
        """Whether it is beyond noise."""
        return self.shift.p is not None and self.shift.p < SIGNIFICANT

    @property
    def in_words(self) -> str:
        """By how much the judge has drifted; "" when that is not beyond noise."""
        if not self.is_shown or self.shift.difference is None:
            return ""
        by = percentage(abs(self.shift.difference))
        far = f"{by:.1f}" if by else "less than 0.1"
        which = "that it has read in both" if self.n_reread else "that are the same in both runs"
        way = "higher" if self.shift.difference > 0 else "lower"
        return f"the judge has drifted: it scores {self.n:,} answers {which} {far} points {way} in B"

    @property
    def not_measured(self) -> str:
        """Why nobody can say whether the judge has drifted; "" when enough anchors show it."""
        if not self.is_due or not self.judged:
            return ""
        if self.shift.n_cases < FEWEST_TO_SHOW:
            read = f"{self.shift.n_cases} of {FEWEST_TO_SHOW} cases needed have" if self.n else "no case has"
            return f"drift of the judge was not measured: {read} an answer that it has read in both runs"
        if self.uncovered > _MOST_UNCOVERED * self.judged:
            return (
                f"drift of the judge was not measured for {self.uncovered:,} of {self.judged:,} answers: it scored"
                f" none with such scores in both runs"
            )
        return ""

    def doubt(self, difference: float | None) -> str:
        """Why a difference of the headline may be the judge's all the same; "" when anchors rule that out."""
        if self.not_measured or not self.is_due or difference is None or self.headline.difference is None:
            return self.not_measured
        low, high = self.headline.low, self.headline.high
        if low is None or high is None:
            half = unseen_spread(self.headline.n_cases)
            low, high = self.headline.difference - half, self.headline.difference + half
        if not min(low, 0.0) <= difference <= max(high, 0.0):
            return ""
        ends = f"{percentage(low):+.1f} to {percentage(high):+.1f} points"
        return f"{self.n:,} answers that the judge scored in both runs do not rule out a drift as large ({ends})"


def band_of(score: Array) -> Array:
    """The band of each score, 0 to 4; what has none is in the lowest."""
    return np.asarray(np.floor(np.nan_to_num(score) * _STEPS + 0.5))


def covered_by(anchors: Array, band: Array, case: Array) -> Iterator[tuple[Array, Array]]:
    """Marks of each band that enough anchors lie in, and of these."""
    for item in np.unique(band[anchors]).tolist():
        here = band == item
        if len(np.unique(case[here & anchors])) >= FEWEST_CASES:
            yield here, here & anchors


def drift_between(a: ComparedRun, b: ComparedRun, pairing: Pairing) -> Drift | None:
    """What two runs with one signature show of their judge; None without one."""
    if a.mode != b.mode or a.mode is None:
        return None
    first, second = pairing.first, pairing.second
    judged = judged_in_both(a, b, first, second)
    same = identical(a, b, first, second)
    score = a.table.score()[first]
    results = []
    for by_pass in (False, a.passes and b.passes):
        before, after = readings(a, by_pass=by_pass)[first], readings(b, by_pass=by_pass)[second]
        moved = np.where(same, after, reread(a, b, first, by_pass=by_pass)) - before
        results.append(drift_of(moved, same, judged, band_of(score), pairing.unit))
    by_score, headline = results
    return replace(by_score, headline=headline.shift, is_due=must_be_measured(a, b))


def drift_of(moved: Array, same: Array, judged: Array, band: Array, case: Array) -> Drift:
    """What anchors show: `moved` is NaN for pairs that are none, and `same` marks identical answers."""
    anchors = judged & ~np.isnan(moved)
    weight, available = anchors.astype(float), anchors.copy()
    for here, drawn in covered_by(anchors, band, case):
        available |= here & judged
        weight[drawn] = (here & judged).sum() / drawn.sum()
    rows = np.flatnonzero(anchors)
    shift, starts = Paired(None, 0), case_starts(case[rows])
    if len(rows):
        sums, sizes = (np.add.reduceat(item[rows], starts) for item in (np.nan_to_num(moved) * weight, weight))
        shift = paired_mean(sums, sizes, 1.0)
    reread_alone, silent = int((anchors & ~same).sum()), int((judged & ~available).sum())
    return Drift(len(rows), reread_alone, shift, shift, silent, int(judged.sum()))


def judged_in_both(a: ComparedRun, b: ComparedRun, first: Array, second: Array) -> Array:
    """Marks the pairs that judges have read, on every side that has one; none where no side has."""
    marks = np.full(len(first), a.mode is not None or b.mode is not None)
    for run, rows in ((a, first), (b, second)):
        if run.mode is not None and len(run.columns.mode) == run.columns.n:
            marks &= run.columns.mode[rows] >= 0
    return marks


def must_be_measured(a: ComparedRun, b: ComparedRun) -> bool:
    """Whether a model judged at two times: not code, and not two arms of one A/B or experiment."""
    by_model = any(run.mode in (Mode.MODEL, Mode.BASIC) for run in (a, b))
    return by_model and not "" != arm_of(a.header)[0] == arm_of(b.header)[0]


def identical(a: ComparedRun, b: ComparedRun, first: Array, second: Array) -> Array:
    """Marks the pairs whose answers are the same to the byte."""
    if a.digests is None or b.digests is None:
        return np.zeros(len(first), dtype=bool)
    here, there = a.digests()[first], b.digests()[second]
    return np.asarray((here == there) & (here != 0))


def reread(a: ComparedRun, b: ComparedRun, first: Array, *, by_pass: bool) -> Array:
    """What B's judge read of answers of A when B was run; NaN for those that it was not asked about."""
    result = np.full(len(first), np.nan)
    anchors = b.header.options.anchors.get(a.header.id, Anchors())
    values = {
        (item.case_id, item.variant, item.repeat): item.passed if by_pass else item.score for item in anchors.readings
    }
    if not values:
        return result
    ids = {key[0] for key in values}
    codes = [code for code, name in enumerate(a.columns.case_ids) if name in ids]
    rows = np.flatnonzero(np.isin(a.columns.case[first], codes))
    for row, key in zip(rows.tolist(), keys_of(a, first[rows]), strict=True):
        if (value := values.get(key)) is not None:
            result[row] = value
    return result


def keys_of(run: ComparedRun, rows: Sequence[int] | Array) -> list[tuple[str, str, int]]:
    """Case, variant and repeat of some samples."""
    columns = run.columns
    return [
        (
            columns.case_ids[int(columns.case[row])],
            columns.variants[int(columns.variant[row])],
            int(columns.repeat[row]),
        )
        for row in rows
    ]


def drawn_anchors(run: ComparedRun, rows: Array, most: int) -> Array:
    """Which of the samples at these rows are drawn, at random from every band: two of each, then as many as it has.

    Always the same and in the same order, so that a larger number only adds to a smaller one. A second answer to a
    case comes after all other cases.
    """
    keys = [repr(key).encode("utf-8", "surrogatepass") for key in keys_of(run, rows)]
    drawn = [hashlib.blake2b(key, digest_size=8).digest() for key in keys]
    order = np.array(sorted(range(len(rows)), key=drawn.__getitem__), dtype=int)
    case = run.columns.case[rows[order]]
    _, at_first = np.unique(case, return_index=True)
    again = ~np.isin(np.arange(len(order)), at_first)
    band = band_of(run.table.score()[rows[order]])
    place = np.full(len(order), 2.0)
    for item in np.unique(band):
        here = np.flatnonzero((band == item) & ~again)
        nth = np.arange(len(here))
        place[here] = np.where(nth < FEWEST_CASES, 0.0, (nth + 1) / max(1, len(here)))
    return np.asarray(order[np.argsort(place, kind="stable")][:most])
