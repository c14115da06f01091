"""The report as a CI server reads it."""

from dataclasses import replace
from xml.etree import ElementTree

import pytest

from parts import item_reports, reports
from steelyard.decide.gates import Decision
from steelyard.records import Verdict
from steelyard.report.render.junit import to_junit


def parsed(report):
    return ElementTree.fromstring(to_junit(report).encode())


@pytest.mark.parametrize("name", item_reports.EDGES)
def test_every_kind_of_report_is_well_formed_and_counts_right(name):
    root = parsed(item_reports.EDGES[name]())
    assert root.tag == "testsuites"
    for element in [root, *root.iter("testsuite")]:
        cases = list(element.iter("testcase"))
        assert int(element.get("tests")) == len(cases)
        assert int(element.get("failures")) == sum(case.find("failure") is not None for case in cases)
        assert int(element.get("errors")) == sum(case.find("error") is not None for case in cases)


def test_a_sample_below_the_threshold_is_a_failure_with_its_findings():
    root = parsed(reports.rich_report())
    case = next(case for case in root.iter("testcase") if case.get("name") == "part-013")
    failure = case.find("failure")
    assert case.get("classname") == "parts.levers"
    assert case.get("time") == "9.400"
    assert failure.get("message").startswith("34.0 % does not reach score >= 75 %")
    assert failure.text.splitlines()[0] == "NAME name: expected bevel gear, got spring"
    assert failure.text.splitlines()[1] == 'PLACE place: expected ["gearbox"], got nothing'


def test_an_inconclusive_sample_is_an_error_not_a_failure():
    root = parsed(reports.rich_report())
    case = next(case for case in root.iter("testcase") if case.get("name") == "part-021")
    assert case.find("failure") is None
    assert case.find("error").get("message") == "timeout: no answer within 60 s"


def test_a_malformed_answer_is_a_failure():
    root = parsed(reports.rich_report())
    case = next(case for case in root.iter("testcase") if case.get("name") == "part-034")
    assert case.find("failure").get("type") == "Failed"


def test_a_malformed_answer_is_a_failure_also_where_nothing_says_what_passes():
    broken = reports.detail(replace(reports.line("broken", 0.0), outcome="malformed"), passed=None)
    root = parsed(reports.rich_report(details=[broken]))
    case = next(case for case in root.iter("testcase") if case.get("name") == "broken")
    assert case.find("failure") is not None


def test_the_stored_pass_is_believed_not_worked_out_again():
    edge = reports.detail(reports.line("edge", 0.7499999999), passed=True)
    root = parsed(reports.rich_report(details=[edge]))
    case = next(case for case in root.iter("testcase") if case.get("name") == "edge")
    assert case.find("failure") is None


def test_gates_are_a_testsuite_of_their_own():
    gates = next(suite for suite in parsed(reports.rich_report()).iter("testsuite") if suite.get("name") == "gates")
    verdicts = {case.get("name"): [child.tag for child in case if child.tag != "system-out"] for case in gates}
    verdicts.pop(None)
    assert verdicts == {
        "pass_rate >= 90 %": ["failure"],
        "category.gears.average >= 60 %": [],
        "category.levers.average >= 60 %": ["error"],
        "findings.PLACE == 0": ["failure"],
        "verdict of the run": ["failure"],
    }


def test_a_suspect_run_is_not_green_even_when_all_gates_hold():
    report = reports.rich_report()
    held = tuple(gate for gate in report.decision.gates if gate.verdict is Verdict.PASS)
    suspect = replace(
        report,
        header=reports.header(suspect=("zero tokens",)),
        decision=Decision(Verdict.AMBIGUOUS, ("the run is suspect",), held),
        details=[reports.detail()],
    )
    root = parsed(suspect)
    assert root.get("errors") == "1"
    assert "zero tokens" in root.find(".//error").text


def test_a_testsuite_a_category():
    names = [suite.get("name") for suite in parsed(reports.rich_report()).iter("testsuite")]
    assert names == ["gates", "seals", "levers", "springs", "gears"]


@pytest.mark.parametrize("hostile", item_reports.HOSTILE_REPORTS)
def test_characters_that_xml_forbids_are_spelled_out(hostile):
    text = to_junit(hostile())
    assert "\\x1b[2J" in text
    assert "\\ud800" in text
    assert "\x00" not in text


@pytest.mark.parametrize("hostile", item_reports.HOSTILE_REPORTS)
def test_hostile_text_comes_back_as_text(hostile):
    root = parsed(hostile())
    tags = {element.tag for element in root.iter()}
    assert tags <= {
        "testsuites",
        "testsuite",
        "testcase",
        "failure",
        "error",
        "skipped",
        "system-out",
        "properties",
        "property",
    }
    assert "<script>alert('x')</script>" in root.get("name")


def test_repeats_and_variants_have_names_of_their_own():
    root = parsed(reports.variants_report())
    names = [case.get("name") for case in root.iter("testcase") if case.get("name").startswith("part-1")]
    assert names == ["part-1 [short] #1", "part-1 [short] #2", "part-1 [long] #1", "part-1 [long] #2"]


def test_samples_that_are_not_listed_are_said_to_be_missing():
    assert "20 are not shown" in to_junit(reports.rich_report(n_samples=70))
