"""Dotted paths into data and cases."""

from __future__ import annotations

import copy
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.suite.case import Attachment, Case
from steelyard.suite.paths import MISSING, compile_path, split_path

CASE = Case(
    id="a",
    input={"items": [{"price": 3}, {"name": "x"}, {"price": None}]},
    expected={"odd.key": {"x": 1}, "0": "zero"},
    tags=("one", "two"),
    attachments=(Attachment("a.png", "image/png"),),
)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("id", "a"),
        ("input.items.0.price", 3),
        ("input.items.2.price", None),
        ("input.items[].price", [3, None]),
        ("input.items[].price.x", []),
        ('expected."odd.key".x', 1),
        ("expected.0", "zero"),
        ("tags.1", "two"),
        ("tags[]", ["one", "two"]),
        ("attachments.0.media_type", "image/png"),
    ],
)
def test_a_path_gives_what_stands_there(path, value):
    assert compile_path(path)(CASE) == value


def test_the_empty_path_is_the_whole():
    assert compile_path("")(CASE) is CASE


@pytest.mark.parametrize(
    "path", ["nope", "input.items.9.price", "input.items.price", "input.items.0.price.x", "expected[].x", "as_data"]
)
def test_what_is_not_there_is_missing_and_not_none(path):
    assert compile_path(path)(CASE) is MISSING
    assert not MISSING
    assert copy.deepcopy(MISSING) is MISSING
    assert pickle.loads(pickle.dumps(MISSING)) is MISSING


@pytest.mark.parametrize("text", [".a", "a.", "a..b", "a[", "a[0]", "[]b", 'a."b', "a. "])
def test_a_text_that_is_no_path_is_reported_with_its_place(text):
    with pytest.raises(ValueError, match=r"is not a path: it breaks at character \d+"):
        split_path(text)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=20,
)


@given(json_values, st.text(alphabet='ab01.[]" ', max_size=12))
def test_a_path_never_raises_on_data(data, text):
    try:
        get = compile_path(text)
    except ValueError:
        return
    get(data)
