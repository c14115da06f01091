"""Which words of a reading name a card, and which only look like it. Every expectation is written by hand."""

import random
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parts.looped import for_every
from steelyard.suites.tarot.deck import CARDS, aliases, card_named, nearest
from steelyard.suites.tarot.mentions import find_cards

# One line each: a sentence, the cards it names, and which cards lie on the table.
NAMED = [
    # Minor cards, however they are written.
    ("The Seven of Cups shows many wishes.", ["Seven of Cups"]),
    ("The 7 of Cups shows many wishes.", ["Seven of Cups"]),
    ("The VII of Cups shows many wishes.", ["Seven of Cups"]),
    ("the seven of cups came up", ["Seven of Cups"]),
    ("SEVEN OF CUPS", ["Seven of Cups"]),
    ("Seven-of-Cups energy", ["Seven of Cups"]),
    ("the Seven\nof Cups", ["Seven of Cups"]),
    ("the **Seven** of **Cups**", ["Seven of Cups"]),
    ("Seven of Chalices", ["Seven of Cups"]),
    ("Ace of Coins", ["Ace of Pentacles"]),
    ("One of Disks", ["Ace of Pentacles"]),
    ("1 of Discs", ["Ace of Pentacles"]),
    ("the 10 of Staves", ["Ten of Wands"]),
    ("IIII of Batons", ["Four of Wands"]),
    ("X of Rods", ["Ten of Wands"]),
    ("the Princess of Swords", ["Page of Swords"]),
    ("the Knave of Cups", ["Page of Cups"]),
    ("the Prince of Wands", ["Knight of Wands"]),
    ("the Queen of Pentacles' patience", ["Queen of Pentacles"]),
    ("the King of Swords's verdict", ["King of Swords"]),
    ("Ace of Cup", ["Ace of Cups"]),
    ("Six of Cups, Ten of Cups, Six of Wands", ["Six of Cups", "Ten of Cups", "Six of Wands"]),
    ("a seven of cups and a two of cups", ["Seven of Cups", "Two of Cups"]),
    # Unicode.
    ("the Seven of Cups", ["Seven of Cups"]),
    ("the 7 of Cups", ["Seven of Cups"]),
    ("the Ⅶ of Cups", ["Seven of Cups"]),
    ("the Sevén of Cúps", ["Seven of Cups"]),
    ("the Sev\u200ben of Cups", ["Seven of Cups"]),
    ("the Seven‑of‑Cups", ["Seven of Cups"]),
    ("the Tower’s energy", ["The Tower"]),
    ("The Tower—reversed—asks for patience.", ["The Tower"]),
    ("🔮 **The Tower** 🔮", ["The Tower"]),
    # Small slips.
    ("the Seven of Cpus", ["Seven of Cups"]),
    ("the Sevne of Cups", ["Seven of Cups"]),
    ("the Knigth of Wands", ["Knight of Wands"]),
    ("the Qeen of Wands", ["Queen of Wands"]),
    ("the Eigth of Swords", ["Eight of Swords"]),
    ("the Eight of Pentacels", ["Eight of Pentacles"]),
    ("the Foru of Wands", ["Four of Wands"]),
    ("the Thre of Swrods", ["Three of Swords"]),
    ("The Hight Priestess", ["The High Priestess"]),
    ("The High Preistess", ["The High Priestess"]),
    ("The Heirophant asks", ["The Hierophant"]),
    ("the Hangd Man", ["The Hanged Man"]),
    ("the Wheel of Fortuen card", ["Wheel of Fortune"]),
    ("**Temperence** suggests patience", ["Temperance"]),
    ("**The Empres**", ["The Empress"]),
    ("**Strenght** (Advice)", ["Strength"]),
    # Trumps with names of their own.
    ("the High Priestess waits", ["The High Priestess"]),
    ("the high priestess waits", ["The High Priestess"]),
    ("The Papess waits", ["The High Priestess"]),
    ("The Hierophant (The Pope)", ["The Hierophant", "The Hierophant"]),
    ("the Hanged Man waits", ["The Hanged Man"]),
    ("Wheel of Fortune reversed", ["Wheel of Fortune"]),
    ("Judgment (Outcome)", ["Judgement"]),
    ("Judgement (Outcome)", ["Judgement"]),
    # Plain words used as a card.
    ("The Tower card is here.", ["The Tower"]),
    ("the death card", ["Death"]),
    ("Your Strength card asks for patience.", ["Strength"]),
    ("Justice (Present) asks what is fair.", ["Justice"]),
    ("Justice reversed asks what is fair.", ["Justice"]),
    ("A reversed Justice asks what is fair.", ["Justice"]),
    ("You drew Strength.", ["Strength"]),
    ("You pulled the Moon today.", ["The Moon"]),
    ("Card 2: Death", ["Death"]),
    ("Position 3 – Temperance", ["Temperance"]),
    ("Present: Justice", ["Justice"]),
    ("**Present:** Justice", ["Justice"]),
    ("- **Past** – The Sun", ["The Sun"]),
    ("### Temperance", ["Temperance"]),
    ("### 2. Justice (Present)", ["Justice"]),
    ("### THE TOWER", ["The Tower"]),
    ("### the tower", ["The Tower"]),
    ("**Death**\nAn ending.", ["Death"]),
    ("1. The Fool\n2. The World", ["The Fool", "The World"]),
    ("| Past | The Star |", ["The Star"]),
    ("<strong>The Moon</strong>", ["The Moon"]),
    ("XVI The Tower", ["The Tower"]),
    ("XVI. The Tower", ["The Tower"]),
    ("16 - The Tower", ["The Tower"]),
    ("0 The Fool", ["The Fool"]),
    ("The Tower (XVI)", ["The Tower"]),
    ("VIII Strength and XI Justice", ["Strength", "Justice"]),
    ("XI Strength", ["Strength"]),
    ("The Moon suggests that you wait.", ["The Moon"]),
    ("The Sun invites you out.", ["The Sun"]),
    ("The Star in the Present position is mild.", ["The Star"]),
    ("The World appears as your outcome.", ["The World"]),
    ("Temperance asks for a middle way.", ["Temperance"]),
    ("Justice suggests a fair look.", ["Justice"]),
    ("Temperance as the Outcome mixes.", ["Temperance"]),
    ("Strength in your Advice position is gentle.", ["Strength"]),
    ("The energy of the Emperor is here.", ["The Emperor"]),
    ("then the Hermit lights the way", ["The Hermit"]),
    ("the Lovers ask for a choice", ["The Lovers"]),
    ("The Chariot races ahead.", ["The Chariot"]),
    ("The Emperor's order helps.", ["The Emperor"]),
    ("This card, Temperance, mixes.", ["Temperance"]),
    ("In the future position, we find the Moon.", ["The Moon"]),
    ("Your outcome card is Judgement.", ["Judgement"]),
    ("*Justice* — upright", ["Justice"]),
    ("The Sun and The Moon meet in this spread.", ["The Sun", "The Moon"]),
    ("The Devil, reversed, loosens its grip.", ["The Devil"]),
    ("Strength and the Seven of Cups pull apart.", ["Strength", "Seven of Cups"]),
    ("the Six of Cups, Justice, and Death", ["Six of Cups", "Justice", "Death"]),
    ("The Tower shows it, and Justice and the Tower agree.", ["The Tower", "Justice", "The Tower"]),
    # Compared with: a mention all the same.
    ("Unlike the Five of Cups, this card looks ahead.", ["Five of Cups"]),
    # Cards of other decks.
    ("the Queen of Hearts appears", ["Queen of Hearts"]),
    ("the Ace of Spades", ["Ace of Spades"]),
    ("The Lighthouse card stands beside it.", ["The Lighthouse"]),
]  # fmt: skip

NOT_NAMED = [
    "Trust your inner strength.", "Justice will be served.", "Reach for the stars.", "the death of an old habit",
    "We met under the moon.", "It means the world to me.", "The sun is shining.", "The Sun is shining.",
    "Strength comes from within.", "Justice matters to you.", "This is part of the Fool's Journey.",
    "The Fool’s Journey begins anew.", "the wheel of fortune turns", "The Wheel of Fortune turns for everyone.",
    "He lives in an ivory tower.", "star-crossed lovers", "You are over the moon.", "the Tower of Babel",
    "nothing is certain but death and taxes", "Death and taxes are certain.", "Death is part of life.",
    "**Strength comes from within**", "Use good judgment here.", "Judgment Day is a film.", "Pass no judgement on him.",
    "the devil is in the details", "The Devil is in the details.", "play devil's advocate", "a fool's errand",
    "She is a magician with numbers.", "a hermit crab", "The emperor's new clothes", "a page of history",
    "Page of History",
    "the Mage of Cups", "a kind of swords", "five of them", "one of swords and shields", "King of Kings",
    "You need **strength** now.", "temperance in all things", "Temperance is a virtue.", "the lovers met in Paris",
    "Lovers often quarrel.", "The world is your oyster.", "The World Cup is on.", "the World Bank", "the full Moon",
    "The Moon is bright tonight.", "Moon in Cancer", "The Sun in Leo warms you.", "a rising star", "Star Wars",
    "The Department of Justice", "a chariot of fire", "strength training", "from strength to strength",
    "Finding Your Inner Strength Through Hard Times", "Take the wheel.", "the queen of hearts in his life",
    "ace of base",
    "two of us", "I, the magician of this house", "death-defying", "Strengths and Weaknesses", "empress dresses",
    "**Strength:** patience\n**Weakness:** haste", "- courage\n- Strength\n- patience", "The challenge card is hard.",
    "You crave justice and a tower of your own.", "Strength, patience and love are yours.", "the Sun and the Moon",
    "You are the star of your own story.", "The hermit in you wants silence.", "the suit of Cups and the Major Arcana",
    "Only a Fool would ignore it.", "A Sun-filled day awaits.", "Justice is blind, they say.", "Three Swords of light",
    "The Past card is mild.", "A Musician suggests a song.", "Express suggests haste.", "a cup of coffee",
    "Six of one",
]  # fmt: skip


@for_every(("text", "cards"), NAMED)
def test_a_card_is_found_where_it_is_named(text, cards):
    assert [mention.card for mention in find_cards(text)] == cards


@for_every("text", NOT_NAMED)
def test_words_that_only_look_like_a_card_are_none(text):
    assert find_cards(text) == []


@for_every(
    ("text", "drawn", "cards"),
    [
        ("where the Moon pulls, you drift", "The Moon", ["The Moon"]),
        ("where the moon pulls, you drift", "The Moon", []),
        ("The Moon is about what you cannot see.", "The Moon", ["The Moon"]),
        ("It leans on Strength for this.", "Strength", ["Strength"]),
        ("It leans on strength for this.", "Strength", []),
        ("Strength comes from within.", "Strength", []),
        ("Strength brings patience.", "Strength", ["Strength"]),
        ("The Wheel of Fortune turns for you.", "Wheel of Fortune", ["Wheel of Fortune"]),
        ("This is the Fool's Journey.", "The Fool", []),
        ("Finding Your Inner Strength Through Hard Times", "Strength", []),
        ("- Strength", "Strength", ["Strength"]),
        ("You are over the moon about The Moon.", "The Moon", ["The Moon"]),
    ],
)
def test_a_capital_is_enough_for_a_drawn_card_and_no_more_than_that(text, drawn, cards):
    assert [mention.card for mention in find_cards(text, [drawn])] == cards


@for_every(
    ("text", "orientation"),
    [
        ("Seven of Cups reversed", "reversed"),
        ("reversed Seven of Cups", "reversed"),
        ("Seven of Cups (Rx)", "reversed"),
        ("Seven of Cups (R)", "reversed"),
        ("**Seven of Cups** (Reversed)", "reversed"),
        ("Seven of Cups, reversed, asks", "reversed"),
        ("the Seven of Cups is reversed", "reversed"),
        ("the Seven of Cups in reverse", "reversed"),
        ("an upright Seven of Cups", "upright"),
        ("Seven of Cups – upright", "upright"),
        ("the Seven of Cups appears upright", "upright"),
        ("Seven of Cups", None),
        ("If the Seven of Cups were reversed, it would differ.", None),
        ("the Seven of Cups is not reversed", None),
        ("Seven of Cups. Reversed cards differ.", None),
    ],
)
def test_the_orientation_is_what_the_words_beside_the_name_say(text, orientation):
    (mention,) = find_cards(text)
    assert mention.orientation == orientation
    assert mention.reversed is (orientation == "reversed")


@for_every(
    ("text", "excluded"),
    [
        ("Unlike the Tower, this card is slow.", True),
        ("unlike the Five of Cups", True),
        ("This is not the Tower.", True),
        ("rather than the Five of Cups", True),
        ("If you had drawn the Five of Cups, it would be grief.", True),
        ("Had you drawn the Five of Cups, it would be grief.", True),
        ("No Five of Cups appears here.", True),
        ("The Five of Cups does not appear.", True),
        ("gentler than the Five of Cups", True),
        ("The Star follows the Tower in the Major Arcana.", True),
        ("like the Hermit, you withdraw", True),
        ("The Five of Cups shows grief.", False),
        ("Not only the Five of Cups shows it.", False),
        ("Beside it lies the Five of Cups.", False),
        ("cards like the Five of Cups show grief", False),
        ("Do not fear the Five of Cups.", False),
    ],
)
def test_a_card_that_is_only_compared_with_is_an_aside(text, excluded):
    assert find_cards(text, ["The Star"])[-1].compared is excluded


def test_all_that_is_enumerated_after_unlike_is_an_aside():
    assert [one.compared for one in find_cards("Unlike the Tower or the Five of Cups, the Six of Cups is mild.")] == [
        True,
        True,
        False,
    ]


def test_the_place_of_a_mention_is_in_the_text_as_it_was_given():
    text = "Écoute 👋🏽: the “Seven of Cups”, ﬁrst of all."
    (mention,) = find_cards(text)
    assert text[mention.start : mention.end] == mention.as_written == "Seven of Cups"


def test_the_name_of_a_position_is_no_made_up_card():
    assert [one.card for one in find_cards("The Harbour card is calm.")] == ["The Harbour"]
    assert find_cards("The Harbour card is calm.", positions=["Harbour"]) == []


@for_every("changed", [str, str.upper, str.lower])
@for_every("shape", ["**{}** speaks of a change.", "### {}\nIt speaks of a change.", "## Past: {}"])
def test_every_alias_of_every_card_is_found_in_a_label(shape, changed):
    wrong = {
        (card.name, alias): found
        for card in CARDS
        for alias in aliases(card)
        if (found := [one.card for one in find_cards(shape.format(changed(alias)))]) != [card.name]
    }
    assert wrong == {}


def test_a_deck_has_78_cards_and_no_name_means_two():
    assert len({card.name for card in CARDS}) == 78
    named = [(alias.lower(), card.name) for card in CARDS for alias in aliases(card)]
    assert len({alias for alias, _ in named}) == len(set(named))
    assert all(card_named(alias) == card for card in CARDS for alias in aliases(card))


def test_a_slip_never_turns_one_card_into_another():
    """Every change of one letter in a minor card's name gives that card, or none, but never a third."""
    chance = random.Random(4)
    for card in CARDS[22:]:
        for _ in range(12):
            place = chance.randrange(len(card.name))
            written = card.name[:place] + chance.choice("abcdefghijklmnopqrstuvwxyz") + card.name[place + 1 :]
            found = [one.card for one in find_cards(f"**{written}** asks.")]
            named = card_named(written)
            assert found in ([], [card.name if named is None else named.name]), written


@given(st.text(max_size=300))
def test_any_text_can_be_searched(text):
    for one in find_cards(text, ["The Moon"]):
        assert text[one.start : one.end] == one.as_written


@for_every("sign", ["*", "#", " ", "!", "The ", "Death ", "**Death", "of ", "\n", "not the ", "'"])
def test_a_text_made_to_be_slow_is_read_in_time(sign):
    text = "The Tower" + sign * (24_000 // len(sign)) + "The Tower"
    begun = time.process_time()
    find_cards(text, ["The Tower"])
    assert time.process_time() - begun < 3


def test_the_card_that_was_meant_is_suggested():
    assert nearest("Seven of Cupz") == "Seven of Cups"
    assert nearest("the high preistess") == "The High Priestess"
    assert nearest("Pikachu") is None


@pytest.mark.parametrize("drawn", [[], ["The Magician"]])
def test_i_is_a_person_and_not_the_number_of_a_card(drawn):
    for sentence in ("I the magician of this house may rest.", "So I – the magician – may rest."):
        assert find_cards(sentence, drawn) == find_cards(sentence.replace("I ", "we "), drawn) == []
    assert [one.card for one in find_cards("II the high priestess rests.", drawn)] == ["The High Priestess"]
