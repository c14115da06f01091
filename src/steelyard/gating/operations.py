"""The gates of a stored run, checked now: what the command shows, for programs too."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from steelyard import plugins
from steelyard.comparing.operations import against_blocks, against_data, compare_with
from steelyard.errors import UsageError
from steelyard.frozen import frozen, values_of
from steelyard.records import CriteriaChanges, RunHeader
from steelyard.results.find import reference_of
from steelyard.results.operations import run_of
from steelyard.results.run import model_of
from steelyard.results.shown import ShownResult

if TYPE_CHECKING:
    from steelyard.analysis.model import Summary
    from steelyard.comparing.model import Comparison
    from steelyard.decide.baselines import Reference
    from steelyard.decide.gates import Decision, GateResult
    from steelyard.pairing.runs import ComparedRun
    from steelyard.report.document import Document
    from steelyard.report.model import Report
    from steelyard.results.run import AnyRun, AnySuite
    from steelyard.store.base import Store


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
            now = header.description.model_copy(update=values_of(model, "gates", "criteria"))
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

    summary = summary_of(store, store.run(header.id))
    if gates:
        check_on_run(gates, header.description, summary)
        asked = header.description.model_copy(update={"gates": tuple(gates), "criteria": ()})
        header = replace(header, suite=asked.data())
    if without_contested and reference is not None:
        raise UsageError(
            "--without-contested cannot be used with --against: two runs are compared over all their cases"
        )
    left_out, comparison = None, None
    relative = held_against(
        store, header, rescore=_rescored, reference=reference, allow_mismatch=allow_mismatch, strict=True
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


def _rescored(a: ComparedRun, b: ComparedRun) -> ComparedRun:
    # Needs the suite: most gates ask for no other run.
    from steelyard.runner.same_signature import rescored

    return rescored(a, b)


def shown_gates(check: GateCheck) -> ShownResult[GateCheck]:
    """The gates as they are shown."""

    def document(check: GateCheck) -> Document:
        from steelyard.report.run import decision_document

        return decision_document(check.report, against_blocks(check.comparison, check.against))

    def data(check: GateCheck) -> dict[str, Any]:
        from steelyard.report.run import decision_data

        return decision_data(check.report) | against_data(check.comparison)

    return ShownResult(check, document, data, check.decision.verdict)


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
    from steelyard.analysis.summary_from_store import summarise_without
    from steelyard.decide.relative_gates import undecided
    from steelyard.metrics.expressions import parse_gate

    cases = tuple(item.case_id for item in plugins.find("features", "contested_cases")(store, header))
    summary, n_samples = summarise_without(store, header, cases)
    why = "two runs are compared over all their cases: leave out --without-contested"
    relative = [undecided(gate, why) for gate in map(parse_gate, header.description.gates) if gate.baseline]
    return summary, relative, cases, n_samples
