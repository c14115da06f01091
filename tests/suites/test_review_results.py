"""Results files of the seed's runner: what they say is kept, what is wrong is listed, nothing is made up."""

import copy
import json

import pytest

from parts.command import invoke
from parts.repeats import n_cases, n_checks
from parts.reports import header
from parts.slices import a_slice, a_summary
from steelyard import UsageError, load_suite
from steelyard.analysis.checks import CellChecks, CheckDetails, CheckOfCell
from steelyard.analysis.stored import summary_of
from steelyard.exchange.imports import export_foreign, import_foreign
from steelyard.records import CheckState, Outcome, Verdict
from steelyard.stats.intervals import Estimate
from steelyard.store.sql import open_store
from steelyard.suites.review.results import Format
from steelyard.suites.review.results import results_document as document_of


def check(name, passed, detail=""):
    return {"check": name, "passed": passed, "detail": detail}


def times(mean, low, high):
    return {"mean_ms": mean, "min_ms": low, "max_ms": high, "p95_ms": high}


def case(name, passed, checks, latency, stability=None, counts=None):
    result = {"case_id": name, "description": f"about {name}", "latency": latency, "pass": passed}
    if stability is not None:
        result["repeatability"] = {"span_stability": stability[0], "severity_stability": stability[1]}
        result["observation_counts"] = counts
    return result | {"expectation_results": checks}


FILE = {
    "backend": "ollama",
    "repeats": 10,
    "cases_passed": 1,
    "cases_total": 2,
    "expectations_passed": 2,
    "expectations_total": 3,
    # Of the smallest and largest times only: (100 + 400 + 10 + 30) / 4.
    "overall_latency": {"mean_ms": 135, "min_ms": 10, "max_ms": 400, "p95_ms": 400},
    "results": [
        case(
            "case_02",
            False,
            [
                check("observation_count", True, "4 (expected 2-8)"),
                check("expected_severity:warning", False, "NOT found in observations"),
            ],
            times(120, 100, 400),
            (0.5, 1.0),
            [4, 5, 4],
        ),
        case("case_07", True, [check("expected_error_code", True)], times(20, 10, 30)),
    ],
}


@pytest.fixture(scope="module")
def suite():
    return load_suite("review")


@pytest.fixture
def store(tmp_path):
    opened = open_store(str(tmp_path / "runs.db"))
    yield opened
    opened.close()


@pytest.fixture
def brought_in(suite, store, tmp_path):
    def imported(document):
        path = tmp_path / "results.json"
        path.write_text(json.dumps(document))
        return import_foreign(suite, store, path)

    return imported


def changed(**changes):
    return copy.deepcopy(FILE) | changes


def message(document):
    return list(Format().read(document).differences)


def test_checks_stand_as_they_were_recorded_and_no_repeat_is_made_up(brought_in, store):
    found = brought_in(FILE)
    verbs, empty = (sample for sample, _ in store.samples(found.header.id))
    assert [(one.name, one.state) for one in verbs.checks] == [
        ("observation_count", CheckState.PASSED),
        ("expected_severity:warning", CheckState.FAILED),
    ]
    count = verbs.checks[0]
    assert (count.value, count.low, count.high) == (4.0, 2.0, 8.0)
    assert (verbs.outcome, verbs.score, verbs.passed) == (Outcome.SCORED, 0.5, False)
    assert [one.code for one in verbs.findings] == ["EXPECTED_SEVERITY"]
    assert (empty.score, empty.passed) == (1.0, True)
    assert verbs.call_result.text is None
    # One of the ten repeats is in the file.
    assert (found.header.n_planned, found.header.suite["repeats"]) == (2, 1)
    summary = summary_of(store, found.header)
    assert n_cases(summary, "passed", "failed") == (1, 1)
    assert n_checks(summary, "passed", "failed") == (2, 1)
    assert found.header.verdict is Verdict.FAIL


def test_what_cannot_be_computed_again_is_said_and_no_figure_stands_in_for_it(brought_in, store):
    found = brought_in(FILE)
    summary = summary_of(store, found.header)
    assert summary.overall["latency.p50"].value is None
    assert summary.overall["stability.presence"].value is None
    assert found.notes[0].startswith("of 10 repeats only the counts and the checks of the first are in the file")
    assert "  case_02: mean 120, min 100, max 400, p95 400" in found.notes
    assert "  case_02: span 50.0 %, severity 100.0 %" in found.notes


def test_checks_are_taken_as_the_file_lists_them_whatever_the_counts_of_other_runs():
    document = changed()
    # The first count is within 2-8 and the file lists it as passed; two of three are not.
    document["results"][0]["observation_counts"] = [4, 9, 10]
    count = Format().read(document).samples[0].checks[0]
    assert (count.state, count.detail) == (CheckState.PASSED, FILE["results"][0]["expectation_results"][0]["detail"])
    assert message(document) == message(FILE)


def test_a_results_file_gives_the_sums_that_it_states(brought_in, store):
    """4 of 8 cases, 13 of 16 expectations, as the first team's page has it: one case timed out, and lists no checks."""
    passed = [check("observation_count", True, "3 (expected 0-8)"), check("expected_ref:A", True, "found")]
    late = [
        check("observation_count", True, "5 (expected 2-8)"),
        check("expected_severity:warning", False, "NOT found"),
    ]
    results = [case("case_01", True, [check("observation_count", True, "2 (expected 0-3)")], times(20, 19, 21))]
    results += [case("case_02", True, [*passed, check("expected_ref:B", True, "found")], times(20, 19, 21))]
    results += [
        case(f"case_0{n}", False, [*late, check("expected_ref:A", True, "found")], times(20, 19, 21)) for n in (3, 4, 5)
    ]
    results += [case("case_06", False, [], times(20, 19, 21))]
    code = [check("expected_error_code", True, "expected 'X' in response")]
    results += [case(f"case_0{n}", True, code + (passed[:1] if n == 8 else []), times(7, 6, 8)) for n in (7, 8)]
    # Counts of other runs would turn case_01 and the three that failed into something else.
    results[0]["observation_counts"] = [2, 4, 4]
    for result in results[2:5]:
        result["observation_counts"] = [5, 9, 10]
    sums = {"cases_passed": 4, "cases_total": 8, "expectations_passed": 13, "expectations_total": 16}
    found = brought_in({"backend": "ollama", "repeats": 3, **sums, "results": results})
    summary = summary_of(store, found.header)
    assert n_cases(summary, "passed", "all") == (4, 8)
    assert n_checks(summary, "passed", "failed") == (13, 3)
    assert Format().read({**sums, "repeats": 3, "results": results}).differences == ()


def test_a_case_that_the_file_fails_without_a_failed_check_does_not_pass():
    document = changed()
    document["results"][1] |= {"pass": False, "schema_valid": False}
    assert [
        item.name for item in Format().read(document).samples[1].checks or () if item.state is CheckState.FAILED
    ] == ["schema"]


def masked():
    """What came of a wrong model id: 200, nothing found, 14 ms, and a stability of 100 %."""
    reviews = [
        case(name, first == 0, [check("observation_count", first == 0, f"0 (expected {first}-8)")], times(14, 13, 15))
        | {"observation_counts": [0, 0, 0], "repeatability": {"span_stability": 1.0, "severity_stability": 1.0}}
        for name, first in (("case_01", 0), ("case_02", 2))
    ]
    return changed(results=[*reviews, FILE["results"][1]])


def test_a_masked_failure_is_suspect(brought_in):
    header = brought_in(masked()).header
    assert header.suspect == (
        "all 6 answers of 2 cases list nothing although the cases differ",
        "mean latency 14 ms (median of 2 cases) looks short-circuited or cached",
    )
    # What its own file, or one of ours, does not doubt is not suspect.
    assert brought_in(FILE).header.suspect == ()
    assert Format().read(FILE | {"suspect": ["no tokens"]}).suspect == ("no tokens",)


def test_latency_of_the_ends_only_is_found_out():
    assert message(FILE) == [
        "overall_latency.mean_ms: says 135, the mean of its cases is 70: it is the mean of the 4 smallest and largest"
        " times only",
        "overall_latency.p95_ms: says 400, the largest of 20 calls, not the 95th percentile",
    ]
    honest = changed(overall_latency={"mean_ms": 70, "min_ms": 10, "max_ms": 400, "p95_ms": 390})
    assert message(honest) == []


def test_sums_that_do_not_fit_are_listed():
    document = changed(cases_passed=2, cases_total=3, expectations_passed=3, expectations_total=4, overall_latency={})
    assert message(document) == [
        "cases_total: says 3, its results give 2",
        "cases_passed: says 2, its results give 1",
        "expectations_total: says 4, its results give 3",
        "expectations_passed: says 3, its results give 2",
    ]


def test_a_pass_without_its_checks_and_a_stability_of_nothing_are_listed():
    document = changed(overall_latency={}, cases_passed=2)
    document["results"][0] |= {"pass": True, "observation_counts": [0, 0, 1]}
    document["results"][1] |= {"pass": False}
    document["cases_passed"] = 1
    assert message(document) == [
        "case_02: passes, although expected_severity:warning failed",
        "case_07: fails, although every check that it lists passed",
        "case_02: calls itself 100 % stable, although fewer than two answers had any observations",
    ]


def test_a_case_without_checks_is_a_failed_call_and_not_a_pass(brought_in, store):
    document = changed()
    document["results"][0]["expectation_results"] = []
    found = brought_in(document)
    first, _ = (sample for sample, _ in store.samples(found.header.id))
    assert (first.outcome, first.score) == (Outcome.TARGET_FAILED, None)
    assert found.header.verdict is Verdict.INVALID


def test_checks_that_did_not_run_are_no_reading_and_not_a_zero(brought_in, store):
    document = changed()
    first = document["results"][0]
    first["expectation_results"][1] |= {"state": "undecided", "detail": "the call failed: refused"}
    found = brought_in(document)
    one, other = (sample for sample, _ in store.samples(found.header.id))
    assert (one.outcome, one.score, one.call_result.failure.message) == (
        Outcome.TARGET_FAILED,
        None,
        "the call failed: refused",
    )
    assert other.outcome is Outcome.SCORED
    # One that failed has decided it, whatever did not run.
    first["expectation_results"][0] |= {"passed": False}
    broken, _ = (sample for sample, _ in store.samples(brought_in(document).header.id))
    assert (broken.outcome, broken.passed) == (Outcome.SCORED, False)


def test_an_imported_file_is_written_again_as_it_was(brought_in, suite, store, tmp_path):
    found = brought_in(FILE)
    export_foreign(suite, store, found.header, tmp_path / "again.json")
    assert json.loads((tmp_path / "again.json").read_text()) == FILE
    assert not brought_in(FILE).is_new


@pytest.mark.parametrize(
    "document",
    [[], {}, {"results": {}}, {"results": [1]}, {"results": [{"case_id": 7}]}, {"results": [{"case_id": " "}]}],
)
def test_what_is_no_results_file_is_refused(document):
    with pytest.raises(UsageError, match="no list of results"):
        Format().read(document)


@pytest.mark.parametrize(
    "result",
    [
        {"case_id": "a"},
        {"case_id": "a", "latency": 3, "repeatability": [1], "expectation_results": "none", "pass": "yes"},
        {"case_id": "a", "expectation_results": [{"check": 1}, 2, {"check": "x", "passed": "true", "detail": None}]},
        {"case_id": "a", "observation_counts": [], "repeatability": {"span_stability": True}, "description": 1},
    ],
)
def test_odd_results_lose_nothing_and_raise_nothing(result):
    document = {"results": [result], "overall_latency": {"mean_ms": "soon"}, "repeats": None}
    found = Format().read(document)
    assert found.stored == document
    assert len(found.samples) == 1


def test_a_text_that_only_looks_true_is_no_pass():
    found = Format().read({"results": [{"case_id": "a", "expectation_results": [{"check": "x", "passed": "true"}]}]})
    assert found.samples[0].checks[0].state is CheckState.FAILED


def test_the_command_says_what_the_file_does_not_hold(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "results.json").write_text(json.dumps(FILE))
    out = invoke("import", "results.json", "--suite", "review")
    assert out.startswith("review-undated-")
    assert "Note: 2 of 2 records hold no answer: their check results are taken as stated.\n" in out
    assert "Note: it does not say when it was written: dated by its file, 20" in out
    assert "Where its own summary differs from its records (2):" in out
    assert "What it states and cannot be recomputed:" in out
    assert json.loads(invoke("import", "results.json", "--suite", "review", "--json"))["notes"]


def test_cases_that_were_never_asked_stay_in_the_denominator_of_a_results_file():
    one = CheckOfCell("observation_count", passed=1, failed=0, not_run=0, required_repeats="all", holds=True)
    asked = CellChecks("case_01", "", (one,), holds=True, clean=1, decided=1)
    checks = CheckDetails(("observation_count",), (asked,))
    counts = {"passed": 1, "undecided": 2, "all": 3, "unknown": 2}
    figures = {f"cases.count.{state}": Estimate(float(n), 3) for state, n in counts.items()}
    run = header(suite={"repeats": 1}, verdict=None, id="r")
    results = document_of(run, a_summary("", a_slice("", "", 3, metrics=figures), checks=checks), ())
    assert (results["expectations_passed"], results["expectations_total"]) == (1, 3)
    assert results["expectations_undecided"] == 2
