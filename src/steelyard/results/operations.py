"""Comparisons, gates, new scores, checks of a judge, audits and histories: what commands show, for programs too."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from steelyard import plugins
from steelyard.errors import UsageError
from steelyard.frozen import frozen
from steelyard.records import CriteriaChanges, RunHeader, Verdict
from steelyard.results.find import reference_of
from steelyard.results.run import Run, load_run, model_of
from steelyard.results.shown import ShownResult

if TYPE_CHECKING:
    from steelyard.analysis.compare.attribution import Traces
    from steelyard.analysis.compare.attribution_model import Attribution
    from steelyard.analysis.compare.model import Comparison
    from steelyard.analysis.compare.pairing import ComparedRun
    from steelyard.analysis.model import Summary
    from steelyard.api import Suite
    from steelyard.decide.baselines import Reference
    from steelyard.decide.gates import Decision, GateResult
    from steelyard.report.document import Block, Document
    from steelyard.report.model import Report
    from steelyard.results.find import StoredRun
    from steelyard.runner.attribute import Purchase
    from steelyard.store.base import Store
    from steelyard.suite.models import SuiteModel

    AnyRun = Run | str | Path
    AnySuite = Suite | SuiteModel | str | Path


def run_of(run: AnyRun, store: str | None) -> Run:
    """The run itself, or the stored run or file of that name."""
    return run if isinstance(run, Run) else load_run(run, store)


# Comparing two runs.


def shown_comparison(comparison: Comparison) -> ShownResult[Comparison]:
    """The comparison as it is shown; an INVALID run decides the exit code, whatever was compared."""
    from steelyard.report.compare.blocks import data, document

    invalid = Verdict.INVALID in (comparison.a.verdict, comparison.b.verdict)
    verdict = comparison.headline.verdict
    return ShownResult(comparison, document, data, verdict, exit_word=Verdict.INVALID if invalid else None)


def compared(a: StoredRun, b: StoredRun, *, allow_mismatch: bool) -> Comparison:
    """The comparison of two runs, without why the headline number moved."""
    from steelyard.analysis.compare.compare import compare

    return compare(*read_both(a, b), allow_mismatch=allow_mismatch)


def traced(
    a: StoredRun,
    b: StoredRun,
    *,
    suite: str | SuiteModel | None = None,
    purchase: Purchase | None = None,
    allow_mismatch: bool,
) -> tuple[Comparison, Attribution, Traces]:
    """The comparison, why the headline number moved, and what every reading adds to that."""
    return traced_runs(*read_both(a, b, suite), suite=suite, purchase=purchase, allow_mismatch=allow_mismatch)


def traced_runs(
    first: ComparedRun,
    second: ComparedRun,
    *,
    suite: str | SuiteModel | None = None,
    purchase: Purchase | None = None,
    allow_mismatch: bool,
) -> tuple[Comparison, Attribution, Traces]:
    """The same of runs that were read."""
    from steelyard.analysis.compare.attribution import with_attribution
    from steelyard.analysis.compare.compare import compare
    from steelyard.analysis.compare.pairing import common_cases
    from steelyard.runner.attribute import attribution_of

    cases = common_cases(first, second)
    result, traces = attribution_of(first, second, cases, suite=suite, purchase=purchase)
    measured = purchase is not None and not result.anchors.not_measured
    comparison = compare(first, second, allow_mismatch=allow_mismatch, cases=cases, drift_measured=measured)
    return with_attribution(comparison, result), result, traces


def compare_with(store: Store, header: RunHeader, reference: Reference, *, allow_mismatch: bool) -> Comparison:
    """The run compared with the one that a baseline stands for, which is A, and why the headline number moved."""
    from steelyard.decide.baselines import home_of

    before = (home_of(reference, reference.run_id, store), reference.run_id)
    return traced(before, (store, header.id), allow_mismatch=allow_mismatch)[0]


def read_both(a: StoredRun, b: StoredRun, suite: str | SuiteModel | None = None) -> tuple[ComparedRun, ComparedRun]:
    """Two runs as they are compared: A scored again by the suite of B where that is needed."""
    from steelyard.analysis.compare.pairing import read_run
    from steelyard.runner.same_signature import rescored

    second = read_run(*b)
    return rescored(read_run(*a), second, suite), second


# The gates of a run.


@frozen
class GateCheck:
    """What came of the gates of a run."""

    report: Report
    """With the decision, and the figures that it stands on."""
    comparison: Comparison | None = None
    """With another run; None where nothing was compared."""
    against: str = ""
    """What that run is called."""

    @property
    def decision(self) -> Decision:
        """The verdict, its reasons, and every gate with its value, n and reason."""
        return self.report.decision


def gate(
    run: AnyRun,
    suite: AnySuite | None = None,
    *,
    gates: Sequence[str] = (),
    against: str | None = None,
    allow_mismatch: bool = False,
    without_contested: bool = False,
    store: str | None = None,
) -> ShownResult[GateCheck]:
    """The gates of a run, checked now: its own, those of a suite as it is now, or the ones that are given.

    UsageError when there is no gate that decides, or one that the run cannot answer.
    """
    with run_of(run, store).opened() as (opened, header), ExitStack() as closing:
        if suite is not None:
            model = model_of(suite)
            now = header.description.model_copy(update={"gates": model.gates, "criteria": model.criteria})
            header = replace(header, suite=now.data())
        reference = reference_of(opened, against, header.suite_name, closing)
        options = {"allow_mismatch": allow_mismatch, "without_contested": without_contested}
        return shown_gates(check_gates(opened, header, gates, reference, **options))


def check_gates(
    store: Store,
    header: RunHeader,
    gates: Sequence[str],
    reference: Reference | None,
    *,
    allow_mismatch: bool,
    without_contested: bool,
) -> GateCheck:
    """The gates of a run, or those that are given instead, and how it compares with a reference."""
    from steelyard.analysis.criteria import changed_criteria
    from steelyard.analysis.stored import summary_of
    from steelyard.decide.baselines import held_against
    from steelyard.decide.gates import check_on_run
    from steelyard.decide.verdict import compared_with_ended, decide
    from steelyard.report.model import LeftOut, Report
    from steelyard.runner.same_signature import rescored

    summary = summary_of(store, store.run(header.id))
    if gates:
        asked = header.description.model_copy(update={"gates": tuple(gates), "criteria": ()})
        check_on_run(gates, header.description, summary)
        header = replace(header, suite=asked.data())
    if without_contested and reference is not None:
        raise UsageError(
            "--without-contested cannot be used with --against: two runs are compared over all their cases"
        )
    left_out, comparison = None, None
    relative = held_against(
        store, header, rescore=rescored, reference=reference, allow_mismatch=allow_mismatch, strict=True
    )
    if reference is not None:
        comparison = compare_with(store, header, reference, allow_mismatch=allow_mismatch)
    own = store.run(header.id)
    if changes := changed_criteria(own, header):
        changed = CriteriaChanges(own.id, "the run itself", changes)
        header = replace(header, options=replace(header.options, changed=(*header.options.changed, changed)))

    def decided(summary: Summary, relative: Sequence[GateResult]) -> Decision:
        described, gone = header.description, header.options.broken
        return decide(summary, described, state=header.state, suspect=header.suspect, gone=gone, relative=relative)

    decision = decided(summary, relative)
    if without_contested:
        with_all, rate = decision, summary.overall["pass_rate"]
        summary, relative, cases, n_samples = _without_contested(store, header)
        decision, left_out = decided(summary, relative), LeftOut(cases, n_samples, with_all, rate)
    if not gates and reference is None and not without_contested:
        decision = compared_with_ended(decision, header)
    _refuse_without_gates(header, decision)
    report = Report(header, summary, decision, without_contested=left_out)
    return GateCheck(report, comparison, reference.label if reference else "")


def shown_gates(check: GateCheck) -> ShownResult[GateCheck]:
    """The gates as they are shown."""

    def document(check: GateCheck) -> Document:
        from steelyard.report.run import decision_document

        return decision_document(check.report, against_blocks(check.comparison, check.against))

    def data(check: GateCheck) -> dict[str, Any]:
        from steelyard.report.run import decision_data

        return decision_data(check.report) | against_data(check.comparison)

    return ShownResult(check, document, data, check.decision.verdict)


def against_data(comparison: Comparison | None) -> dict[str, Any]:
    """What the JSON of a run has more where it is compared with another: the whole comparison under `against`."""
    if comparison is None:
        return {}
    from steelyard.report.compare.blocks import data

    return {"against": data(comparison)}


def against_blocks(comparison: Comparison | None, label: str) -> list[Block]:
    """The answer of that comparison, how sure it is and what moved; nothing where nothing was compared."""
    if comparison is None:
        return []
    from steelyard.report.compare.blocks import answer
    from steelyard.report.document import Section

    return [Section(f"Against {label} (A, run {comparison.a.id})", answer(comparison, below_report_of_b=True))]


def _refuse_without_gates(header: RunHeader, decision: Decision) -> None:
    """UsageError when no gate decides anything."""
    if all(gate.secondary and not gate.left_out for gate in decision.gates):
        lacks = "no gates" if not decision.gates else "no gates, and all its criteria are secondary"
        raise UsageError(
            f"run {header.id} has {lacks}, so nothing can be decided: declare `gates` in the suite, or give --gate or"
            " --against"
        )


def _without_contested(store: Store, header: RunHeader) -> tuple[Summary, list[GateResult], tuple[str, ...], int]:
    """The summary without the contested cases, its gates on baselines left open, these cases and their samples."""
    from steelyard.analysis.summary import summarise_without
    from steelyard.decide.relative_gates import undecided
    from steelyard.metrics.expressions import parse_gate

    cases = tuple(item.case_id for item in plugins.find("features", "contested_cases")(store, header))
    summary, n_samples = summarise_without(store, header, cases)
    why = "two runs are compared over all their cases: leave out --without-contested"
    relative = [undecided(gate, why) for gate in map(parse_gate, header.description.gates) if gate.baseline]
    return summary, relative, cases, n_samples


# Recorded answers, scored again.


def rescore(
    run: AnyRun,
    suite: AnySuite | None = None,
    *,
    strict: bool = False,
    max_inconclusive: float | None = None,
    store: str | None = None,
) -> Run:
    """A new run in the same store: the answers of `run`, scored by the suite as it is now. No call is made.

    The suite is the one that is named, the one that made the run in Python, or the one of the run's suite name.
    """
    from steelyard.engine.plan import RunOptions
    from steelyard.loading.chosen_judge import judged_as_then
    from steelyard.runner.run import rescore_decided

    source = run_of(run, store)
    if source.file is not None:
        raise UsageError(f"{source.file} is not in a store, which the new run needs: steelyard import {source.file}")
    with source.opened() as (opened, header):
        refuse_imported(header)
        model = judged_as_then(source.suite_model(suite), header.description.judge, to_ask=False)
        options = RunOptions(strict=strict, max_inconclusive=max_inconclusive)
        report = rescore_decided(model, opened, header, options).report(opened)
    return Run(report.header, source.store, report=report, suite=model)


def refuse_imported(header: RunHeader) -> None:
    """UsageError for a run of another tool: the suite has neither its cases nor the calls of its judge."""
    imported = header.options.imported
    if imported is not None and imported.tool:
        raise UsageError(
            f"run {header.id} was scored by {imported.tool}. A suite that scores its answers anew:"
            f" steelyard init FOLDER --from {imported.file}"
        )
    if imported is not None:
        raise UsageError(
            f"run {header.id} was imported from {imported.file}: the suite has neither its cases nor the calls of"
            f" its judge. To score it by the suite as it is now, import that file into another store:"
            f" steelyard import {imported.file} --suite {header.suite_name} --store ANOTHER"
        )


# The check of a judge.


def refuse_other_suite(header: RunHeader, suite: SuiteModel) -> None:
    """UsageError when the run is none of the suite."""
    if header.suite_name != suite.name:
        raise UsageError(f"run {header.id} is one of suite {header.suite_name}, not of {suite.name}")


# The audit of a suite, and its history.
