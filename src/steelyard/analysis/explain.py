"""A figure of a run traced to its samples: computed again from them one by one, and held against the report's."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from steelyard.analysis.explain_cells import CellFigure
from steelyard.analysis.explain_model import Behind, Computed, Explanation
from steelyard.analysis.explain_parts import Parts, Reasons, Traced
from steelyard.analysis.explain_readings import NEVER_CAME, OF_SAMPLES, Reader, Reading, in_words, reader
from steelyard.analysis.explain_sums import Combined, combined
from steelyard.analysis.model import Estimate
from steelyard.analysis.resampling import RESAMPLES, SEED
from steelyard.records import Sample
from steelyard.suite.formulas import FORMULAS, IntervalKind
from steelyard.suite.gates import METRICS, NONE, Gate

_CLUSTERED = "samples of one case count as one cluster"
INTERVALS = {
    IntervalKind.RATE: f"Wilson's score interval; {_CLUSTERED}",
    IntervalKind.MEAN: f"Wilson's score interval by the standard error of the mean; {_CLUSTERED}",
    IntervalKind.OPEN_MEAN: (
        f"studentised bootstrap over cases ({RESAMPLES:,} resamples, seed {SEED}) and Student t, whichever end is"
        " farther"
    ),
    IntervalKind.QUANTILE: f"order statistics; {_CLUSTERED}",
    IntervalKind.RATIO: "Wilson's score interval by the residuals of cases (numerator - ratio x denominator)",
    IntervalKind.CELLS: "Wilson's score interval over cells; those of one case count as one cluster",
    IntervalKind.NONE: "none: a count, a sum or an extreme has no interval",
}
"""How the 95 % interval of each kind of figure is made."""
_ALL_PLANNED = ("scored_rate", "inconclusive_rate")
"""Rates of everything that was planned: what never came is in them."""


class _SampleFigure:
    """A figure that is made of samples."""

    def __init__(self, gate: Gate, suite: Mapping[str, Any], read: Reader) -> None:
        self._gate, self._suite, self._read = gate, suite, read
        self._excluded, self._noted = Reasons(), Reasons()
        self._rows: list[tuple[Behind, Reading]] = []

    def add(self, sample: Sample) -> None:
        reading = self._read(sample)
        if reading.value is None:
            self._excluded.add(reading.why, sample.case_id)
            return
        if reading.why:
            self._noted.add(reading.why, sample.case_id)
        self._rows.append((Behind(*sample.key, reading.value, in_words(sample)), reading))

    def ended(self, absent: int) -> Parts:
        everything = self._gate.pattern in _ALL_PLANNED
        if absent:
            (self._noted if everything else self._excluded).add(NEVER_CAME, n=absent)
        left_out = sum(each.count for each in self._excluded.counted())
        found = combined(self._gate, [reading for _, reading in self._rows], absent if everything else 0)
        computed = Computed(found.value, found.n, left_out, found.inputs)
        order, behind = _against(self._gate, self._suite, [each for each, _ in self._rows], found)
        return Parts(computed, self._excluded.counted(), self._noted.counted(), order, behind)


def traced(gate: Gate, suite: Mapping[str, Any], first_repeat: int) -> Traced:
    """The metric of a gate, ready for samples."""
    if gate.pattern in OF_SAMPLES:
        return _SampleFigure(gate, suite, reader(gate, suite))
    return CellFigure(gate, suite, first_repeat)


def _against(
    gate: Gate, suite: Mapping[str, Any], rows: Sequence[Behind], found: Combined
) -> tuple[str, tuple[Behind, ...]]:
    """What counts most against the system first, in the order of the plan where it is the same; and that order."""
    worse = worse_way(gate, suite)
    values = [row.value for row in rows]
    order = {"lower": "lowest first", "higher": "highest first", "": "those in the band first"}[worse]
    if found.residuals:
        values = list(found.residuals)
        order = "what pulls it " + ("up" if worse == "higher" else "down") + " most first"
        rows = [
            Behind(row.case_id, row.variant, row.repeat, value, said)
            for row, value, said in zip(rows, values, found.said, strict=True)
        ]
    sign = 1.0 if worse == "lower" else -1.0
    ranked = sorted(range(len(rows)), key=lambda at: sign * values[at])
    return order, tuple(rows[at] for at in ranked)


def worse_way(gate: Gate, suite: Mapping[str, Any]) -> str:
    """Which values count against the system: `lower`, `higher`, or "" when nobody has said."""
    worse = FORMULAS[gate.pattern].worse
    if gate.pattern == "band.<band>":
        names = [band["name"] for band in suite.get("bands") or ()]
        return "lower" if names[:1] == [gate.subject] else "higher" if names[-1:] == [gate.subject] else ""
    if gate.measure:
        declared = {each["name"]: each for each in suite.get("components") or ()}.get(gate.subject, {})
        if declared.get("kind") == "flag":
            return "higher"
        measure = {**(declared.get("measures") or {}), **(declared.get("means") or {})}.get(gate.measure, {})
        return "higher" if measure.get("better") == "lower" else "lower"
    return worse


def explanation(gate: Gate, metric: str, reported: Estimate, parts: Parts) -> Explanation:
    """The figure with everything behind it; `metric` names it with its slice."""
    formula = FORMULAS[gate.pattern]
    interval = INTERVALS[formula.interval]
    if formula.interval is not IntervalKind.NONE and reported.low is None:
        interval = f"undefined for so few; otherwise {interval[0].lower()}{interval[1:]}"
    return Explanation(
        metric=metric,
        unit=gate.unit,
        about=METRICS[gate.pattern].about,
        formula=formula.formula,
        how=formula.how,
        of=formula.of,
        reported=reported,
        computed=parts.computed,
        interval=interval,
        excluded=parts.excluded,
        noted=parts.noted,
        order=parts.order,
        behind=parts.behind,
    )


def in_slice(sample: Sample, factor: str | None, name: str) -> bool:
    """Whether a sample is of a slice; of the whole run when there is no factor."""
    if not factor:
        return True
    if factor == "tag":
        return name in sample.tags
    value = getattr(sample, factor)
    return (NONE if value is None else value) == name


def first_repeat(lowest: int, highest: int, suite: Mapping[str, Any]) -> int:
    """The number of the first repeat: 0, unless a run of another tool counts them from elsewhere."""
    return 0 if highest < int(suite.get("repeats") or 1) else lowest


def spread_out(samples: Iterable[Sample], figures: Sequence[tuple[str | None, str, Traced]]) -> int:
    """Add every sample to the figures of its slices; how many samples there are."""
    n = 0
    for sample in samples:
        n += 1
        for factor, name, figure in figures:
            if in_slice(sample, factor, name):
                figure.add(sample)
    return n
