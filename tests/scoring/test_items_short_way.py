"""The short ways through a comparison give exactly what the general way gives, and are taken by usual answers."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parts.lengths import examples
from steelyard.scoring.base import Reading
from steelyard.scoring.items import item_errors, similar
from steelyard.scoring.items.all_found import read_all_found
from steelyard.scoring.items.match import MatchItems
from steelyard.scoring.text import Folder, has_key, key_of
from steelyard.suite.case import Case

# Alike in every way that counts: other case, a space or a sign lost, a letter lost, a fragment, an accent.
TEXTS = [
    *("To be free", "to be free.", "Tobe free", "To be fre", "To be", "TO BE FREE", "To bé free", "..."),
    *("A good cup of tea", "A good cupof tea", "A good cup", "a good cup of tea!", "A god cup of tea", "A\0good cup"),
    *("Enough, and no more", "Enough and no more", "Enoughand no more", "Letters from afar", "Leters from afar"),
]
IGNORED = [("case", "space", "punctuation"), ("case",), (), ("accents", "case", "space")]
CODES = [{}, {"copy": "COPY", "fragment": "PART"}, {"fragment": "PART"}]
LABELS = ["left", "right", "Left.", "x", "y", "+"]
BOXES = [None, None, [0.1, 0.1, 0.2, 0.2]]


@st.composite
def documents(draw: st.DrawFn) -> tuple[dict[str, Any], dict[str, Any]]:
    """A truth, and an answer with most of its items, some of them misread, misplaced or answered twice."""
    unique = draw(st.booleans())
    true = draw(st.lists(st.sampled_from(TEXTS), min_size=1, max_size=9, unique=unique))
    places = draw(st.lists(st.integers(0, 2), min_size=len(true), max_size=len(true)))
    change = st.sampled_from(["", "", "", "", "misread", "misplaced", "missed", "twice", "box"])
    got: list[tuple[Any, int]] = []
    for text, place in zip(true, places, strict=True):
        done = draw(change)
        read = draw(st.sampled_from(TEXTS)) if done == "misread" else text
        item = {"text": read, "box": draw(st.sampled_from(BOXES))} if done == "box" else read
        got += [(item, (place + (done == "misplaced")) % 3)] * ((done != "missed") + (done == "twice"))
    truth_labels = draw(st.lists(st.sampled_from(LABELS), min_size=3, max_size=3, unique=draw(st.booleans())))
    labels = truth_labels if draw(st.booleans()) else draw(st.permutations(LABELS))[:3]
    return _grouped(list(zip(true, places, strict=True)), truth_labels), _grouped(draw(st.permutations(got)), labels)


def _grouped(items: list[tuple[Any, int]], labels: list[str]) -> dict[str, Any]:
    groups = [
        {"label": label, "items": [item for item, at in items if at == place]} for place, label in enumerate(labels)
    ]
    return {"groups": groups}


def scorer(**more: Any) -> MatchItems:
    layout = {"text": "text", "box": "box", "group": "label"} | ({} if more.pop("grouped", True) else {"group": None})
    expected, shape = layout | {"items": "expected.groups[].items[]"}, layout | {"items": "groups[].items[]"}
    return MatchItems.model_validate({"expected": expected, "shapes": [shape]} | more)


def read_both_ways(answer: Any, truth: Any, **more: Any) -> tuple[Reading, Reading]:
    quick = scorer(**more).read(answer, Case("c", expected=truth))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(similar, "_equal_as_written", lambda *_: None)
        patch.setattr(item_errors, "read_all_found", lambda *_: None)
        return quick, scorer(**more).read(answer, Case("c", expected=truth))


@given(
    documents(),
    st.sampled_from(IGNORED),
    st.sampled_from(CODES),
    st.sampled_from([1.0, 0.9]),
    st.sampled_from(["auto", "label", "mapping", None]),
    st.booleans(),
)
@settings(max_examples=examples(600))
def test_any_answer_reads_the_same_both_ways(
    both: tuple[Any, Any],
    ignore: tuple[str, ...],
    codes: dict[str, str],
    right_from: float,
    by: str | None,
    strict: bool,
) -> None:
    truth, answer = both
    groups = {"grouping": by} if by else {"grouped": False}
    quick, general = read_both_ways(
        answer, truth, ignore=ignore, codes=codes, right_from=right_from, strict=strict, **groups
    )
    assert repr(quick) == repr(general)


TRUTH = {
    "groups": [{"label": "left", "items": ["To be free", "A good cup of tea"]}, {"label": "right", "items": ["Sea"]}]
}


@pytest.mark.parametrize(
    ("left", "right", "as_written", "all_found"),
    [
        (["To be free", "A good cup of tea"], ["Sea"], True, True),
        (["A good cupof tea", "To be free"], ["Sea"], True, True),  # the key of what is still to be found
        (["A good cup of tea!", "To be free"], ["Sea"], True, True),
        (["A good cup of tea!", "TO BE FREE"], ["Sea"], False, True),  # most are written in another way
        (["To be free"], ["Sea", "A good cup of tea"], True, False),
        (["To be free", "A good cup of tea"], [], True, False),
        (["To be free", "A good cup of tea"], ["Sea", "Sun"], True, False),
        (["To be free", "to be free", "A good cup of tea"], ["Sea"], False, False),
        (["To be free", "Tobe free", "A good cup of tea"], ["Sea"], False, False),
        (["To be free", "To be free", "A good cup of tea"], ["Sea"], False, False),
        (["To be free", "A good cup of tea"], ["Sea", "..."], False, False),
    ],
)
def test_the_short_ways_are_taken_where_they_may_be(
    left: list[str], right: list[str], as_written: bool, all_found: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken: list[bool] = []
    for module, name, way in (
        (similar, "_equal_as_written", similar._equal_as_written),
        (item_errors, "read_all_found", read_all_found),
    ):

        def watched(*given: Any, way: Any = way) -> Any:
            found = way(*given)
            taken.append(found is not None)
            return found

        monkeypatch.setattr(module, name, watched)
    answer = {"groups": [{"label": "A", "items": left}, {"label": "B", "items": right}]}
    scorer().read(answer, Case("c", expected=TRUTH))
    assert taken == [as_written, all_found]


@given(st.lists(st.sampled_from(TEXTS) | st.text(max_size=6), max_size=6), st.sampled_from(IGNORED))
def test_keys_are_given_only_when_no_two_texts_fold_alike(texts: list[str], ignore: Any) -> None:
    folder = Folder(ignore)
    folded, keys = folder.fold(texts), folder.keys(texts)
    if keys:
        assert len(set(folded)) == len(texts)
        assert "" not in folded
        assert all(has_key(keys, key_of(text)) for text in folded)
