"""Rubrics, in a file of their own or in the suite's, with every mistake where it stands."""

from __future__ import annotations

import pytest

from steelyard.errors import SuiteError
from steelyard.loading.load import load_suite

RUBRIC = """version: 2.1
scale: [1, 5]
neutral: 3
calibration:
  - Start at 3.
dimensions:
  tone:
    about: How it sounds.
    weight: 0
    scores: {1: cold, 5: warm, 3: so so}
    examples: {"4": "Dear friend"}
  sense: {}
flags:
  unsafe:
    about: Harm.
    triggers: [a threat]
    fails: false
"""


def problems(path) -> list[str]:
    with pytest.raises(SuiteError) as raised:
        load_suite(path)
    return str(raised.value).splitlines()


def test_a_rubric_in_its_own_file_is_read(judged):
    rubric = load_suite(judged(rubric="r/rubric.yaml", files={"r/rubric.yaml": RUBRIC})).judge.rubric
    assert (rubric.version, rubric.low, rubric.high, rubric.neutral) == ("2.1", 1, 5, 3)
    assert rubric.names == ("tone", "sense", "unsafe")
    tone, sense = rubric.dimensions
    assert list(tone.scores.items()) == [("5", "warm"), ("3", "so so"), ("1", "cold")]  # highest first
    assert (tone.weight, tone.examples, sense.weight) == (0, {"4": "Dear friend"}, 1)
    assert rubric.flags[0].triggers == ("a threat",)
    assert rubric.flags[0].fails is False
    assert rubric.calibration == ("Start at 3.",)


# The middle rounded down, but never the lowest score: (1 + 5) // 2 = 3, (1 + 4) // 2 = 2, (0 + 1) // 2 = 0 -> 1.
@pytest.mark.parametrize(("scale", "neutral"), [([1, 5], 3), ([1, 4], 2), ([0, 1], 1), ([-2, 2], 0), ([0, 10], 5)])
def test_the_neutral_score_is_the_middle_unless_said(judged, scale, neutral):
    rubric = {"scale": scale, "dimensions": {"tone": {}, "sense": {}}, "flags": {"unsafe": {}}}
    path = judged(rubric=rubric, bind=[], labels=None)
    assert load_suite(path).judge.rubric.neutral == neutral


def test_mistakes_are_reported_in_the_rubrics_own_file_and_line(judged):
    text = """scale: [1, 5]
neutral: 1
calibratoin: []
dimensions:
  tone:
    weight: -1
  sense:
    scores: {6: too much}
"""
    told = problems(judged(rubric="rubric.yaml", files={"rubric.yaml": text}))
    assert told == [
        "rubric.yaml:3: unknown key 'calibratoin': did you mean calibration?",
        "rubric.yaml:6: dimensions.tone.weight must be at least 0.0; found -1 (a number)",
    ]
    text = text.replace("calibratoin", "calibration").replace("-1", "1")
    told = problems(judged(rubric="rubric.yaml", bind=[], labels=None, files={"rubric.yaml": text}))
    assert told == [
        "rubric.yaml:2: neutral: 1 is the lowest score, and nothing could ever be below it",
        "rubric.yaml:8: dimensions.sense.scores.6: is not a score from 1 to 5",
    ]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"scale": [5, 1]}, "judge.rubric.scale: 5 is not below 1"),
        ({"scale": [1, 2, 3]}, "judge.rubric.scale"),
        ({"scale": [1, 5.5]}, "judge.rubric.scale[1] must be a whole number"),
        ({"neutral": 6}, "judge.rubric.neutral: 6 is not on the scale from 1 to 5"),
        ({"neutral": 1}, "judge.rubric.neutral: 1 is the lowest score"),
        ({"dimensions": {}}, "judge.rubric.dimensions: give at least one"),
        ({"dimensions": {"tone": {"scores": {"0": "x"}}, "sense": {}}}, "tone.scores.0: is not a score from 1 to 5"),
        ({"dimensions": {"tone": {"scores": {"x": "x"}}, "sense": {}}}, "tone.scores.x: is not a score from 1 to 5"),
        ({"dimensions": {"tone": {"examples": {"9": "x"}}, "sense": {}}}, "tone.examples.9: is not a score"),
        ({"dimensions": {"tone": {}, "sense": {}, "form": {}}}, "form: the name is taken by the component form"),
        ({"dimensions": {"tone": {}, "sense": {}, "Tone": {}}}, "Tone: the name is taken by the dimension tone"),
        ({"dimensions": {"tone": {}, "sense": {}, "unsafe": {}}}, "unsafe: the name is taken by the dimension unsafe"),
        (
            {"dimensions": {"tone": {}, "sense": {}, "format": {}}},
            "FORMAT is the code of an answer that cannot be read",
        ),
        (
            {"dimensions": {"tone": {}, "sense": {}, "a b": {}}},
            "a dimension's name is one word of letters, digits and _",
        ),
        ({"dimensions": {"tone": {}, "sense": {}, "not": {}}}, "a dimension's name is one word"),
        ({"dimensions": {"tone": {"wieght": 1}, "sense": {}}}, "tone: unknown key 'wieght': did you mean weight?"),
        ({"dimensions": {"tone": {"needs": "question"}, "sense": {}}}, "tone.needs: it is a path into the case"),
        (
            {"dimensions": {"tone": {"needs": "input.q"}, "sense": {"weight": 0}}},
            "every dimension with a weight needs something",
        ),
        ({"flags": {"unsafe": {}, "un-safe": {}}}, "a flag's name is one word of letters, digits and _"),
        ({"flags": {"unsafe": {"fails": "yes"}}}, "judge.rubric.flags.unsafe.fails must be true or false"),
        ({"flags": {"unsafe": {"triggers": "x"}}}, "judge.rubric.flags.unsafe.triggers must be a list"),
    ],
)
def test_a_mistake_in_a_rubric_is_reported_in_plain_words(judged, change, message):
    rubric = {"dimensions": {"tone": {}, "sense": {}}, "flags": {"unsafe": {}}} | change
    told = problems(judged(rubric=rubric, bind=[]))
    assert len(told) == 1, told
    assert message in told[0]
    assert told[0].startswith("suite.yaml:")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- a\n", "rubric.yaml:1: a rubric is a group of keys (scale, dimensions, ...); found"),
        ("", "rubric.yaml: a rubric is a group of keys"),
        ("a: [\n", "rubric.yaml:2: not readable as YAML"),
        ("scale: [1, 5]\n", "rubric.yaml: dimensions is missing"),
        (
            "dimensions: {tone: {}, sense: {}}\nscale: [1, 5]\nscale: [1, 4]\n",
            "rubric.yaml:3: the key 'scale' is given",
        ),
    ],
)
def test_a_file_that_holds_no_rubric_is_reported(judged, text, message):
    told = problems(judged(rubric="rubric.yaml", bind=[], labels=None, files={"rubric.yaml": text}))
    assert len(told) == 1, told
    assert told[0].replace(":1: dimensions", ": dimensions").startswith(message)


def test_a_rubric_that_is_not_there_is_reported(judged):
    (told,) = problems(judged(rubric="rubrik.yaml", files={"rubric.yaml": RUBRIC}))
    assert "there is no file rubrik.yaml: did you mean rubric.yaml?" in told
    (told,) = problems(judged(rubric=3))
    assert "judge.rubric must be text or a group of keys; found 3 (a number)" in told
