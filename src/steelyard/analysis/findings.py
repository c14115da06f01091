"""Findings: what was taken for what, and where in the texts the errors are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

import numpy as np

from steelyard.frozen import frozen
from steelyard.metrics.kinds import Aggregate
from steelyard.metrics.registry import Contributions, Labels, Metric, Names, register, same_but
from steelyard.metrics.run_data import RunData
from steelyard.metrics.table import FORMAT, Table
from steelyard.records import Finding
from steelyard.stats.arrays import Array, distinct, pieces
from steelyard.store.contents import Contents, confusion_label, is_confusion
from steelyard.suite.models import SuiteModel

MOST_CONFUSIONS: Final = 10
_LOOKED_AT: Final = 50
_MOST_LOOKED_AT: Final = 1_000


@frozen
class ConfusionFigure:
    """One thing that was taken for another."""

    code: str
    expected: str
    got: str
    count: int
    samples: int
    """In how many samples."""


def top_confusions(table: Table, suite: SuiteModel, contents: Contents) -> list[ConfusionFigure]:
    """What was taken for something else, most frequent first, the first ten.

    A score that a judge put too low and an answer in the wrong shape are no confusions, nor is what differs in more
    than what it is called.
    """
    sample, confusion = contents.confusion_sample, contents.confusion
    believed = table.conclusive[sample] if len(sample) else np.empty(0, dtype=bool)
    if not believed.any():
        return []
    digest, n = _most_frequent(confusion[believed])
    none = {FORMAT} | {component.finding_code for component in suite.components if component.kind in _JUDGED}
    results = []
    for rank, (code, expected, got) in _texts(contents, places_of(digest, confusion)):
        if code not in none and expected != got:
            samples, _ = distinct(sample[believed & (confusion == digest[rank])].astype(int))
            results.append(ConfusionFigure(code, expected, got, int(n[rank]), len(samples)))
        if len(results) == MOST_CONFUSIONS:
            break
    return sorted(results, key=lambda item: (-item.count, item.code, item.expected, item.got))


def _most_frequent(digests: Array) -> tuple[Array, Array]:
    """The most frequent of the digests, which are sorted in place, and how often they occur; equally frequent ones in
    their order."""
    digests.sort()
    # Of a million texts nearly all are different: only those that occur again are counted.
    again = digests[1:] == digests[:-1]
    repeated, n = distinct(digests[1:][again])
    ranked = np.argsort(-n, kind="stable")[:_MOST_LOOKED_AT]
    once = digests[~(np.pad(again, (1, 0)) | np.pad(again, (0, 1)))][: _MOST_LOOKED_AT - len(ranked)]
    return np.concatenate([repeated[ranked], once]), np.concatenate([n[ranked] + 1, np.ones(len(once), dtype=int)])


def places_of(digests: Array, among: Array) -> Array:
    """For each digest, all of which are there, one of the places that has it."""
    order = np.argsort(digests)
    ranked, result = digests[order], np.zeros(len(digests), dtype=np.int64)
    for piece in pieces(len(among) if len(digests) else 0):
        at = np.minimum(np.searchsorted(ranked, among[piece]), len(ranked) - 1)
        same = np.flatnonzero(ranked[at] == among[piece])
        result[order[at[same]]] = piece.start + same
    return result


_JUDGED: Final = ("dimension", "flag")


def _texts(contents: Contents, places: Array) -> Iterator[tuple[int, tuple[str, str, str]]]:
    """The ranks with their texts, fetched a few at a time."""
    for at in range(0, len(places), _LOOKED_AT):
        yield from enumerate(contents.confused(places[at : at + _LOOKED_AT].tolist()), at)


# Metrics of confusions, which are rows of a list, and of sections, which every finding may name.


def _of_findings(data: RunData, wanted: Callable[[Finding], bool], counts: Array, words: str = "") -> Contributions:
    """How many findings every conclusive sample has that are wanted, each named with its place."""

    def detail(sample: int) -> str:
        mine = [finding for finding in data.read[sample][0].findings if wanted(finding)]
        return ", ".join(f"{finding.code} at {finding.place or '-'}" for finding in mine)

    values = np.where(data.table.conclusive, counts, np.nan)
    return Contributions(values, excluded=data.table.left_out, detail=detail, words=words)


def _confusions(data: RunData) -> list[ConfusionFigure]:
    return [] if data.contents is None else top_confusions(data.table, data.suite, data.contents())


def _confused(data: RunData, names: Names, *, once: bool) -> Contributions:
    row = data.once(_confusions)[int(names[0]) - 1]

    def wanted(finding: Finding) -> bool:
        if finding.code != row.code or finding.expected is None or finding.got is None:
            return False
        labels = (confusion_label(finding.expected), confusion_label(finding.got))
        return labels == (row.expected, row.got) and is_confusion(finding.expected, finding.got)

    counts = np.array([sum(map(wanted, data.read[at][0].findings)) for at in range(data.table.n)])
    words = f"findings of {row.code} that expected {row.expected} and got {row.got}; {_ROLE}"
    return _of_findings(data, wanted, np.minimum(counts, 1) if once else counts, words)


_LEFT_OUT = "findings of inconclusive samples are left out"
_ROLE = f"of something with a role, the role is compared; {_LEFT_OUT}"
_FOUND = "findings of a code that expected one thing and got another"
_CONFUSION = register(
    Metric(
        "confusion.<n>",
        "count",
        _FOUND,
        _FOUND,
        _ROLE,
        Aggregate.SUM,
        lambda data, names: _confused(data, names, once=False),
        "lower",
        gate=False,
        sliced=False,
        listed=True,
        all_names=lambda data: [(str(at + 1),) for at in range(len(data.once(_confusions)))],
        stands_on="conclusive samples",
    )
)
register(
    same_but(
        _CONFUSION,
        name="confusion.<n>.samples",
        about=f"samples with at least one of the {_FOUND}",
        formula=f"samples with at least one of the {_FOUND}",
        contributions=lambda data, names: _confused(data, names, once=True),
    )
)


@frozen
class _Sections:
    """The findings of conclusive samples that name the region they begin in: regions with most of them first."""

    names: tuple[str, ...]
    sample: Array
    section: Array
    """By finding, a place in `names`."""
    code: Array


def _sections(data: RunData) -> _Sections:
    columns = data.columns
    if len(columns.finding_section) != len(columns.finding_sample) or not any(columns.finding_sections):
        nothing = np.empty(0, dtype=np.int64)
        return _Sections((), nothing, nothing, nothing)
    named = np.array([bool(name) for name in columns.finding_sections])
    believed = data.table.conclusive[columns.finding_sample.astype(int)] & named[columns.finding_section]
    section = columns.finding_section[believed].astype(int)
    counts = np.bincount(section, minlength=len(columns.finding_sections))
    ranked = sorted(np.flatnonzero(counts).tolist(), key=lambda code: (-counts[code], columns.finding_sections[code]))
    place = np.zeros(len(counts), dtype=np.int64)
    place[ranked] = np.arange(len(ranked))
    names = tuple(columns.finding_sections[code] for code in ranked)
    return _Sections(
        names, columns.finding_sample[believed].astype(int), place[section], columns.finding_code[believed].astype(int)
    )


def _in_sections(data: RunData) -> Labels:
    found = data.once(_sections)
    return Labels(found.names, found.sample, found.section, data.table.conclusive, data.table.left_out)


def _once_in_sections(data: RunData) -> Labels:
    found = data.once(_sections)
    n = max(1, len(found.names))
    pairs, _ = distinct(found.sample * n + found.section)
    return Labels(found.names, pairs // n, pairs % n, data.table.conclusive, data.table.left_out)


def _names_of_sections(data: RunData) -> list[Names]:
    return [(name,) for name in data.once(_sections).names]


def _codes_of_sections(data: RunData) -> list[Names]:
    """Section by section the codes in it, most frequent first."""
    found, codes = data.once(_sections), data.columns.finding_codes
    results: list[Names] = []
    for at, name in enumerate(found.names):
        counts = np.bincount(found.code[found.section == at], minlength=len(codes))
        ranked = sorted(np.flatnonzero(counts).tolist(), key=lambda code: (-counts[code], codes[code]))
        results += [(name, codes[code]) for code in ranked]
    return results


def _in_section(data: RunData, names: Names, *, once: bool = False) -> Contributions:
    """The findings of every sample that begin in a section, all or those of a code."""
    found = data.once(_sections)
    here = found.section == found.names.index(names[0])
    for code in names[1:]:
        here &= found.code == data.columns.finding_codes.index(code)

    def wanted(finding: Finding) -> bool:
        return finding.section == names[0] and (names[1:] or (finding.code,)) == (finding.code,)

    counts = np.bincount(found.sample[here], minlength=data.table.n)
    return _of_findings(data, wanted, np.minimum(counts, 1) if once else counts)


_BEGIN = "findings that begin in that region of the text"
_SECTION = register(
    same_but(
        _CONFUSION,
        name="section.<section>",
        about=_BEGIN,
        formula=_BEGIN,
        counts=_LEFT_OUT,
        contributions=_in_section,
        listed=False,
        labels=_in_sections,
        all_names=_names_of_sections,
    )
)
register(
    same_but(
        _SECTION,
        name="section.<section>.samples",
        about=f"samples with at least one of the {_BEGIN}",
        formula=f"samples with at least one of the {_BEGIN}",
        contributions=lambda data, names: _in_section(data, names, once=True),
        labels=_once_in_sections,
    )
)
register(
    same_but(
        _SECTION,
        name="section.<section>.<code>",
        about=f"{_BEGIN}, of one code",
        formula=f"{_BEGIN}, of one code",
        labels=None,
        all_names=_codes_of_sections,
    )
)
