"""The figures of a run: a mapping from a slice and the name of a metric to one number with what it stands on.

    figures["pass_rate"]                                of the whole run
    figures["pass_rate", "category", "lamp"]            of one slice
    figures.slice("category", "lamp")["latency.p95"]    n/a where the run does not have it

Names are those that gates use. Whatever wants a number of a run asks for it here, by its name.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from steelyard.metrics.registry import POINTS, READABLE, Names, blanks, filled, quoted
from steelyard.stats.intervals import Estimate, Possible
from steelyard.store.figures import Figure, Kind, SliceKey
from steelyard.wording import counted

if TYPE_CHECKING:
    from steelyard.metrics.aggregate import Hit
    from steelyard.metrics.run_data import RunData

_CONCLUSIVE = ("scored", "malformed")


WHOLE_RUN = SliceKey()
PLANNED = "outcomes.planned"
Key = str | tuple[str, str, str] | tuple[SliceKey, str]
"""A name of the whole run; a name, a factor and a slice of it; or a slice and a name."""


class Slice(Mapping[str, Estimate]):
    """The figures of one group of samples (the whole run, a category, a variant, a tag) by name.

    What the run does not have is n/a, missing in all that the slice planned.
    """

    def __init__(self, key: SliceKey, n_planned: int, named: Mapping[str, Estimate], kinds: Mapping[str, Kind]) -> None:
        self.key, self.n_planned, self._named, self._kinds = key, n_planned, named, kinds

    @property
    def factor(self) -> str:
        """What it is a group by; "" for the whole run."""
        return self.key.factor

    @property
    def name(self) -> str:
        """Which group of the factor it is."""
        return self.key.name

    def __getitem__(self, name: str) -> Estimate:
        result = self._named.get(name)
        return Estimate(None, 0, self.n_planned) if result is None else result

    def __contains__(self, name: object) -> bool:
        return name in self._named

    def __iter__(self) -> Iterator[str]:
        return iter(self._named)

    def __len__(self) -> int:
        return len(self._named)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Slice) and (self.key, self._named) == (other.key, other._named)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<Slice {self.key.text or 'of the whole run'}: {counted(len(self), 'figure')}>"

    def count(self, name: str) -> int:
        """A figure that is a number of something; 0 where the run does not have it."""
        return round(self[name].value or 0.0)

    @property
    def alone(self) -> Figures:
        """The figures of this slice and of no other."""
        every = (Figure(self.key, name, self._kinds[name], estimate) for name, estimate in self._named.items())
        return Figures(every, {self.key: self.n_planned})

    def of(self, pattern: str, *names: str) -> Estimate:
        """The figure of a metric whose angle brackets are filled with these names, whatever else is spelled so."""
        return self[self.name_of(pattern, *names)]

    def count_of(self, pattern: str, *names: str) -> int:
        """The same of a figure that is a number of something; 0 where the run does not have it."""
        return self.count(self.name_of(pattern, *names))

    def name_of(self, pattern: str, *names: str) -> str:
        """What that figure is called in the run."""
        plain = filled(pattern, names)
        called = self._kinds.get(plain)
        return plain if called is None or called.names == names[: len(blanks(pattern))] else quoted(pattern, names)

    def kind(self, name: str) -> Kind:
        """What a name is of."""
        return self._kinds[name]

    def each(self, pattern: str, *names: str) -> dict[str, Estimate]:
        """All figures of one metric whose name begins with these parts, by the part that comes next."""
        at = len(names)
        return {
            kind.names[at]: self._named[name]
            for name, kind in self._by_pattern.get(pattern, ())
            if kind.names[:at] == names
        }

    def each_name(self, pattern: str) -> list[Names]:
        """What fills the angle brackets of a metric, one by one."""
        return [kind.names for _, kind in self._by_pattern.get(pattern, ())]

    def counts(self, pattern: str, *names: str) -> dict[str, int]:
        """The same of figures that are numbers of something, without those of which there is nothing."""
        every = {part: round(item.value or 0.0) for part, item in self.each(pattern, *names).items()}
        return {part: n for part, n in every.items() if n}

    @cached_property
    def _by_pattern(self) -> dict[str, list[tuple[str, Kind]]]:
        result: dict[str, list[tuple[str, Kind]]] = {}
        for name in self._named:
            kind = self._kinds[name]
            result.setdefault(kind.pattern, []).append((name, kind))
        return result

    @property
    def outcomes(self) -> dict[str, int]:
        """How many samples ended in which way."""
        return self.counts("outcomes.<outcome>")

    @property
    def n_cases(self) -> int:
        """How many cases, or clusters of cases, it has samples of."""
        return self["scored_rate"].cases

    @property
    def n_samples(self) -> int:
        """How many samples came."""
        return sum(self.outcomes.values())

    @property
    def n_conclusive(self) -> int:
        """Samples that were scored or could not be read, without those that another kind of judge scored."""
        return sum(self.outcomes.get(name, 0) for name in _CONCLUSIVE) - self.count("outcomes.excluded")


class Figures(Mapping[tuple[SliceKey, str], Estimate]):
    """Every figure of a run by slice and name; it cannot be changed."""

    def __init__(self, figures: Iterable[Figure] = (), planned: Mapping[SliceKey, int] | None = None) -> None:
        """`planned` says how many samples each slice planned, as may a row: a figure that it does not have is missing
        in so many."""
        self.planned = dict(planned or {})
        self._by_slice: dict[SliceKey, dict[str, Estimate]] = {key: {} for key in self.planned}
        self._slices: dict[SliceKey, Slice] = {}
        self.kinds: dict[str, Kind] = {}
        """What every name is of."""
        for of, name, kind, estimate in figures:
            self._by_slice.setdefault(of, {})[name] = estimate
            if name == PLANNED:
                self.planned[of] = round(estimate.value or 0.0)
            self.kinds[name] = kind

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

    def slice(self, factor: str = "", name: str = "") -> Slice:
        """One slice; without a factor the whole run."""
        return self.at(SliceKey(factor, name))

    def at(self, key: SliceKey) -> Slice:
        """One slice by its key."""
        if key not in self._slices:
            self._slices[key] = Slice(key, self.planned.get(key, 0), self._by_slice.get(key, {}), self.kinds)
        return self._slices[key]

    def slices(self, factor: str | None = None) -> list[Slice]:
        """The slices of a factor, or all of them; the whole run is that of the factor ""."""
        return [self.at(key) for key in self._by_slice if factor is None or key.factor == factor]

    @property
    def factors(self) -> list[str]:
        """What the run is cut by; "" is the whole run."""
        return list(dict.fromkeys(key.factor for key in self._by_slice))

    def names(self, prefix: str = "") -> list[str]:
        """The names that the whole run or any slice has a figure of, in order."""
        return [name for name in self.kinds if name.startswith(prefix)]

    def rows(self) -> Iterator[Figure]:
        """Every figure with its slice and name."""
        for of, named in self._by_slice.items():
            for name, estimate in named.items():
                yield Figure(of, name, self.kinds[name], estimate)

    def replaced(self, rows: Iterable[Figure]) -> Figures:
        """The same with some figures added or in the place of those they had."""
        return Figures((*self.rows(), *rows), self.planned)


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
    from steelyard.metrics.aggregate import figures, row_figures
    from steelyard.metrics.registry import Level

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
    from steelyard.metrics.aggregate import row_figures

    rows = [
        Figure(WHOLE_RUN, metric.filled(names), Kind(metric.name, names), column[0])
        for metric, names, column, _ in row_figures(data)
    ]
    return Figures(_told_apart(rows)).slice()


Named = tuple[str, Kind, list[Estimate]]
"""A name, what it is of, and its figure in every group of a factor."""


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
    """What is another figure, said in another way."""
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
