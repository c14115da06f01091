"""Under every table with intervals or p-values stands how they were made, and the seed of what was drawn."""

from __future__ import annotations

import re
from dataclasses import replace
from html import unescape
from types import SimpleNamespace

import pytest

from parts import comparisons, reports
from parts.columns import Made
from parts.compared import compared
from steelyard.analysis.summary import _method
from steelyard.comparing import report as compare_report
from steelyard.comparing.change_texts import of_changes
from steelyard.comparing.compare import compare
from steelyard.pairing.model import MetricChange
from steelyard.report import gates, groups
from steelyard.report.format import AND_BASELINES, OF_A_RUN
from steelyard.stats.intervals import Estimate

SEED = "seed 20250101"


def shown(view: str) -> str:
    """A view as it reads: without marks of Markdown and HTML that keep foreign text from being rendered."""
    return " ".join(unescape(view).replace("\u200b", "").split())


def change(test: str, n: int = 30, *, scale: tuple[float, float] | None = (0.0, 1.0), sides=(9, 15, 6)) -> MetricChange:
    difference = Estimate(0.1, n, 0, 0.0, 0.2)
    rose, level, fell = sides
    side = Estimate(0.5, n)
    return MetricChange(
        "x",
        "",
        "share",
        "higher",
        side,
        side,
        difference,
        p=0.2,
        test=test,
        scale=scale,
        rose=rose,
        level=level,
        fell=fell,
    )


def test_the_line_names_the_tests_and_intervals_of_the_rows_above_it():
    assert (
        of_changes([change("exact McNemar")], "Holm")
        == "p: exact McNemar, Holm | 95 %: Bonett and Price | nothing drawn"
    )
    assert of_changes([change("drawn sign flips"), change("exact McNemar")], "Holm") == (
        f"p: drawn sign flips, exact McNemar, Holm | 95 %: studentised bootstrap, Bonett and Price | {SEED}"
    )
    # 4 and 201 cases have Student's interval; where most did not move two cases are added.
    for n in (4, 201):
        assert of_changes([change("paired t", n)], "Holm") == "p: paired t, Holm | 95 %: Student t | nothing drawn"
    few = of_changes([change("exact sign flips", sides=(3, 26, 1))], "Holm")
    assert few == "p: exact sign flips, Holm | 95 %: Student t with two more cases | nothing drawn"
    assert of_changes([change("drawn sign flips")], "Holm", intervals=False) == f"p: drawn sign flips, Holm | {SEED}"


def test_nothing_is_signed_where_nothing_was_tested():
    assert of_changes([replace(change(""), p=None)], "Holm") == ""
    assert of_changes([], "Holm") == ""


def test_short_intervals_are_reported_where_they_may_be():
    # By simulation: means of what has no ends, such as tokens.
    told = "with 5 % outliers holds 38 % of 10 cases, 78 % of 30, 93 to 99 % from 100 on"
    assert told in of_changes([change("exact sign flips", 20, scale=None)], "Holm")
    assert told in of_changes([change("exact sign flips", 400, scale=None)], "Holm")
    assert told not in of_changes([change("exact sign flips", 401, scale=None)], "Holm")
    assert told not in of_changes([change("exact sign flips", 20)], "Holm")
    assert told not in of_changes([change("quantile", 20, scale=None)], "Holm")


@pytest.mark.parametrize("made", ["rich", "better", "no_pass_rule"])
def test_every_table_of_a_comparison_with_p_values_is_signed(made):
    comparison = getattr(comparisons, made)()
    tested = [
        table
        for table in [*compare_report.main_tables(comparison), *compare_report.other_tables(comparison)]
        if any(re.fullmatch(r"<?[01]\.\d+", cell) for row in table.rows for cell in _under(table, "p", row))
    ]
    assert len(tested) > 1
    for table in tested:
        assert re.search(r"^p: .*\(Holm\).* \| (seed 20250101|nothing drawn)", table.signature), table.title


def _under(table, title, row):
    return [cell for cell, column in zip(row, table.columns, strict=True) if column.title == title]


def test_the_tables_of_a_run_with_intervals_are_signed():
    report = reports.rich_report()
    with_intervals = [
        *(groups.slices(report, factor) for factor in report.summary.slices),
        groups.components(report),
        gates.gates(report),
    ]
    assert {table.signature for table in with_intervals} == {OF_A_RUN}


def test_gates_on_a_baseline_say_that_they_are_paired():
    report = reports.rich_report()
    paired = [replace(gate, baseline="r1") for gate in report.decision.gates]
    held = replace(report, decision=replace(report.decision, gates=paired))
    assert gates.gates(held).signature == AND_BASELINES
    assert gates.gates(report).signature == OF_A_RUN


def test_the_method_of_a_run_is_never_cut_off_in_a_terminal():
    table = SimpleNamespace(measures=["one"], unit_names=["a"] * 12_345, case_ids=["a"] * 123_456)
    assert len(_method(table, clustered=True)) <= 600


def test_one_case_has_an_undefined_interval_p_and_effect():
    one = compare(compared([Made("only", 0.2)]), compared([Made("only", 0.9)]))
    row = compare_report.main_figures(one).rows[0]
    assert (row[4], row[5], row[7]) == ("undefined", "undefined", "undefined")
    assert one.headline.significance == "undefined: one case shows no spread"
    apart = compare(compared([Made("one", 0.2)]), compared([Made("other", 0.9)]))
    assert apart.headline.significance == "undefined: nothing can be compared"
