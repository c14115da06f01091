"""The scorer of items: shapes, groups and copies, and what a suite may say of them."""

from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from parts.items import CODES, LEFT, RIGHT, SHAPES, SUITE, TRUTH, answer, case, errors, scorer, told
from parts.lengths import examples
from parts.small_suite import load_written
from steelyard.errors import SuiteError
from steelyard.scoring.items.match import MatchItems


def test_items_in_two_shapes_at_once_are_in_none():
    invented = [{"text": f"Invented {n}", "row": 1} for n in range(5)]
    reading = scorer().read({**answer(LEFT, RIGHT), "parts": invented}, case())
    assert reading.misshapen == "it holds items in several shapes at once: boxes[].parts[] and parts[]"
    assert reading.value == 0


def test_an_empty_list_in_one_shape_does_not_hide_the_items_of_another():
    rows = [{"text": text, "row": group} for group, texts in enumerate([LEFT, RIGHT]) for text in texts]
    assert scorer().read({"boxes": [], "parts": rows}, case()).value == 1


def test_an_answer_with_too_many_items_is_not_read():
    reading = scorer(most=5).read(answer([*LEFT, *RIGHT, "one more"]), case())
    assert reading.misshapen == "it holds 6 items, more than the 5 that are read"
    assert scorer(most=5).read(answer(LEFT, RIGHT), case()).value == 1


def test_labels_count_as_shared_by_all_groups_of_the_truth_not_only_those_that_were_found():
    truth = {"boxes": [{"label": "Left", "parts": ["alpha one"]}, {"label": "Right", "parts": ["beta two"]}]}
    reading = scorer().read({"boxes": [{"label": "right", "parts": ["alpha one"]}]}, case(truth))
    assert (reading.value, reading.counts["grouped"]) == (0, 0)
    assert reading.note.endswith("groups compared by label")


def test_a_group_that_holds_only_what_was_invented_has_a_label_too():
    got = {"boxes": [{"label": "left", "parts": RIGHT}, {"label": "zz", "parts": ["A dog"]}]}
    assert scorer().read(got, case()).note.endswith("groups taken as left = right")


def best_choice(truth, groups):
    """The most items that any choice of copies and any mapping of groups makes right, by trying them all."""
    true = [(text, label) for label, texts in truth.items() for text in texts]
    places = {text: [n for n, group in enumerate(groups) for one in group if one == text] for text, _ in true}
    labels = [*truth, *[None] * len(groups)]
    best = 0
    for mapping in set(permutations(labels, len(groups))):
        right = sum(any(mapping[n] == label for n in places[text]) for text, label in true)
        best = max(best, right)
    return best


@settings(max_examples=examples(150))
@given(st.data())
def test_of_copies_the_best_choice_is_made_whatever_groups_are_called_and_however_ordered(data):
    truth = {"p": ["one apple", "two pears"], "q": ["ten plums"], "r": ["six figs"]}
    texts = st.sampled_from(["one apple", "two pears", "ten plums", "six figs"])
    groups = data.draw(st.lists(st.lists(texts, max_size=4), min_size=1, max_size=4))
    names = data.draw(st.permutations(["w", "x", "y", "z"]))
    order = data.draw(st.permutations(range(len(groups))))
    as_truth = case({"boxes": [{"label": label, "parts": parts} for label, parts in truth.items()]})
    plain = scorer().read({"boxes": [{"parts": group} for group in groups]}, as_truth)
    renamed = scorer().read({"boxes": [{"label": names[n], "parts": groups[n]} for n in order]}, as_truth)
    mixed = scorer().read({"boxes": [{"parts": groups[n]} for n in order]}, as_truth)
    if not plain.misshapen:
        assert plain.counts["grouped"] == renamed.counts["grouped"] == best_choice(truth, groups)
        assert plain.counts == renamed.counts == mixed.counts
        assert told(plain) == told(mixed)


def test_of_equally_good_mappings_the_one_with_more_right_texts_is_taken():
    truth = case(
        {"boxes": [{"label": "p", "parts": ["one apple", "two pears"]}, {"label": "q", "parts": ["six figs"]}]}
    )
    for order in ([["one aple"], ["two pears"]], [["two pears"], ["one aple"]]):
        # Either answered group may stand for p; with that of the pears an item is wholly right.
        assert scorer().read(answer(*order), truth).counts["correct"] == 1


@pytest.mark.parametrize("codes", [CODES, CODES | {"copy": "TWICE"}])
def test_what_fixing_a_code_gains_under_the_strict_rule_is_what_fixing_it_gives(codes):
    got = ["To be free from pan", "Wild Part", "Wild Part", "wild part", "A dog", "A cat"]
    strict = scorer(strict=True, codes=codes)
    before = strict.read(answer(got, RIGHT), case())
    gains = {}
    for first, *_ in errors(before):
        gains[first.code] = gains.get(first.code, 0) + first.gain
    copies = {"Wild Part", "wild part"} if "copy" in codes else set()
    kept = {
        "HALLUC": [one for one in got if one not in ("A dog", "A cat")]
        if copies
        else ["To be free from pan", "Wild Part"],
        "TWICE": ["To be free from pan", "Wild Part", "A dog", "A cat"],
        "OCR": ["To be free from pain", *got[1:]],
        "MISS": [*got, LEFT[1]],
    }
    for code, gain in gains.items():
        after = strict.read(answer(kept[code], RIGHT), case())
        assert before.value + gain == pytest.approx(after.value), code


def test_the_box_of_the_answer_is_drawn_before_that_of_the_truth():
    truth = case({"boxes": [{"label": "a", "parts": [{"text": "One", "at": [0, 0, 0.5, 0.5]}]}]})
    shown = scorer().read({"boxes": [{"label": "b", "parts": [{"text": "One", "at": [0.1, 0.1, 0.4, 0.4]}]}]}, truth)
    assert [mark.box for mark in shown.marks] == [(0.1, 0.1, 0.4, 0.4)]


def test_another_truth_under_the_same_id_is_read_again():
    made = scorer()
    assert made.read(answer(LEFT, RIGHT), case()).value == 1
    assert made.read(answer(LEFT, RIGHT), case({"boxes": [{"label": "a", "parts": ["Other"]}]})).value == 0


def test_without_groups_in_the_truth_nothing_is_grouped():
    made = MatchItems.model_validate({"expected": {"items": "expected.boxes[].parts[]"}, "shapes": SHAPES})
    reading = made.read(answer(LEFT + RIGHT), case())
    assert (reading.value, reading.counts["groupable"], reading.counts["pairs"]) == (1, 0, 0)


def test_the_truth_may_be_grouped_by_its_boxes():
    at = {"One": [0, 0, 0.2, 0.1], "Two": [0.3, 0, 0.5, 0.1], "Three": [0, 0.8, 0.2, 0.9]}
    truth = case({"parts": [{"text": text, "at": box} for text, box in at.items()]})
    made = scorer(expected={"items": "expected.parts[]", "text": "text", "box": "at", "regions": "rows"})
    assert made.check(truth) is None
    assert made.read(answer(["One", "Two"], ["Three"]), truth).value == 1
    assert made.read(answer(["One"], ["Two", "Three"]), truth).value < 1


def test_named_and_unnamed_groups_together_are_mapped():
    got = {"boxes": [{"label": "right", "parts": LEFT}, {"parts": RIGHT}]}
    assert scorer().read(got, case()).value == 1


def test_by_label_a_named_group_counts_beside_one_without_a_name():
    got = {"boxes": [{"label": "left", "parts": LEFT}, {"parts": RIGHT}]}
    assert scorer(grouping="label").read(got, case()).counts["grouped"] == len(LEFT)


def test_a_group_without_its_list_is_left_out_and_reported():
    got = {"boxes": [*answer(LEFT, RIGHT)["boxes"], {"label": "C", "part": ["x"]}]}
    assert scorer().read(got, case()).note.endswith("1 without a text left out")


@pytest.mark.parametrize(
    ("truth", "message"),
    [
        ({"boxes": [{"label": "a", "parts": ["x"]}, {"label": "b", "prats": ["y"]}]}, 'there is no list "parts" in'),
        ({"boxes": [{"label": "a", "parts": ["x"]}, {"label": " ", "parts": ["y"]}]}, "has nothing at label"),
        ({"boxes": [{"label": True, "parts": ["x"]}]}, "has nothing at label"),
        ({"boxes": [{"label": "a", "parts": [{"text": "x", "at": [0, 0, 1]}]}]}, "[0, 0, 1] is no box"),
    ],
)
def test_nothing_of_a_truth_is_lost_in_silence(truth, message):
    assert message in scorer().check(case(truth))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"codes": CODES | {"extra": ""}}, "cannot be the code"),
        ({"codes": CODES | {"extra": "FORMAT"}}, "cannot be the code"),
        ({"shapes": []}, "give at least one shape"),
        ({"expected": {"items": "expected.boxes[].parts[]"}, "grouping": "label"}, "has nothing to compare"),
    ],
)
def test_parameters_without_sense_are_refused(parameters, message):
    with pytest.raises(ValidationError, match=message):
        scorer(**parameters)


def test_a_code_that_no_scorer_gives_is_a_mistake(tmp_path):
    text = SUITE.replace("extra: HALLUC", "extra: HALUC") + "criteria: {{all: {{pass: findings.HALLUC == 0}}}}\n"
    with pytest.raises(SuiteError) as raised:
        load_written(tmp_path, text.format(findings="  HALLUC: {about: x}"), [{"id": "one", "expected": TRUTH}])
    told = [str(mistake) for mistake in raised.value.problems]
    assert any("findings.HALLUC: no scorer of this suite gives this code: did you mean HALUC?" in one for one in told)
    assert any("there is no finding code 'HALLUC': did you mean HALUC?" in one for one in told)
