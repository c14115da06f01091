"""What a run's figures are filled with: every metric of the registry in every group of every factor."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from steelyard.metrics.aggregate import Hit, figures, row_figures
from steelyard.metrics.figures import PLANNED, WHOLE_RUN, Figures, Slice
from steelyard.metrics.registry import POINTS, READABLE, Level, Names, quoted
from steelyard.metrics.run_data import RunData
from steelyard.stats.intervals import Estimate, Possible
from steelyard.store.figures import Figure, Kind, SliceKey


def run_figures(data: RunData) -> Figures:
    """Every metric that a run has, in every slice of it."""
    planned: dict[SliceKey, int] = {}
    rows: list[Figure] = []
    for factor, groups in data.groups.items():
        keys = [SliceKey(factor, name) for name in groups.names]
        for key, n in zip(keys, groups.planned.tolist(), strict=True):
            planned[key] = n
            rows.append(Figure(key, PLANNED, Kind(PLANNED), Estimate(float(n), n)))
        for name, kind, column in _columns(data, factor):
            rows += [Figure(key, name, kind, figure) for key, figure in zip(keys, column, strict=True)]
    return Figures(_told_apart(rows), planned)


def _told_apart(rows: Sequence[Figure]) -> Sequence[Figure]:
    """The same, with names in quotes where two metrics are spelled alike: a code may be called `total`, a measure
    `points` and a section `intro.samples`. As in gates, the literal spelling keeps the plain name."""
    kinds: dict[str, dict[Kind, None]] = {}
    for row in rows:
        kinds.setdefault(row.name, {}).setdefault(row.kind)
    renamed: dict[tuple[str, Kind], str] = {}
    for name, alike in kinds.items():
        _, *others = sorted(alike, key=lambda kind: (len(kind.names), sum("." in part for part in kind.names)))
        renamed |= {(name, kind): quoted(*kind) for kind in others}
    if not renamed:
        return rows
    return [row._replace(name=renamed.get((row.name, row.kind), row.name)) for row in rows]


def hits(data: RunData, factor: str) -> list[Hit]:
    """Every metric in every group of a factor, computed once; of votes, claims and labels, in the whole run."""
    computed = data.once(_computed)
    if factor not in computed:
        levels = [Level.SAMPLE, Level.CELL] if data.has_cells else [Level.SAMPLE]
        computed[factor] = [hit for level in levels for hit in figures(data, factor, level)]
        if not factor:
            computed[factor] += row_figures(data)
    return computed[factor]


def _computed(_: RunData) -> dict[str, list[Hit]]:
    return {}


def row_figures_of(data: RunData) -> Slice:
    """Every metric of votes, claims and labels that a run has, in the whole run, and nothing else."""
    rows = [
        Figure(WHOLE_RUN, metric.filled(names), Kind(metric.name, names), column[0])
        for metric, names, column, _ in row_figures(data)
    ]
    return Figures(_told_apart(rows)).slice()


Named = tuple[str, Kind, list[Estimate]]
"""A name, its pattern and what fills it, and its figure in each group of a factor."""


def _columns(data: RunData, factor: str) -> Iterator[Named]:
    """Name by name, the figure of every group of a factor."""
    clustered = data.groups[factor].clustered
    rates, found = None, []
    for metric, names, column, cases in hits(data, factor):
        if metric.own:
            # The sums of a suite's own ratio may be of anything, and rounded they say nothing.
            column = [replace(item, numerator=None, denominator=None, mean_of=None) for item in column]
        if clustered:
            column = [
                item if n == item.n else replace(item, n_cases=n)
                for item, n in zip(column, cases.tolist(), strict=True)
            ]
        if metric.name in ("findings.<code>", "findings.<code>.samples"):
            found.append((metric.name, names[0], column))
            continue
        if metric.name == "findings.<code>.rate" and rates is None:
            rates = column
        name = metric.filled(names)
        yield name, Kind(metric.name, names), column
        yield from _derived(data, metric.name, names, column)
    yield from _counts(found, rates, data.absent if factor else 0)


def _derived(data: RunData, pattern: str, names: Names, column: list[Estimate]) -> Iterator[Named]:
    """Figures that are the same as another in another unit, or under another name."""
    if pattern == POINTS:
        scale = data.table.scales.get(names[0], (0.0, 1.0))
        average = [share_of_scale(item, scale) for item in column]
        yield f"score.{names[0]}.average", Kind("score.<component>.average", names), average
    if pattern == "score.<component>.<measure>" and not data.table.malformed.any():
        # In a run without malformed answers both are one.
        component, measure = names
        yield f"score.{component}.{measure}{READABLE}", Kind(f"{pattern}{READABLE}", names), column


def _counts(found: list[tuple[str, str, list[Estimate]]], rates: list[Estimate] | None, absent: int) -> Iterator[Named]:
    """Findings, and samples with some, by code; and findings of any code."""
    total: list[Estimate] = []
    for pattern, code, column in found:
        once = pattern.endswith(".samples")
        counted = [
            _result(item, None if rates is None else rates[g], absent, once=once) for g, item in enumerate(column)
        ]
        if not once:
            total = [_sum(*pair) for pair in zip(total, counted, strict=True)] if total else counted
        yield pattern.replace("<code>", code), Kind(pattern, (code,)), counted
    if total:
        yield "findings.total", Kind("findings.total"), total


def _sum(a: Estimate, b: Estimate) -> Estimate:
    value = None if a.value is None else a.value + (b.value or 0.0)
    return replace(a, value=value, possible=a.possible and replace(a.possible, low=value))


def _result(count: Estimate, rate: Estimate | None, absent: int, *, once: bool) -> Estimate:
    """A number of findings, or of samples with some, with what missing samples leave open."""
    if count.value is None or rate is None or rate.possible is None:
        return count
    missing = count.n_missing + absent
    highest = count.value + missing if once else None
    return replace(count, possible=Possible(count.value, highest, missing, count.n + missing))


def share_of_scale(average: Estimate, scale: tuple[float, float]) -> Estimate:
    """A mean in points as a share of the way from one end of its scale to the other."""
    low, high = scale
    if (low, high) == (0.0, 1.0):
        return average
    value, bottom, top = (
        None if number is None else (number - low) / (high - low)
        for number in (average.value, average.low, average.high)
    )
    possible = average.possible
    if possible is not None:
        ends = [None if end is None else (end - low) / (high - low) for end in (possible.low, possible.high)]
        possible = replace(possible, low=ends[0], high=ends[1])
    return replace(average, value=value, low=bottom, high=top, possible=possible)
