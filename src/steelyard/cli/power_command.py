"""`steelyard power`."""

from __future__ import annotations

import click

from steelyard.cli.shared_options import as_json, read_points, store_url


@click.command("power")
@click.argument("suite", metavar="SUITE")
@click.option(
    "--metric",
    type=click.Choice(["pass_rate", "average"]),
    help="Which figure. [default: pass_rate where the suite has a pass rule, else average]",
)
@click.option("--detect", metavar="POINTS", callback=read_points, help="Say what it takes to detect this change.")
@click.option(
    "--last",
    "most_runs",
    metavar="N",
    type=click.IntRange(min=1),
    default=10,
    show_default=True,
    help="Learn the noise from the newest N runs.",
)
@store_url
@as_json
def command(
    suite: str, metric: str | None, detect: float | None, most_runs: int, store_url: str | None, as_json: bool
) -> None:
    """Say which change a suite can detect, and what a smaller one takes.

    That is how many cases or repeats. SUITE is the name of a suite with stored runs, or its file or folder. Nothing is
    run: the noise is that of the recorded runs, between cases, between repeats of a case and between runs.
    """
    from steelyard.analysis.recorded_power import recorded_power
    from steelyard.cli.found_run import stored_suite_name
    from steelyard.cli.show import print_document, print_json
    from steelyard.report import power
    from steelyard.store.open import open_store

    store = open_store(store_url, create=False)
    try:
        found = recorded_power(store, stored_suite_name(store, suite), metric, detect, most_runs)
    finally:
        store.close()
    if as_json:
        print_json(power.data(found))
    else:
        print_document(power.document(found))
