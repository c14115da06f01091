"""Expectations, stability and latency in every view: what passed, what failed, what cannot tell."""

import io
import json
import re
import sys
from dataclasses import replace
from xml.etree import ElementTree

import pytest
from rich.console import Console

from parts import reports
from parts.chart_figures import (
    Part,
    cell,
    check,
    checks_of,
    counts,
    latency_of,
    some_latency,
    some_stability,
    spread,
    with_parts,
)
from parts.slices import changed, with_slices
from parts.views import print_report, to_html, to_json, to_markdown
from steelyard.analysis.flaky import FlakyCell
from steelyard.analysis.latency import CellLatency, no_calls
from steelyard.analysis.stability import CellStability, StabilityDetails
from steelyard.report import repeats, run
from steelyard.report.render.junit import to_junit
from steelyard.stats.intervals import Estimate, Possible
from steelyard.store.selection import Selection

ALL_OF = {k: Estimate(0.5 / k, 3, 1) for k in range(1, 8)}
CHECKS = checks_of(
    [
        cell("good", check("schema", 5), check("kind:large", 5)),
        cell("bad", check("schema", 5), check("kind:large", 1, 4, detail="not found in items"), check("kind:small", 5)),
        cell("shaky", check("schema", 5), check("kind:small", 3, 2), clean=3),
        cell("open", check("schema", 2, 0, 3, detail="no answer")),
    ],
    {f"checks.pass_all.{k}": item for k, item in ALL_OF.items()},
)
FLAKY = Part(
    # bad and shaky are flaky; open has two clean repeats of two, and three that are not known.
    [FlakyCell("bad", "", 1, 5), FlakyCell("shaky", "", 3, 5)],
    {f"pass_all.{k}": item for k, item in ALL_OF.items()}
    | {"flaky_rate": Estimate(2 / 4, 3, 1)}
    | counts(cases_count_flaky=2),
)
STABILITY = StabilityDetails(
    "key",
    {"place": "overlap", "kind": "equal"},
    (
        CellStability("good", "", 5, 0, Estimate(1.0, 20), {"place": Estimate(1.0, 15), "kind": Estimate(None, 0)}),
        CellStability("bad", "", 4, 1, Estimate(0.7, 20), {"place": Estimate(0.0, 15), "kind": Estimate(None, 0)}),
        CellStability("open", "", 0, 5, Estimate(None, 0), {}),
    ),
)
OF_RUN = {
    "stability.presence": Estimate(0.85, 2, 1, 0.6, 0.95),
    "stability.place": Estimate(0.5, 2, 1, 0.1, 0.9),
    "stability.kind": Estimate(None, 0, 3),
    "stability.comparisons.presence": Estimate(40.0, 3),
    "stability.comparisons.place": Estimate(30.0, 3),
    "stability.comparisons.kind": Estimate(0.0, 3),
    "stability.cells.all": Estimate(3.0, 3),
}
LATENCY = latency_of(
    spread(0.3, 1.5, 17),
    2,
    1,
    first_byte=spread(0.1, 0.2, 17),
    load="4 at a time",
    cells=(
        CellLatency("good", "", spread(0.1, 0.2), 0, 0),
        CellLatency("bad", "", spread(0.9, 1.5), 0, 1),
        CellLatency("open", "", no_calls(), 2, 0),
    ),
    hints=("median latency 14 ms of 17 answered calls is below 100 ms: looks cached",),
)


@pytest.fixture
def report():
    return with_parts(
        reports.rich_report(), checks=CHECKS, flaky_cells=FLAKY, stability=Part(STABILITY, OF_RUN), latency=LATENCY
    )


def printed(report, width=80):
    console = Console(width=width, record=True, file=io.StringIO())
    print_report(report, console)
    return console.export_text()


def views(report):
    return {"terminal": printed(report), "markdown": to_markdown(report), "html": to_html(report)}


def test_the_first_lines_say_how_many_cases_and_checks_hold(report):
    # good and shaky hold, bad does not, open cannot be told; of 8 checks 6 hold.
    sentence = "Cases passed 2 of 4, 1 cannot tell; checks 6 of 8, 1 cannot tell"
    assert repeats.headline(report) == sentence
    for name, view in views(report).items():
        assert sentence in view[: view.index("Gates")], name


def test_checks_that_do_not_hold_are_listed_with_k_of_n_and_what_was_found(report):
    table = repeats.failed_checks(report)
    assert table.rows == [
        ("bad", "kind:large", "1 of 5", "failed", "not found in items"),
        ("open", "schema", "2 of 5", "cannot tell", "no answer"),
    ]
    assert table.title == "Checks that do not pass"
    cells = [each for each in report.summary.checks.cells if each.case_id == "bad"]
    only = replace(report, summary=replace(report.summary, checks=replace(report.summary.checks, cells=tuple(cells))))
    broken = repeats.failed_checks(only)
    assert (broken.title, len(broken.columns), broken.rows[0][3]) == ("Failed checks", 4, "not found in items")
    assert broken.left_off(12) == 1


def test_a_case_of_which_nothing_came_is_listed_as_such():
    table = repeats.failed_checks(with_parts(reports.rich_report(), checks=checks_of([cell("never")])))
    assert table.rows == [("never", "", "", "cannot tell", "undecided")]


def test_by_check_adds_up_the_values_of_a_declared_check(report):
    assert repeats.by_check(report).rows == [
        # passed, failed, cannot tell; answers passed, failed, not run
        ("schema", "3", "0", "1", "17", "0", "3"),
        ("kind", "3", "1", "0", "14", "6", "0"),
    ]
    assert repeats.by_value(report).rows == [
        ("kind:large", "1", "1", "0", "6", "4", "0"),
        ("kind:small", "2", "0", "0", "8", "2", "0"),
    ]


def test_flaky_cases_are_named_and_pass_k_goes_to_the_largest_k(report):
    rows = dict(repeats.expectations(report))
    assert rows["Flaky"] == ("2 of 4 cases, 1 undecided, some repeats pass and others do not: bad 1 of 5, shaky 3 of 5")
    assert rows["pass^k"].startswith("1: 50.0 %, 2: 25.0 %, 3: 16.7 %, 4: 12.5 %, 7: 7.1 %; n 3, 1 missing")
    assert rows["Required repeats"] == "a check must pass in more than half of the repeats"


def test_pass_k_names_the_cases_of_each_k_where_fewer_have_answers_enough(report):
    all_of = {"pass_all.1": Estimate(0.69, 10, 1), "pass_all.2": Estimate(0.5, 5, 6)}
    plain = with_parts(reports.rich_report(), checks=CHECKS)
    fewer = with_parts(plain, flaky_cells=Part(FLAKY.details, all_of))
    told = dict(repeats.expectations(fewer))["pass^k"]
    assert told.startswith("1: 69.0 % (n 10, 1 missing), 2: 50.0 % (n 5, 6 missing); probability")


def test_of_cases_that_were_never_asked_nobody_knows_how_many_checks_they_have(report):
    unknown = with_parts(report, checks=Part(CHECKS.details, counts(cases_count_unknown=1)))
    assert "; checks 6 of at least 8" in repeats.headline(unknown)
    assert "at least" not in repeats.headline(report)


def test_stability_is_reported_with_its_band_and_nothing_to_compare_is_not_available(report):
    table = repeats.stability(report)
    assert table.rows == [
        ("presence", "85.0 %", "[60.0, 95.0]", "acceptable", "40", "2, 1 n/a"),
        ("place (overlap)", "50.0 %", "[10.0, 90.0]", "unstable", "30", "2, 1 n/a"),
        ("kind (equal)", "n/a", "undefined", "n/a", "0", "0, 3 n/a"),
    ]
    assert "unstable: below 60 %: look at the prompt and the temperature" in table.note


def test_the_least_stable_cases_come_first_and_the_others_are_counted(report):
    table = repeats.least_stable(report)
    assert table.rows == [("bad", "70.0 % (n 20)", "0.0 % (n 15)", "n/a", "4 of 5")]
    assert table.note == "n: comparisons; 1 is the same every time; 1 has nothing to compare"


def test_cases_and_checks_that_cannot_be_told_are_counted_apart(report):
    open_ = with_parts(report, checks=Part(CHECKS.details, counts(cases_count_undecided=2, checks_count_undecided=3)))
    assert repeats.headline(open_) == "Cases passed 2 of 4, 2 cannot tell; checks 6 of 10, 3 cannot tell"


def test_pass_k_by_the_checks_alone_is_shown_where_it_is_another(report):
    told = {f"checks.pass_all.{k}": Estimate(0.9 / k, 4) for k in range(1, 8)}
    rows = dict(repeats.expectations(with_parts(report, checks=Part(CHECKS.details, told))))
    assert rows["pass^k of checks"].startswith("1: 90.0 %, 2: 45.0 %, 3: 30.0 %, 4: 22.5 %, 7: 12.9 %; n 4;")
    assert rows["pass^k"].startswith("1: 50.0 %, 2: 25.0 %")
    assert "pass^k of checks" not in dict(repeats.expectations(report))


def test_columns_of_checks_lead_to_the_samples_that_they_count(report):
    table = repeats.by_check(report)
    titles = [column.title for column in table.columns]
    assert titles == [
        *("Check", "Passed", "Failed", "Cannot tell", "Answers passed", "Answers failed", "Not run"),
    ]
    found = {title: cell.selection for title, cell in zip(titles[1:], table.rows[0][1:], strict=True)}
    of_cases = Selection(check="schema")
    assert found == dict.fromkeys(("Passed", "Failed", "Cannot tell", "Not run"), of_cases) | {
        f"Answers {state}": Selection(check="schema", state=state, outcome="conclusive")
        for state in ("passed", "failed")
    }


def test_each_column_of_checks_counts_its_own(report):
    told = {"cells.passed": 2, "cells.failed": 3, "cells.undecided": 5}
    told |= {"answers.passed": 7, "answers.failed": 11, "answers.not_run": 13}
    figures = {f"check.schema.{name}": Estimate(float(n), 41) for name, n in told.items()}
    table = repeats.by_check(with_parts(report, checks=Part(CHECKS.details, figures)))
    assert table.rows[0] == ("schema", "2", "3", "5", "7", "11", "13")
    assert table.note.startswith("not run: ")


def test_lists_that_are_cut_say_how_many_there_are_in_all(report):
    failed = counts(checks_count_failed=20, checks_count_undecided=3)
    assert repeats.failed_checks(with_parts(report, checks=Part(CHECKS.details, failed))).left_off(12) == 21
    more = with_parts(report, stability=Part(STABILITY, {"stability.cells.all": Estimate(8.0, 8)}))
    assert "5 are not listed one by one" in repeats.least_stable(more).note
    assert (
        repeats.slowest_cases(with_parts(report, latency=Part(LATENCY.details, counts(latency_cells=40)))).total == 40
    )
    flaky = with_parts(reports.rich_report(), flaky_cells=Part(FLAKY.details, counts(cases_count_flaky=30)))
    assert repeats.flaky_cases(flaky).total == 30


def test_pass_k_of_a_suite_without_checks_says_what_is_possible():
    all_of = {"pass_all.1": Estimate(0.75, 8, 2, 0.5, 0.9, possible=Possible(0.6, 0.8, 2, 10))}
    flaky = {"flaky_rate": Estimate(0.25, 8, 2, 0.1, 0.5)}
    table = repeats.passes(with_parts(reports.rich_report(), flaky_cells=Part([], all_of | flaky)))
    assert table.rows == [
        ("pass^1", "75.0 %", "[50.0, 90.0]", "8, 2 missing", "60.0 to 80.0 %"),
        ("Flaky cases", "25.0 %", "[10.0, 50.0]", "8, 2 missing", ""),
    ]


def test_times_to_the_first_byte_stand_on_the_calls_that_have_one(report):
    first = latency_of(spread(0.3, 1.5, 17), 2, 1, first_byte=spread(0.1, 0.2, 5))
    rows = dict(repeats.latency(with_parts(report, latency=Part(LATENCY.details, first.figures))))
    assert rows["Calls"].endswith("; n 17")
    assert rows["First byte"].endswith("; n 5")
    none = latency_of(spread(0.3, 1.5, 17), 2, 1, first_byte=no_calls())
    rows = dict(repeats.latency(with_parts(report, latency=Part(LATENCY.details, none.figures))))
    assert rows["First byte"] == "n/a (no call was answered or timed out)"


def test_latency_is_reported_with_what_was_not_answered_beside_it(report):
    rows = dict(repeats.latency(report))
    assert rows["Calls"] == ("p50 300 ms, p95 1.50 s, p99 1.50 s, mean 300 ms, min 150 ms, max 1.50 s; n 17")
    assert rows["Not answered"] == (
        "2 timed out: at least the time waited in every figure of time; 1 failed otherwise: in no figure of time"
    )
    assert rows["Load"] == "4 at a time"
    assert rows["Looks wrong"].startswith("median latency 14 ms")
    table = repeats.slowest_cases(report)
    assert [row[0] for row in table.rows][:2] == ["open", "bad"]
    assert table.rows[0][1:] == ("n/a", "n/a", "n/a", "n/a", "0", "2", "0")


def test_nothing_is_said_twice_of_times(report):
    assert not [label for label, _ in run.overall(report) if label.startswith("Latency")]
    suspect = replace(report, header=replace(report.header, suspect=list(LATENCY.details.hints)))
    assert "Looks wrong" not in dict(repeats.latency(suspect))
    for name, view in views(report).items():
        assert "Slowest cases" in view, name
        assert not re.search(r"Slowest(?! cases)", view), name


def test_a_suite_without_these_shows_nothing_new():
    plain = reports.rich_report()
    timed = replace(plain, summary=replace(plain.summary, latency=LATENCY.details))
    assert printed(timed) == printed(plain)
    assert to_markdown(timed) == to_markdown(plain)
    assert to_html(timed) == to_html(plain)


def test_a_suite_that_declares_latency_has_a_part_for_it():
    plain = reports.rich_report()
    header = replace(plain.header, suite=plain.header.suite | {"latency": {"below": 0.1, "above": None}})
    timed = with_parts(replace(plain, header=header), latency=LATENCY)
    assert " Calls " in printed(timed)


def test_every_view_holds_every_part(report):
    for name, view in views(report).items():
        for part in ("Expectations", "Checks that do not pass", "By check", "Stability over repeats", "Least stable"):
            assert part in view, (name, part)
        assert "not found in items" in view
        assert "2 timed out: at least the time waited" in " ".join(view.split())


def test_the_terminal_stays_within_its_width_and_two_screens():
    names = [f"case_{number:02d}_with_a_name" for number in range(18)]
    broken = [cell(name, *(check(f"check_{n}", 1, 4, detail="nothing " * 12) for n in range(3))) for name in names]
    report = with_parts(
        reports.rich_report(), checks=checks_of(broken), stability=some_stability(names), latency=some_latency(names)
    )
    lines = printed(report).splitlines()
    assert max(map(len, lines)) <= 80
    # What the report had before, and what is new: two screens of 50 lines at most.
    assert len(lines) - len(printed(reports.rich_report()).splitlines()) <= 90


def test_a_suite_of_expectations_alone_does_not_say_the_same_once_more(report):
    component = {"expect": Estimate(0.8, 5)}
    only = with_slices(report.summary, changed(report.summary.overall, components=component))
    said = printed(replace(report, summary=only))
    for title in ("Components", "Common failure patterns", "Worst"):
        assert title not in said
        assert title in printed(report)


def test_junit_names_the_checks_that_failed():
    finding = {"code": "KIND", "place": "kind:large", "expected": "large", "got": None, "component": "expect"}
    detail = reports.detail(reports.FAILED, findings=[finding, finding | {"place": "item_count"}])
    root = ElementTree.fromstring(to_junit(reports.rich_report(details=[detail])))
    messages = [failure.get("message") for failure in root.iter("failure")]
    assert "34.0 % does not reach score >= 75 %: failed kind:large, item_count" in messages


# Charts in reports


def test_html_holds_every_chart_as_a_drawing_with_words(report):
    page = to_html(report)
    labels = re.findall(r'<svg [^>]*role="img"[^>]*aria-label="([^"]*)"', page)
    for beginning in ("Grid of 4 cases", "Heat map of how alike", "Mean and 95th percentile"):
        assert sum(label.startswith(beginning) for label in labels) == 1
    drawings = re.findall(r'<figure class="drawn-chart">(.*?)</figure>', page, re.DOTALL)
    assert len(drawings) == 4
    # Nothing that the page's policy forbids, and nothing that leads out of it.
    assert not re.search(r"style=|href|http|<style|<script|foreignObject|<image", "".join(drawings))


def test_ids_in_a_drawing_are_its_own_and_found_where_they_are_used(report):
    page = to_html(report)
    ids = re.findall(r' id="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    # The colours of the heat map's legend are the one thing that is drawn by reference.
    assert re.findall(r"url\(#([^)]+)\)", page) == ["stability-1"]
    assert "stability-1" in ids
    assert to_html(report) == page


def test_a_name_in_a_drawing_cannot_get_out_of_it():
    names = ["<script>alert(1)</script>", "</svg><img src=x onerror=alert(1)>", "\u202egnp\x00", 'a"b\\c']
    checks = checks_of([cell(name, check("<b>x</b>", 5)) for name in names])
    page = to_html(
        with_parts(reports.rich_report(), checks=checks, stability=some_stability(names), latency=some_latency(names))
    )
    drawings = re.findall(r'<figure class="drawn-chart">(.*?)</figure>', page, re.DOTALL)
    assert len(drawings) == 5
    for drawing in drawings:
        assert "<script" not in drawing
        assert "<img" not in drawing
        assert "<b>" not in drawing
        assert "\u202e" not in drawing
        assert drawing.count("</svg>") == 1


def test_html_without_the_extra_has_the_tables_and_a_hint(report, monkeypatch):
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    page = to_html(report)
    assert "drawn-chart" not in page.split("</style>")[1]
    assert page.count("Drawing charts needs the extra steelyard[charts].") == 1
    assert "Least stable" in page


def test_json_holds_figures_and_specifications(report):
    data = json.loads(json.dumps(to_json(report), allow_nan=False))
    assert [chart["name"] for chart in data["charts"]] == [
        *("pass_fail", "stability", "latency_by_case", "scores_by_category")
    ]
    assert data["charts"][0]["spec"]["$schema"].startswith("https://vega.github.io/schema/vega-lite/")
    assert data["figures"]["cases.count.passed"]["value"] == 2
    assert data["stability"]["bands"]["place"] == "unstable"
