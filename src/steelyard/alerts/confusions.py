"""What a run took for something else: all of it, by digest, so that what no earlier run did can be told."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from steelyard.frozen import frozen
from steelyard.metrics.table import FORMAT, Table
from steelyard.store.base import Store
from steelyard.store.contents import Contents
from steelyard.suite.models import SuiteModel

_JUDGED = ("dimension", "flag")
_MOST_LOOKED_AT = 200


@frozen
class UnseenConfusion:
    """One thing that was taken for another."""

    digest: int
    code: str
    expected: str
    got: str
    samples: int
    """In how many samples."""


class RunConfusions:
    """The confusions of a run, each with the samples that it is in; those of inconclusive samples are left out."""

    def __init__(self, table: Table, contents: Contents, suite: SuiteModel) -> None:
        self._contents = contents
        self._none = {FORMAT} | {component.finding_code for component in suite.components if component.kind in _JUDGED}
        sample = contents.confusion_sample.astype(int)
        believed = np.flatnonzero(table.conclusive[sample]) if len(sample) else np.empty(0, dtype=int)
        digest, sample = contents.confusion[believed], sample[believed]
        order = np.lexsort((sample, digest))
        digest, sample = digest[order], sample[order]
        # A sample that takes the same for the same several times counts once.
        once = np.ones(len(order), dtype=bool)
        once[1:] = (digest[1:] != digest[:-1]) | (sample[1:] != sample[:-1])
        self._digests, first, self._samples = np.unique(digest[once], return_index=True, return_counts=True)
        self._first = believed[order[once][first]]

    def in_samples(self, digest: int) -> int:
        """In how many samples one is."""
        at = np.flatnonzero(self._digests == np.uint64(digest))
        return int(self._samples[at[0]]) if len(at) else 0

    def unseen(self, seen: Collection[int], at_least: int) -> list[UnseenConfusion]:
        """Those that are in so many samples and not among what was seen before, most frequent first."""
        fresh = ~np.isin(self._digests, np.array(sorted(seen), dtype=np.uint64)) & (self._samples >= at_least)
        digests, samples, first = self._digests[fresh], self._samples[fresh], self._first[fresh]
        order = np.lexsort((digests, -samples))[:_MOST_LOOKED_AT]
        texts = self._contents.confused([int(first[i]) for i in order])
        return [
            UnseenConfusion(int(digests[i]), *message, int(samples[i]))
            for i, message in zip(order, texts, strict=True)
            if message[0] not in self._none and message[1] != message[2]
        ]


def confusions_of(store: Store, run_id: str, suite: SuiteModel) -> RunConfusions:
    """The confusions of a stored run."""
    return RunConfusions(Table(store.columns(run_id), suite), store.contents(run_id), suite)


def seen_in(store: Store, run_ids: Collection[str]) -> set[int]:
    """The digests of every confusion of these runs."""
    results: set[int] = set()
    for run_id in run_ids:
        results.update(np.unique(store.contents(run_id).confusion).tolist())
    return results
