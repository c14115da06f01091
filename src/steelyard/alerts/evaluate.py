"""Every rule of a suite evaluated on a run that has ended, and which alerts that raises, keeps and closes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from steelyard.alerts.changes import cost_rises, judge_drifts, latency_rises, regressions
from steelyard.alerts.confusions import confusions_of, seen_in
from steelyard.alerts.evidence import AlertEvidence, AlertLevel, AlertReading, State, same_signature, too_little
from steelyard.decide.gates import GateResult
from steelyard.frozen import frozen
from steelyard.loading.alerts import (
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
from steelyard.metrics.figures import Slice
from steelyard.metrics.registry import MEASURE
from steelyard.records import Verdict
from steelyard.store.alert_log import AlertRecord
from steelyard.store.headers import same_load
from steelyard.wording import counted, in_unit, percent

_STATES = {Verdict.FAIL: State.THERE, Verdict.PASS: State.GONE}
_MOST_CONFUSIONS = 5
"""New ones that are reported one by one; the rest is a number."""
_INVALID, _SUSPECT = "invalid", "suspect"


def failed_gates(rule: GateFailed, evidence: AlertEvidence) -> Iterator[AlertReading]:
    """What became of every gate and criterion, and of those that are none any more."""
    results = {_gate_subject(gate): gate for gate in evidence.decision.gates if rule.secondary or not gate.secondary}
    look = ("steelyard", "gate", evidence.header.id)
    for subject, result in results.items():
        kind = "criterion" if result.name else "gate"
        says = "fails" if result.verdict is Verdict.FAIL else "holds"
        yield AlertReading(
            rule=rule.label,
            subject=subject,
            state=_STATES.get(result.verdict, State.UNKNOWN),
            what=f"the {kind} {subject} {says}" if result.verdict in _STATES else f"{subject}: {result.reason}",
            how_much=result.reason,
            significance=_gate_sureness(result),
            look=look,
        )
    yield from evidence.watched_no_more(rule.label, results)


def _gate_subject(result: GateResult) -> str:
    written = result.name or result.gate
    return written if result.name or result.metric in result.gate else f"{written} [{result.metric}]"


def _gate_sureness(result: GateResult) -> str:
    value = result.value
    missing = f", {value.n_missing:,} missing" if value.n_missing else ""
    if value.low is None or value.high is None:
        return f"n {value.n:,}{missing}"
    if result.baseline:
        return f"n {counted(value.n, 'case')}{missing}; compared with run {result.baseline}"
    low, high = (in_unit(end, result.unit) for end in (value.low, value.high))
    return f"n {value.n:,}{missing}, 95 % interval {low} to {high}"


def invalid_runs(rule: RunInvalid, evidence: AlertEvidence) -> Iterator[AlertReading]:
    """Whether the run is valid at all, and whether it looks like one."""
    header, look = evidence.header, ("steelyard", "report", evidence.header.id)
    invalid = header.verdict is Verdict.INVALID
    reasons = evidence.decision.reasons if invalid else ()
    yield AlertReading(
        rule=rule.label,
        subject=_INVALID,
        state=State.THERE if invalid else State.GONE,
        what="the run is INVALID: it neither passes nor fails" if invalid else "the run is valid",
        how_much="; ".join(reasons[:2]),
        significance="counted, not estimated" if invalid else "",
        look=look,
    )
    if rule.suspect and not invalid:
        yield AlertReading(
            rule=rule.label,
            subject=_SUSPECT,
            state=State.THERE if header.suspect else State.GONE,
            what="the run looks wrong: do not trust its figures" if header.suspect else "nothing looks wrong",
            how_much="; ".join(header.suspect[:2]),
            significance="a health check of the answers" if header.suspect else "",
            look=look,
        )


def new_findings(rule: NewFinding, evidence: AlertEvidence) -> Iterator[AlertReading]:
    """Codes that no earlier run has, and what became of those that were new."""
    runs, limits = evidence.window(), evidence.limits
    now = evidence.summary(evidence.header).overall
    waiting = {alert.content["subject"] for alert in evidence.open_of(rule.label)}
    before = [evidence.summary(run).overall for run in runs]
    n = sum(map(_conclusive, before))
    few = too_little(runs, n, min_runs=limits.min_runs, min_n=limits.min_n)
    available = {code for part in before for code in part.counts("findings.<code>")}
    for code in sorted({*now.counts("findings.<code>"), *waiting}):
        samples = now.count_of("findings.<code>.samples", code)
        if code in waiting:
            state = State.THERE if samples else State.GONE
        elif code in available or samples < rule.samples:
            continue
        elif few:
            yield AlertReading(rule.label, code, State.UNKNOWN, f"whether {code} is new: {few}")
            continue
        else:
            state = State.THERE
        yield AlertReading(
            rule=rule.label,
            subject=code,
            state=state,
            what=f"{code} is a new finding code: no earlier run has it"
            if samples
            else f"{code} does not occur any more",
            how_much=f"{counted(now.count_of('findings.<code>', code), 'finding')} in {samples:,} of"
            f" {counted(_conclusive(now), 'sample')}",
            significance=_never_before(len(runs), n),
            look=("steelyard", "report", evidence.header.id),
            level=AlertLevel.WARNING,
        )


def _never_before(runs: int, n: int) -> str:
    # The rule of three: what was never seen in n samples is rarer than 3 in n, 19 times of 20.
    rarer = f": it was rarer than {percent(min(1.0, 3 / n), 2)} (95 %)" if n else ""
    return f"in none of {counted(n, 'sample')} of {counted(runs, 'earlier run')}{rarer}"


def _conclusive(part: Slice) -> int:
    return part.n_conclusive


def new_confusions(rule: NewConfusion, evidence: AlertEvidence) -> Iterator[AlertReading]:
    """What was taken for what it never was before, and what became of what was new."""
    store, header, limits = evidence.store, evidence.header, evidence.limits
    runs, look = evidence.window(), ("steelyard", "report", header.id)
    n = sum(_conclusive(evidence.summary(run).overall) for run in runs)
    result = confusions_of(store, header.id, header.description)
    waiting = {alert.content["subject"]: alert for alert in evidence.open_of(rule.label)}
    for subject, alert in waiting.items():
        samples = result.in_samples(int(subject, 16))
        yield AlertReading(
            rule=rule.label,
            subject=subject,
            state=State.THERE if samples else State.GONE,
            what=alert.content["what"] if samples else "the confusion does not occur any more",
            how_much=f"in {counted(samples, 'sample')}",
            look=look,
            quotes=tuple((label, text) for label, text in alert.content["quotes"]),
            level=AlertLevel.WARNING,
        )
    few = too_little(runs, n, min_runs=limits.min_runs, min_n=limits.min_n)
    if few:
        yield AlertReading(rule.label, "", State.UNKNOWN, f"whether a confusion is new: {few}")
        return
    seen = seen_in(store, [run.id for run in runs]) | {int(subject, 16) for subject in waiting}
    fresh = result.unseen(seen, rule.samples)
    for number, item in enumerate(fresh[:_MOST_CONFUSIONS], start=1):
        left = len(fresh) - _MOST_CONFUSIONS
        more = f"; {left} more are new and not listed" if number == _MOST_CONFUSIONS and left > 0 else ""
        yield AlertReading(
            rule=rule.label,
            subject=f"{item.digest:016x}",
            state=State.THERE,
            what=f"{item.code}: a confusion that no earlier run has",
            how_much=f"in {counted(item.samples, 'sample')}{more}",
            significance=_never_before(len(runs), n),
            look=look,
            quotes=(("expected", item.expected), ("got", item.got)),
            level=AlertLevel.WARNING,
        )


def flag_rates(rule: FlagRate, evidence: AlertEvidence) -> Iterator[AlertReading]:
    """Whether flags are raised more often than they may be."""
    flags = [component.name for component in evidence.components if component.kind == "flag"]
    asked = [rule.flag] if rule.flag else flags
    overall = evidence.summary(evidence.header).overall
    if not asked:
        yield AlertReading(rule.label, "", State.UNKNOWN, "the suite has no judge with flags")
    yield from evidence.watched_no_more(rule.label, asked)
    for flag in asked:
        rate = overall.of(MEASURE, flag, "rate")
        if rate.value is None:
            yield AlertReading(
                rule.label, flag, State.UNKNOWN, f"{flag}: no text of this run has a value for this flag"
            )
            continue
        there = rate.value > rule.above + 1e-12
        yield AlertReading(
            rule=rule.label,
            subject=flag,
            state=State.THERE if there else State.GONE,
            what=f"the flag {flag} is set {'more' if there else 'no more'} often than allowed",
            how_much=f"{percent(rate.value)} of texts ({rate.numerator} of {rate.denominator}), allowed:"
            f" {percent(rule.above)}",
            significance=_gate_sureness(GateResult("", "", rate, rule.above, "<=", Verdict.FAIL, "", unit="share")),
            look=("steelyard", "report", evidence.header.id),
        )


Looks = Callable[[Any, AlertEvidence], Iterator[AlertReading]]


def readings_of(evidence: AlertEvidence) -> list[AlertReading]:
    """What every rule says, rule by rule.

    Of an INVALID run only that is reported, and of a suspect one only that and the gates
    that fail. Nothing is recovered by either.
    """
    invalid, suspect = evidence.header.verdict is Verdict.INVALID, bool(evidence.header.suspect)
    readings: list[AlertReading] = []
    for rule in evidence.rules:
        if isinstance(rule, RunInvalid):
            readings += _LOOKS[type(rule)](rule, evidence)
        elif suspect and not invalid and isinstance(rule, GateFailed):
            readings += [item for item in _LOOKS[type(rule)](rule, evidence) if item.state is State.THERE]
        elif not invalid and not suspect:
            # First: of the readings of one cause the first holds.
            readings += _watched_anew(rule, evidence)
            readings += _LOOKS[type(rule)](rule, evidence)
    return readings


def _watched_anew(rule: Rule, evidence: AlertEvidence) -> Iterator[AlertReading]:
    """The open alerts on changes that this run, read with another signature, can never say anything of.

    The runs before them are of the old signature: they would stay open for ever, and keep new ones from being raised.
    """
    for alert in evidence.open_of(rule.label) if _looks_back(rule) else ():
        raised_by = evidence.store.run(alert.opened_run)
        if not same_signature(raised_by, evidence.header):
            changed = "the signature"
        elif getattr(rule, "metric", "").startswith("latency") and not same_load(raised_by, evidence.header):
            changed = "the load"
        else:
            continue
        subject = alert.content["subject"]
        why = f"{changed} has changed since, so the two cannot be compared; it is watched from now on"
        yield AlertReading(rule.label, subject, State.NOT_WATCHED, f"{subject or rule.label}: {why}")


def _looks_back(rule: Rule) -> bool:
    """Whether a rule holds a figure against that of earlier runs."""
    if isinstance(rule, Regression):
        return not rule.against
    return isinstance(rule, LatencyRise | CostRise | JudgeDrift)


_LOOKS: dict[type[Any], Looks] = {
    GateFailed: failed_gates,
    RunInvalid: invalid_runs,
    Regression: regressions,
    NewFinding: new_findings,
    NewConfusion: new_confusions,
    FlagRate: flag_rates,
    JudgeDrift: judge_drifts,
    LatencyRise: latency_rises,
    CostRise: cost_rises,
}


_LEFT = 0.5
"""The share of a change that may be left when its alert is closed: one near it must not alert every night."""


@frozen
class Closing:
    """An open alert whose cause is gone, or is watched no more."""

    alert: AlertRecord
    reading: AlertReading | None
    """What the run shows now; None when nothing looks at it any more."""
    recovered: bool
    """True when the cause was looked for and is not there."""


@frozen
class AlertChanges:
    """What a run changes about the alerts of its suite."""

    raised: tuple[AlertReading, ...] = ()
    still: tuple[tuple[AlertRecord, AlertReading], ...] = ()
    """Open before and still there: no second notice is sent."""
    closed: tuple[Closing, ...] = ()
    unknown: tuple[AlertReading, ...] = ()
    """What could not be decided, and why."""


def changes_of(
    readings: Iterable[AlertReading], open_alerts: Sequence[AlertRecord], rules: Collection[str]
) -> AlertChanges:
    """What the readings of a run come to; `rules` are the labels of all rules that are declared now."""
    by_cause = {alert.cause: alert for alert in open_alerts}
    raised, still, closed, unknown = [], [], [], []
    seen: set[str] = set()
    for reading in readings:
        if reading.cause in seen:
            continue
        seen.add(reading.cause)
        alert = by_cause.get(reading.cause)
        state = _settled(reading, alert)
        if state is State.UNKNOWN:
            unknown.append(reading)
        elif state is State.THERE and alert is None:
            raised.append(reading)
        elif state is State.THERE and alert is not None:
            still.append((alert, replace(reading, state=State.THERE)))
        elif alert is not None:
            closed.append(Closing(alert, reading, recovered=state is State.GONE))
    closed += [
        Closing(alert, None, recovered=False)
        for alert in open_alerts
        if alert.cause not in seen and alert.content.get("rule") not in rules
    ]
    return AlertChanges(tuple(raised), tuple(still), tuple(closed), tuple(unknown))


def _settled(reading: AlertReading, alert: AlertRecord | None) -> State:
    """The state; a change that has raised an alert is gone only when less than half of it is left."""
    if alert is None or reading.state is not State.GONE or reading.size is None:
        return reading.state
    then = alert.content.get("size")
    return State.THERE if then and reading.size > _LEFT * then else State.GONE
