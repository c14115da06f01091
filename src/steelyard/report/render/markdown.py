"""A document as GitHub-flavoured Markdown, for a comment on a change; nothing foreign in it is ever rendered."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from steelyard.report import document as doc
from steelyard.report.format import clipped, counted, one_line, shortened, visible
from steelyard.report.verdicts import style_of

ROOM = 60_000
"""Code hosts refuse comments beyond 65,536 characters."""
MOST_ROWS = 20
_LONGEST_CELL = 160
_LONGEST_QUOTE = 1_500
_LONGEST_FOOTER = 2_000
_MOST_SAMPLES = 25
_MOST_BULLETS = 20
_TONES = {doc.Tone.MUTED: "<sub>{}</sub>", doc.Tone.STRONG: "**{}**"}
_MARKS = {doc.Tone.PLAIN: "", doc.Tone.STRONG: "", doc.Tone.MUTED: "", doc.Tone.WARNING: "⚠️ "}
# As a numeric reference a sign is never Markdown or HTML structure.
_STRUCTURE = re.compile(r"[\\`*_\[\]<>#!|~&$@^]")
_BEGINS_A_LIST = re.compile(r"[-+=]|\d+[.)]")
# Mentions, issue numbers, emoji names and bare addresses are looked for in the finished page, so a reference is not
# enough: an invisible break keeps the words apart.
_LINKED_LATER = re.compile(r"(?<=[@#:])(?=\S)|(?<=\bwww)(?=\.)", re.IGNORECASE)
_BREAK = "\u200b"


def to_markdown(document: doc.Document, *, room: int = ROOM) -> str:
    """Markdown that fits into one comment: main sections open, the others folded; samples left off beyond `room`."""
    page = _Page()
    head = "\n\n".join(page.parts(document))
    foot = "".join(f"<sub>{safe(line, _LONGEST_FOOTER)}</sub><br>\n" for line in (*document.footer, *document.last))
    samples = [block for block in document.blocks if isinstance(block, doc.SampleList)]
    shown = [part for block in samples for part in page.samples(block, room - len(head) - len(foot))]
    return "\n\n".join(part for part in (head, *shown, foot) if part).rstrip() + "\n"


def blocks_to_markdown(blocks: Iterable[doc.Block]) -> list[str]:
    """Some blocks, as parts of a text that has a blank line between them."""
    page = _Page()
    return [part for block in blocks for part in page.block(block)]


class _Page:
    """Writes blocks; a signature that stands above already is not written again."""

    def __init__(self) -> None:
        self.signatures: set[str] = set()

    def parts(self, document: doc.Document) -> Iterator[str]:
        headline = document.headline
        word = "" if headline is None else f": {safe(headline.shown or headline.word)}"
        sign = "" if headline is None else f"{style_of(headline.word).emoji} "
        yield f"### {sign}{safe(document.title, 200)}{word}"
        if document.context:
            yield f"<sub>{safe(' | '.join(document.context), _LONGEST_FOOTER)}</sub>"
        folded: list[str] = []
        for block in document.blocks:
            if isinstance(block, doc.Section) and not block.main:
                folded += self.block(block)
            elif not isinstance(block, doc.SampleList):
                yield from self.block(block)
        if folded:
            yield fold("Figures", folded)

    def block(self, block: doc.Block) -> Iterator[str]:
        """The parts of a block; none of what only a page can show."""
        ways: dict[type, Callable[[Any], Iterable[str]]] = {
            doc.Headline: self.headline,
            doc.Section: self.section,
            doc.Fold: self.fold,
            doc.Facts: lambda item: [facts("", item.rows)],
            doc.Bullets: lambda item: [_list(item.items, numbered=item.numbered)],
            doc.Table: self.table,
            doc.SmallTables: self.small_tables,
            doc.Text: lambda item: [_TONES.get(item.tone, "{}").format(safe(item.text))],
        }
        if doc.has_content(block) and type(block) in ways:
            yield from ways[type(block)](block)

    def fold(self, block: doc.Fold) -> Iterator[str]:
        if not block.bulky:
            yield fold(safe(block.title), [part for item in block.blocks for part in self.block(item)])

    def small_tables(self, block: doc.SmallTables) -> Iterator[str]:
        for table in block.tables:
            yield from self.table(table)
        if block.note:
            yield _small(block.note)

    def headline(self, block: doc.Headline) -> Iterator[str]:
        yield f"**{safe(block.text)}**"
        if block.warnings:
            yield _list(block.warnings)
        if block.figure is not None:
            yield f"**{safe(f'{block.figure.label} {block.figure.value} {block.figure.detail}')}**"
        if block.reasons:
            yield _list(block.reasons)
        for extra in block.extra:
            yield from self.block(extra)

    def section(self, block: doc.Section) -> Iterator[str]:
        title = f"{block.title} ({block.remark})" if block.remark else block.title
        first, *others = block.blocks
        rest = [part for other in others for part in self.block(other)]
        if isinstance(first, doc.Facts) and first.rows:
            yield facts(title, first.rows)
        elif isinstance(first, doc.Table) and first.title in ("", block.title):
            yield from self.table(replace(first, title=title))
        elif shown := [*self.block(first), *rest]:
            yield "\n\n".join([f"**{safe(title)}**", shown[0]])
            rest = shown[1:]
        yield from rest

    def table(self, block: doc.Table) -> Iterator[str]:
        """The table under its title, at most `MOST_ROWS` rows of it."""
        table = block.sound
        if table is None:
            return
        drawn = (doc.Kind.GAUGE, doc.Kind.BAR)
        table = table.only([at for at, column in enumerate(table.columns) if column.kind not in drawn])
        words = (doc.Kind.TEXT, doc.Kind.LINES, doc.Kind.VERDICT)
        lines = [
            *([f"**{safe(table.title)}**", ""] if table.title else []),
            "| " + " | ".join(safe(column.title.replace("\n", " "), _LONGEST_CELL) for column in table.columns) + " |",
            "|" + "|".join("---" if column.kind in words else "---:" for column in table.columns) + "|",
        ]
        for row in table.rows[:MOST_ROWS]:
            cells = zip(row, table.columns, strict=True)
            lines.append("| " + " | ".join(_cell(cell, column) for cell, column in cells) + " |")
        note, conclusion, signature = table.below(MOST_ROWS, self.signatures)
        lines += [
            line
            for text in (note and _small(note), safe(conclusion), signature and _small(signature))
            if text
            for line in ("", text)
        ]
        yield "\n".join(lines)

    def samples(self, block: doc.SampleList, room: int) -> list[str]:
        """The samples that did not pass, folded, as many as there is room for."""
        parts: list[str] = []
        failed = [sample for sample in block.items if sample.status != "passed"]
        for sample in failed[:_MOST_SAMPLES]:
            part = self.sample(sample)
            room -= len(part)
            if room < 0:
                break
            parts.append(part)
        left_off = block.total - sum(sample.n for sample in failed[: len(parts)])
        if not parts:
            return []
        if left_off <= 0:
            return [fold("Samples that did not pass", parts)]
        title = f"{counted(len(parts), 'sample')} that did not pass, the worst first"
        return [fold(title, [*parts, f"{left_off:,} more of {block.total:,} are not shown here."])]

    def sample(self, sample: doc.SampleBlock) -> str:
        result = sample.score if sample.status in ("passed", "failed", "scored") else f"{sample.status}, {sample.score}"
        why = f"{safe(sample.why, 300)}<br>" if sample.why else ""
        body = "".join(self.sample(repeat) for repeat in sample.repeats) or "".join(_quotes(sample.blocks))
        return f"<details><summary>{safe(sample.name, 200)}: {safe(result)}</summary>{why}{body}</details>"


def _quotes(blocks: Sequence[doc.Block]) -> Iterator[str]:
    """What was asked, expected and answered, and what a judge said, each part as a quotation."""
    for block in blocks:
        if isinstance(block, doc.Quote):
            yield f"<b>{safe(block.title, 200)}</b><pre>{quoted(block.text)}</pre>"
        elif isinstance(block, doc.Section | doc.Fold):
            lines = [item.text for entry in block.blocks if isinstance(entry, doc.Bullets) for item in entry.items]
            if lines:
                yield f"<b>{safe(block.title, 200)}</b><pre>{quoted(chr(10).join(lines))}</pre>"
            yield from _quotes(block.blocks)


def _small(text: str) -> str:
    return f"<sub>{safe(text)}</sub>"


def _cell(cell: doc.Cell, column: doc.Column) -> str:
    text = str(cell)
    return safe(clipped(text.replace("\n", "; ") if column.kind is doc.Kind.LINES else text, _LONGEST_CELL))


def _list(items: Sequence[doc.Bullet], *, numbered: bool = False) -> str:
    lines = [
        f"{f'{number}.' if numbered else '-'} {f'**{safe(item.label)}** ' if item.label else ''}"
        f"{_MARKS[item.tone]}{safe(item.text, 1_000)}"
        for number, item in enumerate(items[:_MOST_BULLETS], 1)
    ]
    left_off = len(items) - _MOST_BULLETS
    return "\n".join([*lines, *([f"- and {left_off:,} more"] if left_off > 0 else [])])


def facts(title: str, rows: Sequence[tuple[str, str]]) -> str:
    """Labels with what stands beside them, as a table headed by the title."""
    return "\n".join([f"| {safe(title, 300)} | |", "|---|---|", *(f"| {safe(a)} | {safe(b)} |" for a, b in rows)])


def fold(title: str, parts: Sequence[str]) -> str:
    """The parts behind a title that opens them."""
    body = "\n\n".join(parts)
    return f"<details>\n<summary>{title}</summary>\n\n{body}\n\n</details>"


def quoted(text: str) -> str:
    """Foreign text for a `<pre>` on one source line, so that no blank line or fence in it can end the block."""
    return _referenced(shortened(visible(text), _LONGEST_QUOTE)).replace("\n", "&#10;")


def safe(text: str, limit: int = 600) -> str:
    """Foreign text as one line in which nothing is Markdown or HTML."""
    return _referenced(one_line(text, limit))


def _referenced(text: str) -> str:
    broken = _LINKED_LATER.sub(_BREAK, text)
    if _BEGINS_A_LIST.match(broken):
        broken = _BREAK + broken
    return _STRUCTURE.sub(lambda result: f"&#{ord(result.group())};", broken).replace(_BREAK, "&#8203;")
