"""`steelyard gate`."""

from __future__ import annotations

import sys

import click

from steelyard.cli.shared_options import as_json, run_name, store_url


@click.command("gate")
@run_name
@click.option(
    "--gate",
    "gates",
    metavar="GATE",
    multiple=True,
    help="Check this gate instead of the suite's, such as 'pass_rate >= 90 %'. May be given more than once.",
)
@store_url
@as_json
def command(run: str, gates: tuple[str, ...], store_url: str | None, as_json: bool) -> None:
    """Check a run's gates; the exit code is the verdict.

    RUN is a run's name, the beginning of it, LAST, or LAST~1 for the one before.
    """
    from steelyard.analysis.stored import summarise_stored
    from steelyard.cli.show import console, print_json
    from steelyard.errors import UserMistake
    from steelyard.release.verdict import decide, exit_code
    from steelyard.report.model import Report
    from steelyard.store.open import open_store

    store = open_store(store_url, create=False)
    try:
        header = store.run(run)
        summary = summarise_stored(store, header.id, header.suite, only_for_gates=True)
    finally:
        store.close()
    suite = header.suite
    if gates:
        from steelyard.release.asked import check_on_run

        check_on_run(gates, suite, summary)
        suite = suite | {"gates": list(gates), "criteria": []}
    decision = decide(summary, suite, state=header.state, suspect=header.suspect, gone=header.options.get("broken"))
    report = Report(header, summary, decision)
    if all(each.secondary for each in decision.gates):
        lacks = "no gates" if not decision.gates else "no gates, and all its criteria are secondary"
        raise UserMistake(
            f"run {header.id} has {lacks}, so nothing can be decided: declare `gates` in the suite, or give --gate"
        )
    if as_json:
        from steelyard.report.json import decision_to_json

        print_json(decision_to_json(report))
    else:
        from steelyard.report.terminal import print_decision

        print_decision(report, console())
    sys.exit(exit_code(decision.verdict))
