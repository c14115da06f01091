"""Items read from the shapes that answers and truths really have, and documents built from items."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from parts.looped import for_every
from steelyard.scoring.items.building import build
from steelyard.scoring.items.layout import ItemsLayout, read_items
from steelyard.scoring.items.places import Items
from steelyard.suite.case import Case

PILES = ItemsLayout(items="piles[].cards[]", group="label")
BARE = ItemsLayout(items="cards[]")
ROWS = ItemsLayout(items="cards[]", text="text", group="row")
BOXES = ItemsLayout(items="cards[]", text="text", box="box", regions="rows")


def read(layout, data, size=None):
    items = layout.read(data, size)
    return None if items is None else list(zip(items.texts, items.groups, strict=True))


def test_piles_with_a_label_and_texts():
    data = {"piles": [{"label": "top-row", "cards": ["Sea", "Sun"]}, {"label": "bottom-row", "cards": ["Rain"]}]}
    assert PILES.read(data) == Items(
        ["Sea", "Sun", "Rain"], ["top-row", "top-row", "bottom-row"], [None] * 3, derived=False, blank=0
    )


def test_the_truth_is_read_from_a_case():
    layout = ItemsLayout(items="expected.piles[].cards[]", text="text", group="label", box="box")
    case = Case("c", expected={"piles": [{"label": "left", "cards": [{"text": "Sea", "box": [0.1, 0.2, 0.3, 0.4]}]}]})
    assert layout.read(case) == Items(["Sea"], ["left"], [(0.1, 0.2, 0.3, 0.4)], derived=False, blank=0, n_boxes=1)


def test_items_with_a_row():
    data = {"cards": [{"text": "Sea", "row": 2}, {"text": "Sun", "row": 1.0}, {"text": "Rain", "row": "1"}]}
    assert read(ROWS, data) == [("Sea", "2"), ("Sun", "1"), ("Rain", "1")]


def test_an_item_without_a_group_among_others_has_none():
    data = {"cards": [{"text": "Sea", "row": 2}, {"text": "Sun"}, {"text": "Rain", "row": True}, "Wind"]}
    assert read(ROWS, data) == [("Sea", "2"), ("Sun", None), ("Rain", None), ("Wind", None)]


def test_boxes_become_rows_when_items_carry_no_group():
    written = {"Sea": [10, 500, 300, 600], "Sun": [10, 100, 300, 200], "Rain": [400, 110, 700, 210]}
    data = {"cards": [{"text": text, "box": box} for text, box in written.items()]}
    items = BOXES.read(data)
    assert items == Items(
        ["Sea", "Sun", "Rain"],
        ["row 2", "row 1", "row 1"],
        [(0.01, 0.5, 0.3, 0.6), (0.01, 0.1, 0.3, 0.2), (0.4, 0.11, 0.7, 0.21)],
        derived=True,
        blank=0,
        n_boxes=3,
    )


def test_units_are_decided_for_all_boxes_of_an_answer():
    # Alone, the first would be a fraction; beside the second it is a speck in pixels, 1 of 500 wide and high.
    data = {"cards": [{"text": "Sea", "box": [0, 0, 1, 1]}, {"text": "Sun", "box": [100, 100, 400, 450]}]}
    assert BOXES.read(data, (500, 500)).boxes == [(0, 0, 0.002, 0.002), (0.2, 0.2, 0.8, 0.9)]


def test_pixels_of_an_unknown_picture_still_lie_in_rows():
    data = {"cards": [{"text": "Sea", "box": [0, 2000, 300, 2100]}, {"text": "Sun", "box": [0, 0, 300, 100]}]}
    items = BOXES.read(data)
    assert (items.boxes, items.groups, items.derived) == ([None, None], ["row 2", "row 1"], True)


def test_an_item_whose_box_cannot_be_read_has_no_region():
    data = {"cards": [{"text": "Sea", "box": [1, 2]}, {"text": "Sun", "box": [0.1, 0.1, 0.3, 0.2]}]}
    assert read(BOXES, data) == [("Sea", None), ("Sun", "row 1")]


def test_a_written_group_goes_before_regions():
    layout = ItemsLayout(items="cards[]", text="text", group="row", box="box", regions="rows")
    data = {"cards": [{"text": "Sea", "row": "a", "box": [0.1, 0.1, 0.3, 0.2]}]}
    items = layout.read(data)
    assert (items.groups, items.derived) == (["a"], False)


def test_a_pile_without_a_label_is_named_by_its_position():
    data = {"piles": [{"cards": ["Sea"]}, {"label": "  ", "cards": ["Sun"]}, {"label": "c", "cards": ["Rain"]}]}
    items = PILES.read(data)
    assert (items.groups, items.derived) == (["group 1", "group 2", "c"], True)


def test_positions_that_no_item_needs_leave_the_groups_as_written():
    data = {"piles": [{"cards": [{"text": "Sea", "label": "own"}]}, {"cards": []}]}
    items = ItemsLayout(items="piles[].cards[]", text="text", group="label").read(data)
    assert (items.groups, items.derived) == (["own"], False)


def test_a_group_is_looked_for_from_the_inside_out():
    layout = ItemsLayout(items="pages[].piles[].cards[]", text="t", group=("label", "name"))
    page = [{"cards": [{"t": "a", "label": "item"}, {"t": "b"}]}, {"label": "pile", "cards": [{"t": "c"}]}]
    data = {"pages": [{"name": "page", "piles": page}, {"piles": [{"cards": [{"t": "d"}]}]}]}
    assert read(layout, data) == [("a", "item"), ("b", "page"), ("c", "pile"), ("d", "group 3")]


def test_lists_of_lists_are_groups_by_position():
    items = ItemsLayout(items="rows[][]").read({"rows": [["Sea", "Sun"], ["Rain"]]})
    assert (items.texts, items.groups, items.derived) == (
        ["Sea", "Sun", "Rain"],
        ["group 1", "group 1", "group 2"],
        True,
    )


def test_an_answer_may_be_the_list_itself():
    assert read(ItemsLayout(items="[]"), ["Sea", 7, 2.0]) == [("Sea", None), ("7", None), ("2", None)]


def test_the_first_place_of_a_text_that_is_there_wins():
    layout = ItemsLayout(items="cards[]", text=("text", "names.main"))
    data = {"cards": [{"text": "Sea", "names": {"main": "no"}}, {"text": None, "names": {"main": "Sun"}}, "Rain"]}
    assert layout.read(data).texts == ["Sea", "Sun", "Rain"]


def test_an_item_may_be_a_list_and_hold_its_box_beside_its_text():
    layout = ItemsLayout(items="found[]", text="1", box="0")
    data = {"found": [[[[10, 10], [90, 12], [90, 30], [10, 28]], "Sea", 0.98]]}
    items = layout.read(data, (100, 50))
    assert (items.texts, items.boxes) == (["Sea"], [(0.1, 0.2, 0.9, 0.6)])


def test_an_item_may_be_its_own_box():
    layout = ItemsLayout(items="words[]", text="text", box="", units="thousand")
    items = layout.read({"words": [{"text": "Sea", "x": 100, "y": 200, "w": 300, "h": 400}]})
    assert items.boxes == [(0.1, 0.2, 0.4, 0.6)]


def test_items_without_a_text_are_left_out_and_counted():
    data = {"cards": [{"text": "Sea"}, {"text": " \n"}, {"text": None}, {}, None, True, [], {"text": float("nan")}]}
    items = ROWS.read(data)
    assert (items.texts, items.groups, items.boxes, items.blank) == (["Sea"], [None], [None], 7)


@pytest.mark.parametrize(
    ("layout", "data"),
    [
        (BARE, {"cards": []}),
        (PILES, {"piles": []}),
        (PILES, {"piles": [{"label": "a", "cards": []}]}),
    ],
)
def test_an_empty_list_is_an_answer_with_no_items(layout, data):
    assert layout.read(data) == Items([], [], [], derived=False, blank=0)


@pytest.mark.parametrize("card", [{"text": ""}, {"text": None}, {"box": [0.1, 0.1, 0.2, 0.2]}, "", {"text": {}}])
def test_a_layout_fits_even_when_every_text_in_it_is_blank(card):
    items = BOXES.read({"cards": [card]})
    assert (items.texts, items.blank) == ([], 1)


@for_every(
    ("layout", "data"),
    [
        (BARE, None),
        (BARE, "Sea"),
        (BARE, ["Sea"]),
        (BARE, {"cards": None}),
        (BARE, {"cards": "Sea"}),
        (BARE, {"cards": {"a": "Sea"}}),
        (BARE, {"words": ["Sea"]}),
        (BARE, {"cards": [{"text": "Sea"}]}),
        (BARE, {"cards": [None]}),
        (ROWS, {"cards": [{"title": "Sea"}]}),
        (BOXES, {"cards": [{"title": "Sea", "box": "?"}]}),
        (PILES, {"cards": ["Sea"]}),
        (PILES, {"piles": ["Sea"]}),
        (PILES, {"piles": [{"label": "a"}]}),
    ],
)
def test_data_in_another_shape_does_not_fit(layout, data):
    assert layout.read(data) is None


def test_a_pile_without_a_list_does_not_hide_the_others():
    assert read(PILES, {"piles": [{"label": "a"}, {"label": "b", "cards": ["Sea"]}]}) == [("Sea", "b")]


def test_the_first_layout_that_fits_is_taken():
    layouts = (PILES, BARE, ROWS)
    assert read_items(layouts, {"piles": [{"label": "a", "cards": ["Sea"]}]}).groups == ["a"]
    assert read_items(layouts, {"cards": ["Sea"]}).groups == [None]
    assert read_items(layouts, {"cards": [{"text": "Sea", "row": 1}]}).groups == ["1"]
    assert read_items(layouts, {"words": ["Sea"]}) is None


@for_every(
    ("fields", "message"),
    [
        ({"items": "cards"}, "write cards[] if it is one"),
        ({"items": ""}, "does not end in a list"),
        ({"items": "cards[].text"}, "does not end in a list"),
        ({"items": "cards[]", "text": "lines[]"}, "leave out the []"),
        ({"items": "cards[]", "text": ["text", "a..b"]}, "is not a path"),
        ({"items": "cards[]", "text": []}, "an empty list names no place"),
        ({"items": "cards[]", "box": "box"}, "box is given without text"),
        ({"items": "cards[]", "text": "text", "regions": "rows"}, "regions is given without box"),
        ({"items": "cards[]", "units": "inches"}, "'auto', 'fraction', 'thousand' or 'pixels'"),
        ({"items": "cards[]", "texts": "text"}, "Extra inputs are not permitted"),
    ],
)
def test_a_mistake_in_a_layout_is_reported(fields, message):
    with pytest.raises(ValidationError) as error:
        ItemsLayout.model_validate(fields)
    assert message in str(error.value)


def test_every_setting_of_a_layout_is_described():
    schema = ItemsLayout.model_json_schema()
    assert [name for name, field in schema["properties"].items() if not field.get("description")] == []


def test_a_perfect_answer_looks_like_a_person_would_write_it():
    items = [("Sea", "top", None), ("Rain", "low", None), ("Sun", "top", None)]
    assert build(PILES, items) == {
        "piles": [{"label": "top", "cards": ["Sea", "Sun"]}, {"label": "low", "cards": ["Rain"]}]
    }
    assert build(ROWS, items[:1]) == {"cards": [{"text": "Sea", "row": "top"}]}
    assert build(BARE, items) == {"cards": ["Sea", "Rain", "Sun"]}
    assert build(ItemsLayout(items="expected.rows[][]"), items) == {"expected": {"rows": [["Sea", "Sun"], ["Rain"]]}}


def test_groups_without_boxes_are_built_as_regions():
    items = [("Sea", "top", None), ("Rain", "low", None), ("Sun", "top", None)]
    back = BOXES.read(build(BOXES, items))
    assert (back.texts, back.groups, back.derived) == (["Sea", "Rain", "Sun"], ["row 1", "row 2", "row 1"], True)


names = st.text(min_size=1, max_size=8).filter(str.strip)
boxes = st.builds(
    lambda x, y, w, h: (x / 64, y / 64, (x + w) / 64, (y + h) / 64),
    *(st.integers(0, 31), st.integers(0, 31), st.integers(1, 32), st.integers(1, 32)),
)
many_items = st.lists(st.tuples(names, names, boxes), max_size=8)


@given(
    many_items,
    st.sampled_from(["xyxy", "xywh", "yxyx"]),
    st.sampled_from(["auto", "fraction", "thousand", "pixels"]),
    st.sampled_from(["box", "place.box", ""]),
)
def test_a_flat_answer_reads_back_as_it_was_built(items, corners, units, box):
    layout = ItemsLayout(items='found."odd.key"[]', text="text", group="row", box=box, corners=corners, units=units)
    back = layout.read(build(layout, items, (640, 480)), (640, 480))
    assert list(zip(back.texts, back.groups, strict=True)) == [item[:2] for item in items]
    assert [edge for box in back.boxes for edge in box] == pytest.approx([edge for item in items for edge in item[2]])
    assert (back.derived, back.blank) == (False, 0)


@given(many_items, st.sampled_from(["piles[].cards[]", "pages[].piles[].cards[]", "[].cards[]", "a.b[][]"]))
def test_a_nested_answer_reads_back_group_by_group(items, path):
    elements_have_keys = not path.endswith("[][]")
    layout = ItemsLayout(items=path, text="text", group="label" if elements_have_keys else None, box="box")
    back = layout.read(build(layout, items))
    order = list(dict.fromkeys(group for _, group, _ in items))
    side_by_side = sorted(items, key=lambda item: order.index(item[1]))
    groups = [group if elements_have_keys else f"group {order.index(group) + 1}" for _, group, _ in side_by_side]
    assert back.texts == [text for text, _, _ in side_by_side]
    assert back.groups == groups
    assert back.boxes == [box for _, _, box in side_by_side]
    assert back.derived is (bool(items) and not elements_have_keys)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["piles", "cards", "text", "label", "row", "box"]), inner, max_size=4)
    ),
    max_leaves=25,
)


@given(json_values, st.sampled_from([PILES, BARE, ROWS, BOXES]))
def test_no_answer_breaks_the_reader(data, layout):
    for answer in (data, {"cards": data}, {"cards": [data]}, {"piles": [data, {"cards": data}]}):
        items = layout.read(answer, (640, 480))
        if items is not None:
            assert len(items.texts) == len(items.groups) == len(items.boxes)
            assert all(text.strip() for text in items.texts)


@given(json_values)
def test_reading_leaves_the_answer_as_it_was(data):
    before = repr(data)
    read_items((BARE, ROWS, BOXES), {"cards": data})
    read_items((PILES,), {"piles": data})
    assert repr(data) == before


def test_boxes_under_different_keys_may_have_different_orders_of_their_corners():
    layout = ItemsLayout(items="cards[]", text="text", box=("bbox", "box_2d"), corners={"box_2d": "yxyx"})
    data = {"cards": [{"text": "Sea", "bbox": [100, 200, 300, 400]}, {"text": "Sun", "box_2d": [200, 100, 400, 300]}]}
    assert layout.read(data).boxes == [(0.1, 0.2, 0.3, 0.4)] * 2
    assert layout.read({"cards": [{"text": "Sea", "box_2d": [5, 5, 5, 5]}]}).unread == {0: [5, 5, 5, 5]}
    with pytest.raises(ValidationError, match="corners names 'box', which is not among the paths of box"):
        ItemsLayout(items="cards[]", text="text", box="bbox", corners={"box": "yxyx"})
