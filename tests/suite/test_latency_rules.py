"""The suite key `latency`: medians that look wrong, and every mistake in it."""

from __future__ import annotations

import pytest

from steelyard.errors import SuiteError
from steelyard.loading.load import load_suite
from steelyard.records import TargetFacts
from steelyard.suite.models import LatencyRules
from steelyard.suite.signature import signature
from steelyard.suite.values import seconds
from steelyard.wording import time_text


def test_a_suite_says_which_medians_look_wrong(write):
    found = load_suite(write({"latency": {"below": "100 ms", "above": "10 s"}}))
    assert found.latency == LatencyRules(below=0.1, above=10.0)
    limits = {"below": 0.1, "above": 10.0, "normal": None}
    assert found.data()["latency"] == limits | {"smallest": 0.005, "smallest_share": 0.05}


def test_without_the_key_no_median_looks_wrong(write):
    found = load_suite(write({}))
    assert found.latency == LatencyRules()
    assert (found.data()["latency"]["below"], found.data()["latency"]["above"]) == (None, None)


def test_a_suite_declares_the_smallest_change_that_matters(write):
    found = load_suite(write({"latency": {"smallest": "20 ms", "smallest_share": "10 %"}}))
    assert found.latency == LatencyRules(below=None, above=None, smallest=0.02, smallest_share=0.1)


def test_either_end_may_be_left_open(write):
    assert load_suite(write({"latency": {"above": 2.5}})).latency == LatencyRules(below=None, above=2.5)


def test_what_looks_wrong_is_no_part_of_the_signature(write):
    named = {
        signature(load_suite(write(more)), TargetFacts({"kind": "python"})).text
        for more in ({}, {"latency": {"above": 1}})
    }
    assert len(named) == 1


@pytest.mark.parametrize(
    ("written", "meant"),
    [("100 ms", 0.1), ("100ms", 0.1), (" 1.5 s ", 1.5), ("10", 10.0), (10, 10.0), (0.25, 0.25), (".5s", 0.5)],
)
def test_times_are_written_as_gates_have_them(written, meant):
    assert seconds(written) == meant


@pytest.mark.parametrize(
    ("latency", "message"),
    [
        ({"below": "100 m"}, 'latency.below: a time is written 100 ms or 10 s; found "100 m"'),
        ({"below": 0}, "latency.below: 0 is not a time above 0: write 100 ms or 10 s"),
        ({"above": "-1 s"}, 'latency.above: a time is written 100 ms or 10 s; found "-1 s"'),
        ({"above": "25000 h"}, "latency.above: a time is written 100 ms or 10 s"),
        ({"above": 1e9}, "latency.above: 1000000000.0 is more than a day (86,400 s)"),
        ({"above": True}, "latency.above: a time is written 100 ms or 10 s"),
        ({"under": "1 s"}, "latency: unknown key 'under'"),
        ({}, "latency is empty: write below: 100 ms, above: 10 s, smallest: 5 ms, or one of them"),
        ({"smallest": "5 %"}, 'latency.smallest: a time is written 100 ms or 10 s; found "5 %"'),
        ("fast", "latency must be a group of keys"),
        ({"below": "2 s", "above": "500 ms"}, "latency.below: below 2 s is not less than above 500 ms"),
    ],
)
def test_a_mistake_is_reported_in_plain_words(write, latency, message):
    with pytest.raises(SuiteError) as raised:
        load_suite(write({"latency": latency}))
    (told,) = str(raised.value).splitlines()
    assert message in told
    assert "suite.yaml:" in told


@pytest.mark.parametrize(
    ("length", "message"),
    [(0.014, "14 ms"), (0.1, "100 ms"), (0.0123, "12.3 ms"), (2.5, "2.5 s"), (12.375, "12.4 s"), (1234.5, "1,230 s")],
)
def test_times_are_reported_in_few_digits(length, message):
    assert time_text(length) == message
