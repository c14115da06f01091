"""Hand-worked values of the published range formulas and of the strict rules, and the laws both must obey."""

import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from parts.looped import for_every
from steelyard.scoring.money import MoneyRange
from steelyard.scoring.ranges import money_overlap, strict_money, strict_years, years_overlap
from steelyard.scoring.years import YearRange
from steelyard.suite.case import Case


def years_strictly(start, end, true_start, true_end):
    return strict_years(start, end, true_start, true_end, max_ratio=3, min_width=10)


def money_strictly(low, high, true_low, true_high):
    return strict_money(low, high, true_low, true_high, max_ratio=3, min_share=0.25, reach=2)


@for_every(
    ("answer", "truth", "value"),
    [
        ((1956, 2026), (1956, 2026), 1.0),
        ((1956, 1991), (1956, 2026), 0.5),  # 35 of 70 years
        ((1940, 1970), (1956, 2026), 0.2),  # 14 of 70
        ((1900, 1956), (1956, 2026), 0.0),  # touching: 0 of 70
        ((1960, 1960), (1956, 2026), 0.0),  # a single year covers nothing, as written
        ((1800, 1850), (1956, 2026), 0.0),  # max(0, -106 / 70)
        ((0, 9999), (1956, 2026), 1.0),  # the known gap
        ((1890, 1910), (1900, 1900), 1.0),  # a single true year is met by containing it
        ((1900, 1900), (1900, 1900), 1.0),
        ((1901, 1910), (1900, 1900), 0.0),
    ],
)
def test_the_published_era_formula(answer, truth, value):
    assert years_overlap(*answer, *truth) == pytest.approx(value)


@for_every(
    ("answer", "truth", "value"),
    [
        ((300000, 800000), (300000, 800000), 1.0),
        ((100000, 900000), (300000, 800000), 1.0),  # covers it
        ((500000, 900000), (300000, 800000), 0.6),  # 300,000 of 500,000
        ((400000, 500000), (300000, 800000), 0.2),  # 100,000 of 500,000
        ((500000, 500000), (300000, 800000), 0.0),  # a single figure inside covers nothing, as written
        ((800000, 900000), (300000, 800000), 0.0),  # touching
        # A cent apart: 1 - 1 / 800,000, the known jump
        ((800001, 900000), (300000, 800000), 1 - 1 / 800000),
        ((1200000, 1500000), (300000, 800000), 0.5),  # 400,000 above: 1 - 400,000 / 800,000
        ((100000, 200000), (300000, 800000), 0.875),  # 100,000 below: 1 - 100,000 / 800,000
        ((0, 0), (300000, 800000), 0.625),  # 300,000 below: 1 - 300,000 / 800,000
        ((2000000, 3000000), (300000, 800000), 0.0),  # 1 - 1,200,000 / 800,000 is below 0
        ((0, math.inf), (300000, 800000), 1.0),  # the known gap
        ((400, 600), (500, 500), 1.0),
        ((600, 700), (500, 500), 0.8),  # 100 above a truth of 500: 1 - 100 / 500
        ((0, 10), (0, 0), 1.0),
        ((5, 10), (0, 0), 0.0),  # would divide by zero
    ],
)
def test_the_published_value_formula(answer, truth, value):
    assert money_overlap(*answer, *truth) == pytest.approx(value)


@for_every(
    ("answer", "truth", "value"),
    [
        ((1900, 1920), (1900, 1920), 1.0),
        ((1910, 1930), (1900, 1920), 0.625),  # half covered: 0.25 + 0.75 * 0.5
        ((1920, 1930), (1900, 1920), 0.25),  # touching
        ((1930, 1940), (1900, 1920), 0.125),  # 10 away on a scale of 20: 0.25 * 0.5
        ((1945, 1950), (1900, 1920), 0.0),
        ((1880, 1940), (1900, 1920), 1.0),  # 3 times as wide is free
        ((1850, 1970), (1900, 1920), 0.5),  # 120 wide, 60 free
        ((0, 9999), (1900, 1920), 60 / 9999),
        ((1890, 1915), (1900, 1900), 1.0),
        ((1902, 1905), (1900, 1900), 0.2),  # 2 away on the least scale of 10: 0.25 * 0.8
        ((1870, 1930), (1900, 1900), 0.5),  # 60 wide, 30 free
    ],
)
def test_the_strict_rule_for_years(answer, truth, value):
    assert years_strictly(*answer, *truth) == pytest.approx(value)


@for_every(
    ("answer", "truth", "value"),
    [
        ((300, 800), (300, 800), 1.0),
        ((500, 900), (300, 800), 0.7),  # 0.25 + 0.75 * 0.6
        ((800, 900), (300, 800), 0.25),
        ((800 * math.sqrt(2), 1200), (300, 800), 0.125),  # half the way, in ratio, to 2 times off
        ((100, 300 / math.sqrt(2)), (300, 800), 0.125),  # the same below
        ((1600, 1700), (300, 800), 0.0),
        ((0, 0), (300, 800), 0.0),
        ((0, 3000), (300, 800), 0.5),  # 3000 wide, 1500 free
        ((0, math.inf), (300, 800), 0.0),
        ((400, 600), (500, 500), 1.0),  # 200 wide, 3 * 125 free
        ((0, 10), (0, 0), 0.0),  # any width is infinitely wider than nothing
        ((0, 0), (0, 0), 1.0),
    ],
)
def test_the_strict_rule_for_money(answer, truth, value):
    assert money_strictly(*answer, *truth) == pytest.approx(value)


rules = pytest.mark.parametrize("rule", [years_overlap, money_overlap, years_strictly, money_strictly])
strict_rules = pytest.mark.parametrize("rule", [years_strictly, money_strictly])
sizes = st.integers(0, 3000)
truths = st.tuples(st.integers(1, 3000), st.integers(0, 500)).map(lambda t: (t[0], t[0] + t[1]))


@rules
@given(low=sizes, width=sizes, truth=truths)
def test_values_lie_between_0_and_1(rule, low, width, truth):
    assert 0.0 <= rule(low, low + width, *truth) <= 1.0


@rules
@given(truth=truths)
def test_the_truth_earns_1(rule, truth):
    assert rule(*truth, *truth) == pytest.approx(1.0)


@strict_rules
@given(truth=truths, width=st.integers(0, 400), gap=st.integers(0, 2000), closer=st.integers(0, 2000))
def test_strict_values_never_fall_as_a_gap_closes(rule, truth, width, gap, closer):
    closer = min(closer, gap)
    above = [rule(truth[1] + g, truth[1] + g + width, *truth) for g in (gap, closer)]
    assert above[1] >= above[0] - 1e-12
    assume(truth[0] - gap - width >= 0)
    below = [rule(truth[0] - g - width, truth[0] - g, *truth) for g in (gap, closer)]
    assert below[1] >= below[0] - 1e-12


@strict_rules
@given(truth=truths, reach=st.floats(0.0, 1.0))
def test_strict_values_join_without_a_jump_where_ranges_touch(rule, truth, reach):
    low, high = truth
    assume(high > low)
    width = (high - low) * reach
    apart = rule(high + 1e-9, high + 1e-9 + width, low, high)
    touching = rule(high, high + width, low, high)
    over = rule(high - 1e-9, high - 1e-9 + width, low, high)
    assert apart == pytest.approx(touching, abs=1e-6)
    assert over == pytest.approx(touching, abs=1e-6)


@strict_rules
@given(truth=truths, left=sizes, right=sizes, more=sizes)
def test_a_wider_estimate_around_the_truth_never_earns_more(rule, truth, left, right, more):
    low, high = max(0, truth[0] - left), truth[1] + right
    assert rule(low, high + more, *truth) <= rule(low, high, *truth) + 1e-12


@given(truth=st.tuples(st.integers(-3000, 1900), st.integers(0, 120)).map(lambda t: (t[0], t[0] + t[1])))
def test_an_era_from_the_beginning_to_the_end_of_time_earns_next_to_nothing_strictly(truth):
    case = Case("c", expected={"s": truth[0], "e": truth[1]})
    scorer = YearRange(answer="", start="expected.s", end="expected.e", strict=True)
    assert scorer.read(scorer.widest(), case).value < 0.02
    assert scorer.model_copy(update={"strict": False}).read(scorer.widest(), case).value == 1.0


@given(low=st.integers(0, 10**9), width=st.integers(0, 10**9))
def test_an_estimate_from_nothing_to_infinity_earns_next_to_nothing_strictly(low, width):
    case = Case("c", expected={"l": low, "h": low + width})
    scorer = MoneyRange(answer="", low="expected.l", high="expected.h", strict=True)
    for widest in (scorer.widest(), "$0+", [0, 10**15]):
        assert scorer.read(widest, case).value < 0.01


@pytest.mark.parametrize("strict", [False, True])
@given(truth=st.tuples(st.integers(-3000, 2000), st.integers(0, 300)).map(lambda t: (t[0], t[0] + t[1])))
def test_the_written_truth_of_an_era_reads_back_in_full(strict, truth):
    assume(truth[0] != 0 and truth[1] != 0)
    case = Case("c", expected={"s": truth[0], "e": truth[1]})
    scorer = YearRange(answer="", start="expected.s", end="expected.e", strict=strict)
    assert scorer.read(scorer.truth(case), case).value == 1.0


@pytest.mark.parametrize("strict", [False, True])
@given(low=st.integers(0, 10**9), width=st.integers(0, 10**9))
def test_the_written_truth_of_a_value_reads_back_in_full(strict, low, width):
    case = Case("c", expected={"l": low, "h": low + width})
    for currency in (None, "USD"):
        scorer = MoneyRange(
            answer="", low="expected.l", high="expected.h", unit="cents", currency=currency, strict=strict
        )
        assert scorer.read(scorer.truth(case), case).value == pytest.approx(1.0)


@for_every("answer", [None, "", "unknown", {}, [], True, "1910-1890", "$9-5"])
def test_an_empty_unreadable_or_inverted_answer_earns_nothing(answer):
    case = Case("c", expected={"s": 1890, "e": 1910, "l": 5, "h": 9})
    for strict in (False, True):
        assert YearRange(answer="", start="expected.s", end="expected.e", strict=strict).read(answer, case).value == 0
    assert MoneyRange(answer="", low="expected.l", high="expected.h").read(None, case).value == 0
    assert MoneyRange(answer="", low="expected.l", high="expected.h").read("$9-5", case).value == 0


@pytest.mark.parametrize(
    ("start", "end", "says"),
    [
        (1910, 1890, "expected.s 1910 is above expected.e 1890"),
        (None, 1890, "expected.s is missing, while expected.e is 1890"),
        (1890, "soon", "expected.e is 'soon': a year as a number is needed"),
        (1890, 1910, None),
        ("1890", "1910", None),
        (None, None, None),
    ],
)
def test_mistakes_in_true_years_are_found(start, end, says):
    scorer = YearRange(start="expected.s", end="expected.e")
    assert scorer.check(Case("c", expected={"s": start, "e": end})) == says


@pytest.mark.parametrize(
    ("low", "high", "says"),
    [
        (900000, 400000, "expected.l 900000 is above expected.h 400000"),
        (900000, None, "expected.h is missing, while expected.l is 900000"),
        (-1, 5, "expected.l is -1: an amount as a number of 0 or more is needed"),
        (True, 5, "expected.l is True: an amount as a number of 0 or more is needed"),
        (0, 5, None),
    ],
)
def test_mistakes_in_true_amounts_are_found(low, high, says):
    scorer = MoneyRange(low="expected.l", high="expected.h")
    assert scorer.check(Case("c", expected={"l": low, "h": high})) == says


def test_a_true_era_may_be_text():
    scorer = YearRange(answer="", expected="expected.era")
    assert scorer.read("1956-1991", Case("c", expected={"era": "1956-present"})).value == 0.5
    assert "no range of years" in scorer.check(Case("c", expected={"era": "old"}))


def test_two_fields_of_an_answer_make_the_range():
    case = Case("c", expected={"l": 300000, "h": 800000, "s": 1890, "e": 1910})
    money = MoneyRange(low="expected.l", high="expected.h", unit="cents", answer_low="lo", answer_high="hi")
    assert money.read({"lo": 500000, "hi": 900000}, case).value == pytest.approx(0.6)
    assert money.read({"lo": "$5,000", "hi": "$9k"}, case).value == pytest.approx(0.6)
    assert money.read({"lo": 500000}, case).value == 0
    assert money.read({"lo": 900000, "hi": 500000}, case).value == 0
    assert money.truth_at(case) == {"lo": 300000, "hi": 800000}
    assert money.widest_at() == {"lo": 0, "hi": 10**15}
    years = YearRange(start="expected.s", end="expected.e", answer_start="from", answer_end="to")
    assert years.read({"from": 1900, "to": 1920}, case).value == 0.5
    assert years.truth_at(case) == {"from": 1890, "to": 1910}


def test_text_estimates_are_compared_in_the_truths_unit():
    case = Case("c", expected={"l": 300000, "h": 800000})
    scorer = MoneyRange(answer="", low="expected.l", high="expected.h", unit="cents", currency="USD")
    assert scorer.read("$5k–9k", case).value == pytest.approx(0.6)
    reading = scorer.read("€5k–9k", case)
    assert (reading.value, reading.note) == (0.0, "the amount is in EUR, not in USD")
    assert reading.expected == "300,000 to 800,000 cents"
