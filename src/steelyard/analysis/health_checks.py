"""The thresholds that a suite declares on its judge's health, held against the figures."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from steelyard.analysis.judge_check import FEWEST_LABELS
from steelyard.analysis.judge_model import HealthResult, JudgeHealth
from steelyard.analysis.number_text import in_unit, told_apart
from steelyard.metrics.expressions import COMPARE, JUDGE_METRICS, Gate
from steelyard.records import Verdict
from steelyard.stats.intervals import SHARES, Estimate, bounded, wilson

_TOLERANCE = 1e-9
"""What rounding may leave between 4 / 40 and 10 %."""
_WITHOUT_SIGN = ("agreement.<dimension>.bias", "together.<dimension>", "length.<dimension>")


def check_health(health: JudgeHealth, thresholds: Iterable[Gate]) -> list[HealthResult]:
    """The results of all thresholds, in order. One passes or fails with its whole interval:
    a figure on the right side by its point value alone is not shown."""
    return [_result(each, health_value(health, each.pattern, each.subject)) for each in thresholds]


def health_value(health: JudgeHealth, metric: str, subject: str = "") -> Estimate:
    """The figure of a metric (a key of `suite.health.HEALTH`) for a dimension or flag; KeyError when there is none."""
    if metric not in JUDGE_METRICS:
        raise KeyError(metric)
    estimate = _figure(health, metric, subject)
    return _without_sign(estimate) if metric in _WITHOUT_SIGN else estimate


def _figure(health: JudgeHealth, metric: str, subject: str) -> Estimate:
    head, _, rest = metric.partition(".")
    last = rest.rpartition(".")[2]
    if head == "agreement":
        figure: Estimate = getattr(health.dimensions[subject].agreement, last)
    elif head == "flag":
        figure = getattr(health.flags[subject].agreement, last)
    elif head == "together":
        figure = _together(health, subject)
    elif rest:
        figure = getattr(health.dimensions[subject], head)
    elif head in ("strict", "basic"):
        figure = _rung(health, head)
    else:
        figure = getattr(health.itself, head)
    return figure


def _rung(health: JudgeHealth, name: str) -> Estimate:
    """The share of a rung; of one that no ballot came to it is 0 of all ballots."""
    found = health.itself.rungs.get(name)
    if found is not None:
        return found
    every = health.itself.unanswered
    if every.value is None:
        return Estimate(None, every.n, every.n_missing)
    # Ballots on one text are alike: no more trials than texts.
    return bounded(0.0, every.n, every.n_missing, wilson(0.0, min(every.n, health.n_texts)), SHARES)


def _together(health: JudgeHealth, dimension: str) -> Estimate:
    """The largest correlation of the dimension with another; n/a when it has none."""
    found = [pair.correlation for pair in health.pairs if dimension in (pair.first, pair.second)]
    known = [each for each in found if each.value is not None]
    if known:
        return max(known, key=lambda each: abs(each.value or 0.0))
    return found[0] if found else Estimate(None, 0)


def _without_sign(estimate: Estimate) -> Estimate:
    if estimate.value is None:
        return estimate
    value = abs(estimate.value)
    if estimate.low is None or estimate.high is None:
        return replace(estimate, value=value)
    ends = sorted((abs(estimate.low), abs(estimate.high)))
    across = estimate.low < 0 < estimate.high
    return replace(estimate, value=value, low=0.0 if across else ends[0], high=ends[1])


def _result(threshold: Gate, estimate: Estimate) -> HealthResult:
    value, limit = estimate.value, threshold.threshold
    missing = f"; {estimate.n_missing} missing" if estimate.n_missing else ""
    if value is None:
        reason = "n/a: nothing to stand on" + missing
        return HealthResult(threshold.text, Verdict.AMBIGUOUS, value, estimate.n, reason, estimate)
    close = abs(value - limit) <= _TOLERANCE * max(1.0, abs(limit))
    holds = COMPARE[threshold.operator](limit if close else value, limit)
    sign = threshold.operator if holds else f"is not {threshold.operator}"
    figure = in_unit(value, threshold.unit) if close or holds else told_apart(value, threshold.unit, limit)
    reason = f"{figure} {sign} {in_unit(limit, threshold.unit)} (n {estimate.n}{missing})"
    across = _reaches_across(threshold, estimate, holds=holds)
    why = _why_not_shown(threshold, estimate, holds=holds, across=across)
    verdict = Verdict.AMBIGUOUS if why else Verdict.PASS if holds else Verdict.FAIL
    reason += f"; not shown: {why}" if why else ""
    return HealthResult(threshold.text, verdict, value, estimate.n, reason, estimate, across)


def _why_not_shown(threshold: Gate, estimate: Estimate, *, holds: bool, across: bool) -> str:
    """Why a figure neither meets nor misses its threshold beyond noise; "" when it does. `==` asks for the figure
    itself."""
    if threshold.operator in ("==", "!="):
        return ""
    if across:
        return "the 95 % interval reaches across the threshold"
    if estimate.low is None:
        return "there is no interval"
    return f"n is below {FEWEST_LABELS}" if holds and estimate.n < FEWEST_LABELS else ""


def _reaches_across(threshold: Gate, estimate: Estimate, *, holds: bool) -> bool:
    if estimate.low is None or estimate.high is None or threshold.operator in ("==", "!="):
        return False
    compare = COMPARE[threshold.operator]
    ends = {compare(end, threshold.threshold) for end in (estimate.low, estimate.high)}
    return ends != {holds}
