"""How long simulations and property tests are: short in `make test`, at full length in `make test-long`."""

from __future__ import annotations

from hypothesis import settings

_at_full_length = False


def set_length(*, full: bool) -> None:
    """Choose the length before tests are collected; what hypothesis draws in the short pass is the same every time."""
    global _at_full_length
    _at_full_length = full
    # A deadline is a timed assertion: on a busy machine, or where a first call imports scipy, it fails for no reason.
    settings.register_profile("full", deadline=None, max_examples=100, derandomize=False)
    settings.register_profile("short", deadline=None, max_examples=examples(100), derandomize=True, database=None)
    settings.load_profile("full" if full else "short")


def simulations(full: int, short: int) -> int:
    """How many simulations to run; their limits must hold for both numbers, by the binomial error of the number used.

    A test that calls this is marked `simulation`, or `make test-long` does not run it.
    """
    return full if _at_full_length else short


def slack(rate: float, n: int, errors: float = 2.0) -> float:
    """By how much a rate seen in `n` simulations may be off: so many binomial standard errors."""
    return errors * (rate * (1 - rate) / n) ** 0.5


def examples(full: int) -> int:
    """How many examples hypothesis draws: a fifth in the short pass, and five at least."""
    return full if _at_full_length else max(5, full // 5)
