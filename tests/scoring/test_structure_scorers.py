import pytest
from pydantic import ValidationError

from steelyard.scoring.building import build_answer
from steelyard.scoring.structure import Fields, JsonSchema
from steelyard.suite.case import Case

CASE = Case("c", expected={"size": {"colour": "Red", "height": 100, "legs": 4}})
BARE = Fields(answer="size", expected="expected.size", fields={"colour": 2, "height": 1, "legs": 1})


def test_fields_are_scored_by_their_weights():
    # colour right (2 of 4), height wrong, legs right (1 of 4)
    answer = {"size": {"colour": "red", "height": 90, "legs": 4}}
    reading = BARE.read(answer, CASE)
    assert reading.value == 0.75
    assert reading.note == "not right: height 0.00"


def test_a_field_may_have_a_scorer_of_its_own():
    scorer = Fields(
        answer="size",
        expected="expected.size",
        fields={"colour": {}, "height": {"number": {"relative": 0.1}, "weight": 3}},
    )
    assert scorer.read({"size": {"colour": "blue", "height": 95}}, CASE).value == 0.75


@pytest.mark.parametrize("answer", [None, {}, {"size": None}, {"size": "red"}, {"size": []}, "text"])
def test_missing_fields_earn_nothing(answer):
    assert BARE.read(answer, CASE).value == 0.0


def test_the_truth_of_fields_earns_full_marks():
    assert BARE.read({"size": BARE.truth(CASE)}, CASE).value == 1.0


def test_a_missing_true_field_is_a_mistake_unless_skipped():
    case = Case("c", expected={"size": {"colour": "red", "height": None, "legs": 4}})
    assert BARE.check(case) == "height: the truth is missing; give it, or set skip_unknown"
    skipping = BARE.model_copy(update={"skip_unknown": True})
    assert skipping.check(case) is None
    assert skipping.read({"size": {"colour": "red", "legs": 5}}, case).value == pytest.approx(2 / 3)


def test_no_true_fields_at_all_is_unknown():
    assert BARE.read({"size": {"colour": "red"}}, Case("c", expected={})).value is None


def test_strict_reaches_the_fields():
    fields = {"era": {"year_range": {"expected": "expected.era"}}}
    case = Case("c", expected={"era": "1900-1920"})
    scorer = Fields(answer="", expected="expected", fields=fields)
    assert scorer.read({"era": "0-9999"}, case).value == 1.0
    assert scorer.model_copy(update={"strict": True}).read({"era": "0-9999"}, case).value < 0.01


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"a": 0}, "not a weight above 0"),
        ({"a": {"nosuch": {}}}, "is not a scorer"),
        ({"a": {"exact": {}, "number": {}}}, "give one scorer"),
        ({"a": {"exact": {"nosuch": 1}}}, "nosuch"),
        ({}, "at least 1"),
    ],
)
def test_mistakes_in_fields_are_reported(fields, says):
    with pytest.raises(ValidationError, match=says):
        Fields(expected="expected", fields=fields)


COUNT = JsonSchema(answer="n", fits={"type": "integer", "minimum": 1}, example=3)


def test_json_schema_accepts_what_fits_and_tells_what_does_not():
    assert COUNT.read({"n": 5}, CASE).value == 1.0
    reading = COUNT.read({"n": 0}, CASE)
    assert (reading.value, reading.note) == (0.0, "0 is less than the minimum of 1")
    assert COUNT.read({}, CASE).value == 0.0
    assert COUNT.read({"n": COUNT.truth(CASE)}, CASE).value == 1.0


def test_json_schema_finds_json_inside_text():
    scorer = JsonSchema(answer="", fits={"type": "object", "required": ["a"]}, example={"a": 1})
    assert scorer.read('so: ```json\n{"a": 2}\n```', CASE).value == 1.0
    assert scorer.read("nothing", CASE).value == 0.0


@pytest.mark.parametrize(
    ("schema", "example", "says"),
    [
        ({"type": "thing"}, 1, "not a JSON schema"),
        ({"type": "integer"}, "x", "does not fit the schema"),
        (True, 1, "accepts null"),
        ({"$ref": "https://example.org/s.json"}, 1, "remote references are refused"),
    ],
)
def test_mistakes_in_a_schema_are_reported(schema, example, says):
    with pytest.raises(ValidationError, match=says):
        JsonSchema(fits=schema, example=example)


def test_an_answer_is_built_from_values_by_path():
    assert build_answer({"": "oak"}) == "oak"
    assert build_answer({"a.b": 1, "a.c": 2, "d": 3}) == {"a": {"b": 1, "c": 2}, "d": 3}
    assert build_answer({"items.1.x": 1, "piles[].n": 2}) == {"items": [None, {"x": 1}], "piles": [{"n": 2}]}
    each = {"piles[].n": [1, 2], "piles[].name": ["a", "b"], "all[]": [3, 4]}
    assert build_answer(each) == {"piles": [{"n": 1, "name": "a"}, {"n": 2, "name": "b"}], "all": [3, 4]}
