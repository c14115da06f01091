"""Tables of figures: rows from names and slices, units and links from the registry and the suite."""

from parts.slices import a_slice
from steelyard.metrics.figures import Figures, Slice
from steelyard.report.document import Gauge
from steelyard.report.figures import (
    base,
    estimate,
    figures_table,
    gauge,
    interval,
    kind_of,
    selection_of,
    stacked,
    stacked_sums,
    sums,
    value,
)
from steelyard.stats.intervals import Estimate
from steelyard.store.figures import Figure, Kind, SliceKey
from steelyard.store.selection import Selection
from steelyard.suite.models import SuiteModel

SUITE = SuiteModel.from_data(
    {
        "name": "parts",
        "components": [
            {"name": "name", "weight": 3.0, "scale": [0.0, 1.0]},
            {"name": "tone", "weight": 1.0, "scale": [1.0, 5.0]},
        ],
        "metrics": [{"name": "wait", "unit": "s", "better": "lower"}],
    }
)
OVERALL = a_slice(
    "",
    "",
    10,
    average=Estimate(0.6, 9, 1, 0.4, 0.8),
    bands={"Good": Estimate(0.25, 8, 2, 0.1, 0.5), "<band>": Estimate(0.75, 8, 2, 0.5, 0.9)},
    components={"name": Estimate(0.5, 9, 1, 0.3, 0.7), "tone": Estimate(2.0, 9, 1, 1.5, 3.0)},
    metrics={"wait": Estimate(2.5, 4, 0, 2.0, 3.0)},
    measures={"name": {"recall": Estimate(0.8, 9, 1, numerator=8, denominator=10)}},
)


def named(factor: str, name: str, average: Estimate) -> Slice:
    return a_slice(factor, name, average.n + average.n_missing, average=average)


def test_a_pattern_gives_a_row_for_each_of_its_figures_with_interval_n_and_missing():
    table = figures_table("Bands", SUITE, OVERALL, "band.<band>", *estimate("Share"), head="Band")
    assert [column.title for column in table.columns] == ["Band", "Share", "95 % interval", "n"]
    assert table.rows == [
        ("Good", "25.0 %", "[10.0, 50.0]", "8, 2 missing"),
        # The name of a band may look like a pattern.
        ("<band>", "75.0 %", "[50.0, 90.0]", "8, 2 missing"),
    ]
    assert [row[1].selection for row in table.rows] == [Selection(band="Good"), Selection(band="<band>")]


def test_each_lists_what_fills_a_pattern_also_where_there_is_no_figure():
    table = figures_table("Bands", SUITE, OVERALL, "band.<band>", *estimate("Share"), each=["Poor", "Good"])
    assert [tuple(row) for row in table.rows] == [
        ("Poor", "n/a", "undefined", "0, 10 missing"),
        ("Good", "25.0 %", "[10.0, 50.0]", "8, 2 missing"),
    ]


def test_slices_are_rows_and_metrics_columns():
    slices = [
        named("category", "lamp", Estimate(0.5, 2, 0, 0.1, 0.9)),
        named("category", "chair", Estimate(None, 0, 3)),
    ]
    table = figures_table("By category", SUITE, slices, "", value("Average", "average"), base("average"))
    assert table.rows == [("lamp", "50.0 %", "2"), ("chair", "n/a", "0, 3 missing")]
    assert table.rows[0][1].selection == Selection(category="lamp")


def test_a_level_of_one_of_several_factors_selects_nothing():
    level = named("variant.prompt", "short", Estimate(0.5, 2))
    table = figures_table("By prompt", SUITE, [level], "", value("Average", "average"))
    assert type(table.rows[0][1]) is str


def test_points_of_a_component_are_on_its_scale():
    table = figures_table("C", SUITE, OVERALL, "score.<component>.points", value(), interval(), gauge())
    assert [row[:3] for row in table.rows] == [
        ("name", "50.0 %", "[30.0, 70.0]"),
        ("tone", "2.00 of 1..5", "[1.50, 3.00]"),
    ]
    # (2 - 1) / (5 - 1), likewise 1.5 and 3.
    assert table.rows[1][3] == Gauge(0.25, 0.125, 0.5, label="2.00 of 1..5")


def test_a_metric_of_the_suite_has_the_unit_that_it_declares_in_every_slice():
    variant = a_slice("variant", "fast", 4, metrics={"wait": Estimate(0.014, 4)})
    table = figures_table("Own", SUITE, [OVERALL, variant], {"wait": "wait"}, value())
    assert table.rows == [("wait", "2.50 s"), ("variant.fast.wait", "14 ms")]
    assert table.rows[1][1].selection == Selection(variant="fast")


def test_a_column_is_of_another_metric_of_the_row():
    rows = [
        Figure(SliceKey(), f"judge.{kind}.v1.0", Kind(f"judge.{kind}.<dimension>", ("v1.0",)), Estimate(share, 4))
        for kind, share in (("top_share", 0.25), ("middle_share", 0.5))
    ]
    table = figures_table(
        "Scale",
        SUITE,
        Figures(rows).slice(),
        "judge.top_share.<dimension>",
        value("Top"),
        stacked("Middle", "judge.middle_share.<dimension>"),
    )
    assert table.rows == [("v1.0", "25.0 %", "50.0 %\nno interval")]


def test_rows_and_columns_of_a_table_change_places():
    kind = Kind("score.<component>.<measure>", ("name", "recall"))
    table = figures_table("M", SUITE, [OVERALL], "", stacked_sums("recall", kind), base("average"), head="Variant")
    turned = table.turned("Measure")
    assert [column.title for column in turned.columns] == ["Measure", ""]
    assert turned.rows == [("recall", "80.0 %\n8 of 10"), ("n", "9, 1 missing")]


def test_a_rate_of_outcomes_leads_to_the_samples_that_ended_so():
    names = {"malformed_rate": "malformed", "scored_rate": "scored", "inconclusive_rate": "inconclusive"}
    for name, outcome in names.items():
        assert selection_of("", "", Kind(name)) == Selection(outcome=outcome)
        assert selection_of("category", "lamp", Kind(name)) == Selection(category="lamp", outcome=outcome)


def test_what_fills_a_name_selects_the_samples_that_have_it():
    asked = {
        "band.<band>": Selection(band="x"),
        "score.<component>.points": Selection(component="x"),
        "findings.<code>.rate": Selection(code="x"),
        "check.<check>.passed": Selection(check="x"),
        "section.<section>": Selection(section="x"),
        "failures.<kind>": Selection(),
    }
    assert {pattern: selection_of("", "", Kind(pattern, ("x",))) for pattern in asked} == asked
    # A finding of a code in a section is of both.
    both = selection_of("", "", Kind("section.<section>.<code>", ("intro", "NAME")))
    assert both == Selection(section="intro", code="NAME")


def test_the_sums_in_a_column_are_those_of_its_own_metric():
    recall = Kind("score.<component>.<measure>", ("name", "recall"))
    rows = figures_table("M", SUITE, OVERALL, {"average": "average"}, sums("Counted", recall), sums("Own")).rows
    assert rows == [("average", "8 of 10", "")]


def test_a_name_with_dots_is_of_what_any_slice_says_that_it_is():
    points = Kind("score.<component>.points", ("a.b",))
    other = Figures([Figure(SliceKey("category", "lamp"), "score.a.b.points", points, Estimate(0.5, 2))])
    assert kind_of("score.a.b.points", [OVERALL, *other.slices("category")]) == points
    # Of what no slice has, the registry tells.
    assert kind_of("score.tone.points", []) == Kind("score.<component>.points", ("tone",))
    assert kind_of("a.b.c.d.e", [OVERALL]) == Kind("a.b.c.d.e")
