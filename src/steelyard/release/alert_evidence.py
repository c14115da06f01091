"""What the rules of alerts look at: a run with its verdict, its suite's open alerts, and the runs before it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property

from steelyard.analysis.model import Estimate, Slice, Summary
from steelyard.analysis.stored import summarise_stored
from steelyard.analysis.stored_summary import stored_summary
from steelyard.records import RunHeader
from steelyard.release.alert_causes import Reading, State
from steelyard.release.alert_window import earlier_runs
from steelyard.release.baseline_gates import kept_results
from steelyard.release.gates import measure
from steelyard.release.model import Decision
from steelyard.release.verdict import decide
from steelyard.store.alerts import AlertRecord
from steelyard.store.base import Store
from steelyard.suite.alert_rules import Rule
from steelyard.suite.alert_settings import AlertSettings, WindowPart
from steelyard.suite.gates import EVERY, FACTORS, Gate


class Evidence:
    """A run that has ended, and what it is held against; everything is read when it is asked for, and once."""

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

    def watched_no_more(self, rule: str, subjects: Collection[str]) -> Iterator[Reading]:
        """The open alerts of a rule on what this run, which is of the whole suite, does not have any more."""
        for alert in self.open_of(rule):
            subject = alert.content["subject"]
            if subject not in subjects:
                why = f"{subject} is not there any more, or nobody asks for it"
                yield Reading(rule, subject, State.NOT_WATCHED, why)

    def window(self, cause: str = "") -> list[RunHeader]:
        """The earlier runs that a cause is held against, newest first.

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
            kept = stored_summary(header.summary, _ALL_FACTORS)
            self._summaries[header.id] = kept or summarise_stored(
                self.store, header.id, header.suite, only_for_gates=True
            )
        return self._summaries[header.id]

    @cached_property
    def decision(self) -> Decision:
        """Every gate and criterion of the run, as its report has them."""
        header = self.header
        summary = summarise_stored(self.store, header.id, header.suite, only_for_gates=True)
        return decide(
            summary,
            header.suite,
            state=header.state,
            suspect=header.suspect,
            gone=header.options.get("broken"),
            relative=kept_results(header),
        )

    def slices(self, gate: Gate) -> list[str]:
        """The groups of this run that a figure speaks of; `""` is the whole run."""
        if gate.factor is None:
            return [""]
        names = [each.name for each in self.summary(self.header).slices.get(gate.factor, ())]
        return [name for name in names if gate.slice in (EVERY, name)]

    def figure(self, header: RunHeader, gate: Gate, name: str) -> Estimate:
        """A figure of a run, in one group of it."""
        summary = self.summary(header)
        part = _part(summary, gate, name)
        return Estimate(None, 0) if part is None else measure(gate, part, summary)

    @property
    def components(self) -> list[dict[str, object]]:
        """What the suite scores, as its runs describe it."""
        return list(self.header.suite.get("components") or ())


_ALL_FACTORS: Collection[str] = tuple(FACTORS)


def _part(summary: Summary, gate: Gate, name: str) -> Slice | None:
    if gate.factor is None:
        return summary.overall
    return next((each for each in summary.slices.get(gate.factor, ()) if each.name == name), None)
