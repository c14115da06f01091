"""The scorer of unordered items: what is right, and exactly one code for every error."""

import json
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parts.items import CODES, LEFT, RIGHT, SHAPES, SUITE, TRUTH, answer, case, codes, errors, scorer, told
from parts.lengths import examples
from parts.small_suite import load_written
from steelyard.errors import SuiteError
from steelyard.records import Outcome
from steelyard.scoring.evaluate import Evaluator
from steelyard.suite.case import Attachment


def test_a_perfect_answer_earns_everything_whatever_it_calls_the_groups():
    reading = scorer().read(answer(RIGHT, LEFT), case())
    assert reading.value == 1
    assert reading.findings == ()
    assert reading.note == "5 of 5 right; groups taken as A = right, B = left"


def test_every_kind_of_error_has_its_code():
    got = answer(["To be free from pan", "To have my financial", "wild part!", "A dog"], ["To keep my sense of humor"])
    reading = scorer().read(got, case())
    # Of 5 items 2 are right (Wild Part after folding, humor); pain is misread, the affairs are cut off, home is missed.
    assert reading.value == pytest.approx(2 / 5)
    assert codes(reading) == {
        ("To be free from pain", "To be free from pan"): {"OCR": 0.2},
        ("To have my financial affairs in order", "To have my financial"): {"PARTIAL": 0.2, "OCR": 0.2},
        ("To sleep at home", None): {"MISS": 0.2},
        (None, "A dog"): {"HALLUC": 0.0},
    }
    assert reading.counts == {
        "visible": 5, "reported": 5, "matched": 4, "read": 2, "correct": 2, "extra": 1,
        "groupable": 4, "grouped": 4, "pairs": 6, "pairs_agreed": 6,
    }  # fmt: skip


def test_an_item_that_is_misread_and_misplaced_gains_nothing_from_fixing_one_of_both():
    reading = scorer().read(answer([*LEFT, "To sleep at hame"], ["To keep my sense of humor"]), case())
    assert codes(reading) == {("To sleep at home", "To sleep at hame"): {"OCR": 0.0, "SPATIAL": 0.0}}


def test_a_right_text_in_the_wrong_group_is_a_wrong_group():
    reading = scorer().read(answer([*LEFT, "To sleep at home"], ["To keep my sense of humor"]), case())
    assert codes(reading) == {("To sleep at home", "To sleep at home"): {"SPATIAL": 0.2}}
    assert reading.findings[0].evidence == "in A (taken for left), belongs to right"
    assert (reading.counts["read"], reading.counts["correct"]) == (5, 4)


def test_a_wrong_group_is_not_about_how_its_text_is_written():
    reading = scorer().read(answer([*LEFT, "TO SLEEP AT HOME!"], ["To keep my sense of humor"]), case())
    assert codes(reading) == {("To sleep at home", "To sleep at home"): {"SPATIAL": 0.2}}


def test_one_group_for_each_item_does_not_score_well():
    reading = scorer().read(answer(*[[text] for text in LEFT + RIGHT]), case())
    # Two true groups, so one item of each can be right.
    assert reading.counts["grouped"] == 2
    assert reading.value == pytest.approx(2 / 5)
    # Of 10 pairs the 6 across the true groups are rightly apart: (3 choose 2) + (2 choose 2) = 4 are not.
    assert (reading.counts["pairs"], reading.counts["pairs_agreed"]) == (10, 6)


def test_labels_that_are_shared_are_compared_by_label():
    swapped = {"boxes": [{"label": "Left", "parts": RIGHT}, {"label": "RIGHT", "parts": LEFT}]}
    reading = scorer().read(swapped, case())
    assert reading.value == 0
    assert reading.note.endswith("groups compared by label")
    assert scorer(grouping="mapping").read(swapped, case()).value == 1


def test_items_without_any_group_are_not_in_the_right_one():
    reading = scorer().read({"parts": [{"text": text} for text in LEFT + RIGHT]}, case())
    assert reading.value == 0
    assert reading.counts["read"] == 5
    assert {one.code for one in reading.findings} == {"SPATIAL"}
    assert reading.note == "0 of 5 right; no groups given"


def test_boxes_of_named_edges_become_groups_and_one_that_cannot_be_read_is_named_and_counted():
    def part(text, at, row):
        return {"text": text, "at": {"x_min": at / 5, "y_min": row, "x_max": at / 5 + 0.15, "y_max": row + 0.1}}

    parts = [part(text, at, 0.1) for at, text in enumerate(LEFT)] + [
        part(text, at, 0.7) for at, text in enumerate(RIGHT)
    ]
    reading = scorer().read({"parts": parts}, case())
    assert (reading.value, reading.counts["boxes"], reading.counts["boxes_unread"]) == (1, 5, 0)
    parts[4]["at"] = {"from": 0.2, "to": 0.4}
    reading = scorer().read({"parts": parts}, case())
    assert (reading.counts["grouped"], reading.counts["boxes"], reading.counts["boxes_unread"]) == (4, 5, 1)
    assert [fits[0].evidence for fits in errors(reading)] == [
        'its box cannot be read: {"from": 0.2, "to": 0.4}; belongs to right'
    ]
    assert reading.note.endswith('1 of 5 boxes cannot be read, such as {"from": 0.2, "to": 0.4}')
    # None can be read: nothing is compared by label.
    for one in parts:
        one["at"] = "somewhere"
    reading = scorer(grouping="label").read({"parts": parts}, case())
    assert reading.note == '0 of 5 right; no groups given; 5 of 5 boxes cannot be read, such as "somewhere"'


def test_boxes_without_groups_become_groups():
    rows = [{"text": text, "at": [at / 5, 0.1, at / 5 + 0.15, 0.2]} for at, text in enumerate(LEFT)]
    rows += [{"text": text, "at": [at / 5, 0.7, at / 5 + 0.15, 0.8]} for at, text in enumerate(RIGHT)]
    reading = scorer().read({"parts": rows}, case())
    assert reading.value == 1
    assert [mark.text for mark in reading.marks] == LEFT + RIGHT
    assert reading.marks[0].box == pytest.approx((0, 0.1, 0.15, 0.2))


def test_boxes_in_pixels_are_measured_by_the_picture():
    photo = Attachment("a.jpg", "image/jpeg", "0" * 16, size=(2000, 1000))
    parts = [{"text": text, "row": 1, "at": [200, 100, 1900, 300]} for text in LEFT]
    reading = scorer().read({"parts": parts}, case(attachments=(photo,)))
    assert reading.marks[0].box == pytest.approx((0.1, 0.1, 0.95, 0.3))


def test_a_missed_item_is_outlined_where_the_truth_has_it():
    truth = {"boxes": [{"label": "left", "parts": [{"text": "One", "at": [0, 0, 0.5, 0.5]}, {"text": "Two"}]}]}
    reading = scorer().read(answer(["Two"]), case(truth))
    assert [(one.expected, one.box) for one in reading.findings] == [("One", (0, 0, 0.5, 0.5))]


def test_a_second_copy_is_an_extra_or_an_error_of_its_own():
    got = answer([*LEFT, "Wild Part"], RIGHT)
    assert codes(scorer().read(got, case())) == {(None, "Wild Part"): {"HALLUC": 0.0}}
    own = scorer(codes=CODES | {"copy": "TWICE"}).read(got, case())
    assert codes(own) == {(None, "Wild Part"): {"TWICE": 0.0}}
    assert own.findings[0].evidence == "a second copy of 'Wild Part'"


@pytest.mark.parametrize("first", ["A", "B"])
def test_of_two_copies_the_one_in_the_right_group_counts(first):
    groups = {"A": [*LEFT], "B": [*RIGHT, "Wild Part"]}
    order = sorted(groups, reverse=first == "B")
    got = {"boxes": [{"label": label, "parts": groups[label]} for label in order]}
    reading = scorer().read(got, case())
    assert reading.value == 1
    assert [(one.got, one.place) for one in reading.findings] == [("Wild Part", "B")]


def test_extras_cost_only_under_the_strict_rule():
    got = answer([*LEFT, "A dog", "A cat"], RIGHT)
    assert scorer().read(got, case()).value == 1
    strict = scorer(strict=True).read(got, case())
    # 5 right of 5 that are there and 2 that are not; fixing both extras gives the other 2/7 back.
    assert strict.value == pytest.approx(5 / 7)
    assert [one.gain for one in strict.findings] == pytest.approx([1 / 7, 1 / 7])


def test_items_without_a_text_are_left_out_and_reported():
    reading = scorer().read(answer([*LEFT, "", " "], RIGHT), case())
    assert reading.value == 1
    assert reading.note.endswith("2 without a text left out")


@pytest.mark.parametrize("got", [{"boxes": []}, {"parts": []}])
def test_an_answer_without_items_misses_all(got):
    reading = scorer().read(got, case())
    assert reading.value == 0
    assert [one.code for one in reading.findings] == ["MISS"] * 5
    assert reading.counts == scorer().nothing(case())


@pytest.mark.parametrize("got", [None, {}, [], "text", {"other": 1}, 7, {"boxes": [{"label": "a", "things": ["x"]}]}])
def test_an_answer_in_no_shape_earns_nothing_and_says_so(got):
    reading = scorer().read(got, case())
    assert (reading.value, reading.findings) == (0, ())
    assert reading.misshapen.startswith("it has none of the shapes that hold items (boxes[].parts[] or parts[]); ")
    assert reading.counts == scorer().nothing(case())


def test_an_answer_in_no_shape_is_malformed_and_its_keys_are_reported(tmp_path):
    weighed = evaluator(tmp_path, ["FORMAT"]).evaluate('{"box": [], "notes": 1}', case())
    assert weighed.outcome is Outcome.MALFORMED
    (finding,) = weighed.findings
    assert (finding.code, finding.evidence) == (
        "FORMAT",
        "it has none of the shapes that hold items (boxes[].parts[]); the answer has the keys: box, notes",
    )


def test_one_group_an_item_is_reported_in_few_words():
    truth = {"boxes": [{"label": "a", "parts": list("qwertz")}]}
    reading = scorer().read(answer(*"qwertz"), case(truth))
    assert reading.note == "1 of 6 right; 6 groups for 1 true ones: A = a, the other 5 = none"


def test_a_near_text_counts_as_right_only_when_the_suite_says_so():
    got = answer(["To be free from pan", *LEFT[1:]], RIGHT)
    assert scorer().read(got, case()).counts["read"] == 4
    assert scorer(right_from="95 %").read(got, case()).counts["read"] == 5


@settings(max_examples=examples(60))
@given(st.data())
def test_the_order_of_items_and_groups_changes_nothing(data):
    words = st.lists(
        st.sampled_from(["one", "two", "tow", "thre", "three", "two two", "É", "é", "ß", "一二"]), max_size=7
    )
    groups = data.draw(st.lists(words, min_size=1, max_size=3))
    truth = {"boxes": [{"label": "x", "parts": ["one", "two", "three"]}, {"label": "y", "parts": ["É", "two two"]}]}
    shuffled = [data.draw(st.permutations(group)) for group in groups]
    named = [{"label": str(at), "parts": group} for at, group in enumerate(shuffled)]
    mixed = data.draw(st.permutations(named))
    original = scorer().read({"boxes": [{"label": str(at), "parts": g} for at, g in enumerate(groups)]}, case(truth))
    reading = scorer().read({"boxes": list(mixed)}, case(truth))
    assert reading.value == original.value
    assert reading.counts == original.counts
    assert told(reading) == told(original)


def test_a_built_truth_earns_everything_in_every_shape():
    for shape in SHAPES:
        made = scorer(shapes=[shape])
        assert made.read(made.truth(case()), case()).value == 1


@pytest.mark.parametrize(
    ("truth", "message"),
    [
        ({"boxes": [{"label": "a", "parts": ["X y"]}, {"label": "b", "parts": ["x Y!"]}]}, "is in two groups, a and b"),
        ({"boxes": [{"label": "a", "parts": ["x", "?"]}]}, "an item without a text"),
        ({"boxes": [{"label": "a", "parts": ["x", ""]}]}, "an item without a text"),
        ({"boxes": [{"lable": "a", "parts": ["x"]}]}, "has nothing at label: give every group its name"),
    ],
)
def test_a_truth_that_cannot_be_matched_is_a_mistake(truth, message):
    assert message in scorer().check(case(truth))


def test_a_count_that_does_not_agree_is_a_mistake():
    wrong = case({"n": 6, **TRUTH})
    assert scorer(total="expected.n").check(wrong) == "expected.n says 6, but 5 items are listed"
    assert scorer(total="expected.n").check(case({"n": 5, **TRUTH})) is None


def evaluator(tmp_path, order, truth=TRUTH):
    kinds = "\n".join(f"  {code}: {{severity: {'critical' if code == 'MISS' else 'minor'}}}" for code in order)
    suite = load_written(tmp_path, SUITE.format(findings=kinds), [{"id": "one", "expected": truth}])
    return Evaluator(suite)


def test_the_order_of_the_taxonomy_decides_between_codes_that_fit(tmp_path):
    got = json.dumps(answer([*LEFT, "To sleep at"], ["To keep my sense of humor"]))
    for order in (["PARTIAL", "OCR", "SPATIAL"], ["SPATIAL", "OCR", "PARTIAL"], ["OCR", "PARTIAL", "SPATIAL"]):
        found = evaluator(tmp_path, order).evaluate(got, case()).findings
        assert [finding.code for finding in found] == [order[0]]


def test_a_finding_has_the_severity_of_its_code_and_names_its_component(tmp_path):
    found = evaluator(tmp_path, ["MISS", "OCR"]).evaluate(json.dumps(answer(LEFT)), case()).findings
    assert [(one.code, one.severity, one.component, one.gain) for one in found] == [
        ("MISS", "critical", "parts", 0.2)
    ] * 2


def test_an_unreadable_answer_is_one_error_and_keeps_its_items_in_the_count(tmp_path):
    weighed = evaluator(tmp_path, ["FORMAT"]).evaluate('{"boxes": [', case())
    assert weighed.outcome is Outcome.MALFORMED
    assert [(one.code, one.gain) for one in weighed.findings] == [("FORMAT", 1.0)]
    assert weighed.scores[0].counts["visible"] == 5
    assert sum(weighed.scores[0].counts.values()) == 5


def test_valid_json_inside_noise_is_read_and_broken_json_is_not_fixed(tmp_path):
    right = json.dumps(answer(LEFT, RIGHT), indent=1)
    noisy = f"loading model {{%- if tools %}}\n```json\n{right}\n```\nllama_perf: total = 4 ms"
    assert evaluator(tmp_path, ["FORMAT"]).evaluate(noisy, case()).score == 1
    assert evaluator(tmp_path, ["FORMAT"]).evaluate(right[:-2], case()).outcome is Outcome.MALFORMED


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("answer: {{format: json, repair: false}}", ""), "match_items reads JSON: write answer: {format: json}"),
        (
            ("expected.boxes[]", "expected.boxs[]"),
            "expected.boxs is in none of the 1 cases: did you mean expected.boxes?",
        ),
        (('shapes: [{{items: "boxes[].parts[]"', 'shapes: [{{items: "boxes.parts"'), "does not end in a list"),
        (("codes: {{missed", "codes: {{mised"), "did you mean missed"),
    ],
)
def test_a_mistake_in_the_scorer_is_reported_once(tmp_path, change, message):
    text = SUITE.replace(*change) + "criteria: {{all: {{pass: findings.MISS == 0}}}}\n"
    with pytest.raises(SuiteError) as raised:
        load_written(tmp_path, text.format(findings="  MISS: {about: x}"), [{"id": "one", "expected": TRUTH}])
    (mistake,) = raised.value.problems
    assert message in str(mistake)


def test_a_truth_with_an_item_in_two_groups_is_refused_when_the_suite_loads(tmp_path):
    twice = {"boxes": [{"label": "a", "parts": ["x", "y"]}, {"label": "b", "parts": ["Y"]}]}
    with pytest.raises(SuiteError, match="'Y' is in two groups, a and b"):
        evaluator(tmp_path, ["FORMAT"], twice)


def test_every_truth_item_and_every_answered_item_is_right_or_has_one_finding():
    chance = random.Random(3)
    texts = [f"{a} {b}" for a in ("red", "blue", "old") for b in ("house", "hat", "horse", "heart")]
    for _ in range(200):
        true, got = chance.sample(texts, 6), [chance.choice(texts)[chance.choice([0, 0, 3]) :] for _ in range(7)]
        truth = {"boxes": [{"label": "a", "parts": true[:3]}, {"label": "b", "parts": true[3:]}]}
        reading = scorer().read(answer(got[:4], got[4:]), case(truth))
        seen_true = [fits[0].expected for fits in errors(reading) if fits[0].expected is not None]
        seen_got = [fits[0].got for fits in errors(reading) if fits[0].got is not None]
        assert len(seen_true) + reading.counts["correct"] == 6
        assert len(seen_got) + reading.counts["correct"] == 7
        assert len(set(seen_true)) == len(seen_true)


# what is left of an item that was read in several parts


def leftover_reading(true, got, **settings):
    return scorer(**settings).read(answer(got), case({"boxes": [{"label": "a", "parts": true}]}))


def test_a_further_fragment_of_an_item_is_no_invention():
    reading = leftover_reading(["Wild Card", "To be mentally aware"], ["WILD", "CARD", "To be mentally aware", "aware"])
    assert codes(reading) == {
        # Two fragments of the same length: the first by text is its reading.
        ("Wild Card", "CARD"): {"PARTIAL": 0.5, "OCR": 0.5},
        (None, "WILD"): {"PARTIAL": 0.0},
        (None, "aware"): {"PARTIAL": 0.0},
    }
    assert {fits[0].got: fits[0].evidence for fits in errors(reading)}["WILD"] == "a further fragment of 'Wild Card'"
    assert (reading.counts["extra"], reading.counts["reported"], reading.counts["matched"]) == (0, 4, 2)
    assert reading.value == 0.5


def test_text_that_is_on_no_item_and_second_copies_remain_inventions():
    reading = leftover_reading(["Wild Card"], ["Wild Card", "Wild Card", "Wild Horses", "ar"])
    assert {fits[0].got: [one.code for one in fits] for fits in errors(reading)} == {
        "Wild Card": ["HALLUC"],
        "Wild Horses": ["HALLUC"],
        "ar": ["HALLUC"],  # letters from the middle of a word
    }
    assert reading.counts["extra"] == 3


def test_a_fragment_that_is_answered_more_often_than_it_is_there_is_an_invention():
    # "own" is twice in the truth; "Wild" once, and is the reading of its item.
    true = ["Wild Card", "To own my own house"]
    got = ["Wild", "Wild", "To own my own house", *["own"] * 3, "w", "to"]
    reading = leftover_reading(true, got)
    told = [(one.got, one.code, one.evidence) for fits in errors(reading) for one in fits if one.expected is None]
    assert told == [
        ("Wild", "HALLUC", "not in the truth"),
        ("own", "PARTIAL", "a further fragment of 'To own my own house'"),
        ("own", "PARTIAL", "a further fragment of 'To own my own house'"),
        ("own", "HALLUC", "a further copy of a fragment"),
        ("w", "HALLUC", "not in the truth"),  # a letter is no fragment, a word of two is
        ("to", "PARTIAL", "a further fragment of 'To own my own house'"),
    ]
    assert reading.counts["extra"] == 3


def test_further_fragments_have_a_code_of_their_own_where_the_suite_names_one():
    named = {**CODES, "leftover": "LEFTOVER"}
    reading = leftover_reading(["Wild Card"], ["Wild Card", "Card"], codes=named)
    assert codes(reading) == {(None, "Card"): {"LEFTOVER": 0.0}}
    # Strict: 1 of 1 true and 1 superfluous item.
    reading = leftover_reading(["Wild Card"], ["Wild Card", "Card"], codes=named, strict=True)
    assert reading.value == 0.5
    assert codes(reading) == {(None, "Card"): {"LEFTOVER": 0.5}}
