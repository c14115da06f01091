"""The command report: a stored run as text, Markdown, JUnit, HTML, JSON or charts."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import click

from steelyard.cli.explain_options import ExplainOptions, explain_options
from steelyard.cli.options import FILE, as_json, run_name, store_url
from steelyard.cli.output import print_document, print_json, print_on_one_screen, report_written, write_document
from steelyard.results.find import FoundRuns

if TYPE_CHECKING:
    from steelyard.report.model import Report


_FOLDER = click.Path(file_okay=False, path_type=Path)
_FOREIGN = "name the suite that reads it: --suite SUITE"


@click.command("report")
@run_name
@click.option("--markdown", metavar="FILE", type=FILE, help="Write Markdown, for a pull request.")
@click.option("--junit", metavar="FILE", type=FILE, help="Write JUnit XML, for a CI server.")
@click.option("--html", metavar="FILE", type=FILE, help="Write one self-contained HTML file.")
@click.option("--charts", metavar="DIR", type=_FOLDER, help="Write every chart as a PNG picture into this folder.")
@click.option("--suite", metavar="SUITE", help="RUN is a results file in this suite's own format.")
@click.option("--full", is_flag=True, help="Print everything, not only what fits one screen.")
@explain_options
@store_url
@as_json
def report_command(
    run: str,
    markdown: Path | None,
    junit: Path | None,
    html: Path | None,
    charts: Path | None,
    suite: str | None,
    full: bool,
    explain: str | None,
    limit: int | None,
    store_url: str | None,
    as_json: bool,
) -> None:
    """Show a run, or write it as Markdown, JUnit, HTML, JSON or charts.

    RUN is a run's name, the beginning of it, LAST, LAST~1 for the one before, or a baseline (@release); or a snapshot
    file (.json) or, with --suite, a results file in that suite's own format, which are not put into the store. Always
    ends with exit code 0 when the report could be made: the verdict's exit code is that of `steelyard gate`.
    """
    from steelyard.report import run as views
    from steelyard.report.build import build_report

    explaining = ExplainOptions(explain, limit)
    explaining.refuse_beside(markdown=markdown, junit=junit, html=html, charts=charts)
    with ExitStack() as closing:
        store, name = FoundRuns(store_url, closing, hint=_FOREIGN, suite=suite).find(run)
        if explaining.metric is not None:
            explaining.reported(store, store.run(name), as_json=as_json)
            return
        more = as_json or full or charts is not None or any((markdown, junit, html))
        report = build_report(store, store.run(name), brief=not more)
    written = _files(report, markdown, junit, html)
    written += _charts(report, charts) if charts is not None else []
    if as_json:
        print_json(views.data(report))
        return
    if full:
        print_document(views.document(report))
    elif not written and charts is None:
        print_on_one_screen(report)
    report_written(*written)


def _files(report: Report, markdown: Path | None, junit: Path | None, html: Path | None) -> list[Path]:
    """Write the report in each form that was asked for; the document is made once."""
    from steelyard.report.render.json import write_text
    from steelyard.report.run import document

    page = document(report) if markdown is not None or html is not None else None
    if page is not None:
        write_document(page, markdown, html)
    if junit is not None:
        from steelyard.report.render.junit import to_junit

        write_text(junit, to_junit(report))
    return [path for path in (markdown, junit, html) if path is not None]


def _charts(report: Report, folder: Path) -> list[Path]:
    """Write the charts; when there are none, say why."""
    from steelyard.report.charts import CHARTS, charts_of
    from steelyard.report.charts.drawing import write_charts

    result = charts_of(report.summary, report.header)
    if not result:
        click.echo("no chart: this run has no checks, no compared repeats and no answered call", err=True)
    return write_charts(result, folder, stale=CHARTS)
