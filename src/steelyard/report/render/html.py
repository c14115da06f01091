"""A document as one HTML file that opens from disk: nothing is fetched, nothing foreign in it is rendered."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib.resources import files
from itertools import groupby
from typing import Any
from xml.etree import ElementTree

from markupsafe import Markup, escape

from steelyard.report import document as doc
from steelyard.report.charts.base import Chart
from steelyard.report.charts.drawing import can_draw, to_svg
from steelyard.report.format import counted, one_line, shortened, visible
from steelyard.report.render.page_size import (
    FEW_FINDINGS,
    FEW_ROWS,
    LONGEST_CELL,
    MOST_FINDINGS,
    MOST_ROWS,
    ROOMY,
    longest_text,
)
from steelyard.report.verdicts import STYLES, style_of
from steelyard.store.selection import Selection

_LONGEST_LINE = 600
_SHADES = 4
_TALL = 900.0
"""Pixels; a chart that is taller is folded."""
_AVAILABLE = {
    *["svg", "g", "path", "rect", "line", "circle", "text", "tspan", "defs", "linearGradient", "stop", "clipPath"]
}
_TEXT = (doc.Kind.TEXT, doc.Kind.LINES)
_TONES = {
    doc.Tone.PLAIN: "any",
    doc.Tone.STRONG: "any strong",
    doc.Tone.MUTED: "muted small any",
    doc.Tone.WARNING: "any strong",
}
_LABELS_A_SIDE = 36
"""A label is so many times smaller than the longest side of its picture."""


def tag(name: str, *children: object, **attributes: object) -> Markup:
    """An element in which every text is escaped and every hidden character spelled out; `cls` is its class."""
    shown = "".join(
        f" {'class' if key == 'cls' else key.replace('_', '-')}" + ("" if value is True else f'="{_harmless(value)}"')
        for key, value in attributes.items()
        if value is not None and value is not False
    )
    # All parts are escaped, or Markup.
    return Markup(f"<{name}{shown}>{_all(children)}</{name}>")  # noqa: S704


def _all(parts: Iterable[object]) -> Markup:
    return Markup("").join(map(_harmless, parts))


def _harmless(value: object) -> Markup:
    return value if isinstance(value, Markup) else escape(visible(str(value)))


_LONGEST_WHOLE = 24
_LONG_WORD = re.compile(rf"\S{{{_LONGEST_WHOLE + 1},}}")
_SEAM = re.compile(r"(?<=[-_./:,;=&?|\\])(?=[^-_./:,;=&?|\\])|(?<=[a-z])(?=[A-Z])")


def breakable(text: object) -> Markup:
    """A text for a table's cell: words stay whole up to 24 letters; longer ones break after their signs, as in
    `answer.items.maker`, and only a part that is too long by itself breaks anywhere."""
    if isinstance(text, Markup):
        return text
    shown, parts, end = visible(str(text)), list[object](), 0
    for word in _LONG_WORD.finditer(shown):
        pieces = _SEAM.split(word[0])
        broken = [tag("span", item, cls="any") if len(item) > _LONGEST_WHOLE else escape(item) for item in pieces]
        parts += [shown[end : word.start()], Markup("<wbr>").join(broken)]
        end = word.end()
    return _all([*parts, shown[end:]])


def to_html(document: doc.Document, links: Sequence[tuple[str, str]] = ()) -> str:
    """The page. Texts of samples are shortened, visibly, so far that a thousand samples stay below three megabytes.

    Pictures and charts come on top of that. `links` are titles and addresses of pages of ours beside it.
    """
    page = BlockWriter(document, longest_text(document))
    page.links = links
    style, script = asset("page.css"), asset("page.js")
    headline = document.headline
    title = f"{headline.shown or headline.word}: {document.title}" if headline else document.title
    body = page.body()
    head = _all(
        [
            Markup('<meta charset="utf-8">'),
            Markup('<meta http-equiv="Content-Security-Policy" content="{}">').format(_policy(style, script)),
            Markup('<meta name="viewport" content="width=device-width, initial-scale=1">'),
            Markup('<meta name="referrer" content="no-referrer"><meta name="color-scheme" content="light dark">'),
            Markup('<link rel="icon" href="data:,">'),
            tag("title", one_line(title, 160)),
            Markup(f"<style>{style}</style>"),  # noqa: S704 - a file of this package
        ]
    )
    top = f'<!doctype html>\n<html lang="en">\n<head>\n{head}\n</head>\n<body>\n'
    return f"{top}{body}\n<script>{script}</script>\n</body>\n</html>\n"


def asset(name: str) -> str:
    """A file that pages are made with."""
    return (files("steelyard.report.render") / name).read_text(encoding="utf-8")


def _policy(style: str, script: str) -> str:
    """A content security policy that lets this page's own style and script run, and nothing be fetched."""
    return (
        f"default-src 'none'; style-src {_source(style)}; script-src {_source(script)}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def _source(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


class BlockWriter:
    """Writes the blocks of one document; `longest` is how many characters of a quoted text are shown.

    `address` gives the address of the samples behind a figure, where a page can lead to them.
    """

    def __init__(self, document: doc.Document, longest: int, address: Callable[[Selection], str] | None = None) -> None:
        self.document = document
        self.longest = longest
        self.address = address
        self.links: Sequence[tuple[str, str]] = ()
        self.picture_addresses: Mapping[str, str] = {}
        """Where pictures are to be fetched; all others are part of the page."""
        self.roomy = longest >= ROOMY
        self.signatures: set[str] = set()
        self.anchors: dict[str, int] = {}
        self.pictures: dict[str, doc.Picture] = {}
        self.hinted = False
        self.in_samples = False
        self.in_fold = False
        self.ways: dict[type, Callable[[Any], Markup]] = {
            doc.Headline: self.headline,
            doc.Section: self.section,
            doc.Fold: self.fold,
            doc.Facts: self.facts,
            doc.Bullets: self.bullets,
            doc.Table: self.table,
            doc.SmallTables: self.small_tables,
            doc.Text: lambda block: tag("p", self.line(block.text), cls=_TONES[block.tone]),
            doc.Quote: self.quote,
            Chart: self.chart,
            doc.Drawing: self.drawing,
            doc.Picture: self.picture,
            doc.SampleList: self.samples,
        }

    def body(self) -> Markup:
        """Everything between head and script."""
        document = self.document
        footer = [tag("p", one_line(line)) for line in (*document.footer, *document.last)]
        head = [tag("p", tag("a", title, href=address), cls="small") for title, address in self.links]
        head.append(tag("h1", one_line(document.title, 200)))
        head.append(tag("p", self.line(" · ".join(document.context)), cls="muted small any"))
        sampled = any(isinstance(block, doc.SampleList) for block in document.blocks)
        skip = tag("a", "Skip to the samples", cls="skip", href="#samples") if sampled else Markup("")
        wrap = tag(
            "div", tag("header", *head, cls="page"), tag("main", self.content()), tag("footer", *footer), cls="wrap"
        )
        return _all([skip, wrap, self.gallery()])

    def content(self) -> Markup:
        """All blocks of the document."""
        return _all(
            self.blocks(list(some), short=short)
            for short, some in groupby(self.document.blocks, lambda block: getattr(block, "short", False))
        )

    def blocks(self, blocks: Sequence[doc.Block], *, short: bool = False) -> Markup:
        """The blocks one below the other; short sections share the width."""
        shown = _all([self.block(block) for block in blocks])
        return tag("div", shown, cls="pair") if short and len(blocks) > 1 else shown

    def block(self, block: doc.Block) -> Markup:
        """One block; "" when nothing would stand in it."""
        return self.ways[type(block)](block) if doc.has_content(block) else Markup("")

    def line(self, text: str, limit: int = _LONGEST_LINE) -> str:
        """A text on one line, shortened."""
        return one_line(text, min(self.longest, LONGEST_CELL) if self.in_samples else limit)

    def anchor(self, title: str) -> str:
        """An id of this page for a title, each another."""
        slug = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")[:40] or "part"
        self.anchors[slug] = self.anchors.get(slug, 0) + 1
        return slug if self.anchors[slug] == 1 else f"{slug}-{self.anchors[slug]}"

    def once(self, anchor: str) -> str | None:
        """The id, unless another element of the page has it."""
        self.anchors[anchor] = self.anchors.get(anchor, 0) + 1
        return anchor if self.anchors[anchor] == 1 else None

    def headline(self, block: doc.Headline) -> Markup:
        """The verdict; what warns of a figure stands before it."""
        style = style_of(block.word)
        word = tag(
            "span", f"{style.sign} {self.line(block.shown or block.word)}".strip(), cls=f"badge big {style.colour}"
        )
        parts = [tag("h2", word, id="verdict"), tag("p", self.line(block.text), cls="sentence")]
        parts += [tag("div", self.items(block.warnings, cls="warned"), cls="warnings")] if block.warnings else []
        if (figure := block.figure) is not None:
            small = tag("small", figure.label.lower())
            parts.append(tag("p", self.linked(figure.value, figure.value), " ", small, cls="headline"))
            parts += [tag("p", self.gauge(figure.gauge), cls="wide")] if figure.gauge else []
            parts.append(tag("p", self.line(figure.detail), cls="muted small"))
        parts.append(self.items(block.reasons))
        left = tag("div", *parts)
        right = tag("div", *map(self.side_block, block.extra), cls="fix") if block.extra else Markup("")
        return tag("section", left, right, cls=f"card verdict {style.colour}", aria_labelledby="verdict")

    def side_block(self, block: doc.Block) -> Markup:
        """A block beside the headline, in the headline's own card."""
        if not isinstance(block, doc.Section) or not doc.has_content(block):
            return self.block(block)
        return _all([tag("h2", self.line(block.title)), *map(self.block, block.blocks)])

    def section(self, block: doc.Section) -> Markup:
        anchor = self.anchor(block.title)
        remark = [" ", tag("span", self.line(block.remark), cls="muted small light")] if block.remark else []
        title = tag("h2", self.line(block.title), *remark, id=anchor, tabindex="-1")
        shown = [doc.untitled(item, block.title) for item in block.blocks]
        return tag("section", title, *map(self.block, shown), cls="card", aria_labelledby=anchor)

    def fold(self, block: doc.Fold) -> Markup:
        title = tag("summary", self.line(block.title), cls="small")
        outside, self.in_fold = self.in_fold, True
        shown = [self.block(item) for item in block.blocks]
        self.in_fold = outside
        return tag("details", title, *shown, cls="code", open=block.open)

    def facts(self, block: doc.Facts) -> Markup:
        rows = [
            tag("dt", self.line(label)) + tag("dd", self.linked(value, self.line(value)), cls="any")
            for label, value in block.rows
        ]
        return tag("dl", *rows, cls="figures")

    def bullets(self, block: doc.Bullets) -> Markup:
        return self.items(block.items, "ol" if block.numbered else "ul", "plain")

    def items(self, items: Sequence[doc.Bullet], name: str = "ul", cls: str = "reasons") -> Markup:
        """A list; what is to be noted is strong, a warning has a mark."""
        if not items:
            return Markup("")
        return tag(name, *(tag("li", *self.item(item)) for item in items), cls=cls, data_find=self.in_samples)

    def item(self, item: doc.Bullet) -> Iterator[object]:
        if item.label:
            yield tag("span", f"{item.label} ", cls="muted")
        text = self.line(item.text, 1_000)
        if item.tone is doc.Tone.WARNING:
            yield tag("strong", f"⚠ {text}")
        else:
            yield self.linked(item.text, tag("strong", text) if item.tone is doc.Tone.STRONG else text)

    def table(self, block: doc.Table) -> Markup:
        """The table, so many rows of it, with what is said below it."""
        table = block.sound
        if table is None:
            return Markup("")
        most = self.most_rows()
        head = [
            tag("th", self.line(column.title.replace("\n", " ")), scope="col", cls=_heading(column, at))
            for at, column in enumerate(table.columns)
        ]
        body = [self.row(table, row) for row in table.rows[:most]]
        grid = tag("table", tag("thead", tag("tr", *head)), tag("tbody", *body, data_find=self.in_samples), cls="stack")
        title = tag("h3", self.line(table.title)) if table.title else Markup("")
        return _all([title, tag("div", grid, cls="scroll"), *self.below(table, most)])

    def most_rows(self) -> int:
        """How many rows of a table are shown here."""
        if self.in_samples:
            return MOST_FINDINGS if self.roomy else FEW_FINDINGS
        return FEW_ROWS if self.in_fold and not self.roomy else MOST_ROWS

    def row(self, table: doc.Table, row: tuple[doc.Cell, ...]) -> Markup:
        first, *others = row
        cells = [tag("th", self.cell(first, table.columns[0]), scope="row")]
        for cell, column in zip(others, table.columns[1:], strict=True):
            cells.append(tag("td", self.cell(cell, column), data_title=one_line(column.title, 60), cls=_class(column)))
        return tag("tr", *cells)

    def cell(self, cell: doc.Cell, column: doc.Column) -> Markup:
        """What stands in a cell: a verdict as a badge, a figure's place as a drawing, further lines below the first."""
        if isinstance(cell, doc.Gauge):
            return self.gauge(cell) if column.kind is doc.Kind.GAUGE else _bar(cell)
        if isinstance(cell, doc.Link):
            return (
                tag("a", breakable(self.line(cell.text)), href=cell.anchor if cell.away else f"#{cell.anchor}")
                if cell.anchor
                else breakable(self.line(cell.text))
            )
        if column.kind is doc.Kind.VERDICT and cell in STYLES:
            return badge(cell)
        first, *others = cell.split("\n")
        below = [tag("span", breakable(self.line(part)), cls="muted small below") for part in others]
        return self.linked(cell, _all([breakable(self.line(first)), *(part for item in below for part in (" ", item))]))

    def linked(self, text: str, shown: object) -> Markup:
        """What is shown of a text, as a link to the samples behind it where there is one."""
        if self.address is None or not isinstance(text, doc.LinkedText):
            return _harmless(shown)
        return tag("a", shown, href=self.address(text.selection), cls="behind")

    def below(self, table: doc.Table, most: int) -> Iterator[Markup]:
        note, conclusion, signature = table.below(most, self.signatures)
        if note:
            yield tag("p", self.line(note), cls="muted small any")
        if conclusion:
            yield tag("p", tag("strong", self.line(conclusion)), cls="any")
        if signature:
            yield tag("p", self.line(signature), cls="muted small any")

    def gauge(self, gauge: doc.Gauge) -> Markup:
        """A line with the figure as a dot, its interval and the mark to compare it with."""
        value, low, high, mark = map(_place, (gauge.value, gauge.low, gauge.high, gauge.mark))
        lines = ['<line class="track" x1="6" x2="194" y1="8" y2="8"/>']
        lines += [] if mark is None else [f'<line class="mark" x1="{mark}" x2="{mark}" y1="1" y2="15"/>']
        if low is not None and high is not None:
            lines += [f'<line class="range" x1="{low}" x2="{high}" y1="8" y2="8"/>']
            lines += [f'<line class="range" x1="{at}" x2="{at}" y1="4" y2="12"/>' for at in (low, high)]
        lines += [] if value is None else [f'<line class="dot" x1="{value}" x2="{value}" y1="8" y2="8"/>']
        drawn = Markup("".join(lines))  # noqa: S704 - numbers of ours alone
        return tag(
            "svg",
            drawn,
            cls="whisker",
            viewBox="0 0 200 16",
            preserveAspectRatio="none",
            role="img",
            aria_label=gauge.label,
        )

    def small_tables(self, block: doc.SmallTables) -> Markup:
        tables = tag("div", *map(self.small, block.tables), cls="smalls")
        return tables + (tag("p", self.line(block.note), cls="muted small") if block.note else Markup(""))

    def small(self, table: doc.Table) -> Markup:
        """A table of counts: the more, the darker; where row and column are the same is outlined."""
        counts = [int(str(cell).replace(",", "")) for row in table.rows for cell in row[1:-1] if cell != "."]
        head = [tag("th", column.title, scope="col", cls="number") for column in table.columns]
        body = []
        for name, *cells, total in table.rows:
            titles = [column.title for column in table.columns[1:-1]]
            shades = [
                f"number {_shade(str(cell), counts)}{' same' if title == str(name) else ''}"
                for cell, title in zip(cells, titles, strict=True)
            ]
            row = [tag("td", str(cell), cls=cls) for cell, cls in zip(cells, shades, strict=True)]
            body.append(
                tag(
                    "tr",
                    tag("th", str(name), scope="row", cls="number"),
                    *row,
                    tag("td", str(total), cls="number muted"),
                )
            )
        caption = tag("caption", self.line(table.title))
        return tag("table", caption, tag("thead", tag("tr", *head)), tag("tbody", *body), cls="counts")

    def quote(self, block: doc.Quote) -> Markup:
        text = shortened(block.text, self.longest)
        return tag("div", tag("h3", self.line(block.title)), tag("pre", text, data_find=block.searched), cls="quote")

    def drawing(self, block: doc.Drawing) -> Markup:
        caption = tag("figcaption", self.line(block.caption), cls="muted small")
        return tag("figure", Markup(block.svg), caption, cls="chart")  # noqa: S704 - drawn by ourselves, its texts escaped

    def chart(self, chart: Chart) -> Markup:
        """The chart as a drawing; once how to get charts where nothing can draw."""
        if can_draw():
            svg, height = _drawn(chart)
            summary = tag("summary", f"Chart: {one_line(chart.title, 100)}", cls="small")
            return tag("details", summary, tag("figure", svg, cls="drawn-chart"), cls="code", open=height <= _TALL)
        if self.hinted:
            return Markup("")
        self.hinted = True
        return tag("p", "Drawing charts needs the extra steelyard[charts].", cls="muted small")

    def picture(self, block: doc.Picture) -> Markup:
        caption = tag("figcaption", one_line(block.name, 200), cls="muted small any")
        legend = tag("ul", *map(self.legend, block.legend), cls="legend") if block.legend else Markup("")
        if block.problem:
            absent = tag("p", one_line(block.problem, 400), cls="muted any absent")
            return tag("figure", absent, caption, cls="photo") + legend
        size = max(max(block.width, block.height) // _LABELS_A_SIDE, 1)
        paths = "".join(outline.path for outline in block.outlines)
        if address := self.picture_addresses.get(block.name):
            parts = [tag("image", href=address, width=block.width, height=block.height)]
        else:
            self.pictures.setdefault(block.name, block)
            parts = [tag("use", href=f"#picture-{list(self.pictures).index(block.name)}")]
        parts += [tag("path", cls=cls, d=paths) for cls in ("rim", "halo")] if paths else []
        parts += [
            tag("path", tag("title", outline.title), cls=f"outline {outline.style}", d=outline.path)
            for outline in block.outlines
        ]
        labels = [
            tag("text", outline.number, x=round(outline.x + size / 4, 1), y=round(outline.y + size, 1))
            for outline in block.outlines
            if outline.number
        ]
        parts += [tag("g", *labels, cls="labels", font_size=size)] if labels else []
        label = f"{one_line(block.name, 200)}: {counted(len(block.outlines), 'outline')}"
        box = f"0 0 {block.width} {block.height}"
        svg = tag(
            "svg", *parts, cls="picture", preserveAspectRatio="xMinYMin meet", viewBox=box, role="img", aria_label=label
        )
        return tag("figure", svg, caption, cls="photo") + legend

    def legend(self, line: doc.LegendLine) -> Markup:
        name = [" ", tag("span", self.line(line.name), cls="muted")] if line.name else []
        elsewhere = f" ({line.n_elsewhere} without a box)" if line.n_elsewhere else ""
        return tag("li", swatch(line.style), " ", self.line(line.code), *name, f" {line.count}{elsewhere}")

    def gallery(self) -> Markup:
        """Every picture once; where it is shown it is only named."""
        if not self.pictures:
            return Markup("")
        images = [
            tag(
                "image",
                id=f"picture-{at}",
                width=item.width,
                height=item.height,
                href=f"data:image/jpeg;base64,{item.data}",
            )
            for at, item in enumerate(self.pictures.values())
        ]
        defs = tag("defs", *images)
        return tag("svg", defs, cls="gallery", width=0, height=0, aria_hidden="true", focusable="false")

    def samples(self, block: doc.SampleList) -> Markup:
        """The list, with what filters and orders it."""
        title = tag("h2", "Samples", id="samples", tabindex="-1")
        card = {"cls": "card samples", "aria_labelledby": "samples"}
        if not block.items:
            return tag("section", title, tag("p", "This run has no samples.", cls="muted"), **card)
        listed = sum(sample.n for sample in block.items)
        missing = block.total - listed
        text = f"{listed:,} of {block.total:,} samples are shown, the worst first; {missing:,} are not shown."
        note = tag("p", tag("strong", text)) if missing > 0 else Markup("")
        self.in_samples = True
        items = [self.sample(sample) for sample in block.items]
        self.in_samples = False
        what = "samples" if all(not sample.repeats for sample in block.items) else "cases"
        shown = tag("p", cls="muted small", id="shown", role="status")
        listing = tag("div", *items, id="list", data_what=what)
        return tag("section", title, note, _controls(block), shown, listing, **card)

    def sample(self, sample: doc.SampleBlock) -> Markup:
        summary = [
            tag("span", badge(sample.status), cls="state"),
            tag("span", self.line(sample.name), cls="name", data_find=True),
            tag("span", sample.score, cls="score"),
            tag("span", self.line(sample.group), cls="group", data_find=True),
            tag("span", one_line(sample.why, 160), cls="why", data_find=True),
        ]
        statuses = dict.fromkeys([sample.status, *(repeat.status for repeat in sample.repeats)])
        body = tag("div", *self.repeats(sample), cls="body")
        return tag(
            "details",
            tag("summary", *summary),
            body,
            cls="sample",
            id=self.once(sample.anchor),
            data_status=" ".join(statuses),
            data_category=sample.category,
            data_rank=sample.rank,
            data_codes=" ".join("_".join(code.split()) for code in sample.codes),
            data_score="" if sample.score_value is None else round(sample.score_value, 6),
            data_latency="" if sample.latency is None else round(sample.latency, 4),
            data_name=one_line(sample.name, 200),
        )

    def repeats(self, sample: doc.SampleBlock) -> Iterator[Markup]:
        """The blocks of a sample; of a case with several repeats each behind its own title, the worst of them open."""
        yield from self.body_of(sample.blocks)
        worst = min(
            sample.repeats,
            key=lambda item: (item.rank, -1.0 if item.score_value is None else item.score_value),
            default=None,
        )
        for repeat in sample.repeats:
            why = tag("span", one_line(repeat.why, 160), cls="muted")
            title = tag("summary", badge(repeat.status), f" {self.line(repeat.name)} {repeat.score} ", why, cls="small")
            settings = {"cls": "code repeat", "id": self.once(repeat.anchor), "open": repeat is worst}
            yield tag("details", title, *self.body_of(repeat.blocks), **settings)

    def body_of(self, blocks: Sequence[doc.Block]) -> Iterator[Markup]:
        """Pictures with what follows them beside, quotations side by side, all else below each other."""
        pictures = [block for block in blocks if isinstance(block, doc.Picture)]
        first = next((at for at, block in enumerate(blocks) if isinstance(block, doc.Picture)), 0)
        if pictures:
            yield from self.body_of(blocks[:first])
            extra, *blocks = blocks[first + len(pictures) :]
            yield tag("div", tag("div", *map(self.block, pictures)), tag("div", self.block(extra)), cls="seen")
        for quoted, some in groupby(blocks, lambda block: isinstance(block, doc.Quote)):
            shown = [self.block(block) for block in some]
            yield tag("div", *shown, cls="texts") if quoted else _all(shown)


def badge(word: str) -> Markup:
    """A verdict or an outcome in its colour, with its sign."""
    style = style_of(word)
    return tag("span", f"{style.sign} {word}".strip(), cls=f"badge {style.colour}")


def swatch(style: str) -> Markup:
    """A short line in the look of an outline."""
    paths = [tag("path", cls=cls, d="M3 7H37") for cls in ("rim", "halo", f"outline {style}")]
    return tag("svg", *paths, cls="swatch", viewBox="0 0 40 14", aria_hidden="true")


def _bar(gauge: doc.Gauge) -> Markup:
    track = tag("rect", cls="track", width=100, height=8)
    fill = tag("rect", cls="fill", width=round(100 * min(max(gauge.value or 0.0, 0.0), 1.0), 1), height=8)
    return tag("svg", track, fill, cls="bar", viewBox="0 0 100 8", preserveAspectRatio="none", aria_hidden="true")


def _place(share: float | None) -> float | None:
    return None if share is None else round(6 + 188 * min(max(share, 0.0), 1.0), 1)


def _class(column: doc.Column) -> str | None:
    if column.kind in _TEXT:
        return None
    return {doc.Kind.GAUGE: "pic", doc.Kind.BAR: "drawn", doc.Kind.VERDICT: "keep"}.get(column.kind, "number")


def _heading(column: doc.Column, at: int) -> str | None:
    return None if at == 0 or column.kind in (*_TEXT, doc.Kind.VERDICT) else _class(column)


def _shade(cell: str, counts: Sequence[int]) -> str:
    return "" if cell == "." or not counts else f"h{max(1, round(_SHADES * int(cell.replace(',', '')) / max(counts)))}"


def _controls(block: doc.SampleList) -> Markup:
    every = [item for sample in block.items for item in (sample, *sample.repeats)]
    statuses = list(dict.fromkeys(item.status for item in every))
    categories = sorted({sample.category for sample in block.items if sample.category})
    codes = list(dict.fromkeys("_".join(code.split()) for sample in block.items for code in sample.codes))
    orders = {"worst": "worst first", "best": "best first", "slowest": "slowest first", "name": "by name"}
    fields = [_select("Outcome", "status", {"": "all"} | {status: status for status in statuses})]
    if categories:
        fields.append(_select("Category", "category", {"": "all"} | {category: category for category in categories}))
    if codes:
        fields.append(_select("Found", "code", {"": "anything"} | {code: code for code in codes}))
    fields.append(_select("Order", "order", orders))
    find = Markup('<input id="find" type="search" placeholder="case, answer, finding" autocomplete="off">')
    fields.append(tag("label", "Find", find, cls="find"))
    fields.append(tag("button", "Open or close all", type="button", id="expand"))
    return tag("div", *fields, cls="controls", id="controls", hidden=True)


def _select(label: str, name: str, options: dict[str, str]) -> Markup:
    shown = [tag("option", one_line(text, 60), value=value) for value, text in options.items()]
    return tag("label", label, tag("select", *shown, id=name))


def _drawn(chart: Chart) -> tuple[Markup, float]:
    """The chart rebuilt from known elements alone, and how tall it is."""
    root = ElementTree.fromstring(to_svg(chart))  # noqa: S314 - what a library of ours has just drawn
    ids = [outcome for element in root.iter() if (outcome := element.get("id"))]
    own_ids = {result: f"{chart.name}-{number}" for number, result in enumerate(ids, 1)}
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
        _keep_plain(element, own_ids)
    for element in root.iter():
        for child in [child for child in element if child.tag not in _AVAILABLE]:
            element.remove(child)
    root.set("role", "img")
    root.set("aria-label", chart.about)
    # Rebuilt from elements, so that every text in it is escaped.
    return Markup(ElementTree.tostring(root, encoding="unicode")), float(root.get("height", "0"))  # noqa: S704


def _keep_plain(element: ElementTree.Element, own_ids: dict[str, str]) -> None:
    """Leave out whatever could lead out of the page, and make ids the chart's own.

    The library counts ids over all that it ever drew: the same chart would be another page every time.
    """
    for name, value in list(element.attrib.items()):
        if name.startswith(("{", "on", "aria", "role")) or name in ("href", "style", "class"):
            del element.attrib[name]
        elif name == "id":
            element.set(name, own_ids[value])
        elif value.startswith("url(#") and value[5:-1] in own_ids:
            element.set(name, f"url(#{own_ids[value[5:-1]]})")
