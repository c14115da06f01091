"""`steelyard report`."""

from __future__ import annotations

from pathlib import Path

import click

from steelyard.cli.shared_options import as_json, run_name, store_url

_FILE = click.Path(dir_okay=False, path_type=Path)


@click.command("report")
@run_name
@click.option("--md", metavar="FILE", type=_FILE, help="Write Markdown, for a pull request.")
@click.option("--junit", metavar="FILE", type=_FILE, help="Write JUnit XML, for a CI server.")
@click.option("--html", metavar="FILE", type=_FILE, help="Write one self-contained HTML file.")
@store_url
@as_json
def command(
    run: str, md: Path | None, junit: Path | None, html: Path | None, store_url: str | None, as_json: bool
) -> None:
    """Show a run, or write it as Markdown, JUnit, HTML or JSON.

    RUN is a run's name, the beginning of it, LAST, or LAST~1 for the one before. Always ends with exit code 0 when
    the report could be made: the verdict's exit code is that of `steelyard gate`.
    """
    from steelyard.cli.show import console, print_json
    from steelyard.report.build import build_report
    from steelyard.report.write import write_text
    from steelyard.store.open import open_store

    store = open_store(store_url, create=False)
    try:
        report = build_report(store, store.run(run))
    finally:
        store.close()
    written: list[Path] = []
    if md is not None:
        from steelyard.report.markdown import to_markdown

        write_text(md, to_markdown(report))
        written.append(md)
    if junit is not None:
        from steelyard.report.junit import to_junit

        write_text(junit, to_junit(report))
        written.append(junit)
    if html is not None:
        from steelyard.report.html import to_html

        write_text(html, to_html(report))
        written.append(html)
    if as_json:
        from steelyard.report.json import to_json

        print_json(to_json(report))
        return
    if not written:
        from steelyard.report.terminal import print_report

        print_report(report, console())
    for file in written:
        click.echo(f"written: {file}")
