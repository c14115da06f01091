"""A history as table, page, data and charts: every number with its n, nothing foreign rendered."""

from __future__ import annotations

import io
import json
from itertools import pairwise, permutations

import pytest
from rich.console import Console

from parts.histories import keep, made_run
from steelyard.records import Verdict
from steelyard.report.charts.drawing import can_draw, to_png
from steelyard.report.render.html import to_html
from steelyard.report.render.markdown import to_markdown
from steelyard.report.render.terminal import print_document
from steelyard.run_history.charts import trend_charts
from steelyard.run_history.history import HistoryOptions, read_history
from steelyard.run_history.report import data, document, grouped, left_out, marks, runs
from steelyard.store.baseline_log import BaselineEntry
from steelyard.store.sql import open_store

JITTER = [0.0, 0.004, -0.003, 0.002, -0.004, 0.003, 0.001, -0.002]


@pytest.fixture
def store():
    opened = open_store(":memory:")
    yield opened
    opened.close()


@pytest.fixture
def seeded(store):
    """The seed's three runs, then one that is INVALID, with samples missing."""
    for number, average, median, passed, best in ((9, 0.821, 0.87, 0.86, 25), (16, 0.853, 0.90, 0.90, 30)):
        keep(store, made_run(number, average, figures={"median": median, "pass_rate": passed, "best": best / 50}))
    figures = {"median": 0.91, "pass_rate": 0.90, "best": 29 / 50}
    keep(store, made_run(17, 0.854, figures=figures, signature={"judge": "j2"}))
    keep(store, made_run(18, 0.5, verdict=Verdict.INVALID, figures={"n": 40, "missing": 10}))
    store.log_baseline(BaselineEntry("chairs", "release", "chairs-017", 1.0, "ada"))
    return read_history(store, "chairs")


@pytest.fixture(scope="module")
def stored():
    """24 runs: the judge changes at the sixth, the level falls at the fifteenth; categories and codes."""
    store = open_store(":memory:")
    for i in range(24):
        level = (0.85 if i < 14 else 0.75) + JITTER[i % 8]
        figures = {"categories": {"art": level, "<b>toys</b>": 0.7}, "codes": {"NAME": 0.1 + JITTER[i % 8]}}
        told = {"verdict": Verdict.INVALID} if i == 7 else {}
        keep(store, made_run(i, level, figures=figures, signature={"judge": "j1" if i < 5 else "j2"}, **told))
    yield store
    store.close()


@pytest.fixture(scope="module")
def long(stored):
    return read_history(stored, "chairs", HistoryOptions(by="category"))


@pytest.fixture(scope="module")
def page(long):
    return to_html(document(long))


def printed(history, width=80):
    console = Console(file=io.StringIO(), width=width)
    print_document(document(history), console)
    return console.file.getvalue()


def test_the_table_is_the_seed_s_with_n_and_verdict(seeded):
    table = runs(seeded)
    assert [column.title for column in table.columns] == [
        *("Date", "Average", "95 % interval", "Median", "95 % interval", "Pass rate", "95 % interval"),
        *("Excellent", "n", "Verdict", "Run"),
    ]
    assert [(*row[:2], row[3], row[5], *row[7:]) for row in table.rows] == [
        ("2026-01-19*", "50.0 %", "90.0 %", "90.0 %", "23/40", "40 (-10)", "INVALID", "chairs-018"),
        ("2026-01-18", "85.4 %", "91.0 %", "90.0 %", "29/50", "50", "PASS", "chairs-017"),
        ("2026-01-17", "85.3 %", "90.0 %", "90.0 %", "30/50", "50", "PASS", "chairs-016"),
        ("2026-01-10", "82.1 %", "87.0 %", "86.0 %", "25/50", "50", "PASS", "chairs-009"),
    ]
    assert "* not in the trends" in table.note


def test_a_suite_without_bands_has_no_column_for_them(store):
    keep(store, made_run(0, suite={"bands": []}))
    table = runs(read_history(store, "chairs"))
    assert [column.title for column in table.columns if "interval" not in column.title] == [
        *("Date", "Average", "Median", "Pass rate", "n", "Verdict", "Run")
    ]


def test_what_changed_and_what_is_left_out_is_reported(seeded):
    assert marks(seeded) == ["2026-01-18 the judge changed (chairs-017)"]
    assert left_out(seeded) == ["2026-01-19 chairs-018: INVALID"]


def test_it_fits_a_terminal_of_eighty_columns(seeded):
    text = printed(seeded)
    assert max(map(len, text.splitlines())) <= 80
    for part in ("29/50", "too few to look for a change of level, 12 are the fewest", "release: chairs-017", "Method:"):
        assert part in " ".join(text.split())


def test_a_wide_terminal_shows_intervals_and_names(seeded):
    assert "chairs-017" in printed(seeded, 150)
    assert "[77.4, 93.4]" in printed(seeded, 150)


def test_two_runs_of_one_day_are_separated_by_the_hour(store):
    keep(store, made_run(3))
    keep(store, made_run(3, id="b", created_at=made_run(3).created_at + 3600))
    rows = runs(read_history(store, "chairs")).rows
    assert [row[0] for row in rows] == ["2026-01-04 01:00", "2026-01-04 00:00"]


def test_a_long_history_is_cut_in_the_terminal_and_says_so(store):
    for i in range(45):
        keep(store, made_run(i))
    assert "5 more not shown" in printed(read_history(store, "chairs"))


def test_runs_of_many_signatures_are_not_said_to_show_no_change(store):
    for i in range(12):
        keep(store, made_run(i, signature={"truth": f"t{i // 5}"}))
    text = " ".join(printed(read_history(store, "chairs")).split())
    assert "12 runs in the trends, at most 5 in a row with one signature: too few" in text
    assert "no change of level" not in text


def test_what_is_followed_by_slice_is_named_and_signatures_are_not_compared_in_silence(long, stored):
    table = grouped(long)
    assert table.title == "Average by category"
    assert "the signature changed between the runs" in table.note
    codes = grouped(read_history(stored, "chairs", HistoryOptions(by="code")))
    assert codes.title == "Share of samples with each finding code"


def test_data_can_be_written_and_holds_every_figure(long):
    found = json.loads(json.dumps(data(long), allow_nan=False))
    assert (found["format"], found["suite"], len(found["runs"])) == ("steelyard.history/1", "chairs", 24)
    assert found["runs"][7]["left_out"] == "INVALID"
    assert len(found["trends"][0]["values"]) == 23
    assert [mark["parts"] for mark in found["marks"]] == [["judge"]]
    assert {chart["name"] for chart in found["charts"]} == {
        *("trend_average", "trend_pass_rate", "trend_by_category", "scores_by_run")
    }


def test_markdown_has_the_table_and_the_changes(long):
    text = to_markdown(document(long))
    assert "| Date | Average |" in text
    assert "average fell on 2026-01-15 from" in text
    assert "(chairs-014)" in text.partition("average fell on")[2].partition("\n")[0]


def test_a_figure_with_a_long_name_leaves_the_dates_whole_in_eighty_columns(stored):
    told = io.StringIO()
    history = read_history(stored, "chairs", HistoryOptions(metrics=("category.art.average",)))
    print_document(document(history), Console(file=told, width=80))
    assert "category." in told.getvalue()
    assert "..." not in told.getvalue()
    assert sum(line.startswith("  2026-01-") for line in told.getvalue().splitlines()) == 24


def layers(chart):
    return chart.spec["layer"]


def named(chart, mark):
    return [layer for layer in layers(chart) if layer["mark"]["type"] == mark]


def test_a_trend_is_a_line_in_its_interval_with_gates_and_changes(long):
    chart = trend_charts(long)[0]
    (line,), (band,) = named(chart, "line"), named(chart, "area")
    values = line["data"]["values"]
    assert len(values) == len(band["data"]["values"]) == 23
    assert (values[0]["value"], values[0]["low"], values[0]["high"]) == (0.85, 0.85 - 0.08, 0.85 + 0.08)
    rules = named(chart, "rule")
    assert [one for rule in rules for one in rule["data"]["values"] if "value" in one] == [
        {"value": 0.8, "message": "gate >= 80.0 %"}
    ]
    standing = {one["message"]: one["run"] for rule in rules for one in rule["data"]["values"] if "run" in one}
    assert standing == {"judge changed": "2026-01-06", "level fell": "2026-01-15"}


def test_no_line_joins_the_readings_of_two_signatures(long):
    (line,) = named(trend_charts(long)[0], "line")
    by_stretch = {}
    for one in line["data"]["values"]:
        by_stretch.setdefault(one["stretch"], []).append(one["run"])
    assert line["encoding"]["detail"]["field"] == "stretch"
    assert {stretch: runs[0] for stretch, runs in by_stretch.items()} == {0: "2026-01-01", 1: "2026-01-06"}


def test_a_run_without_a_part_in_the_trend_stands_on_the_axis_alone(long):
    chart = trend_charts(long)[0]
    crosses = [layer for layer in named(chart, "text") if layer["mark"].get("text") == "x"]
    assert [one["run"] for layer in crosses for one in layer["data"]["values"]] == ["2026-01-08"]
    (line,) = named(chart, "line")
    assert "2026-01-08" not in {one["run"] for one in line["data"]["values"]}
    assert "2026-01-08" in line["encoding"]["x"]["scale"]["domain"]


def test_a_run_alone_with_its_signature_shows_its_interval(store):
    for i in range(3):
        keep(store, made_run(i, signature={"truth": "t1" if i < 2 else "t2"}))
    chart = trend_charts(read_history(store, "chairs"))[0]
    (band,) = named(chart, "area")
    (bar,) = [layer for layer in named(chart, "rule") if layer["mark"].get("strokeWidth") == 8]
    assert [one["run"] for one in band["data"]["values"]] == ["2026-01-01", "2026-01-02"]
    assert [(one["run"], one["low"], one["high"]) for one in bar["data"]["values"]] == [
        ("2026-01-03", 0.85 - 0.08, 0.85 + 0.08)
    ]


def labels(chart):
    return [
        (layer["data"]["values"][0]["message"], layer["encoding"]["y"]["value"], layer["mark"]["align"])
        for layer in named(chart, "text")
        if "run" in layer["data"]["values"][0] and layer["mark"].get("text") != "x"
    ]


def test_words_of_marks_that_are_close_stand_below_one_another(store):
    changes = ["t1"] * 20 + ["t2"] + ["t3"] * 18 + ["t4"]
    for i, truth in enumerate(changes):
        keep(store, made_run(i, signature={"truth": truth}))
    chart = trend_charts(read_history(store, "chairs"))[0]
    # 16 points a run: the first two are one run apart; the words of the last would leave the picture to the right.
    assert labels(chart) == [
        ("truth changed", -6.5, "right"),
        ("truth changed", -6.5, "left"),
        ("truth changed", -19.5, "left"),
    ]


def test_no_word_of_a_trend_stands_on_another_or_on_a_figure(store):
    gates = ["average >= 80 %", "average >= 79 %", "average >= 78.5 %", "average <= 95 %"]
    for i in range(24):
        signature = {"truth": f"t{i // 5}", "model": f"m{i // 4}"}
        keep(
            store, made_run(i, (0.85 if i < 14 else 0.75) + JITTER[i % 8], signature=signature, suite={"gates": gates})
        )
    chart = trend_charts(read_history(store, "chairs"))[0]
    words = named(chart, "text")
    assert {one["message"] for each in words for one in each["data"]["values"]} >= {"truth changed", "model changed"}
    # Gates are named to the right of the picture, at least a line apart; all else above it, where no figure is.
    named_gates = [each for each in words if each["data"]["values"][0]["message"].startswith("gate")]
    assert [each["encoding"]["x"] for each in named_gates] == [{"value": 640}] * 4
    heights = [each["encoding"]["y"]["value"] for each in named_gates]
    assert heights == sorted(heights)
    assert all(below - above >= 12.9 for above, below in pairwise(heights))
    names = [one["run"] for one in named(chart, "line")[0]["data"]["values"]]
    boxes = []
    for each in words:
        told, height = each["data"]["values"][0], each["encoding"]["y"]["value"]
        if "run" in told:
            at, long = 640 * (names.index(told["run"]) + 0.5) / 24, 6.2 * len(told["message"])
            start = at + 5 if each["mark"]["align"] == "left" else at - 5 - long
            boxes.append((height, start, start + long, at))
            assert height < 0
    for (height, start, end, _), (other, other_start, other_end, other_at) in permutations(boxes, 2):
        assert height != other or end < other_start or other_end < start
        # The line from the other's words down to its mark.
        assert height < other or not start <= other_at <= end


def test_words_that_find_no_room_are_left_out_and_their_lines_are_not(store):
    for i in range(100):
        keep(store, made_run(i, signature={"truth": f"t{i}"}))
    chart = trend_charts(read_history(store, "chairs"))[0]
    assert 4 * 4 <= len(labels(chart)) < 99
    (lines,) = [layer for layer in named(chart, "rule") if layer["mark"].get("strokeDash") == [2, 3]]
    assert len(lines["data"]["values"]) == 99


def test_runs_of_one_day_are_separated_on_the_axis(store):
    for i in range(2):
        keep(store, made_run(3, id=f"r{i}", created_at=made_run(3).created_at + 3600 * i))
    (line,) = named(trend_charts(read_history(store, "chairs"))[0], "line")
    assert [one["run"] for one in line["data"]["values"]] == ["2026-01-04 00:00", "2026-01-04 01:00"]


def test_slices_have_a_panel_each(long):
    chart = trend_charts(long)[-2]
    assert [panel["title"]["text"] for panel in chart.spec["vconcat"]] == ["art", "<b>toys</b>"]


def test_fewer_than_two_runs_make_no_chart(store):
    keep(store, made_run(0))
    assert trend_charts(read_history(store, "chairs")) == []


@pytest.mark.skipif(not can_draw(), reason="the extra that draws is not installed")
def test_every_chart_can_be_drawn(long):
    single, *_, panels = trend_charts(long)
    for chart in (single, panels):
        assert to_png(chart).startswith(b"\x89PNG")


@pytest.mark.skipif(not can_draw(), reason="the extra that draws is not installed")
def test_the_page_holds_the_charts_and_fetches_nothing(page):
    assert page.count("<svg") == 4
    assert "2026-01-" in page.partition("<svg")[2].partition("</svg>")[0]
    assert "default-src &#39;none&#39;" in page
    assert "target: http;" in page
    assert "http:" not in page.replace("http://www.w3.org/2000/svg", "")
    assert "https:" not in page


def test_the_target_of_the_runs_is_shown(store):
    keep(store, made_run(0, target={"kind": "chat", "model": "m1"}))
    assert "target: chat m1" in " ".join(printed(read_history(store, "chairs")).split())
    keep(store, made_run(1, target={"kind": "chat", "model": "m2"}))
    table = runs(read_history(store, "chairs"))
    assert (table.columns[-2].title, [row[-2] for row in table.rows]) == ("Target", ["chat m2", "chat m1"])
    assert max(map(len, printed(read_history(store, "chairs")).splitlines())) <= 80
    assert [run["target"] for run in data(read_history(store, "chairs"))["runs"]] == ["chat m1", "chat m2"]
