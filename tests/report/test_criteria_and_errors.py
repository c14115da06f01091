"""Criteria, variants, measures and errors by code, as the text reports show them."""

import html
import io
import json
from dataclasses import replace
from xml.etree import ElementTree

import pytest
from rich.console import Console

from parts import item_reports, reports
from parts.slices import Repeated, a_summary, changed, with_slices
from parts.views import decision_to_json, print_decision, print_report, to_json, to_markdown
from steelyard.analysis.model import FoundCode
from steelyard.decide.gates import Scope, evaluate_criteria
from steelyard.records import Verdict
from steelyard.report import findings, gates, groups
from steelyard.report.render.junit import to_junit
from steelyard.stats.intervals import Estimate
from steelyard.suite.models import Criterion


def printed(report, width=80, show=print_report):
    file = io.StringIO()
    show(report, Console(file=file, width=width))
    return [" ".join(line.split()) for line in file.getvalue().splitlines()]


def markdown(report):
    return html.unescape(to_markdown(report)).replace("\u200b", "")


def with_codes(*codes):
    report = item_reports.items_report()
    return replace(report, summary=replace(report.summary, codes=list(codes)))


def test_every_code_has_count_samples_n_both_averages_and_gain():
    rows = printed(item_reports.items_report())
    # 18 samples of 50.0 % each; half a point more of one sample in 18 is 0.5 / 18 = 2.8 points
    assert "MISS Not reported 18 18 (100.0 %) 18 50.0 % -> 75.0 % +25.0" in rows
    assert "FORMAT Unreadable 1 1 (5.6 %) 18 50.0 % -> up to 52.8 % +2.8" in rows
    assert "| FORMAT | Unreadable | 1 | 1 (5.6 %) | 18 | 50.0 % -> up to 52.8 % |" in markdown(
        item_reports.items_report()
    )


def test_codes_come_in_the_order_of_the_summary():
    rows = findings.errors(item_reports.items_report()).rows
    assert [row[0] for row in rows] == ["MISS", "TEXT", "FORMAT", "EXTRA"]


def test_what_fixing_is_worth_is_n_a_where_nobody_knows():
    report = with_codes(FoundCode("OLD"))
    overall = changed(report.summary.overall, findings={"OLD": 3}, finding_rates={"OLD": Estimate(0.1, 10, 2)})
    report = replace(report, summary=with_slices(report.summary, overall))
    assert findings.errors(report).rows == [
        ("OLD", "3", "1 (10.0 %)", "10, 2 missing", "50.0 % -> n/a", "undefined", "n/a")
    ]
    assert "gain.OLD" not in to_json(report)["figures"]


def test_a_run_without_findings_has_no_table_of_errors():
    report = replace(with_codes(), findings={})
    assert "Errors by code" not in printed(report)
    assert "Errors by code" not in to_markdown(report)
    assert to_json(report)["codes"] == []


def test_json_has_the_definition_the_slices_and_the_items_behind_each_count():
    data = to_json(item_reports.items_report())
    codes = {each["code"]: each for each in data["codes"]}
    missed = codes["MISS"]
    assert missed["about"] == "An item that is there and not in the answer."
    variants = data["slices"]["variant"]
    assert [(each["name"], each["figures"]["findings.MISS"]["value"]) for each in variants] == [
        ("plain", 6),
        ("with-boxes", 6),
        ("step-by-step", 6),
    ]
    assert variants[0]["figures"]["findings.MISS.rate"]["n"] == 6
    assert (missed["n_items"], len(missed["items"])) == (18, 18)
    assert missed["items"][0] == {
        "case_id": "one",
        "variant": "plain",
        "repeat": 0,
        "code": "MISS",
        "severity": "error",
        "place": "B",
        "expected": "second label",
        "got": None,
        "evidence": "no item like it",
        "component": "items",
        "gain": 0.25,
        "box": [0.5, 0.1, 0.9, 0.4],
        "span": None,
        "section": "",
    }
    assert (codes["EXTRA"]["n_items"], len(codes["EXTRA"]["items"])) == (18, 4)
    assert codes["FORMAT"]["at_most"] is True


def test_measures_show_value_interval_sums_and_n():
    (name, value, interval, _, counted, n, _), *_ = groups.measures(item_reports.items_report()).rows
    # 18 samples with 4 items each, half of them read: 36 of 72
    assert (name, value, interval, counted, n) == ("text", "50.0 %", "[40.0, 60.0]", "36 of 72", "18")
    data = to_json(item_reports.items_report())
    assert data["figures"]["score.items.text"]["numerator"] == 36
    assert data["slices"]["variant"][0]["figures"]["score.items.text"]["denominator"] == 24
    assert data["figures"]["repeated.valid in >= 2 of 3 repeats.passed"]["value"] == 6


def test_measures_of_the_variants_turn_where_there_are_more_measures_than_variants():
    report = item_reports.items_report()
    assert "Variant text grouping n" in printed(report)
    names = [f"measure-{letter}" for letter in "abcdefgh"]

    def many(part):
        return changed(part, measures={"items": dict.fromkeys(names, part["score.items.text"])})

    variants = [many(part) for part in report.summary.slices["variant"]]
    wide = replace(report, summary=with_slices(report.summary, many(report.summary.overall), variant=variants))
    rows = printed(wide)
    at = rows.index("Measure plain with-boxes step-by-step")
    assert rows[at + 1 : at + 3] == ["measure-a 50.0 % 50.0 % 50.0 %", "12 of 24 12 of 24 12 of 24"]
    assert rows[at + 17] == "n 6 6 6"


def test_a_ratio_of_nothing_is_n_a():
    report = item_reports.items_report()
    nothing = {"items": {"text": Estimate(None, 0, 2, numerator=0, denominator=0, mean_of=0)}}
    bare = replace(report, summary=a_summary("", changed(report.summary.overall, measures=nothing)))
    ((name, value, interval, _, counted, n, _),) = groups.measures(bare).rows
    assert (name, value, interval, counted, n) == ("text", "n/a", "undefined", "0 of 0", "0, 2 missing")


def test_the_same_measure_of_two_components_is_separated():
    report = item_reports.items_report()
    ratio = Estimate(0.5, 2, numerator=1, denominator=2, mean_of=0)
    overall = changed(report.summary.overall, measures={"a": {"text": ratio}, "b": {"text": ratio}})
    assert list(groups.measured(report, overall)) == ["a.text", "b.text"]


def test_a_criterion_shows_both_rules_its_value_and_whether_it_decides():
    report = item_reports.items_report()
    rows = {row[0]: row[1:6] for row in gates.criteria(report).rows}
    assert rows["text"] == ("score.items.text >= 80 %\nfails: < 60 %", "72.2 %", "18", "[60.0, 85.0]", "AMBIGUOUS")
    extra = "findings.EXTRA == 0\nfails: findings.EXTRA.samples > 1"
    assert rows["invented"] == (extra, "18", "18", "no interval", "FAIL")
    assert rows["json\n(secondary)"] == ("valid in >= 2 of 3 repeats", "6 of 6", "6", "no interval", "PASS")
    assert any("text: Between the two, change the prompt and run again." in row for row in printed(report))


def test_what_the_reasons_of_the_verdict_say_is_not_said_again():
    report = item_reports.items_report()
    reasons = ("text: 72.2 % lies between; Between the two, change the prompt and run again",)
    rows = "\n".join(printed(replace(report, decision=replace(report.decision, reasons=reasons)), width=200))
    assert rows.count("change the prompt and run again") == 1


def test_a_gate_is_no_criterion_and_a_criterion_no_gate():
    report = item_reports.items_report()
    gate = reports.rich_report().decision.gates[0]
    both = replace(report, decision=replace(report.decision, gates=(gate, *report.decision.gates)))
    rows = printed(both, show=print_decision)
    assert rows.index("Gates") < rows.index("Criteria")
    assert [row[0] for row in gates.gates(both).rows] == ["pass_rate >= 90 %"]
    assert "pass_rate >= 90 %" not in [row[0] for row in gates.criteria(both).rows]
    assert "FAIL at least one gate and criterion fails" in rows


def test_every_variant_has_a_row_with_each_criterion_in_figures_and_words():
    rows = printed(item_reports.items_report(), show=print_decision)
    at = rows.index("Criteria by variant")
    assert rows[at + 1 : at + 6] == [
        "Variant Verdict text invented grouping json n",
        "plain AMBIGUOUS 72.2 % 0 90.0 % 2 of 2 6",
        "between ok ok ok",
        "with-boxes FAIL 72.2 % 3 90.0 % 2 of 2 6",
        "between fails ok ok",
    ]
    assert "secondary, does not decide: grouping, json" in rows
    assert any(row.startswith("cannot tell which variant is best: step-by-step leads") for row in rows)


def test_a_terminal_too_narrow_for_all_criteria_gets_a_paragraph_a_variant():
    report = item_reports.items_report()
    names = [f"criterion-{letter}" for letter in "abcdefgh"]
    wide = tuple(
        replace(each, criteria=tuple(replace(each.criteria[0], name=name) for name in names))
        for each in report.decision.by_variant
    )
    many = replace(report, decision=replace(report.decision, by_variant=wide))
    rows = printed(many)
    told = " ".join(rows)
    assert "plain Verdict AMBIGUOUS; criterion-a 72.2 % between; criterion-b" in told
    assert told.count("criterion-h 72.2 % between; n 6") == 3
    assert "Variant Verdict " + " ".join(names) + " n" in printed(many, width=200)


def test_without_criteria_the_best_variant_is_named_below_the_variants():
    report = item_reports.items_report()
    rows = printed(replace(report, decision=replace(report.decision, gates=(), by_variant=())))
    at = next(number for number, row in enumerate(rows) if row.startswith("By variant"))
    assert rows[at + 5].startswith("cannot tell which variant is best")
    assert sum(row.startswith("cannot tell which variant") for row in rows) == 1


def test_json_has_the_criteria_of_the_run_and_of_every_variant():
    data = decision_to_json(item_reports.items_report())
    assert data["gates"][1]["name"] == "invented"
    assert data["gates"][1]["fails"] == "findings.EXTRA.samples > 1"
    assert data["gates"][3]["secondary"] is True
    assert [each["variant"] for each in data["by_variant"]] == ["plain", "with-boxes", "step-by-step"]
    assert data["by_variant"][1]["criteria"][1]["verdict"] == "FAIL"
    best = to_json(item_reports.items_report())["best_variant"]
    assert (best["best"], best["leader"], best["others"]) == (None, "step-by-step", ["plain"])
    json.dumps(data, allow_nan=False)


def test_a_gate_has_no_name_in_json():
    assert to_json(reports.rich_report())["gates"][0]["name"] == ""


def test_junit_has_a_testcase_a_criterion_and_skips_secondary_ones_that_do_not_pass():
    report = item_reports.items_report()
    *others, over_repeats = report.decision.gates
    failing = replace(over_repeats, verdict=Verdict.FAIL, reason="5 of 6 hold")
    changed = replace(report, decision=replace(report.decision, gates=(*others, failing)))
    root = ElementTree.fromstring(to_junit(changed).encode())
    gates = next(suite for suite in root.iter("testsuite") if suite.get("name") == "gates")
    found = {case.get("name"): case for case in gates.iter("testcase")}
    assert found["text: score.items.text >= 80 %"].find("error").get("type") == "AMBIGUOUS"
    assert found["invented: findings.EXTRA == 0"].find("failure") is not None
    skipped = found["json: valid in >= 2 of 3 repeats"]
    assert skipped.find("failure") is None
    assert skipped.find("skipped").get("message") == "secondary, does not decide: FAIL: 5 of 6 hold"
    assert gates.get("skipped") == "1"
    assert found["grouping: score.items.grouping >= 80 %"].find("skipped") is None


@pytest.mark.parametrize(
    ("value", "fails", "word"),
    [
        (Estimate(0.9, 20, 0, 0.85, 0.95), "average < 60 %", "ok"),
        (Estimate(0.5, 20, 0, 0.45, 0.55), "average < 60 %", "fails"),
        (Estimate(0.7, 20, 0, 0.65, 0.75), "average < 60 %", "between"),
        (Estimate(0.7, 20, 0, 0.65, 0.75), "median < 60 %", "between"),
        (Estimate(None, 0, 20), "average < 60 %", "undecided"),
    ],
)
def test_the_words_for_a_criterion_follow_what_release_decides(value, fails, word):
    report = item_reports.items_report()
    overall = changed(report.summary.overall, average=value, median=value)
    scope = Scope(with_slices(report.summary, overall), overall)
    criterion = Criterion(name="average", passes="average >= 80 %", fails=fails, secondary=False, about="")
    (result,) = evaluate_criteria([criterion], scope)
    assert gates.standing(result) == word


def test_over_repeats_without_enough_runs_it_is_undecided():
    report = item_reports.items_report()
    overall = changed(report.summary.overall, repeated={item_reports.VALID: Repeated(0, 0, 0)})
    scope = Scope(with_slices(report.summary, overall), overall)
    criterion = Criterion(name="json", passes=item_reports.VALID, fails=None, secondary=False, about="")
    (result,) = evaluate_criteria([criterion], scope)
    assert gates.standing(result) == "undecided"
    assert gates.value(result) == "0 of 0"


@pytest.mark.parametrize("width", [60, 80, 100])
def test_the_report_fits_its_terminal(width):
    file = io.StringIO()
    print_report(item_reports.items_report(), Console(file=file, width=width))
    assert max(map(len, file.getvalue().splitlines())) <= width
