"""One side of a comparison: a run with everything that a comparison reads of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from functools import cached_property, partial
from itertools import islice

from steelyard.frozen import frozen
from steelyard.loading.own_metrics import load_metrics
from steelyard.metrics.run_data import RunData
from steelyard.metrics.table import Table
from steelyard.records import Item, Mode, RunHeader, Sample
from steelyard.stats.arrays import Array
from steelyard.store.base import Checks, Columns, Store
from steelyard.store.contents import Contents
from steelyard.store.headers import answers_from, is_reading, same_system
from steelyard.suite.case import Case
from steelyard.suite.models import SuiteModel

_LOOKED_AT = 200
"""The newest runs among which others of the same system are looked for."""
_MOST_RUNS = 20


@frozen
class Rescored:
    """What recorded answers, rescored, show to be the same in two runs although it has changed."""

    parts: Mapping[str, str] = field(default_factory=dict)
    """Parts of A's signature of which only code changed, with B's hash."""
    n: int = 0
    """Answers that have the scores they had."""
    side: str = ""
    """Whose answers they are."""
    truths: frozenset[str] = frozenset()
    """Cases whose truth changed, and by B's truth A's answers were scored again."""
    moved: int = 0
    """How many of these cases have another result by the other run's truth, in A or in B."""


@frozen
class ComparedRun:
    """A run with everything a comparison looks at; without `contents` nobody knows its questions, truth or texts."""

    header: RunHeader
    columns: Columns
    contents: Contents | None = None
    checks: Checks | None = None
    """What became of its expectations."""
    items: Callable[[], Iterable[tuple[int, tuple[Item, ...]]]] | None = None
    """Gives what its repeats are compared by, as `Store.items` does."""
    digests: Callable[[], Array] | None = None
    """Gives a number for each answer, as `Store.answer_digests` does."""
    lengths: Callable[[], Array] | None = None
    """Gives the number of characters of each answer, as `Store.answer_lengths` does."""
    samples: Callable[..., Iterable[tuple[Sample, Case]]] | None = None
    """Gives its samples with their cases, as `Store.samples` does."""
    rescored: Rescored = Rescored()
    """Of run A: what is the same in B."""
    store: Store | None = None
    """Where other runs of the same system may be."""
    by_truth_of_b: ComparedRun | None = None
    """Of run A: the same answers scored by B's truth; None where that is A's own, or cannot be done."""
    b_by_truth_of_a: ComparedRun | None = None
    """Of run A: B's answers scored by A's truth; None where no result turns on that."""

    @property
    def paired(self) -> ComparedRun:
        """The run as its samples are paired with those of B: by B's truth."""
        return self.by_truth_of_b or self

    @property
    def suite(self) -> SuiteModel:
        """The suite as the run's header describes it."""
        return self.header.description

    @cached_property
    def data(self) -> RunData:
        """What metrics take their contributions from."""
        return RunData(self.columns, self.suite, self.checks, None if self.items is None else self.items())

    @property
    def table(self) -> Table:
        """The run's columns under the rules on what counts as what."""
        return self.data.table

    @cached_property
    def same_runs(self) -> list[RunHeader]:
        """This run, and the newest other runs that ran the same system on the same samples."""
        mine = self.header
        if self.store is None or mine.target.kind == "recorded" or answers_from(mine):
            return [mine]
        others = (run for run in self.store.runs(mine.suite_name, _LOOKED_AT) if run.id != mine.id)
        sound = (other for other in others if is_reading(other) and not answers_from(other))
        return [mine, *islice((item for item in sound if same_system(item, mine)), _MOST_RUNS - 1)]

    @property
    def passes(self) -> bool:
        """Whether the suite says when a sample passes."""
        return self.suite.passing is not None

    @property
    def mode(self) -> str | None:
        """The kind of judge whose readings count; None without a judge."""
        return self.suite.judge.mode if self.suite.judge else None

    @property
    def imported(self) -> bool:
        """True when another tool wrote it: what its file does not hold is unknown."""
        return self.header.options.imported is not None

    @property
    def only_scores(self) -> bool:
        """True when nothing but the scores of its judge's answers is known, as of an old snapshot of another tool."""
        return self.mode == Mode.BASIC


Rescore = Callable[[ComparedRun, ComparedRun], ComparedRun]
"""Gives run A with what rescoring shows to be the same in B."""


def read_run(store: Store, name: str) -> ComparedRun:
    """A run of the store, ready to be compared."""
    header = store.run(name)
    name = header.id
    load_metrics(header)
    items = partial(store.items, name) if header.description.stability else None
    digests, samples = partial(store.answer_digests, name), partial(store.samples, name)
    parts = (store.columns(name), store.contents(name), store.checks(name))
    lengths = partial(store.answer_lengths, name)
    return ComparedRun(header, *parts, items, digests, lengths, samples=samples, store=store)
