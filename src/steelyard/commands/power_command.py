"""The command power."""

from __future__ import annotations

import click

from steelyard.cli.options import as_json, read_points, store_url
from steelyard.cli.output import show_document


@click.command("power")
@click.argument("suite", metavar="SUITE")
@click.option(
    "--metric",
    type=click.Choice(["pass_rate", "average"]),
    help="Which figure. [default: pass_rate where the suite has a pass rule, else average]",
)
@click.option("--detect", metavar="POINTS", callback=read_points, help="Show what it takes to detect this drop.")
@click.option(
    "--last",
    "most_runs",
    metavar="N",
    type=click.IntRange(min=1),
    default=10,
    show_default=True,
    help="Estimate the noise from the newest N runs.",
)
@store_url
@as_json
def power_command(
    suite: str, metric: str | None, detect: float | None, most_runs: int, store_url: str | None, as_json: bool
) -> None:
    """Show a suite's minimum detectable difference, and what a smaller one takes.

    That is how many cases or repeats. SUITE is the name of a suite with stored runs, or its file or folder. Nothing is
    run: the noise is that of the recorded runs of the newest run's system, between cases, between repeats of a case and
    between runs. The difference is a drop; a rise of a high pass rate is easier to detect.
    """
    from steelyard.analysis.power import recorded_power
    from steelyard.report import power
    from steelyard.results.find import stored_suite_name
    from steelyard.store.sql import open_store

    with open_store(store_url, create=False) as store:
        result = recorded_power(store, stored_suite_name(store, suite), metric, detect, most_runs)
    show_document(power.power_document(result), power.power_data(result), as_json=as_json)
