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
    from steelyard.cli.held_against import against_data, compare_with, print_against
    from steelyard.cli.named_reference import reference_of
    from steelyard.cli.show import console, print_json
    from steelyard.errors import UserMistake
    from steelyard.release.baseline_gates import held_against
    from steelyard.release.verdict import decide, exit_code
    from steelyard.report.model import Report
    from steelyard.same_instrument import rescored
    from steelyard.store.open import open_store

    with ExitStack() as closing:
        store = open_store(store_url, create=False)
        closing.callback(store.close)
        header = store.run(run)
        reference = reference_of(store, against, header.suite_name, closing)
        summary = summarise_stored(store, header.id, header.suite, only_for_gates=True)
        if gates:
            from steelyard.release.asked import check_on_run

            check_on_run(gates, header.suite, summary)
            header = replace(header, suite=header.suite | {"gates": list(gates), "criteria": []})
        relative = held_against(store, header, rescore=rescored, reference=reference, anyway=anyway, strict=True)
        comparison = None if reference is None else compare_with(store, header, reference, anyway=anyway)
    gone = header.options.get("broken")
    decision = decide(summary, header.suite, state=header.state, suspect=header.suspect, gone=gone, relative=relative)
    report = Report(header, summary, decision)
    if all(each.secondary and not each.left_out for each in decision.gates):
        lacks = "no gates" if not decision.gates else "no gates, and all its criteria are secondary"
        raise UserMistake(
            f"run {header.id} has {lacks}, so nothing can be decided: declare `gates` in the suite, or give --gate or"
            " --against"
        )
    if as_json:
        from steelyard.report.json import decision_to_json

        print_json(decision_to_json(report) | against_data(comparison))
    else:
        from steelyard.report.terminal import print_decision

        print_decision(report, console())
        print_against(comparison, reference)
    sys.exit(exit_code(decision.verdict))
