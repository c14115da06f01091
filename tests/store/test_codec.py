"""Records as JSON, rows and schema, by rules that follow from their fields; text that any database holds."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.records import Count, RawFloat, RunHeader, Signature, TargetFacts
from steelyard.store.codec import columns_of, decode, encode, from_row, pack, to_row, unpack
from steelyard.store.record_schema import schemas_of
from steelyard.store.stored_text import from_stored, to_json, to_stored


class Shade(StrEnum):
    DARK = "dark"
    LIGHT = "light"


@dataclass(frozen=True)
class Leaf:
    """A part of a tree."""

    at: tuple[float, float]
    name: str = ""


@dataclass(frozen=True)
class Tree:
    """What stands in a wood."""

    name: str
    height: float | None
    """In metres."""
    shade: Shade = Shade.DARK
    rings: Count = 1
    width: float = 0.0
    drift: RawFloat | None = None
    felled: bool | None = None
    leaves: tuple[Leaf, ...] = ()
    marks: tuple[str, ...] | None = None
    notes: Mapping[str, float | bool] = field(default_factory=dict)
    more: Any = None
    seen: float = field(default=0.0, compare=False)


FULL = Tree(
    *("oak\x00", 2.5, Shade.LIGHT, 80, 0.5, math.inf, False, (Leaf((0.0, 1.5), "a"), Leaf((1.0, 2.0))), ()),
    *({"age": 3, "old": True}, {"k": [1, None]}),
)


def test_a_record_comes_back_from_its_data_and_from_its_row() -> None:
    assert encode(FULL) == {
        "name": "oak\x00",
        "height": 2.5,
        "shade": "light",
        "rings": 80,
        "width": 0.5,
        "drift": "Infinity",
        "felled": False,
        "leaves": [{"at": [0.0, 1.5], "name": "a"}, {"at": [1.0, 2.0]}],
        "marks": [],
        "notes": {"age": 3, "old": True},
        "more": {"k": [1, None]},
    }
    assert decode(Tree, json.loads(to_json(encode(FULL)))) == FULL
    assert columns_of(Tree)[:3] == ("name", "height", "shade")
    assert to_row(FULL)[:5] == ("oak\x100000", 2.5, "light", 80, 0.5)
    assert from_row(Tree, to_row(FULL)) == FULL


def test_a_field_with_its_default_or_without_part_in_the_identity_is_left_out() -> None:
    bare = Tree("oak", None, seen=7.0)
    assert encode(bare) == {"name": "oak", "height": None}
    assert decode(Tree, {"name": "oak", "height": None}) == bare


def test_a_number_that_is_none_is_nothing() -> None:
    nowhere = Leaf((0.0, math.nan))
    odd = Tree("oak", math.nan, rings=-1, width=math.inf, leaves=(nowhere,), notes={"a": math.nan, "b": 1})
    assert encode(odd) == {"name": "oak", "height": None, "leaves": [], "notes": {"b": 1}}
    with pytest.raises(ValueError, match="cannot be kept"):
        encode(nowhere)
    assert to_row(odd)[1:5] == (None, "dark", 1, 0.0)
    assert encode(Leaf((np.float32(0.5), 1.0))) == {"at": [0.5, 1.0]}


def test_many_records_in_one_text_are_a_list_for_each_field() -> None:
    leaves = (Leaf((0.0, 1.0)), Leaf((2.0, math.nan), "lost"), Leaf((0.5, 0.25)))
    assert json.loads(pack(leaves)) == [[[0.0, 1.0], [0.5, 0.25]], None]
    assert unpack(Leaf, pack(leaves)) == (leaves[0], leaves[2])
    assert unpack(Leaf, pack(())) == ()
    trees = (FULL, Tree("elm", None))
    assert unpack(Tree, pack(trees)) == trees


def test_the_schema_follows_from_the_types() -> None:
    schemas = schemas_of([Tree])
    assert list(schemas) == ["Tree", "Leaf"]
    tree = schemas["Tree"]
    assert (tree["description"], tree["required"]) == ("What stands in a wood.", ["name", "height"])
    assert tree["properties"]["height"] == {
        "description": "In metres.",
        "anyOf": [{"type": "number"}, {"type": "null"}],
    }
    assert tree["properties"]["shade"] == {"enum": ["dark", "light"], "default": "dark"}
    assert tree["properties"]["rings"] == {"type": "integer", "minimum": 0, "maximum": 2**53, "default": 1}
    assert tree["properties"]["leaves"] == {"type": "array", "items": {"$ref": "#/$defs/Leaf"}}
    assert "seen" not in tree["properties"]


any_character = st.characters(exclude_categories=())
any_text = st.text(any_character | st.sampled_from("\x00\x10\ud800\udfff0123abcf"))


def joined(text: str) -> str:
    """The text with pairs of surrogates as the characters they spell."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


@given(any_text)
def test_any_text_survives_storing(text: str) -> None:
    stored = to_stored(text)
    assert "\x00" not in stored
    stored.encode()  # a database driver does this; a lone surrogate would raise
    assert from_stored(stored) == joined(text)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | any_text,
        lambda inner: st.lists(inner) | st.dictionaries(any_text, inner),
    )
)
def test_any_data_survives_json(data: object) -> None:
    written = to_json(data)
    written.encode()
    assert "\x00" not in written
    expected = json.loads(json.dumps(data))
    assert json.loads(written) == expected


def test_plain_text_is_stored_as_it_is() -> None:
    assert to_stored("a plain – text\n") == "a plain – text\n"


def test_a_mark_in_the_text_is_not_taken_for_an_escape() -> None:
    assert from_stored(to_stored("\x100000")) == "\x100000"


def test_numbers_that_are_not_finite_become_words() -> None:
    data = {"low": float("-inf"), "values": [float("nan"), float("inf"), 1.5]}
    assert json.loads(to_json(data)) == {"low": "-Infinity", "values": ["NaN", "Infinity", 1.5]}


def test_a_signature_and_a_target_are_the_json_objects_that_they_came_from() -> None:
    stored = [
        '{"suite":"s","cases":"c1","judge":"","target_kind":"http","model":null,"text":"s | cases c1"}',
        '{"truth":"t1"}',
        '{"scorers":null,"judge":5,"newer":"n1"}',
        "{}",
    ]
    for text in stored:
        assert to_json(Signature.from_data(json.loads(text)).to_data()) == text
    first, _, odd, _ = (Signature.from_data(json.loads(text)) for text in stored)
    assert (first.cases, first.judge, first.model, first.truth) == ("c1", "", None, None)
    assert (odd.judge, odd.part("newer"), odd.part("truth")) == (None, "n1", None)
    target = '{"kind":"http","settings":"a1b2","model":null,"own":[1]}'
    facts = TargetFacts.from_data(json.loads(target))
    assert to_json(facts.to_data()) == target
    assert (facts.kind, facts.model, facts.address, facts.settings, facts.prompts) == ("http", None, "", None, {})
    header = RunHeader("r", "s", "", 1.0, first, facts, {})
    assert from_row(RunHeader, to_row(header)) == decode(RunHeader, encode(header)) == header
    assert to_row(header)[columns_of(RunHeader).index("signature")] == stored[0]
