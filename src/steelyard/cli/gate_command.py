"""`steelyard gate`."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from dataclasses import replace

import click

from steelyard.cli.shared_options import against, anyway, as_json, run_name, store_url


@click.command("gate")
@run_name
@click.option(
    "--gate",
    "gates",
    metavar="GATE",
    multiple=True,
    help="Check this gate instead of the suite's, such as 'pass_rate >= 90 %'. May be given more than once.",
)
@against
@anyway
@store_url
@as_json
def command(
    run: str, gates: tuple[str, ...], against: str | None, anyway: bool, store_url: str | None, as_json: bool
) -> None:
    """Check a run's gates; the exit code is the verdict.

    RUN is a run's name, the beginning of it, LAST, LAST~1 for the one before, or a baseline (@release). Gates on a
    baseline are held against what it stands for now.
    """
    from steelyard.analysis.stored import summarise_stored
    from steelyard.cli.held_against import against_blocks, against_data, compare_with
    from steelyard.cli.named_reference import reference_of
    from steelyard.cli.show import print_document, print_json
    from steelyard.decide.baselines import held_against
    from steelyard.decide.verdict import decide
    from steelyard.errors import UserMistake
    from steelyard.report.model import Report
    from steelyard.report.run import decision_data, decision_document
    from steelyard.report.verdicts import exit_code
    from steelyard.same_instrument import rescored
    from steelyard.store.open import open_store

    with ExitStack() as closing:
        store = open_store(store_url, create=False)
        closing.callback(store.close)
        header = store.run(run)
        reference = reference_of(store, against, header.suite_name, closing)
        summary = summarise_stored(store, header.id, header.description, only_for_gates=True)
        if gates:
            from steelyard.decide.gates import check_on_run

            check_on_run(gates, header.description, summary)
            header = replace(header, suite=header.suite | {"gates": list(gates), "criteria": []})
        relative = held_against(store, header, rescore=rescored, reference=reference, anyway=anyway, strict=True)
        comparison = None if reference is None else compare_with(store, header, reference, anyway=anyway)
    gone = header.options.get("broken")
    decision = decide(
        summary, header.description, state=header.state, suspect=header.suspect, gone=gone, relative=relative
    )
    report = Report(header, summary, decision)
    if all(each.secondary and not each.left_out for each in decision.gates):
        lacks = "no gates" if not decision.gates else "no gates, and all its criteria are secondary"
        raise UserMistake(
            f"run {header.id} has {lacks}, so nothing can be decided: declare `gates` in the suite, or give --gate or"
            " --against"
        )
    if as_json:
        print_json(decision_data(report) | against_data(comparison))
    else:
        more = against_blocks(comparison, reference.label if reference else "")
        print_document(decision_document(report, more))
    sys.exit(exit_code(decision.verdict))
