"""What a notebook shows of a report: one block with a style of its own that changes nothing else, light or dark."""

import re
import sys

from steelyard.report.charts.base import chart
from steelyard.report.document import Document, Fold, Headline, Link, SampleList, Section, table, words
from steelyard.results.notebook import html_block
from steelyard.results.shown import Charts

TEXT = '<script>alert(1)</script><img src=x onerror="alert(1)"></style><b id="x">'


def page(title="report", **more):
    rows = table("Rows", ["one", "two"], ("Name", lambda name: Link(name, "sample-1")), (words("Text"), lambda _: TEXT))
    return Document(title, [Headline("PASS", TEXT), Section("Rows", [rows]), SampleList([], 3)], [TEXT], **more)


def rules(block):
    style = re.search(r"<style>(.*?)</style>", block, re.S)[1]
    return [name.strip() for names, _ in re.findall(r"([^{}]+)\{([^{}]*)\}", style) for name in names.split(",")]


def test_every_rule_is_one_of_the_block():
    block = html_block(page())
    scope = "." + ".".join(re.match(r'<div class="([^"]*)">', block)[1].split())
    own = rules(block)
    assert len(own) > 50
    assert [name for name in own if scope not in name] == []
    # What the block has no element of is left out.
    assert not any(".controls" in name or ".picture" in name for name in own)


def test_foreign_text_is_text_and_nothing_needs_a_script():
    block = html_block(page())
    assert "<script" not in block
    assert "<img" not in block
    assert block.count("</style>") == 1
    assert block.count("&lt;script&gt;") == 4
    assert "href=" not in block
    assert "All samples: .write_html(FILE)" in block


def test_two_blocks_of_one_page_have_other_ids():
    ids = [set(re.findall(r'(?<= )id="([^"]*)"', html_block(page(title)))) for title in ("one", "two")]
    assert ids[0]
    assert not ids[0] & ids[1]
    assert html_block(page("one")) == html_block(page("one"))


def test_a_long_list_is_cut_and_says_so():
    listed = table("Found", range(500), ("Case", str), ("Text", lambda _: TEXT))
    block = html_block(Document("t", [Fold("One by one", [listed])]))
    assert block.count("<tr>") == 11
    assert "490 more not shown" in block


def test_a_block_has_the_notebooks_theme_and_leaves_the_notebook_alone(chromium):
    shown = chromium.new_page(color_scheme="dark")
    background = "e => getComputedStyle(e).backgroundColor"

    def colours(theme):
        html = f'<body data-jp-theme-light="{theme}"><table><td>outside</td></table><div id="output"></div></body>'
        shown.set_content(html)
        before = shown.eval_on_selector("td", "e => JSON.stringify({...getComputedStyle(e)})")
        shown.eval_on_selector("#output", "(e, html) => { e.innerHTML = html }", html_block(page()))
        assert shown.eval_on_selector("td", "e => JSON.stringify({...getComputedStyle(e)})") == before
        return shown.eval_on_selector(".card", background), shown.eval_on_selector(".steelyard", background)

    # `--card` and `--page` of page.css, whatever the reader's system prefers.
    assert colours("true") == ("rgb(255, 255, 255)", "rgb(247, 247, 244)")
    assert colours("false") == ("rgb(28, 33, 37)", "rgb(20, 24, 27)")


def test_a_chart_is_a_picture_and_without_the_extra_its_data(monkeypatch):
    drawn = chart("c", "Title", "sub", "what it shows", data={"values": [{"a": 1}]}, mark="bar", encoding={})
    bundle = drawn._repr_mimebundle_()
    assert bundle["image/svg+xml"].startswith("<svg")
    assert bundle["text/plain"] == "Title: what it shows"
    assert Charts([drawn])._repr_html_().startswith('<p><img src="data:image/svg+xml;base64,')
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    assert drawn._repr_mimebundle_()["application/vnd.vegalite.v5+json"] == drawn.spec
    assert Charts([drawn])._repr_html_() is None
    assert repr(Charts([drawn])) == "Charts(c)"
