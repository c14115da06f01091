"""The command gate."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from steelyard.cli.options import against, allow_mismatch, as_json, run_name, store_url
from steelyard.errors import UsageError

if TYPE_CHECKING:
    from steelyard.analysis.model import Summary
    from steelyard.decide.gates import Decision, GateResult
    from steelyard.records import RunHeader
    from steelyard.report.model import LeftOut
    from steelyard.store.base import Store


@click.command("gate")
@run_name
@click.option(
    "--gate",
    "gates",
    metavar="GATE",
    multiple=True,
    help="Check this gate instead of the suite's, such as 'pass_rate >= 90 %'. May be given more than once.",
)
@click.option("--without-contested", is_flag=True, help="Leave out cases whose truth experts contest; it says which.")
@against
@allow_mismatch
@store_url
@as_json
def gate_command(
    run: str,
    gates: tuple[str, ...],
    without_contested: bool,
    against: str | None,
    allow_mismatch: bool,
    store_url: str | None,
    as_json: bool,
) -> None:
    """Check a run's gates; the exit code is the verdict.

    RUN is a run's name, the beginning of it, LAST, LAST~1 for the one before, or a baseline (@release). Gates on a
    baseline are compared with what it stands for now.
    """
    from steelyard.analysis.summary import summarise_stored
    from steelyard.cli.options import reference_of
    from steelyard.cli.output import against_blocks, against_data, compare_with, print_document, print_json
    from steelyard.decide.baselines import held_against
    from steelyard.decide.verdict import decide
    from steelyard.report.model import Report
    from steelyard.report.run import decision_data, decision_document
    from steelyard.report.verdicts import exit_code
    from steelyard.runner.same_signature import rescored
    from steelyard.store.sql import open_store

    with ExitStack() as closing:
        store = open_store(store_url, create=False)
        closing.callback(store.close)
        header = store.run(run)
        reference = reference_of(store, against, header.suite_name, closing)
        summary = summarise_stored(store, header.id, header.description, only_for_gates=True)
        if gates:
            from steelyard.decide.gates import check_on_run

            check_on_run(gates, header.description, summary)
            asked = header.description.model_copy(update={"gates": gates, "criteria": ()})
            header = replace(header, suite=asked.data())
        left_out, comparison = None, None
        if without_contested:
            summary, relative, left_out = _without_contested(store, header, against)
        else:
            relative = held_against(
                store, header, rescore=rescored, reference=reference, allow_mismatch=allow_mismatch, strict=True
            )
        if reference is not None:
            comparison = compare_with(store, header, reference, allow_mismatch=allow_mismatch)
    gone = header.options.broken
    decision = decide(
        summary, header.description, state=header.state, suspect=header.suspect, gone=gone, relative=relative
    )
    report = Report(header, summary, decision, without_contested=left_out)
    _refuse_without_gates(header, decision)
    if as_json:
        print_json(decision_data(report) | against_data(comparison))
    else:
        more = against_blocks(comparison, reference.label if reference else "")
        print_document(decision_document(report, more))
    sys.exit(exit_code(decision.verdict))


def _refuse_without_gates(header: RunHeader, decision: Decision) -> None:
    """UsageError when no gate decides anything."""
    if all(gate.secondary and not gate.left_out for gate in decision.gates):
        lacks = "no gates" if not decision.gates else "no gates, and all its criteria are secondary"
        raise UsageError(
            f"run {header.id} has {lacks}, so nothing can be decided: declare `gates` in the suite, or give --gate or"
            " --against"
        )


def _without_contested(
    store: Store, header: RunHeader, against: str | None
) -> tuple[Summary, list[GateResult], LeftOut]:
    """What gates stand on without the contested cases, its gates on baselines left open, and what was left out."""
    from steelyard.analysis.summary import summarise_without
    from steelyard.decide.relative_gates import undecided
    from steelyard.metrics.expressions import parse_gate
    from steelyard.people.experts import contested_in
    from steelyard.report.model import LeftOut

    if against is not None:
        raise UsageError(
            "--without-contested cannot be used with --against: two runs are compared over all their cases"
        )
    cases = tuple(item.case_id for item in contested_in(store, header))
    summary, n_samples = summarise_without(store, header, cases)
    why = "two runs are compared over all their cases: leave out --without-contested"
    relative = [undecided(gate, why) for gate in map(parse_gate, header.description.gates) if gate.baseline]
    return summary, relative, LeftOut(cases, n_samples)
