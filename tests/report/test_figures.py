"""One spelling for every number."""

import pytest

from steelyard.report import format as fmt
from steelyard.stats.intervals import Estimate


@pytest.mark.parametrize(
    ("fraction", "text"),
    [
        (0.8541, "85.4 %"),
        (0.0, "0.0 %"),
        (1.0, "100.0 %"),
        (None, "n/a"),
        (float("nan"), "n/a"),
        (0.85449, "85.4 %"),
        (0.8545, "85.5 %"),  # 0.8545 * 100 is just below 85.45 in binary; a person rounds it up
    ],
)
def test_a_fraction_is_a_percentage(fraction, text):
    assert fmt.percent(fraction) == text


def test_one_failure_in_a_million_does_not_read_as_perfect():
    assert fmt.percent(999_999 / 1_000_000) == ">99.9 %"


def test_one_pass_in_a_million_does_not_read_as_nothing():
    assert fmt.percent(1 / 1_000_000) == "<0.1 %"


def test_a_value_just_short_of_its_threshold_does_not_look_equal_to_it():
    # 0.8996 would print as 90.0 % beside a threshold of 90.0 %
    assert fmt.distinguished(0.8996, "share", 0.9) == "89.96 %"
    assert fmt.distinguished(0.9, "share", 0.9) == "90.0 %"


def test_a_figure_carries_interval_n_and_missing():
    assert fmt.with_base(Estimate(0.8541, 48, 2, 0.7812, 0.9104)) == "85.4 % [78.1, 91.0] n 48, 2 missing"
    assert fmt.with_base(Estimate(0.8541, 1)) == "85.4 % n 1"
    assert fmt.with_base(Estimate(None, 0, 2)) == "n/a n 0, 2 missing"


def test_the_pass_rate_names_its_threshold():
    # 38 of 50; Wilson 95 %: 0.626 to 0.857 (R: binom::binom.wilson(38, 50))
    rate = Estimate(0.76, 50, 0, 0.6259, 0.8570)
    assert fmt.pass_rate(rate, "score >= 75 %") == "76.0 % (score >= 75 %) [62.6, 85.7] n 50"
    assert fmt.pass_rate(Estimate(1.0, 1), "score >= 75 %") == "100.0 % (score >= 75 %) n 1"


def test_without_a_threshold_there_is_no_pass_rate():
    assert "n/a" in fmt.pass_rate(Estimate(None, 0, 3), "")
    assert "declares no pass threshold" in fmt.pass_rate(Estimate(None, 0, 3), "")


def test_an_undefined_interval_is_said_to_be_none():
    assert fmt.interval(Estimate(0.5, 1)) == "undefined"
    assert fmt.interval(Estimate(0.5, 2)) == "no interval"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "n/a"),
        (0.0, "0 ms"),
        (0.0004, "<1 ms"),
        (0.014, "14 ms"),
        (0.9996, "1.00 s"),
        (1.25, "1.25 s"),
        (18.12, "18.1 s"),
        (185.2, "3 min 05 s"),
    ],
)
def test_durations(value, text):
    assert fmt.seconds(value) == text


@pytest.mark.parametrize(
    ("value", "text"), [(None, "n/a"), (0.0, "0.00"), (12.5, "12.50"), (0.0001842, "0.000184"), (1234.5, "1,234.50")]
)
def test_money(value, text):
    assert fmt.money(value) == text


def test_units_of_gates():
    assert fmt.in_unit(17.0, "count") == "17"
    assert fmt.in_unit(0.6, "score") == "60.0 %"
    assert fmt.in_unit(1.5, "s") == "1.50 s"
    assert fmt.in_unit(12345.0, "tokens") == "12,345 tokens"
    assert fmt.in_unit(None, "count") == "n/a"


def test_a_component_on_another_scale_is_not_called_a_percentage():
    assert fmt.on_scale(3.824, (1.0, 5.0)) == "3.82 of 1..5"
    assert fmt.on_scale(0.5) == "50.0 %"


def test_a_band_says_how_many_samples_its_share_is():
    assert fmt.band_count(Estimate(29 / 49, 49)) == "29 of 49"
    assert fmt.band_count(Estimate(None, 0, 2)) == "0 of 0"
