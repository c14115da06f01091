"""The command history: a suite's figures run by run, and where their level changed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from steelyard.cli.options import FILE, as_json, completed, store_url
from steelyard.cli.output import print_document, print_json, report_written, write_document

if TYPE_CHECKING:
    from steelyard.run_history.history import History


_FOLDER = click.Path(file_okay=False, path_type=Path)


@click.command("history")
@click.argument("suite", metavar="SUITE", shell_complete=completed("suites"))
@click.option("--last", metavar="N", type=click.IntRange(min=1), help="Use the newest N runs. [default: all]")
@click.option(
    "--metric",
    "metrics",
    metavar="METRIC",
    shell_complete=completed("metrics"),
    multiple=True,
    help="Follow this figure, as gates name it. May be given more than once. [default: average, pass_rate]",
)
@click.option(
    "--by",
    metavar="FIELD",
    default="",
    help="Follow it by category, difficulty, variant, tag or a field of `slices`, or code: how often each occurs.",
)
@click.option("--target", metavar="NAME", default="", help="Only runs of this target: its name, or a part of it.")
@click.option("--charts", metavar="DIR", type=_FOLDER, help="Write every trend as a PNG picture into this folder.")
@click.option("--html", metavar="FILE", type=FILE, help="Write one self-contained HTML file with the charts.")
@click.option("--markdown", metavar="FILE", type=FILE, help="Write Markdown.")
@store_url
@as_json
def history_command(
    suite: str,
    last: int | None,
    metrics: tuple[str, ...],
    by: str,
    target: str,
    charts: Path | None,
    html: Path | None,
    markdown: Path | None,
    store_url: str | None,
    as_json: bool,
) -> None:
    """Show a suite's figures run by run, and where their level changed.

    SUITE is the name of a suite with runs in the store, or its folder or file. Runs that are INVALID, suspect, not
    finished or of a part of the suite are listed and have no part in the trends. Always ends with exit code 0 when the
    history could be made.
    """
    from steelyard.run_history.operations import history

    result = history(suite, last=last, metrics=metrics, by=by, target=target, store=store_url)
    document = result.document()
    written = [*write_document(document, markdown, html), *(_charts(result.result, charts) if charts else ())]
    if as_json:
        print_json(result.to_data())
        return
    if not written and charts is None:
        print_document(document)
    report_written(*written)


def _charts(history: History, folder: Path) -> list[Path]:
    from steelyard.report.charts.drawing import write_charts
    from steelyard.run_history.charts import trend_charts

    result = trend_charts(history)
    if not result:
        click.echo("no chart: fewer than two runs are in the trends", err=True)
    return write_charts(result, folder)
