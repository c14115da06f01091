"""Items are paired one to one, best sum first after equal texts, whatever the order of either side."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parts.lengths import examples
from parts.looped import for_every
from steelyard.scoring.items import text_pairs as similar_module
from steelyard.scoring.items.similar import Matching, copies, match
from steelyard.scoring.items.text_pairs import is_fragment
from steelyard.scoring.spelling import fold
from steelyard.scoring.text import Folder

DIFFERENCES = ("case", "space", "punctuation", "accents")
IGNORED = [chosen for count in range(5) for chosen in combinations(DIFFERENCES, count)]

# Few letters and short texts: copies, ties and rivals come up all the time.
SHORT = st.text(alphabet="ab", max_size=5)
SIDE = st.lists(SHORT, max_size=6)
MINIMUM = st.sampled_from([0.0, 0.3, 0.5, 0.75, 0.9, 1.0])


def common(one: str, other: str) -> int:
    """The length of the longest common subsequence, by the textbook table."""
    row = [0] * (len(other) + 1)
    for char in one:
        before, row = row, [0]
        for place, wanted in enumerate(other):
            row.append(before[place] + 1 if char == wanted else max(before[place + 1], row[place]))
    return row[-1]


def similarity(one: str, other: str) -> float:
    return 2 * common(one, other) / (len(one) + len(other))


def best_sum(expected: list[str], got: list[str], minimum: float) -> float:
    """The greatest sum over all one-to-one pairings, by trying each."""
    if not expected or not got:
        return 0.0
    first, rest = expected[0], expected[1:]
    best = best_sum(rest, got, minimum)
    for place, other in enumerate(got):
        alike = similarity(first, other)
        part = is_fragment(other, first) and 2 * len(other) >= len(first)
        if alike > 0 and (alike >= minimum - 1e-9 or part):
            best = max(best, alike + best_sum(rest, got[:place] + got[place + 1 :], minimum))
    return best


def parts(matching: Matching) -> tuple[object, ...]:
    return matching.pairs, matching.missed, matching.extra


def texts(matching: Matching, expected: list[str], got: list[str]) -> Counter[tuple[str, str]]:
    return Counter((expected[one], got[other]) for one, other, _ in matching.pairs)


# folding many texts


@for_every("ignore", IGNORED)
def test_many_texts_fold_as_each_would_alone(ignore: tuple) -> None:
    wanted = {name: name in ignore for name in DIFFERENCES}
    every_ascii = [chr(code) for code in range(128)] + [f"x {chr(code)} {chr(code)}X" for code in range(128)]
    odd = ["", " ", "Crème  BRÛLÉE!", "ǅ İ ß", "\ud800", "a\x1cb", "\u2028", "Å", "a\0b", *every_ascii]
    for batch in (odd, every_ascii, ["Wild  Card!", "", " \t"], ["", ""], [""], []):
        assert Folder(ignore).fold(batch) == [fold(text, **wanted) for text in batch]


@given(
    st.lists(st.one_of(st.text(alphabet=st.characters(codec="ascii")), st.text(alphabet=st.characters())), max_size=5),
    st.sampled_from(IGNORED),
)
def test_folding_a_batch_never_mixes_its_texts(batch: list[str], ignore: tuple) -> None:
    assert Folder(ignore).fold(batch) == [
        fold(text, **{name: name in ignore for name in DIFFERENCES}) for text in batch
    ]


# which items are paired


def test_equal_texts_are_paired_and_the_rest_by_similarity() -> None:
    expected = ["to be free from pain", "to keep my sense of humor", "to have my family with me"]
    got = ["to keep my sense of humor", "to be free from pan", "to pray"]
    # 19 letters of 20 in common: 2 * 19 / (20 + 19); "to pray" is like nothing.
    assert parts(match(expected, got, minimum=0.75)) == (((0, 1, pytest.approx(38 / 39)), (1, 0, 1.0)), (2,), (2,))


def test_an_equal_pair_is_not_given_up_for_a_better_sum() -> None:
    # abcd-abce and abcf-abcd would sum to 0.75 + 0.75; abcd-abcd alone is 1.0, and abcf-abce 0.75 remains.
    assert match(["abcd", "abcf"], ["abce", "abcd"], minimum=0.75).pairs == ((0, 1, 1.0), (1, 0, 0.75))
    # Here giving it up would bring a second pair: "abcdx" is like "abcd" alone.
    given_up = match(["abcd", "abcdyy"], ["abcd", "abcdx"], minimum=0.8)
    assert given_up.pairs == ((0, 0, 1.0),)
    assert (given_up.missed, given_up.extra) == ((1,), (1,))


def test_the_best_sum_wins_over_the_best_single_pair() -> None:
    expected, got = ["abcdefgh", "abcdewxy"], ["abcdefgx", "abcdghkl"]
    # Greedy takes the first with the first (14 / 16) and loses the rest: the second with the second has 8 / 16.
    # The other way round both are allowed: 12 / 16 for each.
    assert match(expected, got, minimum=0.75).pairs == ((0, 1, 0.75), (1, 0, 0.75))


def test_pairs_below_the_minimum_do_not_push_out_an_allowed_one() -> None:
    expected, got = ["abcdefghij", "abcdefgzwv"], ["abcdefghxy", "qrsdefghij"]
    # The first with the first is 0.8; crosswise both would be 0.7, a greater sum of pairs that are not allowed.
    assert parts(match(expected, got, minimum=0.75)) == (((0, 0, pytest.approx(0.8)),), (1,), (1,))


def test_a_pair_at_the_minimum_is_allowed_and_below_it_not() -> None:
    assert match(["abcdefghij"], ["abcdefghxy"], minimum=0.8).pairs == ((0, 0, pytest.approx(0.8)),)
    assert match(["abcdefghij"], ["abcdefghxy"], minimum=0.81).pairs == ()


@for_every("tenths", range(1, 10))
def test_rounding_does_not_decide_at_the_minimum(tenths: int) -> None:
    alike = "a" * tenths + "b" * (10 - tenths)
    assert match([alike], ["a" * tenths + "c" * (10 - tenths)], minimum=tenths / 10).extra == ()


def test_nothing_matches_an_empty_text() -> None:
    assert parts(match(["", "a"], ["", ""], minimum=0.0)) == ((), (0, 1), (0, 1))
    assert match(["", "ab"], ["ab", ""], minimum=0.0).pairs == ((1, 0, 1.0),)


@pytest.mark.parametrize(("expected", "got"), [([], []), (["a"], []), ([], ["a"])])
def test_an_empty_side_leaves_all_of_the_other(expected: list[str], got: list[str]) -> None:
    assert parts(match(expected, got, minimum=0.75)) == ((), tuple(range(len(expected))), tuple(range(len(got))))


def test_texts_without_anything_in_common_do_not_match_at_no_minimum() -> None:
    assert match(["ab", "ba"], ["xy", "yx"], minimum=0.0).pairs == ()


def test_unicode_texts_match_by_their_characters() -> None:
    expected, got = (
        ["痛みがないこと", "家族と一緒に", "crème brûlée"],
        ["家族と一緖に", "creme brulee", "痛みがないこと"],
    )
    # 5 of 6 characters are the same; "crème brûlée" differs in 3 of 12.
    assert match(expected, got, minimum=0.75).pairs == (
        (0, 2, 1.0),
        (1, 0, pytest.approx(5 / 6)),
        (2, 1, pytest.approx(0.75)),
    )


# fragments


def test_a_fragment_with_half_the_text_matches_below_the_minimum() -> None:
    expected, got = ["to have my financial affairs in order"], ["to have my financial"]
    # 20 characters of 37: similarity 40 / 57 = 0.70, share 0.54.
    assert match(expected, got, minimum=0.75).pairs == ((0, 0, pytest.approx(40 / 57)),)
    # With less than the share, it is a reading of the one that was not read otherwise.
    other = "to have my financial freedom"
    assert match([*expected, other], [*got, other], minimum=0.75, fragment_share=0.55).pairs == (
        (0, 0, pytest.approx(40 / 57)),
        (1, 1, 1.0),
    )


def test_a_fragment_below_half_matches_the_one_item_that_holds_it() -> None:
    expected = ["to be free from pain", "to have my family with me"]
    # "to have" has 7 of 25 characters: similarity 14 / 32.
    assert parts(match(expected, ["to have"], minimum=0.75)) == (((1, 0, pytest.approx(14 / 32)),), (0,), ())
    # Of two fragments of one item the longer is its reading; what is matched already is read no second time.
    assert parts(match(expected, ["family", "to have"], minimum=0.75)) == (
        ((1, 1, pytest.approx(14 / 32)),),
        (0,),
        (0,),
    )
    assert parts(match(expected, [expected[1], "to have"], minimum=0.75)) == (((1, 0, 1.0),), (0,), (1,))
    # Two cards hold it, it is no true fragment, or it has two letters only.
    for got in ("to", "ave my fam", "my"):
        assert parts(match(expected, [got], minimum=0.75)) == ((), (0, 1), (0,))


def test_more_than_the_whole_text_goes_by_similarity_alone() -> None:
    assert match(["to have my financial"], ["to have my financial affairs in order"], minimum=0.75).pairs == ()


def test_a_rival_below_the_minimum_is_only_allowed_when_it_is_a_fragment() -> None:
    expected, got = ["one two three four", "one two threat six"], ["one two three", "one two thread"]
    # Each has 18 characters. 13 ("one two three") or 12 ("one two thre") are common with the first and the second
    # answer of the one, 12 and 13 with those of the other. All are below 0.84, and only the first is a fragment.
    alike = [similarity(one, other) for one in expected for other in got]
    assert alike == pytest.approx([26 / 31, 24 / 32, 24 / 31, 26 / 32])
    assert parts(match(expected, got, minimum=0.84)) == (((0, 0, pytest.approx(26 / 31)),), (1,), (1,))


@for_every(
    ("got", "expected", "is_one"),
    [
        ("to have my financial", "to have my financial affairs in order", True),
        ("financial affairs", "to have my financial affairs in order", True),
        ("in order", "to have my financial affairs in order", True),
        ("to have my finan", "to have my financial affairs in order", True),
        ("airs in order", "to have my financial affairs in order", True),
        ("e my finan", "to have my financial affairs in order", False),
        ("pan", "pain", False),
        ("ai", "pain", False),
        ("pai", "pain", True),
        ("pain", "pain", False),
        ("pains", "pain", False),
        ("to order", "to have my financial affairs in order", False),
        ("", "pain", False),
        (" ", "a b", False),
        ("an", "banana and", True),  # not where it stands first, but at "and"
        ("がない", "痛みがないこと", True),
        ("痛こと", "痛みがないこと", False),
        ("नमस", "नमस्ते", True),
        ("मस्", "नमस्ते", False),  # a sign that follows a letter goes on with the word
    ],
)
def test_a_fragment_is_one_piece_that_begins_or_ends_with_a_word(got: str, expected: str, is_one: bool) -> None:
    assert is_fragment(got, expected) is is_one


# copies


def test_a_second_copy_is_not_a_new_match() -> None:
    expected, got = ["to be free from pain", "to be free from pans"], ["to be free from pain", "to be free from pain"]
    matching = match(expected, got, minimum=0.75)
    assert len(matching.pairs) == 1
    assert matching.missed == (1,)
    assert copies(expected, got, matching, minimum=0.75) == {matching.extra[0]: 0}


def test_each_copy_in_the_truth_can_be_found_once() -> None:
    matching = match(["a", "b", "a"], ["a", "a", "a"], minimum=0.75)
    assert [pair[0] for pair in matching.pairs] == [0, 2]
    assert (matching.missed, len(matching.extra)) == ((1,), 1)


def test_an_expected_copy_that_was_not_found_can_still_be_found_misread() -> None:
    assert match(["wild card", "wild card"], ["wild cord", "wild card"], minimum=0.75).pairs == (
        (0, 1, 1.0),
        (1, 0, pytest.approx(8 / 9)),
    )


def test_a_misread_copy_is_a_copy_of_the_most_similar_item() -> None:
    expected = ["to be free from pain", "to be free from fear", "to pray"]
    got = ["to be free from fear", "to be free from pain", "to be free from pear", "something else"]
    matching = match(expected, got, minimum=0.75)
    # "pear" shares 19 characters with "fear" (0.95) and 17 with "pain" (0.85 and a bit).
    assert matching.extra == (2, 3)
    assert copies(expected, got, matching, minimum=0.75) == {2: 1}
    assert copies(expected, got, matching, minimum=0.96) == {}


def test_a_copy_of_two_items_alike_is_of_the_first_by_text() -> None:
    got = ["abcx", "abcy", "abcz"]
    for expected in (["abcx", "abcy"], ["abcy", "abcx"]):
        found = copies(expected, got, match(expected, got, minimum=0.75), minimum=0.75)
        assert {extra: expected[of] for extra, of in found.items()} == {2: "abcx"}


def test_an_extra_like_a_missed_item_is_no_copy() -> None:
    expected, got = ["abcdefghij", "xyz"], ["xyz", "abcdeghxxx"]
    matching = match(expected, got, minimum=0.75)
    assert matching.extra == (1,)
    assert copies(expected, got, matching, minimum=0.3) == {}


def test_no_extras_and_no_pairs_have_no_copies() -> None:
    assert copies(["a"], ["a"], match(["a"], ["a"], minimum=1.0), minimum=0.5) == {}
    assert copies(["a"], ["b"], match(["a"], ["b"], minimum=1.0), minimum=0.5) == {}
    assert copies(["a"], ["a", ""], match(["a"], ["a", ""], minimum=1.0), minimum=0.0) == {}


# what always holds


@given(SIDE, SIDE, MINIMUM)
def test_every_item_is_in_one_place(expected: list[str], got: list[str], minimum: float) -> None:
    matching = match(expected, got, minimum=minimum)
    assert sorted([*(pair[0] for pair in matching.pairs), *matching.missed]) == list(range(len(expected)))
    assert sorted([*(pair[1] for pair in matching.pairs), *matching.extra]) == list(range(len(got)))
    assert list(matching.pairs) == sorted(matching.pairs)
    for one, other, alike in matching.pairs:
        assert alike == pytest.approx(similarity(expected[one], got[other]))


@given(SIDE, SIDE, MINIMUM)
def test_every_equal_text_is_paired_with_its_equal(expected: list[str], got: list[str], minimum: float) -> None:
    found = texts(match(expected, got, minimum=minimum), expected, got)
    for text in {*expected} - {""}:
        assert found[text, text] == min(expected.count(text), got.count(text))


@given(SIDE, SIDE, MINIMUM)
def test_no_other_pairing_of_the_rest_has_a_greater_sum(expected: list[str], got: list[str], minimum: float) -> None:
    # The rest: expected items beyond the equal ones, and answered texts that the truth does not have.
    known = Counter(got)
    rest = [text for text in expected if text and (known.subtract([text]) or known[text] < 0)]
    offered = [text for text in got if text and text not in expected]
    pairs = match(expected, got, minimum=minimum).pairs
    total = sum(alike for one, other, alike in pairs if expected[one] != got[other])
    assert total == pytest.approx(best_sum(rest, offered, minimum))


@given(st.data(), SIDE, SIDE, MINIMUM)
@settings(max_examples=examples(200))
def test_the_order_of_the_sides_does_not_matter(data: st.DataObject, expected: list, got: list, minimum: float) -> None:
    def pairs(expected: list[str], got: list[str]) -> Counter:
        matching = match(expected, got, minimum=minimum)
        return Counter((expected[one], got[other], alike) for one, other, alike in matching.pairs)

    shuffled = data.draw(st.permutations(expected)), data.draw(st.permutations(got))
    assert pairs(*shuffled) == pairs(expected, got)


@given(st.data(), SIDE, SIDE)
def test_copies_do_not_depend_on_the_order(data: st.DataObject, expected: list[str], got: list[str]) -> None:
    def result(expected: list[str], got: list[str]) -> Counter[tuple[str, str]]:
        of = copies(expected, got, match(expected, got, minimum=0.75), minimum=0.6)
        return Counter((got[extra], expected[one]) for extra, one in of.items())

    assert result(data.draw(st.permutations(expected)), data.draw(st.permutations(got))) == result(expected, got)


@given(SIDE, SIDE, MINIMUM)
@settings(max_examples=examples(300))
def test_few_texts_are_paired_as_many_would_be(expected: list[str], got: list[str], minimum: float) -> None:
    quick = match(expected, got, minimum=minimum)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(similar_module, "_lone_cells_of_few", lambda *_: None)
        assert match(expected, got, minimum=minimum) == quick


@given(
    st.lists(SHORT.filter(bool), min_size=1, max_size=4),
    st.lists(SHORT.filter(bool), min_size=1, max_size=4),
    st.sampled_from([0.0, 0.35, 0.55, 0.75, 0.95]),
)
def test_the_lone_pairs_of_few_texts_are_those_of_a_matrix(wanted: list, there: list, minimum: float) -> None:
    allowed = similar_module.Allowed(minimum)
    matrix = similar_module.similarities(wanted, there, allowed.cutoff)
    similar_module._forbid(matrix, wanted, there, allowed)
    assert similar_module._lone_cells_of_few(wanted, there, allowed) == similar_module._lone_cells(matrix)


@given(st.lists(st.text(alphabet=st.characters(), max_size=8), max_size=5))
def test_any_texts_match_themselves(items: list[str]) -> None:
    matching = match(items, items[::-1], minimum=0.75)
    assert all(items[one] == items[::-1][other] for one, other, _ in matching.pairs)
    assert len(matching.pairs) == sum(map(bool, items))


def test_a_fragment_of_several_items_is_matched_with_the_one_that_was_not_read() -> None:
    pain, anxiety = "to be free from pain", "to be free from anxiety"
    # "to be" has 5 of 23 characters of the unread item: similarity 10 / 28. The other one has it, too, and was read.
    assert parts(match([pain, anxiety], [pain, "to be"], minimum=0.75)) == (
        ((0, 0, 1.0), (1, 1, pytest.approx(10 / 28))),
        (),
        (),
    )
    # Neither was read: it belongs to the one that it is the larger share of (10 / 25).
    assert parts(match([anxiety, pain], ["to be"], minimum=0.75)) == (((1, 0, pytest.approx(10 / 25)),), (0,), ())


def test_fragments_are_assigned_so_that_as_much_as_possible_is_matched() -> None:
    # "old house" is in both, "house of" in the first alone: taken one after the other, the second item would be missed.
    first, second = "the old house of stones", "my very own old house by the river"
    got = match([first, second], ["house of", "old house"], minimum=0.75).pairs
    assert [(at, by) for at, by, _ in got] == [(0, 0), (1, 1)]
