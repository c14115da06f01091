"""Figures of a report that no gate stands on, traced to the things in samples that they are made of.

A thing is whatever a figure counts: a sample, a finding, a ballot, a claim, a call.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from steelyard.analysis.explain_model import Behind, Computed, Explanation
from steelyard.analysis.explain_parts import Parts, Reasons, Traced
from steelyard.analysis.explain_readings import NEVER_CAME
from steelyard.analysis.explain_sums import Inputs, quantile
from steelyard.analysis.model import Estimate
from steelyard.records import Sample


@dataclass(frozen=True, slots=True)
class Thing:
    """One thing in a sample; `value` is None when it is not in the figure, and `why` says why not.

    Of one that is in it otherwise than as it stands, `why` says how.
    """

    value: float | None
    why: str = ""
    said: str = ""
    missing: bool = True
    """Of one that is not in it, whether it was to be."""
    data: Any = None
    """What else the figure looks at."""


Read = Callable[[Sample], Iterable[Thing]]
Together = Callable[[Sequence[tuple[Behind, Thing]]], tuple[float | None, Inputs]]
"""The figure that all things in it come to, and what stands in its formula."""


@dataclass(frozen=True, slots=True)
class Words:
    """What is computed, and what of each sample enters it."""

    formula: str
    how: str
    of: str = "samples"
    unit: str = "count"
    interval: str = "none: a count, a sum or an extreme has no interval"
    order: str = "highest first"


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure of a report by its name, with where it stands and the way back to its samples."""

    names: tuple[str, ...]
    place: str
    """In `report --json`: `latency.cells[3].spread.p50`."""
    reported: Estimate | float
    """As every report prints it; a bare number where it stands without an n of its own."""
    words: Words
    trace: Callable[[], Traced]

    def explained(self, metric: str, parts: Parts) -> Explanation:
        """The figure with everything behind it."""
        again, said = parts.computed, self.reported
        reported = said if isinstance(said, Estimate) else Estimate(float(said), again.n, again.n_missing)
        return Explanation(
            metric=metric,
            unit=self.words.unit,
            about=f"{self.place} of report --json",
            formula=self.words.formula,
            how=self.words.how,
            of=self.words.of,
            reported=reported,
            computed=again,
            interval=self.words.interval,
            excluded=parts.excluded,
            noted=parts.noted,
            order=parts.order,
            behind=parts.behind,
        )


class ThingFigure:
    """A figure in the making, that samples are added to one by one."""

    def __init__(self, read: Read, together: Together, words: Words, *, of_planned: bool = False) -> None:
        """`of_planned`: planned samples that never came are missing from it."""
        self._read, self._together, self._words, self._of_planned = read, together, words, of_planned
        self._excluded, self._noted = Reasons(), Reasons()
        self._rows: list[tuple[Behind, Thing]] = []
        self._missing = 0

    def add(self, sample: Sample) -> None:
        for thing in self._read(sample):
            if thing.value is None:
                self._excluded.add(thing.why, sample.case_id)
                self._missing += thing.missing
                continue
            if thing.why:
                self._noted.add(thing.why, sample.case_id)
            self._rows.append((Behind(*sample.key, thing.value, thing.said), thing))

    def ended(self, absent: int) -> Parts:
        if absent and self._of_planned:
            self._excluded.add(NEVER_CAME, n=absent)
            self._missing += absent
        value, inputs = self._together(self._rows)
        sign = 1.0 if self._words.order == "lowest first" else -1.0
        rows = sorted((behind for behind, _ in self._rows), key=lambda row: sign * row.value)
        computed = Computed(value, len(self._rows), self._missing, inputs)
        return Parts(computed, self._excluded.counted(), self._noted.counted(), self._words.order, tuple(rows))


def total(name: str) -> Together:
    """The sum of the values, which is how many there are where each is 1 or 0; `name` says of what."""

    def together(rows: Sequence[tuple[Behind, Thing]]) -> tuple[float | None, Inputs]:
        found = math.fsum(behind.value for behind, _ in rows)
        return found, ((name, found), ("n", len(rows)))

    return together


def distinct(name: str, of: Callable[[Behind], Any]) -> Together:
    """How many different samples, cases or cells have a thing whose value is above 0."""

    def together(rows: Sequence[tuple[Behind, Thing]]) -> tuple[float | None, Inputs]:
        found = len({of(behind) for behind, _ in rows if behind.value > 0})
        return float(found), ((name, found), ("things", len(rows)))

    return together


def mean(name: str = "sum") -> Together:
    """The mean of the values, a share where each is 1 or 0; nothing of nothing."""

    def together(rows: Sequence[tuple[Behind, Thing]]) -> tuple[float | None, Inputs]:
        found = math.fsum(behind.value for behind, _ in rows)
        return found / len(rows) if rows else None, ((name, found), ("n", len(rows)))

    return together


def ranked(point: float) -> Together:
    """A percentile of the values, between the two nearest; 0 and 1 are the extremes."""

    def together(rows: Sequence[tuple[Behind, Thing]]) -> tuple[float | None, Inputs]:
        found = quantile([behind.value for behind, _ in rows], point)
        return found.value, found.inputs

    return together


def sample_of(behind: Behind) -> tuple[str, str, int | None]:
    """The sample that a thing is in."""
    return behind.case_id, behind.variant, behind.repeat


def case_of(behind: Behind) -> str:
    """The case that a thing is of."""
    return behind.case_id


def sliced(factor: str, name: str) -> tuple[str, ...]:
    """The first names of a figure of a slice; none of the whole run's."""
    return (factor, name) if factor else ()
