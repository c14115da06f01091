"""A run's columns made ready for arithmetic: the rules on what counts as what are applied here, once.

A malformed answer has score 0 and has not passed. An inconclusive sample has no score, no band and no findings.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from steelyard.analysis.groups import Array, Groups, distinct
from steelyard.records import Outcome
from steelyard.store.base import Columns
from steelyard.suite.gates import NONE

FORMAT = "FORMAT"
"""The code of an answer in the wrong shape, which every suite knows."""
_ODD = np.uint64(0x9E3779B97F4A7C15)
_EASY_TO_HARD = ("trivial", "easy", "simple", "medium", "moderate", "normal", "hard", "difficult", "expert")


@dataclass(frozen=True, slots=True)
class Table:
    """Samples in an order that depends on their values only; NaN is "not known"."""

    n: int
    case: Array
    case_ids: list[str]
    outcome: Array
    outcomes: list[str]
    conclusive: Array
    scored: Array
    score: Array
    passed: Array
    band: Array
    """Codes into `bands`, -1 where there is none."""
    bands: list[str]
    components: dict[str, Array]
    scales: dict[str, tuple[float, float]]
    latency: Array
    totals: dict[str, Array]
    finding_sample: Array
    finding_code: Array
    codes: list[str]
    """All codes the suite knows or the run has, sorted."""


def canonical_order(columns: Columns) -> tuple[Array, Array]:
    """A permutation of the samples, and a rank of the cases, that depend only on what the samples hold.

    Samples are sorted by a hash of their numbers, those of one case side by side. Samples with equal hashes hold
    equal numbers, so that it does not matter which of them is summed first; the same goes for cases.
    """
    mixed = _hashes(columns)
    rank = np.zeros(len(columns.case_ids), dtype=np.int64)
    if np.bincount(columns.case).max(initial=0) <= 1:
        order = np.argsort(mixed)
        rank[columns.case[order]] = np.arange(columns.n)
        return order, rank
    by_case = np.lexsort((mixed, columns.case))
    case = columns.case[by_case]
    starts = np.flatnonzero(np.diff(case, prepend=-1))
    of_case = case[starts][np.argsort(np.add.reduceat(mixed[by_case], starts))]
    rank[of_case] = np.arange(len(of_case))
    return by_case[np.argsort(rank[case], kind="stable")], rank


def _hashes(columns: Columns) -> Array:
    names = (
        (columns.outcome, columns.outcomes),
        (columns.variant, columns.variants),
        (columns.category, columns.categories),
        (columns.difficulty, columns.difficulties),
    )
    keys = [_rank_of_names(known)[codes] for codes, known in names]
    keys += [columns.score, columns.latency, columns.tokens_in, columns.tokens_out, columns.cost]
    keys += [columns.components[name] for name in sorted(columns.components)]
    mixed = np.zeros(columns.n, dtype=np.uint64)
    for key in keys:
        # Adding 0.0 makes one zero of the two that floats have.
        mixed = (mixed ^ (_column(columns, key) + 0.0).view(np.uint64)) * _ODD
        mixed ^= mixed >> np.uint64(32)
    return mixed


def _rank_of_names(names: list[str]) -> Array:
    """Where each name stands in the alphabet; the last entry answers for the code -1."""
    ranks = {name: i for i, name in enumerate(sorted(names))}
    return np.array([*(ranks[name] for name in names), -1])


def build_table(columns: Columns, suite: dict[str, Any], order: Array) -> Table:
    """The table of a run in the given order of its samples."""
    outcome = columns.outcome[order]
    is_outcome = {kind: np.isin(outcome, _codes(columns.outcomes, kind)) for kind in Outcome}
    malformed = is_outcome[Outcome.MALFORMED]
    conclusive = malformed | is_outcome[Outcome.SCORED]
    score = np.where(malformed, 0.0, np.where(conclusive, columns.score[order], np.nan))
    passed = np.where(conclusive & (columns.passed[order] >= 0), columns.passed[order], np.nan)
    if suite.get("passing"):
        passed[malformed] = 0.0
    band, bands = _bands(columns, suite, order, conclusive, malformed)
    samples, codes, names = _findings(columns, suite, order, conclusive)
    return Table(
        n=columns.n,
        case=columns.case[order],
        case_ids=columns.case_ids,
        outcome=outcome,
        outcomes=columns.outcomes,
        conclusive=conclusive,
        scored=is_outcome[Outcome.SCORED],
        score=score,
        passed=passed,
        band=band,
        bands=bands,
        components=_components(columns, suite, order, conclusive, malformed),
        scales=dict.fromkeys(columns.components, (0.0, 1.0))
        | {each["name"]: _scale(each) for each in suite.get("components") or ()},
        latency=np.where(is_outcome[Outcome.TARGET_FAILED], np.nan, _column(columns, columns.latency)[order]),
        totals={
            "tokens_in": _column(columns, columns.tokens_in)[order],
            "tokens_out": _column(columns, columns.tokens_out)[order],
            "cost": _column(columns, columns.cost)[order],
        },
        finding_sample=samples,
        finding_code=codes,
        codes=names,
    )


def cut(columns: Columns, suite: dict[str, Any], order: Array, rank: Array) -> dict[str, Groups]:
    """The groups of every factor that the run uses; `""` is the whole run."""
    case = rank[columns.case[order]]
    everything = np.arange(columns.n)
    found = {"": Groups([""], everything, np.zeros(columns.n, dtype=int), case)}
    for factor, codes, names in (
        ("category", columns.category, columns.categories),
        ("difficulty", columns.difficulty, columns.difficulties),
        ("variant", columns.variant, columns.variants),
    ):
        if any(name for name in names) and (codes >= 0).any():
            found[factor] = _one_of(factor, codes[order], names, suite, case)
    if len(columns.tag):
        place = np.empty(columns.n, dtype=int)
        place[order] = everything
        pair, _ = distinct(place[columns.tag_sample.astype(int)] * len(columns.tags) + columns.tag.astype(int))
        rows, codes = pair // len(columns.tags), pair % len(columns.tags)
        found["tag"] = _ordered("tag", codes, columns.tags, suite, rows, case)
    return found


def _one_of(factor: str, codes: Array, names: list[str], suite: dict[str, Any], case: Array) -> Groups:
    """Groups of a factor of which each sample has one; samples without it are a group of their own."""
    filled = np.where(codes < 0, len(names), codes)
    return _ordered(factor, filled, [*names, NONE], suite, np.arange(len(codes)), case)


def _ordered(factor: str, codes: Array, names: list[str], suite: dict[str, Any], rows: Array, case: Array) -> Groups:
    """Groups in the order a reader expects; names that no sample has are left out."""
    counts = np.bincount(codes, minlength=len(names))
    present = [i for i in range(len(names)) if counts[i]]
    present.sort(key=lambda i: _place(factor, names[i], int(counts[i]), suite))
    rank = np.zeros(len(names), dtype=int)
    rank[present] = np.arange(len(present))
    return Groups([names[i] for i in present], rows, rank[codes], case)


def _place(factor: str, name: str, count: int, suite: dict[str, Any]) -> tuple[bool, int, str]:
    """Variants as declared, difficulties from easy to hard, everything else largest first; `(none)` last."""
    rank = -count
    if factor == "variant":
        declared = list(suite.get("variants") or ())
        rank = declared.index(name) if name in declared else len(declared)
    if factor == "difficulty":
        word = name.casefold()
        rank = _EASY_TO_HARD.index(word) if word in _EASY_TO_HARD else len(_EASY_TO_HARD)
    return (name == NONE, rank, name)


def _column(columns: Columns, values: Array) -> Array:
    """A column that may have been left out."""
    return values.astype(float) if len(values) == columns.n else np.full(columns.n, np.nan)


def _codes(names: Sequence[str], name: str) -> list[int]:
    return [i for i, known in enumerate(names) if known == name]


def _components(
    columns: Columns, suite: dict[str, Any], order: Array, conclusive: Array, malformed: Array
) -> dict[str, Array]:
    """Values in the order the suite declares; what could not be read earned nothing, where there was truth to meet.

    A component that cases may skip has no value there: nobody can tell whether this case would have skipped it.
    """
    declared = {component["name"]: component for component in suite.get("components") or ()}
    names = [name for name in declared if name in columns.components]
    found = {}
    for name in names + sorted(set(columns.components) - set(names)):
        values = np.where(conclusive, columns.components[name][order], np.nan)
        if name in declared and declared[name].get("when_unknown") != "skip":
            values[malformed & np.isnan(values)] = _scale(declared[name])[0]
        found[name] = values
    return found


def code_of(component: dict[str, Any]) -> str:
    """The code of the findings that a component makes when its value counts as wrong."""
    return component.get("code") or str(component["name"]).upper()


def _scale(component: dict[str, Any]) -> tuple[float, float]:
    low, high = component.get("scale") or (0.0, 1.0)
    return float(low), float(high)


def _bands(
    columns: Columns, suite: dict[str, Any], order: Array, conclusive: Array, malformed: Array
) -> tuple[Array, list[str]]:
    declared = [band["name"] for band in suite.get("bands") or ()]
    names = declared + sorted(set(columns.bands) - set(declared))
    if not names:
        return np.full(columns.n, -1), []
    # The last entry answers for the code -1.
    to_name = np.array([*(names.index(name) for name in columns.bands), -1])
    band = np.where(conclusive, to_name[columns.band[order]], -1)
    lowest = [i for i, each in enumerate(suite.get("bands") or ()) if each["at_least"] <= 0]
    if lowest:
        band[malformed & (band < 0)] = lowest[-1]
    return band, names


def _findings(
    columns: Columns, suite: dict[str, Any], order: Array, conclusive: Array
) -> tuple[Array, Array, list[str]]:
    known = {FORMAT} | {each["code"] for each in suite.get("taxonomy") or ()}
    known |= {code_of(each) for each in suite.get("components") or ()}
    names = sorted(known | set(columns.finding_codes))
    if not len(columns.finding_sample):
        return np.empty(0, dtype=int), np.empty(0, dtype=int), names
    place = np.empty(columns.n, dtype=int)
    place[order] = np.arange(columns.n)
    sample = place[columns.finding_sample.astype(int)]
    code = np.array([names.index(name) for name in columns.finding_codes])[columns.finding_code.astype(int)]
    believed = conclusive[sample]
    return sample[believed], code[believed], names
