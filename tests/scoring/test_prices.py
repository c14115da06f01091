import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parts.looped import for_every
from steelyard.scoring.money import read_money, read_price


@for_every(
    ("text", "amounts"),
    [
        ("$3k–8k", (3000, 8000)),
        ("$3-8k", (3000, 8000)),
        ("$500-1k", (500, 1000)),
        ("$3K", (3000, 3000)),
        ("3 thousand dollars", (3000, 3000)),
        ("1.5 million", (1_500_000, 1_500_000)),
        ("1,5 million", (1_500_000, 1_500_000)),
        ("$1.5-2M", (1_500_000, 2_000_000)),
        ("1,200", (1200, 1200)),
        ("1.200", (1200, 1200)),
        ("1.200,50", (1200.5, 1200.5)),
        ("1,200.50", (1200.5, 1200.5)),
        ("1 200", (1200, 1200)),
        ("1'200 CHF", (1200, 1200)),
        ("3 000 – 8 000 €", (3000, 8000)),
        ("$0.50", (0.5, 0.5)),
        ("about $500", (500, 500)),
        ("under $100", (0, 100)),
        ("up to $100", (0, 100)),
        ("$500+", (500, math.inf)),
        ("at least $500", (500, math.inf)),
        ("between 300 and 500", (300, 500)),
        ("US$3,000 to US$8,000", (3000, 8000)),
        ("USD 300 - 500", (300, 500)),
        ("300-500 USD", (300, 500)),
        ("USD3000", (3000, 3000)),
        ("¥120000", (120000, 120000)),
        ("kr 500", (500, 500)),
        ("500 kr", (500, 500)),
        ("£40", (40, 40)),
        ("2 pieces at $500 each", (500, 500)),
        ("$300–$500 at auction in 2023", (300, 500)),
    ],
)
def test_sums_as_people_write_them(text, amounts):
    assert read_price(text).amounts == amounts


@pytest.mark.parametrize("text", ["", "priceless", "50%", "$8000-3000", "-500", "-$500", "12 years"])
def test_what_is_no_sum_is_unreadable(text):
    assert read_price(text).amounts is None
    assert read_price(text).problem


def test_another_currency_is_unreadable_and_nothing_is_converted():
    assert read_price("€500", "USD").amounts is None
    assert read_price("€500", "USD").problem == "the amount is in EUR, not in USD"
    assert read_price("C$500", "USD").amounts is None
    assert read_price("$500", "USD").amounts == (500, 500)
    assert read_price("$500", "CAD").amounts == (500, 500)
    assert read_price("500", "USD").amounts == (500, 500)
    assert read_price("$500 (€450)", "USD").amounts == (500, 500)
    assert read_price("$500 / €450").problem == "the amounts are in different currencies"


@for_every(
    ("value", "amounts"),
    [
        (300000, (300000, 300000)),
        ("$3,000", (300000, 300000)),
        ("3000", (300000, 300000)),
        ([300000, 800000], (300000, 800000)),
        (["$3k", "$8k"], (300000, 800000)),
        ({"min": 300000, "max": 800000}, (300000, 800000)),
        ({"low": 1, "high": 2}, (1, 2)),
        ([800000, 300000], None),
        ([1], None),
        ({}, None),
        (True, None),
        (None, None),
        (-5, None),
        (float("inf"), None),
        (10**400, None),
        ([[1], [2]], None),
    ],
)
def test_numbers_are_in_the_declared_unit_and_texts_in_main_units(value, amounts):
    assert read_money(value, per_unit=100, currency=None).amounts == amounts


_PARTS = "$ € £ ¥ USD kr 3 8k 1,200 1.200,50 - – to and + under over 1.5 million k m .5 0 , . 999999 between about % "
parts = st.sampled_from(_PARTS.split())


@given(st.lists(parts, max_size=8).map(" ".join) | st.lists(parts, max_size=8).map("".join) | st.text(max_size=40))
def test_no_text_raises_and_amounts_never_run_backwards(text):
    for currency in (None, "USD"):
        amounts = read_price(text, currency).amounts
        assert amounts is None or 0 <= amounts[0] <= amounts[1]


@given(st.integers(0, 10**9))
def test_amounts_read_the_same_in_english_and_continental_writing(number):
    english = f"{number:,}"
    assert read_price(f"${english}").amounts == (number, number)
    assert read_price(f"{english.replace(',', '.')} €").amounts == (number, number)
    assert read_price(f"{english.replace(',', ' ')} kr").amounts == (number, number)
