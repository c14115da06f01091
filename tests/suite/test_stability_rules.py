"""The suite key `stability`: what repeats are compared by, every mistake in it, and its part in the signature."""

from __future__ import annotations

import pytest

from steelyard.errors import SuiteError
from steelyard.loading.load import load_suite
from steelyard.records import TargetFacts
from steelyard.suite.models import StabilityRules
from steelyard.suite.signature import signature

RULES = {"items": "items[]", "key": "id", "fields": {"span": "overlap", "level": "equal"}}


def suite(write, **changes):
    return load_suite(write({"answer": {"format": "json"}, **changes}))


def test_a_suite_says_what_repeats_are_compared_by(write):
    found = suite(write, stability=RULES)
    assert found.stability == StabilityRules(items="items[]", key="id", fields={"span": "overlap", "level": "equal"})
    assert found.data()["stability"] == RULES


def test_without_the_key_nothing_is_compared(write):
    found = suite(write)
    assert (found.stability, found.data()["stability"]) == (None, None)


def test_what_is_compared_is_part_of_the_signature(write):
    def scorers(**changes):
        return signature(suite(write, **changes), TargetFacts({"kind": "python"})).scorers

    plain, compared = scorers(), scorers(stability=RULES)
    other = scorers(stability=RULES | {"fields": {"span": "equal", "level": "equal"}})
    # Samples keep their values in the order of the fields, so that a run must not be resumed with another one.
    turned = scorers(stability=RULES | {"fields": {"level": "equal", "span": "overlap"}})
    assert len({plain, compared, other, turned}) == 4


@pytest.mark.parametrize(
    ("stability", "message"),
    [
        ({"items": "items[]"}, "stability.key is missing"),
        ({"items": "items[]", "key": "id", "field": {}}, "stability: unknown key 'field': did you mean fields?"),
        ({"items": "items[", "key": "id"}, "stability.items: 'items[' is not a path: it breaks at character 6"),
        ({"items": "$.items[", "key": "id"}, "stability.items: '$.items[' is not a JSONPath (RFC 9535)"),
        ({"items": "items[]", "key": "a..b"}, "stability.key: 'a..b' is not a path: it breaks at character 3"),
        (
            RULES | {"fields": {"a..b": "equal"}},
            "stability.fields.a..b: 'a..b' is not a path: it breaks at character 3",
        ),
        (
            RULES | {"fields": {"span": "overlaps"}},
            "stability.fields.span: 'overlaps' is not known: did you mean overlap?",
        ),
        (RULES | {"fields": {"presence": "equal"}}, "stability.fields.presence: is the share of items that"),
        (["items"], "stability must be a group of keys"),
    ],
)
def test_a_mistake_is_reported_in_plain_words(write, stability, message):
    with pytest.raises(SuiteError) as raised:
        suite(write, stability=stability)
    (told,) = str(raised.value).splitlines()
    assert message in told


def test_a_suite_that_reads_text_has_no_items(write):
    with pytest.raises(SuiteError, match=r"stability reads JSON: write answer: \{format: json\}, or a schema"):
        load_suite(write({"stability": RULES}))


@pytest.mark.parametrize(
    ("gate", "message"),
    [
        ("stability.presence >= 60 %", None),
        ("stability.level >= 80 %", None),
        ("category.*.stability.span >= 80 %", "no case of this suite has a category"),
        ("stability.levels >= 80 %", "there is no field of stability 'levels': did you mean level?"),
        ("stability.presence >= 0", "cannot fail"),
        ("cases.passed >= 80 %", "needs checks: write expect:"),
        ("flaky_rate <= 10 %", "needs a pass rule: write pass:"),
    ],
)
def test_a_gate_stands_on_what_is_there(write, gate, message):
    path = write({"answer": {"format": "json"}, "stability": RULES, "gates": [gate]})
    if message is None:
        assert load_suite(path).gates == (gate,)
        return
    with pytest.raises(SuiteError) as raised:
        load_suite(path)
    assert message in str(raised.value)


def test_a_gate_on_stability_needs_the_rules(write):
    with pytest.raises(SuiteError, match=r"needs repeats that are compared: write stability: \{items"):
        suite(write, gates=["stability.presence >= 60 %"])


def test_broken_rules_are_reported_once_and_no_gate_is_blamed(write):
    with pytest.raises(SuiteError) as raised:
        suite(write, stability={"items": "items[]", "key": "id", "fields": []}, gates=["stability.level >= 80 %"])
    (told,) = str(raised.value).splitlines()
    assert "stability.fields must be a group of keys" in told


EXPECT = {"level": {"each": "expected.levels", "in": "items[].level"}}


@pytest.mark.parametrize(
    ("gate", "message"),
    [
        ("cases.passed >= 80 %", None),
        ("checks.passed >= 80 %", None),
        ("check.level.passed >= 80 %", None),
        ("check.schema.passed == 100 %", None),
        ("check.levl.passed >= 80 %", "there is no check 'levl': did you mean level?"),
        ("pass_all.3 >= 50 %", None),
        ("pass_all.0 >= 50 %", "'0' is no number of repeats from 1 to 100"),
        ("pass_all.k >= 50 %", "'k' is no number of repeats from 1 to 100"),
        ("flaky_rate <= 10 %", None),
    ],
)
def test_a_gate_on_checks_stands_on_those_declared(write, gate, message):
    cases = [{"id": "a", "input": "x", "expected": {"text": "x", "levels": ["low"]}}]
    path = write(
        {"answer": {"schema": {"type": "object"}}, "expect": EXPECT, "gates": [gate]}, files={"cases.json": cases}
    )
    if message is None:
        assert load_suite(path).gates == (gate,)
        return
    with pytest.raises(SuiteError) as raised:
        load_suite(path)
    assert message in str(raised.value)
