"""What a baseline stands for, in a terminal and as data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from rich.console import Console, RenderableType

from steelyard.analysis.stored_summary import stored_summary
from steelyard.records import RunHeader
from steelyard.report import figures, wording
from steelyard.report.json import plain
from steelyard.report.terminal_layout import LONGEST_LINE, Layout, print_parts, speaks_ascii_alone
from steelyard.store.baselines import BaselineEntry


def print_baseline(entry: BaselineEntry, header: RunHeader, console: Console) -> None:
    """Print the lock, the run behind it, its figures and its signature."""
    layout = Layout(width=console.width, plain=speaks_ascii_alone(console))
    print_parts(_parts(entry, header, layout), console)


def _parts(entry: BaselineEntry, header: RunHeader, layout: Layout) -> Iterator[RenderableType]:
    forced = " by force" if entry.forced else ""
    yield from layout.facts(
        f"{entry.name}, baseline of {entry.suite_name}",
        [
            ("Run", f"{header.id}, {wording.when(header.created_at)}"),
            ("Verdict", header.verdict.value if header.verdict else "none: no gates"),
            ("Target", wording.target_name(header)),
            *_figures(header),
            ("Locked", f"{wording.when(entry.made_at)}{forced} by {entry.made_by}"),
            *([("Reason", entry.reason)] if entry.reason else []),
        ],
    )
    for warning in header.suspect:
        yield layout.bullet("!", f"SUSPECT: {warning}", "bold yellow")
    yield layout.text(wording.signature_line(header), "dim", limit=10 * LONGEST_LINE)


def _figures(header: RunHeader) -> list[tuple[str, str]]:
    summary = stored_summary(header.summary)
    if summary is None:
        return []
    overall = summary.overall
    return [
        ("Average", figures.with_base(overall.average)),
        ("Median", figures.with_base(overall.median)),
        ("Pass rate", figures.pass_rate(overall.pass_rate, summary.passing)),
    ]


def baseline_data(header: RunHeader) -> dict[str, Any]:
    """The run behind a baseline as plain data."""
    summary = stored_summary(header.summary)
    overall = None if summary is None else summary.overall
    return {
        "verdict": header.verdict.value if header.verdict else None,
        "state": header.state.value,
        "suspect": list(header.suspect),
        "created_at": header.created_at,
        "target": plain(header.target),
        "average": None if overall is None else plain(asdict(overall.average)),
        "pass_rate": None if overall is None else plain(asdict(overall.pass_rate)),
    }
