"""The findings of comparable samples on either side: codes, confusions and sections."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from steelyard.analysis.confusions import places_of
from steelyard.frozen import frozen
from steelyard.pairing.model import (
    CodeChange,
    Confusion,
    Confusions,
    MetricChange,
    NotCompared,
    SectionChange,
    Standing,
)
from steelyard.pairing.pairs import Pairing
from steelyard.pairing.runs import ComparedRun
from steelyard.stats.arrays import Array, distinct, translated
from steelyard.store.contents import Confused

MOST_CONFUSIONS = 300


@frozen
class Hit:
    """The findings of one run that are in comparable samples."""

    run: ComparedRun
    pair: Array
    """Which pair each is in."""
    code: Array
    """Codes into the names that both runs share."""
    section: Array | None
    confusion: Array
    """Marks the run's confusions that are in comparable samples."""

    def per_pair(self, mask: Array, n: int) -> Array:
        """How many of the marked ones each pair has."""
        return np.bincount(self.pair[mask], minlength=n).astype(float)


class Findings:
    """The findings of two runs in their comparable samples, under names that both share."""

    def __init__(self, a: ComparedRun, b: ComparedRun, pairing: Pairing) -> None:
        self.n = len(pairing)
        self.codes = sorted({*a.columns.finding_codes, *b.columns.finding_codes})
        self._one_has_only_scores = a.only_scores != b.only_scores
        retained = [_from_scores(run) if self._one_has_only_scores else _all_of(run) for run in (a, b)]
        self.sections = _shared_sections((a, retained[0]), (b, retained[1]))
        """Names of sections; None when a run has findings and does not say where in the text they are."""
        self.a = _result(a, pairing.first, self.codes, self.sections, retained[0])
        self.b = _result(b, pairing.second, self.codes, self.sections, retained[1])
        self.not_compared = tuple(self._left_out(a, b, retained)) if self._one_has_only_scores else ()
        """What a judge names besides its scores, when only one run knows it."""

    def _left_out(self, a: ComparedRun, b: ComparedRun, retained: Sequence[Array]) -> Iterator[NotCompared]:
        silent, run, mask = ("A", b, retained[1]) if a.only_scores else ("B", a, retained[0])
        why = f"of {silent}'s judge only the scores could be read"
        columns = run.columns
        named = sorted({columns.finding_codes[int(code)] for code in np.unique(columns.finding_code[~mask])})
        yield from (NotCompared("findings that the judge names", code, why) for code in named)
        yield NotCompared("confusions", "", why)

    def by_code(self, mask_a: Array | None = None, mask_b: Array | None = None) -> tuple[CodeChange, ...]:
        """Every code that was found on either side, what moved most first."""
        before, in_before = _tally(self.a, mask_a, len(self.codes))
        after, in_after = _tally(self.b, mask_b, len(self.codes))
        changes = [
            CodeChange(
                code, int(before[i]), int(after[i]), int(in_before[i]), int(in_after[i]), standing(before[i], after[i])
            )
            for i, code in enumerate(self.codes)
            if before[i] or after[i]
        ]
        return tuple(sorted(changes, key=lambda entry: (-abs(entry.b - entry.a), entry.code)))

    def of_code(self, code: str) -> tuple[Array, Array]:
        """How many findings of a code each pair has in A and in B."""
        number = self.codes.index(code)
        return self.a.per_pair(self.a.code == number, self.n), self.b.per_pair(self.b.code == number, self.n)

    def total(self) -> tuple[Array, Array]:
        """How many findings each pair has in A and in B."""
        return self.a.per_pair(self.a.code >= 0, self.n), self.b.per_pair(self.b.code >= 0, self.n)

    def of_section(self, section: str) -> tuple[Array, Array]:
        """How many findings each pair has in a section, in A and in B."""
        here_a, here_b = self._in_section(section)
        return self.a.per_pair(here_a, self.n), self.b.per_pair(here_b, self.n)

    def section_change(self, section: str, rate: MetricChange) -> SectionChange:
        """What was found in a section; `rate` is the change of its findings a sample."""
        here_a, here_b = self._in_section(section)
        return SectionChange(section, int(here_a.sum()), int(here_b.sum()), rate, self.by_code(here_a, here_b))

    def _in_section(self, section: str) -> tuple[Array, Array]:
        number = (self.sections or []).index(section)
        return np.asarray(self.a.section == number), np.asarray(self.b.section == number)

    def confusions(self) -> Confusions:
        """Everything that was taken for something else, counted over all comparable samples."""
        if self._one_has_only_scores:
            return Confusions()
        sides = [_confused(side) for side in (self.a, self.b)]
        keys, _ = distinct(np.concatenate([own for own, _ in sides]))
        before, after = (_counts_at(keys, own, n) for own, n in sides)
        stands = _standings(before, after)
        # The keys rise, and equal ones stay in their order.
        chosen = np.lexsort((-np.abs(after - before), stands))[:MOST_CONFUSIONS]
        listed = self._named(keys[chosen], before[chosen], after[chosen])
        counts = np.bincount(stands, minlength=len(_RANK))
        return Confusions(
            n=len(keys),
            counts={item: int(counts[rank]) for item, rank in _RANK.items() if counts[rank]},
            listed=tuple(sorted(listed, key=_place_in_list)),
        )

    def _named(self, keys: Array, before: Array, after: Array) -> Iterator[Confusion]:
        for side, here in ((self.a, before > 0), (self.b, before == 0)):
            for text, n_a, n_b in zip(
                _texts(side, keys[here]), before[here].tolist(), after[here].tolist(), strict=True
            ):
                yield Confusion(*text, n_a, n_b, standing(n_a, n_b))


_RANK = {item: rank for rank, item in enumerate(Standing)}


def _place_in_list(confusion: Confusion) -> tuple[int, int, str, str, str]:
    moved = abs(confusion.b - confusion.a)
    return _RANK[confusion.standing], -moved, confusion.code, confusion.expected, confusion.got


def standing(before: float, after: float) -> Standing:
    """Whether something that was found so often in A and in B is new, resolved, more, fewer or the same."""
    if before == after:
        return Standing.SAME
    if before == 0:
        return Standing.NEW
    if after == 0:
        return Standing.RESOLVED
    return Standing.MORE if after > before else Standing.FEWER


def _standings(before: Array, after: Array) -> Array:
    """The ranks of `standing` for all at once."""
    fits = {
        Standing.SAME: before == after,
        Standing.NEW: before == 0,
        Standing.RESOLVED: after == 0,
        Standing.MORE: after > before,
    }
    ranks = [np.int8(_RANK[item]) for item in fits]
    return np.asarray(np.select(list(fits.values()), ranks, np.int8(_RANK[Standing.FEWER])))


def _all_of(run: ComparedRun) -> Array:
    return np.ones(len(run.columns.finding_sample), dtype=bool)


def _from_scores(run: ComparedRun) -> Array:
    """Marks the findings that follow from the answer or from a judge's scores, and not from what else it said.

    What a judge names belongs to no component or, where the suite's check says which, gains nothing there, whereas a
    low score always does. Of a run that does not say what its findings belong to, cannot tell.
    """
    columns, n = run.columns, len(run.columns.finding_sample)
    if not n or len(columns.finding_component) != n or len(columns.finding_gain) != n:
        return np.zeros(n, dtype=bool)
    declared = {component.name: component.kind for component in run.suite.components}
    kinds = [None if name == "" else declared.get(name, "") for name in columns.finding_components]
    unread = run.table.malformed[columns.finding_sample.astype(int)]
    of_none = np.array([kind is None for kind in kinds])[columns.finding_component.astype(int)]
    of_dimension = np.array([kind == "dimension" for kind in kinds])[columns.finding_component.astype(int)]
    return np.asarray(unread | ~(of_none | (of_dimension & (columns.finding_gain == 0))))


def _shared_sections(*sides: tuple[ComparedRun, Array]) -> list[str] | None:
    named = [_named_sections(run, retained) for run, retained in sides]
    if not any(any(names) for names in named):
        return []
    if any(not any(names) and retained.any() for names, (_, retained) in zip(named, sides, strict=True)):
        return None
    return sorted({*named[0], *named[1]})


def _named_sections(run: ComparedRun, retained: Array) -> set[str]:
    columns = run.columns
    if len(columns.finding_section) != len(retained):
        return set()
    return {columns.finding_sections[int(code)] for code in np.unique(columns.finding_section[retained])}


def _result(
    run: ComparedRun, positions: Array, codes: Sequence[str], sections: Sequence[str] | None, retained: Array
) -> Hit:
    columns, contents = run.columns, run.contents
    pair_of = np.full(columns.n + 1, -1, dtype=np.min_scalar_type(-max(1, len(positions))))
    pair_of[positions] = np.arange(len(positions))
    pair = pair_of[columns.finding_sample.astype(int)]
    place = np.flatnonzero((pair >= 0) & retained)
    code = _shared(columns.finding_code, columns.finding_codes, codes, place)
    section = None if not sections else _shared(columns.finding_section, columns.finding_sections, sections, place)
    confused = np.empty(0, bool) if contents is None else pair_of[contents.confusion_sample] >= 0
    return Hit(run, pair[place], code, section, confused)


def _shared(own: Array, names: Sequence[str], shared: Sequence[str], place: Array) -> Array:
    if not len(place):
        return np.empty(0, dtype=int)
    rank = {name: i for i, name in enumerate(shared)}
    return translated(own[place], [rank.get(name, -1) for name in names])


def _tally(result: Hit, mask: Array | None, n_codes: int) -> tuple[Array, Array]:
    """For each code, how many findings there are and in how many samples."""
    code, pair = (result.code, result.pair) if mask is None else (result.code[mask], result.pair[mask])
    once, _ = distinct(pair.astype(np.int64) * max(1, n_codes) + code)
    return np.bincount(code, minlength=n_codes), np.bincount(once % max(1, n_codes), minlength=n_codes)


def _confused(result: Hit) -> tuple[Array, Array]:
    """The digests of what was confused, and how often each occurs."""
    contents = result.run.contents
    return distinct(np.empty(0, dtype=np.uint64) if contents is None else contents.confusion[result.confusion])


def _counts_at(keys: Array, own: Array, n: Array) -> Array:
    """The numbers of a run's own keys, in the places of these; 0 where it has no such key."""
    result = np.zeros(len(keys), dtype=np.int32)
    result[np.searchsorted(keys, own)] = n
    return result


def _texts(result: Hit, digests: Array) -> list[Confused]:
    contents = result.run.contents
    return [] if contents is None else contents.confused(places_of(digests, contents.confusion).tolist())
