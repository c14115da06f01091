"""The registry of all metrics: those that gates can name, and those that are only reported.

A metric is a name (or a pattern: `band.<band>`), a unit, which way is better, a formula in words, its rows, how they
are aggregated, and one function that returns their contributions. Adding one is one call of `register`, in a module
that is listed here (`_FOR_GATES`, `_REPORTED_ONLY`) or found by a family (`FAMILIES`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from enum import StrEnum
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar

from steelyard.frozen import frozen
from steelyard.metrics.kinds import Aggregate

if TYPE_CHECKING:
    from steelyard.metrics.run_data import RunData
    from steelyard.stats.arrays import Array
    from steelyard.stats.intervals import Estimate
    from steelyard.suite.models import SuiteModel


Better = Literal["higher", "lower", ""]
Names = tuple[str, ...]
"""What fills the angle brackets of a pattern."""
MOST_IN_A_ROW = 100
"""The largest k of pass^k."""
MEASURE = "score.<component>.<measure>"
POINTS = "score.<component>.points"
OF_JUDGE = "judge."
"""How the names of all metrics of a suite's judge begin."""
READABLE = ".readable"
"""How the name of a measure over the answers that could be read ends."""
CORRECTED = "pass_rate.corrected"
"""The pass rate by judge and labels together."""
OF_LABELS = ("pass_rate.", "labels.")
"""How the names of metrics begin that labels change after a run has ended."""


class Level(StrEnum):
    """What one row of contributions is."""

    SAMPLE = "sample"
    CELL = "cell"
    """A case under a variant, with all its repeats."""
    VOTE = "vote"
    """One member's scores for a text in one judging repeat."""
    CLAIM = "claim"
    """One thing that an answer says with a confidence."""
    LABEL = "label"
    """What people say of one text, next to what the judge says of it."""


class Compared(StrEnum):
    """How far two runs are compared in it."""

    PAIRS = "pairs"
    WHOLE_RUN = "whole run"
    """Of the whole run only, not of slices."""
    NO = ""


Key = tuple[str, str, int | None]
"""Case, variant and repeat of a row; no repeat of a cell."""
Reasons = tuple[tuple[str, "Array | None"], ...]
"""Reasons with the rows that they hold for, the first that does counts; None holds for all that are left."""


@frozen
class Contributions:
    """What each row contributes to a metric; NaN where it is not in it, for the reason in `excluded`."""

    values: Array
    below: Array | None = None
    """Of a ratio, the denominators."""
    ratios: tuple[tuple[Array, Array], ...] = ()
    """Of a mean of several ratios, numerators and denominators of each; `values` are then what any of them is of."""
    undecided: Array | None = None
    """Of a share of checks or repeats in cells, how many are undecided: they count as 0, and as missing."""
    undecided_in_absent: Array | None = None
    """By missing planned cell, how many of these it has, all undecided; None: one each."""
    not_missing: Array | None = None
    """Rows that were never to have a value."""
    possible: tuple[Array, Array] | None = None
    """By row, the lowest and the highest value that it could have had were nothing of it missing or censored; rows
    that were never to have a value are NaN in both. None: a row has its value, or is missing."""
    at_least: Array | None = None
    """Rows whose value is a lower bound (right-censored): calls that timed out took at least the time waited."""
    excluded: Reasons = ()
    noted: Reasons = ()
    """What is counted with another value."""
    absent: float | None = None
    """What a missing planned row counts as; None: it is missing."""
    estimate: Callable[[Array], Estimate] | None = None
    """Of the aggregate `estimate`: the figure of some rows, by their numbers."""
    detail: Callable[[int], str] | None = None
    """Why a row has its value, as text."""
    words: str = ""
    """What this figure is about, where its name does not say it (`pattern.3`)."""
    key: Callable[[int], Key] | None = None
    """Of a metric that is only reported, where each row comes from."""
    sample: Array | None = None
    """By row, its sample, where rows are votes, claims or labels; None where rows are samples or cells."""
    n_absent: int = 0
    """Of a metric that is only reported, how many rows were planned and are missing."""

    def of_absent(self, n: int) -> Array:
        """How many checks or repeats each of `n` missing cells has."""
        import numpy as np  # not needed where metrics are only named

        return np.ones(n) if self.undecided_in_absent is None else self.undecided_in_absent[:n]

    @property
    def decided(self) -> Array:
        """The rows that the metric is based on."""
        here: Array = self.values == self.values
        if self.undecided is None:
            return here
        decided: Array = here & (self.undecided < (1 if self.below is None else self.below))
        return decided


@frozen
class Labels:
    """Contributions of a whole family: which labels (codes, bands) every sample has, among those that are known."""

    names: Sequence[str]
    sample: Array | None
    """By entry, its sample; None when every sample has at most one label."""
    label: Array
    """By entry a place in `names`; below 0 there is none."""
    available: Array
    excluded: Reasons = ()
    noted: Mapping[str, Reasons] = field(default_factory=dict)
    absent_as: str | None = None
    """The label of planned samples that are missing; None: they are missing."""

    def of(self, name: str, *, once: bool) -> Contributions:
        """One label by sample: how often it has it or, `once`, whether."""
        import numpy as np

        at = self.names.index(name) if name in self.names else -2
        if self.sample is None:
            values = (self.label == at).astype(float)
        else:
            values = np.bincount(self.sample[self.label == at].astype(int), minlength=len(self.available)).astype(float)
        values = np.minimum(values, 1.0) if once else values
        values[~self.available] = np.nan
        absent = None if self.absent_as is None else float(self.absent_as == name)
        return Contributions(values, excluded=self.excluded, noted=self.noted.get(name, ()), absent=absent)


Contribute = Callable[["RunData", Names], Contributions]


@frozen
class Metric:
    """One metric; a part of its name in angle brackets is filled with a name of the suite."""

    name: str
    unit: str
    """"share" and "score" lie in 0..1, "points" on a component's own scale; "count", "s", "cost" and "tokens" start
    at 0 and have no upper end."""
    about: str
    formula: str
    counts: str
    """What of each row enters it, in words."""
    aggregate: Aggregate
    contributions: Contribute
    """What each row contributes; of a metric with a `figure`, the rows that it is based on."""
    better: Better | Callable[[SuiteModel, Names], Better] = "higher"
    level: Level = Level.SAMPLE
    gate: bool = True
    """Whether gates, alerts and experiments can name it; False: it is only reported."""
    sliced: bool = True
    """Whether slices have it, too; False: only the whole run has."""
    listed: bool = False
    """Whether it is of one entry of a list (a case, a sample): such figures are computed only when asked for."""
    of: str = ""
    """What `n` counts; "" for the level."""
    stands_on: str = ""
    """The rows that are in it, in few words, for the reference page."""
    labels: Callable[[RunData], Labels] | None = None
    """Of a family: the contributions of all its names at once."""
    all_names: Callable[[RunData], Iterable[Names]] | None = None
    """Of a pattern: every name that a run has."""
    figure: Callable[[RunData, Names], Estimate] | None = None
    """Of what is no aggregate of its rows (a calibration error, a threshold): its value in the whole run."""
    derived: bool = False
    """Whether it is computed from the figures of other metrics, in `figures`, and not from rows."""
    compared: Compared = Compared.PAIRS
    for_sure: bool = True
    """Whether a difference between runs can be significant: that takes a rate, or a mean of a scale with ends."""
    group: str = "measures"
    """The table of a comparison that it is in."""
    compared_as: str = ""
    """Its name in a comparison, where a sum is a mean over pairs; usually its own."""
    scale: Callable[[RunData, Names], tuple[float, float]] | None = None
    """The lowest and the highest value of a row; None for those of its unit."""
    own: bool = False
    """Whether a suite defines it."""
    needs: str = ""
    """What a suite must declare to have it: `pass`, `expect`, `stability`; of a metric of a judge, what its judge must:
    `labels`, `rules`, `evidence`, `check`, `reasons`, `must_answer`, `dimensions`."""

    @property
    def parts(self) -> tuple[str, ...]:
        """The name, split at its dots."""
        return tuple(self.name.split("."))

    @property
    def of_judge(self) -> bool:
        """Whether it is of the votes of a suite's judge."""
        return self.name.startswith(OF_JUDGE)

    @property
    def family(self) -> str:
        """Which of `FAMILIES` it is of; "" for what every run may have."""
        return "".join(_family(self.parts))

    @property
    def point(self) -> float | None:
        """Which quantile it is; None of what is none."""
        return self.aggregate.point

    @property
    def is_pattern(self) -> bool:
        """Whether its name has parts to fill."""
        return "<" in self.name

    @property
    def rows(self) -> str:
        """What `n` counts."""
        return self.of or f"{self.level.value}s"

    @property
    def blanks(self) -> tuple[str, ...]:
        """The parts of its name to fill."""
        return blanks(self.name)

    def steps(self, names: Names) -> Names:
        """The name part by part with its angle brackets filled."""
        return steps(self.name, names)

    def filled(self, names: Names) -> str:
        """The name with its angle brackets filled."""
        return filled(self.name, names)

    def better_in(self, suite: SuiteModel, names: Names = ()) -> Better:
        """Which way is better in a suite; "" when that is not declared."""
        return self.better(suite, names) if callable(self.better) else self.better

    def worse_in(self, suite: SuiteModel, names: Names = ()) -> Better:
        """Which values count against the system; "" when that is not declared."""
        turned: dict[Better, Better] = {"higher": "lower", "lower": "higher", "": ""}
        return turned[self.better_in(suite, names)]

    def ends(self, data: RunData, names: Names) -> tuple[float, float]:
        """The lowest and highest value that a row can contribute."""
        if self.scale is not None:
            return self.scale(data, names)
        return (0.0, 1.0) if self.unit in ("share", "score") else (0.0, math.inf)

    def possible_ends(self, data: RunData, names: Names) -> tuple[float, float]:
        """The lowest and highest value that a missing row could have had; a plain number may be negative."""
        return (-math.inf, math.inf) if self.unit == "number" and self.own else self.ends(data, names)


_FOR_GATES = ("steelyard.metrics.samples", "steelyard.metrics.cells", "steelyard.metrics.stability")
"""The modules that register what gates can name: few, since reading a suite loads them."""
_REPORTED_ONLY: tuple[str, ...] = (
    *(f"steelyard.metrics.{name}" for name in ("outcomes", "reused", "labels")),
    *(f"steelyard.analysis.{name}" for name in ("fixes", "grave_errors", "confusions", "sections", "patterns")),
    *(f"steelyard.analysis.{name}" for name in ("modes", "one_sample", "reasons", "checks", "repeat_conditions")),
    *(f"steelyard.analysis.{name}" for name in ("flaky", "stability", "latency", "variants")),
)
"""The modules that register what is only reported; by name, since most stand above this package."""
FAMILIES = {"judge": "steelyard.analysis.judge.metrics", "confidence": "steelyard.analysis.confidence"}
"""How the names of metrics begin that few runs have, with the module or package that registers them, loaded for such
runs only."""
_METRICS: dict[str, Metric] = {}


Rule = Callable[["Metric"], Iterable["Metric"]]
_RULES: list[Rule] = []


def register(metric: Metric) -> Metric:
    """Add a metric with those that follow from it; ValueError when its name is taken."""
    if metric.name in _METRICS:
        raise ValueError(f"there is a metric {metric.name!r} already")
    _METRICS[metric.name] = metric
    for rule in _RULES:
        _follow(rule, metric)
    return metric


def derive(rule: Rule) -> None:
    """Register the metrics that follow by a rule from each metric, unless the name is taken, also from those added
    later: from a new percentile of latency follows one of the time to the first byte."""
    _load(_FOR_GATES)
    for metric in list(_METRICS.values()):
        _follow(rule, metric)
    _RULES.append(rule)


def _follow(rule: Rule, metric: Metric) -> None:
    for item in rule(metric):
        if item.name not in _METRICS:
            register(item)


def unregister(name: str) -> None:
    """Take a metric out again, with those that follow from it."""
    metric = _METRICS.pop(name)
    for rule in _RULES:
        for item in rule(metric):
            _METRICS.pop(item.name, None)


@cache
def _load(modules: tuple[str, ...]) -> None:
    for name in modules:
        import_module(name)


def _registered(families: Collection[str], *, gates_only: bool) -> Iterator[Metric]:
    _load(_FOR_GATES if gates_only else (*_FOR_GATES, *_REPORTED_ONLY))
    _load(tuple(FAMILIES[family] for family in sorted(families)))
    every = (metric for metric in _METRICS.values() if metric.gate or not gates_only)
    return (metric for metric in every if not metric.family or metric.family in families)


def metrics(families: Collection[str] = ()) -> dict[str, Metric]:
    """All metrics by name, those of samples first; of `FAMILIES`, the ones listed."""
    return _by_level(_registered(families, gates_only=False))


def gate_metrics(families: Collection[str] = ()) -> dict[str, Metric]:
    """The metrics that a gate can name, likewise."""
    return _by_level(_registered(families, gates_only=True))


def _by_level(metrics: Iterable[Metric]) -> dict[str, Metric]:
    levels = list(Level)

    def place(metric: Metric) -> tuple[int, str]:
        # What is only reported is registered by modules that others may have loaded before, in any order.
        return levels.index(metric.level), "" if metric.gate else metric.name

    return {metric.name: metric for metric in sorted(metrics, key=place)}


def metric(pattern: str) -> Metric:
    """The metric of that name or pattern."""
    of_family = tuple(FAMILIES[family] for family in _family(pattern.split(".")))
    for modules in (_FOR_GATES, of_family, _REPORTED_ONLY):
        _load(modules)
        if pattern in _METRICS:
            break
    return _METRICS[pattern]


def steps(pattern: str, names: Names) -> Names:
    """The parts of a pattern with its angle brackets filled."""
    left = iter(names)
    return tuple(next(left, part) if part.startswith("<") else part for part in pattern.split("."))


def blanks(pattern: str) -> tuple[str, ...]:
    """The parts of a pattern in angle brackets."""
    return tuple(part for part in pattern.split(".") if part.startswith("<"))


def filled(pattern: str, names: Names) -> str:
    """A pattern with its angle brackets filled: `band.Good`."""
    return ".".join(steps(pattern, names))


def quoted(pattern: str, names: Names) -> str:
    """The same with quotes around what is filled in, where another metric is spelled so: `findings."total"`."""
    return filled(pattern, tuple(f'"{name}"' for name in names))


def _family(parts: Sequence[str]) -> tuple[str, ...]:
    return tuple(parts[:1]) if parts and parts[0] in FAMILIES else ()


def find(parts: Sequence[str], *, gates_only: bool = True) -> tuple[Metric, dict[str, str]] | None:
    """The metric that these parts of a name spell, and what fills its angle brackets; literal spellings win."""
    every = _registered(_family(parts), gates_only=gates_only)
    return spell(parts, sorted(every, key=lambda metric: metric.name.count("<")))


class Named(Protocol):
    """Something with a name of several parts, some of them in angle brackets."""

    @property
    def parts(self) -> tuple[str, ...]:
        """The name, split at its dots."""


N = TypeVar("N", bound=Named)


def spell(parts: Sequence[str], among: Iterable[N]) -> tuple[N, dict[str, str]] | None:
    """The first of several whose name these parts spell, and what fills its angle brackets."""
    for item in among:
        if len(item.parts) != len(parts):
            continue
        filled = {part: name for part, name in zip(item.parts, parts, strict=True) if part.startswith("<")}
        if all(filled.get(part, part) == name for part, name in zip(item.parts, parts, strict=True)):
            return item, filled
    return None


def same_but(metric: Metric, **changes: Any) -> Metric:
    """A metric like another, with some of it changed."""
    return replace(metric, **changes)
