"""Tables and foreign text in GitHub-flavoured Markdown, in which nothing foreign is ever rendered."""

from __future__ import annotations

import re
from collections.abc import Iterator

from steelyard.records import Verdict
from steelyard.report.safe_text import clipped, one_line, shortened, visible
from steelyard.report.tables import Column, Kind, Table

LONGEST_CELL = 160
LONGEST_QUOTE = 1_500
MOST_ROWS = 20
SIGNS = {
    Verdict.PASS: "✅",
    Verdict.FAIL: "❌",
    Verdict.AMBIGUOUS: "❔",
    Verdict.INVALID: "⚠️",
    None: "ℹ️",
}
# As a numeric reference a sign is never Markdown or HTML structure.
_STRUCTURE = re.compile(r"[\\`*_\[\]<>#!|~&$@^]")
_BEGINS_A_LIST = re.compile(r"[-+=]|\d+[.)]")
# Mentions, issue numbers, emoji names and bare addresses are looked for in the finished page, so a reference is not
# enough: an invisible break keeps the words apart.
_LINKED_LATER = re.compile(r"(?<=[@#:])(?=\S)|(?<=\bwww)(?=\.)", re.IGNORECASE)
_BREAK = "\u200b"


def table_parts(table: Table) -> Iterator[str]:
    """The table under its title, at most `MOST_ROWS` rows of it; nothing when it has none."""
    if not table.rows:
        return
    shown = table.rows[:MOST_ROWS]
    lines = [
        f"**{safe(table.title)}**",
        "",
        "| " + " | ".join(safe(column.title, LONGEST_CELL) for column in table.columns) + " |",
        "|" + "|".join("---" if column.kind in (Kind.TEXT, Kind.LINES) else "---:" for column in table.columns) + "|",
        *("| " + " | ".join(_cell(*each) for each in zip(row, table.columns, strict=True)) + " |" for row in shown),
    ]
    note = table.note or ("" if len(shown) == len(table.rows) else f"{len(table.rows) - len(shown)} are not shown")
    lines += ["", f"<sub>{safe(note)}</sub>"] if note else []
    lines += ["", safe(table.conclusion)] if table.conclusion else []
    lines += ["", f"<sub>{safe(table.signature)}</sub>"] if table.signature else []
    yield "\n".join(lines)


def _cell(text: str, column: Column) -> str:
    return safe(clipped(text.replace("\n", "; ") if column.kind is Kind.LINES else text, LONGEST_CELL))


def facts(title: str, rows: list[tuple[str, str]]) -> str:
    """Labels with what stands beside them, as a table headed by the title."""
    return "\n".join([f"| {safe(title, 300)} | |", "|---|---|", *(f"| {safe(a)} | {safe(b)} |" for a, b in rows)])


def folded(title: str, parts: list[str]) -> str:
    """The parts behind a title that opens them."""
    body = "\n\n".join(parts)
    return f"<details>\n<summary>{title}</summary>\n\n{body}\n\n</details>"


def quoted(text: str) -> str:
    """Foreign text for a `<pre>` on one source line, so that no blank line or fence in it can end the block."""
    return _referenced(shortened(visible(text), LONGEST_QUOTE)).replace("\n", "&#10;")


def safe(text: str, limit: int = 600) -> str:
    """Foreign text as one line in which nothing is Markdown or HTML."""
    return _referenced(one_line(text, limit))


def _referenced(text: str) -> str:
    broken = _LINKED_LATER.sub(_BREAK, text)
    if _BEGINS_A_LIST.match(broken):
        broken = _BREAK + broken
    return _STRUCTURE.sub(lambda found: f"&#{ord(found.group())};", broken).replace(_BREAK, "&#8203;")
