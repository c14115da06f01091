"""The review suite against its service: what is right, what is wrong, and that every fault is noticed."""

import os
from dataclasses import replace

import pytest

from parts.loopback import Loopback, json_answer
from parts.repeats import n_cases, n_checks
from parts.review_service import TOKEN, review_service
from steelyard import load_suite, run_suite, with_target
from steelyard.auditing.audit import audit
from steelyard.engine.run_options import Selection
from steelyard.engine.sample import Evaluation
from steelyard.records import CallResult, Outcome, Verdict
from steelyard.scoring.evaluate import Evaluator
from steelyard.suites.review.switches import Switches

ENV = {**os.environ, "REVIEW_TOKEN": TOKEN}
# What the rules of the built-in service cannot see, and a careful reviewer can.
BEYOND_THE_RULES = ["case_18", "case_19", "case_21", "case_23"]


@pytest.fixture(scope="module")
def suite():
    return load_suite("review")


@pytest.fixture(scope="module")
def evaluate(suite, tmp_path_factory):
    """Score a service with some faults, over some of the cases."""
    folder = tmp_path_factory.mktemp("runs")

    def evaluated(switches=None, repeats=1, settings=None, **options):
        store = str(folder / f"{len(list(folder.iterdir()))}.db")
        with review_service(switches or Switches()) as url:
            chosen = with_target(suite, "http", {"base_url": url, **(settings or {})})
            return run_suite(chosen, store=store, env=ENV, repeats=repeats, retries=0, concurrency=8, **options)

    return evaluated


def cells(run, holds):
    return [cell.case_id for cell in run.summary.checks.cells if cell.holds is holds]


def test_the_default_starts_the_service_weighs_it_and_stops_it(suite, tmp_path):
    run = run_suite(suite, store=str(tmp_path / "s.db"), repeats=2)
    assert run.verdict is Verdict.PASS
    assert run.header.suspect == ()
    assert n_cases(run.summary, "passed", "all") == (20, 24)
    assert cells(run, False) == BEYOND_THE_RULES
    # 3 of case_19 and case_21, 2 of case_23, 1 of case_18: 9 of all 98 with the schema of 20 cases.
    assert n_checks(run.summary, "passed", "failed", "undecided") == (89, 9, 0)
    assert [run.summary.overall[f"stability.{name}"].value for name in ("span", "severity")] == [1.0, 1.0]
    assert run.summary.overall.outcomes == {"scored": 48}


def test_a_model_that_is_not_found_makes_every_review_a_failed_call(evaluate):
    run = evaluate(Switches(masked_404=True))
    # All but the four cases that are refused before a model is asked.
    assert run.summary.overall.outcomes == {"scored": 4, "target_failed": 20}
    assert run.verdict is Verdict.INVALID
    assert run.exit_code == 3
    assert len(cells(run, None)) == 20
    assert n_checks(run.summary, "passed", "undecided") == (4, 94)


def test_an_empty_review_without_an_error_is_suspect(evaluate):
    run = evaluate(Switches(masked_silent=True), repeats=2)
    assert run.header.suspect[:2] == (
        "all 40 answers list nothing although the cases differ",
        "all 40 answers that report tokens report zero output tokens",
    )
    assert "short-circuited" in run.header.suspect[2]
    assert run.verdict is Verdict.FAIL
    # The four that are refused, and the two for which nothing is right.
    assert cells(run, True) == ["case_01", "case_06", "case_07", "case_08", "case_16", "case_17"]
    assert run.summary.overall["stability.presence"].value is None
    assert run.summary.overall["stability.severity"].value is None


def test_an_unstable_service_is_reported_by_its_repeats(evaluate):
    run = evaluate(Switches(unstable=0.5), repeats=5)
    assert run.summary.overall["stability.severity"].value < 0.8
    assert run.summary.overall["stability.presence"].value < 0.8
    assert run.summary.overall["flaky_rate"].value > 0.2
    assert run.verdict is Verdict.FAIL
    assert any("stability.severity" in reason for reason in run.report.decision.reasons)


class Wandering:
    """A review of one observation whose place is another in every call, and a refusal with the wrong code."""

    def __init__(self):
        self.calls = 0

    def __call__(self, seen):
        if not seen.json["content"].strip():
            return json_answer({"error": {"code": "BAD_REQUEST"}}, status=422)
        self.calls += 1
        found = {"id": "1", "span": [20 * self.calls, 20 * self.calls + 9], "severity": "violation", "message": "m"}
        found |= {
            "category": "c",
            "standard_ref": "NAV-TR-3.2.2",
            "suggested_fix": "",
            "rationale": "",
            "confidence": 1,
        }
        found |= {"standard_excerpt": ""}
        meta = {"model_id": "m", "latency_ms": 1, "usage": {"input_tokens": 9, "output_tokens": 9}}
        return json_answer({"observations": [found], "meta": meta, "errors": []})


def test_places_that_wander_and_a_wrong_error_code_fail(suite, tmp_path):
    with Loopback() as server:
        server.on("/health", json_answer({"status": "ok"})).on("/v1/review", Wandering())
        chosen = with_target(suite, "http", {"base_url": server.base_url})
        only = Selection(only=(("id", "case_04"), ("id", "case_07")))
        run = run_suite(chosen, store=str(tmp_path / "s.db"), env=ENV, repeats=3, retries=0, selection=only)
    reasons = run.report.decision.reasons
    assert run.verdict is Verdict.FAIL
    assert "findings.EXPECTED_ERROR_CODE == 0: 3 is not == 0" in reasons
    assert "stability.span >= 60 %: 0.0 % is not >= 60.0 %" in reasons
    assert "stability below 60 %: look at the prompt and the temperature: span 0.0 %, span 0.0 % of case_04" in reasons


def test_a_check_holds_in_most_of_the_repeats(evaluate):
    run = evaluate(Switches(unstable=0.5), repeats=5)
    checks = [check for cell in run.summary.checks.cells for check in cell.checks]
    assert all(check.holds is (check.passed >= 3) for check in checks)
    # Some hold although not every repeat passes, and some do not although one does.
    assert {check.passed for check in checks} >= {1, 2, 3, 4}


@pytest.mark.parametrize(
    "body",
    [
        {"errors": [{"code": "OUT_OF_MEMORY"}]},
        {"errors": [], "error": "the model is gone"},
        {"errors": [], "meta": {"model_id": "m", "latency_ms": 1, "status": "MODEL_PARSE_FAILURE"}},
    ],
    ids=["a list of errors", "one error", "a mark of a failed model"],
)
def test_an_answer_that_carries_an_error_is_a_failed_call(suite, tmp_path, body):
    answer = {"observations": [], "meta": {"model_id": "m", "latency_ms": 1}} | body
    with Loopback() as server:
        server.on("/health", json_answer({"status": "ok"})).on("/v1/review", json_answer(answer))
        chosen = with_target(suite, "http", {"base_url": server.base_url})
        only = Selection(only=(("id", "case_01"),))
        run = run_suite(chosen, store=str(tmp_path / "s.db"), env=ENV, repeats=1, retries=0, selection=only)
    assert run.summary.overall.counts("failures.<kind>") == {"reported_error": 1}
    assert run.verdict is Verdict.INVALID


def test_a_service_that_crashes_midway_makes_the_run_invalid(evaluate):
    # Without a breaker: where no refused case comes between five failures, it would wait for the service for minutes.
    run = evaluate(Switches(crash_after=5), outage=0)
    assert run.summary.overall.outcomes["target_failed"] == 15
    assert run.verdict is Verdict.INVALID
    assert "http_500" in run.summary.overall.counts("failures.<kind>")


def test_a_service_that_dies_midway_makes_the_run_invalid_and_says_so(suite, tmp_path):
    started = suite.target.settings.start
    dying = started.model_copy(update={"command": (*started.command, "--die-after", "5")})
    run = run_suite(with_target(suite, None, {"start": dying}), store=str(tmp_path / "s.db"), repeats=1, retries=0)
    assert run.verdict is Verdict.INVALID
    assert "the service ended with exit code 70" in run.report.decision.reasons[0]


def test_a_service_that_is_not_ready_yet_is_waited_for(evaluate):
    run = evaluate(Switches(not_ready_for=0.4), selection=Selection(limit=2))
    assert run.summary.overall.outcomes == {"scored": 2}


def test_a_wrong_token_is_a_failed_call_also_where_an_error_is_expected(suite, tmp_path):
    with review_service(token="another") as url:
        chosen = with_target(suite, "http", {"base_url": url})
        run = run_suite(chosen, store=str(tmp_path / "s.db"), env=ENV, repeats=1, retries=0, keep_going=True)
    assert run.summary.overall.outcomes == {"target_failed": 24}
    assert run.summary.overall.counts("failures.<kind>") == {"http_401": 24}
    assert run.verdict is Verdict.INVALID


def test_an_error_case_fails_on_another_error(suite):
    """Any 4xx was good enough for the seed."""
    case = next(case for case in suite.cases if case.id == "case_07")
    case = replace(case, expected=case.expected | {"expected_error_code": "SOMETHING_ELSE"})
    body = '{"error": {"code": "EMPTY_CONTENT"}}'
    sample = Evaluation(Evaluator(suite), case, "", 0, CallResult(text=body, status=422)).sample
    assert [(one.name, one.state.value) for one in sample.checks] == [("expected_error_code", "failed")]
    # A review where a refusal was due is no better.
    answered = Evaluation(Evaluator(suite), case, "", 0, CallResult(text='{"observations": []}', status=200)).sample
    assert (answered.outcome, answered.passed) == (Outcome.SCORED, False)


def test_the_suite_passes_its_audit(suite):
    found = audit(suite)
    assert found.complaints == []
    passed = {one.probe: one.passed for one in found.probes if one.passed}
    # Made of what the checks ask for: at most a quarter of 24 cases.
    made = {name: len(passed.pop(name)) for name in ("best found", "best parts", "another")}
    assert max(made.values()) <= 6
    # Of 24 cases, the two that ask for nothing.
    assert passed == dict.fromkeys(
        ("constant", "most frequent", "echo fields", "echo 1", "echo 2", "echo 3", "none"), ("case_01", "case_06")
    )
