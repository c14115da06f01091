"""The report for a pull request: a headline, short tables, the rest folded. Foreign text is never rendered."""

from __future__ import annotations

import re
from collections.abc import Iterator

from steelyard.records import Verdict
from steelyard.report import criteria_tables, error_tables, figures, tables, wording
from steelyard.report.model import Report, SampleDetail
from steelyard.report.safe_text import as_text, clipped, one_line, shortened, visible
from steelyard.report.tables import Kind, Table

_LONGEST_CELL = 160
_LONGEST_QUOTE = 1_500
_MOST_ROWS = 20
_MOST_SAMPLES = 25
_ROOM = 60_000
"""Code hosts refuse comments beyond 65,536 characters."""

_SIGNS = {
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


def to_markdown(report: Report) -> str:
    """GitHub-flavoured Markdown that fits into one comment."""
    head = "\n\n".join(_parts(report))
    foot = f"\n\n<sub>{_safe(wording.signature_line(report.header), 2_000)}</sub>\n"
    samples = _samples(report, room=_ROOM - len(head) - len(foot))
    return "\n\n".join([head, *samples]) + foot


def _parts(report: Report) -> Iterator[str]:
    sign = _SIGNS[report.decision.verdict]
    name = _safe(report.header.suite_name, 100)
    yield f"### {sign} {name}: {wording.verdict_word(report)}"
    rate = wording.pass_rate(report)
    yield f"**Pass rate {_safe(rate)}** &nbsp; average {_safe(figures.with_base(report.summary.overall.average))}"
    said = [_safe(reason) for reason in wording.reasons(report)[:_MOST_ROWS]]
    said += [f"**SUSPECT**: {_safe(reason)}" for reason in report.header.suspect[:_MOST_ROWS]]
    said += [_safe(note) for note in wording.notes(report)]
    if said:
        yield "\n".join(f"- {sentence}" for sentence in said)
    yield from _open(tables.gates(report))
    yield from _open(criteria_tables.criteria(report, with_reasons=True))
    yield from _open(criteria_tables.by_variant(report)[0])
    yield from _open(error_tables.errors(report))
    yield from _open(tables.priorities(report))
    yield _folded("Figures", [_overall(report), *_bands(report), *_tables(report)])


def _tables(report: Report) -> Iterator[str]:
    for factor in report.summary.slices:
        yield from _open(tables.slices(report, factor, _MOST_ROWS))
    yield from _open(tables.components(report))
    yield from _open(error_tables.measures(report))
    yield from _open(error_tables.measures_by_variant(report)[0])
    named = (tables.patterns, tables.worst, tables.slowest, tables.failures, tables.inconclusive)
    for table in named:
        yield from _open(table(report))


def _overall(report: Report) -> str:
    rows = [*tables.overall(report), ("Outcomes", wording.outcomes_sentence(report))]
    if report.summary.method:
        rows.append(("Intervals", report.summary.method))
    header = f"Run {_safe(report.header.id)}, {_safe(wording.target_name(report.header), 200)}"
    lines = [f"| {header} | |", "|---|---|", *(f"| {label} | {_safe(value)} |" for label, value in rows)]
    return "\n".join(lines)


def _bands(report: Report) -> Iterator[str]:
    rows = [
        (name, wording.band_floor(report.header, name), figures.band_count(share), figures.percent(share.value))
        for name, share in report.summary.overall.bands.items()
    ]
    columns = (tables.Column("Band", Kind.TEXT), *map(tables.Column, ("Score", "Samples", "Share")))
    yield from _open(Table("Score distribution", columns, rows))


def _open(table: Table) -> Iterator[str]:
    if not table.rows:
        return
    shown = table.rows[:_MOST_ROWS]
    lines = [
        f"**{_safe(table.title)}**",
        "",
        "| " + " | ".join(_safe(column.title, _LONGEST_CELL) for column in table.columns) + " |",
        "|" + "|".join("---" if column.kind in (Kind.TEXT, Kind.LINES) else "---:" for column in table.columns) + "|",
        *("| " + " | ".join(_cell(*each) for each in zip(row, table.columns, strict=True)) + " |" for row in shown),
    ]
    note = table.note or ("" if len(shown) == len(table.rows) else f"{len(table.rows) - len(shown)} are not shown")
    lines += ["", f"<sub>{_safe(note)}</sub>"] if note else []
    lines += ["", _safe(table.conclusion)] if table.conclusion else []
    yield "\n".join(lines)


def _cell(text: str, column: tables.Column) -> str:
    return _safe(clipped(text.replace("\n", "; ") if column.kind is Kind.LINES else text, _LONGEST_CELL))


def _folded(title: str, parts: list[str]) -> str:
    body = "\n\n".join(parts)
    return f"<details>\n<summary>{title}</summary>\n\n{body}\n\n</details>"


def _samples(report: Report, *, room: int) -> list[str]:
    to_show = [detail for detail in report.details if detail.passed is not True]
    parts: list[str] = []
    for detail in to_show[:_MOST_SAMPLES]:
        part = _sample(report, detail)
        room -= len(part)
        if room < 0:
            break
        parts.append(part)
    left_off = report.n_samples - len(parts)
    if not parts or left_off <= 0:
        return [_folded("Samples that did not pass", parts)] if parts else []
    title = f"{figures.counted(len(parts), 'sample')} that did not pass, the worst first"
    return [_folded(title, [*parts, f"{left_off:,} more of {report.n_samples:,} are not shown here."])]


def _sample(report: Report, detail: SampleDetail) -> str:
    line = detail.line
    result = figures.percent(line.score) if wording.is_conclusive(line) else wording.outcome_word(line.outcome)
    name = _safe(wording.sample_name(line, repeats=report.summary.repeats), 200)
    quotes = [("Input", detail.input), ("Expected", detail.expected), ("Answer", detail.read or detail.answer)]
    blocks = [f"<b>{title}</b><pre>{_quoted(as_text(value))}</pre>" for title, value in quotes if value is not None]
    why = f"{_safe(line.why, 300)}<br>" if line.why else ""
    return f"<details><summary>{name}: {result}</summary>{why}{''.join(blocks)}</details>"


def _quoted(text: str) -> str:
    """Foreign text for a `<pre>` on one source line, so that no blank line or fence in it can end the block."""
    return _referenced(shortened(visible(text), _LONGEST_QUOTE)).replace("\n", "&#10;")


def _safe(text: str, limit: int = 600) -> str:
    return _referenced(one_line(text, limit))


def _referenced(text: str) -> str:
    broken = _LINKED_LATER.sub(_BREAK, text)
    if _BEGINS_A_LIST.match(broken):
        broken = _BREAK + broken
    return _STRUCTURE.sub(lambda found: f"&#{ord(found.group())};", broken).replace(_BREAK, "&#8203;")
