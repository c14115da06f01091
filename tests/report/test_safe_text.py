"""Foreign text can neither move a cursor nor hide."""

import json
import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from steelyard.report.format import as_text, ascii_only, clipped, laid_out, one_line, shortened, visible

ANY_TEXT = st.text(st.characters(exclude_categories=()))


def test_escape_sequences_are_spelled_out():
    assert visible("\x1b[2J") == "\\x1b[2J"


def test_bidi_overrides_are_spelled_out():
    assert visible("\u202egnp.exe") == "\\u202egnp.exe"


def test_lone_surrogates_are_spelled_out():
    assert visible("a\ud800") == "a\\ud800"


def test_honest_text_stays_as_it_is():
    honest = "Änderung, 椅子, می‌خواهم, 👩‍🔧, tab\there\nnext line"
    assert visible(honest) == honest


@given(ANY_TEXT)
def test_nothing_invisible_is_left_but_joiners_tabs_and_line_ends(text):
    allowed = {"\u200c", "\u200d", "\n", "\t"}
    left = {sign for sign in visible(text) if unicodedata.category(sign) in ("Cc", "Cs")} - allowed
    assert left == set()
    visible(text).encode()  # what UTF-8 can not hold would raise


@given(ANY_TEXT)
def test_one_line_is_one_line(text):
    assert len(one_line(text).splitlines()) <= 1


def test_a_cut_says_how_much_is_gone():
    assert shortened("abcdefgh", 5) == "abcde... (+3 characters)"
    assert shortened("abcde", 5) == "abcde"


def test_a_cut_does_not_part_a_letter_from_its_accent():
    assert shortened("cafe\u0301 x", 4) == "caf... (+4 characters)"


@given(ANY_TEXT, st.integers(4, 40))
def test_a_clipped_line_fits(text, limit):
    assert len(clipped(text, limit)) <= limit


def test_a_line_is_clipped_between_words_unless_a_word_takes_half_of_it():
    assert clipped("expected one thing, got another", 20) == "expected one..."
    assert clipped("estimatedValueMinimum is missing", 15) == "estimatedVal..."


@given(ANY_TEXT)
def test_ascii_only_is_ascii(text):
    assert ascii_only(visible(text)).isascii()


def test_values_become_text():
    assert as_text({"a": [1, None]}) == '{"a": [1, null]}'
    assert as_text(None) == ""
    assert as_text("as it is") == "as it is"


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


def test_a_list_of_numbers_is_laid_out_on_one_line_and_a_text_that_looks_like_one_is_not_touched():
    value = {"box": [0.1, -2, 3e-07], "text": "[\n  1,\n  2\n]"}
    assert laid_out(value) == '{\n  "box": [0.1, -2, 3e-07],\n  "text": "[\\n  1,\\n  2\\n]"\n}'


@given(st.dictionaries(st.text(), JSON_VALUES))
def test_laying_out_changes_no_value(value):
    assert json.loads(laid_out(value)) == value
