"""Rules on what a call takes: slower or dearer than in earlier runs together, beyond noise."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from steelyard.analysis.by_run import difference_of_runs, smallest_that_matters
from steelyard.analysis.model import Estimate
from steelyard.analysis.number_text import difference
from steelyard.analysis.sound_runs import same_load
from steelyard.records import RunHeader
from steelyard.release.alert_causes import Reading, State, unknown
from steelyard.release.alert_evidence import Evidence
from steelyard.release.alert_window import pooled, too_little
from steelyard.release.alert_words import both_n, counted, p_in_words, rise_in_words
from steelyard.suite.alert_rules import CostRise, LatencyRise


def latency_rises(rule: LatencyRise, evidence: Evidence) -> Iterator[Reading]:
    """Whether answers take longer than under the same load before."""
    point = rule.metric.partition(".")[2]

    def value(run: RunHeader) -> Estimate:
        return evidence.summary(run).overall.latency.get(point, Estimate(None, 0))

    runs = [run for run in evidence.window(rule.label) if same_load(run, evidence.header)]
    look = ("steelyard", "history", evidence.suite, "--metric", rule.metric)
    yield _rise(rule, rule.metric, "s", [value(run) for run in runs], value(evidence.header), runs, look, evidence)


def cost_rises(rule: CostRise, evidence: Evidence) -> Iterator[Reading]:
    """Whether a call costs more than before."""
    name = rule.metric.replace(".", "_")

    def value(run: RunHeader) -> Estimate:
        total = evidence.summary(run).overall.totals.get(name, Estimate(None, 0))
        return Estimate(None, 0) if total.value is None or not total.n else Estimate(total.value / total.n, total.n)

    runs = evidence.window(rule.label)
    look = ("steelyard", "report", evidence.header.id)
    what = f"{rule.metric} of a call"
    yield _rise(rule, what, "cost", [value(run) for run in runs], value(evidence.header), runs, look, evidence)


def _rise(
    rule: LatencyRise | CostRise,
    what: str,
    unit: str,
    earlier: Sequence[Estimate],
    now: Estimate,
    runs: Sequence[RunHeader],
    look: tuple[str, ...],
    evidence: Evidence,
) -> Reading:
    before, limits = pooled(earlier), evidence.limits
    if now.value is None:
        return unknown(rule.label, "", f"{what}: this run does not tell")
    n = 0 if before is None else before.n
    told = [run for run, each in zip(runs, earlier, strict=True) if each.value is not None]
    if few := too_little(told, n, min_runs=limits.min_runs, min_n=limits.min_n):
        return unknown(rule.label, "", f"{what}: {few}")
    tested = difference_of_runs([each.value for each in earlier if each.value is not None], [now.value])
    if before is None or tested is None:
        return unknown(rule.label, "", f"{what}: {len(told)} earlier runs do not tell how far runs lie apart")
    by, p = now.value - before.value, tested.p
    least = max(rule.by * before.value, smallest_that_matters(evidence.header.suite, unit, before.value))
    there = by > 0 and by >= least and p < evidence.settings.max_p
    since = f"than in {counted(before.runs, 'earlier run')}"
    spread = "" if before.spread is None else f"; they lie {difference(before.spread, unit).lstrip('+')} apart (SD)"
    return Reading(
        rule=rule.label,
        subject="",
        state=State.THERE if there else State.GONE,
        what=f"{what} is {'higher' if there else 'not higher beyond noise'} {since}",
        how_much=f"{rise_in_words(before.value, now.value, unit)} {both_n(now.n, before.n)}",
        how_sure=f"{p_in_words(p)} ({tested.test}; figures of earlier runs weighted by n{spread})",
        look=look,
        size=max(by, 0.0),
    )
