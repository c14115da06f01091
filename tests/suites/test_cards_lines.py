"""Lines of text become cards, and cards become piles and rows, by where they lie."""

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parts.looped import for_every
from steelyard.suites.cards.reading.answers import answer, pile_labels
from steelyard.suites.cards.reading.lines import Line, cards_from

SIZE = (1400, 1000)


def printed(*texts, at=(500, 500), turn=0.0, height=40.0, pitch=35.0, letter=16.0):
    """The lines of a card: centred on `at`, turned clockwise by `turn` degrees, `pitch` pixels from one to the next."""
    angle = math.radians(turn)

    def placed(x, y):
        return at[0] + x * math.cos(angle) - y * math.sin(angle), at[1] + x * math.sin(angle) + y * math.cos(angle)

    lines = []
    for number, text in enumerate(texts):
        middle, half = (number - (len(texts) - 1) / 2) * pitch, len(text) * letter / 2
        top, bottom = middle - height / 2, middle + height / 2
        lines.append(Line(text, (placed(-half, top), placed(half, top), placed(half, bottom), placed(-half, bottom))))
    return lines


def texts_of(lines):
    return sorted(card.text for card in cards_from(lines))


def turned_over(line):
    """The line as an engine reports it that takes it for standing on its head."""
    a, b, c, d = line.quad
    return Line(line.text, (c, d, a, b))


@for_every("turn", [0, 5, -15, 30, -30])
@for_every(("height", "pitch"), [(44, 36), (24, 36)])
def test_the_lines_of_a_card_are_one_text_however_it_is_turned(turn, height, pitch):
    lines = printed("To learn", "something", "new each", "winter", turn=turn, height=height, pitch=pitch)
    assert texts_of(lines) == ["To learn something new each winter"]


def test_flush_lines_are_joined_like_centred_ones():
    # Left ends at x = 100; the centres are 40 pixels apart, a whole height.
    upper = Line("A long first line", ((100, 100), (340, 100), (340, 140), (100, 140)))
    lower = Line("and a short", ((100, 135), (260, 135), (260, 175), (100, 175)))
    assert texts_of([upper, lower]) == ["A long first line and a short"]


@given(st.randoms(use_true_random=False))
def test_the_order_in_which_lines_are_found_does_not_matter(chance):
    lines = [
        *printed("To hold", "hands in", "silence", at=(300, 300), turn=4),
        *printed("A dog at", "my feet", at=(300, 455), turn=-3),
        *printed("Plain words", at=(560, 300), turn=8),
    ]
    chance.shuffle(lines)
    assert texts_of(lines) == ["A dog at my feet", "Plain words", "To hold hands in silence"]


def test_a_card_close_below_is_another_card():
    # 35 pixels from line to line, and 53 (1.5 times as many) from the last of one card to the first of the next.
    upper = printed("A long table", "for many", "guests", at=(300, 300))
    lower = printed("To make", "my own", "mistakes", at=(300, 300 + 35 + 53 + 35))
    assert texts_of(upper + lower) == ["A long table for many guests", "To make my own mistakes"]


def test_a_card_turned_another_way_is_another_card_however_close():
    upper = printed("Being outdoors", "in any weather", at=(300, 300))
    # Its first line lies just where the next line of the upper card would.
    lower = printed("Letters from", "far away", at=(300, 300 + 2 * 35), turn=16)
    assert texts_of(upper + lower) == ["Being outdoors in any weather", "Letters from far away"]


def test_a_short_line_may_seem_more_turned_than_the_others():
    first, _, third = printed("Friends who", "...", "am wrong")
    (short,) = printed("tell I", turn=14)  # in their middle; too short to tell well which way it runs
    assert texts_of([first, short, third]) == ["Friends who tell I am wrong"]


def test_a_line_under_the_end_of_another_is_on_another_card():
    # As close as lines of a card, but 100 pixels (2.5 heights) to the right: neither centred nor flush.
    left, right = printed("Losing with", at=(300, 300)), printed("To live near", at=(400, 335))
    assert texts_of(left + right) == ["Losing with", "To live near"]


def test_cards_side_by_side_are_kept_apart_when_their_lines_touch():
    # "Losing with" is 11 letters of 16 pixels: from 212 to 388. The neighbour begins at 390.
    left = printed("Losing with", "good grace", at=(300, 300))
    right = printed("To live near", "the sea", at=(390 + 96, 300))
    assert texts_of(left + right) == ["Losing with good grace", "To live near the sea"]


def test_cards_of_one_line_are_not_joined():
    lines = [line for row in range(4) for line in printed("Plain words", at=(300, 200 + 100 * row))]
    assert texts_of(lines) == ["Plain words"] * 4


def test_small_print_does_not_continue_large_print():
    large = printed("Fair play", at=(300, 300), height=60)
    small = printed("to everyone", at=(300, 345), height=30)
    assert texts_of(large + small) == ["Fair play", "to everyone"]


@pytest.mark.parametrize("turn", [180, 170, 205])
def test_a_card_on_its_head_is_read_from_its_own_top(turn):
    assert texts_of(printed("To laugh", "at least", "once a day", turn=turn)) == ["To laugh at least once a day"]


def test_one_line_taken_for_the_wrong_way_up_is_outvoted():
    first, second, third = printed("Savings for", "a", "rainy year", turn=180)
    assert texts_of([first, turned_over(second), third]) == ["Savings for a rainy year"]


def test_no_lines_are_no_cards():
    assert cards_from([]) == []
    assert answer([], SIZE, "piles") == {"piles": []}
    assert answer([], SIZE, "boxes") == answer([], SIZE, "rows") == {"cards": []}


@given(
    st.lists(
        st.builds(
            lambda x, y, turn, height, letters: printed("x" * letters, at=(x, y), turn=turn, height=height)[0],
            st.integers(0, 400),
            st.integers(0, 400),
            st.integers(0, 359),
            st.integers(1, 60),
            st.integers(1, 12),
        ),
        max_size=12,
    )
)
def test_every_line_is_on_exactly_one_card(lines):
    words = [f"{place}" for place in range(len(lines))]
    cards = cards_from([Line(word, line.quad) for word, line in zip(words, lines, strict=True)])
    assert sorted(word for card in cards for word in card.text.split()) == sorted(words)


def two_piles():
    """Three cards on the left and two on the right, some of long text and some of short; 180 pixels a row."""
    lines = []
    for text, at in [
        (("To be asked", "before", "things change"), (300, 200)),
        (("Open water",), (300, 340)),
        (("Fair play",), (300, 480)),
        (("Clean", "sheets"), (900, 205)),
        (("To be missed,", "but not", "for long"), (905, 345)),
    ]:
        lines += printed(*text, at=at, turn=random.Random(text[0]).uniform(-5, 5))
    return lines


def test_piles_are_reported_by_position_and_named_by_it():
    piles = answer(two_piles(), SIZE, "piles")["piles"]
    assert [(pile["label"], [card["text"] for card in pile["cards"]]) for pile in piles] == [
        ("left", ["To be asked before things change", "Open water", "Fair play"]),
        ("right", ["Clean sheets", "To be missed, but not for long"]),
    ]


def test_a_suite_without_variants_and_an_unknown_prompt_get_piles():
    assert answer(two_piles(), SIZE, "") == answer(two_piles(), SIZE, "essay") == answer(two_piles(), SIZE, "piles")


def test_boxes_are_fractions_around_the_middle_of_each_card():
    cards = answer(two_piles(), SIZE, "boxes")["cards"]
    assert len(cards) == 5
    left, top, right, bottom = next(card["box"] for card in cards if card["text"] == "Open water")
    # The widest text has 13 letters of 16 pixels: 208, room 249.6 x 178.3. The middle is at 300, 340 of 1400 x 1000.
    assert (left + right) / 2 == pytest.approx(300 / 1400, abs=1e-3)
    assert (top + bottom) / 2 == pytest.approx(340 / 1000, abs=1e-3)
    assert right - left == pytest.approx(249.6 / 1400, abs=1e-3)
    assert bottom - top == pytest.approx(178.3 / 1000, abs=1e-3)


def test_boxes_are_cut_at_the_edge_of_the_photo():
    (card,) = answer(printed("To travel", "light", at=(60, 980)), SIZE, "boxes")["cards"]
    left, top, right, bottom = card["box"]
    assert left == 0 < right
    assert top < bottom == 1


def test_rows_are_the_numbers_of_the_piles():
    piles = answer(two_piles(), SIZE, "piles")["piles"]
    cards = answer(two_piles(), SIZE, "rows")["cards"]
    expected = [(number, card["text"]) for number, pile in enumerate(piles, 1) for card in pile["cards"]]
    assert sorted((card["row"], card["text"]) for card in cards) == sorted(expected)
    assert {card["row"] for card in cards} == {1, 2}


@pytest.mark.parametrize(
    ("outlines", "labels"),
    [
        ([(0.3, 0.3, 0.7, 0.7)], ["center"]),
        ([(0.6, 0.1, 0.9, 0.9), (0.1, 0.2, 0.4, 0.5)], ["right", "left"]),
        ([(0.1, 0.1, 0.9, 0.4), (0.1, 0.6, 0.9, 0.9)], ["top", "bottom"]),
        ([(0, 0.1, 0.2, 0.5), (0.4, 0.2, 0.6, 0.6), (0.8, 0.1, 1, 0.5)], ["left", "center", "right"]),
        ([(0, 0, 0.4, 0.4), (0.6, 0, 1, 0.4), (0.2, 0.6, 0.8, 1)], ["top left", "top right", "bottom"]),
        (
            [(0, 0, 0.4, 0.4), (0.6, 0, 1, 0.4), (0, 0.6, 0.4, 1), (0.6, 0.6, 1, 1)],
            ["top left", "top right", "bottom left", "bottom right"],
        ),
        ([(place / 4, 0.4, place / 4 + 0.2, 0.6) for place in range(4)], ["pile 1", "pile 2", "pile 3", "pile 4"]),
    ],
)
def test_piles_are_named_by_place_when_the_place_has_a_name(outlines, labels):
    assert pile_labels(outlines) == labels
