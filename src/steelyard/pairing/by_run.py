"""Whether answers take longer or cost more: calls of one run share the machine's load, so the run is the unit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean, variance

from steelyard.analysis.stored import figures_of
from steelyard.frozen import frozen
from steelyard.pairing.model import MetricChange, Moved
from steelyard.pairing.runs import ComparedRun
from steelyard.pairing.signatures import loads
from steelyard.records import AtLeast
from steelyard.stats.intervals import Estimate, lower_bound, student, t_two_sided
from steelyard.stats.window import FEWEST_RUNS
from steelyard.store.headers import arm_of, same_system
from steelyard.suite.models import SuiteModel

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
