"""Rules that could never fire in their suite: too few cases, runs or samples, or a change that no figure can make."""

from __future__ import annotations

from collections.abc import Iterator

from steelyard.frozen import frozen
from steelyard.loading.alerts import (
    AlertSettings,
    FlagRate,
    GateFailed,
    JudgeDrift,
    NewConfusion,
    NewFinding,
    Regression,
    Rule,
    RunInvalid,
    WindowPart,
)
from steelyard.metrics.expression_checks import SuiteNames
from steelyard.metrics.expressions import EVERY, Gate, parse_metric
from steelyard.metrics.kinds import Aggregate
from steelyard.metrics.registry import (
    Compared,
    Level,
    gate_metrics,
)
from steelyard.stats.intervals import fewest_for
from steelyard.stats.paired import FEWEST_FOR_QUANTILES, holm, least_p
from steelyard.stats.window import FEWEST_RUNS, least_window_p
from steelyard.suite.models import SuiteModel
from steelyard.wording import counted, threshold

_BOUNDED = ("share", "score", "points")
_WITH_MISSING = ("scored_rate", "inconclusive_rate")


def is_by_sample(gate: Gate) -> bool:
    """Whether a figure is a mean or rate over samples, so that earlier samples of a case can be compared with today's.

    Times are not: calls of one run share the load. Nor are shares in which a missing sample counts.
    """
    metric = gate.of
    of_samples = metric.level is Level.SAMPLE and metric.aggregate in (Aggregate.MEAN, Aggregate.RATE)
    return of_samples and gate.unit in _BOUNDED and metric.name not in _WITH_MISSING


@frozen
class Reach:
    """What keeps a rule from raising an alert in its suite."""

    never: str = ""
    """Why no run could raise one; "" when one could."""
    limits: tuple[str, ...] = ()
    """Why some of its slices could not, or only with more repeats than the suite declares."""


def reach(rule: Rule, settings: AlertSettings, suite: SuiteModel) -> Reach:
    """Whether a rule could raise an alert at all, by the suite's cases and by the settings that hold for it."""
    if isinstance(rule, RunInvalid | GateFailed) or not suite.survey.n:
        return Reach()
    if never := _nothing_to_find(rule, suite) or _too_strict(rule, settings):
        return Reach(never)
    samples, metric = suite.survey.n * max(1, len(suite.variants)) * suite.repeats, getattr(rule, "metric", "")
    known, limits = gate_metrics().get(metric), []
    if isinstance(rule, NewFinding | NewConfusion) and rule.samples > samples:
        limits.append(f"it asks for {rule.samples:,} samples, and a run has {samples:,} by the suite's repeats")
    if known is not None and known.point is not None and samples < fewest_for(known.point):
        calls = f"{metric} takes {fewest_for(known.point)} calls"
        limits.append(f"{calls}, and a run has {samples:,} by the suite's repeats")
    if isinstance(rule, Regression) and not _is_by_run(metric):
        figure = parse_metric(metric or ("pass_rate" if suite.passing else "average"))
        names = SuiteNames.of_suite(suite)
        if never := _cannot_change(rule, figure, names):
            return Reach(never)
        if figure.of.level is Level.SAMPLE and (rule.against or is_by_sample(figure)):
            too_few = _too_few(rule, figure, settings, suite)
            return Reach(too_few.never, (*limits, *too_few.limits))
    return Reach(limits=tuple(limits))


def _is_by_run(metric: str) -> bool:
    return metric.partition(".")[0] in ("latency", "cost", "tokens")


def _nothing_to_find(rule: Rule, suite: SuiteModel) -> str:
    if isinstance(rule, FlagRate):
        if not rule.flag and not any(component.kind == "flag" for component in suite.components):
            return "the suite has no judge with flags"
        return "no share of texts is above 100 %" if rule.above >= 1 else ""
    return "the suite has no judge" if isinstance(rule, JudgeDrift) and suite.judge is None else ""


def _too_strict(rule: Rule, settings: AlertSettings) -> str:
    """What the window or the confidence level asks for that no run can meet."""
    if isinstance(rule, FlagRate):
        return ""
    window = settings.window or WindowPart()
    looks_back = not (isinstance(rule, Regression) and rule.against)
    if looks_back and window.runs < window.min_runs:
        return f"the window has at most {window.runs} runs and asks for {window.min_runs} (min_runs)"
    if isinstance(rule, NewFinding | NewConfusion):
        return ""
    if looks_back and _is_by_run(getattr(rule, "metric", "")) and window.runs < FEWEST_RUNS:
        return f"a latency or cost takes {FEWEST_RUNS} earlier runs, and the window has {window.runs}"
    return "sure is 100 %, which no test reaches: write 99 %" if settings.max_p <= 0 else ""


def _cannot_change(rule: Regression, figure: Gate, names: SuiteNames) -> str:
    low, high = names.bounds(figure)
    if low is not None and high is not None and rule.least(figure.unit) > high - low + 1e-12:
        return f"{figure.metric} cannot change by {rule.by}"
    compared = figure.of.compared
    if rule.against and (figure.measure in names.means.get(figure.subject, ()) or compared is Compared.NO):
        return f"{figure.metric} is not compared with a baseline: leave out against"
    if rule.against and figure.factor and compared is Compared.WHOLE_RUN:
        return f"{figure.metric} of a slice is not compared with a baseline: leave out against, or the slice"
    return ""


def _too_few(rule: Regression, figure: Gate, settings: AlertSettings, suite: SuiteModel) -> Reach:
    """The slices whose cases are so few that not even the largest change is beyond noise."""
    window, max_p = settings.window or WindowPart(), settings.max_p
    cells = max(1, len(suite.variants)) * suite.repeats
    slices, limits = dict(_units(figure, suite)), []
    smallest = []
    for name, (n, units) in slices.items():
        smallest.append(_least(rule, figure, units, window))
        if not rule.against and (total := window.runs * n * cells) < window.min_n:
            where = f"{name}: " if name else ""
            asked = f"the window asks for {window.min_n:,} (min_n)"
            limits.append(f"{where}all earlier runs have at most {total:,} samples by the suite's repeats, and {asked}")
    few = []
    for (name, (n, units)), p in zip(slices.items(), holm(smallest), strict=True):
        if p is not None and p >= max_p:
            count = counted(n, "case") + (f" in {units} clusters" if units < n else "")
            among = f", adjusted for {len(slices)} slices," if len(slices) > 1 else ""
            reached = f"{count}{f' of {name}' if name else ''} reach p {p:.2g} at best{among}"
            few.append(f"{reached} and sure: {threshold(1 - max_p)} asks for less than {max_p:.2g}")
    if slices and len(few) == len(slices):
        return Reach(few[0])
    return Reach(limits=(*few, *limits))


def _least(rule: Regression, figure: Gate, units: int, window: WindowPart) -> float:
    """The smallest p-value that so many units can have."""
    if not rule.against:
        return least_window_p(units, window.runs)
    quantile = figure.of.point is not None
    return 1.0 if quantile and units < FEWEST_FOR_QUANTILES else least_p(units)


def _units(figure: Gate, suite: SuiteModel) -> Iterator[tuple[str, tuple[int, int]]]:
    """By slice that a figure speaks of, "" for the whole suite, how many cases and at most how many units it has."""
    survey, units = suite.survey, suite.n_units
    counts = {"": survey.n} if figure.factor is None else survey.slices.get(figure.factor, {})
    if figure.factor == "variant":
        counts = {name: survey.n for name in suite.variant_names if name}
    for name, n in counts.items():
        if figure.slice in (None, EVERY, name):
            yield name, (n, min(n, units))
