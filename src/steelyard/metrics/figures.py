"""The figures of a run: a mapping from a slice and the name of a metric to one number with what it stands on.

    figures["pass_rate"]                                of the whole run
    figures["pass_rate", "category", "lamp"]            of one slice
    figures.estimate(slice_key, "latency.p95")          n/a where the run does not have it

Names are those that gates use. Whatever wants a number of a run asks for it here, by its name.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from steelyard.frozen import frozen
from steelyard.stats.intervals import Estimate, Possible

if TYPE_CHECKING:
    from steelyard.metrics.aggregate import Hit
    from steelyard.metrics.run_data import RunData


@frozen
class SliceKey:
    """One group of samples; without a factor it is the whole run."""

    factor: str = ""
    name: str = ""

    @property
    def text(self) -> str:
        """`category.lamp`, as gates name it; "" for the whole run."""
        return f"{self.factor}.{self.name}" if self.factor else ""


WHOLE_RUN = SliceKey()
Key = str | tuple[str, str, str] | tuple[SliceKey, str]
"""A name of the whole run; a name, a factor and a slice of it; or a slice and a name."""


class Figures(Mapping[tuple[SliceKey, str], Estimate]):
    """Every figure of a run by slice and name; it cannot be changed."""

    __slots__ = ("_by_slice", "_planned")

    def __init__(
        self,
        figures: Iterable[tuple[SliceKey, str, Estimate]] = (),
        planned: Mapping[SliceKey, int] | None = None,
    ) -> None:
        """`planned` says how many samples each slice planned: a figure that it does not have is missing in so many."""
        self._planned = dict(planned or {})
        self._by_slice: dict[SliceKey, dict[str, Estimate]] = {key: {} for key in self._planned}
        for key, name, estimate in figures:
            self._by_slice.setdefault(key, {})[name] = estimate

    def __getitem__(self, key: Key) -> Estimate:
        of, name = _spelled(key)
        return self._by_slice[of][name]

    def __contains__(self, key: object) -> bool:
        if not isinstance(key, str | tuple):
            return False
        of, name = _spelled(key)
        return name in self._by_slice.get(of, {})

    def __iter__(self) -> Iterator[tuple[SliceKey, str]]:
        return ((of, name) for of, named in self._by_slice.items() for name in named)

    def __len__(self) -> int:
        return sum(map(len, self._by_slice.values()))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Figures) and self._by_slice == other._by_slice

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<Figures: {len(self):,} of {len(self._by_slice):,} slices>"

    def estimate(self, of: SliceKey, name: str) -> Estimate:
        """A figure of a slice; n/a when the run does not have it."""
        result = self._by_slice.get(of, {}).get(name)
        return Estimate(None, 0, self._planned.get(of, 0)) if result is None else result

    def of(self, of: SliceKey = WHOLE_RUN) -> dict[str, Estimate]:
        """All figures of a slice by name."""
        return dict(self._by_slice.get(of, {}))

    def slices(self, factor: str | None = None) -> list[SliceKey]:
        """The slices of a factor, or all of them; the whole run is that of the factor ""."""
        return [of for of in self._by_slice if factor is None or of.factor == factor]

    def names(self, prefix: str = "") -> list[str]:
        """The names that the whole run or any slice has a figure of, in order."""
        every = dict.fromkeys(name for named in self._by_slice.values() for name in named)
        return [name for name in every if name.startswith(prefix)]

    def named(self, prefix: str, of: SliceKey = WHOLE_RUN, *, suffix: str = "") -> dict[str, Estimate]:
        """The figures of a slice whose names begin and end so, by what is between."""
        end = len(suffix)
        return {
            name[len(prefix) : len(name) - end]: estimate
            for name, estimate in self._by_slice.get(of, {}).items()
            if name.startswith(prefix) and name.endswith(suffix) and len(name) > len(prefix) + end
        }

    def rows(self) -> Iterator[tuple[SliceKey, str, Estimate]]:
        """Slice, name and figure of every one."""
        return ((of, name, figure) for of, named in self._by_slice.items() for name, figure in named.items())


def _spelled(key: Key) -> tuple[SliceKey, str]:
    if isinstance(key, str):
        return WHOLE_RUN, key
    if len(key) == 3:
        return SliceKey(key[1], key[2]), key[0]
    return key


# What a run's figures are filled with: every metric of the registry in every group of every factor.


def run_figures(data: RunData) -> Figures:
    """Every metric that a run has, in every slice of it."""
    planned: dict[SliceKey, int] = {}
    rows = []
    for factor, groups in data.groups.items():
        keys = [SliceKey(factor, name) for name in groups.names]
        planned |= {key: int(n) for key, n in zip(keys, groups.planned, strict=True)}
        for name, column in _columns(data, factor):
            rows += [(key, name, figure) for key, figure in zip(keys, column, strict=True)]
    return Figures(rows, planned)


def hits(data: RunData, factor: str) -> list[Hit]:
    """Every metric in every group of a factor, computed once; of votes, claims and labels, in the whole run."""
    from steelyard.metrics.aggregate import figures, row_figures
    from steelyard.metrics.registry import Level

    computed = data.once(_computed)
    if factor not in computed:
        has_cells = data.clean_repeats is not None or data.stability is not None
        levels = [Level.SAMPLE, Level.CELL] if has_cells else [Level.SAMPLE]
        computed[factor] = [hit for level in levels for hit in figures(data, factor, level)]
        if not factor:
            computed[factor] += [hit for level in data.row_levels for hit in row_figures(data, level)]
    return computed[factor]


def _computed(_: RunData) -> dict[str, list[Hit]]:
    return {}


def _columns(data: RunData, factor: str) -> Iterator[tuple[str, list[Estimate]]]:
    """Name by name, the figure of every group of a factor."""
    clustered = data.groups[factor].clustered
    rates, found = None, []
    for metric, names, column, cases in hits(data, factor):
        if metric.own:
            # The sums of a suite's own ratio may be of anything, and rounded they say nothing.
            column = [replace(item, numerator=None, denominator=None, mean_of=None) for item in column]
        if clustered:
            column = [replace(item, n_cases=n) for item, n in zip(column, cases.tolist(), strict=True)]
        if metric.name in ("findings.<code>", "findings.<code>.samples"):
            found.append((metric.name, names[0], column))
            continue
        if metric.name == "findings.<code>.rate" and rates is None:
            rates = column
        name = metric.filled(names)
        yield name, column
        yield from _derived(data, metric.name, name, names[0] if names else "", column)
    yield from _counts(found, rates, data.absent if factor else 0)


def _derived(
    data: RunData, pattern: str, name: str, component: str, column: list[Estimate]
) -> Iterator[tuple[str, list[Estimate]]]:
    """What is another figure, said in another way."""
    if pattern == "score.<component>.points":
        scale = data.table.scales.get(component, (0.0, 1.0))
        yield f"score.{component}.average", [share_of_scale(item, scale) for item in column]
    if pattern == "score.<component>.<measure>" and not data.table.malformed.any():
        # In a run without malformed answers both are one.
        yield f"{name}.readable", column


def _counts(
    found: list[tuple[str, str, list[Estimate]]], rates: list[Estimate] | None, absent: int
) -> Iterator[tuple[str, list[Estimate]]]:
    """Findings, and samples with some, by code; and findings of any code."""
    total: list[Estimate] = []
    for pattern, code, column in found:
        once = pattern.endswith(".samples")
        counted = [
            _result(item, None if rates is None else rates[g], absent, once=once) for g, item in enumerate(column)
        ]
        if not once:
            total = [_sum(*pair) for pair in zip(total, counted, strict=True)] if total else counted
        yield pattern.replace("<code>", code), counted
    if total:
        yield "findings.total", total


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
