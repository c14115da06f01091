"""Figures of a comparison that no gate may stand on: how often a side failed, plain counts, findings by section."""

from __future__ import annotations

from collections.abc import Callable

from steelyard.analysis.explain_readings import Reading, Rules
from steelyard.records import Outcome, Sample
from steelyard.suite.gates import Gate

TARGET_FAILED, JUDGE_FAILED = "target_failed_rate", "judge_failed_rate"
COUNT, SECTION = "count.<component>.<count>", "section.<section>"
FORMULAS = {
    TARGET_FAILED: "pairs' samples whose target failed / n",
    JUDGE_FAILED: "pairs' samples whose judge failed / n",
    COUNT: "sum of the count / n",
    SECTION: "number of findings that begin in the section / n",
}


def only_compared(name: str) -> Gate | None:
    """The figure of that name, in the shape of a gate; None for what a gate may stand on."""
    if name in (TARGET_FAILED, JUDGE_FAILED):
        return _figure(name, name, "share")
    head, _, rest = name.partition(".")
    if head == "section":
        return _figure(name, SECTION, "count", rest)
    component, _, count = rest.partition(".")
    return _figure(name, COUNT, "count", component, count) if head == "count" and count else None


def _figure(name: str, pattern: str, unit: str, subject: str = "", measure: str = "") -> Gate:
    return Gate(name, None, None, name, ">=", 0.0, 1, unit, pattern, subject, measure)


def reader_of(gate: Gate, rules: Rules) -> Callable[[Sample], Reading]:
    """How one sample of a pair enters such a figure."""

    def read(sample: Sample) -> Reading:
        if gate.pattern == SECTION:
            why = rules.left_out(sample)
            found = sum(finding.section == gate.subject for finding in sample.findings)
            return Reading(None if why else float(found), why)
        failed = Outcome.TARGET_FAILED if gate.pattern == TARGET_FAILED else Outcome.JUDGE_FAILED
        return Reading(float(sample.outcome is failed))

    return read
