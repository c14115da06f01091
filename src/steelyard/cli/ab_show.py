"""What `steelyard ab` prints and writes, offline and online."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from steelyard.release.ab_model import AbReport


def show(report: AbReport, markdown: Path | None, html: Path | None, *, as_json: bool) -> None:
    """Print the report, and write the files that were asked for."""
    from steelyard.cli.show import console, print_json, tell_written
    from steelyard.report.ab_views import ab_to_html, ab_to_json, ab_to_markdown, print_ab
    from steelyard.report.write import write_text

    if markdown is not None:
        write_text(markdown, ab_to_markdown(report))
    if html is not None:
        write_text(html, ab_to_html(report))
    if as_json:
        print_json(ab_to_json(report))
    else:
        print_ab(report, console())
        tell_written(markdown, html)
