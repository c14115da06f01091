"""Every column of the tables by group shows the figure that it is called after, with its own interval and n."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from parts.reports import SUITE, detail, header, line, rich_report
from parts.slices import a_slice, changed, with_slices
from steelyard.metrics.figures import Slice
from steelyard.report import groups
from steelyard.report.document import Gauge, Table
from steelyard.report.model import Report
from steelyard.stats.intervals import Estimate

AVERAGE = Estimate(0.6, 8, 2, 0.45, 0.75)
RATE = Estimate(0.5, 7, 3, 0.25, 0.8)
MEDIAN = Estimate(0.7, 6, 4, 0.55, 0.9)
"""Three figures of a slice of ten samples, alike in nothing."""


def a_group(factor: str, name: str, average: Estimate = AVERAGE, **more: Any) -> Slice:
    return a_slice(factor, name, 10, average=average, pass_rate=RATE, median=MEDIAN, **more)


def report(*slices: Slice, suite: dict[str, Any] | None = None, **overall: Any) -> Report:
    """A report of a run that is cut by the factor of these slices alone."""
    rich = rich_report(header=header(suite=SUITE | (suite or {}), n_planned=50))
    whole = changed(rich.summary.overall, **overall)
    factors = {part.factor: [item for item in slices if item.factor == part.factor] for part in slices}
    summary = with_slices(rich.summary, whole, **factors)
    return replace(rich, summary=summary, decision=replace(rich.decision, by_variant=()))


def columns(table: Table) -> list[str]:
    return [column.title for column in table.columns]


def test_a_group_has_its_average_and_its_pass_rate_each_with_its_own_interval():
    table = groups.slices(report(a_group("category", "gears")), "category")
    assert columns(table) == ["Category", "Average", "95 % interval", "0 to 100 %", "Pass rate", "95 % interval", "n"]
    label = "60.0 % [45.0, 75.0] n 8, 2 missing"
    gauge = Gauge(0.6, 0.45, 0.75, label=label)
    assert table.rows == [("gears", "60.0 %", "[45.0, 75.0]", gauge, "50.0 %", "[25.0, 80.0]", "8, 2 missing")]


def test_of_many_groups_the_lowest_averages_come_first_and_those_without_one_last():
    many = [a_group("category", f"g{n:02d}", Estimate(n / 100, 8, 2)) for n in (5, *range(30, 9, -1))]
    many.append(a_group("category", "none", Estimate(None, 0, 10)))
    table = groups.slices(report(*many), "category")
    names = [row[0] for row in table.rows]
    assert (names[:3], names[-2:]) == (["g05", "g10", "g11"], ["g30", "none"])
    assert table.note == "the lowest averages of 23 first"


def test_of_many_variants_a_screen_shows_the_highest_averages():
    some = [a_group("variant", name, Estimate(value, 8, 2)) for name, value in (("a", 0.3), ("b", 0.9), ("c", 0.5))]
    table = groups.variants(report(*some), 2)
    assert table.title == "By variant (the highest averages of 3)"
    assert [row[:2] for row in table.rows] == [("b", "90.0 %"), ("c", "50.0 %")]
    whole = groups.variants(report(*some), 3)
    assert (whole.title, [row[0] for row in whole.rows]) == ("By variant", ["a", "b", "c"])
    assert columns(whole) == ["Variant", "Average", "95 % interval", "n", "Pass rate"]
    assert whole.rows[0][1:] == ("30.0 %", "no interval", "8, 2 missing", "50.0 %")


OWN = {"metrics": [{"name": "wait", "unit": "s", "better": "lower"}]}


def test_a_metric_of_the_suite_is_shown_of_the_run_and_of_every_variant():
    own = [Estimate(2.5, 9, 1, 2.0, 3.0), Estimate(1.5, 5, 0, 1.0, 2.0), Estimate(3.5, 4, 1, 3.0, 4.0)]
    two = [a_group("variant", name, metrics={"wait": item}) for name, item in zip("ab", own[1:], strict=True)]
    shown = groups.own_metrics(report(*two, suite=OWN, metrics={"wait": own[0]}))
    assert shown.rows == [
        ("wait", "2.50 s", "[2.00 s, 3.00 s]", "9, 1 missing"),
        ("variant.a.wait", "1.50 s", "[1.00 s, 2.00 s]", "5"),
        ("variant.b.wait", "3.50 s", "[3.00 s, 4.00 s]", "4, 1 missing"),
    ]
    # A single variant is the whole run.
    assert len(groups.own_metrics(report(two[0], suite=OWN, metrics={"wait": own[0]})).rows) == 1


def test_components_have_their_weight_their_scale_and_their_own_n():
    table = groups.components(report())
    assert columns(table) == ["Component", "Weight", "Average", "95 % interval", "Scale", "n"]
    name, place, clarity = table.rows
    assert (name[0], name[1], name[2], name[5]) == ("name", "70 %", "87.1 %", "49, 1 missing")
    assert (place[1], place[2], place[3], place[5]) == ("20 %", "61.9 %", "[49.0, 74.0]", "46, 4 missing")
    assert (clarity[1], clarity[2], clarity[3]) == ("10 %", "3.82 of 1..5", "[3.51, 4.10]")
    # (3.82 - 1) / (5 - 1), likewise 3.51 and 4.10.
    assert [clarity[4].value, clarity[4].low, clarity[4].high] == pytest.approx([0.705, 0.6275, 0.775])


def ratio(hits: int, of: int, n: int = 10) -> Estimate:
    return Estimate(hits / of if of else None, n, 10 - n, numerator=hits, denominator=of)


def test_measures_by_variant_stand_over_their_sums_with_the_n_of_the_variant():
    measures = {"name": {"recall": ratio(6, 8), "precision": ratio(6, 12)}}
    two = [a_group("variant", name, measures=measures) for name in "ab"]
    table = groups.measures_by_variant(report(*two, measures=measures))
    assert columns(table) == ["Variant", "recall", "precision", "n"]
    assert table.rows[0] == ("a", "75.0 %\n6 of 8", "50.0 %\n6 of 12", "8, 2 missing")


def test_a_measure_over_readable_answers_is_shown_only_where_it_is_another():
    def shown(**of_name: Estimate) -> list[str]:
        given = report(measures={"name": of_name})
        return list(groups.measured(given, given.summary.overall))

    assert shown(**{"recall": ratio(6, 8), "recall.readable": ratio(6, 8)}) == ["recall"]
    assert shown(**{"recall": ratio(6, 8), "recall.readable": ratio(6, 7)}) == ["recall", "recall.readable"]
    means = {name: Estimate(value, 8, 2, mean_of=2) for name, value in (("f", 0.5), ("f.readable", 0.625))}
    assert shown(**means) == ["f", "f.readable"]
    assert shown(**{"f": means["f"], "f.readable": means["f"]}) == ["f"]
    # The sums of another measure say nothing of this one.
    assert shown(recall=ratio(6, 8), precision=ratio(6, 8)) == ["recall", "precision"]
    # What no answer counted is left out where something else was counted.
    assert shown(recall=ratio(6, 8), precision=ratio(0, 0, 0)) == ["recall"]
    assert shown(precision=ratio(0, 0, 0)) == ["precision"]


def test_words_that_a_judge_lists_are_shares_of_all_that_it_lists():
    words = {"bold": ratio(6, 10), "shy": ratio(3, 10)}
    stated = {"name": "traits", "kind": "stated", "weight": 0, "scale": [0, 1], "about": "Traits."}
    stated["measures"] = {
        word: {"numerator": word, "denominator": "all", "about": "", "better": "higher"} for word in words
    }
    (table,) = groups.stated(report(suite={"components": [stated]}, measures={"traits": words}))
    assert [row[:3] for row in table.rows] == [("bold", "6 of 10", "60.0 %"), ("shy", "3 of 10", "30.0 %")]
    # 10 - 6 - 3.
    assert table.note.endswith("; 1 have another word or none")


def test_a_cell_of_cases_by_variant_is_the_mean_of_its_repeats_with_what_is_missing():
    scores = {("c1", "a"): (0.5, 1.0, None), ("c1", "b"): (0.25,), ("c2", "a"): (None,)}
    details = [
        detail(line(case, score, variant=variant, repeat=repeat, outcome="scored" if score else "target_failed"))
        for (case, variant), of in scores.items()
        for repeat, score in enumerate(of)
    ]
    given = replace(
        report(a_group("variant", "a"), a_group("variant", "b")), details=details, grid=[], n_samples=len(details)
    )
    table = groups.cases_by_variant(given)
    assert columns(table) == ["Case", "a", "b"]
    # (0.5 + 1) / 2 of three.
    assert table.rows == [
        ("c1", "75.0 % n 2, 1 missing", "25.0 % n 1"),
        ("c2", "n/a n 0, 1 missing", "not scored"),
    ]
    assert (table.total, table.note) == (2, "average score over the repeats")


def test_a_grid_of_some_cases_says_how_many_there_are():
    details = [detail(line("c1", 0.5, variant=name)) for name in "ab"]
    given = report(a_group("variant", "a"), a_group("variant", "b"), suite={"n_cases": 40})
    table = groups.cases_by_variant(replace(given, details=details, grid=details, n_samples=80))
    assert (table.total, len(table.rows)) == (40, 1)
    assert table.note == "average score over the repeats; of the cases with the worst samples"


def test_bands_have_their_floor_their_count_and_the_samples_that_are_in_them():
    table = groups.bands(report())
    assert columns(table) == ["Band", "Score", "", "Samples", "Share"]
    name, floor, bar, n, share = table.rows[1]
    assert (name, floor, bar.value, n, share) == ("Good", ">= 75 %", 9 / 49, "9 of 49", "18.4 %")
    assert table.rows[1][3].selection.band == "Good"
    nothing = groups.bands(report(bands={"Good": Estimate(None, 0, 50)}))
    assert nothing.rows == []
