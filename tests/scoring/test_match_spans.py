"""The scorer of spans: its value, findings with what fixing them gains, counts, claims and checks."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

import steelyard.spans
from parts.lengths import examples
from parts.looped import for_every
from steelyard.auditing.audit import AS_WRITTEN, STRICT, audit
from steelyard.loading.load import load_suite
from steelyard.records import Claim
from steelyard.scoring.spans.match import MatchSpans
from steelyard.scoring.spans.read import TextSpan
from steelyard.suite.case import Case

TEXT = "🦊 A red fox runs through deep snow.\n## Notes\nslow pan, slow motion"
ROLES = {"red fox": "who.kind", "runs": "does.move", "deep snow": "where.ground", "slow pan": "how.camera"}
SECTIONS = {"notes": r"(?m)^## Notes"}
CATEGORIES = ["who", "does", "where", "how"]
CODES = {
    "missed": "MISSED",
    "extra": "FALSE_POSITIVE",
    "wrong_role": "WRONG_ROLE",
    "too_fine": "TOO_FINE",
    "too_coarse": "TOO_COARSE",
    "duplicate": "DUPLICATE",
    "misplaced": "MISPLACED",
}


def units(text):
    """Its length in UTF-16 units."""
    return len(text.encode("utf-16-le")) // 2


def span(text, role=None, confidence=None):
    start = units(TEXT[: TEXT.index(text)])
    found = {"text": text, "start": start, "end": start + units(text), "role": role or ROLES[text]}
    return found if confidence is None else found | {"confidence": confidence}


GOLD = [span(text) for text in ROLES]


def case(gold=None, text=TEXT):
    return Case("one", input={"text": text}, expected={"spans": GOLD if gold is None else gold})


def scorer(**more):
    given = {"text": "input.text", "expected": {"spans": "expected.spans[]"}, "offsets": "utf16"}
    return MatchSpans.model_validate(
        given | {"categories": CATEGORIES, "sections": SECTIONS, "codes": CODES, "iou": 0.5} | more
    )


def read(*spans, gold=None, **more):
    return scorer(**more).read({"spans": list(spans)}, case(gold))


def message(reading):
    return [(one.code, one.place, one.expected, one.got, one.section) for one in reading.findings]


def test_the_gold_spans_are_worth_everything_in_any_order():
    reading = read(*reversed(GOLD))
    assert (reading.value, reading.findings, reading.misshapen) == (1.0, (), "")
    assert reading.note == "4 of 4 right, 4 answered"


def test_every_kind_of_error_is_a_finding_with_its_place():
    reading = read(
        span("red", "who.kind"),  # a piece of "red fox" below the threshold
        span("runs", "who.kind"),
        span("deep snow.", "where.ground"),
        span("through", "does.move"),
        span("runs", "who.kind"),
    )
    assert message(reading) == [
        ("WRONG_ROLE", "spans[1]", "does.move", "who.kind", "main"),
        ("TOO_COARSE", "spans[2]", "deep snow", "deep snow.", "main"),
        ("DUPLICATE", "spans[4]", None, "runs", "main"),
        ("TOO_FINE", "spans[0]", "red fox", "red", "main"),
        ("FALSE_POSITIVE", "spans[3]", None, "through", "main"),
        ("MISSED", "expected.spans[3]", "slow pan", None, "notes"),
    ]
    evidence = [finding.evidence for finding in reading.findings]
    assert evidence == [
        "'runs'",
        "where.ground: more than expected.spans[2]",
        "who.kind: expected.spans[1] has a span already",
        "who.kind: only a piece of expected.spans[0]",
        "does.move: not in the truth",
        "how.camera: not in the answer",
    ]
    # In code points: the fox takes one, so "runs" begins at 12 and not at 13.
    assert reading.findings[0].span == (12, 16)
    assert reading.findings[-1].span == (TEXT.index("slow pan"), TEXT.index("slow pan") + 8)
    assert reading.value == 0.0


def test_the_value_is_the_f1_of_the_chosen_scheme():
    spans = [span("red fox"), span("runs", "who.kind"), span("deep snow.", "where.ground"), span("through", "does.x")]
    # Of 4 gold and 4 answered: strict 1, exact 2, type 2, partial 2 and a half one.
    values = {scheme: read(*spans, value=scheme).value for scheme in ("strict", "exact", "partial", "type")}
    assert values == {"strict": 0.25, "exact": 0.5, "partial": 0.625, "type": 0.5}
    assert read(*spans, value="partial", strict=True).value == 0.25


def test_gains_are_worked_out_by_hand():
    reading = read(span("red fox"), span("runs", "who.kind"), span("deep snow.", "where.ground"), span("through", "x"))
    gains = {finding.code: finding.gain for finding in reading.findings}
    # F1 is 2 of 8. With the role or the boundaries right: 4 of 8. Without the extra: 2 of 7. With the missed: 4 of 9.
    assert gains == pytest.approx(
        {
            "WRONG_ROLE": 4 / 8 - 2 / 8,
            "TOO_COARSE": 4 / 8 - 2 / 8,
            "FALSE_POSITIVE": 2 / 7 - 2 / 8,
            "MISSED": 4 / 9 - 2 / 8,
        }
    )


def test_fixing_the_role_of_a_span_with_wrong_boundaries_gains_nothing_yet():
    (finding,) = read(*GOLD[1:], span("red fo", "does.move")).findings
    assert (finding.code, finding.gain) == ("WRONG_ROLE", 0.0)
    assert finding.evidence == "'red fo', for 'red fox'"
    (finding,) = read(*GOLD[1:], span("red fo", "does.move"), value="type").findings
    assert (finding.code, finding.gain) == ("WRONG_ROLE", 0.25)


LONG = "abcdefghijklmnopqrstuvwxyz"
drawn = st.lists(
    st.tuples(st.integers(0, 16), st.integers(1, 9), st.sampled_from(["a.x", "a.y", "b"])), min_size=1, max_size=5
).map(lambda found: [TextSpan(LONG[at : at + n], at, at + n, role) for at, n, role in found])


def as_data(spans):
    return [{"text": one.text, "start": one.start, "end": one.end, "role": one.role} for one in spans]


def if_fixed(answer, error, true, role_only):
    """The answer's spans with one error fixed."""
    rest = [one for at, one in enumerate(answer) if error is None or at != error]
    if true is None:
        return rest
    if role_only:
        said = answer[error]
        return [*rest, TextSpan(said.text, said.start, said.end, true.role)]
    return [*rest, true]


@settings(max_examples=examples(60))
@given(drawn, drawn, st.sampled_from(["strict", "exact", "partial", "type"]), st.sampled_from([0, 0.3, 0.5]))
def test_a_gain_is_what_fixing_the_answer_really_brings(gold, answer, scheme, iou):
    weigher = MatchSpans(text="input.text", expected={"spans": "expected.spans[]"}, value=scheme, iou=iou)
    one = Case("one", input={"text": LONG}, expected={"spans": as_data(gold)})

    def value(spans):
        return weigher.read({"spans": as_data(spans)}, one).value

    before = weigher.read({"spans": as_data(answer)}, one)
    for finding in before.findings:
        code, gain = finding.code, finding.gain
        at = None if code == "MISSED" else int(finding.place.removeprefix("spans[").removesuffix("]"))
        after = [value(if_fixed(answer, at, true, code == "WRONG_ROLE")) for true in candidates(code, finding, gold)]
        assert any(gain == pytest.approx(one_value - before.value) for one_value in after), (code, gain, after)


def candidates(code, finding, gold):
    """What the span of a finding may be replaced by: its gold span, or nothing."""
    if code in ("EXTRA", "DUPLICATE"):
        return [None]
    if code == "MISSED":
        return [gold[int(finding.place.removeprefix("expected.spans[").removesuffix("]"))]]
    if code == "WRONG_ROLE":
        return [true for true in gold if true.role == finding.expected]
    return [*(true for true in gold if true.text in finding.expected.split(" | ")), None]


@given(drawn, drawn, st.randoms(use_true_random=False))
def test_the_order_of_spans_and_of_gold_changes_no_count(gold, answer, random):
    def counts():
        one = Case("one", input={"text": LONG}, expected={"spans": as_data(gold)})
        weigher = MatchSpans(
            text="input.text", expected={"spans": "expected.spans[]"}, categories=["a", "b"], sections={"late": "m"}
        )
        return weigher.read({"spans": as_data(answer)}, one).counts

    before = counts()
    random.shuffle(gold)
    random.shuffle(answer)
    assert counts() == before


def test_measures_are_ratios_of_sums():
    weigher = scorer()
    first = read(span("red fox"), span("runs", "who.kind"), span("through", "far.out")).counts
    second = read(*GOLD).counts
    total = {name: first.get(name, 0) + second.get(name, 0) for name in {*first, *second}}
    ratios = {name: (total[one.numerator], total[one.denominator]) for name, one in weigher.measures.items()}
    # First: 3 answered, 4 gold, 1 strictly right, 2 with the right boundaries. Second: 4, 4, 4, 4.
    assert ratios["strict_precision"] == (5, 7)
    assert ratios["strict_recall"] == (5, 8)
    assert ratios["strict_f1"] == (10, 15)
    assert ratios["exact_f1"] == (12, 15)
    assert ratios["partial_precision"] == (12, 14)
    assert ratios["type_recall"] == (5, 8)
    assert ratios["misplaced"] == (0, 7)
    assert ratios["outside"] == (1, 7)
    # Of "who": answered 2 and 1, gold 1 and 1, right 1 and 1; of "does": 0 and 1, 1 and 1, 0 and 1.
    assert (ratios["who_precision"], ratios["who_recall"], ratios["who_f1"]) == ((2, 3), (2, 2), (4, 5))
    assert (ratios["does_precision"], ratios["does_recall"]) == ((1, 1), (1, 2))
    # "runs" and "through" are wrong, both in main, of 3 and 3 answered there; "deep snow" and "slow pan" are missed.
    assert (ratios["main_wrong"], ratios["main_missed"]) == ((2, 6), (1, 6))
    assert (ratios["notes_wrong"], ratios["notes_missed"]) == ((0, 1), (1, 2))
    assert total["wrong_role"] == total["extra"] == 1
    assert total["missed"] == 2


def test_a_malformed_answer_counts_all_that_it_should_have_held():
    weigher = scorer()
    counts = weigher.nothing(case())
    assert (counts["gold"], counts["answered"], counts["missed"], counts["spans"]) == (4, 0, 4, 4)
    assert (counts["who_gold"], counts["in_notes_missed"]) == (1, 1)
    reading = weigher.read({"elements": []}, case())
    assert reading.counts == counts
    assert reading.misshapen == "it has no list of spans at spans[]; the answer has the keys: elements"
    reading = scorer(most=2).read({"spans": GOLD}, case())
    assert reading.misshapen == "it holds 4 spans, more than the 2 that are read"


def test_an_empty_list_is_no_malformed_answer_and_earns_nothing():
    reading = read()
    assert (reading.value, reading.misshapen, len(reading.findings)) == (0.0, "", 4)


def test_a_misplaced_span_counts_where_its_text_is_and_is_reported():
    # Offsets in code points where UTF-16 was asked for: one too low.
    moved = {"text": "red fox", "start": 4, "end": 11, "role": "who.kind", "confidence": 1}
    reading = read(moved, *GOLD[1:])
    assert reading.value == 1.0
    (finding,) = reading.findings
    assert (finding.code, finding.gain, finding.place, finding.got) == ("MISPLACED", 0.0, "spans[0]", "red fox")
    assert finding.evidence == "offsets 4 to 11 give ' red fo', not 'red fox'"
    assert reading.note == "4 of 4 right, 4 answered; 1 with wrong offsets put where their text is"
    assert (reading.counts["misplaced"], reading.counts["lost"]) == (1, 0)
    assert reading.claims == (Claim(1.0, True, "who"),)
    silent = read(moved, *GOLD[1:], codes={})
    assert (silent.value, silent.findings, silent.counts["misplaced"]) == (1.0, (), 1)


def test_a_span_without_a_place_is_answered_and_wrong():
    lost = {"text": "slow", "start": 0, "end": 4, "role": "how.camera", "confidence": 0.9}
    reading = read(*GOLD, lost)
    assert reading.value == pytest.approx(8 / 9)
    (finding,) = reading.findings
    assert (finding.code, finding.gain) == ("MISPLACED", pytest.approx(1 / 9))
    assert (finding.place, finding.span, finding.section) == ("spans[4]", None, "")
    assert finding.evidence == "how.camera: offsets 0 to 4 give '🦊 A', not 'slow'; 'slow' is in the text 2 times"
    assert reading.claims == (Claim(0.9, False, "how"),)
    (finding,) = read(*GOLD, lost, codes={}).findings
    assert finding.code == "EXTRA"
    (finding,) = read(*GOLD, {"text": "a whale", "role": "who.kind"}).findings
    assert (finding.code, finding.evidence) == ("FALSE_POSITIVE", "who.kind: 'a whale' is not in the text")


def test_every_span_with_a_confidence_is_a_certainty():
    reading = read(
        span("red fox", confidence=0.9),
        span("runs", "who.kind", 0.8),
        span("deep snow.", "where.ground", 0.7),
        span("through", "does.move", 0.6),
        span("red fox", confidence=0.2),
        span("slow pan"),
    )
    assert reading.claims == (
        Claim(0.9, True, "who"),
        Claim(0.8, False, "who"),
        Claim(0.7, False, "where"),
        Claim(0.6, False, "does"),
        Claim(0.2, False, "who"),
    )


def test_of_two_equal_spans_the_surer_one_is_the_right_one():
    reading = read(span("red fox", confidence=0.2), span("red fox", confidence=0.9))
    assert [(one.confidence, one.right) for one in reading.claims] == [(0.2, False), (0.9, True)]


def test_a_role_outside_of_the_categories_is_reported():
    reading = read(span("red fox", "animal.fox"), span("runs", "zoo"))
    assert reading.note == "0 of 4 right, 2 answered; roles of no category: 'animal.fox', 'zoo'"
    assert reading.counts["outside"] == 2
    assert not any(name.startswith(("animal", "zoo")) for name in reading.counts)


def test_places_begin_at_the_answers_top():
    weigher = scorer().at("result")
    (finding, *_) = weigher.read({"result": {"spans": [span("through", "x")]}}, case()).findings
    assert finding.place == "result.spans[0]"
    assert weigher.truth_at(case()).keys() == {"result"}


def test_the_truth_is_written_in_the_answers_units():
    weigher = scorer(shape={"spans": "found[]", "offsets": "bytes", "confidence": None})
    truth = weigher.truth(case())
    # The fox takes 4 bytes: it, a space, "A", a space.
    assert truth["found"][0] == {"text": "red fox", "start": 7, "end": 14, "role": "who.kind"}
    assert weigher.read(truth, case()).value == 1.0


@pytest.mark.parametrize(
    ("gold", "complaint"),
    [
        ([span("red fox") | {"start": 4}], "expected.spans[0]: offsets 4 to 12 give ' red fox', not 'red fox'"),
        ([span("runs"), {"text": "slow", "role": "how.x"}], "expected.spans[1]: 'slow' is in the text 2 times"),
        ([{"text": "runs"}], "expected.spans[0]: it has no role"),
        (
            [span("runs", "moves.fast")],
            "expected.spans[0]: its role 'moves.fast' is in none of the categories who, does, where, how",
        ),
        (
            [span("deep snow"), span("runs"), span("snow", "where.ground")],
            "expected.spans[0] and expected.spans[2] overlap and have one role, 'where.ground': keep one",
        ),
        ([span("runs"), span("runs")], "expected.spans[0] and expected.spans[1] overlap and have one role"),
    ],
)
def test_a_mistake_in_the_gold_spans_is_reported(gold, complaint):
    assert scorer().check(case(gold)).startswith(complaint)


def test_gold_spans_of_two_roles_may_overlap_and_a_text_must_be_there():
    assert scorer().check(case([span("deep snow"), span("snow", "what.else")])) is not None
    assert scorer(categories=[]).check(case([span("deep snow"), span("snow", "what.else")])) is None
    assert scorer().check(case()) is None
    assert scorer().check(case(text=None)) == "input.text holds no text that the spans could be in"


def test_a_case_without_gold_spans_is_unknown():
    for expected in (None, {}, {"spans": None}):
        unlabelled = Case("one", input={"text": TEXT}, expected=expected)
        assert scorer().read({"spans": GOLD}, unlabelled).value is None
        assert scorer().truth(unlabelled) is None
        assert not scorer().asks_nothing(unlabelled)


def test_gold_of_no_spans_is_a_truth_that_an_empty_answer_meets_and_no_other():
    empty, some = read(gold=[]), read(*GOLD[:2], gold=[])
    assert (empty.value, empty.findings, empty.counts["spans"]) == (1.0, (), 0)
    assert (some.value, some.findings[0].code, len(some.findings)) == (0.0, "FALSE_POSITIVE", 2)
    assert scorer().truth(case([])) == {"spans": []}
    assert scorer().asks_nothing(case([]))
    assert not scorer().asks_nothing(case())
    # What lies over all of the text is no empty answer there, either.
    assert [scorer().read(answer, case([])).value for answer in scorer().blankets(case([])).values()] == [0.0, 0.0]


def test_an_overlap_can_be_more_than_its_limit():
    # "red fox" and "red fox runs through" share 7 of 20 characters; "red fox" and "A red fox runs" 7 of 14.
    half = span("red fox") | {"text": "A red fox runs", "start": 3, "end": 17}
    assert read(half, iou=0.5).counts["type"] == read(half, iou=" > 49 %").counts["type"] == 1
    assert read(half, iou="> 0.5").counts["type"] == read(half, iou="> 50 %").counts["type"] == 0
    assert read(half, iou="> 0.5").findings[0].code == "TOO_COARSE"
    assert scorer(iou="> 50 %").model_dump()["iou"] == "> 0.5" == scorer(iou="> 0.5").model_dump(mode="json")["iou"]
    assert scorer(iou=1 / 3).model_dump()["iou"] == 1 / 3
    with pytest.raises(ValidationError, match="above 1"):
        scorer(iou="> 50")


def test_every_wrong_gold_span_of_a_case_is_sent_at_once():
    wrong = [
        span("red fox") | {"start": 4},
        span("runs"),
        {"text": "slow", "role": "how.x"},
        span("deep snow", "zoo.x"),
    ]
    told = scorer().check(case(wrong)).split("; ")
    assert [each.partition(":")[0] for each in told] == [f"expected.spans[{at}]" for at in (0, 2, 3)]


@for_every(
    ("given", "message"),
    [
        ({"categories": ["strict"]}, "a category cannot be called 'strict'"),
        ({"categories": ["a", "a"]}, "named twice"),
        ({"roles": ["which.kind"]}, "'which.kind' is in none of the categories who, does, where, how"),
        (
            {"roles": ["who.kind", "who-kind"], "categories": []},
            "the measure who_kind_f1 of 'who.kind' is there already",
        ),
        ({"sections": {"main": "x"}}, "a section cannot be called 'main'"),
        ({"sections": {"a": "("}}, "is not a regular expression"),
        ({"sections": {"a": "x*"}}, "found in an empty text"),
        ({"sections": {"a": []}}, "give it a pattern"),
        ({"iou": 1.5}, "above 1"),
        ({"offsets": "characters"}, "code_points"),
        ({"codes": {"missed": "FORMAT"}}, "cannot be the code"),
    ],
)
def test_parameters_that_cannot_be_are_reported(given, message):
    with pytest.raises(ValidationError, match=message):
        scorer(**given)


def test_a_category_may_end_at_another_sign_and_shares_may_be_percentages():
    weigher = scorer(categories={"names": ["who"], "up_to": "/"}, iou="50 %", sections={})
    assert weigher.categories.of("who/kind") == "who"
    assert weigher.iou == 0.5
    assert "who_f1" in weigher.measures
    assert not any(name.endswith("_missed") for name in weigher.measures)


def test_the_f1_of_a_role_is_a_measure():
    measured = scorer(roles=["who.kind", "who.age", "does.move"])
    answer = {"spans": [span("red fox"), span("runs", "does.stand"), span("slow pan", "who.kind")]}
    counts, measures = measured.read(answer, case()).counts, measured.measures
    found = {
        name: (counts.get(measures[name].numerator), counts.get(measures[name].denominator))
        for name in ("who_kind_f1", "who_age_f1", "does_move_f1")
    }
    # who.kind: 1 right of 2 answered and 1 gold, 2 * 1 / 3; does.move: 1 gold; nobody has who.age.
    assert found == {"who_kind_f1": (2, 3), "who_age_f1": (None, None), "does_move_f1": (0, 1)}
    assert "who_kind_f1" not in scorer().measures


def test_two_scorers_have_the_measures_of_their_own_categories():
    assert "who_f1" in scorer().measures
    assert "who_f1" not in scorer(categories=[]).measures
    assert "x_f1" in scorer().model_copy(update={"categories": type(scorer().categories)(names=("x",))}).measures


def test_covering_everything_earns_next_to_nothing():
    words = [word for word in TEXT.split() if TEXT.count(word) == 1]
    everywhere = [span(word, role) for word in words for role in ROLES.values()]
    # 12 words in 4 roles; only "runs" is a gold span: 2 of 48 + 4.
    assert len(everywhere) == 48
    assert read(*everywhere).value == pytest.approx(2 / 52)
    whole = {"text": TEXT, "start": 0, "end": units(TEXT), "role": "who.kind"}
    assert read(whole).value == 0.0
    assert read(*[whole | {"role": role} for role in ROLES.values()], value="type").value == 0.0


SUITE = """
suite: foxes
cases: cases.json
target: {python: "labeller:label"}
answer:
  schema: {type: object, required: [spans], properties: {spans: {type: array, items: {type: object}}}}
score:
  spans:
    match_spans:
      text: input.text
      expected: {spans: "expected.spans[]"}
      categories: [who, does]
pass: score >= 75 %
gates: ["score.spans.strict_f1 >= 50 %", "score.spans.who_recall >= 40 %", "findings.MISSED <= 3"]
"""


def test_a_suite_of_spans_is_audited(tmp_path):
    cases = []
    verbs = {"fox": "ran", "cat": "sat", "dog": "dug", "owl": "hid", "eel": "fed"}
    for at, (name, verb) in enumerate(verbs.items()):
        text = f"{'😀' * at}the {name} {verb} and the moon rose over the quiet hills"
        start = text.index(name)
        gold = [
            {"text": name, "start": start, "end": start + 3, "role": "who.kind"},
            {"text": verb, "start": start + 4, "end": start + 7, "role": "does.move"},
        ]
        cases.append({"id": name, "input": {"text": text}, "expected": {"spans": gold}})
    (tmp_path / "cases.json").write_text(json.dumps(cases))
    (tmp_path / "suite.yaml").write_text(SUITE)
    result = audit(load_suite(tmp_path / "suite.yaml"))
    assert result.complaints == []
    probes = {(probe.probe, probe.rule): probe for probe in result.probes}
    assert probes["truth", AS_WRITTEN].average == 1.0
    assert probes["none", AS_WRITTEN].highest == 0.0
    # Ten different spans are listed, of which two are there: 4 of 10 + 2.
    assert probes["everything", STRICT].average == pytest.approx(4 / 12)
    assert probes["whole text", AS_WRITTEN].highest == 0.0
    # 11 words in 2 roles, two of them right: 4 of 22 + 2.
    assert probes["every word", AS_WRITTEN].average == pytest.approx(4 / 24)


def test_the_public_module_names_all_that_it_has():
    assert all(hasattr(steelyard.spans, name) for name in steelyard.spans.__all__)
    assert len(set(steelyard.spans.__all__)) == len(steelyard.spans.__all__)
