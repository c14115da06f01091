"""Whether counts are as they were meant: the shares of arms, and rows and columns that have nothing to do with each
other."""

from __future__ import annotations

from collections.abc import Sequence

from steelyard.stats.distributions import binomial_below, chi_square_above, incomplete_beta

MISMATCH = 0.001
"""A p-value below this is a mismatch (Fabijan and others, KDD 2019)."""


def ratio_p(counts: Sequence[int], shares: Sequence[float]) -> float | None:
    """The p-value of these counts under the meant shares; None when there is nothing to test."""
    total, whole = sum(counts), sum(shares)
    expected = [total * share / whole for share in shares]
    if total == 0 or min(expected) <= 0 or len(counts) < 2:
        return None
    if len(counts) == 2:
        return _binomial_p(counts[0], total, shares[0] / whole)
    square = sum((count - meant) ** 2 / meant for count, meant in zip(counts, expected, strict=True))
    return chi_square_above(square, len(counts) - 1)


def _binomial_p(count: int, total: int, share: float) -> float:
    """Twice the smaller tail."""
    above = incomplete_beta(count, total - count + 1, share) if count else 1.0
    return min(1.0, 2 * min(binomial_below(count, total, share), above))


def independence_p(table: Sequence[Sequence[int]]) -> float | None:
    """The p-value of rows and columns of counts having nothing to do with each other; None without two of each."""
    rows = [sum(row) for row in table]
    columns = [sum(column) for column in zip(*table, strict=True)]
    total = sum(rows)
    if sum(1 for n in rows if n) < 2 or sum(1 for n in columns if n) < 2:
        return None
    square = sum(
        (count - row * column / total) ** 2 / (row * column / total)
        for row, counts in zip(rows, table, strict=True)
        for column, count in zip(columns, counts, strict=True)
        if row and column
    )
    freedom = (sum(1 for n in rows if n) - 1) * (sum(1 for n in columns if n) - 1)
    return chi_square_above(square, freedom)
