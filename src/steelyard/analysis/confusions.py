"""Confusions: what was taken for what, the most frequent first, and the metrics of each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

import numpy as np

from steelyard.frozen import frozen
from steelyard.metrics.kinds import Aggregate
from steelyard.metrics.registry import Contributions, Metric, Names, register, same_but
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


def of_findings(data: RunData, wanted: Callable[[Finding], bool], counts: Array, words: str = "") -> Contributions:
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
    return of_findings(data, wanted, np.minimum(counts, 1) if once else counts, words)


LEFT_OUT = "findings of inconclusive samples are left out"
_ROLE = f"of something with a role, the role is compared; {LEFT_OUT}"
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
