"""What rules look at (a run, its verdict, open alerts, earlier runs), and the readings they give, cause by cause."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from functools import cached_property
from typing import Any

from steelyard.analysis.model import Summary
from steelyard.analysis.stored import summary_of
from steelyard.decide.baselines import stored_results
from steelyard.decide.gates import Decision, measure
from steelyard.decide.verdict import as_ended, decide
from steelyard.frozen import frozen, values_of
from steelyard.loading.alerts import AlertSettings, Rule, WindowPart
from steelyard.metrics.expressions import EVERY, Gate
from steelyard.metrics.figures import Slice
from steelyard.records import RunHeader
from steelyard.stats.intervals import Estimate, Z, t_two_sided
from steelyard.store.alert_log import AlertRecord
from steelyard.store.base import Store
from steelyard.store.headers import is_partial, is_reading, origin
from steelyard.suite.models import Component
from steelyard.wording import counted, difference, in_unit, p_text


class State(StrEnum):
    """The outcome of a rule for one cause."""

    THERE = "there"
    GONE = "gone"
    """Looked for, and not found: an alert that is open for it is closed."""
    UNKNOWN = "unknown"
    """It could not be decided: an open alert stays open, and none is raised."""
    NOT_WATCHED = "not watched"
    """The figure does not exist any more: an open alert is closed without saying that it recovered."""


class AlertLevel(StrEnum):
    """How severe an alert is, in GitHub's words."""

    ERROR = "error"
    WARNING = "warning"


@frozen
class AlertReading:
    """The outcome of a rule for one cause in one run, in sentences that need no context."""

    rule: str
    """The label of the rule."""
    subject: str
    """What distinguishes this cause from the others of the rule."""
    state: State
    what: str
    how_much: str = ""
    significance: str = ""
    look: tuple[str, ...] = ()
    """Words of the command that shows it."""
    quotes: tuple[tuple[str, str], ...] = ()
    """Labelled texts of models: data, to be fenced wherever they are shown."""
    level: AlertLevel = AlertLevel.ERROR
    size: float | None = None
    """How far the figure has moved, where it is a change of one; an alert that is open for it is closed only when less
    than half of it is left."""

    @property
    def cause(self) -> str:
        """The name of the cause in its suite."""
        return f"{self.rule}: {self.subject}" if self.subject else self.rule

    def as_data(self) -> dict[str, Any]:
        """As the store keeps it."""
        stored = values_of(self, *_STORED)
        return stored | {
            "look": list(self.look),
            "quotes": [list(quote) for quote in self.quotes],
            "level": self.level.value,
        }


_STORED = tuple(name for name in AlertReading.__match_args__ if name != "state")


def unknown(rule: str, subject: str, why: str) -> AlertReading:
    """That cannot tell, and why."""
    return AlertReading(rule, subject, State.UNKNOWN, why)


def reading_from(data: dict[str, Any]) -> AlertReading:
    """What an alert was raised with, from what the store keeps."""
    stored = {name: data[name] for name in _STORED}
    quotes = tuple((label, text) for label, text in data["quotes"])
    as_objects: dict[str, Any] = {
        "look": tuple(data["look"]),
        "quotes": quotes,
        "level": AlertLevel(data["level"]),
        "state": State.THERE,
    }
    return AlertReading(**stored | as_objects)


_LOOKED_AT = 200
"""The newest runs that a window is looked for in."""
_SIGNATURE = ("cases", "truth", "scorers", "schema", "judge", "rules")


@frozen
class Pooled:
    """One figure over several runs: each counts as much as the n that it stands on."""

    value: float
    n: int
    runs: int
    error: float | None
    """Standard error of `value` from what the runs themselves say; None when one of them does not."""
    spread: float | None
    """Standard deviation between runs; None with fewer than two."""


def earlier_runs(store: Store, header: RunHeader, *, before: float, most: int) -> list[RunHeader]:
    """The newest sound runs of the same signature that were begun before a moment, newest first.

    Of answers that were scored more than once only the newest scoring counts, and the run's own answers never do.
    """
    run_headers: list[RunHeader] = []
    runs = _newest(store, header.suite_name, before, max(_LOOKED_AT, 20 * most))
    by_id = {run.id: run for run in runs}
    seen = {origin(header, by_id)}
    for run in runs:
        if len(run_headers) == most:
            break
        asked = origin(run, by_id)
        sound = is_reading(run) and not is_partial(run)
        if run.created_at < before and asked not in seen and sound and same_signature(run, header):
            seen.add(asked)
            run_headers.append(run)
    return run_headers


def _newest(store: Store, suite: str, before: float, enough: int) -> list[RunHeader]:
    """The newest runs, so many that `enough` of them were begun before a moment, which may be long ago."""
    limit = enough
    while True:
        runs = store.runs(suite, limit)
        if len(runs) < limit or sum(run.created_at < before for run in runs) >= enough // 2:
            return runs
        limit *= 4


def same_signature(run_header: RunHeader, other: RunHeader) -> bool:
    """Whether two runs were read with the same cases, truth, scorers, shape, judge and rules."""
    return all((run_header.signature.part(part) or "") == (other.signature.part(part) or "") for part in _SIGNATURE)


def pooled(estimates: Iterable[Estimate]) -> Pooled | None:
    """The figure over all runs that have it, weighted by n; None when none has."""
    available = [estimate for estimate in estimates if estimate.value is not None and estimate.n > 0]
    n = sum(item.n for item in available)
    if not n:
        return None
    values = [item.value or 0.0 for item in available]
    value = sum(item.n * entry for item, entry in zip(available, values, strict=True)) / n
    errors = [own_error(item) for item in available]
    messages = [error for error in errors if error is not None]
    error = (
        math.sqrt(sum((item.n / n * entry) ** 2 for item, entry in zip(available, messages, strict=True)))
        if len(messages) == len(available)
        else None
    )
    spread = None
    if len(available) > 1:
        between = sum(item.n * (entry - value) ** 2 for item, entry in zip(available, values, strict=True)) / n
        spread = math.sqrt(between * len(available) / (len(available) - 1))
    return Pooled(value, n, len(available), error, spread)


def own_error(estimate: Estimate) -> float | None:
    """The standard error behind an interval; None without one."""
    if estimate.low is None or estimate.high is None:
        return None
    return (estimate.high - estimate.low) / (2 * Z)


def chance_of(now: Estimate, before: Pooled) -> float | None:
    """How likely chance alone puts a run so far from earlier ones; None when it cannot be told.

    Two kinds of noise are allowed for, and the larger p-value holds: that of the samples, and how far earlier runs lie
    apart (Student's t of one more run).
    """
    if now.value is None:
        return None
    away, result = abs(now.value - before.value), []
    own = own_error(now)
    if own is not None and before.error is not None:
        result.append(_normal(away, math.hypot(own, before.error)))
    if before.spread is not None:
        error = before.spread * math.sqrt(1 + 1 / before.runs)
        result.append(t_two_sided(away / error, before.runs - 1) if error > 0 else (1.0 if away == 0 else 0.0))
    return max(result, default=None)


def _normal(away: float, error: float) -> float:
    if error <= 0:
        return 1.0 if away == 0 else 0.0
    return math.erfc(away / error / math.sqrt(2))


def too_little(runs: Sequence[RunHeader], n: int, *, min_runs: int, min_n: int) -> str:
    """Why so few earlier runs tell nothing; "" when they are enough."""
    if len(runs) < min_runs:
        there = counted(len(runs), "earlier run")
        return f"{there} of the same signature, and the window asks for {min_runs}"
    return f"earlier runs have n {n} together, and the window asks for {min_n}" if n < min_n else ""


def then_and_now(before: float, now: float, unit: str) -> str:
    """`78.0 % now, 90.0 % before: -12.0 points`."""
    return f"{in_unit(now, unit)} now, {in_unit(before, unit)} before: {difference(now - before, unit)}"


def rise_in_words(before: float, now: float, unit: str) -> str:
    """The same with how much more it is, as a share."""
    by = f" ({100 * (now / before - 1):+.0f} %)" if before > 0 else ""
    return f"{in_unit(now, unit)} now, {in_unit(before, unit)} before{by}"


def sureness(change: Estimate, p: float | None, unit: str, test: str, several: int = 1, of: str = "case") -> str:
    """`95 % interval -20.1 to -3.9 points, p 0.004 (exact McNemar, 50 cases)`."""
    interval = ""
    if change.low is not None and change.high is not None:
        low, high = (difference(end, unit) for end in (change.low, change.high))
        interval = f"95 % interval {low.removesuffix(' points').removesuffix(' s')} to {high}, "
    among = f", adjusted for {several} slices" if several > 1 else ""
    return f"{interval}{p_text(p)} ({test}, {counted(change.n, of)}{among})"


def both_n(now: int, before: int) -> str:
    """`(n 50 now, 480 before)`."""
    return f"(n {now:,} now, {before:,} before)"


class AlertEvidence:
    """A run that has ended, and what it is compared with; everything is read when it is asked for, and once."""

    def __init__(
        self, store: Store, header: RunHeader, settings: AlertSettings, open_alerts: Sequence[AlertRecord]
    ) -> None:
        self.store, self.header, self.settings = store, header, settings
        self.rules: tuple[Rule, ...] = settings.rules or ()
        self.limits = settings.window or WindowPart()
        self._open: Mapping[str, AlertRecord] = {alert.cause: alert for alert in open_alerts}
        self._windows: dict[float, list[RunHeader]] = {}
        self._summaries: dict[str, Summary] = {}

    @property
    def suite(self) -> str:
        """The suite's name."""
        return self.header.suite_name

    def open_of(self, rule: str) -> list[AlertRecord]:
        """The alerts that are open for causes of a rule."""
        return [alert for alert in self._open.values() if alert.content.get("rule") == rule]

    def watched_no_more(self, rule: str, subjects: Collection[str]) -> Iterator[AlertReading]:
        """The open alerts of a rule on what this run, which is of the whole suite, does not have any more."""
        for alert in self.open_of(rule):
            subject = alert.content["subject"]
            if subject not in subjects:
                why = f"{subject} does not exist any more, or no rule asks for it"
                yield AlertReading(rule, subject, State.NOT_WATCHED, why)

    def window(self, cause: str = "") -> list[RunHeader]:
        """The earlier runs that a cause is compared with, newest first.

        While an alert is open they are those before the run that raised it: what went wrong must not become usual.
        """
        alert = self._open.get(cause)
        before = self.header.created_at if alert is None else min(alert.opened_run_at, self.header.created_at)
        if before not in self._windows:
            self._windows[before] = earlier_runs(self.store, self.header, before=before, most=self.limits.runs)
        return self._windows[before]

    def summary(self, header: RunHeader) -> Summary:
        """The figures that a run ended with."""
        if header.id not in self._summaries:
            self._summaries[header.id] = summary_of(self.store, header)
        return self._summaries[header.id]

    @cached_property
    def decision(self) -> Decision:
        """Every gate and criterion of the run, as its report has them."""
        header = self.header
        summary = self.summary(header)
        decision = decide(
            summary,
            header.description,
            state=header.state,
            suspect=header.suspect,
            gone=header.options.broken,
            relative=stored_results(header),
        )
        return as_ended(decision, header)

    def slices(self, gate: Gate) -> list[str]:
        """The groups of this run that a figure speaks of; `""` is the whole run."""
        if gate.factor is None:
            return [""]
        names = [item.name for item in self.summary(self.header).slices.get(gate.factor, ())]
        return [name for name in names if gate.slice in (EVERY, name)]

    def figure(self, header: RunHeader, gate: Gate, name: str) -> Estimate:
        """A figure of a run, in one group of it."""
        summary = self.summary(header)
        part = _part(summary, gate, name)
        return Estimate(None, 0) if part is None else measure(gate, part)

    @property
    def components(self) -> tuple[Component, ...]:
        """What the suite scores, as its runs describe it."""
        return self.header.description.components


def _part(summary: Summary, gate: Gate, name: str) -> Slice | None:
    if gate.factor is None:
        return summary.overall
    return next((item for item in summary.slices.get(gate.factor, ()) if item.name == name), None)
