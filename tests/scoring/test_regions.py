"""Boxes in every way people and models write them, and the rows, columns and piles they lie in."""

import random
from statistics import median

import pytest
from hypothesis import given
from hypothesis import strategies as st

import steelyard
from parts.looped import for_every
from steelyard.scoring.items import box_groups as regions
from steelyard.scoring.items.box_groups import group_boxes, lay_out
from steelyard.scoring.items.boxes import raw_box, read_box, scale_box, units_of, write_box

KINDS = ("rows", "columns", "piles")
FRACTION = (0.1, 0.2, 0.4, 0.6)


def boxes_of(corners, width=10, height=10):
    return [(x, y, x + width, y + height) for x, y in corners]


def piles_pair_by_pair(boxes):
    """The piles as sets of places, found by looking at every pair; gaps are counted in median boxes."""
    width = median(right - left for left, _, right, _ in boxes)
    height = median(bottom - top for _, top, _, bottom in boxes)
    gaps = {}
    for one, (left, top, right, bottom) in enumerate(boxes):
        for other, (its_left, its_top, its_right, its_bottom) in enumerate(boxes):
            across = max(its_left - right, left - its_right) / width
            down = max(its_top - bottom, top - its_bottom) / height
            gaps[one, other] = max(across, down, 0.0)
    places = range(len(boxes))
    nearest = [min((gaps[one, other] for other in places if other != one), default=9) for one in places]
    reach = max(0.25, min(1.0, 2 * median(gap if gap <= 1 else float("inf") for gap in nearest)))
    pile_of = list(places)
    for (one, other), gap in gaps.items():
        if gap <= reach:
            pile_of = [pile_of[one] if pile == pile_of[other] else pile for pile in pile_of]
    return {frozenset(place for place in places if pile_of[place] == pile) for pile in pile_of}


def as_sets(groups):
    return {frozenset(place for place, group in enumerate(groups) if group == one) for one in groups}


sides = st.integers(1, 40)
edges = st.integers(0, 200)
some_boxes = st.lists(st.builds(lambda x, y, w, h: (x, y, x + w, y + h), edges, edges, sides, sides), max_size=12)
# Boxes of much the same size, laid loosely: here the usual gap decides.
near = st.floats(0, 60)
loose_boxes = st.lists(st.builds(lambda x, y, side: (x, y, x + side, y + 8), near, near, st.floats(6, 9)), max_size=12)


@for_every(
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
        {"x_min": 0.1, "y_min": 0.2, "x_max": 0.4, "y_max": 0.6},
        {"xMin": 0.1, "yMin": 0.2, "xMax": 0.4, "yMax": 0.6},
        {"Left": 0.1, "Top": 0.2, "Right": 0.4, "Bottom": 0.6},
        {"left": 0.1, "top": 0.2, "width": 0.3, "height": 0.4},
        {"x_min": 0.1, "y_min": 0.2, "w": 0.3, "h": 0.4},
        {"cx": 0.25, "cy": 0.4, "w": 0.3, "h": 0.4},
        {"x_center": 0.25, "y_center": 0.4, "width": 0.3, "height": 0.4},
        {"top_left": [0.1, 0.2], "bottom_right": [0.4, 0.6]},
        {"topLeft": {"x": 0.1, "y": 0.2}, "bottomRight": {"x": 0.4, "y": 0.6}},
        {"vertices": [{"x": 0.1, "y": 0.2}, {"x": 0.4, "y": 0.2}, {"x": 0.4, "y": 0.6}]},
        {"bbox": [0.1, 0.2, 0.4, 0.6]},
        [[0.1, 0.2], [0.4, 0.6]],  # two corners
        [{"x": 0.4, "y": 0.2}, {"x": 0.1, "y": 0.6}],
        [0.1, 0.2, 0.4, 0.2, 0.4, 0.6, 0.1, 0.6],  # four points in one list, as readers of text write them
        [[0.1, 0.3], [0.3, 0.2], [0.4, 0.5], [0.2, 0.6]],  # a tilted outline: the box around it
        [[0.1, 0.3], [0.3, 0.2], [0.4, 0.5], [0.2, 0.6], [0.15, 0.4]],
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


@for_every(
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
        [[0.1, 0.2]],
        {"x": [0.1, 0.4], "y": [0.2, 0.6]},
        {"bbox": {"bbox": {"bbox": 7}}},
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


@for_every(
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
        ([(100, 100, 652, 480)], (640, 480), "pixels"),  # 1.9 % over
        ([(100, 100, 654, 480)], (640, 480), "thousand"),  # 2.2 % over: more than a slip
        ([(100, 100, 600, 490)], (640, 480), "thousand"),
        ([(100, 100, 900, 900)], (4000, 3000), "thousand"),  # fits both; a large picture
        ([(100, 100, 2900, 900)], (4000, 3000), "pixels"),
        ([(100, 100, 1003, 900)], (640, 480), "thousand"),  # fits neither: 0.3 % over against 57 % over
        ([(100, 100, 1500, 900)], (1400, 1000), "pixels"),  # fits neither: 7 % over against 50 % over
    ],
)
def test_units_are_reported_by_all_boxes_together(boxes, size, units):
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


def test_piles_of_overlapping_boxes_are_separated():
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


@pytest.mark.parametrize(("gap", "piles"), [(5.5, [0, 0, 0, 0]), (6, [0, 0, 0, 0]), (6.1, [0, 0, 1, 1])])
def test_a_pile_ends_at_more_than_twice_the_usual_gap(gap, piles):
    # Boxes of 10, each with another at a gap of 3: a pile goes on over a gap of 6.
    assert group_boxes(boxes_of([(0, 0), (13, 0), (23 + gap, 0), (36 + gap, 0)]), "piles") == piles
    turned = boxes_of([(0, 0), (0, 13), (0, 23 + gap), (0, 36 + gap)])
    assert group_boxes(turned, "piles") == piles


def test_single_boxes_far_apart_are_piles_of_one():
    assert group_boxes(boxes_of([(0, 0), (30, 0), (60, 0)]), "piles") == [0, 1, 2]


def test_piles_are_numbered_row_by_row():
    # Two above, two below; the upper right one begins a little higher than the upper left one.
    boxes = boxes_of([(50, 48), (0, 50), (50, 0), (0, 2)])
    assert group_boxes(boxes, "piles") == [3, 2, 1, 0]


def test_a_tall_pile_beside_a_short_one_is_in_the_same_row():
    tall = [(40, y) for y in (0, 10, 20, 30, 40)]
    assert group_boxes(boxes_of([*tall, (0, 1)]), "piles") == [1, 1, 1, 1, 1, 0]


def test_a_short_pile_beside_the_lower_half_of_a_tall_one_is_in_the_same_row():
    # The tall one goes from 0 to 50, so its middle is 25; the short one begins below that but does not end below 50.
    tall = [(40, y) for y in (0, 10, 20, 30, 40)]
    assert group_boxes(boxes_of([*tall, (0, 30)]), "piles") == [1, 1, 1, 1, 1, 0]


def test_a_tall_pile_that_begins_beside_a_short_one_is_in_the_same_row():
    # The middle of the tall one (26) is below the end of the short one (10), but it begins above its middle (5).
    tall = [(0, y) for y in (1, 11, 21, 31, 41)]
    assert group_boxes(boxes_of([*tall, (40, 0)]), "piles") == [0, 0, 0, 0, 0, 1]


@for_every("style", ["heap", "fan", "grid"])
@for_every("seed", range(10))
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


@pytest.mark.parametrize("many", [0, 1000], ids=["as many", "as few"])
@given(boxes=some_boxes | loose_boxes)
def test_piles_are_those_found_pair_by_pair(many, boxes):
    boxes = list(set(boxes))  # a box that is there twice counts once
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(regions, "_MANY", many)
        assert as_sets(group_boxes(boxes, "piles")) == (piles_pair_by_pair(boxes) if boxes else set())


@pytest.mark.parametrize("spread", [20, 60, 110, 140, 170, 220])
def test_many_boxes_are_numbered_like_few(spread, monkeypatch):
    chance = random.Random(spread)
    corners = [(chance.randint(0, spread), chance.randint(0, spread)) for _ in range(100)]
    boxes = [(x, y, x + chance.randint(6, 12), y + 9) for x, y in corners]
    few = group_boxes(boxes, "piles")
    monkeypatch.setattr(regions, "_MANY", 0)
    assert group_boxes(boxes, "piles") == few


def test_two_piles_that_begin_at_the_same_edges_are_numbered_by_their_first_box(monkeypatch):
    # A row of seven in the corner, and around it a wide box below and a high one on the right, so that both piles begin
    # at 0, 0. What hangs below the wide box is found out to be one pile with it only after the high one.
    row = boxes_of([(x, 0) for x in range(0, 70, 10)])
    around = [(0, 50, 100, 60), (90, 0, 100, 50), (20, 60, 30, 70), (25, 70, 35, 80), (15, 80, 25, 90)]
    for many in (0, 1000):
        monkeypatch.setattr(regions, "_MANY", many)
        assert group_boxes([*around, *row], "piles") == [1] * 5 + [0] * 7


@pytest.mark.parametrize("step", [0.02, 11, 30], ids=["heap", "stack", "apart"])
def test_thousands_of_boxes_are_put_into_piles(step):
    chance = random.Random(7)
    boxes = boxes_of([(chance.random(), step * place) for place in range(4000)])
    piles = group_boxes(boxes, "piles")
    assert piles == (list(range(4000)) if step == 30 else [0] * 4000)


def test_suites_have_the_public_names():
    assert steelyard.group_boxes(boxes_of([(0, 0), (50, 0)]), "columns") == [0, 1]
