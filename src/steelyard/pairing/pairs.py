"""Pairs the samples of two runs by case, variant and repeat, and says of every sample what became of it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from enum import StrEnum

import numpy as np

from steelyard.analysis.model import ReusedAnswers
from steelyard.errors import RunNotFound
from steelyard.frozen import frozen
from steelyard.pairing.cases import OTHER_QUESTION, OTHER_TRUTH, CommonCases, units_of
from steelyard.pairing.model import MOST_LISTED, PairLine, PairList, Pairs, Why
from steelyard.pairing.runs import ComparedRun
from steelyard.records import Mode, Retried
from steelyard.stats.arrays import Array, distinct, translated
from steelyard.stats.paired import NO_CHANGE, case_starts
from steelyard.store.headers import answers_from
from steelyard.suite.case import NONE
from steelyard.wording import cached_in_words, provider_cached_in_words


@frozen
class Pairing:
    """Positions of comparable samples in A and in B, side by side, and what is not comparable."""

    first: Array
    second: Array
    unit: Array
    """The unit of evidence of each pair, in order: its case, or the cluster that the case is in."""
    case: Array
    """Codes of A's cases, those of one unit side by side."""
    excluded: dict[Why, tuple[Array, Array]]
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

    @property
    def of_calls(self) -> Pairing:
        """All pairs that were asked the same question: calls that failed have no reading, but may have taken long."""
        first, second, unit = self.asked
        return replace(self, first=first, second=second, unit=unit)


def _copied(a: ComparedRun, b: ComparedRun) -> list[tuple[str, str]]:
    """Side and text for the answers that a retry of failed samples copied from the other run, or both from a third."""
    sides = {"A": _sources(a), "B": _sources(b)}
    texts = []
    for name, other in (("A", "B"), ("B", "A")):
        own = list(sides[name])
        shared = next((at for at, run in enumerate(own) if run in sides[other]), 0)
        retried = next((entry for run in own[:shared] if (entry := sides[name][run]) is not None), None)
        if retried is not None:
            n = f"{retried.retained:,} of {retried.retained + retried.asked:,}"
            texts.append((name, f"{n} answers are copied from run {retried.run}"))
    return texts


def _sources(run: ComparedRun) -> dict[str, Retried | None]:
    """The run and the earlier ones whose answers it has, the newest first, as far as they are known; each with what it
    retried."""
    found: dict[str, Retried | None] = {run.header.id: run.header.options.retried}
    earlier = answers_from(run.header)
    while earlier and earlier not in found:
        found[earlier] = None
        if run.store is not None:
            with suppress(RunNotFound):
                header = run.store.run(earlier)
                found[earlier], earlier = header.options.retried, answers_from(header)
    return found


def pair(a: ComparedRun, b: ComparedRun, cases: CommonCases, *, allow_mismatch: bool = False) -> Pairing:
    """Every sample of both runs, paired or excluded; `allow_mismatch` also pairs those whose truth has changed."""
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
    reason = _reasons(a, b, first, second, cases, allow_mismatch=allow_mismatch)
    excluded = {
        why: (first[reason == number], second[reason == number])
        for number, why in enumerate(Why)
        if (reason == number).any()
    }
    for why, lonely in ((Why.ONLY_IN_A, order_a[~met]), (Why.ONLY_IN_B, order_b[alone])):
        if len(lonely):
            nobody = np.full(len(lonely), -1)
            excluded[why] = (lonely, nobody) if why is Why.ONLY_IN_A else (nobody, lonely)
    retained = reason < 0
    excluded = {why: excluded[why] for why in Why if why in excluded}
    same_question = reason != list(Why).index(Why.CHANGED_QUESTION)
    asked, paired = (_marked(mask, first, second, unit) for mask in (same_question, retained))
    return Pairing(*paired, a.columns.case[paired[0]].astype(np.int64), excluded, asked)


@frozen
class WithDropped:
    """The comparable pairs of two runs and, as pairs, the samples of A of whose case B has none: dropped, or asked as
    another question."""

    pairing: Pairing
    """B's sample is -1 where there is none."""
    failing: Array
    """Marks those pairs."""
    n_cases: int
    n_passed: int
    """How many of these cases passed in A in every sample."""


def with_dropped(a: ComparedRun, b: ComparedRun, cases: CommonCases, pairing: Pairing) -> WithDropped | None:
    """The pairs with the dropped ones among them; None when A has no reading of a case that B has not."""
    gone = np.isin(a.columns.case, np.concatenate((cases.only_a, cases.of_state(OTHER_QUESTION))))
    rows = np.flatnonzero(gone & _ended(a))
    if not len(rows) or not b.columns.n:
        return None
    case = a.columns.case[rows].astype(np.int64)
    unit = np.concatenate((pairing.unit, units_of(a, b, cases.of_b)[0][case]))
    order = np.argsort(unit, kind="stable")
    parts = (
        np.concatenate(item)[order]
        for item in (
            (pairing.first, rows),
            (pairing.second, np.full(len(rows), -1)),
            (pairing.case, case),
            (np.zeros(len(pairing), dtype=bool), np.ones(len(rows), dtype=bool)),
        )
    )
    first, second, case_of, failing = parts
    passed = np.unique(case)[~np.isin(np.unique(case), case[a.table.passed()[rows] != 1])]
    everything = Pairing(first, second, unit[order], case_of, pairing.excluded, pairing.asked)
    return WithDropped(everything, failing, len(np.unique(case)), len(passed))


def reused_sides(a: ComparedRun, b: ComparedRun) -> list[tuple[str, str]]:
    """Side and text for the answers of A and of B that were not requested again; none where both runs have the same
    answers, since scorers are compared then.

    An answer from a cache is what the system answered once, and no evidence that it still does; nor are those that a
    retry of failed samples copied from the run that it is compared with.
    """
    if copied := _copied(a, b):
        return copied
    if (answers_from(a.header) or a.header.id) == (answers_from(b.header) or b.header.id):
        return []
    texts = []
    for name, run in (("A", a), ("B", b)):
        made = ReusedAnswers.of(run.table)
        if made is None:
            continue
        answers, cached = (~np.logical_or(*run.table.unanswered())).sum(), run.table.cached()
        if cached.any():
            texts.append((name, cached_in_words(cached.sum(), answers, made)))
        if (by_provider := run.table.reused() & ~cached).any():
            texts.append((name, provider_cached_in_words(by_provider.sum(), answers)))
    return texts


def _marked(mask: Array, first: Array, second: Array, unit: Array) -> tuple[Array, Array, Array]:
    """What the mask marks; the columns themselves where that is all."""
    return (first, second, unit) if mask.all() else (first[mask], second[mask], unit[mask])


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


def variant_numbers(a: Sequence[str], b: Sequence[str]) -> dict[str, int]:
    """A number for each variant of A and B, the same for two that are compared with each other.

    Those are variants of one name, whatever their order; and the only variant of A with the only one of B, which is
    how two variants of a suite are compared: `run --only variant=short` with `run --only variant=long`.
    """
    if len(a) == len(b) == 1:
        return {a[0]: 0, b[0]: 0}
    return {name: number for number, name in enumerate(sorted({*a, *b}))}


def no_variant_in_common(a: ComparedRun, b: ComparedRun) -> str:
    """Says that no variant of A can be paired with one of B, and what to do; "" when some can."""
    before, after = a.columns.variants, b.columns.variants
    if not before or not after or set(before) & set(after) or len(before) == len(after) == 1:
        return ""
    listed = (", ".join(sorted(name or NONE for name in run)) for run in (before, after))
    sides = "; ".join(f"{side} has {some}" for side, some in zip("AB", listed, strict=True))
    return f"the runs have no variant in common ({sides}): compare one variant with one, run with --only variant=NAME"


def _keys(a: ComparedRun, b: ComparedRun, cases: CommonCases) -> tuple[Array, Array]:
    """One number a sample that is the same in both runs for the same case, variant and repeat.

    Cases that only B has come after all of A's.
    """
    n_a = len(a.columns.case_ids)
    case_b = np.where(cases.of_b >= 0, cases.of_b, n_a + np.arange(len(cases.of_b)))
    place = variant_numbers(a.columns.variants, b.columns.variants)
    repeats = 1 + max(int(run.columns.repeat.max()) if run.columns.n else 0 for run in (a, b))
    results = []
    for run, codes in ((a, np.arange(n_a)), (b, case_b)):
        columns = run.columns
        case = codes[columns.case] if columns.n else np.empty(0, dtype=np.int64)
        variant = translated(columns.variant, [place[name] for name in columns.variants]).astype(np.int64)
        results.append((case.astype(np.int64) * (len(place) + 1) + variant) * repeats + columns.repeat)
    return results[0], results[1]


def _reasons(
    a: ComparedRun, b: ComparedRun, first: Array, second: Array, cases: CommonCases, *, allow_mismatch: bool
) -> Array:
    """For each pair the place of its reason in `Why`, or -1 when it is comparable; the first that fits is taken."""
    number = {why: i for i, why in enumerate(Why)}
    state = cases.state[a.columns.case[first]] if len(first) else np.empty(0, dtype=np.int8)
    ended_a, ended_b = _ended(a)[first], _ended(b)[second]
    another_kind = a.table.excluded[first] | b.table.excluded[second]
    if None not in (a.mode, b.mode) and _by_rules(a) != _by_rules(b):
        another_kind = np.ones(len(first), dtype=bool)
    fits = [
        (Why.CHANGED_QUESTION, state == OTHER_QUESTION),
        (Why.CHANGED_TRUTH, (state == OTHER_TRUTH) & (not allow_mismatch)),
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
    ended = (table.conclusive & ~np.isnan(table.score())) | table.excluded
    return ended & ((table.passed() >= 0) | table.excluded) if run.passes else ended


class PairKind(StrEnum):
    """What became of a pair; one that was broken may be worse, too."""

    ALL = "all"
    BROKEN = "broken"
    FIXED = "fixed"
    WORSE = "worse"
    """Its score fell."""
    BETTER = "better"
    NOT_COMPARABLE = "not-comparable"


@frozen
class PairOrder:
    """Pairs in the order in which one looks at them: the largest move of the score first, then what is not comparable,
    then what did not move. Of each kind only the first are listed."""

    first: Array
    """Positions in A; -1 where A has no such sample."""
    second: Array
    reason: Array
    """Why it is not comparable, as a place in `Why`; -1 of one that is."""
    places: dict[PairKind, Array]
    """By kind, places in this order."""
    counts: dict[PairKind, int]
    """By kind, how many there are, listed or not."""


class Lists:
    """What became of every sample, as lists."""

    def __init__(self, a: ComparedRun, b: ComparedRun, cases: CommonCases, pairing: Pairing) -> None:
        self._a, self._b, self._cases, self._pairing = a, b, cases, pairing
        self._score_a, self._score_b = a.table.score(), b.table.score()

    def _moves(self) -> tuple[Array, Array, Array, Array, Array]:
        """By how much the score of each pair moved; which rose and fell, and which were fixed and broken."""
        a, b, pairing = self._a, self._b, self._pairing
        moved = self._score_b[pairing.second] - self._score_a[pairing.first]
        rose, fell = moved > NO_CHANGE, moved < -NO_CHANGE
        if not (a.passes and b.passes):
            return moved, rose, fell, rose & False, fell & False
        before, after = a.table.passed()[pairing.first], b.table.passed()[pairing.second]
        return moved, rose, fell, after > before, after < before

    def in_order(self, most: int) -> PairOrder:
        """The pairs one by one, of each kind so many."""
        moved, rose, fell, fixed, broken = self._moves()
        excluded = self._pairing.excluded
        turned = rose | fell | fixed | broken
        # Rounded, so that equal moves stay in the order of their cases.
        order = np.lexsort((-np.round(np.abs(moved), 12), ~turned))
        n_turned, n_excluded = int(turned.sum()), sum(len(places) for places, _ in excluded.values())
        pieces = (order[:n_turned], order[n_turned:])
        sides = [
            np.concatenate([rows[pieces[0]], *(places[side] for places in excluded.values()), rows[pieces[1]]])
            for side, rows in enumerate((self._pairing.first, self._pairing.second))
        ]
        reason = np.full(len(sides[0]), -1, dtype=np.int8)
        codes = [np.full(len(places), list(Why).index(why)) for why, (places, _) in excluded.items()]
        reason[n_turned : n_turned + n_excluded] = np.concatenate(codes) if codes else -1
        of_kind = {PairKind.BROKEN: broken, PairKind.FIXED: fixed, PairKind.WORSE: fell, PairKind.BETTER: rose}
        # None of these is among the pairs that did not move, which come after those that are not comparable.
        places = {kind: np.flatnonzero(mask[pieces[0]]) for kind, mask in of_kind.items()}
        places[PairKind.NOT_COMPARABLE] = np.arange(n_turned, n_turned + n_excluded)
        unmoved = np.arange(n_turned + n_excluded, len(reason))
        counts = {kind: len(rows) for kind, rows in places.items()} | {PairKind.ALL: len(reason)}
        listed = np.unique(np.concatenate([rows[:most] for rows in (*places.values(), unmoved)]))
        places = {kind: np.searchsorted(listed, rows[:most]) for kind, rows in places.items()}
        places[PairKind.ALL] = np.arange(len(listed))
        return PairOrder(sides[0][listed], sides[1][listed], reason[listed], places, counts)

    def all(self) -> Pairs:
        """Every list, with counts over all samples."""
        a, b, pairing = self._a, self._b, self._pairing
        moved, rose, fell, up, down = self._moves()
        by_pass = a.passes and b.passes
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
            not_comparable={why: self._listed(*places) for why, places in pairing.excluded.items()},
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
        variant = columns.variants[int(columns.variant[place])]
        if in_a >= 0 and in_b >= 0 and self._b.columns.variants[int(self._b.columns.variant[in_b])] != variant:
            variant = ""  # two variants are compared: the pair is of the case
        return PairLine(
            columns.case_ids[int(columns.case[place])],
            variant,
            int(columns.repeat[place]),
            _available(self._score_a, in_a),
            _available(self._score_b, in_b),
        )


def _available(scores: Array, place: int) -> float | None:
    return None if place < 0 or np.isnan(scores[place]) else float(scores[place])
