"""A history in a terminal, as Markdown, as one HTML file and as data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from rich.console import Console, RenderableType
from rich.text import Text

from steelyard.analysis.change_points import FEWEST_RUNS
from steelyard.release.history_marks import day
from steelyard.release.history_model import History
from steelyard.report import history_tables
from steelyard.report.charts.trend import trend_charts
from steelyard.report.html_charts import draw
from steelyard.report.html_page import page
from steelyard.report.json import plain
from steelyard.report.markdown_layout import safe, table_parts
from steelyard.report.signatures import signed
from steelyard.report.tables import Table
from steelyard.report.terminal_layout import LONGEST_LINE, Layout, print_parts, speaks_ascii_alone

FORMAT = "steelyard.history/1"
_MOST_RUNS = 40
"""Runs that a terminal lists; the trends are of all."""


def sections(history: History) -> list[tuple[str, list[str]]]:
    """What is said besides the tables, under a title each."""
    changed = history_tables.changes(history) or [history_tables.no_changes(history, FEWEST_RUNS)]
    found = [
        ("Changes of level", changed),
        ("What changed between runs", history_tables.marks(history)),
        ("Not in the trends", history_tables.left_out(history)),
        ("Baselines", history_tables.locked(history)),
    ]
    return [(title, sentences) for title, sentences in found if sentences]


def print_history(history: History, console: Console) -> None:
    """Print the table of runs, what changed and why some have no part in it."""
    layout = Layout(width=console.width, plain=speaks_ascii_alone(console))
    print_parts(_parts(history, layout), console)


def _parts(history: History, layout: Layout) -> Iterator[RenderableType]:
    yield from layout.fitting(
        signed(history_tables.runs(history, wide=True, limit=_MOST_RUNS)),
        history_tables.runs(history, limit=_MOST_RUNS),
    )
    yield from layout.table(signed(history_tables.grouped(history)))
    for title, sentences in sections(history):
        yield from layout.heading(title)
        for sentence in sentences:
            yield layout.bullet("-", sentence)
    yield Text()
    yield layout.text(f"Method: {history.method}", "dim", limit=10 * LONGEST_LINE)


def history_to_markdown(history: History) -> str:
    """GitHub-flavoured Markdown: the table of runs and what changed."""
    parts = [part for table in _tables(history) for part in table_parts(table)]
    for title, sentences in sections(history):
        parts.append(f"**{title}**\n\n" + "\n".join(f"- {safe(sentence)}" for sentence in sentences))
    parts.append(f"<sub>Method: {safe(history.method)}</sub>")
    return "\n\n".join(parts) + "\n"


def _tables(history: History) -> list[Table]:
    return [signed(history_tables.runs(history, wide=True)), signed(history_tables.grouped(history))]


def history_to_html(history: History) -> str:
    """One HTML file that opens from disk, with the charts drawn in it."""
    return page(
        "history.html",
        history=history,
        tables=_tables(history),
        sections=sections(history),
        charts=draw(trend_charts(history)),
        verdict_title="Verdict",
    )


def history_to_json(history: History) -> dict[str, Any]:
    """The whole history as data that `json.dumps(..., allow_nan=False)` can write; documented in reports.md."""
    data: dict[str, Any] = {
        "format": FORMAT,
        "suite": history.suite,
        "n_all": history.n_all,
        "passing": history.passing or None,
        "best_band": history.best_band or None,
        "runs": [asdict(run) | {"date": day(run.answered_at)} for run in history.runs],
        "marks": [asdict(mark) for mark in history.marks],
        "trends": [asdict(trend) for trend in history.trends],
        "by": history.by or None,
        "n_groups": history.n_groups,
        "grouped": [asdict(trend) for trend in history.grouped],
        "charts": [{"name": chart.name, "title": chart.title, "spec": chart.spec} for chart in trend_charts(history)],
        "method": history.method,
    }
    return {key: plain(value) for key, value in data.items()}
