"""`steelyard suites`."""

from __future__ import annotations

import click

from steelyard.cli.shared_options import as_json


@click.command("suites")
@as_json
def command(as_json: bool) -> None:
    """List the built-in suites.

    Suites of installed plug-ins are listed, too. Run one by its name: steelyard run NAME.
    """
    from steelyard.cli.show import console, print_json
    from steelyard.suite.load import list_suites

    found = list_suites()
    if as_json:
        print_json([{"name": suite.name, "about": suite.about, "cases": suite.n_cases} for suite in found])
        return
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    table.add_column("suite", no_wrap=True)
    table.add_column("cases", justify="right")
    table.add_column("about")
    for suite in found:
        table.add_row(suite.name, str(suite.n_cases), suite.about)
    console().print(table)
