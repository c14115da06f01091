"""`steelyard history`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from steelyard.cli.shared_options import as_json, store_url

if TYPE_CHECKING:
    from steelyard.decide.history import History

_FILE = click.Path(dir_okay=False, path_type=Path)
_FOLDER = click.Path(file_okay=False, path_type=Path)
_GROUPINGS = ("category", "difficulty", "variant", "tag", "code")


@click.command("history")
@click.argument("suite", metavar="SUITE")
@click.option("--last", metavar="N", type=click.IntRange(min=1), help="Look at the newest N runs. [default: all]")
@click.option(
    "--metric",
    "metrics",
    metavar="METRIC",
    multiple=True,
    help="Follow this figure, as gates name it. May be given more than once. [default: average, pass_rate]",
)
@click.option("--by", type=click.Choice(_GROUPINGS), help="Follow it by slice, or how often each finding code occurs.")
@click.option("--target", metavar="NAME", default="", help="Only runs of this target: its name, or a part of it.")
@click.option("--charts", metavar="DIR", type=_FOLDER, help="Write every trend as a PNG picture into this folder.")
@click.option("--html", metavar="FILE", type=_FILE, help="Write one self-contained HTML file with the charts.")
@click.option("--markdown", metavar="FILE", type=_FILE, help="Write Markdown.")
@store_url
@as_json
def command(
    suite: str,
    last: int | None,
    metrics: tuple[str, ...],
    by: str | None,
    target: str,
    charts: Path | None,
    html: Path | None,
    markdown: Path | None,
    store_url: str | None,
    as_json: bool,
) -> None:
    """Show how a suite's figures went, run by run, and where they changed.

    SUITE is the name of a suite with runs in the store, or its folder or file. Runs that are INVALID, suspect, not
    finished or of a part of the suite are listed and have no part in the trends. Always ends with exit code 0 when the
    history could be made.
    """
    from steelyard.cli.found_run import stored_suite_name
    from steelyard.cli.show import print_document, print_json, tell_written, write_document
    from steelyard.decide.history import Wanted, read_history
    from steelyard.report.history import data, document
    from steelyard.store.open import open_store

    store = open_store(store_url, create=False)
    try:
        history = read_history(store, stored_suite_name(store, suite), Wanted(last, metrics, by or "", target))
    finally:
        store.close()
    found = document(history)
    written = [*write_document(found, markdown, html), *(_charts(history, charts) if charts is not None else ())]
    if as_json:
        print_json(data(history))
        return
    if not written and charts is None:
        print_document(found)
    tell_written(*written)


def _charts(history: History, folder: Path) -> list[Path]:
    from steelyard.report.charts.render import write_charts
    from steelyard.report.charts.trend import trend_charts

    found = trend_charts(history)
    if not found:
        click.echo("no chart: fewer than two runs have a part in the trends", err=True)
    return write_charts(found, folder)
