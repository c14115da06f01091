"""An A/B in a terminal, as Markdown, as one HTML file and as data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from rich.console import Console, RenderableType
from rich.text import Text

from steelyard.release.ab_model import EXIT_CODES, AbReport, Decided
from steelyard.report import ab_tables
from steelyard.report.html_page import page
from steelyard.report.json import plain
from steelyard.report.markdown_layout import facts, safe, table_parts
from steelyard.report.terminal_layout import LONGEST_LINE, Layout, print_parts, speaks_ascii_alone

FORMAT = "steelyard.ab/1"
_STYLES = {
    Decided.B: "bold green",
    Decided.SAME: "bold green",
    Decided.A: "bold red",
    Decided.CANNOT_TELL: "bold yellow",
    Decided.INVALID: "bold magenta",
}
_KINDS = {
    Decided.B: "pass",
    Decided.SAME: "pass",
    Decided.A: "fail",
    Decided.CANNOT_TELL: "ambiguous",
    Decided.INVALID: "invalid",
}
_SIGNS = {Decided.B: "✓", Decided.SAME: "=", Decided.A: "✕", Decided.CANNOT_TELL: "?", Decided.INVALID: "⚠"}
"""So that nothing is told by colour alone."""
_MARKDOWN_SIGNS = {
    Decided.B: "✅",
    Decided.SAME: "🟰",
    Decided.A: "❌",
    Decided.CANNOT_TELL: "❔",
    Decided.INVALID: "⚠️",
}


def print_ab(report: AbReport, console: Console) -> None:
    """Print the decision, what it stands on and the checks."""
    print_parts(_parts(report, Layout(width=console.width, plain=speaks_ascii_alone(console))), console)


def _parts(report: AbReport, layout: Layout) -> Iterator[RenderableType]:
    yield layout.text(report.title, "bold")
    yield layout.text(ab_tables.answer(report), _STYLES[report.decided])
    for told in ab_tables.remarks(report):
        yield layout.bullet("-", told)
    yield from layout.facts("Arms", ab_tables.arm_facts(report))
    yield from layout.table(ab_tables.effects(report))
    yield from layout.table(ab_tables.checks(report))
    yield Text()
    for line in _foot(report):
        yield layout.text(line, "dim", limit=10 * LONGEST_LINE)


def _foot(report: AbReport) -> list[str]:
    return [f"Method: {report.method}", *report.signatures]


def ab_to_markdown(report: AbReport) -> str:
    """GitHub-flavoured Markdown, for a pull request."""
    parts = [
        f"### {_MARKDOWN_SIGNS[report.decided]} {safe(report.title, 200)}: {safe(ab_tables.word(report))}",
        f"**{safe(ab_tables.answer(report))}**",
        "\n".join(f"- {safe(told)}" for told in ab_tables.remarks(report)),
        facts("Arms", ab_tables.arm_facts(report)),
        *table_parts(ab_tables.effects(report)),
        *table_parts(ab_tables.checks(report)),
        "\n".join(f"<sub>{safe(line, 2_000)}</sub><br>" for line in _foot(report)),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def ab_to_html(report: AbReport) -> str:
    """One HTML file that opens from disk: nothing is fetched, nothing foreign is rendered."""
    return page(
        "ab.html",
        report=report,
        words=ab_tables,
        tables=[ab_tables.effects(report), ab_tables.checks(report)],
        foot=_foot(report),
        kind=_KINDS[report.decided],
        sign=_SIGNS[report.decided],
    )


def ab_to_json(report: AbReport) -> dict[str, Any]:
    """The whole report as data that `json.dumps(..., allow_nan=False)` can write; documented in commands.md."""
    data: dict[str, Any] = {
        "format": FORMAT,
        "kind": report.kind,
        "title": report.title,
        "decided": report.decided.value,
        "exit_code": EXIT_CODES[report.decided],
        "sentence": ab_tables.answer(report),
        "why": list(report.why),
        "test": report.test,
        "quality": asdict(report.quality),
        "beside": [asdict(effect) for effect in report.beside],
        "arms": [{"letter": arm.letter, "name": arm.name, "facts": dict(arm.facts)} for arm in report.arms],
        "checks": [asdict(check) for check in report.checks],
        "notes": list(report.notes),
        "method": report.method,
        "signatures": list(report.signatures),
        "plan": None if report.plan is None else dict(report.plan),
    }
    return {key: plain(value) for key, value in data.items()}
