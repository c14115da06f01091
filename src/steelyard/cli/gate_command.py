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
    from steelyard.cli.show import console, print_json
    from steelyard.errors import UserMistake
    from steelyard.release.verdict import decide_run, exit_code
    from steelyard.store.open import open_store

    store = open_store(store_url, create=False)
    try:
        header = store.run(run)
        decision = decide_run(store.columns(header.id), header, gates or None)
    finally:
        store.close()
    if not decision.gates:
        raise UserMistake(
            f"run {header.id} has no gates, so nothing can be decided: declare `gates` in the suite, or give --gate"
        )
    if as_json:
        from steelyard.report.json import decision_json

        print_json({"run": header.id, **decision_json(decision)})
    else:
        from steelyard.report.terminal import print_decision

        print_decision(header, decision, console())
    sys.exit(exit_code(decision.verdict))
