"""The prompts, their gold spans and the taxonomy of the spans suite."""

import json
import re
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest
import yaml

import steelyard
from steelyard import load_suite
from steelyard.suites.spans.prompts import HEADERS, sections_in
from steelyard.suites.spans.taxonomy import categories, category_of, severity_of

FOLDER = Path(steelyard.__file__).parent / "suites" / "spans"
NINE = ["shot", "subject", "action", "environment", "lighting", "camera", "style", "technical", "audio"]


@pytest.fixture(scope="module")
def prompts():
    return [json.loads(line) for line in (FOLDER / "prompts.jsonl").read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="module")
def suite():
    return load_suite("spans")


def in_utf16(text, start, end):
    """What JavaScript's substring gives, worked out without the core."""
    return text.encode("utf-16-le")[2 * start : 2 * end].decode("utf-16-le")


def test_every_offset_gives_its_text_in_utf16_units(prompts):
    wrong = [
        (prompt["id"], span)
        for prompt in prompts
        for span in prompt["expected"]["spans"]
        if in_utf16(prompt["input"]["text"], span["start"], span["end"]) != span["text"]
    ]
    assert wrong == []


def test_offsets_are_not_those_of_python_where_a_prompt_has_characters_outside_the_bmp(prompts):
    differing = [
        prompt["id"]
        for prompt in prompts
        for text in [prompt["input"]["text"]]
        if any(text[span["start"] : span["end"]] != span["text"] for span in prompt["expected"]["spans"])
    ]
    assert len(differing) >= 5


def test_gold_spans_are_in_order_do_not_overlap_and_begin_without_an_article_or_space(prompts):
    for prompt in prompts:
        spans = prompt["expected"]["spans"]
        assert all(one["end"] <= other["start"] for one, other in pairwise(spans)), prompt["id"]
        for span in spans:
            assert span["text"] == span["text"].strip()
            assert not re.match(r"(?:a|an|the) ", span["text"], re.IGNORECASE), (prompt["id"], span)


def test_there_are_enough_prompts_of_every_kind(prompts):
    tags = Counter(tag for prompt in prompts for tag in prompt["tags"])
    assert len(prompts) == 50
    assert sum(len(prompt["expected"]["spans"]) for prompt in prompts) == 868
    assert tags["tuned-on"] == tags["held-out"] == 25
    for tag, fewest in {
        "specs": 20, "alternatives": 10, "variations": 3, "emoji": 6, "non-bmp": 4, "non-english": 6,
        "very-short": 5, "very-long": 2, "no-sections": 15,
    }.items():  # fmt: skip
        assert tags[tag] >= fewest, tag
    assert {prompt["difficulty"] for prompt in prompts} == {"easy", "medium", "hard"}
    assert all(prompt["why"] for prompt in prompts)


def test_tags_say_what_the_text_holds(prompts):
    for prompt in prompts:
        text, tags = prompt["input"]["text"], set(prompt["tags"])
        found = sections_in(text)
        assert ("specs" in tags) == (found["technicalSpecs"] is not None), prompt["id"]
        assert bool({"alternatives", "variations"} & tags) == (found["alternatives"] is not None), prompt["id"]
        if "non-bmp" in tags:
            assert max(text) > "\uffff", prompt["id"]
        if "very-short" in tags:
            assert len(text.split()) <= 12, prompt["id"]


def test_every_role_of_the_gold_is_in_the_taxonomy_and_every_role_is_used(prompts):
    used = {span["role"] for prompt in prompts for span in prompt["expected"]["spans"]}
    listed = {role for category in categories().values() for role in category.roles}
    assert used == listed


def test_the_taxonomy_has_the_nine_categories_with_a_sentence_for_each_role():
    assert list(categories()) == NINE
    for category in categories().values():
        assert category.about
        assert all(about.endswith(".") for about in category.roles.values())
        assert category.missed in ("critical", "important", "minor")


def test_missing_a_subject_or_action_is_critical():
    assert severity_of("subject.wardrobe") == severity_of("action.gesture") == "critical"
    assert severity_of("camera.angle") == "important"
    assert severity_of("style.colorGrade") == severity_of("audio.score") == "minor"
    assert category_of("camera.angle") == "camera"


def test_the_suite_file_and_the_code_agree_on_sections_and_categories():
    written = yaml.safe_load((FOLDER / "suite.yaml").read_text(encoding="utf-8"))
    options = written["score"]["spans"]["match_spans"]
    assert options["sections"] == HEADERS
    assert options["categories"] == NINE
    assert options["offsets"] == "utf16"


def test_the_suite_loads_and_its_cases_are_the_prompts(suite, prompts):
    cases = list(suite.cases)
    assert [case.id for case in cases] == [prompt["id"] for prompt in prompts]
    assert suite.judge is not None
    assert suite.judge.scores_in == "scores"
    assert [member.name for member in suite.judge.members] == ["gold"]


def test_a_line_about_variation_one_begins_no_section():
    text = "A cat.\n- **Variation 1 (Low):** a dog.\n\n**VARIATIONS**\n- a bird."
    found = sections_in(text)
    assert found["technicalSpecs"] is None
    start, end = found["alternatives"]
    assert text[start:end].strip().startswith("**VARIATIONS**")
