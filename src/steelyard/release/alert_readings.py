"""Every rule of a suite held against a run that has ended."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from steelyard.analysis.sound_runs import same_load
from steelyard.records import Verdict
from steelyard.release.alert_causes import Reading, State
from steelyard.release.alert_evidence import Evidence
from steelyard.release.alert_window import same_instrument
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
            # First: of the readings of one cause the first holds.
            found += _watched_anew(rule, evidence)
            found += _looks(rule)(rule, evidence)
    return found


def _watched_anew(rule: Rule, evidence: Evidence) -> Iterator[Reading]:
    """The open alerts on changes that this run, read with another instrument, can never say anything of.

    The runs before them are of the old instrument: they would stay open for ever, and keep new ones from being raised.
    """
    for alert in evidence.open_of(rule.label) if _looks_back(rule) else ():
        raised_by = evidence.store.run(alert.opened_run)
        if not same_instrument(raised_by, evidence.header):
            changed = "the instrument"
        elif getattr(rule, "metric", "").startswith("latency") and not same_load(raised_by, evidence.header):
            changed = "the load"
        else:
            continue
        subject = alert.content["subject"]
        why = f"{changed} has changed since, so nobody can tell what became of it; it is watched anew"
        yield Reading(rule.label, subject, State.NOT_WATCHED, f"{subject or rule.label}: {why}")


def _looks_back(rule: Rule) -> bool:
    """Whether a rule holds a figure against that of earlier runs."""
    if isinstance(rule, Regression):
        return not rule.against
    return isinstance(rule, LatencyRise | CostRise | JudgeDrift)


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
