"""What comes of all the samples behind a figure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from steelyard.analysis.explain_model import Behind, Computed, Counted
from steelyard.records import Sample

_MOST_CASES = 5


class Traced(Protocol):
    """A figure in the making, that samples are added to one by one."""

    def add(self, sample: Sample) -> None: ...

    def ended(self, absent: int) -> Parts: ...


@dataclass(frozen=True, slots=True)
class Parts:
    """What came of all samples."""

    computed: Computed
    excluded: tuple[Counted, ...]
    noted: tuple[Counted, ...]
    order: str
    behind: tuple[Behind, ...]


@dataclass(slots=True)
class Reasons:
    """How many there are for each reason, in the order in which they came up, and the first cases."""

    _found: dict[str, tuple[int, list[str]]] = field(default_factory=dict)

    def add(self, why: str, case_id: str = "", n: int = 1) -> None:
        """Count one, or `n` of which no case is known."""
        count, cases = self._found.get(why, (0, []))
        if case_id and case_id not in cases and len(cases) < _MOST_CASES:
            cases.append(case_id)
        self._found[why] = (count + n, cases)

    def counted(self) -> tuple[Counted, ...]:
        """Most frequent first."""
        told = [Counted(why, count, tuple(cases)) for why, (count, cases) in self._found.items()]
        return tuple(sorted(told, key=lambda each: -each.count))
