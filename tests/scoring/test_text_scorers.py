import pytest
from pydantic import ValidationError

from parts.looped import for_every
from steelyard.scoring.numbers import Number
from steelyard.scoring.text import Choice, Contains, Exact, Regex
from steelyard.suite.case import Case

pytestmark = pytest.mark.boundary("regex")


def case(**expected):
    return Case("c1", input={"text": "q"}, expected=expected)


def value(scorer, answer, **expected):
    return scorer.at("").read(answer, case(**expected)).value


@for_every(
    ("answer", "truth", "ignore", "expected"),
    [
        ("WILD CARD", "Wild Card", ("case", "space"), 1.0),
        ("WILD CARD", "Wild Card", ("space",), 0.0),
        ("wild  card ", "wild card", ("space",), 1.0),
        ("wild  card", "wild card", (), 0.0),
        ("wild-card!", "wild card", ("punctuation",), 1.0),
        ("wild-card", "wild card", ("case", "space"), 0.0),
        ("Cafe", "Café", ("case", "accents"), 1.0),
        ("Cafe", "Café", ("case",), 0.0),
        ("Cafe\u0301", "Café", (), 1.0),  # the same letter, composed and decomposed
        ("STRASSE", "Straße", ("case",), 1.0),
        ("42", 42, (), 1.0),
        (42, 42.0, (), 1.0),
        (True, 1, (), 0.0),
        ("true", True, (), 1.0),
        (["a", "B"], ["a", "b"], ("case",), 1.0),
        (["b", "a"], ["a", "b"], ("case",), 0.0),
        ({"x": "A"}, {"x": "a"}, ("case",), 1.0),
        ("!", "!", ("punctuation",), 1.0),
        ("?", "!", ("punctuation",), 0.0),
        (None, "none", ("case",), 0.0),
        ("", "x", (), 0.0),
    ],
)
def test_exact_compares_after_the_declared_normalisation(answer, truth, ignore, expected):
    assert value(Exact(expected="expected.t", ignore=ignore), answer, t=truth) == expected


@pytest.mark.parametrize(
    ("match", "answer", "expected"),
    [
        ("all", "An oak table, with drawers.", 1.0),
        ("all", "An oak bench", 0.0),
        ("any", "An oak bench", 1.0),
        ("any", "A soaked bench", 0.0),  # "oak" inside a word is not the word
        ("share", "An oak bench", 0.5),
        ("all", "", 0.0),
        ("any", None, 0.0),
    ],
)
def test_contains_looks_for_whole_words(match, answer, expected):
    assert value(Contains(expected="expected.t", match=match), answer, t=["oak", "Table"]) == expected


def test_contains_takes_phrases_of_the_suite_itself():
    assert value(Contains(expected=("as an example",)), "Take this, as an Example!") == 1.0


def test_contains_finds_phrases_in_scripts_without_spaces():
    assert value(Contains(expected=("瓷器",)), "明代瓷器一件") == 1.0


def test_a_blank_phrase_is_a_mistake_since_every_answer_contains_it():
    assert "any answer would contain it" in Contains(expected="expected.t").check(case(t=["oak", " !"]))
    with pytest.raises(ValidationError):
        Contains(expected=("",))


@for_every(
    ("answer", "inside", "expected"),
    [
        ("Good", False, 1.0),
        ("good.", False, 1.0),
        ("bad", False, 0.0),
        ("It is good", False, 0.0),
        ("It is good", True, 1.0),
        ("It is very good", True, 0.0),  # names another label, of which "good" is a part
        ("good or bad", True, 0.0),
        ("", True, 0.0),
        (None, False, 0.0),
    ],
)
def test_choice_wants_the_right_label(answer, inside, expected):
    scorer = Choice(expected="expected.t", labels=("good", "bad", "very good"), inside=inside)
    assert value(scorer, answer, t="good") == expected


def test_a_label_outside_the_set_is_said_to_be():
    scorer = Choice(expected="expected.t", labels=("good", "bad")).at("")
    assert scorer.read("fine", case(t="good")).note == "not one of: good, bad"
    assert scorer.check(case(t="fine")) == "expected.t is 'fine', not one of: good, bad"


@for_every(
    ("answer", "expected"),
    [
        (100, 1.0),
        (110.0, 1.0),
        (110.01, 0.0),
        (90, 1.0),
        ("about 105 pieces", 1.0),
        ("between 95 and 105", 0.0),  # two numbers: which one is meant?
        ("105, that is 105", 1.0),
        ("0.1k", 1.0),
        ("1e2", 1.0),
        (True, 0.0),
        ("", 0.0),
        (None, 0.0),
        ("many", 0.0),
        (10**400, 0.0),
        (float("nan"), 0.0),
        ("-100", 0.0),
    ],
)
def test_a_number_counts_within_its_tolerance(answer, expected):
    assert value(Number(expected="expected.t", absolute=5, relative=0.1), answer, t=100) == expected


def test_the_edge_of_a_tolerance_belongs_to_it():
    assert value(Number(expected="expected.t", absolute=0.1), 1.1, t=1) == 1.0  # 1.1 - 1 is 0.10000000000000009


@pytest.mark.parametrize(
    ("text", "decimal", "number"),
    [("1,200", ".", 1200), ("1.200", ".", 1.2), ("1.200", ",", 1200), ("1.200,5", ".", 1200.5), ("1 200", ".", 1200)],
)
def test_marks_of_thousands_and_decimals(text, decimal, number):
    assert value(Number(expected="expected.t", decimal=decimal), text, t=number) == 1.0


def test_which_number_of_a_text_counts_can_be_declared():
    assert value(Number(expected="expected.t", pick="last"), "3 and 4 make 7", t=7) == 1.0
    assert value(Number(expected="expected.t", pick="first"), "3 and 4 make 7", t=3) == 1.0


def test_a_truth_that_is_no_number_is_a_mistake():
    assert Number(expected="expected.t").check(case(t="many")) == "expected.t is 'many': a number is needed"
    assert Number(expected="expected.t").check(case(t=True)) is not None
    assert Number(expected="expected.t").check(case(t="12.5")) is None


def test_regex_searches_or_matches_the_whole():
    part = Regex(pattern=r"\b[A-Z]{2}\d+\b", example="AB12")
    assert value(part, "code AB12.") == 1.0
    assert value(part.model_copy(update={"whole": True}), "code AB12.") == 0.0
    assert value(part, "ab12") == 0.0
    assert value(part.model_copy(update={"ignore_case": True}), "ab12") == 1.0
    assert value(part, "") == 0.0


def test_regex_may_come_from_the_case():
    scorer = Regex(expected="expected.t", example="expected.e").at("")
    assert scorer.read("x 12", case(t=r"\d+", e="5")).value == 1.0
    assert scorer.truth(case(t=r"\d+", e="5")) == "5"
    assert scorer.check(case(t=r"\d+", e="5")) is None
    assert "is not a regular expression" in scorer.check(case(t="(", e="5"))
    assert "an example that fits" in scorer.check(case(t=r"\d+", e="five"))


@pytest.mark.parametrize(
    ("pattern", "says"),
    [("(", "not a regular expression"), ("a*", "fits an empty answer"), (r"\p{L}", "not a regular expression")],
)
def test_bad_patterns_are_reported_when_the_suite_loads(pattern, says):
    with pytest.raises(ValidationError, match=says):
        Regex(pattern=pattern, example="a")


@pytest.mark.parametrize("pattern", [r"(a|aa)+$", r"(?=(a|a?)+$)a", r"(.*a){25}$", r"(a+)\1+$"])
def test_a_pattern_that_takes_too_long_gives_no_score_and_says_so(pattern):
    # Python's own matcher would take years over each of these: overlapping alternatives, nested repeats, look-around.
    scorer = Regex(expected="expected.t", example="expected.e").at("")
    with pytest.raises(ValueError, match=r"gave no result within 0\.5 s on a text of 5,001 characters"):
        scorer.read("a" * 5_000 + "!", case(t=pattern, e="a"))


def test_an_example_that_does_not_fit_its_pattern_is_reported():
    with pytest.raises(ValidationError, match="does not fit"):
        Regex(pattern=r"\d+", example="five")


def test_long_answers_are_searched_only_so_far():
    assert value(Regex(pattern="x$", example="x"), "a" * 5_000_000 + "x") == 0.0
