"""Every rule of a suite held against a run that has ended."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from steelyard.records import Verdict
from steelyard.release.alert_causes import Reading, State
from steelyard.release.alert_evidence import Evidence
from steelyard.suite.alert_rules import (
    CostRise,
    FlagRate,
    GateFailed,
    JudgeDrift,
    LatencyRise,
    NewConfusion,
    NewFinding,
    Regression,
    Rule,
    RunInvalid,
)

Looks = Callable[[Any, Evidence], Iterator[Reading]]


def readings_of(evidence: Evidence) -> list[Reading]:
    """What every rule says, rule by rule.

    A broken scale gives no reading: of an INVALID run only that is said, and of a suspect one only that and the gates
    that fail. Nothing is recovered by either.
    """
    invalid, suspect = evidence.header.verdict is Verdict.INVALID, bool(evidence.header.suspect)
    found: list[Reading] = []
    for rule in evidence.rules:
        if isinstance(rule, RunInvalid):
            found += _looks(rule)(rule, evidence)
        elif suspect and not invalid and isinstance(rule, GateFailed):
            found += [each for each in _looks(rule)(rule, evidence) if each.state is State.THERE]
        elif not invalid and not suspect:
            found += _looks(rule)(rule, evidence)
    return found


def _looks(rule: Rule) -> Looks:
    from steelyard.release import alert_changes, alert_drift, alert_found, alert_rises

    looks: dict[type[Any], Looks] = {
        GateFailed: alert_found.failed_gates,
        RunInvalid: alert_found.invalid_runs,
        Regression: alert_changes.regressions,
        NewFinding: alert_found.new_findings,
        NewConfusion: alert_found.new_confusions,
        FlagRate: alert_found.flag_rates,
        JudgeDrift: alert_drift.judge_drifts,
        LatencyRise: alert_rises.latency_rises,
        CostRise: alert_rises.cost_rises,
    }
    return looks[type(rule)]
