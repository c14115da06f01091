"""The report as a comment on a pull request."""

import html
import re
from dataclasses import replace

import pytest

from parts import item_reports, reports
from parts.views import to_markdown


@pytest.mark.parametrize("name", item_reports.EDGES)
def test_every_kind_of_report_fits_into_one_comment(name):
    text = to_markdown(item_reports.EDGES[name]())
    assert len(text) < 65_536
    assert text.startswith("### ")
    assert text.count("<details>") == text.count("</details>")


def test_the_headline_has_verdict_pass_rate_threshold_and_n():
    text = html.unescape(to_markdown(reports.rich_report())).replace("\u200b", "")
    lines = text.splitlines()
    assert lines[0] == "### ❌ parts: FAIL"
    assert "**Pass rate 77.6 % (score >= 75 %) [64.1, 87.0] n 49, 1 missing**" in lines[:8]


def test_a_table_row_has_as_many_cells_as_its_head():
    for report in (reports.rich_report(), *(hostile() for hostile in item_reports.HOSTILE_REPORTS)):
        rows = [line for line in to_markdown(report).splitlines() if line.startswith("|")]
        width = 0
        for index, row in enumerate(rows):
            if index + 1 < len(rows) and re.fullmatch(r"[|:-]+", rows[index + 1]):
                width = row.count("|")
            assert row.count("|") == width


@pytest.mark.parametrize("hostile", item_reports.HOSTILE_REPORTS)
def test_nothing_a_model_wrote_is_markdown_or_html(hostile):
    text = to_markdown(hostile())
    ours = re.sub(r"</?(?:details|summary|sub|pre|b|br)>|&#\d+;|&nbsp;", "", text)
    assert "<" not in ours
    assert "`" not in ours
    assert "![" not in ours
    assert "](" not in ours
    assert "@" not in ours
    assert "http://" not in text
    assert "\x1b" not in ours


@pytest.mark.parametrize("hostile", item_reports.HOSTILE_REPORTS)
def test_a_mention_stays_apart_even_after_the_page_is_made(hostile):
    page = html.unescape(to_markdown(hostile()))
    assert "@\u200bsomeone" in page
    assert "@someone" not in page
    assert "http://" not in page
    assert "#12" not in page


def test_foreign_text_ends_no_block():
    report = reports.rich_report(details=[reports.detail(reports.line("p", 0.1), answer="a\n\n```\n</pre>\n\n# big")])
    text = to_markdown(report)
    assert not [line for line in text.splitlines() if line.startswith(("# ", "```"))]
    assert text.count("</pre>") == text.count("<pre>")


def test_only_samples_that_did_not_pass_are_listed_and_the_rest_counted():
    text = to_markdown(reports.rich_report())
    assert "4 samples that did not pass" in text
    assert "46 more of 50 are not shown here." in text


def test_samples_that_do_not_fit_are_counted_not_dropped_in_silence():
    long = [reports.detail(reports.line(f"part-{n}", 0.1), answer="<" * 5000, input="@" * 5000) for n in range(25)]
    report = replace(reports.rich_report(), details=long, n_samples=25)
    text = to_markdown(report)
    assert len(text) < 65_536
    listed = len(re.findall(r"<details><summary>part-", text))
    assert 0 < listed < 25
    assert f"{25 - listed} more of 25 are not shown here." in text
