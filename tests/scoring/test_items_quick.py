"""The quick way to read the usual document gives what the general way gives, and leaves the unusual to it."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parts.lengths import examples
from parts.looped import for_every
from steelyard.scoring.items.layout import ItemsLayout
from steelyard.scoring.items.places import Items
from steelyard.suite.case import Case

LAYOUTS = {
    "texts": ItemsLayout(items="groups[].items[]", group="label"),
    "objects": ItemsLayout(items="groups[].items[]", text="text", group="label"),
    "boxes": ItemsLayout(items="groups[].items[]", text="text", group="label", box="box"),
    "two boxes": ItemsLayout(items="groups[].items[]", text="text", group="label", box=("box", "at.box")),
    "regions": ItemsLayout(items="groups[].items[]", text="text", group="label", box="box", regions="rows"),
    "deep": ItemsLayout(items="page.groups[].items[]", text="text", group="label", box="box"),
    "bare": ItemsLayout(items="[].items[]", text="text", group="label"),
    "text is the group": ItemsLayout(items="groups[].items[]", text="label", group="label"),
}

blanks = st.sampled_from(["", " ", "\t\n", "\u00a0"])
texts = st.sampled_from(["Sea", "Sun", "to be free", " Rain "])
odd = st.sampled_from([None, 0, 7, 2.0, 1.5, True, float("nan"), [], ["Sea"], {}, {"text": "Sea"}])
values = texts | blanks | odd
boxes = st.sampled_from([[0.1, 0.2, 0.3, 0.4], [0.5, 0.6, 0.7, 0.8], [1, 2], None, "no box"])
usual_items = st.lists(texts, max_size=3) | st.lists(st.fixed_dictionaries({"text": texts}), max_size=3)
objects = st.fixed_dictionaries(
    {},
    optional={"text": values, "label": values, "box": boxes, "at": st.fixed_dictionaries({"box": boxes}), "note": odd},
)
items = usual_items | st.lists(values | objects, max_size=3) | odd
usual_groups = st.fixed_dictionaries({"label": texts, "items": usual_items}, optional={"box": boxes, "text": values})
groups = usual_groups | st.fixed_dictionaries({}, optional={"label": values, "items": items}) | odd
documents = st.lists(usual_groups, max_size=3) | st.lists(usual_groups | groups, max_size=3) | odd


def the_general_way(layout: ItemsLayout) -> ItemsLayout:
    general = layout.model_copy()
    general.__dict__["plan"] = replace(layout.plan, usual=None)
    return general


def document(name: str, result: Any) -> Any:
    return {"deep": {"page": {"groups": result}}, "bare": result}.get(name, {"groups": result})


@pytest.mark.parametrize("name", LAYOUTS)
@given(result=documents)
@settings(max_examples=examples(150))
def test_any_document_is_read_as_the_general_way_reads_it(name: str, result: Any) -> None:
    layout, data = LAYOUTS[name], document(name, result)
    assert layout.plan.usual is not None
    assert layout.read(data, (640, 480)) == the_general_way(layout).read(data, (640, 480))


def test_the_truth_of_a_case_is_read_as_the_general_way_reads_it() -> None:
    layout = ItemsLayout(items="expected.groups[].items[]", text="text", group="label", box="box")
    case = Case("c", expected={"groups": [{"label": "left", "items": [{"text": "Sea"}, {"text": "Sun"}]}]})
    assert layout.read(case) == Items(["Sea", "Sun"], ["left", "left"], [None, None], derived=False, blank=0)
    assert layout.read(case) == the_general_way(layout).read(case)


@pytest.mark.parametrize(
    "its_items",
    [["Sea", "Sun"], [{"text": "Sea"}, {"text": "Sun", "note": 3}], []],
    ids=["texts", "objects", "none"],
)
def test_named_groups_of_texts_are_read_the_quick_way(its_items: list[Any]) -> None:
    quick = LAYOUTS["boxes"].plan.usual
    assert quick is not None
    wanted = ["Sea", "Sun"][: len(its_items)]
    assert quick({"groups": [{"label": "left", "items": its_items}]}) == (wanted, ["left"] * len(wanted))


@for_every(
    "group",
    [
        {"label": "left", "items": ["Sea", ""]},
        {"label": "left", "items": ["Sea", 7]},
        {"label": "left", "items": ["Sea", {"text": "Sun"}]},
        {"label": "left", "items": [{"text": "Sea"}, {"note": "Sun"}]},
        {"label": "left", "items": [{"text": "Sea"}, {"text": " "}]},
        {"label": "left", "items": [{"text": "Sea"}, {"text": 7}]},
        {"label": "left", "items": [{"text": "Sea", "label": "right"}]},
        {"label": "left", "items": [{"text": "Sea", "box": [0.1, 0.2, 0.3, 0.4]}]},
        {"label": "left", "items": [["Sea"]]},
        {"label": "left", "items": "Sea"},
        {"label": "left"},
        {"label": " ", "items": ["Sea"]},
        {"label": 2, "items": ["Sea"]},
        {"items": ["Sea"]},
        "Sea",
        None,
    ],
)
def test_anything_out_of_the_usual_is_left_to_the_general_way(group: Any) -> None:
    layout = LAYOUTS["boxes"]
    quick = layout.plan.usual
    assert quick is not None
    data = {"groups": [{"label": "right", "items": ["Rain"]}, group]}
    assert quick(data) is None
    assert layout.read(data) == the_general_way(layout).read(data)


@for_every(
    "layout",
    [
        ItemsLayout(items="items[]", text="text", group="label"),
        ItemsLayout(items="pages[].groups[].items[]", group="label"),
        ItemsLayout(items="groups[].items[]"),
        ItemsLayout(items="groups[].items[]", group=("label", "name")),
        ItemsLayout(items="groups[].items[]", group="label", text=("text", "words")),
        ItemsLayout(items="groups[].items[]", group="meta.label"),
        ItemsLayout(items="groups[].in.items[]", group="label"),
        ItemsLayout(items="groups[].items[]", group="label", text="words.text"),
        ItemsLayout(items="groups[].items[]", group="label", text="text", box=""),  # any item may be a box
    ],
)
def test_other_layouts_have_no_quick_way(layout: ItemsLayout) -> None:
    assert layout.plan.usual is None
