"""Every renderer on every kind of block: nothing foreign is obeyed, rendered or lost, and what has no room is said."""

from __future__ import annotations

import io
import json
import re
from collections import Counter
from dataclasses import dataclass, field, fields, is_dataclass, replace
from enum import StrEnum
from html.parser import HTMLParser

import pytest
from pydantic import BaseModel
from rich.console import Console

from steelyard.report.charts.base import chart
from steelyard.report.charts.drawing import can_draw
from steelyard.report.document import (
    Bullet,
    Bullets,
    Column,
    Document,
    Drawing,
    Facts,
    Fold,
    Gauge,
    Headline,
    HeadlineFigure,
    Kind,
    LegendLine,
    Link,
    Outline,
    Picture,
    Quote,
    SampleBlock,
    SampleList,
    Section,
    SmallTables,
    Table,
    Text,
    Tone,
    section,
)
from steelyard.report.render.html import to_html
from steelyard.report.render.json import FLAT, HIDDEN, encode, to_text
from steelyard.report.render.markdown import to_markdown
from steelyard.report.render.terminal import at_dots, print_document

EVIL = "<script>alert(1)</script> [bold]x[/] \x1b[2J\u202e | `code` @team #777 ![i](http://e.org) ::error::x ##[x]"
NAMED = Column("Case", Kind.TEXT)


def printed(document, width=80, encoding="utf-8", **settings):
    raw = io.BytesIO()
    file = io.TextIOWrapper(raw, encoding=encoding)
    print_document(document, Console(file=file, width=width, **settings))
    file.flush()
    return raw.getvalue().decode(encoding)


def table(**changes):
    columns = (NAMED, Column("Score"), Column("n"), Column("Verdict", Kind.VERDICT))
    rows = [("c-1", "85.4 %", "50", "PASS"), ("c-2", "n/a", "0", "FAIL")]
    return Table(**{"title": "Cases", "columns": columns, "rows": rows} | changes)


def everything(text="words"):
    """A document of every kind of block, with the text in every place that takes one."""
    outline = Outline("M1 1H5V5H1Z", "c0 d0", text, 1, 1.0, 1.0)
    photo = Picture(text, 10, 20, "AAAA", outlines=[outline], legend=[LegendLine("c0 d0", text, text, 1, 1)])
    counts = Table(text, (Column("best"), Column("1"), Column("2"), Column("n")), [("1", "3", ".", "3")])
    sample = SampleBlock(
        "sample-1",
        text,
        "failed",
        "12.0 %",
        text,
        [
            Text(text, Tone.MUTED),
            Quote("Input", text),
            Quote("Answer", text, searched=False),
            photo,
            Table("Findings", (NAMED, Column("Got", Kind.TEXT)), [(text, text)]),
        ],
        group=text,
        category=text,
        codes=[text],
    )
    case = SampleBlock(
        "sample-2",
        "both",
        "passed",
        "100.0 %",
        "",
        repeats=[SampleBlock("sample-2-1", "#1", "passed", "100.0 %", text, [Quote("Answer", text)])],
        n=1,
    )
    wide = Table(
        text,
        (
            NAMED,
            Column("Where", Kind.LINES),
            Column("Range", Kind.GAUGE),
            Column("Share", Kind.BAR),
            Column("Both", Kind.STACKED),
            Column("Verdict", Kind.VERDICT),
        ),
        [(Link(text, "sample-1"), f"{text}\nmore", Gauge(0.5, 0.4, 0.6, 0.55, text), Gauge(0.25), "1\n2", "INVALID")],
        note=text,
        conclusion=text,
        signature=text,
    )
    blocks = [
        Headline(
            "FAIL",
            text,
            figure=HeadlineFigure("Pass rate", "62.5 %", text, Gauge(0.6, label=text)),
            remarks=[Bullet(text), Bullet(text, Tone.WARNING)],
            extra=[Bullets([Bullet(text)], numbered=True)],
        ),
        Section(text, [Facts([(text, text)]), Text(text), Drawing("<svg></svg>", text)], main=True, remark=text),
        Section("Small", [SmallTables([counts], text)], short=True),
        Section("Table", [wide], short=True),
        Section("Folds", [Fold(text, [Text(text)], bulky=False), Fold(text, [Text(text)])]),
        Section("Chart", [chart("c", "Title", "sub", text, data={"values": []}, mark="bar", encoding={})]),
        SampleList([sample, case], 5),
        Bullets([Bullet(text, label="Why")]),
    ]
    return Document(text, blocks, [text], [text], ["FAIL: done"])


class Elements(HTMLParser):
    """The elements and attributes of a page."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.attributes, self.text = [], [], ""
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data):
        self.text += data


def apart(value, place, places):
    """The same with another word in every place that holds "words"; `places` gets where each of them stands."""
    if value == "words":
        places.append(place)
        return f"word{len(places)}."
    if isinstance(value, (list, tuple)):
        return type(value)(apart(each, place, places) for each in value)
    if is_dataclass(value):
        kind = "SampleList" if place == "SampleList" else type(value).__name__
        names = [each.name for each in fields(value) if each.init]
        found = {
            name: apart(getattr(value, name), kind if kind == "SampleList" else f"{kind}.{name}", places)
            for name in names
        }
        return replace(value, **found)
    return value


# A bulky fold has a title and a text.
ONLY_ON_A_PAGE = {"Gauge.label": 2, "Drawing.caption": 1, "Chart.about": 1, "Fold.title": 1, "Text.text": 1}


@pytest.mark.parametrize(
    ("render", "left_out"),
    [
        (lambda d: printed(d, 200), ONLY_ON_A_PAGE | {"SampleList": 16}),
        # Of the sample that did not pass it has the name, why, the input and the answer.
        (to_markdown, ONLY_ON_A_PAGE | {"SampleList": 12}),
        (to_html, {} if can_draw() else {"Chart.about": 1}),
    ],
)
def test_every_place_of_every_block_is_shown_but_for_what_only_a_page_can_show(render, left_out):
    places = []
    out = render(apart(everything(), "", places))
    assert len(places) == 45
    assert Counter(place for number, place in enumerate(places, 1) if f"word{number}." not in out) == left_out


def test_a_terminal_obeys_nothing_foreign_and_stays_within_its_width():
    out = printed(everything(EVIL))
    assert "\x1b" not in out
    assert "\u202e" not in out
    assert "\\x1b[2J\\u202e" in "".join(out.split())
    assert "[bold]x[/]" in out
    assert max(map(len, out.splitlines())) <= 80


def test_a_terminal_that_knows_ascii_alone_gets_ascii():
    assert "M\\xf6bel" in printed(everything("Möbel"), encoding="ascii")


def test_a_terminal_prints_no_escape_without_colour_and_a_verdict_in_its_colour():
    assert "\x1b" not in printed(everything())
    coloured = printed(
        Document("t", [table()], last=["FAIL: exit code 1"]), force_terminal=True, color_system="standard"
    )
    assert "\x1b[1;32mPASS" in coloured
    assert coloured.count("\x1b[1;31mFAIL") == 2


def test_what_only_a_page_can_show_leaves_no_trace_in_a_terminal():
    only_charts = Section("Charts", [chart("c", "Title", "sub", "x", data={"values": []})])
    assert printed(Document("t", [only_charts, Section("Folded", [Fold("f", [Text("deep")])])])).split() == ["t"]


def test_bars_are_in_proportion_and_a_little_is_not_nothing():
    rows = [("a", Gauge(0.5)), ("b", Gauge(0.001)), ("c", Gauge(0.0)), ("d", Gauge(None))]
    out = printed(
        Document("t", [Table("", (NAMED, Column("", Kind.BAR), Column("n")), [(*row, "1,000 of x") for row in rows])])
    )
    assert [line.count("█") for line in out.splitlines() if "░" in line] == [10, 1, 0, 0]


@pytest.mark.parametrize("render", [lambda d: printed(d), to_markdown, lambda d: Elements(to_html(d)).text])
def test_a_signature_stands_once(render):
    tables = [table(title=f"T{n}", signature="95 %: Wilson") for n in range(3)]
    assert render(Document("t", [Section("S", tables, main=True)])).count("95 %: Wilson") == 1


@pytest.mark.parametrize("render", [lambda d: printed(d), to_markdown, lambda d: Elements(to_html(d)).text])
def test_empty_columns_and_tables_without_a_figure_are_left_out(render):
    columns = (NAMED, Column("Score"), Column("Empty"), Column("n"))
    some = render(Document("t", [Table("Some", columns, [("a", "1", "", "3"), ("b", "n/a", "n/a", "3")])]))
    assert "Some" in some
    assert "Empty" not in some
    nothing = Table("Nothing", columns, [("a", "n/a", "", "0")])
    assert "Nothing" not in render(Document("t", [nothing, *section("Nothing", nothing)]))


@pytest.mark.parametrize(
    ("render", "shown"), [(lambda d: printed(d), 20), (to_markdown, 20), (lambda d: Elements(to_html(d)).text, 200)]
)
def test_a_long_table_says_how_much_of_it_is_not_shown(render, shown):
    rows = [(f"case-{n}.", "1") for n in range(300)]
    out = render(Document("t", [Table("Long", (NAMED, Column("x")), rows, total=1_000)]))
    assert f"case-{shown - 1}." in out
    assert f"case-{shown}." not in out
    assert f"{1_000 - shown} more not shown" in out


def stacking():
    columns = (
        NAMED,
        Column("Difference"),
        Column("95 % interval", below=True),
        Column("Name of the run", optional=True),
    )
    return Document("t", [Table("T", columns, [("chairs", "+40.0", "[+14.3, +57.9]", "20260118-abcdefgh")])])


@pytest.mark.parametrize(
    ("width", "rows"),
    [
        (80, ["Case Difference 95 % interval Name of the run", "chairs +40.0 [+14.3, +57.9] 20260118-abcdefgh"]),
        (44, ["Difference", "Case 95 % interval Name of the run", "chairs +40.0 20260118-abcdefgh", "[+14.3, +57.9]"]),
        (30, ["Difference", "Case 95 % interval", "chairs +40.0", "[+14.3, +57.9]"]),
        (22, ["chairs", "Difference +40.0;", "95 % interval", "[+14.3, +57.9]"]),
    ],
)
def test_a_table_takes_the_first_layout_that_fits(width, rows):
    lines = [" ".join(line.split()) for line in printed(stacking(), width).splitlines()]
    assert [line for line in lines if line][2:] == rows


def test_no_word_is_broken_inside_at_80_columns():
    words = "what was expected of an extraordinarily long-winded characterisation of nothing in particular"
    rows = [("case.with.dotted.names.of.some.length", words, "category.levers.pass_rate >= 90 %", words)]
    out = printed(Document("t", [Table("T", (NAMED, *(Column(name, Kind.TEXT) for name in "ABC")), rows)]))
    allowed = set(re.findall(r"[^\s.]+\.?", " ".join(rows[0])))
    for word in re.findall(r"[^\s.]+\.?", out):
        assert word in allowed | {"t", "T", "Case", "A", "B", "C"}


def test_markdown_renders_nothing_foreign():
    text = to_markdown(everything(EVIL))
    for bad in ("<script", "![", "`code`", "@team", "#777", "[bold]", "| `"):
        assert bad not in text
    assert "\x1b" not in text


def test_markdown_folds_all_but_the_main_sections_and_fits_into_a_comment():
    text = to_markdown(everything())
    assert text.startswith("### ❌ words: FAIL")
    assert text.index("words (words)") < text.index("<summary>Figures</summary>") < text.index("Small")
    long = [SampleBlock(f"s{n}", f"case {n}", "failed", "0.0 %", "", [Quote("Answer", "x" * 1_400)]) for n in range(60)]
    cut = to_markdown(Document("t", [SampleList(long, 60)]), room=20_000)
    assert len(cut) < 20_000
    assert "more of 60 are not shown here." in cut


def test_a_page_renders_nothing_foreign_and_fetches_nothing():
    page = Elements(to_html(everything(EVIL)))
    assert page.tags.count("script") == 1
    assert not [name for name, _ in page.attributes if name.startswith("on")]
    sources = [value for name, value in page.attributes if name in ("src", "href")]
    assert all(value.startswith(("#", "data:")) for value in sources)
    assert "\x1b" not in page.text
    assert "\\x1b[2J\\u202e" in page.text
    assert (
        "data-codes",
        "_".join(EVIL.replace("\x1b", "\\x1b").replace("\u202e", "\\u202e").split()),
    ) in page.attributes


def test_a_page_has_every_block_and_every_id_once():
    page = Elements(to_html(everything()))
    ids = [value for name, value in page.attributes if name == "id"]
    assert len(ids) == len(set(ids))
    for tag in ("h1", "dl", "ol", "ul", "table", "details", "figure", "pre", "select", "caption", "image"):
        assert tag in page.tags
    assert "✕ FAIL" in page.text


def test_a_gauge_lies_on_its_scale():
    # 200 units with a margin of 6 on both sides: a half is at 6 + 188 / 2 = 100, a quarter at 6 + 47 = 53.
    page = to_html(Document("t", [Table("T", (NAMED, Column("", Kind.GAUGE)), [("c", Gauge(0.5, 0.0, 1.0, 0.25))])]))
    assert '<line class="dot" x1="100.0" x2="100.0"' in page
    assert '<line class="range" x1="6.0" x2="194.0"' in page
    assert '<line class="mark" x1="53.0" x2="53.0"' in page


@pytest.mark.skipif(can_draw(), reason="charts can be drawn here")
def test_a_page_without_the_extra_says_once_how_to_get_charts():
    pictures = [chart(name, name, "sub", "x", data={"values": []}) for name in "ab"]
    assert Elements(to_html(Document("t", pictures))).text.count("steelyard[charts]") == 1


def test_texts_of_many_samples_are_cut_so_that_the_page_stays_small():
    def samples(n, length):
        return [
            SampleBlock(
                f"s{i}",
                f"c{i}",
                "failed",
                "0.0 %",
                "",
                [Quote("Answer", '"<' * (length // 2)), Quote("Input", "x" * length)],
            )
            for i in range(n)
        ]

    few = to_html(Document("t", [SampleList(samples(20, 10_000), 20)]))
    assert "characters)" not in few
    many = to_html(Document("t", [SampleList(samples(1_000, 10_000), 1_000)]))
    assert 1_000_000 < len(many.encode()) < 3_000_000
    assert "... (+9," in many


class Colour(StrEnum):
    RED = "red"


@dataclass
class Inner:
    case_id: str
    score: float


@dataclass
class Outer:
    line: Inner = field(metadata=FLAT)
    secret: str = field(metadata=HIDDEN)
    colour: Colour = Colour.RED
    odd: tuple[float, ...] = (1.0, float("nan"), float("inf"))
    by_colour: dict[Colour, int] = field(default_factory=lambda: {Colour.RED: 1})


class Model(BaseModel):
    name: str = "m"


def test_json_is_the_data_itself():
    assert encode(Outer(Inner("c", 0.5), "x")) == {
        "case_id": "c",
        "score": 0.5,
        "colour": "red",
        "odd": [1.0, None, None],
        "by_colour": {"red": 1},
    }
    assert encode([Model(), {"a": {1}}, "\ud800", b"x"]) == [{"name": "m"}, {"a": [1]}, "\\ud800", "b'x'"]


def test_printed_json_commands_neither_terminal_nor_runner_and_reads_back():
    text = to_text({"stated": EVIL})
    assert json.loads(text) == {"stated": EVIL}
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "##[" not in text
    assert not re.search(r"^\s*::", text, re.MULTILINE)


@pytest.mark.parametrize(
    ("name", "room", "shown"),
    [
        ("score.era.points", 16, "score.era.points"),
        ("score.era.points", 11, "score.era. points"),
        ("score.maker.points", 11, "score. maker. points"),
        ("band.Excellent", 11, "band. Excellent"),
        # Words of their own are broken at spaces anyway.
        ("average score", 5, "average score"),
        ("no_dots_at_all", 5, "no_dots_at_all"),
        ("...", 2, ".. ."),
        ("", 5, ""),
    ],
)
def test_a_name_without_room_is_broken_at_dots(name: str, room: int, shown: str) -> None:
    assert at_dots(name, room) == shown
