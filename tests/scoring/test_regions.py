"""Boxes in every way people and models write them, and the rows, columns and piles they lie in."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

import steelyard.regions
from steelyard.scoring.boxes import raw_box, read_box, scale_box, units_of, write_box
from steelyard.scoring.regions import group_boxes, lay_out

KINDS = ("rows", "columns", "piles")
FRACTION = (0.1, 0.2, 0.4, 0.6)


def boxes_of(corners, width=10, height=10):
    return [(x, y, x + width, y + height) for x, y in corners]


sides = st.integers(1, 40)
edges = st.integers(0, 200)
some_boxes = st.lists(st.builds(lambda x, y, w, h: (x, y, x + w, y + h), edges, edges, sides, sides), max_size=12)


@pytest.mark.parametrize(
    "written",
    [
        [0.1, 0.2, 0.4, 0.6],
        (0.1, 0.2, 0.4, 0.6),
        [0.4, 0.6, 0.1, 0.2],  # the corners the other way round
        [0.4, 0.2, 0.1, 0.6],
        {"left": 0.1, "top": 0.2, "right": 0.4, "bottom": 0.6},
        {"x1": 0.1, "y1": 0.2, "x2": 0.4, "y2": 0.6},
        {"x0": 0.1, "y0": 0.2, "x1": 0.4, "y1": 0.6},
        {"xmin": 0.1, "ymin": 0.2, "xmax": 0.4, "ymax": 0.6, "score": 0.9},
        {"x": 0.1, "y": 0.2, "width": 0.3, "height": 0.4},
        {"x": 0.1, "y": 0.2, "w": 0.3, "h": 0.4},
        [[0.1, 0.3], [0.3, 0.2], [0.4, 0.5], [0.2, 0.6]],  # a tilted outline: the box around it
    ],
)
def test_a_box_is_read_however_it_is_written(written):
    assert read_box(written) == pytest.approx(FRACTION)


def test_four_numbers_are_read_as_the_corners_say():
    assert read_box([0.1, 0.2, 0.3, 0.4], corners="xywh") == pytest.approx((0.1, 0.2, 0.4, 0.6))
    assert read_box([0.2, 0.1, 0.6, 0.4], corners="yxyx") == pytest.approx(FRACTION)
    # Keys say what they are; the declared order is for lists.
    assert read_box({"left": 0.1, "top": 0.2, "right": 0.4, "bottom": 0.6}, corners="yxyx") == pytest.approx(FRACTION)


@pytest.mark.parametrize(
    ("units", "size", "written"),
    [
        ("fraction", None, [0.1, 0.2, 0.4, 0.6]),
        ("thousand", None, [100, 200, 400, 600]),
        ("thousand", (640, 480), [100, 200, 400, 600]),
        ("pixels", (640, 480), [64, 96, 256, 288]),  # 0.1 × 640, 0.2 × 480, 0.4 × 640, 0.6 × 480
    ],
)
def test_declared_units_are_taken_at_their_word(units, size, written):
    assert read_box(written, units=units, size=size) == pytest.approx(FRACTION)


@pytest.mark.parametrize(
    "written",
    [
        None,
        "0.1, 0.2, 0.4, 0.6",
        ["0.1", "0.2", "0.4", "0.6"],
        [True, 0.2, 0.4, 0.6],
        [0.1, 0.2, float("nan"), 0.6],
        [0.1, 0.2, float("inf"), 0.6],
        [0.1, 0.2, 10**400, 0.6],  # too large for a float
        [0.1, 0.2, 0.4],
        [0.1, 0.2, 0.4, 0.6, 0.9],
        [],
        [[0.1, 0.2], [0.4, 0.6]],
        [[0.1, 0.2], [0.4, 0.6], [0.1], [0.2, 0.2]],
        [[0.1, 0.2], 0.4, 0.6, 0.5],
        [0.1, 0.2, 0.1, 0.6],  # no width
        {"x": 0.1, "y": 0.2, "width": -0.3, "height": 0.4},
        {"x": 0.1, "y": 0.2, "width": 0.3},
        {"left": 0.1, "top": None, "right": 0.4, "bottom": 0.6},
        {},
        7,
    ],
)
def test_what_is_no_box_has_no_box(written):
    assert read_box(written) is None


def test_a_negative_size_is_no_box():
    assert read_box([0.5, 0.5, -0.2, 0.1], corners="xywh") is None


def test_a_box_that_reaches_out_is_cut_at_the_edge():
    assert read_box([-0.02, 0.5, 0.3, 1.01]) == (0.0, 0.5, 0.3, 1.0)


@pytest.mark.parametrize("written", [[1.1, 0.2, 1.3, 0.6], [-0.3, 0.1, 0.0, 0.2], [0, 0, 30, 40]])
def test_a_box_outside_the_picture_is_none(written):
    assert read_box(written, units="fraction") is None


@pytest.mark.parametrize(
    ("boxes", "size", "units"),
    [
        ([], (640, 480), "fraction"),
        ([FRACTION], (640, 480), "fraction"),
        ([(0.1, 0.2, 1.02, 0.6)], (640, 480), "fraction"),  # a little outside is still a fraction
        ([(0, 0, 1, 1), (100, 100, 900, 900)], None, "thousand"),  # all boxes of the answer decide, not each
        ([(100, 100, 900, 1200)], None, "pixels"),
        ([(100, 100, 900, 900)], (640, 480), "thousand"),  # does not fit in the picture
        ([(100, 100, 600, 400)], (640, 480), "pixels"),  # fits both; a small picture filled to its edge
        ([(100, 100, 641, 482)], (640, 480), "pixels"),  # two pixels over the edge
        ([(100, 100, 900, 900)], (4000, 3000), "thousand"),  # fits both; a large picture
        ([(100, 100, 2900, 900)], (4000, 3000), "pixels"),
        ([(100, 100, 1003, 900)], (640, 480), "thousand"),  # fits neither: 0.3 % over against 57 % over
        ([(100, 100, 1500, 900)], (1400, 1000), "pixels"),  # fits neither: 7 % over against 50 % over
    ],
)
def test_units_are_told_by_all_boxes_together(boxes, size, units):
    assert units_of(boxes, size) == units


def test_pixels_of_an_unknown_picture_have_no_place_but_a_group():
    written = [[10, 10, 400, 90], [500, 12, 900, 92], [10, 1500, 400, 1580]]
    assert [read_box(box, units="pixels", size=None) for box in written] == [None, None, None]
    assert group_boxes([raw_box(box) for box in written], "rows") == [0, 0, 1]


@given(
    st.lists(st.integers(0, 999), min_size=4, max_size=4, unique=True),
    st.sampled_from(["xyxy", "xywh", "yxyx"]),
    st.sampled_from(["auto", "fraction", "thousand", "pixels"]),
)
def test_a_box_that_was_written_reads_back(numbers, corners, units):
    left, right = sorted(numbers[:2])
    top, bottom = sorted(numbers[2:])
    box = (left / 1000, top / 1000, right / 1000, bottom / 1000)
    written = write_box(box, corners=corners, units=units, size=(640, 480))
    assert read_box(written, corners=corners, units=units, size=(640, 480)) == pytest.approx(box)


@given(st.recursive(st.none() | st.booleans() | st.floats() | st.integers() | st.text(), st.lists, max_leaves=8))
def test_no_value_breaks_the_reader(value):
    box = read_box([value, 1, 2, value], size=(640, 480)) or read_box(value, size=(640, 480))
    assert box is None or (0 <= box[0] < box[2] <= 1 and 0 <= box[1] < box[3] <= 1)


def test_a_scaled_box_lies_in_the_picture():
    assert scale_box((-100, -100, 1100, 1100), "thousand", None) == (0, 0, 1, 1)


def test_rows_are_numbered_from_the_top_and_columns_from_the_left():
    # Two rows of three; rows 20 apart with boxes 10 high, a tilt of 1 from box to box.
    boxes = boxes_of([(0, 20), (15, 21), (30, 22), (0, 0), (15, 1), (30, 2)])
    assert group_boxes(boxes, "rows") == [1, 1, 1, 0, 0, 0]
    assert group_boxes(boxes, "columns") == [0, 1, 2, 0, 1, 2]


def test_a_row_ends_where_centres_step_more_than_half_a_box():
    # Heights are all 10, so a step of 5 is still the same row and a step of 6 is not.
    assert group_boxes(boxes_of([(0, 0), (20, 5), (40, 11)]), "rows") == [0, 0, 1]


def test_piles_of_overlapping_boxes_are_told_apart():
    # Left pile: three that overlap; right pile: two that touch; 12 (more than one box of 10) between them.
    boxes = boxes_of([(0, 0), (4, 3), (8, 0), (30, 0), (40, 0)])
    assert group_boxes(boxes, "piles") == [0, 0, 0, 1, 1]


def test_piles_that_overlap_inside_are_apart_at_a_third_of_a_box():
    # Boxes of 10 that overlap by 6, a gap of 3 (0.3 of a box), and two more.
    assert group_boxes(boxes_of([(0, 0), (4, 3), (17, 0), (21, 3)]), "piles") == [0, 0, 1, 1]


def test_boxes_laid_loosely_in_a_grid_are_one_pile():
    # Gaps of 6 in a pile (0.6 of a box), 12 between the piles: twice the usual gap of 0.6 is capped at a whole box.
    pile = [(x, y) for x in (0, 16) for y in (0, 16)]
    boxes = boxes_of(pile + [(x + 38, y) for x, y in pile])
    assert group_boxes(boxes, "piles") == [0, 0, 0, 0, 1, 1, 1, 1]


def test_single_boxes_far_apart_are_piles_of_one():
    assert group_boxes(boxes_of([(0, 0), (30, 0), (60, 0)]), "piles") == [0, 1, 2]


def test_piles_are_numbered_row_by_row():
    # Two above, two below; the upper right one begins a little higher than the upper left one.
    boxes = boxes_of([(50, 48), (0, 50), (50, 0), (0, 2)])
    assert group_boxes(boxes, "piles") == [3, 2, 1, 0]


def test_a_tall_pile_beside_a_short_one_is_in_the_same_row():
    tall = [(40, y) for y in (0, 10, 20, 30, 40)]
    assert group_boxes(boxes_of([*tall, (0, 1)]), "piles") == [1, 1, 1, 1, 1, 0]


@pytest.mark.parametrize("style", ["heap", "fan", "grid"])
@pytest.mark.parametrize("seed", range(10))
def test_piles_with_a_clear_gap_are_found_at_random(style, seed):
    chance = random.Random(seed)
    boxes, truth, edge = [], [], 0.0
    for pile in range(chance.randint(2, 4)):
        offsets = {
            "heap": [(chance.uniform(0, 10), chance.uniform(0, 15)) for _ in range(6)],
            "fan": [(chance.uniform(0, 2), 5 * place) for place in range(6)],
            "grid": [(12 * (place % 2) + chance.random(), 18 * (place // 2) + chance.random()) for place in range(6)],
        }[style]
        laid = [(edge + x, y, edge + x + 10, y + 15) for x, y in offsets]
        boxes += laid
        truth += [pile] * len(laid)
        edge = max(box[2] for box in laid) + 11
    assert group_boxes(boxes, "piles") == truth


@pytest.mark.parametrize("into", KINDS)
def test_no_boxes_have_no_groups(into):
    assert group_boxes([], into) == []


@given(st.sampled_from(KINDS), st.integers(1, 9), sides, sides)
def test_boxes_that_are_all_the_same_are_one_group(into, n, width, height):
    assert group_boxes([(3, 4, 3 + width, 4 + height)] * n, into) == [0] * n


@given(st.sampled_from(KINDS), some_boxes, st.randoms(use_true_random=False))
def test_the_order_of_boxes_does_not_matter(into, boxes, chance):
    order = list(range(len(boxes)))
    chance.shuffle(order)
    groups = group_boxes(boxes, into)
    assert group_boxes([boxes[at] for at in order], into) == [groups[at] for at in order]


@given(st.sampled_from(KINDS), some_boxes, st.integers(1, 50), st.integers(1, 50))
def test_the_units_of_either_axis_do_not_matter(into, boxes, across, down):
    scaled = [(left * across, top * down, right * across, bottom * down) for left, top, right, bottom in boxes]
    assert group_boxes(scaled, into) == group_boxes(boxes, into)


@given(st.sampled_from(KINDS), some_boxes)
def test_groups_are_numbered_without_gaps(into, boxes):
    groups = group_boxes(boxes, into)
    assert sorted(set(groups)) == list(range(len(set(groups))))


@given(some_boxes)
def test_boxes_that_overlap_share_a_pile(boxes):
    piles = group_boxes(boxes, "piles")
    for one, pile in zip(boxes, piles, strict=True):
        for other, its_pile in zip(boxes, piles, strict=True):
            if one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]:
                assert pile == its_pile


@given(st.sampled_from(KINDS), st.lists(st.integers(0, 5), max_size=15))
def test_made_up_boxes_lie_in_the_groups_they_were_made_for(into, numbers):
    names = list(dict.fromkeys(numbers))
    groups = [names.index(number) for number in numbers]
    boxes = lay_out(groups, into)
    assert group_boxes(boxes, into) == groups
    assert all(scale_box(box, "fraction", None) == pytest.approx(box) for box in boxes)


def test_many_boxes_in_one_heap_are_grouped_in_time():
    chance = random.Random(7)
    heap = [(x, y, x + 100, y + 100) for x, y in ((chance.random(), chance.random()) for _ in range(500))]
    assert set(group_boxes(heap, "piles")) == {0}


def test_suites_have_the_public_names():
    assert steelyard.regions.__all__ == ["group_boxes", "read_box"]
    assert steelyard.regions.group_boxes(boxes_of([(0, 0), (50, 0)]), "columns") == [0, 1]
