"""Which cases two runs have in common, and which of them ask another question or have another truth."""

from __future__ import annotations

import hashlib
import operator
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from steelyard.frozen import frozen
from steelyard.pairing.runs import ComparedRun
from steelyard.stats.arrays import Array, translated
from steelyard.suite.case import Case, bare_truth, digest

_PAGE = 500
SAME_CASE, OTHER_QUESTION, OTHER_TRUTH = range(3)


@frozen
class CommonCases:
    """The cases of two runs side by side."""

    of_b: Array
    """For each case of B its code in A; -1 when A has no such case."""
    only_a: Array
    """Codes of the cases that only A has."""
    only_b: Array
    state: Array
    """For each case of A: SAME, QUESTION or TRUTH, whichever differs first; what is not known is not said to differ."""
    available: bool
    """False when a run does not say what its cases are, so that nothing is known of their changes."""
    regrouped: Array
    """Codes in A of the cases of which only category, difficulty, tags or the like differ."""
    unknown_questions: Array
    """Codes in A of the cases whose question the file of an imported run does not hold, or not all of it."""
    unknown_truths: Array
    edited: Array
    """Codes in A of the cases in state SAME with another truth, by which no score is another."""

    def of_state(self, state: int) -> Array:
        """Codes in A of the cases in that state."""
        return np.flatnonzero(self.state == state)

    def comparable(self, *, allow_mismatch: bool) -> Array:
        """For each case of A whether its samples can be compared; `allow_mismatch` also those of another truth."""
        return ~np.isin(self.state, (OTHER_QUESTION,) if allow_mismatch else (OTHER_QUESTION, OTHER_TRUTH))


def common_cases(a: ComparedRun, b: ComparedRun) -> CommonCases:
    """The cases of two runs, matched by id."""
    of_b = _matched(a.columns.case_ids, b.columns.case_ids)
    in_both = np.zeros(len(a.columns.case_ids), dtype=bool)
    in_both[of_b[of_b >= 0]] = True
    state = np.full(len(in_both), SAME_CASE, dtype=np.int8)
    regrouped, questions, truths, edited = [list[int]() for _ in range(4)]
    available = a.contents is not None and b.contents is not None
    if available:
        changed = _changed(a, b, of_b)
        for code, before, after in _both(a, b, changed):
            question = _same(_asked(before), _asked(after), a, b)
            truth = _same(bare_truth(before.expected), bare_truth(after.expected), a, b)
            if before.id in a.rescored.truths:
                edited += [code] if truth is False else []
                truth = True
            state[code] = OTHER_QUESTION if question is False else OTHER_TRUTH if truth is False else SAME_CASE
            if state[code] == SAME_CASE and _same(_groups(before), _groups(after), a, b) is False:
                regrouped.append(code)
            for codes, same in ((questions, question), (truths, truth)):
                if same is None and state[code] == SAME_CASE:
                    codes.append(code)
    lists = (np.array(codes, dtype=int) for codes in (regrouped, questions, truths, edited))
    return CommonCases(of_b, np.flatnonzero(~in_both), np.flatnonzero(of_b < 0), state, available, *lists)


def units_of(a: ComparedRun, b: ComparedRun, of_b: Array) -> tuple[Array, Array, int]:
    """The unit of evidence by case of A and by case of B under one numbering, and how many numbers there are.

    Cases of A have their codes, those that only B has come after them; a cluster has a number after all cases. Cases
    that either run has in one cluster are one unit.
    """
    n_a = len(a.columns.case_ids)
    numbers = [np.arange(n_a), np.where(of_b >= 0, of_b, n_a + np.arange(len(of_b)))]
    clusters = sorted({*a.columns.clusters, *b.columns.clusters})
    place = {name: n_a + len(of_b) + i for i, name in enumerate(clusters)}
    unit = np.arange(n_a + len(of_b) + len(clusters))
    case, cluster = np.concatenate([_links(run, of, place) for run, of in zip((a, b), numbers, strict=True)], axis=1)
    while (unit[case] != unit[cluster]).any():
        highest = np.maximum(unit[case], unit[cluster])
        np.maximum.at(unit, case, highest)
        np.maximum.at(unit, cluster, highest)
    return unit[numbers[0]], unit[numbers[1]], len(unit)


def _links(run: ComparedRun, number: Array, place: dict[str, int]) -> Array:
    """The numbers of a run's cases that are in a cluster, and below them those of their clusters."""
    columns = run.columns
    if not columns.clusters:
        return np.empty((2, 0), dtype=np.int64)
    cluster = translated(columns.cluster, [place[name] for name in columns.clusters]).astype(np.int64)
    return np.unique(np.stack((number[columns.case], cluster))[:, cluster >= 0], axis=1)


def unit_counts(a: ComparedRun, b: ComparedRun, of_b: Array) -> tuple[int, int, int] | None:
    """How many units of evidence the cases of both runs are by A, by B and by both together; None when they are the
    same units."""
    if not a.columns.clusters and not b.columns.clusters:
        return None
    in_b = np.flatnonzero(of_b >= 0)
    by_a, by_b = (units_of(run, run, np.arange(len(run.columns.case_ids)))[0] for run in (a, b))
    by_a, by_b = by_a[of_b[in_b]], by_b[in_b]
    n_a, n_b = (len(np.unique(item)) for item in (by_a, by_b))
    if n_a == n_b == len(np.unique(np.stack((by_a, by_b)), axis=1).T):
        return None
    return n_a, n_b, len(np.unique(units_of(a, b, of_b)[1][in_b]))


def names(ids: Sequence[str], codes: Iterable[int], most: int) -> tuple[str, ...]:
    """The ids of the first few codes."""
    return tuple(ids[int(code)] for _, code in zip(range(most), codes, strict=False))


def _matched(before: Sequence[str], after: Sequence[str]) -> Array:
    """For each of the later ids its place among the earlier ones, or -1."""
    if before == after or (len(before) == len(after) and all(map(operator.eq, before, after))):
        return np.arange(len(after))
    available, wanted = _fingerprints(before), _fingerprints(after)
    if not len(available):
        return np.full(len(wanted), -1)
    order = np.argsort(available, kind="stable")
    at = order[np.minimum(np.searchsorted(available, wanted, sorter=order), len(available) - 1)]
    return np.where(available[at] == wanted, at, -1)


def _fingerprints(ids: Iterable[str]) -> Array:
    """A 64-bit number for each id: a million of them are 8 million bytes."""
    digests = (hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest() for name in ids)
    return np.frombuffer(b"".join(digests), dtype=">u8").astype(np.uint64)


def _hash_by_case(run: ComparedRun) -> Array:
    hashes = np.zeros(len(run.columns.case_ids), dtype=np.uint64)
    if run.contents is not None:
        hashes[run.columns.case] = run.contents.case_hash
    return hashes


def _changed(a: ComparedRun, b: ComparedRun, of_b: Array) -> Array:
    """Codes in A of the cases of both runs that are not the same in all."""
    before, after = _hash_by_case(a), _hash_by_case(b)
    common = np.flatnonzero(of_b >= 0)
    return np.sort(of_b[common[before[of_b[common]] != after[common]]])


def _both(a: ComparedRun, b: ComparedRun, codes: Array) -> Iterator[tuple[int, Case, Case]]:
    if a.contents is None or b.contents is None:
        return
    for start in range(0, len(codes), _PAGE):
        page = {a.columns.case_ids[code]: code for code in codes[start : start + _PAGE].tolist()}
        before, after = a.contents.cases(list(page)), b.contents.cases(list(page))
        yield from ((code, before[name], after[name]) for name, code in page.items())


def _same(before: Any, after: Any, a: ComparedRun, b: ComparedRun) -> bool | None:
    """Whether something is the same in both runs; None when an imported run does not hold all of it."""
    if digest(before) == digest(after):
        return True
    unknown = (a.imported and _is_part(before, after)) or (b.imported and _is_part(after, before))
    return None if unknown else False


def _is_part(held: Any, whole: Any) -> bool:
    """Whether all that is held is in the whole as well, or none of it is: fields may be missing, none differs."""
    if isinstance(held, dict) and isinstance(whole, dict):
        shared = held.keys() & whole.keys()
        return (not shared or held.keys() == shared) and all(_is_part(held[name], whole[name]) for name in shared)
    return held is None or digest(held) == digest(whole)


def _asked(case: Case) -> dict[str, Any]:
    files = [attachment.digest or attachment.place for attachment in case.attachments]
    return {"input": case.input} | ({"attachments": files} if files else {})


def _groups(case: Case) -> dict[str, Any]:
    groups = {"category": case.category, "difficulty": case.difficulty, "tags": list(case.tags), "why": case.why}
    return {name: value for name, value in groups.items() if value}
