"""How alike repeats are: every pair of them, items paired by key, against figures by hand and a brute-force oracle."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parts.columns import Made, columns, suite
from parts.described import summarise
from parts.lengths import examples
from parts.looped import for_every
from parts.repeats import compared, comparing
from parts.score_ends import score_ends
from steelyard.analysis.stability import band_of
from steelyard.metrics.stability import alikeness, common, overlap_of_all_pairs, stretch_of
from steelyard.records import Item
from steelyard.stats.intervals import Estimate

BOTH = {"span": "overlap", "level": "equal"}


def item(key: str, span=None, level="low") -> Item:
    return Item(key, (span, level))


def one_cell(*repeats):
    return compared({"a": list(repeats)}, BOTH).stability.cells[0]


def of_run(summary):
    """Presence, and how alike spans are."""
    return summary.overall["stability.presence"], summary.overall["stability.span"]


def n_of_run(summary):
    """Cases behind presence, those that are missing, and all that were to be compared."""
    presence, _ = of_run(summary)
    return presence.n, presence.n_missing, summary.overall.count("stability.cells.all")


def comparisons(summary):
    return {what: item.value for what, item in summary.overall.each("stability.comparisons.<what>").items()}


class TestByHand:
    def test_every_pair_of_repeats_is_compared(self):
        found = one_cell(
            [item("x", [0, 10], "low"), item("y", [5, 6], "low")],
            [item("x", [0, 5], "low"), item("z")],
            [item("x", [5, 10], "high"), item("y", [5, 6], "low")],
        )
        # 1-2: x of x, y, z; 1-3: x, y of x, y; 2-3: x of x, y, z. Shared 1 + 2 + 1, either 3 + 2 + 3.
        assert found.presence == Estimate(0.5, 8)
        # x: 5/10, 5/10 and 0 (they only touch); y: 1. Levels: low-low, low-high, low-high and low-low.
        assert found.fields == {"span": Estimate(0.5, 4), "level": Estimate(0.5, 4)}
        assert (found.runs, found.missing) == (3, 0)

    def test_duplicates_are_kept_and_paired_in_the_best_way(self):
        # Crosswise the spans agree, straight on they do not; the third one of the second repeat has no partner.
        found = one_cell(
            [item("x", [0, 4], "low"), item("x", [10, 14], "high")],
            [item("x", [10, 14], "low"), item("x", [0, 2], "low"), item("x", None, "mid")],
        )
        # Two of three are in both. Spans 4/4 and 2/4; levels: one low of both, high has no like.
        assert found.presence.value == pytest.approx(2 / 3)
        assert found.fields == {"span": Estimate(0.75, 2), "level": Estimate(0.5, 2)}

    def test_null_is_like_null_and_like_no_span(self):
        found = one_cell([item("x"), item("y"), item("z", [1, 2])], [item("x"), item("y", [1, 2]), item("z", [1, 2])])
        assert found.fields["span"].value == pytest.approx((1 + 0 + 1) / 3, abs=1e-11)

    def test_repeats_without_items_have_nothing_to_compare(self):
        found = compared({"a": [[], [], []]}, BOTH)
        assert of_run(found) == (Estimate(None, 0, 1), Estimate(None, 0, 1))
        cell = found.stability.cells[0]
        assert (cell.presence, cell.runs) == (Estimate(None, 0), 3)
        assert comparisons(found) == {"presence": 0, "span": 0, "level": 0}

    def test_one_repeat_alone_has_nothing_to_compare(self):
        found = compared({"a": [[item("x")]]}, BOTH)
        assert (of_run(found)[0].value, found.stability.cells[0].presence) == (None, Estimate(None, 0))

    def test_an_item_that_came_once_has_presence_and_no_fields(self):
        found = one_cell([item("x")], [])
        assert (found.presence, found.fields["level"]) == (Estimate(0.0, 1), Estimate(None, 0))

    def test_items_without_a_key_are_compared_with_each_other_and_counted(self):
        found = compared({"a": [[item("", [0, 2])], [item("", [0, 2]), item("x")]]}, BOTH)
        assert found.overall["stability.items.keyless"].value == 2
        assert found.stability.cells[0].fields["span"].value == 1.0

    def test_the_seed_s_reading_of_a_share(self):
        shares = (None, 1.0, 0.999, 0.8, 0.799, 0.6, 0.599, 0.0)
        assert [band_of(share) for share in shares] == [
            "n/a", "perfect", "acceptable", "acceptable", "unsteady", "unsteady", "unstable", "unstable",
        ]  # fmt: skip


class TestOverCells:
    def test_the_run_s_figure_is_the_mean_of_its_cells_with_an_interval_over_them(self):
        half, more = [[item("x"), item("y")], [item("x")]], [[item("x"), item("y")], [item("x"), item("y"), item("z")]]
        found = compared({"a": half, "b": more, "c": half, "d": more, "e": [[], []]}, BOTH)
        # Cells 1/2, 2/3, 1/2 and 2/3, mean 7/12, each 1/12 off: standard deviation sqrt(4/144 / 3). e has nothing.
        expected = (7 / 12, 4, 1, *score_ends(7 / 12, (4 / 144 / 3) ** 0.5 / 4**0.5, 3))
        presence, _ = of_run(found)
        assert (presence.value, presence.n, presence.n_missing, presence.low, presence.high) == pytest.approx(expected)
        assert comparisons(found) == {"presence": 10, "span": 6, "level": 6}
        # What both repeats have is the same in all of them, whatever only one of them has.
        level = found.overall["stability.level"]
        assert (level.value, level.n) == (1.0, 4)

    def test_answers_that_could_not_be_read_are_missing_repeats(self):
        found = compared({"a": [[item("x")], None, [item("x")]]}, BOTH).stability.cells[0]
        assert (found.runs, found.missing, found.presence) == (2, 1, Estimate(1.0, 1))

    def test_items_of_inconclusive_samples_are_left_out(self):
        made = [Made("a", 1.0, repeat=0), Made("a", None, "judge_failed", repeat=1), Made("a", 1.0, repeat=2)]
        found = compared({"a": [[item("x")], [item("y")], [item("x")]]}, BOTH, made).stability.cells[0]
        assert (found.runs, found.missing, found.presence) == (2, 1, Estimate(1.0, 1))

    def test_a_case_whose_answers_are_to_have_no_items_is_in_no_figure(self):
        # Read and scored, and yet without items: a case that expects an error.
        made = [Made(case, 1.0, repeat=repeat) for case in "ab" for repeat in (0, 1)]
        found = compared({"a": [[item("x")], [item("x")]], "b": [None, None]}, BOTH, made)
        assert [each.case_id for each in found.stability.cells] == ["a"]
        assert n_of_run(found) == (1, 0, 1)

    def test_a_case_without_an_answer_that_could_be_read_is_missing(self):
        found = compared({"a": [[item("x")], [item("x")]], "b": [None, None]}, BOTH)
        assert n_of_run(found) == (1, 1, 2)

    def test_cells_that_never_came_are_missing(self):
        found = compared({"a": [[item("x")], [item("x")]]}, BOTH, n_planned=6)
        assert n_of_run(found) == (1, 2, 3)

    def test_a_suite_that_compares_nothing_has_no_figures(self):
        made = columns([Made("a", 1.0)])
        assert summarise(made, suite(), items=iter(())).stability is None
        assert summarise(made, comparing(BOTH, 2)).stability is None

    def test_cells_may_be_interleaved_in_the_plan(self):
        made = [Made(case, 1.0, repeat=repeat) for repeat in (0, 1) for case in "ab"]
        items = [(0, (item("x"),)), (1, (item("x"),)), (2, (item("x"),)), (3, (item("y"),))]
        found = summarise(columns(made), comparing(BOTH, 2), items=iter(items)).stability
        assert [each.presence.value for each in found.cells] == [1.0, 0.0]


class TestValues:
    @for_every(
        ("value", "stretch"),
        [
            ([3, 9], (3.0, 9.0)),
            ({"start": 1, "end": 2.5, "text": "x"}, (1.0, 2.5)),
            (None, None),
            ([9, 3], None),
            ([3, 3], None),
            ([1, 2, 3], None),
            (["1", "2"], None),
            ([False, True], None),
            ([0, 10**400], None),
            ([0.0, float("inf")], None),
            ([float("nan"), 1.0], None),
            ("1-2", None),
        ],
    )
    def test_what_is_a_stretch(self, value, stretch):
        assert stretch_of(value) == stretch

    def test_what_is_no_stretch_is_like_itself_alone(self):
        assert overlap_of_all_pairs([["?"], ["?"], ["!"]]) == 1.0
        assert overlap_of_all_pairs([[[3, 3]], [[3, 3]], [[4, 4]]]) == 1.0
        assert overlap_of_all_pairs([[[3, 3]], [[0, 9]]]) == 0.0

    def test_the_same_number_is_the_same_however_it_is_written_and_true_is_not_one(self):
        found = alikeness([[Item("x", (1,))], [Item("x", (1.0,))], [Item("x", (True,))]], ["equal"])
        assert (found.shared, found.alike) == (3, [1.0])

    def test_groups_are_the_same_whatever_the_order_of_their_keys(self):
        one, other = {"a": [1, None], "b": {}}, {"b": {}, "a": [1, None]}
        assert alikeness([[Item("x", (one,))], [Item("x", (other,))]], ["equal"]).alike == [1.0]

    def test_more_items_of_one_key_than_are_tried_at_once(self):
        spans = [[10 * n, 10 * n + 4] for n in range(11)]
        shifted = [[start + 2, end + 2] for start, end in reversed(spans)]
        # Each lies half over its own: 2 of 6, and over no other.
        assert overlap_of_all_pairs([spans, shifted]) == pytest.approx(11 / 3)


# The oracle knows nothing of counts, codes or tables: it takes every pair of repeats and every way of pairing.


def iou(one, other):
    if one is None or other is None:
        return float(one is other)
    shared = max(0, min(one[1], other[1]) - max(one[0], other[0]))
    return shared / (one[1] - one[0] + other[1] - other[0] - shared)


def by_brute_force(answers):
    shared = either = 0
    span = level = 0.0
    for one, other in combinations(answers, 2):
        mine, theirs = Counter(each.key for each in one), Counter(each.key for each in other)
        shared += sum((mine & theirs).values())
        either += sum((mine | theirs).values())
        for key in mine & theirs:
            few, many = sorted(([i for i in side if i.key == key] for side in (one, other)), key=len)
            ways = [list(zip(few, chosen, strict=True)) for chosen in permutations(many, len(few))]
            span += max(sum(iou(a.values[0], b.values[0]) for a, b in way) for way in ways)
            level += max(sum(a.values[1] == b.values[1] for a, b in way) for way in ways)
    return shared, either, span, level


SPANS = st.none() | st.tuples(st.integers(0, 9), st.integers(1, 6)).map(lambda each: [each[0], each[0] + each[1]])
ITEMS = st.builds(item, st.sampled_from("xyz"), SPANS, st.sampled_from(["low", "high"]))
ANSWERS = st.lists(st.lists(ITEMS, max_size=5), max_size=5)


@settings(max_examples=examples(150))
@given(ANSWERS)
def test_all_pairs_at_once_are_what_brute_force_finds(answers):
    found = alikeness(answers, ["overlap", "equal"])
    shared, either, span, level = by_brute_force(answers)
    assert (found.shared, found.either) == (shared, either)
    assert found.alike == pytest.approx([span, level])


@given(ANSWERS, st.randoms())
def test_the_order_of_repeats_and_of_items_changes_nothing(answers, chance):
    shuffled = [chance.sample(answer, len(answer)) for answer in chance.sample(answers, len(answers))]
    assert alikeness(shuffled, ["overlap", "equal"]) == alikeness(answers, ["overlap", "equal"])


def test_fractions_are_added_in_an_order_of_their_own():
    # 0.1 + 0.2 + 0.3 and 0.3 + 0.2 + 0.1 differ in their last digit.
    short, long = [item(key, [0, n]) for n, key in enumerate("xyz", 1)], [item(key, [0, 10]) for key in "xyz"]
    assert alikeness([short[::-1], long], ["overlap"]) == alikeness([short, long], ["overlap"])


@given(st.lists(ITEMS, min_size=1, max_size=6), st.integers(2, 5))
def test_the_same_answer_every_time_is_perfect(answer, repeats):
    found = alikeness([answer] * repeats, ["overlap", "equal"])
    assert found.shared == found.either == len(answer) * repeats * (repeats - 1) / 2
    assert found.alike == [found.shared, found.shared]


@given(st.lists(st.integers(1, 5), max_size=8), st.integers(0, 4))
def test_smaller_and_larger_counts_of_all_pairs(counts, without):
    pairs = list(combinations([*counts, *[0] * without], 2))
    assert common(counts, len(counts) + without) == (sum(map(min, pairs)), sum(map(max, pairs)))


@pytest.mark.parametrize("at_once", [1, 7, 50])
def test_pieces_of_any_size_give_the_same(monkeypatch, at_once):
    runs = [[[n, n + 3], [2 * n, 2 * n + 5]][: 1 + n % 2] for n in range(9)]
    whole = overlap_of_all_pairs(runs)
    monkeypatch.setattr("steelyard.metrics.stability._MOST_AT_ONCE", at_once)
    assert overlap_of_all_pairs(runs) == pytest.approx(whole)
