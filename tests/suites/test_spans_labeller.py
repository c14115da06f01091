"""The embedded labeller: deterministic, blind to the truth, and as sure as its rules deserve."""

import json
from pathlib import Path

import pytest

import steelyard
from parts.looped import for_every
from steelyard import Case
from steelyard.suites.spans.labeller import label

FOLDER = Path(steelyard.__file__).parent / "suites" / "spans"


def labelled(text):
    return label(Case(id="x", input={"text": text}))["spans"]


def roles(text):
    return {span["text"]: span["role"] for span in labelled(text)}


@pytest.fixture(scope="module")
def texts():
    lines = (FOLDER / "prompts.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line)["input"]["text"] for line in lines]


@for_every(
    ("figure", "role"),
    [
        ("8s", "technical.duration"),
        ("10 seconds", "technical.duration"),
        ("2.39:1", "technical.aspectRatio"),
        ("23.976fps", "technical.frameRate"),
        ("25 fps", "technical.frameRate"),
        ("1080p", "technical.resolution"),
        ("3840x2160", "technical.resolution"),
        ("f/2.8-f/4", "camera.focus"),
        ("f/11", "camera.focus"),
        ("85mm lens", "camera.lens"),
        ("5600K", "lighting.colorTemp"),
    ],
)
def test_figures_are_found_by_their_pattern(figure, role):
    found = labelled(f"Something with {figure} in it.")
    assert [(one["text"], one["role"], one["confidence"]) for one in found if one["role"] == role] == [
        (figure, role, 0.9)
    ]


def test_phrases_of_the_trade_are_surer_than_single_words_and_those_than_guesses():
    found = {span["text"]: span["confidence"] for span in labelled("Medium Shot of a grey wolf at dawn.")}
    assert found == {"Medium Shot": 0.95, "grey wolf": 0.6, "dawn": 0.9}


def test_the_longest_phrase_of_the_trade_counts():
    assert roles("An extreme close-up, please.")["extreme close-up"] == "shot.type"
    assert "close-up" not in roles("An extreme close-up, please.")


def test_offsets_are_utf16_units():
    text = "🏄🏽 Wide Shot at dusk 🌊 with 24fps"
    for span in labelled(text):
        cut = text.encode("utf-16-le")[2 * span["start"] : 2 * span["end"]].decode("utf-16-le")
        assert cut == span["text"]
    assert text.index("Wide") + 2 == labelled(text)[0]["start"]


def test_it_gives_the_same_spans_every_time_and_never_two_alike(texts):
    for text in texts:
        found = labelled(text)
        assert found == labelled(text)
        assert len({(one["start"], one["end"], one["role"]) for one in found}) == len(found)


def test_it_does_not_look_at_the_truth(texts):
    text = texts[0]
    with_truth = Case(id="x", input={"text": text}, expected={"spans": [{"text": "nothing", "role": "a.b"}]})
    assert label(with_truth)["spans"] == labelled(text)


def test_confidence_is_never_outside_what_its_rules_say(texts):
    seen = {span["confidence"] for text in texts for span in labelled(text)}
    assert seen <= {0.95, 0.9, 0.7, 0.68, 0.65, 0.6, 0.55}


def test_it_makes_the_mistakes_of_such_programs():
    header = roles("- **Variation 1 (Low Angle):** a dog.")
    assert header["Low Angle"] == "camera.angle"
    assert roles("A mood of quiet tension.")["quiet tension"] == "style.aesthetic"
    twice = [span["text"] for span in labelled("Lit by a warm glow.")]
    assert twice == ["warm", "warm glow"]


def test_an_empty_prompt_has_no_spans():
    assert labelled("") == []
