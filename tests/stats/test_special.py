"""Distribution functions against scipy.special over wide grids."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special, stats

from parts.looped import for_every
from steelyard.stats.distributions import (
    binomial_below,
    binomial_below_each,
    binomial_chances,
    chi_square_above,
    incomplete_beta,
    noncentral_t_above,
)
from steelyard.stats.intervals import t_quantile, t_two_sided

close = {"rel": 1e-9, "abs": 1e-300}


@for_every("a", [0.5, 1, 3.7, 20, 1000, 123_456.5, 10**6])
@for_every("b", [0.5, 1, 15, 16.5, 400, 10**6])
def test_the_incomplete_beta_function(a: float, b: float) -> None:
    mean, spread = a / (a + b), np.sqrt(a * b / (a + b + 1)) / (a + b)
    for x in np.clip(mean + spread * np.linspace(-8, 8, 17), 1e-9, 1 - 1e-9).tolist():
        assert incomplete_beta(a, b, x) == pytest.approx(special.betainc(a, b, x), **close)


@for_every("n", [1, 2, 7, 30, 1000, 10**6])
@for_every("share", [0.001, 0.3, 0.5, 0.99])
def test_binomial_chances(n: int, share: float) -> None:
    spread = np.sqrt(n * share * (1 - share))
    counts = np.unique(np.clip(np.round(n * share + spread * np.linspace(-7, 7, 15)), 0, n))
    for most in counts.astype(int).tolist():
        # `bdtr` itself is exact to 7e-9 alone for a million.
        expected = special.betaincc(most + 1, n - most, share) if most < n else 1.0
        assert binomial_below(most, n, share) == pytest.approx(expected, **close)
    # Exact to 1e-9 as well; `binom.pmf` is by Boost.
    assert binomial_chances(counts, n, share) == pytest.approx(stats.binom.pmf(counts, n, share), **close)


@pytest.mark.parametrize(("first", "share"), [(6, 0.5), (6, 0.02), (900, 0.4), (10**5, 0.47)])
def test_binomial_chances_of_growing_numbers(first: int, share: float) -> None:
    n = np.arange(first, first + 3000.0)
    most = np.floor(n * share)
    expected = special.betaincc(most + 1, n - most, share)
    assert binomial_below_each(most, n, share) == pytest.approx(expected, rel=1e-9, abs=1e-12)


@for_every("share", [0.0, 1.0])
def test_binomial_chances_of_what_always_or_never_happens(share: float) -> None:
    # `power` asks so of runs in which every case may move.
    for most, n in ((4.0, 30.0), (30.0, 30.0), (4.0, 3.0)):
        expected = stats.binom.cdf(most, n, share)
        assert binomial_below_each(np.array([most]), np.array([n]), share) == pytest.approx([expected])


@for_every("df", [1, 2, 3, 4, 9, 50, 301])
@for_every("square", [0, 1e-6, 0.1, 1, 4.7, 30, 250, 900])
def test_the_chi_square_distribution(df: int, square: float) -> None:
    assert chi_square_above(square, df) == pytest.approx(special.chdtrc(df, square), **close)


@for_every("df", [1, 2.62, 7.7, 99.5, 100.5, 1234.5, 10**6, 3.3e7])
def test_students_t_with_any_degrees_of_freedom(df: float) -> None:
    for t in (1e-9, 1e-4, 0.3, 1.0, 2.5, 8.0, 30.0):
        assert t_two_sided(t, df) == pytest.approx(2 * special.stdtr(df, -t), **close)
    for tail in (0.25, 0.025, 0.005, 1e-4, 1e-6):
        assert t_quantile(df, tail) == pytest.approx(-special.stdtrit(df, tail), **close)


@for_every("df", [2, 5, 6, 11, 40, 100, 181, 1000, 10**5])
def test_the_noncentral_t_distribution(df: int) -> None:
    point = t_quantile(df)
    for shift in np.linspace(0, point + 5, 12).tolist() if df > 2 else (0.0, 0.5, 2.0):
        expected = 1 - special.nctdtr(df, shift, point)
        assert noncentral_t_above(point, df, shift) == pytest.approx(expected, rel=1e-9, abs=1e-12)
