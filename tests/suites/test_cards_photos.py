"""The photos of the cards suite: they show what their truth says, can be drawn again, and fit in the repository."""

from __future__ import annotations

import itertools
import json
import math
import re
from collections import Counter
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema_rs
import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

import steelyard.suites
from draw_cards.draw import photograph, save, write
from draw_cards.plan import DECK, PLANS, TWINS
from draw_cards.scene import Scene, arrange, project, rectangle
from parts.looped import for_every

FOLDER = Path(steelyard.suites.__file__).parent / "cards"
TRUTH: dict[str, dict[str, Any]] = json.loads((FOLDER / "truth.json").read_text("utf-8"))
PLAN_OF = {plan.name: plan for plan in PLANS}

each_photo = for_every("name", sorted(TRUTH))


def folded(text: str) -> str:
    return " ".join(re.findall(r"[a-z]+", text.casefold().replace("'", "")))


def cards_of(name: str) -> list[dict[str, Any]]:
    return [card for pile in TRUTH[name]["piles"] for card in pile["cards"]]


def pixels_of(photo: Path) -> np.ndarray:
    with Image.open(photo) as image:
        return np.asarray(image.convert("RGB"), dtype=float)


@cache
def scene_of(name: str) -> Scene:
    return arrange(PLAN_OF[name])


# The deck


def test_the_deck_has_at_least_72_short_texts():
    assert len(DECK) >= 72
    assert [text for text in DECK if not 2 <= len(text.split()) <= 9] == []


def test_texts_are_distinct_after_folding_case_and_punctuation():
    assert [text for text, times in Counter(map(folded, DECK)).items() if times > 1] == []


@for_every("pair", TWINS)
def test_twins_differ_in_little(pair):
    one, other = (text.split() for text in pair)
    alike = len(Counter(one) & Counter(other))
    assert max(len(one), len(other)) - alike in {1, 2}


# The truth


def test_every_photo_has_its_truth_and_every_truth_its_photo():
    assert sorted(TRUTH) == sorted(photo.stem for photo in (FOLDER / "photos").iterdir())
    assert list(TRUTH) == [plan.name for plan in PLANS]


def test_there_are_at_least_eight_photos_of_each_difficulty():
    photos = Counter(told["difficulty"] for told in TRUTH.values())
    assert set(photos) == {"easy", "medium", "hard"}
    assert min(photos.values()) >= 8
    assert all(name.endswith(f"-{told['difficulty']}") for name, told in TRUTH.items())


def test_the_set_goes_from_6_to_30_cards_and_from_1_to_4_piles():
    counts = [told["total_cards_visible"] for told in TRUTH.values()]
    piles = Counter(len(told["piles"]) for told in TRUTH.values())
    assert (min(counts), max(counts)) == (6, 30)
    assert set(piles) == {1, 2, 3, 4}
    assert piles[4] >= 2


@each_photo
def test_counts_agree_and_no_text_comes_twice(name):
    texts = [card["text"] for card in cards_of(name)]
    assert 6 <= len(texts) == TRUTH[name]["total_cards_visible"] <= 30
    assert len(set(map(folded, texts))) == len(texts)
    assert set(texts) <= set(DECK)
    labels = [pile["label"] for pile in TRUTH[name]["piles"]]
    assert len(set(labels)) == len(labels)
    assert all(pile["cards"] for pile in TRUTH[name]["piles"])


@each_photo
def test_boxes_lie_inside_the_picture(name):
    for card in cards_of(name):
        left, top, right, bottom = card["box"]
        assert 0 <= left < right <= 1, card
        assert 0 <= top < bottom <= 1, card


@each_photo
def test_piles_are_farther_apart_than_the_cards_within_them(name):
    """Otherwise the truth about groups would be a matter of taste."""
    width, height = scene_of(name).width, scene_of(name).height

    def gap(one: dict[str, Any], other: dict[str, Any]) -> float:
        (left, top, right, bottom), (start, above, end, below) = one["box"], other["box"]
        across = max(start - right, left - end, 0) * width
        return math.hypot(across, max(above - bottom, top - below, 0) * height)

    piles = [pile["cards"] for pile in TRUTH[name]["piles"]]
    within = max(min(gap(card, other) for other in pile if other is not card) for pile in piles for card in pile)
    between = [gap(a, b) for one, two in itertools.combinations(piles, 2) for a in one for b in two]
    assert not between or min(between) > max(1.5 * within, 25)


@each_photo
def test_labels_name_the_place_of_their_pile(name):
    def middle(pile: dict[str, Any], low: int, high: int) -> float:
        return float(np.mean([(card["box"][low] + card["box"][high]) / 2 for card in pile["cards"]]))

    piles = TRUTH[name]["piles"]
    for before, after, low in (("left", "right", 0), ("top", "bottom", 1), ("left", "center", 0), ("top", "middle", 1)):
        for one, two in itertools.permutations(piles, 2):
            if before in one["label"].split() and after in two["label"].split():
                assert middle(one, low, low + 2) < middle(two, low, low + 2)


# The photos


@each_photo
def test_a_photo_is_a_small_jpeg(name):
    file = FOLDER / "photos" / f"{name}.jpg"
    assert file.stat().st_size < 150_000
    with Image.open(file) as photo:
        assert photo.format == "JPEG"
        assert max(photo.size) <= 1400
        assert photo.size == (scene_of(name).width, scene_of(name).height)


def test_all_photos_together_stay_below_two_and_a_half_megabytes():
    assert sum(photo.stat().st_size for photo in (FOLDER / "photos").iterdir()) < 2_500_000


@each_photo
def test_every_text_can_be_seen(name):
    """Painted flat: outlines over text areas, from the lowest card to the topmost; what is left is in sight."""
    scene = scene_of(name)
    flat = Image.new("I", (scene.width, scene.height))
    whole = {}
    for number, card in enumerate(scene.cards, start=1):
        ImageDraw.Draw(flat).polygon([tuple(point) for point in card.corners()], fill=0)
        if not card.face_down:
            corners = project(card.place, rectangle(card.print.width, card.print.height))
            ImageDraw.Draw(flat).polygon([tuple(point) for point in corners], fill=number)
            whole[number] = area_of(corners)
    left = np.bincount(np.asarray(flat).ravel(), minlength=len(scene.cards) + 1)
    assert [scene.cards[number - 1].text for number, area in whole.items() if left[number] < 0.96 * area] == []


def area_of(corners: np.ndarray) -> float:
    """By the shoelace formula."""
    x, y = corners.T
    return abs(float(x @ np.roll(y, 1) - y @ np.roll(x, 1))) / 2


@for_every("name", [plan.name for plan in PLANS if plan.difficulty.name == "easy"])
def test_easy_print_is_large(name):
    """The x-height is at least 14 pixels."""
    _, top, _, bottom = ImageFont.load_default(1000).getbbox("x")
    x_height = (bottom - top) / 1000
    for card in scene_of(name).cards:
        ends = project(card.place, np.array([[0, -0.5], [0, 0.5]])) * card.print.size * x_height
        assert math.dist(*ends) >= 14


@pytest.fixture(scope="module")
def drawn_again(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cards")
    write(folder, [PLAN_OF["02-easy"], PLAN_OF["17-hard"]])
    return folder


def test_drawing_again_gives_the_same_truth_and_leaves_nothing_else(drawn_again):
    again = json.loads((drawn_again / "truth.json").read_text("utf-8"))
    assert again == {name: TRUTH[name] for name in ("02-easy", "17-hard")}
    found = sorted(str(path.relative_to(drawn_again)) for path in drawn_again.rglob("*"))
    assert found == ["photos", "photos/02-easy.jpg", "photos/17-hard.jpg", "truth.json"]


def difference_on_cards(name: str, again: np.ndarray) -> list[float]:
    """The mean difference to the kept photo on each card, in grey levels, in the order of the truth."""
    difference = np.abs(pixels_of(FOLDER / "photos" / f"{name}.jpg") - again).mean(axis=2)
    return [float(difference[area(card, again)].mean()) for card in cards_of(name)]


@pytest.mark.parametrize("name", ["02-easy", "17-hard"])
def test_drawing_again_gives_nearly_the_same_pixels(drawn_again, name):
    """Font and JPEG engines differ a little between releases."""
    kept, again = (pixels_of(folder / "photos" / f"{name}.jpg") for folder in (FOLDER, drawn_again))
    assert np.abs(kept - again).mean() < 1
    assert max(difference_on_cards(name, again)) < 1.5


def test_one_other_letter_would_be_noticed(tmp_path):
    """The tolerance above is no blank cheque."""
    scene = scene_of("02-easy")
    cards = list(scene.cards)
    *lines, last = cards[2].print.lines
    cards[2] = replace(cards[2], print=replace(cards[2].print, lines=(*lines, f"{last[:-1]}o")))
    save(photograph(replace(scene, cards=tuple(cards))), scene.plan, tmp_path / "changed.jpg")
    changed = [
        place
        for place, off in enumerate(difference_on_cards("02-easy", pixels_of(tmp_path / "changed.jpg")))
        if off > 1.5
    ]
    assert changed == [2]


def area(card: dict[str, Any], pixels: np.ndarray) -> tuple[slice, slice]:
    height, width = pixels.shape[:2]
    left, top, right, bottom = card["box"]
    return slice(int(top * height), int(bottom * height)), slice(int(left * width), int(right * width))


# The prompts and the shape of answers


@pytest.fixture(scope="module")
def schema():
    return jsonschema_rs.validator_for(json.loads((FOLDER / "answer.schema.json").read_text("utf-8")))


@pytest.mark.parametrize("prompt", ["boxes", "piles", "rows"])
def test_a_prompt_shows_an_answer_that_fits_and_gives_no_card_away(schema, prompt):
    text = (FOLDER / "prompts" / f"{prompt}.md").read_text("utf-8")
    example = json.loads(text[text.index("\n{") :])
    assert schema.is_valid(example)
    assert {"boxes": "box", "rows": "row", "piles": "piles"}[prompt] in json.dumps(example)
    assert [card for card in DECK if folded(card) in folded(text)] == []


@pytest.mark.parametrize(
    "answer",
    [
        {"piles": [{"label": "left", "cards": ["A"]}, {"label": 2, "cards": [{"text": "B", "sure": 0.9}]}], "note": ""},
        {"piles": [{"label": "left", "cards": []}]},
        {"piles": []},
        {"cards": [{"text": "A", "box": [0.1, 0.2, 0.3, 0.4]}, {"text": "B", "box": [100, 200, 300, 400]}]},
        {"cards": [{"text": "A", "row": 1}, {"text": "B", "row": "top"}]},
        {"cards": []},
    ],
    ids=json.dumps,
)
def test_the_three_shapes_fit(schema, answer):
    assert schema.is_valid(answer)


@pytest.mark.parametrize(
    "answer",
    [
        {"groups": [{"label": "left", "cards": ["A"]}]},
        {"piles": [{"name": "left", "cards": ["A"]}]},
        {"piles": [{"label": "left", "items": ["A"]}]},
        {"piles": [{"label": "left", "cards": [{"title": "A"}]}]},
        {"piles": [{"label": None, "cards": ["A"]}]},
        {"piles": {"left": ["A"]}},
        {"cards": [{"text": "A"}]},
        {"cards": ["A"]},
        {"cards": [{"text": "A", "where": [0, 0, 1, 1]}]},
        {"cards": [{"text": 7, "row": 1}]},
        {"cards": [{"text": "A", "row": None}]},
        [{"text": "A", "row": 1}],
        {},
        "A",
    ],
    ids=json.dumps,
)
def test_other_names_and_shapes_do_not_fit(schema, answer):
    assert not schema.is_valid(answer)
