"""Samples of which another tool kept what came of the checks, and not the answers."""

import pytest

from steelyard import load_suite
from steelyard.exchange.without_answers import checked_sample
from steelyard.records import Check, CheckState, Outcome
from steelyard.store.recorded_run import RecordedSample
from steelyard.suite.case import Case

PASSED, FAILED, NOT_RUN = CheckState


@pytest.fixture(scope="module")
def suite():
    return load_suite("review")


def sample_of(suite, *states, **more):
    checks = tuple(Check(f"expected_ref:{number}", state) for number, state in enumerate(states))
    return checked_sample(suite, RecordedSample(Case("a", None), checks=checks, **more), 0, 0.0)


def test_the_score_is_the_share_that_passed_of_all_that_are_listed(suite):
    # One of three passed; the one that did not run is among the three.
    found = sample_of(suite, PASSED, FAILED, NOT_RUN)
    assert (found.outcome, found.score, found.passed) == (Outcome.SCORED, pytest.approx(1 / 3), False)
    assert [finding.code for finding in found.findings] == ["EXPECTED_REF"]


def test_a_record_without_a_single_check_is_no_reading_and_not_a_zero(suite):
    found = sample_of(suite)
    assert (found.outcome, found.score, found.passed) == (Outcome.TARGET_FAILED, None, None)
    assert found.call_result.failure.message == "no check was recorded"
    assert sample_of(suite, failure="the line was dead").call_result.failure.message == "the line was dead"


def test_what_did_not_run_could_still_decide_where_nothing_failed(suite):
    found = sample_of(suite, PASSED, NOT_RUN)
    assert (found.outcome, found.score) == (Outcome.TARGET_FAILED, None)
    assert found.call_result.failure.message == "not every check ran"
