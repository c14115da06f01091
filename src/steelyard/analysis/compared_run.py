"""One side of a comparison."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import islice
from typing import Any

from steelyard.analysis.pieces import Array
from steelyard.analysis.sound_runs import answers_from, is_reading, same_system
from steelyard.analysis.table import Table
from steelyard.records import Item, Mode, RunHeader
from steelyard.store.base import Checks, Columns, Store
from steelyard.store.contents import Contents

_LOOKED_AT = 200
"""The newest runs among which others of the same system are looked for."""
_MOST_RUNS = 20
_MODELS = (Mode.MODEL, Mode.BASIC)
"""Kinds of judges that may read the same answer otherwise another time; code does not."""


@dataclass(frozen=True)
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
    """Gives a number for each answer, as `Store.answer_digests` does, where a model judged them."""
    store: Store | None = None
    """Where other runs of the same system may be."""

    @property
    def suite(self) -> dict[str, Any]:
        """The suite as the run's header describes it."""
        return self.header.suite

    @cached_property
    def table(self) -> Table:
        """The run's columns under the rules on what counts as what."""
        return Table(self.columns, self.suite)

    @cached_property
    def same_runs(self) -> list[RunHeader]:
        """This run, and the newest other runs that asked the same system anew for the same."""
        mine = self.header
        if self.store is None or mine.target.get("kind") == "recorded" or answers_from(mine):
            return [mine]
        others = (each for each in self.store.runs(mine.suite_name, _LOOKED_AT) if each.id != mine.id)
        sound = (each for each in others if is_reading(each) and not answers_from(each))
        return [mine, *islice((each for each in sound if same_system(each, mine)), _MOST_RUNS - 1)]

    @property
    def passes(self) -> bool:
        """Whether the suite says when a sample passes."""
        return bool(self.suite.get("passing"))

    @property
    def mode(self) -> str | None:
        """The kind of judge whose readings count; None without a judge."""
        judge = self.suite.get("judge")
        return judge.get("mode") if judge else None

    @property
    def only_scores(self) -> bool:
        """True when nothing but the scores of its judge's answers is known, as of an old snapshot of another tool."""
        return self.mode == Mode.BASIC


def read_run(store: Store, name: str) -> ComparedRun:
    """A run of the store, ready to be compared."""
    header = store.run(name)
    name = header.id
    items = partial(store.items, name) if header.suite.get("stability") else None
    run = ComparedRun(header, store.columns(name), store.contents(name), store.checks(name), items, store=store)
    return replace(run, digests=partial(store.answer_digests, name)) if run.mode in _MODELS else run
