"""The suite key `confidence`: buckets, utility and bins, and every mistake in them."""

from __future__ import annotations

import pytest

from steelyard.errors import SuiteError
from steelyard.loading.load import load_suite
from steelyard.records import TargetFacts
from steelyard.suite.models import ConfidenceRules, Utility
from steelyard.suite.signature import signature
from steelyard.suite.values import Band

USUAL = (Band(name="high", at_least=0.8), Band(name="medium", at_least=0.6), Band(name="low", at_least=0.0))


def rules(write, **confidence):
    return load_suite(write({"confidence": confidence})).confidence


def test_a_suite_says_its_buckets_what_claims_are_worth_and_the_number_of_bins(write):
    found = rules(write, buckets={"sure": "90 %", "rest": 0}, utility={"right": 2, "wrong": -0.5}, bins=15)
    assert found == ConfidenceRules(
        buckets=(Band(name="sure", at_least=0.9), Band(name="rest", at_least=0.0)),
        utility=Utility(right=2.0, wrong=-0.5),
        bins=15,
    )


def test_what_is_left_out_is_as_usual(write):
    assert rules(write, bins=20) == ConfidenceRules(buckets=USUAL, utility=Utility(right=1.0, wrong=-1.0), bins=20)
    assert (
        ConfidenceRules.from_data(None)
        == ConfidenceRules()
        == ConfidenceRules(buckets=USUAL, utility=Utility(right=1.0, wrong=-1.0), bins=10)
    )


def test_a_run_keeps_the_rules_of_its_suite(write):
    suite = load_suite(write({"confidence": {"buckets": {"sure": 0.5, "rest": 0}}}))
    described = suite.data()["confidence"]
    assert described == {
        "buckets": [{"name": "sure", "at_least": 0.5}, {"name": "rest", "at_least": 0.0}],
        "utility": {"right": 1.0, "wrong": -1.0},
        "bins": 10,
    }
    assert ConfidenceRules.from_data(described) == suite.confidence


def test_a_suite_without_the_key_keeps_nothing(write):
    suite = load_suite(write())
    assert (suite.confidence, suite.data()["confidence"]) == (None, None)


def test_buckets_are_no_part_of_the_signature(write):
    plain = signature(load_suite(write()), TargetFacts({"kind": "python"}))
    assert signature(load_suite(write({"confidence": {"bins": 5}})), TargetFacts({"kind": "python"})) == plain


@pytest.mark.parametrize(
    ("confidence", "message"),
    [
        (
            {"buckets": {"low": 0, "high": 0.8}},
            "confidence.buckets.high: starts above low: write them from the highest to the lowest",
        ),
        ({"buckets": {"a": 0.5, "b": 0.5, "c": 0}}, "confidence.buckets.b: starts where a does"),
        (
            {"buckets": {"a": 0.5, "b": 0.2}},
            "confidence.buckets.b: is the lowest, and must start at 0, so that every value has one",
        ),
        ({"buckets": {"a": 80, "b": 0}}, "confidence.buckets.a: 80 is above 1: write 80 % or 0.8"),
        ({"buckets": {}}, "confidence.buckets: give at least one"),
        ({"bucket": {"a": 0}}, "confidence: unknown key 'bucket': did you mean buckets?"),
        ({"utility": {"wrong": 1}}, "confidence.utility.wrong must be below 0.0; found 1 (a number)"),
        ({"utility": {"right": 0}}, "confidence.utility.right must be above 0.0; found 0 (a number)"),
        ({"utility": {"right": "much"}}, 'confidence.utility.right must be a number; found "much" (text)'),
        ({"bins": 1}, "confidence.bins must be at least 2; found 1 (a number)"),
        (["high"], "confidence must be a group of keys"),
    ],
)
def test_a_mistake_is_reported_in_plain_words(write, confidence, message):
    with pytest.raises(SuiteError) as raised:
        load_suite(write({"confidence": confidence}))
    (told,) = str(raised.value).splitlines()
    assert message in told
