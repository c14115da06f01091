"""The figures of a run: a mapping from a slice and the name of a metric to one `Estimate`.

    figures["pass_rate"]                                of the whole run
    figures["pass_rate", "category", "lamp"]            of one slice
    figures.slice("category", "lamp")["latency.p95"]    n/a where the run does not have it

Names are those that gates use. The first two forms raise KeyError where the run has no such figure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property

from steelyard.metrics.registry import Names, blanks, filled, quoted
from steelyard.stats.intervals import Estimate
from steelyard.store.figures import Figure, Kind, SliceKey
from steelyard.wording import counted

_CONCLUSIVE = ("scored", "malformed")
WHOLE_RUN = SliceKey()
PLANNED = "outcomes.planned"
Key = str | tuple[str, str, str] | tuple[SliceKey, str]
"""A name of the whole run; a name, a factor and a slice of it; or a slice and a name."""


class Slice(Mapping[str, Estimate]):
    """The figures of one group of samples (the whole run, a category, a variant, a tag) by name.

    A figure that it does not have is n/a, with all samples that it planned missing.
    """

    def __init__(self, key: SliceKey, n_planned: int, named: Mapping[str, Estimate], kinds: Mapping[str, Kind]) -> None:
        self.key, self.n_planned, self._named, self._kinds = key, n_planned, named, kinds

    @property
    def factor(self) -> str:
        """By what samples are grouped: `category`; "" for the whole run."""
        return self.key.factor

    @property
    def name(self) -> str:
        """Which group it is: `lamp`."""
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
        """A figure that is a count; 0 where the run does not have it."""
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
        """The pattern of a name and what fills it: `Kind("band.<band>", ("Good",))`."""
        return self._kinds[name]

    def each(self, pattern: str, *names: str) -> dict[str, Estimate]:
        """The figures of a pattern by the name that follows `names` in it: `each("band.<band>")["Good"]`."""
        at = len(names)
        return {
            kind.names[at]: self._named[name]
            for name, kind in self._by_pattern.get(pattern, ())
            if kind.names[:at] == names
        }

    def each_name(self, pattern: str) -> list[Names]:
        """What fills the angle brackets of each figure of a pattern: `[("Good",), ("Poor",)]`."""
        return [kind.names for _, kind in self._by_pattern.get(pattern, ())]

    def counts(self, pattern: str, *names: str) -> dict[str, int]:
        """The same of figures that are counts, without those that are 0."""
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
        """How many samples it has."""
        return sum(self.outcomes.values())

    @property
    def n_conclusive(self) -> int:
        """Samples that were scored or could not be read, without those that another kind of judge scored."""
        return sum(self.outcomes.get(name, 0) for name in _CONCLUSIVE) - self.count("outcomes.excluded")


class Figures(Mapping[tuple[SliceKey, str], Estimate]):
    """Every figure of a run by slice and name; it cannot be changed."""

    def __init__(self, figures: Iterable[Figure] = (), planned: Mapping[SliceKey, int] | None = None) -> None:
        """`planned` is how many samples each slice planned, as rows of `outcomes.planned` are."""
        self.planned = dict(planned or {})
        self._by_slice: dict[SliceKey, dict[str, Estimate]] = {key: {} for key in self.planned}
        self._slices: dict[SliceKey, Slice] = {}
        self.kinds: dict[str, Kind] = {}
        """By name, its pattern and what fills it."""
        for of, name, kind, estimate in figures:
            self._by_slice.setdefault(of, {})[name] = estimate
            if name == PLANNED:
                self.planned[of] = round(estimate.value or 0.0)
            self.kinds[name] = kind

    def __getitem__(self, key: Key) -> Estimate:
        of, name = _spelled(key)
        try:
            return self._by_slice[of][name]
        except KeyError:
            where = f"slice {of.text}" if of.factor else "run"
            raise KeyError(f"the {where} has no figure {name!r}: names() has all") from None

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
        """What samples are grouped by: category, tag; "" is the whole run."""
        return list(dict.fromkeys(key.factor for key in self._by_slice))

    def names(self, prefix: str = "") -> list[str]:
        """The names of all figures of the run and its slices that begin with a prefix, in order."""
        return [name for name in self.kinds if name.startswith(prefix)]

    def rows(self) -> Iterator[Figure]:
        """Every figure with its slice and name."""
        for of, named in self._by_slice.items():
            for name, estimate in named.items():
                yield Figure(of, name, self.kinds[name], estimate)

    def replaced(self, rows: Iterable[Figure]) -> Figures:
        """The same with some figures added or replaced."""
        return Figures((*self.rows(), *rows), self.planned)


def _spelled(key: Key) -> tuple[SliceKey, str]:
    if isinstance(key, str):
        return WHOLE_RUN, key
    if len(key) == 3:
        return SliceKey(key[1], key[2]), key[0]
    return key
