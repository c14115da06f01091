"""Coverage, spine and cards nobody drew, counted by hand on small readings."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parts.looped import for_every
from steelyard import Case
from steelyard.suites.tarot.mentions import find_cards
from steelyard.suites.tarot.sections import passages, split_sections, split_sentences
from steelyard.suites.tarot.structure import Structure

DRAWN = [("Past", "Six of Cups", "upright"), ("Present", "The Tower", "reversed"), ("Future", "The Star", "upright")]
SECTIONS = [
    "### Past: Six of Cups\nIt speaks of the garden you grew up in, because you asked about home."
    " You might write to your aunt.",
    "### Present: The Tower (reversed)\nSomething has shaken loose slowly.",
    "### Future: The Star\nThe Star brings hope. Consider an evening outdoors.",
]


def case(cards=DRAWN):
    listed = [{"position": place, "card": card, "orientation": turned} for place, card, turned in cards]
    return Case("one", input={"spreadKey": "threeCard", "cardsInfo": listed, "userQuestion": "How is home?"})


def read(text, cards=DRAWN):
    return Structure().read(text, case(cards))


def codes(reading):
    return [finding.code for finding in reading.findings]


def test_a_long_reading_is_measured_whole():
    """What stands between the head and the tail that a judge is shown counts as well."""
    filler = "A slow paragraph about the weather. " * 600
    reading = read(f"{SECTIONS[0]}\n\n{filler}\n\n{SECTIONS[1]}\n\n{filler}\n\n{SECTIONS[2]}")
    assert (reading.misshapen, reading.metrics["coverage"], reading.metrics["spine_complete"]) == ("", 1.0, True)


def test_a_whole_reading_has_every_card_and_no_finding():
    reading = read("\n\n".join(SECTIONS))
    assert reading.value == 1.0
    assert reading.findings == ()
    # Why: the first says "because", the others give no reason. What next: "might write", "Consider".
    assert dict(reading.counts) == {"covered": 3, "complete_sections": 3, "with_why": 1, "with_next": 2, "drawn": 3}
    assert reading.metrics["spine_complete"] is True
    assert reading.metrics["issues"] is False


def test_a_card_that_is_left_out_is_missing_and_worth_its_share():
    reading = read("\n\n".join(SECTIONS[:2]))
    assert reading.value == pytest.approx(2 / 3)
    assert reading.metrics["missing_cards"] == ["The Star"]
    assert reading.metrics["issues"] is True
    (finding,) = reading.findings
    assert (finding.code, finding.gain) == ("MISSING_CARD", pytest.approx(1 / 3))
    assert (finding.place, finding.expected) == ("Future", "The Star")


def test_a_card_that_the_question_names_is_not_made_up():
    asked = Case("one", case().input | {"userQuestion": "Last month I drew the Ten of Swords. How is home now?"})
    text = "\n\n".join(SECTIONS) + "\n\nThe Ten of Swords that you drew has passed. The Queen of Cups smiles."
    assert Structure().read(text, asked).metrics["hallucinated_cards"] == ["Queen of Cups"]
    assert read(text).metrics["hallucinated_cards"] == ["Ten of Swords", "Queen of Cups"]


def test_words_said_again_and_again_are_no_section():
    once, again = (read(f"The Star: {words}.").metrics["spine_sections"] for words in ("hope", "the hope " * 9))
    assert (once, again) == (0, 0)


def test_a_card_nobody_drew_takes_all_of_the_value():
    reading = read("\n\n".join(SECTIONS) + "\n\nAnd the Ten of Swords lies beside them. The Queen of Hearts smiles.")
    assert reading.value == 0.0
    assert reading.metrics["coverage"] == 1.0
    assert reading.metrics["hallucinated_cards"] == ["Ten of Swords", "Queen of Hearts"]
    # Two of them share what fixing both would give: the coverage, 1.
    assert [(finding.code, finding.gain) for finding in reading.findings] == [("HALLUCINATED_CARD", 0.5)] * 2
    assert reading.findings[0].evidence == "And the Ten of Swords lies beside them."


def test_beside_a_made_up_card_a_missing_one_gains_nothing():
    reading = read(SECTIONS[0] + "\n\nThe Ten of Swords lies beside it.")
    gains = {finding.code: finding.gain for finding in reading.findings}
    assert gains == {"HALLUCINATED_CARD": pytest.approx(1 / 3), "MISSING_CARD": 0.0}


def test_a_card_that_is_only_compared_with_is_neither_made_up_nor_covered():
    reading = read("\n\n".join(SECTIONS[:2]) + "\n\nUnlike the Sun or the Star, this is a slow light.")
    assert reading.metrics["hallucinated"] == 0
    assert reading.metrics["missing_cards"] == ["The Star"]


@for_every(
    ("text", "complete"),
    [
        ("The Star brings hope.", True),
        ("The Star in the future is hope.", True),
        ("Future, The Star: new information arrives.", True),
        ("**The Star** – a time of hope and healing.", True),
        ("You are the Star here and you want the garden.", True),
        ("The Star", False),
        ("Future: The Star.", False),
        ("The Star: hope, healing, renewal.", False),
        ("I drew the Star for you today.", False),
        ("**The Star** (Future, upright)", False),
        ("The Star card is the card in the Future position.", False),
    ],
)
def test_a_section_says_what_the_card_is_with_at_least_a_clause(text, complete):
    reading = read(text, DRAWN[2:])
    assert reading.metrics["spine_complete"] is complete
    assert codes(reading) == ([] if complete else ["THIN_SECTION"])


def test_a_list_of_names_covers_all_and_says_nothing():
    reading = read(
        "You drew the Six of Cups, the Tower and the Star.\n\nA change of work can be hard, and it takes time."
    )
    assert reading.metrics["coverage"] == 1.0
    assert reading.metrics["spine_sections"] == 0
    assert codes(reading) == ["THIN_SECTION"] * 3


def test_one_paragraph_is_divided_between_its_cards():
    text = "The Six of Cups is an old garden. The Tower shakes the house, while the Star pours its water out. It heals."
    found = passages(
        text, find_cards(text, ["Six of Cups", "The Tower", "The Star"]), ["Six of Cups", "The Tower", "The Star"]
    )
    assert {card: " ".join(passage.text.split()) for card, passage in found.items()} == {
        "Six of Cups": "The Six of Cups is an old garden.",
        "The Tower": "The Tower shakes the house, while",
        "The Star": "the Star pours its water out. It heals.",
    }


@pytest.mark.parametrize(
    ("text", "starts"),
    [
        ("# One\n\ntext\n\nmore\n\n## Two\ntext", ["# One", "more", "## Two"]),
        ("**One** text\n**Two** text", ["**One**", "**Two**"]),
        ("Past: text\nPresent: text", ["Past:", "Present:"]),
        ("1. text\n2. text", ["1. text", "2. text"]),
        ("- text\n- text", ["- text", "- text"]),
        ("text one.\n\ntext two.", ["text one.", "text two."]),
        ("", []),
    ],
)
def test_sections_begin_at_headings_labels_items_and_paragraphs(text, starts):
    found = [text[section.start : section.end].strip() for section in split_sections(text)]
    assert len(found) == len(starts)
    assert all(section.startswith(start) for section, start in zip(found, starts, strict=True))


@given(st.text(alphabet="aT.:#*-1 \n", max_size=80))
def test_sections_and_sentences_lose_no_word(text):
    words = text.split()
    assert "".join(text[one.start : one.end] for one in split_sections(text)).split() == words
    assert "".join(text[start:end] for start, end in split_sentences(text)).split() == words


@given(st.permutations(SECTIONS))
def test_any_order_of_sections_gives_the_same_figures(sections):
    assert read("\n\n".join(sections)).metrics == read("\n\n".join(SECTIONS)).metrics


@pytest.mark.parametrize("changed", [str.upper, str.lower, str.title])
def test_the_letter_case_of_headings_does_not_matter(changed):
    lines = [changed(line) if line.startswith("#") else line for section in SECTIONS for line in section.split("\n")]
    assert read("\n".join(lines)).metrics == read("\n\n".join(SECTIONS)).metrics


def test_naming_a_card_often_counts_once():
    assert read(SECTIONS[0] * 5).counts["covered"] == 1
    assert read("The Ten of Swords shows it. The Ten of Swords says it again.").metrics["hallucinated"] == 1


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("The Tower, upright, falls at once on you.", True),
        ("The Tower, reversed, falls slowly on you.", False),
        ("The Tower falls slowly on you.", False),
        ("The Tower (upright) falls. The Tower reversed is slow.", False),
        ("If the Tower were upright it would fall at once.", False),
    ],
)
def test_an_orientation_is_wrong_only_when_every_word_on_it_is(text, wrong):
    assert ("WRONG_ORIENTATION" in codes(read(text, DRAWN[1:2]))) is wrong


@pytest.mark.parametrize("answer", ["", "   ", None, 7, {"reading": "The Star"}])
def test_an_answer_without_text_covers_nothing(answer):
    reading = read(answer)
    assert reading.value == 0.0
    assert codes(reading) == ["MISSING_CARD"] * 3


def test_without_cards_there_is_no_coverage_to_speak_of():
    assert read("The Star brings hope.", []).value is None
    assert Structure().nothing(case([])) == {}
    assert Structure().nothing(case())["drawn"] == 3


@pytest.mark.parametrize(
    ("cards", "message"),
    [
        ([("Past", "Seven of Cupz", "upright")], "'Seven of Cupz' is no card of the deck: did you mean Seven of Cups?"),
        ([("Past", "Pikachu", "upright")], "'Pikachu' is no card of the deck"),
        ([("Past", "", "upright")], "it has no card name"),
        ([("Past", "The Star", "sideways")], "orientation is 'sideways': upright or reversed is needed"),
        ([("Past", "7 of Cups", "upright"), ("Now", "Seven of Cups", "reversed")], "already drawn as card 1"),
        ([], "input.cardsInfo is missing: a list of cards is needed"),
    ],
)
def test_a_mistake_in_the_cards_of_a_case_is_reported(cards, message):
    assert message in Structure().check(case(cards))


def test_cards_may_be_listed_by_any_of_their_names():
    assert Structure().check(case([("Past", "VII of Chalices", "Reversed"), ("Now", "XVI The Tower", None)])) is None
    assert read("The Seven of Cups, reversed, clears the fog.", [("Past", "VII of Chalices", "Reversed")]).value == 1.0


def test_every_finding_has_a_meaning_and_every_metric_a_word():
    chance = random.Random(1)
    known = set(Structure().finding_codes())
    for _ in range(20):
        reading = read(" ".join(chance.sample([*SECTIONS, "Ten of Cups.", "The Tower, upright.", "The Star."], 3)))
        assert set(codes(reading)) <= known
        assert set(reading.metrics) == set(Structure.metrics)
        assert all(measure.numerator in reading.counts for measure in Structure.measures.values())


def test_no_text_is_called_the_true_reading():
    assert Structure().truth_at(case()) == {}


def test_a_card_that_is_only_named_is_an_issue_though_all_are_covered():
    reading = read("\n\n".join([*SECTIONS[:2], "### Future: The Star"]))
    assert reading.metrics["coverage"] == 1
    assert reading.metrics["spine_complete"] is False
    assert reading.metrics["issues"] is True


@pytest.mark.parametrize("n", [7, 8, 10])
def test_one_card_left_out_of_many_is_an_issue(n):
    names = ["Ace", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine", "Ten"][:n]
    cards = [(f"Place {at}", f"{name} of Cups", "upright") for at, name in enumerate(names)]
    said = [f"The {card} speaks of the garden you grew up in, and of the water in it." for _, card, _ in cards]
    assert read("\n\n".join(said), cards).metrics["issues"] is False
    left_out = read("\n\n".join(said[:-1]), cards).metrics
    assert (left_out["coverage"], left_out["issues"]) == (pytest.approx((n - 1) / n), True)
