"""The report as one file that opens from disk."""

import base64
import hashlib
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from parts import item_reports, reports
from parts.views import to_html
from steelyard.report.groups import cases_by_variant


class Page(HTMLParser):
    """Tags, attributes and text of a page, as a browser would take it apart."""

    def __init__(self, page):
        super().__init__(convert_charrefs=True)
        self.tags, self.attributes, self.text, self.scripts, self.styles = [], [], [], [], []
        self._inside = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        self._inside = tag

    def handle_endtag(self, tag):
        self._inside = ""

    def handle_data(self, data):
        place = {"script": self.scripts, "style": self.styles}.get(self._inside, self.text)
        place.append(data)

    def words(self):
        return " ".join(" ".join(self.text).split())

    def values(self, wanted):
        return [value for _, name, value in self.attributes if name == wanted]


@pytest.mark.parametrize("name", item_reports.EDGES)
def test_every_kind_of_report_is_a_whole_page(name):
    page = Page(to_html(item_reports.EDGES[name]()))
    assert {"html", "head", "title", "header", "main", "footer"} <= set(page.tags)
    assert page.tags.count("h1") == 1
    ids = page.values("id")
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("name", item_reports.EDGES)
def test_nothing_is_fetched(name):
    page = Page(to_html(item_reports.EDGES[name]()))
    assert set(page.values("src")) == set()
    assert all(re.fullmatch(r"data:,|#samples|#sample-[0-9a-f]{12}", link) for link in page.values("href"))
    assert not {"img", "iframe", "object", "embed", "form", "base"} & set(page.tags)
    assert not any("url(" in style or "@import" in style for style in page.styles)


def test_a_script_in_an_answer_stays_text():
    page = Page(to_html(reports.hostile_report()))
    assert page.tags.count("script") == 1
    assert "alert" not in "".join(page.scripts)
    assert not [name for _, name, _ in page.attributes if name.startswith("on")]
    assert "<script>alert('x')</script>" in page.words()
    assert "</script><img src=x onerror=alert(1)>" in page.words()


def test_hidden_characters_are_spelled_out():
    page = to_html(reports.hostile_report())
    assert not set(page) & set("\x00\x07\x0b\x1b\u202e\u202c\ufffe\ud800")
    assert "\\x1b[2J" in page
    assert "\\u202egnp.exe" in page


def test_the_policy_lets_only_its_own_script_and_style_run():
    page = Page(to_html(reports.hostile_report()))
    policy = next(value for value in page.values("content") if "default-src" in value)
    for kind, text in (("script", "".join(page.scripts)), ("style", "".join(page.styles))):
        name = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{name}'" in policy
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy
    assert page.values("style") == []


def test_the_first_screen_says_verdict_pass_rate_threshold_n_and_what_to_fix():
    words = Page(to_html(reports.rich_report())).words()
    top = words[: words.index("Gates")]
    assert "✕ FAIL" in top
    assert "77.6 % pass rate (score >= 75 %) [64.1, 87.0] n 49, 1 missing" in top
    assert "Average 85.4 % [78.1, 91.0] n 49, 1 missing" in top
    assert "Improve place (average 61.9 %, n 46): worth up to +7.6 points" in top


def test_a_sample_shows_input_truth_answer_scores_and_findings():
    words = Page(to_html(reports.rich_report())).words()
    sample = words[words.index("failed part-013 34.0 %") : words.index("failed part-002 70.0 %")]
    for part in ("A toothed wheel", "gear wheel", '{"name": "spring", "place": null}', "bevel gear", "3 of 4 keywords"):
        assert part in sample
    assert "capped by no_source, before: 4.00 of 1..5" in sample


def test_no_outcome_is_reported_by_colour_alone():
    words = Page(to_html(reports.rich_report())).words()
    for said in ("? inconclusive", "⚠ malformed", "✕ failed", "✓ passed", "? AMBIGUOUS"):
        assert said in words


def test_every_column_heading_has_a_scope():
    page = Page(to_html(reports.rich_report()))
    assert page.tags.count("th") == sum(1 for tag, name, _ in page.attributes if tag == "th" and name == "scope")


def test_without_a_script_everything_can_be_read():
    page = to_html(reports.rich_report())
    assert '<div class="controls" id="controls" hidden>' in page
    assert page.count('<details class="sample"') == 50


def test_all_inconclusive_is_n_a_everywhere():
    words = Page(to_html(reports.inconclusive_report())).words()
    assert "⚠ INVALID" in words
    assert "n/a pass rate (score >= 75 %) n 0, 2 missing" in words
    assert "Find out first why the calls failed: timeout no answer within 60 s (2)." in words


def test_an_empty_run_says_so():
    assert "This run has no samples." in Page(to_html(reports.empty_report())).words()


def test_samples_that_are_not_shown_are_counted():
    words = Page(to_html(reports.rich_report(n_samples=5050))).words()
    assert "50 of 5,050 samples are shown, the worst first; 5,000 are not shown." in words


def test_a_thousand_samples_with_long_answers_stay_below_three_megabytes():
    long = '"quoted" & <marked up> ' * 400
    details = [
        reports.detail(
            reports.line(f"part-{n}", n / 1000, why=long), answer=long, input=long, findings=reports.FINDINGS
        )
        for n in range(1000)
    ]
    page = to_html(replace(reports.rich_report(), details=details, n_samples=1000))
    assert page.count('<details class="sample"') == 1000
    assert len(page.encode()) < 3_000_000
    assert re.search(r"\.\.\. \(\+[\d,]+ characters\)", page)


def test_a_thousand_samples_with_many_findings_stay_below_three_megabytes():
    details = [
        reports.detail(reports.line(f"part-{n}", 0.1), findings=reports.FINDINGS * 50, n_findings=230)
        for n in range(1000)
    ]
    page = to_html(replace(reports.rich_report(), details=details, n_samples=1000))
    assert len(page.encode()) < 3_000_000
    assert "225 more not shown" in page


def test_a_short_report_keeps_long_answers_whole():
    report = reports.rich_report(details=[reports.detail(answer="word " * 3000)])
    assert "characters)" not in to_html(report)


def test_the_grid_has_a_cell_for_each_case_and_variant():
    grid = cases_by_variant(reports.variants_report())
    assert [column.title for column in grid.columns] == ["Case", "short", "long"]
    # (0.9 + 0.7) / 2 = 0.8; one of part-2's repeats was inconclusive
    assert grid.rows == [
        ("part-1", "80.0 % n 2", "50.0 % n 2"),
        ("part-2", "100.0 % n 1, 1 missing", "10.0 % n 2"),
    ]


def test_a_grid_of_half_the_samples_is_not_shown():
    assert cases_by_variant(replace(reports.variants_report(), n_samples=100)).sound is None
    assert cases_by_variant(reports.rich_report()).sound is None


def test_a_suspect_run_says_why_before_any_figure():
    report = reports.rich_report(header=reports.header(suspect=("all answers are identical",)))
    words = Page(to_html(report)).words()
    assert words.count("SUSPECT: all answers are identical") == 1
    assert words.index("⚠ SUSPECT: all answers are identical") < words.index("77.6 %")
