"""Groups agree by label, by the best one-to-one mapping, and pair by pair; one group an item earns little."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parts.lengths import examples
from parts.looped import for_every
from steelyard.scoring.items.groups import GroupAgreement, agreement, perfect

Pairs = list[tuple[str | None, str | None]]

TRUE = st.sampled_from(["a", "b", "c", "d", None])
ANSWERED = st.sampled_from(["a", "b", "x", "y", "z", None])
PAIRS = st.lists(st.tuples(TRUE, ANSWERED), max_size=12)
WRITTEN = st.sampled_from(["a", "A ", "b", "B.", "c", "+", "-", "", " ", None])


def pairs_agreed(pairs: Pairs) -> tuple[int, int]:
    """Every two items looked at in turn."""
    known = [pair for pair in pairs if pair[0] is not None]
    total = agreed = 0
    for (true, answered), (other_true, other_answered) in combinations(known, 2):
        together = answered is not None and answered == other_answered
        total += 1
        agreed += (true == other_true) == together
    return total, agreed


def most_right(pairs: Pairs) -> int:
    """The most items that a one-to-one mapping can put right, by trying every mapping."""
    counts = Counter(pair for pair in pairs if None not in pair)
    truths, groups = {true for true, _ in counts}, sorted({group for _, group in counts})
    places = [*truths, *(None for _ in groups)]
    return max(
        sum(counts[true, group] for true, group in zip(chosen, groups, strict=True))
        for chosen in permutations(places, len(groups))
    )


def test_shared_labels_are_compared_as_labels() -> None:
    found = agreement([("left", "left"), ("left", "right"), ("right", "right")], by="auto")
    assert (found.how, found.right) == ("label", (True, False, True))
    assert (found.mapping, found.unmapped) == ({"left": "left", "right": "right"}, ())
    # Together in the truth: 1-2; in the answer: 2-3. Only 1-3 is apart on both sides.
    assert (found.pairs, found.pairs_agreed) == (3, 1)


def test_swapped_labels_are_wrong_by_label_and_right_by_mapping() -> None:
    swapped = [("left", "right"), ("left", "right"), ("right", "left")]
    assert agreement(swapped, by="auto").right == (False, False, False)
    mapped = agreement(swapped, by="mapping")
    assert (mapped.right, mapped.mapping) == ((True, True, True), {"left": "right", "right": "left"})


def test_labels_are_compared_without_case_spaces_and_punctuation() -> None:
    found = agreement([("Far left", "far-left"), ("Far left", " FAR  LEFT."), ("right", "Right")], by="auto")
    assert (found.how, found.right) == ("label", (True, True, True))
    assert found.mapping == {" FAR  LEFT.": "Far left", "Right": "right", "far-left": "Far left"}
    assert (found.pairs, found.pairs_agreed) == (3, 3)


def test_labels_of_signs_alone_stay_apart() -> None:
    assert agreement([("+", "+"), ("-", "+")], by="auto").right == (True, False)


def test_other_labels_are_mapped_to_the_groups_they_fit_best() -> None:
    found = agreement([("left", "1"), ("left", "1"), ("left", "2"), ("right", "2"), ("right", "2")], by="auto")
    assert (found.how, found.mapping, found.unmapped) == ("mapping", {"1": "left", "2": "right"}, ())
    assert found.right == (True, True, False, True, True)
    # 10 pairs; together in the truth 3 + 1, in the answer 1 + 3, in both 1 + 1: 4 disagree.
    assert (found.pairs, found.pairs_agreed) == (10, 6)


def test_the_mapping_with_the_most_right_wins_over_the_largest_cell() -> None:
    # 1 is mostly a (3) but 2 can only be a (2), so that 1 -> b, 2 -> a brings 2 + 2, and 1 -> a alone 3.
    pairs: Pairs = [("a", "1")] * 3 + [("b", "1")] * 2 + [("a", "2")] * 2
    found = agreement(pairs, by="auto")
    assert (sum(found.right), found.mapping) == (4, {"1": "b", "2": "a"})


def test_derived_groups_are_mapped_even_under_true_names() -> None:
    swapped = [("1", "2"), ("2", "1")]
    assert agreement(swapped, by="auto").right == (False, False)
    assert agreement(swapped, by="auto", derived=True).right == (True, True)


def test_labels_can_be_asked_for() -> None:
    found = agreement([("left", "left"), ("right", "pile 2")], by="label")
    assert (found.how, found.right) == ("label", (True, False))
    assert (found.mapping, found.unmapped) == ({"left": "left"}, ("pile 2",))


def test_one_group_an_item_earns_one_item_a_true_group() -> None:
    found = agreement([("a" if item < 5 else "b", str(item)) for item in range(10)], by="auto")
    assert sum(found.right) == 2
    assert (len(found.mapping), len(found.unmapped)) == (2, 8)
    # Rand is kinder: of 45 pairs only the 10 + 10 that are truly together disagree.
    assert (found.pairs, found.pairs_agreed) == (45, 25)


def test_one_group_for_all_earns_the_largest_true_group() -> None:
    found = agreement([("a", "all")] * 2 + [("b", "all")] * 3 + [("c", "all")], by="auto")
    assert (found.right, found.mapping) == ((False, False, True, True, True, False), {"all": "b"})


def test_equal_labels_win_a_tie() -> None:
    assert agreement([("p", "q"), ("q", "q")], by="mapping").right == (False, True)
    assert agreement([("q", "p"), ("q", "q")], by="mapping").right == (False, True)
    # "c" is no true label, so groups are mapped; a and b fit either way.
    for order in (1, -1):
        pairs: Pairs = [("a", "a"), ("a", "b"), ("b", "a"), ("b", "b"), ("a", "c")][::order]
        found = agreement(pairs, by="auto")
        assert (found.how, found.mapping, found.unmapped) == ("mapping", {"a": "a", "b": "b"}, ("c",))


@for_every("by", ["auto", "label", "mapping"])
@for_every("nothing", [None, "", "  "])
def test_an_item_without_a_group_is_never_right_and_stands_alone(by, nothing: str | None) -> None:
    found = agreement([("a", nothing), ("a", nothing), ("b", nothing)], by=by)
    assert found.right == (False, False, False)
    assert (found.mapping, found.unmapped) == ({}, ())
    # The first two are together in the truth; each of the others is apart from them on both sides.
    assert (found.pairs, found.pairs_agreed) == (3, 2)


def test_an_item_without_a_true_group_is_not_right_and_makes_no_pairs() -> None:
    found = agreement([(None, None), (None, "a"), ("a", "a"), ("a", "a")], by="auto")
    assert found.right == (False, False, True, True)
    assert (found.pairs, found.pairs_agreed) == (1, 1)


def test_no_items_have_no_pairs() -> None:
    found = agreement([], by="auto")
    assert (found.right, found.mapping, found.unmapped, found.pairs, found.pairs_agreed) == ((), {}, (), 0, 0)


@given(PAIRS)
def test_pairs_are_counted_as_if_one_by_one(pairs: Pairs) -> None:
    found = agreement(pairs, by="auto")
    assert (found.pairs, found.pairs_agreed) == pairs_agreed(pairs)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("xyz")), min_size=2, max_size=30))
def test_the_share_of_pairs_is_the_rand_index_of_scikit_learn(pairs: list[tuple[str, str]]) -> None:
    # sklearn.metrics.cluster.pair_confusion_matrix, written out: each pair counts twice there.
    cells, true, answered = Counter(pairs), Counter(a for a, _ in pairs), Counter(b for _, b in pairs)
    squares = sum(count**2 for count in cells.values())
    only_answered = sum(count * answered[group] for (_, group), count in cells.items()) - squares
    only_true = sum(count * true[label] for (label, _), count in cells.items()) - squares
    both = squares - len(pairs)
    neither = len(pairs) ** 2 - only_answered - only_true - squares
    found = agreement(pairs, by="mapping")
    assert found.pairs_agreed / found.pairs == pytest.approx(
        (both + neither) / (both + neither + only_true + only_answered)
    )


@given(PAIRS)
def test_no_other_mapping_puts_more_items_right(pairs: Pairs) -> None:
    found = agreement(pairs, by="mapping")
    assert sum(found.right) == most_right(pairs)
    assert len(set(found.mapping.values())) == len(found.mapping)
    assert {*found.mapping, *found.unmapped} == {group for _, group in pairs if group is not None}
    for (true, group), right in zip(pairs, found.right, strict=True):
        assert right == (true is not None and found.mapping.get(str(group)) == true)


@given(st.data(), PAIRS, st.sampled_from(["auto", "label", "mapping"]))
@settings(max_examples=examples(200))
def test_the_order_of_the_items_does_not_matter(data: st.DataObject, pairs: Pairs, by) -> None:
    order = data.draw(st.permutations(range(len(pairs))))
    found, other = agreement(pairs, by=by), agreement([pairs[item] for item in order], by=by)
    assert other.right == tuple(found.right[item] for item in order)
    assert (other.how, other.mapping, other.unmapped) == (found.how, found.mapping, found.unmapped)
    assert (other.pairs, other.pairs_agreed) == (found.pairs, found.pairs_agreed)


@given(st.lists(st.sampled_from(["a", "b", "c"]), max_size=12))
def test_renamed_groups_are_all_right(truth: list[str]) -> None:
    names = {"a": "pile 2", "b": "pile 3", "c": "pile 1"}
    found = agreement([(label, names[label]) for label in truth], by="auto")
    assert all(found.right)
    assert found.pairs_agreed == found.pairs


@st.composite
def consistent_pairs(draw: st.DrawFn) -> Pairs:
    """Items each of whose true groups has one answered group, mostly another for each; in any spelling."""
    answered = draw(st.dictionaries(WRITTEN, WRITTEN, max_size=4))
    return (
        [(true, answered[true]) for true in draw(st.lists(st.sampled_from(sorted(answered, key=str)), max_size=8))]
        if answered
        else []
    )


def all_right(pairs: Pairs, by) -> GroupAgreement | None:
    return perfect([true for true, _ in pairs], [group for _, group in pairs], by=by)


@given(
    consistent_pairs() | st.lists(st.tuples(WRITTEN, WRITTEN), max_size=5),
    st.sampled_from(["label", "mapping"]),
)
@settings(max_examples=examples(400))
def test_perfect_groups_agree_as_all_others_do(pairs: Pairs, by) -> None:
    quick, slow = all_right(pairs, by), agreement(pairs, by=by)
    if quick is not None:
        assert quick == slow
        assert list(quick.mapping) == list(slow.mapping)


@for_every(
    ("pairs", "by", "is_perfect"),
    [
        ([("a", "A"), ("b", "B."), ("a", "A")], "label", True),
        ([("a", "x"), ("b", "y")], "mapping", True),
        ([("a", "b"), ("b", "a")], "mapping", True),
        ([], "mapping", True),
        ([("a", "b"), ("b", "a")], "label", False),
        ([("a", "x"), ("b", "y")], "label", False),
        ([("a", "x"), ("b", "x")], "mapping", False),
        ([("a", "x"), ("a", "y")], "mapping", False),
        ([("a", "x"), ("A", "x")], "mapping", False),
        ([("a", "x"), ("b", "X")], "mapping", False),
        ([("a", "a"), ("b", None)], "label", False),
        ([("a", "a"), (None, "b")], "label", False),
        ([("a", "a"), ("b", " ")], "mapping", False),
        ([("a", "a"), (" ", "b")], "mapping", False),
    ],
)
def test_only_groups_that_hold_one_true_group_each_are_perfect(pairs: Pairs, by, is_perfect: bool) -> None:
    assert (all_right(pairs, by) is not None) is is_perfect
