"""Pairs the samples of two runs by case, variant and repeat, and says of every sample what became of it.

A sample without a reading on either side is never a change: it is listed with its reason. Pairs stand in the order of
case, variant and repeat, so that the order in which samples were stored changes no figure.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from steelyard.analysis.compare_model import MOST_LISTED, PairLine, PairList, Pairs, Why
from steelyard.analysis.compared_cases import QUESTION, TRUTH, CommonCases, units_of
from steelyard.analysis.compared_run import ComparedRun
from steelyard.records import Mode
from steelyard.stats.arrays import Array, distinct, translated
from steelyard.stats.paired import NO_CHANGE, case_starts


@dataclass(frozen=True, slots=True)
class Pairing:
    """Positions of comparable samples in A and in B, side by side, and what is not comparable."""

    first: Array
    second: Array
    unit: Array
    """The unit of evidence of each pair, in order: its case, or the cluster that the case is in."""
    case: Array
    """Codes of A's cases, those of one unit side by side."""
    aside: dict[Why, tuple[Array, Array]]
    """By reason, positions in A and in B; -1 where that run has no such sample."""
    asked: tuple[Array, Array, Array]
    """Positions in A and in B, and the units, of all pairs that were asked the same question, with a reading or
    without."""

    def __len__(self) -> int:
        return len(self.first)

    @property
    def n_cases(self) -> int:
        """Cases with at least one comparable pair."""
        return len(case_starts(self.case))


def pair(a: ComparedRun, b: ComparedRun, cases: CommonCases, *, anyway: bool = False) -> Pairing:
    """Every sample of both runs, paired or set aside; `anyway` also pairs those whose truth has changed."""
    keys_a, keys_b = _keys(a, b, cases)
    order_a, order_b = np.argsort(keys_a, kind="stable"), np.argsort(keys_b, kind="stable")
    keys_a, keys_b = keys_a[order_a], keys_b[order_b]
    at = np.searchsorted(keys_b, keys_a)
    met = (at < len(keys_b)) & (keys_b[np.minimum(at, max(0, len(keys_b) - 1))] == keys_a) if len(keys_b) else at < 0
    first, second = order_a[met], order_b[at[met]]
    unit = units_of(a, b, cases.of_b)[0][a.columns.case[first]] if len(first) else np.empty(0, dtype=np.int64)
    in_order = np.argsort(unit, kind="stable")
    first, second, unit = first[in_order], second[in_order], unit[in_order]
    alone = np.ones(len(keys_b), dtype=bool)
    alone[at[met]] = False
    reason = _reasons(a, b, first, second, cases, anyway=anyway)
    aside = {
        why: (first[reason == number], second[reason == number])
        for number, why in enumerate(Why)
        if (reason == number).any()
    }
    for why, lonely in ((Why.ONLY_IN_A, order_a[~met]), (Why.ONLY_IN_B, order_b[alone])):
        if len(lonely):
            nobody = np.full(len(lonely), -1)
            aside[why] = (lonely, nobody) if why is Why.ONLY_IN_A else (nobody, lonely)
    kept = reason < 0
    aside = {why: aside[why] for why in Why if why in aside}
    same_question = reason != list(Why).index(Why.CHANGED_QUESTION)
    asked = first[same_question], second[same_question], unit[same_question]
    return Pairing(first[kept], second[kept], unit[kept], a.columns.case[first[kept]].astype(np.int64), aside, asked)


def answered_cases(a: ComparedRun, b: ComparedRun, cases: CommonCases, rows: tuple[Array, Array] | None = None) -> int:
    """How many cases at least one of the runs has a reading of; `rows` looks at some samples of A and of B alone."""
    n_a = len(a.columns.case_ids)
    of_b = np.where(cases.of_b >= 0, cases.of_b, n_a + np.arange(len(cases.of_b)))
    seen = np.zeros(n_a + len(of_b), dtype=bool)
    for i, (run, codes) in enumerate(((a, np.arange(n_a)), (b, of_b))):
        ended = np.flatnonzero(_ended(run))
        ended = ended if rows is None else np.intersect1d(ended, rows[i])
        seen[codes[run.columns.case[ended]]] = True
    return int(seen.sum())


def _keys(a: ComparedRun, b: ComparedRun, cases: CommonCases) -> tuple[Array, Array]:
    """One number a sample that is the same in both runs for the same case, variant and repeat.

    Cases that only B has come after all of A's.
    """
    n_a = len(a.columns.case_ids)
    case_b = np.where(cases.of_b >= 0, cases.of_b, n_a + np.arange(len(cases.of_b)))
    variants = sorted({*a.columns.variants, *b.columns.variants})
    place = {name: i for i, name in enumerate(variants)}
    repeats = 1 + max(int(run.columns.repeat.max()) if run.columns.n else 0 for run in (a, b))
    found = []
    for run, codes in ((a, np.arange(n_a)), (b, case_b)):
        columns = run.columns
        case = codes[columns.case] if columns.n else np.empty(0, dtype=np.int64)
        variant = translated(columns.variant, [place[name] for name in columns.variants]).astype(np.int64)
        found.append((case.astype(np.int64) * (len(variants) + 1) + variant) * repeats + columns.repeat)
    return found[0], found[1]


def _reasons(a: ComparedRun, b: ComparedRun, first: Array, second: Array, cases: CommonCases, *, anyway: bool) -> Array:
    """For each pair the place of its reason in `Why`, or -1 when it is comparable; the first that fits is taken."""
    number = {why: i for i, why in enumerate(Why)}
    state = cases.state[a.columns.case[first]] if len(first) else np.empty(0, dtype=np.int8)
    ended_a, ended_b = _ended(a)[first], _ended(b)[second]
    another_kind = a.table.set_aside[first] | b.table.set_aside[second]
    if None not in (a.mode, b.mode) and _by_rules(a) != _by_rules(b):
        another_kind = np.ones(len(first), dtype=bool)
    fits = [
        (Why.CHANGED_QUESTION, state == QUESTION),
        (Why.CHANGED_TRUTH, (state == TRUTH) & (not anyway)),
        (Why.NO_READING, ~ended_a & ~ended_b),
        (Why.NO_READING_IN_A, ~ended_a),
        (Why.NO_READING_IN_B, ~ended_b),
        (Why.OTHER_MODE, another_kind),
    ]
    return np.asarray(np.select([mask for _, mask in fits], [number[why] for why, _ in fits], -1))


def _by_rules(run: ComparedRun) -> bool:
    """Whether code judged. A model of whose answers only the scores are known is the same kind of judge as one of
    whose answers all is: its scores are compared, never put into one mean with the others."""
    return run.mode == Mode.RULES


def _ended(run: ComparedRun) -> Array:
    """Samples that say something about the system: with a score, and on one side of the pass rule if there is one."""
    table = run.table
    ended = (table.conclusive & ~np.isnan(table.score())) | table.set_aside
    return ended & ((table.passed() >= 0) | table.set_aside) if run.passes else ended


class Lists:
    """What became of every sample, as lists."""

    def __init__(self, a: ComparedRun, b: ComparedRun, cases: CommonCases, pairing: Pairing) -> None:
        self._a, self._b, self._cases, self._pairing = a, b, cases, pairing
        self._score_a, self._score_b = a.table.score(), b.table.score()

    def all(self) -> Pairs:
        """Every list, with counts over all samples."""
        a, b, pairing = self._a, self._b, self._pairing
        moved = self._score_b[pairing.second] - self._score_a[pairing.first]
        rose, fell = moved > NO_CHANGE, moved < -NO_CHANGE
        by_pass = a.passes and b.passes
        up, down = rose & False, fell & False
        if by_pass:
            before, after = a.table.passed()[pairing.first], b.table.passed()[pairing.second]
            up, down = after > before, after < before
        level = ~rose & ~fell
        return Pairs(
            n_a=a.columns.n,
            n_b=b.columns.n,
            comparable=len(pairing),
            n_cases=pairing.n_cases,
            n_answered=answered_cases(a, b, self._cases),
            by_pass=by_pass,
            fixed=self._some(up),
            broken=self._some(down),
            unchanged=self._some(~up & ~down) if by_pass else self._some(level),
            rose=self._some(rose, moved),
            fell=self._some(fell, moved),
            level=self._some(level),
            not_comparable={why: self._listed(*places) for why, places in pairing.aside.items()},
        )

    def _some(self, mask: Array, moved: Array | None = None) -> PairList:
        rows = np.flatnonzero(mask)
        if moved is not None:
            # Rounded, so that equal moves stay in the order of their cases.
            rows = rows[np.argsort(-np.round(np.abs(moved[rows]), 12), kind="stable")]
        return self._listed(self._pairing.first[rows], self._pairing.second[rows])

    def _listed(self, first: Array, second: Array) -> PairList:
        run, places = (self._b, second) if len(first) and first[0] < 0 else (self._a, first)
        n_cases = len(distinct(run.columns.case[places])[0])
        lines = [self._line(int(i), int(j)) for i, j in zip(first[:MOST_LISTED], second[:MOST_LISTED], strict=True)]
        return PairList(len(first), n_cases, tuple(lines))

    def _line(self, in_a: int, in_b: int) -> PairLine:
        columns, place = (self._a.columns, in_a) if in_a >= 0 else (self._b.columns, in_b)
        return PairLine(
            columns.case_ids[int(columns.case[place])],
            columns.variants[int(columns.variant[place])],
            int(columns.repeat[place]),
            _known(self._score_a, in_a),
            _known(self._score_b, in_b),
        )


def _known(scores: Array, place: int) -> float | None:
    return None if place < 0 or np.isnan(scores[place]) else float(scores[place])
