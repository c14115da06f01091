from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from steelyard.store.text import from_stored, to_json, to_stored

any_character = st.characters(exclude_categories=())
any_text = st.text(any_character | st.sampled_from("\x00\x10\ud800\udfff0123abcf"))


def joined(text: str) -> str:
    """The text with pairs of surrogates as the characters they spell."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


@given(any_text)
def test_any_text_survives_storing(text: str) -> None:
    stored = to_stored(text)
    assert "\x00" not in stored
    stored.encode()  # a database driver does this; a lone surrogate would raise
    assert from_stored(stored) == joined(text)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | any_text,
        lambda inner: st.lists(inner) | st.dictionaries(any_text, inner),
    )
)
def test_any_data_survives_json(data: object) -> None:
    written = to_json(data)
    written.encode()
    assert "\x00" not in written
    expected = json.loads(json.dumps(data))
    assert json.loads(written) == expected


def test_plain_text_is_stored_as_it_is() -> None:
    assert to_stored("a plain – text\n") == "a plain – text\n"


def test_a_mark_in_the_text_is_not_taken_for_an_escape() -> None:
    assert from_stored(to_stored("\x100000")) == "\x100000"


def test_numbers_that_are_not_finite_become_words() -> None:
    data = {"low": float("-inf"), "values": [float("nan"), float("inf"), 1.5]}
    assert json.loads(to_json(data)) == {"low": "-Infinity", "values": ["NaN", "Infinity", 1.5]}
