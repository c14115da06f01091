"""The items of an answer that repeats are compared by: keys made text, nothing lost, nothing guessed."""

from __future__ import annotations

import pytest

from parts.looped import for_every
from steelyard.records import Item
from steelyard.scoring.repeat_items import items_of, key_text
from steelyard.suite.models import StabilityRules

RULES = StabilityRules(items="items[]", key="id", fields={"span": "overlap", "place.level": "equal"})


def test_every_item_comes_with_its_key_and_fields_in_order():
    answer = {"items": [{"id": "b", "span": [1, 2], "place": {"level": "low"}}, {"id": "a", "span": None}]}
    assert items_of(RULES, answer) == (Item("b", ([1, 2], "low")), Item("a", (None, None)))


def test_duplicates_are_kept():
    assert items_of(RULES, {"items": [{"id": "a"}, {"id": "a"}]}) == (Item("a", (None, None)),) * 2


@pytest.mark.parametrize("item", [{}, {"id": None}, {"name": "a"}, "text", 3, None, []])
def test_an_item_without_the_key_is_kept_without_one(item):
    assert items_of(RULES, {"items": [item]}) == (Item("", (None, None)),)


@pytest.mark.parametrize("answer", [{}, {"items": None}, {"items": "x"}, {"items": {}}, [], "text", None])
def test_an_answer_without_the_list_has_no_items(answer):
    assert items_of(RULES, answer) == ()


@pytest.mark.parametrize("place", ["items[]", "items", "$.items[*]", "$.items"])
def test_the_list_may_be_named_in_any_way(place):
    found = items_of(StabilityRules(items=place, key="id"), {"items": [{"id": "a"}, {"id": "b"}]})
    assert found == (Item("a"), Item("b"))


def test_lists_within_lists_are_one_list():
    rules = StabilityRules(items="parts[].items[]", key="id")
    assert items_of(rules, {"parts": [{"items": [{"id": 1}]}, {}, {"items": [{"id": 2}]}]}) == (Item("1"), Item("2"))


def test_the_item_itself_may_be_the_key():
    assert items_of(StabilityRules(items="words", key=""), {"words": ["red", "blue"]}) == (Item("red"), Item("blue"))


@for_every(
    ("value", "text"),
    [
        ("A-1", "A-1"),
        (" A ", " A "),
        (3, "3"),
        (3.0, "3"),
        (2.5, "2.5"),
        (True, "true"),
        (["a", 1.0], '["a",1]'),
        ({"b": 1, "a": [2.0]}, '{"a":[2],"b":1}'),
        ("é", "é"),
        (["é"], '["é"]'),
    ],
)
def test_a_key_that_is_no_text_is_made_one_in_one_way(value, text):
    assert key_text(value) == text
