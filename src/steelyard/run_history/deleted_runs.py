"""What is left of deleted runs: how many there were, when, and what they came to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from steelyard.decide.provenance import counted_verdicts, verdicts_in_words
from steelyard.frozen import frozen
from steelyard.records import PastRun
from steelyard.wording import counted, day


@frozen
class DeletedRuns:
    """Runs that were deleted together."""

    deleted_at: float
    runs: tuple[str, ...]
    verdicts: Mapping[str, int]

    @property
    def sentence(self) -> str:
        """`2026-01-18 2 runs deleted: 1 PASS, 1 FAIL`."""
        return f"{day(self.deleted_at)} {counted(len(self.runs), 'run')} deleted: {verdicts_in_words(self.verdicts)}"


def deletions(runs: Iterable[PastRun]) -> tuple[DeletedRuns, ...]:
    """The deleted runs by when they were deleted, oldest first."""
    by_time: dict[float, list[PastRun]] = {}
    for run in runs:
        by_time.setdefault(run.deleted_at or 0.0, []).append(run)
    return tuple(
        DeletedRuns(moment, tuple(run.id for run in together), counted_verdicts(together))
        for moment, together in by_time.items()
    )
