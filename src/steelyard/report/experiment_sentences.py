"""What the report of an experiment says in words and rows, the same in every view."""

from __future__ import annotations

from dataclasses import dataclass

from steelyard.analysis.compare_model import Comparison
from steelyard.records import RunHeader
from steelyard.release.experiment import Arm, Decided, Held, Ruling
from steelyard.report import figures, wording
from steelyard.report.tables import Column, Kind, Table
from steelyard.suite.rate import load_in_words

MEANINGS = {
    Decided.ADOPT: "the candidate meets the criteria",
    Decided.REJECT: "the criteria speak against the candidate",
    Decided.CANNOT_TELL: "neither to adopt nor to reject",
    Decided.INVALID: "an arm is no reading: nothing can be decided",
}
HOLDS = {True: "holds", False: "does not hold", None: "cannot tell"}
SIGNS = {Decided.ADOPT: "✓", Decided.REJECT: "✕", Decided.CANNOT_TELL: "?", Decided.INVALID: "⚠"}
"""So that nothing is told by colour alone."""


@dataclass(frozen=True, slots=True)
class ExperimentReport:
    """Everything that the views of an experiment show."""

    name: str
    hypothesis: str
    factor: str
    file: str
    plan: str
    """The hash of the plan."""
    baseline: Arm
    candidate: Arm | None
    comparison: Comparison | None
    ruling: Ruling
    beforehand: bool = True
    """Whether both runs carry this very plan, stored before their first call."""
    notes: tuple[str, ...] = ()
    """What a reader has to know about how it came about: run before, or a plan that nobody saw beforehand."""


def title(report: ExperimentReport) -> str:
    """The experiment and its suite."""
    return f"{report.name} (suite {report.baseline.header.suite_name})"


def about(report: ExperimentReport) -> list[tuple[str, str]]:
    """The hypothesis, and what changed, as label and words."""
    rows = [("Hypothesis", report.hypothesis), ("Factor", report.factor)]
    changed = report.ruling.changed
    if changed is not None:
        told = ", ".join(one.told for one in changed.as_declared)
        rows.append(("Changed", told or f"nothing that is the {report.factor}"))
        if changed.besides:
            rows.append(("Besides", ", ".join(one.told for one in changed.besides)))
        if changed.caution:
            rows.append(("Mind", changed.caution))
    rows += [("Mind", note) for note in report.notes]
    return rows


def arms(report: ExperimentReport) -> Table:
    """Both runs side by side: what was asked, how it ended and its main figures."""
    sides = [arm for arm in (report.baseline, report.candidate) if arm is not None]
    labels = [_facts(arm) for arm in sides]
    rows = [
        (label, *(facts[label] for facts in labels)) for label in labels[0] if any(facts[label] for facts in labels)
    ]
    titles = ("Baseline", "Candidate")[: len(sides)]
    return Table("Both arms", (Column("", Kind.TEXT), *(Column(one, Kind.TEXT) for one in titles)), rows)


def _facts(arm: Arm) -> dict[str, str]:
    header, overall = arm.header, arm.summary.overall
    verdict = header.verdict.value if header.verdict else "no gates"
    checks = arm.summary.checks
    return {
        "run": header.id,
        "begun": wording.when(header.created_at),
        "target": wording.target_name(header),
        "repeats": str(header.suite.get("repeats") or 1),
        "variants": ", ".join(name for name in header.suite.get("variants") or () if name),
        "load": load_in_words(header.options.get("load")),
        "the suite's gates": verdict,
        "pass rate": figures.with_base(overall.pass_rate) if arm.summary.passing else "",
        "average": figures.with_base(overall.average),
        "cases held": "" if checks is None else figures.with_base(checks.cells_rate),
        "checks held": "" if checks is None else figures.with_base(checks.checks_rate),
        "latency p95": figures.with_base(overall.latency["p95"], "s") if "p95" in overall.latency else "",
    }


def criteria(report: ExperimentReport) -> Table:
    """Every criterion with its figure on both sides, and whether it holds."""
    rows = [
        (f"{each.asks} when {each.text}", *_sides(each), HOLDS[each.holds], each.reason)
        for each in report.ruling.criteria
    ]
    columns = (
        Column("Criterion", Kind.TEXT),
        Column("Baseline"),
        Column("Candidate"),
        Column("Came out"),
        Column("Why", Kind.TEXT),
    )
    note = "adopted when all to adopt hold and none to reject does; rejected when one to reject holds"
    if rows and all(each.asks == "adopt" for each in report.ruling.criteria):
        note = "adopted when all hold; rejected when one does not"
    return Table(criteria_title(report), columns, rows, note)


def criteria_title(report: ExperimentReport) -> str:
    """`Criteria`, and that they were there before the first call where the runs show it."""
    return "Criteria, written beforehand" if report.beforehand else "Criteria"


def plan_line(report: ExperimentReport) -> str:
    """Which plan it was, and when it was stored."""
    if report.beforehand:
        return f"plan {report.plan}, stored with each run before its first call"
    return f"plan {report.plan}, which not every run carries: nothing shows that it was there before them"


def _sides(each: Held) -> tuple[str, str]:
    found = ["" if one is None else figures.in_unit(one.value, each.unit) for one in (each.baseline, each.candidate)]
    return found[0], found[1]


def raw_runs(report: ExperimentReport) -> list[tuple[str, str]]:
    """How to see the raw runs: label and command."""
    rows = [("Baseline", _command(report.baseline.header))]
    if report.candidate is not None:
        rows.append(("Candidate", _command(report.candidate.header)))
        ids = f"{report.baseline.header.id} {report.candidate.header.id}"
        rows.append(("Both", f"steelyard compare {ids}"))
        rows.append(("Decide again", f"steelyard experiment {report.file} --decide-only {ids}"))
    return rows


def _command(header: RunHeader) -> str:
    return f"steelyard report {header.id}   (every answer: steelyard export {header.id} FILE)"
