"""A report as a list of blocks: plain data that every renderer lays out and that knows nothing of any renderer.

A feature has one module that returns blocks. Texts in blocks are not escaped and may be foreign: a renderer makes them
harmless. Figures in them are formatted already (`report/format.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from enum import Enum, StrEnum
from typing import Any, TypeVar

from steelyard.frozen import frozen
from steelyard.report import format as fmt
from steelyard.report.charts.base import Chart
from steelyard.store.selection import Selection

NOTHING = ("", "n/a")
"""Cells without content."""


class Kind(Enum):
    """What stands in a column: foreign text may be long and is broken, a figure is short and never broken."""

    TEXT = "text"
    FIGURE = "figure"
    STACKED = "stacked"
    """Short figures with a line end between them, one below the other where there is little room."""
    LINES = "lines"
    """Text of several lines."""
    VERDICT = "verdict"
    """A word of `verdicts.STYLES`, shown in its colour with its sign."""
    GAUGE = "gauge"
    """A `Gauge`: drawn on a page, left out elsewhere."""
    BAR = "bar"
    """A `Gauge` of which only the value is drawn, in a terminal too."""


class Tone(StrEnum):
    """How loudly something is said."""

    PLAIN = "plain"
    STRONG = "strong"
    MUTED = "muted"
    WARNING = "warning"


@frozen
class Column:
    """A heading with the kind of what stands under it; where room is short it may stand below the column before.

    An `optional` one is left out where there is none even then.
    """

    title: str
    kind: Kind = Kind.FIGURE
    below: bool = False
    optional: bool = False


@frozen
class Gauge:
    """Where a figure and its interval lie between 0 and 1; `mark` is a threshold to see it beside."""

    value: float | None
    low: float | None = None
    high: float | None = None
    mark: float | None = None
    label: str = ""

    def __str__(self) -> str:
        return ""


@frozen
class Link:
    """A text that leads to a sample of the same document, or `away` to a page of ours beside it."""

    text: str
    anchor: str
    away: bool = False

    def __str__(self) -> str:
        return self.text


class LinkedText(str):
    """Text with the samples that it is about: a page of the web app links to them, all else shows the text."""

    __slots__ = ("selection",)
    selection: Selection

    def __new__(cls, text: str, selection: Selection) -> LinkedText:
        made = super().__new__(cls, text)
        made.selection = selection
        return made


Cell = str | Gauge | Link


@frozen
class Table:
    """A titled table, the rows to look at first above the others: a renderer without room leaves off the last.

    `note` says how to read it, `conclusion` what follows from it, `signature` by which method and seed its intervals
    and p-values were made. `total` is how many rows there would be, where not all are at hand.
    """

    title: str
    columns: tuple[Column, ...]
    rows: Sequence[tuple[Cell, ...]]
    note: str = ""
    conclusion: str = ""
    signature: str = ""
    total: int | None = None
    most: int = 20
    """Rows that a terminal shows."""

    def left_off(self, shown: int) -> int:
        """How many rows are not shown when `shown` are."""
        return max(self.total or 0, len(self.rows)) - min(shown, len(self.rows))

    def only(self, keep: Sequence[int]) -> Table:
        """The table with these columns alone."""
        return replace(
            self,
            columns=tuple(self.columns[at] for at in keep),
            rows=[tuple(row[at] for at in keep) for row in self.rows],
        )

    def turned(self, corner: str) -> Table:
        """The table with a row for each of its columns, and a column for each of its rows."""
        heads = (Column(str(row[0]), self.columns[-1].kind) for row in self.rows)
        rows = [(column.title, *(row[at] for row in self.rows)) for at, column in enumerate(self.columns) if at]
        return replace(self, columns=(words(corner), *heads), rows=rows)

    @property
    def sound(self) -> Table | None:
        """The table without columns in which nothing stands; None when no row or no figure is left."""
        if not self.rows:
            return None
        drawn = [at for at, column in enumerate(self.columns) if column.kind in (Kind.GAUGE, Kind.BAR)]
        filled = [at for at in range(len(self.columns)) if any(_says(row[at]) for row in self.rows)]
        figures = [at for at in filled if any(_says(row[at]) and row[at] != fmt.UNDEFINED for row in self.rows)]
        if not any(at and self.columns[at].title != "n" for at in figures):
            return self if len(self.columns) == 1 else None
        keep = [at for at in range(len(self.columns)) if at == 0 or at in filled or at in drawn]
        return self if len(keep) == len(self.columns) else self.only(keep)

    def below(self, shown: int, signatures: set[str]) -> tuple[str, str, str]:
        """Note with how many rows are not shown, conclusion, and the signature unless it is among those that stand
        above already."""
        left_off = self.left_off(shown)
        note = "; ".join(filter(None, [self.note, f"{left_off:,} more not shown" if left_off else ""]))
        signature = "" if self.signature in signatures else self.signature
        signatures.add(signature)
        return note, self.conclusion, signature


def _says(cell: Cell) -> bool:
    return cell.value is not None if isinstance(cell, Gauge) else str(cell) not in NOTHING


VERDICT = Column("Verdict", Kind.VERDICT)
NO_TABLE = Table("", (), [])
T = TypeVar("T")
Written = tuple[str | Column, Callable[[T], Cell]]
"""A column of a table: its heading, and what stands under it for an item."""


def table(
    title: str,
    items: Iterable[T],
    *columns: Written[T],
    selection: Callable[[T], Selection | None] = lambda _: None,
    **settings: Any,
) -> Table:
    """A table with a row for each item: `table("Bands", bands, ("Band", name_of), ("Samples", count_of))`.

    A heading that says no kind is one of text in the first column, of figures in all others. `selection` says which
    samples an item's figures come from.
    """
    headings = [
        head if isinstance(head, Column) else Column(head, Kind.FIGURE if at else Kind.TEXT)
        for at, (head, _) in enumerate(columns)
    ]
    rows = []
    for item in items:
        cells = [cell(item) for _, cell in columns]
        if (samples := selection(item)) is not None:
            cells = [_linked(cell, head, samples) for cell, head in zip(cells, headings, strict=True)]
        rows.append(tuple(cells))
    return Table(title, tuple(headings), rows, **settings)


def _linked(cell: Cell, column: Column, samples: Selection) -> Cell:
    if not isinstance(cell, str) or isinstance(cell, LinkedText) or cell in NOTHING:
        return cell
    return LinkedText(cell, samples) if column.kind in (Kind.FIGURE, Kind.STACKED) else cell


def inside(of: Callable[[Any], T], column: Written[T]) -> Written[Any]:
    """The column of what stands inside an item."""
    head, cell = column
    return head, lambda item: cell(of(item))


def words(title: str, **settings: Any) -> Column:
    """The heading of a column of text."""
    return Column(title, Kind.TEXT, **settings)


@frozen
class Text:
    """A sentence or a paragraph."""

    text: str
    tone: Tone = Tone.PLAIN


@frozen
class Facts:
    """Labels with what stands beside them."""

    rows: Sequence[tuple[str, str]]


@frozen
class Bullet:
    """One item of a list; `label` stands before it."""

    text: str
    tone: Tone = Tone.PLAIN
    label: str = ""


@frozen
class Bullets:
    """A list of sentences; `numbered` where their order says which comes first."""

    items: Sequence[Bullet]
    numbered: bool = False


def bullets(texts: Iterable[str], tone: Tone = Tone.PLAIN) -> Bullets:
    """A list of sentences of one tone."""
    return Bullets([Bullet(text, tone) for text in texts])


@frozen
class HeadlineFigure:
    """The figure that a headline shows large: `Pass rate` `62.5 %` `(score >= 75 %) [47.0, 75.8] n 40`."""

    label: str
    value: str
    detail: str
    gauge: Gauge | None = None


@frozen
class Headline:
    """The answer of a report: a verdict's word, what it means, the main figure and the reasons.

    `word` is one of `verdicts.STYLES`, `shown` what the badge says where that is more. `beside` stands to the right
    of it on a page.
    """

    word: str
    text: str
    shown: str = ""
    figure: HeadlineFigure | None = None
    remarks: Sequence[Bullet] = ()
    extra: Sequence[Block] = ()

    @property
    def warnings(self) -> list[Bullet]:
        """The remarks that warn of the figure: they stand before it."""
        return [item for item in self.remarks if item.tone is Tone.WARNING]

    @property
    def reasons(self) -> list[Bullet]:
        """All other remarks, which stand after the figure."""
        return [item for item in self.remarks if item.tone is not Tone.WARNING]


@frozen
class Section:
    """Blocks under a title. A `main` one is open in a comment on a change, in which all others are folded.

    `remark` stands in smaller type after the title; `short` of a page's section says that it may share a line.
    """

    title: str
    blocks: Sequence[Block]
    main: bool = False
    remark: str = ""
    short: bool = False


@frozen
class Fold:
    """Blocks behind a title that opens them; `bulky` ones are on pages alone, a terminal prints the others open."""

    title: str
    blocks: Sequence[Block]
    open: bool = False
    bulky: bool = True


@frozen
class Quote:
    """Foreign text as it came, under a title; `searched` says whether the search of a page looks into it."""

    title: str
    text: str
    searched: bool = True


@frozen
class Drawing:
    """A picture that is drawn already, as an SVG element of known parts, with its caption."""

    svg: str
    caption: str


@frozen
class Outline:
    """A box on a picture in the picture's pixels; `number` is the finding's place in the list below."""

    path: str
    style: str
    title: str
    number: int | None = None
    x: float = 0.0
    y: float = 0.0


@frozen
class LegendLine:
    """One kind of outline on a picture, and how many of them there are; `n_elsewhere` have no place on it."""

    style: str
    code: str
    name: str
    count: int
    n_elsewhere: int = 0


@frozen
class Picture:
    """A picture with its outlines, or the problem that keeps it away; `data` is a JPEG in base64."""

    name: str
    width: int = 0
    height: int = 0
    data: str = ""
    problem: str = ""
    outlines: Sequence[Outline] = ()
    legend: Sequence[LegendLine] = ()


@frozen
class SmallTables:
    """Tables of counts, one beside the other: the first column and the heading are the same scale."""

    tables: Sequence[Table]
    note: str = ""


@frozen
class SampleBlock:
    """One sample, or a case with all its repeats, as a list shows it; `blocks` are what it opens to."""

    anchor: str
    name: str
    status: str
    """A word of `verdicts.STYLES`."""
    score: str
    why: str
    blocks: Sequence[Block] = ()
    repeats: Sequence[SampleBlock] = ()
    group: str = ""
    category: str = ""
    codes: Sequence[str] = ()
    rank: int = 0
    """Where it stands among the worst: 0 first."""
    score_value: float | None = None
    latency: float | None = None
    pictured: bool = False
    n: int = 1
    """How many samples it stands for."""


@frozen
class SampleList:
    """The samples of a run, the worst first; `total` is how many the run has."""

    items: Sequence[SampleBlock]
    total: int


Block = (
    Bullets
    | Chart
    | Drawing
    | Facts
    | Fold
    | Headline
    | Picture
    | Quote
    | SampleList
    | Section
    | SmallTables
    | Table
    | Text
)


@frozen
class Document:
    """A report. `title` is what it is about, `context` stands below it, `footer` at the end, most quietly of all.

    `last` are the lines that a reader of a terminal must see, below everything else.
    """

    title: str
    blocks: Sequence[Block]
    context: Sequence[str] = ()
    footer: Sequence[str] = ()
    last: Sequence[str] = ()

    @property
    def headline(self) -> Headline | None:
        """The answer, where the document has one."""
        return next((block for block in self.blocks if isinstance(block, Headline)), None)


def section(title: str, *blocks: Block, **settings: Any) -> list[Section]:
    """A section, unless nothing would stand in it."""
    shown = [block for block in blocks if has_content(block)]
    return [Section(title, shown, **settings)] if shown else []


def table_section(table: Table, **settings: Any) -> list[Section]:
    """A table as a section of its own; nothing when it says nothing."""
    return section(table.title, table, **settings)


def untitled(block: Block, title: str) -> Block:
    """The block as it stands under a title: a table of the same title does not say it again."""
    return replace(block, title="") if isinstance(block, Table) and block.title == title else block


def has_content(block: Block) -> bool:
    """Whether anything would be shown of a block."""
    if isinstance(block, Table):
        return block.sound is not None
    if isinstance(block, Facts):
        return bool(block.rows)
    if isinstance(block, Bullets):
        return bool(block.items)
    if isinstance(block, Section | Fold):
        return any(has_content(item) for item in block.blocks)
    if isinstance(block, SmallTables):
        return bool(block.tables)
    if isinstance(block, Text):
        return bool(block.text)
    return True


def every_block(blocks: Iterable[Block]) -> Iterator[Block]:
    """The blocks and all that stand in them."""
    for block in blocks:
        yield block
        if isinstance(block, Section | Fold):
            yield from every_block(block.blocks)
        elif isinstance(block, Headline):
            yield from every_block(block.extra)
        elif isinstance(block, SampleList):
            for sample in block.items:
                for item in (sample, *sample.repeats):
                    yield from every_block(item.blocks)
