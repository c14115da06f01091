import re
import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from steelyard.judging.prompt import shorten


def test_a_short_text_stays_as_it_is():
    assert shorten("12345", 5) == ("12345", False)


def test_a_long_text_keeps_head_and_tail_and_says_how_much_is_missing():
    # 10 of 26 letters stay, 5 at each end: 16 are left out
    assert shorten("abcdefghijklmnopqrstuvwxyz", 10) == ("abcde\n[... 16 characters left out ...]\nvwxyz", True)


def test_an_odd_number_gives_the_head_one_more():
    assert shorten("abcdefghij", 5) == ("abc\n[... 5 characters left out ...]\nij", True)


def test_thousands_are_set_apart():
    assert "[... 12,000 characters left out ...]" in shorten("x" * 12_010, 10)[0]


def test_an_accent_stays_with_its_letter():
    # the cut after 3 characters would part e and its accent: the head ends before the e
    assert shorten("abe\u0301" + "x" * 20, 6)[0].startswith("ab\n[... 19 ")


def test_an_emoji_is_not_cut_in_two():
    family = "👨\u200d👩\u200d👧"
    shortened = shorten(f"ab{family}" + "x" * 20 + f"{family}yz", 12)[0]
    assert "\u200d" not in shortened
    assert shortened.startswith("ab\n")
    assert shortened.endswith("\nyz")


def test_two_flags_are_cut_between_them():
    # D E F R: the head of 3 letters would end inside the second flag
    assert shorten("🇩🇪🇫🇷" + "x" * 10, 6)[0].startswith("🇩🇪\n[")


def test_a_pair_of_half_characters_is_not_parted():
    assert shorten("a\ud83d\ude00" + "x" * 10, 4)[0].startswith("a\n[")


def test_a_tower_of_accents_is_cut_all_the_same():
    shortened, cut = shorten("e" + "\u0301" * 1000, 100)
    assert cut
    assert len(shortened) < 150


@given(st.text(st.sampled_from("ab \n\u0301\u200d👩🏽🇩\ufe0f"), max_size=80), st.integers(0, 40))
def test_head_and_tail_fit_and_the_count_is_right(text, most):
    shortened, cut = shorten(text, most)
    if len(text) <= most:
        assert (shortened, cut) == (text, False)
        return
    head, missing, tail = re.fullmatch(
        r"(.*)\n\[\.\.\. ([\d,]+) characters left out \.\.\.\]\n(.*)", shortened, re.DOTALL
    ).groups()
    assert len(head) + len(tail) <= most
    assert text.startswith(head)
    assert text.endswith(tail)
    assert len(head) + len(tail) + int(missing.replace(",", "")) == len(text)


@given(st.lists(st.sampled_from(["a", "e\u0301", "👩🏽", " "]), min_size=12, max_size=30))
def test_no_mark_is_left_without_its_letter(signs):
    tail = shorten("".join(signs), 8)[0].rpartition("\n")[2]
    assert not tail or not unicodedata.category(tail[0]).startswith("M")
