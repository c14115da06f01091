"""Spans against gold spans: pairs, schemes and errors, with nervaluate and brute force as oracles."""

from collections import Counter
from dataclasses import replace
from itertools import combinations, permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parts.looped import for_every
from steelyard.scoring.spans.compare import match_spans, overlap
from steelyard.scoring.spans.read import LostSpan, Spans, TextSpan
from steelyard.scoring.spans.schemes import PrecisionRecall, compare_spans, macro, micro

SCHEMES = ("strict", "exact", "partial", "type")


def spans(*given):
    """Spans from (start, end, role)."""
    placed = [TextSpan("x" * (end - start), start, end, role) for start, end, role in given]
    return Spans(tuple(replace(span, index=at) for at, span in enumerate(placed)))


def compared(gold, answer, iou=0.5):
    return compare_spans(spans(*gold), spans(*answer), iou=iou)


def named(result):
    """Each error as (kind, index in the answer, indexes in gold)."""
    return [
        (error.kind, None if error.answer is None else error.answer.index, tuple(true.index for true in error.gold))
        for error in result.errors
    ]


def kinds(gold, answer, iou=0.5):
    return [(kind, by) for kind, by, _ in named(compared(gold, answer, iou))]


# Three documents as (gold, answer). The figures below are those of nervaluate 1.2.1, which takes any overlap for a pair
# and has inclusive ends; correct, incorrect, partial, missed, spurious, then precision, recall and F1.
DOCUMENTS = [
    (
        [(0, 11, "shot"), (15, 18, "who"), (19, 26, "does"), (34, 38, "where"), (50, 60, "light")],
        [(0, 11, "shot"), (13, 18, "who"), (19, 26, "where"), (36, 38, "light"), (70, 75, "light")],
    ),
    ([(0, 5, "who"), (6, 10, "does")], [(6, 10, "does"), (0, 4, "shot")]),
    (
        [(3, 9, "light"), (12, 20, "light"), (30, 33, "shot")],
        [(12, 20, "light"), (2, 9, "light"), (40, 44, "who"), (30, 33, "shot")],
    ),
]
NERVALUATE = [
    {
        "strict": (1, 3, 0, 1, 1, 0.2, 0.2, 0.2),
        "partial": (2, 0, 2, 1, 1, 0.6, 0.6, 0.6),
        "type": (2, 2, 0, 1, 1, 0.4, 0.4, 0.4),
        "exact": (2, 2, 0, 1, 1, 0.4, 0.4, 0.4),
    },
    {
        "strict": (1, 1, 0, 0, 0, 0.5, 0.5, 0.5),
        "partial": (1, 0, 1, 0, 0, 0.75, 0.75, 0.75),
        "type": (1, 1, 0, 0, 0, 0.5, 0.5, 0.5),
        "exact": (1, 1, 0, 0, 0, 0.5, 0.5, 0.5),
    },
    {
        "strict": (2, 1, 0, 0, 1, 0.5, 0.6666666666666666, 0.5714285714285715),
        "partial": (2, 0, 1, 0, 1, 0.625, 0.8333333333333334, 0.7142857142857143),
        "type": (3, 0, 0, 0, 1, 0.75, 1.0, 0.8571428571428571),
        "exact": (2, 1, 0, 0, 1, 0.5, 0.6666666666666666, 0.5714285714285715),
    },
]
NERVALUATE_IN_ALL = {
    "strict": (0.36363636363636365, 0.4, 0.380952380952381),
    "partial": (0.6363636363636364, 0.7, 0.6666666666666666),
    "type": (0.5454545454545454, 0.6, 0.5714285714285713),
    "exact": (0.45454545454545453, 0.5, 0.47619047619047616),
}
# nervaluate gives 0 for a ratio of nothing; there is none in these.
NERVALUATE_BY_ROLE = {
    "strict": {
        "where": (0.0, 0.0, 0.0),
        "shot": (2 / 3, 1.0, 0.8),
        "light": (0.25, 1 / 3, 0.28571428571428575),
        "does": (1.0, 0.5, 0.6666666666666666),
        "who": (0.0, 0.0, 0.0),
    },
    "partial": {
        "where": (0.0, 0.0, 0.0),
        "shot": (2 / 3, 1.0, 0.8),
        "light": (0.375, 0.5, 0.42857142857142855),
        "does": (1.0, 0.5, 0.6666666666666666),
        "who": (0.25, 0.25, 0.25),
    },
    "type": {
        "where": (0.0, 0.0, 0.0),
        "shot": (2 / 3, 1.0, 0.8),
        "light": (0.5, 2 / 3, 0.5714285714285715),
        "does": (1.0, 0.5, 0.6666666666666666),
        "who": (0.5, 0.5, 0.5),
    },
}


@for_every("scheme", SCHEMES)
@for_every("at", range(3))
def test_the_four_schemes_count_as_nervaluate_does(at, scheme):
    counts = compared(*DOCUMENTS[at], iou=0).counts(scheme)
    lists = (counts.correct, counts.incorrect, counts.partial, counts.missed, counts.spurious)
    figures = counts.figures
    assert tuple(map(len, lists)) == NERVALUATE[at][scheme][:5]
    assert (figures.precision, figures.recall, figures.f1) == pytest.approx(NERVALUATE[at][scheme][5:])
    assert compared(*DOCUMENTS[at], iou=0).figures(scheme) == figures


@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_sums_of_all_documents_give_nervaluates_figures(scheme):
    total = micro(compared(*document, iou=0).figures(scheme) for document in DOCUMENTS)
    assert (total.precision, total.recall, total.f1) == pytest.approx(NERVALUATE_IN_ALL[scheme])


@pytest.mark.parametrize("scheme", sorted(NERVALUATE_BY_ROLE))
def test_the_figures_of_each_role_are_nervaluates(scheme):
    found = {}
    for document in DOCUMENTS:
        for role, figures in compared(*document, iou=0).by_category(scheme, str).items():
            found[role] = found.get(role, PrecisionRecall(0, 0, 0)) + figures
    assert found.keys() == NERVALUATE_BY_ROLE[scheme].keys()
    for role, figures in found.items():
        assert (figures.precision, figures.recall, figures.f1) == pytest.approx(NERVALUATE_BY_ROLE[scheme][role])


def test_macro_counts_every_category_the_same_and_says_of_how_many():
    found = macro({"a": PrecisionRecall(1, 1, 2), "b": PrecisionRecall(0, 0, 4), "c": PrecisionRecall(1, 4, 1)})
    # Precision: 1/1 and 1/4, b answered nothing. Recall: 1/2, 0/4, 1/1. F1: 2/3, 0, 2/5.
    assert (found["precision"].value, found["precision"].n) == (0.625, 2)
    assert (found["recall"].value, found["recall"].n) == (0.5, 3)
    assert found["f1"].value == pytest.approx((2 / 3 + 0 + 2 / 5) / 3)
    assert macro({})["f1"].value is None
    assert PrecisionRecall(0, 0, 0).f1 is None


def test_a_category_is_the_part_of_a_role_that_is_asked_for():
    found = compared([(0, 4, "who.kind"), (5, 9, "who.dress")], [(0, 4, "who.dress"), (5, 9, "how.much")])
    by_category = found.by_category("exact", lambda role: role.partition(".")[0])
    # The second pair is right by its boundaries, but its sides are of two categories.
    assert by_category == {"who": PrecisionRecall(1, 1, 2), "how": PrecisionRecall(0, 1, 0)}


def test_indexes_are_kept_for_every_count():
    found = compared(*DOCUMENTS[0], iou=0)
    counts = found.counts("strict")
    assert [(true.index, said.index) for true, said in counts.correct] == [(0, 0)]
    assert [(true.index, said.index) for true, said in counts.incorrect] == [(1, 1), (2, 2), (3, 3)]
    assert [span.index for span in counts.missed] == [4]
    assert [span.index for span in counts.spurious] == [4]


def test_a_span_without_a_place_is_spurious():
    answer = Spans((TextSpan("x", 0, 1, "a"),), (LostSpan(1, "not there", role="a"),))
    found = compare_spans(spans((0, 1, "a")), answer)
    assert found.figures("strict") == PrecisionRecall(1, 2, 1)
    assert found.by_category("strict", str) == {"a": PrecisionRecall(1, 2, 1)}


def test_overlap_is_intersection_over_union():
    one, other = spans((0, 10, "")).placed[0], spans((5, 20, "")).placed[0]
    assert overlap(one, other) == 5 / 20
    assert overlap(one, spans((10, 12, "")).placed[0]) == 0.0


def test_the_threshold_belongs_to_the_pairs():
    assert len(compared([(0, 10, "a")], [(0, 5, "a")], iou=0.5).pairs) == 1
    assert len(compared([(0, 10, "a")], [(0, 5, "a")], iou=0.51).pairs) == 0


def test_the_best_assignment_is_not_the_greedy_one():
    # Greedy would give answer 0 (12/18) gold 0 and leave gold 1 and answer 1, which share nothing with each other.
    gold, answer = [(0, 18, "a"), (6, 20, "a")], [(6, 18, "a"), (0, 9, "a")]
    found = match_spans(spans(*gold).placed, spans(*answer).placed, iou=0.1)
    assert [(at, by) for at, by, _ in found.pairs] == [(0, 1), (1, 0)]


ERRORS = {
    "nothing is wrong": ([(0, 4, "a"), (5, 9, "b")], [(5, 9, "b"), (0, 4, "a")], []),
    "missed": ([(0, 4, "a")], [], [("missed", None, (0,))]),
    "extra beside the gold": ([(0, 4, "a")], [(0, 4, "a"), (6, 8, "a")], [("extra", 1, ())]),
    "extra that only brushes": ([(0, 6, "a")], [(5, 20, "a")], [("extra", 0, ()), ("missed", None, (0,))]),
    "wrong role": ([(0, 4, "a")], [(0, 4, "b")], [("wrong_role", 0, (0,))]),
    "wrong role and boundaries": ([(0, 4, "a")], [(0, 5, "b")], [("wrong_role", 0, (0,))]),
    "a piece": ([(0, 10, "a")], [(0, 7, "a")], [("too_fine", 0, (0,))]),
    "a small piece": ([(0, 10, "a")], [(2, 4, "a")], [("too_fine", 0, (0,))]),
    "all in pieces": (
        [(0, 20, "a")],
        [(0, 5, "a"), (6, 12, "a"), (13, 20, "a")],
        [("too_fine", 0, (0,)), ("too_fine", 1, (0,)), ("too_fine", 2, (0,))],
    ),
    "more than it": ([(2, 8, "a")], [(0, 10, "a")], [("too_coarse", 0, (0,))]),
    "much more than it": ([(2, 4, "a")], [(0, 10, "a")], [("too_coarse", 0, (0,))]),
    "two in one": ([(0, 4, "a"), (5, 9, "b")], [(0, 9, "a")], [("too_coarse", 0, (0, 1)), ("missed", None, (1,))]),
    "over two that were found": (
        [(0, 4, "a"), (5, 9, "b")],
        [(0, 4, "a"), (5, 9, "b"), (0, 9, "a")],
        [("too_coarse", 2, (0, 1))],
    ),
    "shifted": ([(0, 10, "a")], [(2, 12, "a")], [("too_coarse", 0, (0,))]),
    "the same twice": ([(0, 4, "a")], [(0, 4, "a"), (0, 4, "a")], [("duplicate", 1, (0,))]),
    "a second role": ([(0, 4, "a")], [(0, 4, "a"), (0, 4, "b")], [("duplicate", 1, (0,))]),
    "the same extra twice": (
        [(0, 4, "a")],
        [(0, 4, "a"), (6, 8, "b"), (6, 8, "b")],
        [("duplicate", 2, ()), ("extra", 1, ())],
    ),
    "a second one for it": ([(0, 10, "a")], [(0, 10, "a"), (0, 9, "a")], [("duplicate", 1, (0,))]),
    "a piece of what was found": ([(0, 10, "a")], [(0, 10, "a"), (3, 5, "a")], [("duplicate", 1, (0,))]),
    "a span inside two nested ones": (
        [(0, 20, "a"), (0, 6, "b")],
        [(0, 20, "a"), (1, 3, "b")],
        [("too_fine", 1, (1,))],
    ),
}  # fmt: skip


@for_every("name", ERRORS)
def test_every_error_has_one_name(name):
    gold, answer, expected = ERRORS[name]
    assert named(compared(gold, answer)) == expected


def test_a_span_over_everything_hides_no_miss():
    gold = [(at, at + 3, "a") for at in range(0, 40, 4)]
    assert Counter(kind for kind, _ in kinds(gold, [(0, 43, "a")])) == {"too_coarse": 1, "missed": 9}


def test_where_any_overlap_makes_a_pair_the_names_stay_apart():
    assert kinds([(0, 10, "a")], [(0, 10, "a"), (0, 30, "a")], iou=0) == [("too_coarse", 1)]
    assert kinds([(0, 10, "a")], [(0, 10, "a"), (8, 12, "a")], iou=0) == [("duplicate", 1)]
    assert kinds([(0, 10, "a")], [(0, 6, "a"), (7, 9, "a")], iou=0) == [("too_fine", 0), ("too_fine", 1)]
    assert kinds([(0, 10, "a")], [(0, 6, "a"), (8, 12, "a")], iou=0) == [("too_fine", 0), ("extra", 1)]


some_spans = st.lists(
    st.tuples(st.integers(0, 12), st.integers(1, 8), st.sampled_from("abc")).map(lambda s: (s[0], s[0] + s[1], s[2])),
    max_size=4,
)
thresholds = st.sampled_from([0, 0.2, 0.5, 0.9])


def worth(pairs, gold, answer):
    """What is to be highest: the same spans, then the same boundaries, then the overlaps of the others."""
    same = sum(gold[at] == answer[by] for at, by in pairs)
    exact = sum(gold[at][:2] == answer[by][:2] for at, by in pairs)
    placed, said = spans(*gold).placed, spans(*answer).placed
    shared = sum(overlap(placed[at], said[by]) for at, by in pairs if gold[at][:2] != answer[by][:2])
    return same, exact, round(shared, 9)


def brute_force(gold, answer, iou):
    placed, said = spans(*gold).placed, spans(*answer).placed
    fits = [[0 < overlap(one, other) >= iou for other in said] for one in placed]
    best = (0, 0, 0.0)
    for n in range(min(len(gold), len(answer)) + 1):
        for golds in combinations(range(len(gold)), n):
            for answers in permutations(range(len(answer)), n):
                pairs = list(zip(golds, answers, strict=True))
                if all(fits[at][by] for at, by in pairs):
                    best = max(best, worth(pairs, gold, answer))
    return best


@given(some_spans, some_spans, thresholds)
def test_the_matching_is_the_best_of_all_there_are(gold, answer, iou):
    found = match_spans(spans(*gold).placed, spans(*answer).placed, iou=iou)
    pairs = [(at, by) for at, by, _ in found.pairs]
    assert worth(pairs, gold, answer) == pytest.approx(brute_force(gold, answer, iou))
    assert sorted([*(at for at, _ in pairs), *found.missed]) == list(range(len(gold)))
    assert sorted([*(by for _, by in pairs), *found.extra]) == list(range(len(answer)))


def described(result):
    """What a comparison says, without the positions that spans happen to have."""

    def bare(span):
        return None if span is None else (span.start, span.end, span.role)

    errors = Counter((error.kind, bare(error.answer), tuple(map(bare, error.gold))) for error in result.errors)
    return [result.figures(scheme) for scheme in SCHEMES], errors, result.by_category("type", str)


@given(some_spans, some_spans, thresholds, st.randoms(use_true_random=False))
def test_the_order_of_either_side_changes_nothing(gold, answer, iou, random):
    before = described(compared(gold, answer, iou))
    random.shuffle(gold)
    random.shuffle(answer)
    assert described(compared(gold, answer, iou)) == before


@given(some_spans, some_spans, some_spans, some_spans, thresholds)
def test_two_documents_count_as_their_one_joined_document(gold, answer, more_gold, more_answer, iou):
    def moved(given):
        return [(start + 100, end + 100, role) for start, end, role in given]

    one, other = compared(gold, answer, iou), compared(more_gold, more_answer, iou)
    joined = compared(gold + moved(more_gold), answer + moved(more_answer), iou)
    for scheme in SCHEMES:
        assert joined.figures(scheme) == one.figures(scheme) + other.figures(scheme)
    assert Counter(kind for kind, *_ in named(joined)) == Counter(kind for kind, *_ in named(one) + named(other))


@given(some_spans, some_spans, thresholds)
def test_every_span_has_at_most_one_error_and_those_without_are_right(gold, answer, iou):
    found = compared(gold, answer, iou)
    wrong = Counter(error.answer.index for error in found.errors if error.answer is not None)
    assert set(wrong.values()) <= {1}
    assert len(answer) - len(wrong) == found.figures("strict").right
    # Of gold spans, each is right, paired and wrong, stood for, or missed.
    accounted = [error.gold[0].index for error in found.errors if error.paired or error.kind == "missed"]
    accounted += [error.stands_for.index for error in found.errors if error.stands_for is not None]
    accounted += [true.index for true, _ in found.counts("strict").correct]
    assert sorted(accounted) == list(range(len(gold)))


@given(some_spans.filter(len))
def test_the_gold_spans_themselves_are_perfect(gold):
    found = compared(gold, gold)
    assert found.errors == ()
    assert [found.figures(scheme).f1 for scheme in SCHEMES] == [1.0] * 4
