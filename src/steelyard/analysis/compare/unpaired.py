"""Runs without pairs, and figures whose unit is the run."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from statistics import fmean, variance
from typing import NamedTuple

import numpy as np

from steelyard.analysis.compare.model import MetricChange, Moved, Unpaired
from steelyard.analysis.compare.pairing import ComparedRun
from steelyard.analysis.compare.signatures import loads
from steelyard.analysis.findings import top_confusions
from steelyard.analysis.judge.corrected import labels_of
from steelyard.analysis.stored import figures_of
from steelyard.frozen import frozen
from steelyard.metrics.registry import CORRECTED, metric
from steelyard.metrics.table import cut
from steelyard.records import AtLeast, Outcome
from steelyard.stats import groups as clusters
from steelyard.stats.arrays import Array
from steelyard.stats.intervals import SHARES, Estimate, Scale, Z, lower_bound, student, t_two_sided
from steelyard.stats.window import FEWEST_RUNS
from steelyard.store.contents import Confused, confusion_digest
from steelyard.store.headers import arm_of, same_system
from steelyard.suite.case import NONE
from steelyard.suite.models import SuiteModel

# Two runs that have no pair, side by side: the figures of either, and how far they lie apart.

SENTENCE = (
    "no sample of A can be compared with one of B, so each side is computed over its own samples: this shows how good"
    " each run is, not why they differ; a difference may be that of the cases, or of whatever else differs above, as"
    " well as the system's"
)


class _Figure(NamedTuple):
    """One figure of a run, which is the metric, or is better when that is; a rate is on the scale 0..1."""

    group: str
    estimate: Estimate
    metric: str
    scale: Scale = SHARES


def side_by_side(a: ComparedRun, b: ComparedRun) -> Unpaired:
    """Every figure of both runs over all of their samples; one that a run does not have is n/a there."""
    confused = list(dict.fromkeys(item for run in (a, b) for item in _confused(run)))
    sides = [dict(_Side(run).figures(confused)) for run in (a, b)]
    results = []
    for name, (group, _, of, scale) in (sides[0] | sides[1]).items():
        before, after = (side[name].estimate if name in side else Estimate(None, 0) for side in sides)
        if before.value or after.value or (group != "findings" and before.n + after.n):
            unit = "share" if scale == SHARES else "points"
            difference, better_when = apart(before, after), metric(of).better_in(a.suite)
            results.append(
                MetricChange(name, group, unit, better_when, before, after, difference, test="unpaired", scale=scale)
            )
    return Unpaired(SENTENCE, tuple(results))


def apart(a: Estimate, b: Estimate) -> Estimate:
    """B minus A of two independent estimates; no interval where one of them has none."""
    if a.value is None or b.value is None:
        return Estimate(None, 0)
    difference, n = b.value - a.value, a.n + b.n
    if a.low is None or a.high is None or b.low is None or b.high is None:
        return Estimate(difference, n)
    down, up = math.hypot(b.value - b.low, a.high - a.value), math.hypot(b.high - b.value, a.value - a.low)
    return Estimate(difference, n, 0, difference - down, difference + up)


def corrected_changes(a: ComparedRun, b: ComparedRun) -> list[MetricChange]:
    """The pass rates of two runs by their labels, and how far they lie apart; nothing where one of them has none.

    They count as independent: where the same cases make them alike, the interval is rather too wide.
    """
    before, after = map(_by_labels, (a, b))
    if before.value is None or after.value is None:
        return []
    difference, p = replace(apart(before, after), n=min(before.n, after.n)), None
    value, low, high = difference.value or 0.0, difference.low, difference.high
    if low is not None and high is not None and high > low:
        half = value - low if value > 0 else high - value
        p = math.erfc(abs(value) / half * Z / math.sqrt(2)) if half else 0.0
    which = metric(CORRECTED)
    ends = (before, after, difference)
    return [MetricChange(CORRECTED, which.group, "share", "higher", *ends, p, test="unpaired", scale=SHARES)]


def _by_labels(run: ComparedRun) -> Estimate:
    labels = None if run.store is None else labels_of(run.store, run.header.id, run.data)
    return Estimate(None, 0) if labels is None else labels.corrected(np.arange(run.columns.n)).rate


class _Side:
    def __init__(self, run: ComparedRun) -> None:
        self._run, self._table, self._columns = run, run.table, run.columns
        columns = run.columns
        variant, case = (
            np.argsort(np.argsort(np.array(names, dtype=object), kind="stable"))[codes] if columns.n else codes
            for names, codes in ((columns.variants, columns.variant), (columns.case_ids, columns.case))
        )
        # In the order of case, variant and repeat, so that the order in which samples were stored changes no figure.
        self._rows: Array = np.lexsort((columns.repeat, variant, case))
        self._unit = run.table.unit

    def figures(self, confused: list[Confused]) -> Iterator[tuple[str, _Figure]]:
        """The figures of a run, one after another, so that no more than one is held as a column."""
        table, columns, contents = self._table, self._columns, self._run.contents
        yield from self._headline("", "headline", self._rows)
        for name in table.components:
            estimate = self._mean(table.component(name), self._rows, table.scales[name])
            yield (
                f"score.{name}.points",
                _Figure("components", estimate, "score.<component>.points", table.scales[name]),
            )
        every = np.ones(columns.n, dtype=bool)
        for outcome in (Outcome.TARGET_FAILED, *((Outcome.JUDGE_FAILED,) if self._run.mode else ())):
            codes = [i for i, item in enumerate(columns.outcomes) if item == outcome]
            failed = np.isin(columns.outcome, codes)
            yield f"{outcome}_rate", self._rate("failures", "inconclusive_rate", failed, every)
        yield "malformed_rate", self._rate("failures", "malformed_rate", table.malformed, table.conclusive)
        for factor, groups in cut(columns, self._run.suite, 0).items():
            for g, name in enumerate(groups.names if factor else ()):
                yield from self._headline(f"{factor}.{name}.", factor, groups.samples_where(g, every))
        for i, code in enumerate(table.codes):
            yield f"findings.{code}.rate", self._result("findings", table.finding_sample[table.finding_code == i])
        if any(columns.finding_sections) and len(columns.finding_section) == len(columns.finding_sample):
            for name in sorted(columns.finding_sections):
                here = columns.finding_section == columns.finding_sections.index(name)
                samples = columns.finding_sample[here]
                yield f"section.{name or NONE}.rate", self._result("sections", samples)
        for code, expected, got in confused:
            if contents is None:
                break
            here = contents.confusion == confusion_digest(code, expected, got)
            yield f"{code}: {got} for {expected}", self._result("confusions", contents.confusion_sample[here])

    def _headline(self, prefix: str, group: str, rows: Array) -> Iterator[tuple[str, _Figure]]:
        if self._run.passes:
            passed = self._table.passed()
            yield f"{prefix}pass_rate", self._rate(group, "pass_rate", passed > 0, passed >= 0, rows)
        yield f"{prefix}average", _Figure(group, self._mean(self._table.score(), rows, SHARES), "average")

    def _result(self, group: str, samples: Array) -> _Figure:
        """The share of samples with at least one such finding."""
        hits = np.isin(np.arange(self._columns.n), samples)
        return self._rate(group, "findings.<code>.rate", hits, self._table.conclusive)

    def _mean(self, values: Array, rows: Array, scale: Scale) -> Estimate:
        rows = self._rows[np.isin(self._rows, rows)]
        return clusters.mean(values[rows], self._unit[rows], scale)

    def _rate(self, group: str, of: str, hits: Array, available: Array, rows: Array | None = None) -> _Figure:
        rows = self._rows if rows is None else rows
        return _Figure(group, clusters.share(hits[rows], available[rows], self._unit[rows]), of)


def _confused(run: ComparedRun) -> list[Confused]:
    result = [] if run.contents is None else top_confusions(run.table, run.suite, run.contents)
    return [(item.code, item.expected, item.got) for item in result]


# Whether answers take longer or cost more: calls of one run share the machine's load, so the run is the unit.

METHOD = f"latency and cost: Welch's t over runs, or paired by A/B or experiment, from {FEWEST_RUNS} runs a side on"
_MEANS = ("latency.mean", "cost")
"""Figures that hold paired case by case between interleaved arms; medians rejected up to 15 of 100 simulated A/A."""


@frozen
class RunTest:
    """The difference between two groups of runs, tested with the run as the unit."""

    difference: float
    low: float | None
    high: float | None
    p: float
    df: int
    test: str


def difference_of_runs(before: Sequence[float], after: Sequence[float], *, paired: bool = False) -> RunTest | None:
    """Whether one figure a run differs between groups of runs; None when there are too few runs to know their spread.

    Several against several: Welch's t, or Student's t of differences where they are `paired` by block. One more run
    against several: the t-test of a single new observation, on logarithms, since times are skewed and one run is not
    averaged.
    """
    a, b = len(before), len(after)
    if a < FEWEST_RUNS or (b < FEWEST_RUNS and b != 1):
        return None
    value = fmean(after) - fmean(before)
    if b == 1:
        if min(*before, *after) > 0:
            before, after = ([math.log(item) for item in side] for side in (before, after))
        error, df = math.sqrt(variance(before) * (1 + 1 / a)), a - 1
        return RunTest(value, None, None, _p(fmean(after) - fmean(before), error, df), df, "t of one more run")
    if paired:
        error, df = math.sqrt(variance([y - x for x, y in zip(before, after, strict=True)]) / a), a - 1
    else:
        error, df = _welch(before, after)
    low, high = student(value, error, df) or (None, None)
    return RunTest(value, low, high, _p(value, error, df), df, "paired t over runs" if paired else "Welch's t")


def _welch(before: Sequence[float], after: Sequence[float]) -> tuple[float, int]:
    """The standard error and, rounded down, the degrees of freedom of Welch and Satterthwaite."""
    parts = [variance(side) / len(side) for side in (before, after)]
    below = sum(part**2 / (len(side) - 1) for part, side in zip(parts, (before, after), strict=True))
    return math.sqrt(sum(parts)), int(sum(parts) ** 2 / below) if below else 1


def _p(away: float, error: float, df: int) -> float:
    """Two-sided; where the runs of a side do not vary at all, as costs may not, any difference is one."""
    if error <= abs(away) * 1e-9:
        return float(away == 0)
    return t_two_sided(away / error, df)


def smallest_that_matters(suite: SuiteModel, unit: str, before: float) -> float:
    """The difference that a change of latency or cost must exceed to be better or worse, as the suite declares it."""
    share = suite.latency.smallest_share * abs(before)
    return max(suite.latency.smallest, share) if unit in ("s", "seconds") else share


def is_by_run(metric: str) -> bool:
    """Whether a figure is a latency or a cost."""
    return metric.partition(".")[0] in ("latency", "cost")


def by_run(
    change: MetricChange,
    a: ComparedRun,
    b: ComparedRun,
    factor: str = "",
    name: str = "",
    *,
    allow_mismatch: bool = False,
) -> MetricChange:
    """The change of a latency or a cost with the run as the unit; any other change as it is.

    `allow_mismatch` tests times under another load, too.
    """
    if not is_by_run(change.name) or change.difference.value is None:
        return change
    matters = smallest_that_matters(b.suite, change.unit, change.a.value or 0.0)
    if change.group == "latency" and not allow_mismatch and any(loads(a, b)):
        return _untested(change, matters, "the load differs: not tested")
    if change.name in _MEANS and a.header.options.ab is not None and arm_of(a.header)[0] == arm_of(b.header)[0]:
        return replace(change, matters=matters)
    if reason := _why_untested(a, b):
        return _untested(change, matters, reason)
    sides = [_figures(run, change.name, factor, name) for run in (a, b)]
    blocks = [key for key in sides[0] if key in sides[1]]
    paired = len(blocks) >= FEWEST_RUNS
    before, after = ([side[key] for key in (blocks if paired else side)] for side in sides)
    result = difference_of_runs(before, after, paired=paired) if min(len(before), len(after)) > 1 else None
    if result is None:
        return _untested(change, matters, "too few runs have this figure: not tested")
    bare = _untested(change, smallest_that_matters(b.suite, change.unit, fmean(before)), result.test)
    return replace(
        bare,
        a=_mean_of_runs(bare.a, before),
        b=_mean_of_runs(bare.b, after),
        difference=Estimate(result.difference, len(before) + len(after), 0, result.low, result.high),
        p=result.p,
        verdict=Moved.CANNOT_TELL,
        runs=(len(before), len(after)),
        df=result.df,
        own=(change.a, change.b),
    )


def _mean_of_runs(estimate: Estimate, values: Sequence[float]) -> Estimate:
    """The mean of a figure over runs; a lower bound where it is one in any of them."""
    result = replace(estimate, value=fmean(values), low=None, high=None, at_least=False)
    return lower_bound(result) if any(isinstance(value, AtLeast) for value in values) else result


def _untested(change: MetricChange, matters: float, reason: str) -> MetricChange:
    """The change as figures and a difference alone."""
    bare = replace(change.difference, low=None, high=None)
    verdict = Moved.SAME if change.verdict is Moved.SAME else Moved.NOT_TESTED
    named = (change.name, change.group, change.unit, change.better_when, change.a, change.b)
    return MetricChange(*named, bare, verdict=verdict, test=reason, scale=change.scale, matters=matters)


def _why_untested(a: ComparedRun, b: ComparedRun) -> str:
    """Why the runs of the system of A and of that of B cannot be tested; "" when they can."""
    asked = [(run.header.signature.cases, run.header.options.sample, run.header.n_planned) for run in (a, b)]
    if asked[0] != asked[1]:
        return "other samples were asked: not tested"
    # Of one and the same system nothing says which of the other runs belong to which side.
    numbers = [1, 1] if same_system(a.header, b.header) else [len(run.same_runs) for run in (a, b)]
    if max(numbers) == 1:
        return "one run a side: not tested"
    if min(numbers) < FEWEST_RUNS:
        return f"{numbers[0]} and {numbers[1]} runs: not tested with fewer than {FEWEST_RUNS} a side"
    return ""


def _figures(run: ComparedRun, metric: str, factor: str, name: str) -> dict[str, float]:
    """The figure of each run that has it, by the A/B or experiment that the run is an arm of, else by its name."""
    if run.store is None:
        return {}
    stored = metric if metric.startswith("latency.") else "cost.total"
    figures = figures_of(run.store, run.same_runs, [stored], [factor])
    values = {
        arm_of(header)[0] or header.id: _figure(figures[header.id].slice(factor, name)[stored], metric)
        for header in run.same_runs
        if header.id in figures
    }
    return {key: value for key, value in values.items() if value is not None}


def _figure(stored: Estimate, metric: str) -> float | None:
    if metric.startswith("latency.") or stored.value is None:
        return stored.value
    return stored.value / stored.n if stored.n else None
