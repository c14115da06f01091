"""Offsets in code points, UTF-8 bytes and UTF-16 units, and the sections that offsets fall into."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parts.looped import for_every
from steelyard.scoring.spans.offsets import OffsetError, TextOffsets, convert_offset
from steelyard.scoring.spans.sections import section_at, sections_of

UNITS = ("code_points", "bytes", "utf16")
# One character each of one, two, three and four bytes; only the last takes two UTF-16 units.
MIXED = "aé水😀z"


def test_every_boundary_of_a_mixed_text_by_hand():
    assert [TextOffsets(MIXED, "bytes").from_code_points(at) for at in range(6)] == [0, 1, 3, 6, 10, 11]
    assert [TextOffsets(MIXED, "utf16").from_code_points(at) for at in range(6)] == [0, 1, 2, 3, 5, 6]
    assert convert_offset(MIXED, 10, of="bytes", to="utf16") == 5
    assert convert_offset(MIXED, 5, of="utf16", to="code_points") == 4


def test_units_agree_with_pythons_own_encoders():
    for at in range(len(MIXED) + 1):
        assert TextOffsets(MIXED, "bytes").from_code_points(at) == len(MIXED[:at].encode("utf-8"))
        assert TextOffsets(MIXED, "utf16").from_code_points(at) == len(MIXED[:at].encode("utf-16-le")) // 2


def test_a_family_emoji_is_many_code_points_and_each_is_a_boundary():
    # Woman, joiner, girl: 2 + 1 + 2 UTF-16 units.
    assert [TextOffsets("👩‍👧", "utf16").from_code_points(at) for at in range(4)] == [0, 2, 3, 5]


@pytest.mark.parametrize(("unit", "offset"), [("utf16", 4), ("bytes", 2), ("bytes", 8)])
def test_an_offset_inside_a_character_is_an_error_that_names_it(unit, offset):
    with pytest.raises(OffsetError, match=f"offset {offset} is inside the character '.'"):
        TextOffsets(MIXED, unit).to_code_points(offset)


@for_every("unit", UNITS)
@for_every("offset", [-1, 12, 10**400])
def test_an_offset_outside_of_the_text_is_an_error(unit, offset):
    with pytest.raises(OffsetError, match="is outside of the text"):
        TextOffsets(MIXED, unit).to_code_points(offset)
    with pytest.raises(OffsetError, match="is outside of the text"):
        TextOffsets(MIXED, unit).from_code_points(offset)


@given(st.text(max_size=30), st.sampled_from(UNITS), st.sampled_from(UNITS), st.data())
def test_converting_there_and_back_is_the_identity(text, one, other, data):
    at = data.draw(st.integers(0, len(text)))
    offset = TextOffsets(text, one).from_code_points(at)
    assert TextOffsets(text, one).to_code_points(offset) == at
    there = convert_offset(text, offset, of=one, to=other)
    assert convert_offset(text, there, of=other, to=one) == offset


@given(st.text(max_size=20), st.sampled_from(UNITS))
def test_the_offsets_that_convert_are_exactly_the_boundaries(text, unit):
    ruler = TextOffsets(text, unit)
    boundaries = {ruler.from_code_points(at) for at in range(len(text) + 1)}
    for offset in range(max(boundaries) + 1):
        if offset in boundaries:
            assert ruler.from_code_points(ruler.to_code_points(offset)) == offset
        else:
            with pytest.raises(OffsetError):
                ruler.to_code_points(offset)


PATTERNS = {"details": [r"\*\*DETAILS\*\*", r"\*\*Details\*\*"], "others": r"\*\*OTHER"}
LETTER = "Dear all\n**Details**\nsize 4\n**OTHER WAYS**\nnone"


def test_sections_begin_where_their_pattern_is_first_found():
    # "Dear all\n" has 9 characters, "**Details**\nsize 4\n" 19.
    assert sections_of(LETTER, PATTERNS) == {"main": (0, 9), "details": (9, 28), "others": (28, len(LETTER))}


def test_a_section_that_is_not_there_is_none_and_its_neighbour_goes_on():
    assert sections_of("Dear **OTHER", PATTERNS) == {"main": (0, 5), "details": None, "others": (5, 12)}
    assert sections_of("Dear all", PATTERNS) == {"main": (0, 8), "details": None, "others": None}
    assert sections_of("", PATTERNS) == {"main": (0, 0), "details": None, "others": None}


def test_the_first_pattern_that_is_found_wins_and_sections_may_come_in_any_order():
    text = "**OTHER x **Details** y **DETAILS** z"
    assert sections_of(text, PATTERNS) == {"main": (0, 0), "details": (24, 37), "others": (0, 24)}


def test_one_header_begins_one_section():
    found = sections_of("x # a # b", {"one": "#", "two": "#"})
    assert found == {"main": (0, 2), "one": (2, 6), "two": (6, 9)}


def test_an_offset_is_in_the_section_that_begins_there():
    found = sections_of(LETTER, PATTERNS)
    places = {at: section_at(found, at) for at in (0, 8, 9, 27, 28, len(LETTER))}
    assert places == {0: "main", 8: "main", 9: "details", 27: "details", 28: "others", len(LETTER): "others"}
    assert section_at(sections_of("# x", {"one": "#"}), 0) == "one"


@given(st.text(alphabet="ab# *\n", max_size=40))
def test_sections_cover_the_text_without_gaps_or_overlaps(text):
    found = [place for place in sections_of(text, {"one": "#", "two": r"\*", "three": "##"}).values() if place]
    ends = sorted(found)
    assert ends[0][0] == 0
    assert ends[-1][1] == len(text)
    assert all(one[1] == other[0] for one, other in pairwise(ends))
