"""What every built-in scorer promises, and that the reference documents all of it."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from parts.looped import for_every
from steelyard import plugins
from steelyard.scoring.text import Exact
from steelyard.suite.case import Case

DOCS = Path(__file__).parents[2] / "docs" / "reference" / "scorers.md"

EXPECTED = {
    "name": "Large oak table",
    "words": ["oak", "table"],
    "number": 12.5,
    "label": "good",
    "start": 1890,
    "end": 1910,
    "low": 300,
    "high": 800,
    "pattern": r"\d{3}",
    "example": "123",
    "parts": {"colour": "red"},
    "spans": [{"text": "oak", "start": 6, "end": 9, "role": "wood"}],
    "rooms": [{"name": "hall", "things": ["chair", "lamp"]}, {"name": "attic", "things": ["trunk"]}],
}
CASE = Case("c", expected=EXPECTED)
EMPTY = Case("e", expected={})
PARAMETERS = {
    "alternatives": {"expected": "expected.name", "also": "expected.words"},
    "choice": {"expected": "expected.label", "labels": ["good", "bad"]},
    "contains": {"expected": "expected.words"},
    "exact": {"expected": "expected.name"},
    "fields": {"expected": "expected.parts", "fields": {"colour": 1}},
    "item_set": {"expected": "expected.words"},
    "json_schema": {"fits": {"type": "integer"}, "example": 1},
    "keywords_or_fuzzy": {"expected": "expected.name", "keywords": "expected.words"},
    "match_items": {
        "expected": {"items": "expected.rooms[].things[]", "group": "name"},
        "shapes": [{"items": "rooms[].things[]", "group": "name"}],
    },
    "match_spans": {"text": "expected.name", "expected": {"spans": "expected.spans[]"}},
    "money_range": {"low": "expected.low", "high": "expected.high"},
    "number": {"expected": "expected.number"},
    "ordinal": {"expected": "expected.label", "order": ["bad", "fair", "good"]},
    "retrieval": {"expected": "expected.words"},
    "regex": {"expected": "expected.pattern", "example": "expected.example"},
    "similarity": {"expected": "expected.name"},
    "subset": {"of": "expected.words"},
    "year_range": {"start": "expected.start", "end": "expected.end"},
}
every_scorer = for_every("name", plugins.names("scorers"))


def made(name, **more):
    scorer = plugins.find("scorers", name)(**PARAMETERS[name], **more)
    return scorer.model_copy(update={"strict": True}) if scorer.has_strict and more.get("strict") else scorer


def rules(name):
    scorer = made(name).at("part")
    return [scorer, scorer.model_copy(update={"strict": True})] if scorer.has_strict else [scorer]


@every_scorer
@for_every(
    "answer",
    [
        None,
        "",
        {},
        [],
        {"part": None},
        {"part": ""},
        {"part": "  "},
        {"part": {}},
        {"part": []},
        {"part": True},
        "x",
        3,
    ],
)
def test_an_empty_answer_earns_nothing(name, answer):
    for scorer in rules(name):
        assert scorer.read(answer, CASE).value == 0.0


@every_scorer
def test_the_truth_earns_full_marks_where_the_answer_points(name):
    for scorer in rules(name):
        assert scorer.check(CASE) is None
        assert scorer.truth_at(CASE) == {"part": scorer.truth(CASE)}
        assert scorer.read({"part": scorer.truth(CASE)}, CASE).value == 1.0


# The truth of json_schema is in the suite, not in the case.
@for_every("name", sorted(set(plugins.names("scorers")) - {"json_schema"}))
def test_a_missing_truth_reads_none_and_is_no_mistake_of_the_case(name):
    for scorer in rules(name):
        assert scorer.read({"part": "anything"}, EMPTY).value is None
        assert scorer.truth(EMPTY) is None
        assert scorer.truth_at(EMPTY) == {}
        assert scorer.check(EMPTY) is None


@every_scorer
def test_hostile_values_never_raise(name):
    hostile = [10**400, -1, float("nan"), float("inf"), "\ud800", "9" * 5000, [[]], {"a": {}}, "\0", "🪑", 1e308]
    for scorer in rules(name):
        for value in hostile:
            reading = scorer.read({"part": value}, CASE)
            assert 0.0 <= reading.value <= 1.0


@every_scorer
def test_parameters_are_checked_and_come_back_as_data(name):
    scorer = made(name)
    again = type(scorer).model_validate(scorer.model_dump(mode="json"))
    assert again == scorer
    with pytest.raises(ValidationError):
        plugins.find("scorers", name)(**PARAMETERS[name], no_such_parameter=1)


@every_scorer
def test_every_scorer_and_parameter_is_documented(name):
    text = DOCS.read_text(encoding="utf-8")
    assert f"\n## {name}\n" in text
    section = text.split(f"\n## {name}\n")[1].split("\n## ")[0]
    for parameter, field in plugins.find("scorers", name).model_fields.items():
        assert field.description, parameter
        assert f"`{parameter}`" in section or parameter == "answer", f"{name}.{parameter} is undocumented"
    assert "```yaml" in section


def test_only_ranges_have_a_widest_answer():
    wide = {name for name in plugins.names("scorers") if made(name).widest() is not None}
    assert wide == {"money_range", "year_range"}


def test_scorers_that_look_for_words_tell_them():
    assert made("keywords_or_fuzzy").keywords_of(CASE) == ["oak", "table"]
    assert made("alternatives").keywords_of(CASE) == ["Large oak table", "oak", "table"]
    assert made("number").keywords_of(CASE) == []


def test_a_scorer_moved_to_another_place_looks_there():
    scorer = Exact(answer="a", expected="expected.name")
    answer = {"a": "x", "b": {"c": "large oak table"}}
    assert scorer.read(answer, CASE).value == 0.0
    assert scorer.at("b.c").read(answer, CASE).value == 1.0
    assert scorer.answer == "a"


def test_a_broken_path_is_reported_when_the_suite_loads():
    with pytest.raises(ValidationError, match="is not a path"):
        Exact(expected="expected..name")


@pytest.mark.parametrize(("name", "stated"), [("year_range", "1890 to 1910"), ("money_range", "$300 to $800")])
def test_a_long_text_is_read_at_its_beginning_and_the_note_says_so(name, stated):
    scorer = made(name).at("part")
    whole = scorer.read({"part": stated}, CASE)
    cut = scorer.read({"part": stated.ljust(401)}, CASE)
    assert (cut.value, cut.note) == (whole.value, "only the first 400 characters were looked at")
    late = scorer.read({"part": stated.rjust(900)}, CASE)
    assert late.value == 0
    assert late.note.endswith("can be read; only the first 400 characters were looked at")
