"""Spans put in their places: by their offsets when these give their text, otherwise by their words."""

import pytest
from pydantic import ValidationError

from parts.looped import for_every
from steelyard.scoring.spans.read import SpansLayout, read_spans
from steelyard.scoring.spans.sections import sections_of

TEXT = "😀 a red fox and a red cat"
#       0 2345   9    14  18  22    (code points; UTF-16 counts one more after the face)


def read(*items, **more):
    return read_spans(items, TEXT, **more)


def placed(*items, **more):
    return [(span.text, span.start, span.end) for span in read(*items, **more).placed]


def test_offsets_that_give_the_text_are_taken():
    found = read({"text": "red fox", "start": 4, "end": 11, "role": " who.kind ", "confidence": 0.5})
    (span,) = found.placed
    assert (span.text, span.start, span.end, span.role, span.confidence) == ("red fox", 4, 11, "who.kind", 0.5)
    assert (span.index, span.misplaced, span.section, found.lost) == (0, "", "", ())


@pytest.mark.parametrize(("unit", "start", "end"), [("code_points", 4, 11), ("utf16", 5, 12), ("bytes", 7, 14)])
def test_offsets_are_read_in_the_declared_unit(unit, start, end):
    (span,) = read({"text": "red fox", "start": start, "end": end}, offsets=unit).placed
    assert (span.start, span.end, span.misplaced) == (4, 11, "")
    layout = SpansLayout(offsets=unit)
    assert placed({"start": start, "end": end}, layout=layout, offsets="code_points") == [("red fox", 4, 11)]


def test_a_misplaced_span_is_reported_and_put_where_its_text_is():
    # UTF-16 offsets read as code points are one too far.
    (span,) = read({"text": "fox", "start": 9, "end": 12}).placed
    assert (span.start, span.end) == (8, 11)
    assert span.misplaced == "offsets 9 to 12 give 'ox ', not 'fox'"


def test_of_several_places_the_nearest_that_overlaps_is_taken():
    # "red" is at 4 and at 18.
    assert placed({"text": "red", "start": 5, "end": 8}) == [("red", 4, 7)]
    assert placed({"text": "red", "start": 19, "end": 22}) == [("red", 18, 21)]


def test_a_place_that_could_be_one_of_two_is_lost():
    between = read({"text": "red", "start": 10, "end": 13, "role": "how"})
    assert between.placed == ()
    (lost,) = between.lost
    assert (lost.index, lost.text, lost.role) == (0, "red", "how")
    assert lost.why == "offsets 10 to 13 give 'x a', not 'red'; 'red' is in the text 2 times"
    assert lost.misplaced == "offsets 10 to 13 give 'x a', not 'red'"


def test_two_places_at_the_same_distance_are_lost():
    # "aa" is at 0, 1 and 2 of "aaaa"; offsets 1 to 4 hold "aaa", and its start is that of the second.
    (span,) = read_spans([{"text": "aa", "start": 1, "end": 4}], "aaaa").placed
    assert (span.start, span.end) == (1, 3)
    # "ab" at 0 and at 4, the given start 2 between them.
    assert read_spans([{"text": "ab", "start": 2, "end": 6}], "ab--ab").placed == ()


def test_spans_without_offsets_are_anchored_by_their_text_when_it_is_there_once():
    found = read({"text": "red fox"}, {"text": "red"}, {"text": "dog"}, {"text": "cat", "start": None, "end": None})
    assert [(span.text, span.start, span.misplaced) for span in found.placed] == [("red fox", 4, ""), ("cat", 22, "")]
    assert [(span.index, span.why, span.misplaced) for span in found.lost] == [
        (1, "'red' is in the text 2 times", ""),
        (2, "'dog' is not in the text", ""),
    ]


@for_every(
    ("item", "why"),
    [
        ({"start": 3, "end": 3}, "offsets 3 to 3 hold nothing"),
        ({"start": 5, "end": 2}, "offsets 5 to 2 hold nothing"),
        ({"start": 0, "end": 99}, "offset 99 is outside of the text, which has 25 code points"),
        ({"start": 10**400, "end": 10**401}, "offset of more than 15 digits is outside of the text, which has 25 code"),
        ({"start": "4", "end": 7}, "its offsets are '4' and 7, not two whole numbers"),
        ({"start": 4}, "its offsets are 4 and None, not two whole numbers"),
        ({"start": True, "end": 2.5}, "its offsets are True and 2.5, not two whole numbers"),
        ({"start": float("nan"), "end": float("inf")}, "its offsets are nan and inf, not two whole numbers"),
        ({}, "it has neither a text nor offsets"),
        ({"text": ""}, "it has neither a text nor offsets"),
        ("red fox", "it has neither a text nor offsets"),
        (None, "it has neither a text nor offsets"),
    ],
)
def test_what_has_no_place_is_lost_with_the_reason(item, why):
    found = read(item)
    assert found.placed == ()
    assert found.lost[0].why.startswith(why)
    assert len(found) == 1


def test_an_offset_inside_a_character_is_reported_and_the_text_decides():
    (span,) = read({"text": "red fox", "start": 1, "end": 9}, offsets="utf16").placed
    assert (span.start, span.end) == (4, 11)
    assert span.misplaced == "offset 1 is inside the character '😀', which takes UTF-16 units 0 to 2"


@pytest.mark.parametrize("confidence", [-0.1, 1.1, True, "0.9", float("nan"), None, [1]])
def test_what_is_no_confidence_is_none(confidence):
    assert read({"text": "fox", "confidence": confidence}).placed[0].confidence is None


def test_whole_numbers_with_a_point_are_offsets():
    assert placed({"start": 4.0, "end": 11.0}) == [("red fox", 4, 11)]


def test_spans_are_tagged_by_where_they_begin():
    sections = sections_of(TEXT, {"rest": "and"})
    found = read({"text": "red fox"}, {"text": "fox and"}, {"text": "and a"}, sections=sections)
    assert [span.section for span in found.placed] == ["main", "main", "rest"]


def test_a_layout_finds_nested_parts_and_builds_what_it_reads():
    layout = SpansLayout(spans="out.found[]", text="what", start="at.from", end="at.to", role="kind")
    items = layout.result({"out": {"found": [{"what": "fox", "at": {"from": 9, "to": 12}, "kind": "who"}]}})
    (span,) = read_spans(items, TEXT, layout=layout, offsets="utf16").placed
    assert (span.start, span.end, span.role) == (8, 11, "who")
    assert layout.build([span], TEXT, "utf16") == {
        "out": {"found": [{"what": "fox", "at": {"from": 9, "to": 12}, "kind": "who", "confidence": 1.0}]}
    }
    assert layout.place_of(3) == "out.found[3]"
    assert SpansLayout(spans="[]").result([1, 2]) == [1, 2]
    assert SpansLayout(spans="[]").place_of(1) == "[1]"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"spans": "spans"}, "write it with a single \\[\\] at its end"),
        ({"spans": "groups[].spans[]"}, "write it with a single \\[\\] at its end"),
        ({"end": None}, "start and end go together"),
        ({"text": None, "start": None, "end": None}, "has no place"),
        ({"role": "roles[]"}, "leave out the \\[\\]"),
    ],
)
def test_a_layout_that_cannot_be_is_reported(given, message):
    with pytest.raises(ValidationError, match=message):
        SpansLayout(**given)
