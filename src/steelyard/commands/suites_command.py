"""The command suites."""

from __future__ import annotations

import click

from steelyard.cli.options import as_json
from steelyard.cli.output import console, print_json


@click.command("suites")
@as_json
def suites_command(as_json: bool) -> None:
    """List the built-in suites.

    Suites of installed plug-ins are listed, too. Run one by its name: steelyard run NAME.
    """
    from steelyard.loading.load import list_suites

    suites = list_suites()
    if as_json:
        print_json([{"name": suite.name, "about": suite.about, "cases": suite.n_cases} for suite in suites])
        return
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    table.add_column("suite", no_wrap=True)
    table.add_column("cases", justify="right")
    table.add_column("about")
    for suite in suites:
        table.add_row(suite.name, str(suite.n_cases), suite.about)
    console().print(table)
