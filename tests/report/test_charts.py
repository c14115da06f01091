"""Charts: what they show is checked as data, and as drawn pictures with nothing cut off and everything legible."""

import io
import itertools
import re
import subprocess
import sys
from dataclasses import replace
from xml.etree import ElementTree

import pytest
from PIL import Image

from parts.chart_figures import (
    Part,
    cell,
    check,
    checks_of,
    latency_of,
    some_checks,
    some_latency,
    some_stability,
    spread,
)
from parts.slices import a_slice, a_summary
from steelyard.analysis.histogram import Bar
from steelyard.analysis.latency import CellLatency, no_calls
from steelyard.analysis.stability import CellStability, StabilityDetails
from steelyard.errors import MissingExtra
from steelyard.report.charts import base, charts_of, drawing
from steelyard.report.charts.counts import STATES
from steelyard.stats.intervals import Estimate

LONG = [("a-long-name-of-a-case-" * 3)[:58] + f"{number:02d}" for number in range(3)]
ODD = ['quo"te', "back\\slash", "naïve-Ω", "<b>&amp;", "tab\there", "it's", "a.b[0]"]


def summary(checks=None, stability=None, latency=None):
    parts = {"checks": checks, "stability": stability, "latency": latency}
    given = {name: part for name, part in parts.items() if part is not None}
    figures = {name: item for part in given.values() for name, item in part.figures.items()}
    return a_summary("", a_slice("", "", 0, metrics=figures), **{name: part.details for name, part in given.items()})


def charts(names, variants=("",)):
    found = charts_of(
        summary(some_checks(names, variants), some_stability(names, variants), some_latency(names, variants))
    )
    return {chart.name: chart for chart in found}


def cases(n):
    return [f"case_{number:03d}" for number in range(n)]


def texts(svg):
    return ["".join(node.itertext()) for node in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]


def squares(chart):
    return {(one["row"], one["column"]): (one["state"], one["message"]) for one in chart.spec["data"]["values"]}


def rows_of(chart):
    """The rows in the order of the picture."""
    spec = chart.spec
    y = spec["encoding"]["y"] if "encoding" in spec else spec["layer"][0]["encoding"]["y"]
    return y["sort"]


# What the charts show


def test_a_run_gives_every_chart_that_has_something_to_show():
    whole = list(charts(cases(8)))
    assert whole == ["pass_fail", "counts", "stability", "latency_by_case", "latency_histogram"]
    assert charts_of(summary()) == []


def test_the_grid_says_of_each_case_and_check_whether_it_passed_and_k_of_n():
    figures = checks_of(
        [
            cell("good", check("schema", 5), check("kind:large", 4, 1), clean=4),
            cell("bad", check("schema", 5), check("kind:large", 1, 4), check("kind:small", 5), clean=1),
            cell("open", check("schema", 2, 0, 3), clean=2),
            cell("never"),
        ]
    )
    found = squares(charts_of(summary(figures))[0])
    assert found["good", "all checks"] == ("passed", "P 4/5")
    assert found["good", "kind"] == ("passed", "P 4/5")
    # Both values of one declared check together: 1 of 5 and 5 of 5.
    assert found["bad", "kind"] == ("failed", "F 6/10")
    assert found["bad", "all checks"] == ("failed", "F 1/5")
    assert found["open", "schema"] == ("cannot tell", "? 2/5")
    assert found["open", "kind"] == ("does not apply", "–")
    # Of a case of which nothing came nobody knows which checks apply.
    assert found["never", "schema"] == found["never", "all checks"] == ("cannot tell", "?")


def test_a_check_called_as_the_column_of_all_checks_keeps_a_column_of_its_own():
    figures = checks_of([cell("one", check("all checks", 1, 4), clean=0)])
    assert squares(charts_of(summary(figures))[0]) == {
        ("one", "all checks"): ("failed", "F 0/5"),
        ("one", "all checks [2]"): ("failed", "F 1/5"),
    }


def test_beyond_a_hundred_cases_the_failed_ones_are_shown_first_and_it_is_said():
    chart = charts(cases(300))["pass_fail"]
    shown = [one for one in chart.spec["data"]["values"] if one["column"] == "all checks"]
    # Every fourth of 300 failed: 75; the other 25 rows are those that cannot be told.
    assert [one["state"] for one in shown] == ["failed"] * 75 + ["cannot tell"] * 25
    assert chart.spec["title"]["subtitle"].endswith("100 of 300 cases, the failed first")
    for name in ("counts", "stability", "latency_by_case"):
        assert "100 of 300 cases" in charts(cases(300))[name].spec["title"]["subtitle"]


def test_a_chart_of_cases_that_are_not_all_known_one_by_one_says_so():
    known = some_checks(cases(120))
    figures = replace(known, figures=known.figures | {"cases.count.all": Estimate(5_000.0, 5_000)})
    assert (
        charts_of(summary(figures))[0]
        .spec["title"]["subtitle"]
        .endswith("100 of 5,000 cases, the failed first among the first 120")
    )


def test_counts_show_the_band_and_how_many_answers_lie_within_and_outside():
    figures = checks_of([cell("one", check("n_items", 3, 2, values=(1.0, 2.0, 2.0, 5.0, 5.0), low=1.0, high=3.0))])
    chart = charts_of(summary(figures))[1]
    band, marks = (layer["data"]["values"] for layer in chart.spec["layer"])
    assert [(one["low"] < 1, one["high"] > 3, one["high"] < 4) for one in band] == [(True, True, True)]
    assert [(one["value"], one["answers"], one["where"]) for one in marks] == [
        (1, 1, "within"),
        (2, 2, "within"),
        (5, 2, "outside"),
    ]
    assert chart.spec["layer"][0]["encoding"]["x"]["axis"]["values"] == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("low", "high", "values"),
    [(None, -2.0, (-4.0, -1.0)), (2.0, None, (1.0, 900.0)), (0.25, 0.75, (0.1, 0.5)), (2.0, 2.0, (2.0, 2.0))],
)
def test_every_answer_and_every_end_of_a_range_lies_on_the_axis(low, high, values):
    figures = checks_of([cell("one", check("n", 1, 1, values=values, low=low, high=high))])
    layer = charts_of(summary(figures))[1].spec["layer"][0]
    start, end = layer["encoding"]["x"]["scale"]["domain"]
    (band,) = layer["data"]["values"]
    for number in (*values, band["low"], band["high"]):
        assert start <= number <= end
    assert len(layer["encoding"]["x"]["axis"].get("values", [])) <= 13


def test_an_open_end_of_counts_is_not_drawn_below_zero():
    figures = checks_of([cell("one", check("n", 1, 1, values=(0.0, 2.0), low=None, high=1.0))])
    layer = charts_of(summary(figures))[1].spec["layer"][0]
    (band,) = layer["data"]["values"]
    assert -1 < band["low"] < 0 < 1 < band["high"] < 2
    assert layer["encoding"]["x"]["axis"]["values"] == [0, 1, 2]


def test_several_counted_checks_have_a_chart_each_whose_file_stays_in_its_folder(tmp_path):
    counted = [check(name, 1, values=(1.0,), low=1.0, high=1.0) for name in ("../n", "~/n", "n")]
    found = charts_of(summary(checks_of([cell("one", *counted)])))[1:]
    assert len({chart.name for chart in found}) == 3
    assert all(re.fullmatch(r"counts_[A-Za-z0-9_-]+", chart.name) for chart in found)


def test_a_check_that_was_never_run_has_no_chart_of_counts():
    figures = checks_of([cell("one", check("n", 0, 0, 5, low=1.0, high=2.0))])
    assert [chart.name for chart in charts_of(summary(figures))] == ["pass_fail"]


def test_the_heat_map_says_nothing_to_compare_instead_of_a_share():
    values = charts(cases(8))["stability"].spec["data"]["values"]
    found = {(one["row"], one["column"]): (one["share"], one["message"]) for one in values}
    assert found["case_004", "kind"] == (None, "n/a")
    assert found["case_003", "kind"] == (0.3, "30.0 % (n 10)")


def test_what_is_nearly_always_the_same_does_not_read_as_always():
    figures = Part(StabilityDetails("key", {}, (CellStability("one", "", 100, 0, Estimate(0.9999, 4_950)),)))
    (value,) = charts_of(summary(stability=figures))[0].spec["data"]["values"]
    assert value["message"] == ">99.9 % (n 4,950)"


def test_latency_by_case_shows_mean_and_95th_percentile_and_what_was_not_answered():
    figures = latency_of(
        spread(0.3, 2.0, 9),
        2,
        1,
        cells=(CellLatency("a", "", spread(0.3, 2.0, 9), 0, 1), CellLatency("b", "x", no_calls(), 2, 0)),
    )
    (chart,) = charts_of(summary(latency=figures))
    assert chart.spec["data"]["values"] == [
        {"row": "a", "message": "mean 300 ms, p95 2.00 s (n 9), 1 failed", "end": 2.0, "mean": 0.3, "tail": 2.0},
        {"row": "b [x]", "message": "no call with a time, 2 timed out", "end": 0.0},
    ]
    assert chart.spec["title"]["subtitle"].endswith(
        "2 cases and variants; 2 timed out: at least the time waited; 1 failed, not in it"
    )


def test_a_run_without_an_answered_call_has_no_chart_of_latency():
    figures = latency_of(no_calls(), 12, 8, cells=(CellLatency("a", "", no_calls(), 12, 8),))
    assert charts_of(summary(latency=figures)) == []


def test_a_histogram_whose_bars_grow_by_a_ratio_has_an_axis_that_does():
    bars = (Bar(0.01, 0.1, 3), Bar(0.1, 1.0, 0), Bar(1.0, 10.0, 2))
    figures = latency_of(spread(2.0, 9.0), 0, 0, bars=bars, log_bars=True)
    (chart,) = charts_of(summary(latency=figures))
    scale = chart.spec["layer"][0]["encoding"]["x"]["scale"]
    assert (scale["type"], scale["domain"]) == ("log", [0.01, 10.0])
    assert "p95" in texts(drawing.to_svg(chart))


def test_rows_of_the_same_name_stay_apart():
    figures = checks_of([cell("a [b]", check("x", 5)), cell("a", check("x", 0, 5), variant="b")])
    assert rows_of(charts_of(summary(figures))[0]) == ["a [b]", "a [b] [2]"]


def test_of_a_very_long_name_both_ends_are_shown():
    name = "x" * 80 + "-1"
    assert base.short_name(name) == "x" * 31 + "…" + "x" * 30 + "-1"
    assert base.distinct(["x" * 80 + "-1", "x" * 90 + "-1"])[1].endswith("-1 [2]")


# What they look like


@pytest.fixture(scope="module")
def drawn():
    """Every chart of 100 cases, as SVG."""
    return {name: (chart, drawing.to_svg(chart)) for name, chart in charts(cases(100)).items()}


def test_every_row_of_a_hundred_is_named_in_the_picture(drawn):
    for name in ("pass_fail", "counts", "stability", "latency_by_case"):
        chart, svg = drawn[name]
        assert len(rows_of(chart)) == 100
        assert set(rows_of(chart)) <= set(texts(svg))


@pytest.mark.parametrize(
    ("names", "variants"),
    [(["only"], ("",)), (cases(2), ("",)), (LONG, ("",)), (ODD, ("",)), (cases(2), ("small", "large one"))],
    ids=["one", "two", "long", "odd", "variants"],
)
def test_no_name_is_cut_off(names, variants):
    for name, chart in charts(names, variants).items():
        if name == "latency_histogram":
            continue
        svg = drawing.to_svg(chart)
        assert rows_of(chart)
        assert set(rows_of(chart)) <= set(texts(svg)), name
        if names is LONG:
            assert rows_of(chart) == LONG


def test_fifteen_checks_all_have_a_named_column():
    declared = [f"check_number_{number:02d}" for number in range(15)]
    figures = checks_of([cell(name, *(check(each, 5) for each in declared)) for name in cases(3)])
    assert set(declared) <= set(texts(drawing.to_svg(charts_of(summary(figures))[0])))


@pytest.mark.parametrize("n", [8, 100])
def test_a_picture_is_as_large_as_its_cases_need_and_not_blank(n):
    picture = Image.open(io.BytesIO(drawing.to_png(charts(cases(n))["pass_fail"]))).convert("RGB")
    # Two pixels to one of the chart, 18 to a row; title, column names and legend above and below take less than 160.
    assert 0 <= picture.height - 2 * 18 * n <= 320
    assert 700 <= picture.width <= 1_600
    colours = {colour: count for count, colour in picture.getcolors(1 << 20)}
    for state in ("passed", "failed", "cannot tell"):
        assert colours[rgb(STATES[state])] > 200 * n
    # Something stands at every edge of what is drawn, and nothing in the margin: no text runs out of the picture.
    border = [picture.getpixel((x, y)) for x in range(picture.width) for y in (0, 5, picture.height - 1)]
    border += [picture.getpixel((x, y)) for y in range(picture.height) for x in (0, 5, picture.width - 1)]
    assert set(border) == {(255, 255, 255)}


def test_words_on_colours_can_be_read(drawn):
    for name in ("pass_fail", "stability"):
        pairs = list(words_on_fills(drawn[name][1]))
        assert len(pairs) >= 300
        assert min(contrast(ink, fill) for ink, fill in pairs) >= 4.5


def test_words_beside_the_marks_can_be_read():
    assert all(contrast(ink, base.WHITE) >= 4.5 for ink in (base.INK, base.MUTED))
    # Marks need less: 3 to 1, on the page and on the band.
    assert all(contrast(mark, base.WHITE) >= 3 for mark in (base.BLUE, base.VERMILLION))
    assert contrast(base.BLUE, base.PALE_BLUE) >= 3


@pytest.mark.parametrize("sight", ["usual", "deuteranopia", "protanopia", "tritanopia", "none"])
def test_states_can_be_separated_without_full_sight_of_colour(sight):
    seen = {state: perceived(colour, sight) for state, colour in STATES.items()}
    for one, other in itertools.combinations(seen, 2):
        # A difference of 2.3 in CIE L*a*b* is just noticeable; signs in the squares say the same once more.
        assert distance(seen[one], seen[other]) >= 9, (one, other)
    inside, outside = perceived(base.BLUE, sight), perceived(base.VERMILLION, sight)
    # These differ in shape, too.
    assert distance(inside, outside) >= 8


# Drawing


def test_without_the_extra_it_is_said_how_to_get_it(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    assert not drawing.can_draw()
    with pytest.raises(MissingExtra, match=r"\[charts\]"):
        drawing.write_charts(list(charts(["one"]).values()), tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_charts_are_made_without_the_library_that_draws_them():
    code = "import sys, steelyard.report.charts, steelyard.report.charts.drawing; print('vl_convert' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "False\n"


def test_a_chart_may_be_written_under_another_name(tmp_path):
    some = [chart for name, chart in charts(["one"]).items() if name in ("counts", "latency_histogram")]
    written = drawing.write_charts(some, tmp_path / "new", {"counts": "item_counts"})
    assert [path.name for path in written] == ["item_counts.png", "latency_histogram.png"]
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in written)


# How colours are seen: contrast by WCAG 2, sight by Machado, Oliveira and Fernandes (2009), differences in CIE L*a*b*.

SIGHTS = {
    "deuteranopia": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    "protanopia": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "tritanopia": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900)),
    "none": ((0.2126, 0.7152, 0.0722),) * 3,
    "usual": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
}


def rgb(colour):
    if found := re.fullmatch(r"rgb\((\d+), ?(\d+), ?(\d+)\)", colour):
        return tuple(int(part) for part in found.groups())
    names = {"black": "#000000", "white": "#ffffff"}
    return tuple(bytes.fromhex(names.get(colour, colour).removeprefix("#")))


def linear(colour):
    shares = [part / 255 for part in rgb(colour)]
    return [share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares]


def luminance(colour):
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear(colour), strict=True))


def contrast(one, other):
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def perceived(colour, sight):
    """Lightness and the two hues of a colour as somebody of that sight sees it."""
    seen = [
        min(1.0, max(0.0, sum(weight * part for weight, part in zip(row, linear(colour), strict=True))))
        for row in SIGHTS[sight]
    ]
    matrix = ((0.4124, 0.3576, 0.1805), (0.2126, 0.7152, 0.0722), (0.0193, 0.1192, 0.9505))
    white = (0.9505, 1.0, 1.089)
    x, y, z = (
        (value / whole) ** (1 / 3) if value / whole > 0.008856 else 7.787 * value / whole + 16 / 116
        for value, whole in zip(
            (sum(weight * part for weight, part in zip(row, seen, strict=True)) for row in matrix), white, strict=True
        )
    )
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def distance(one, other):
    return sum((a - b) ** 2 for a, b in zip(one, other, strict=True)) ** 0.5


def words_on_fills(svg):
    """The colour of every word in a square of a grid, with that of the square."""
    found = []
    for path in re.finditer(r'<path[^>]*d="M([\d.]+),([\d.]+)h([\d.]+)v([\d.]+)[^"]*"[^>]*fill="([^"]+)"', svg):
        x, y, width, height = (float(part) for part in path.groups()[:4])
        found.append((x + width / 2, y + height / 2, path[5]))
    centres = {(round(x), round(y)): fill for x, y, fill in found}
    for text in re.finditer(r'<text[^>]*transform="translate\(([\d.]+),([\d.]+)\)"[^>]*fill="([^"]+)"', svg):
        # A word stands a few pixels below the middle of its square.
        x, y = float(text[1]), float(text[2])
        for below in range(6):
            if (round(x), round(y - below)) in centres:
                yield text[3], centres[round(x), round(y - below)]
                break
