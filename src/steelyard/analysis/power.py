"""What a suite can detect: the smallest true change that a paired comparison shows 4 times of 5, and what a smaller one
would take.

The tests are those of `paired_tests`, at 5 %: McNemar's exact one for a pass rate over single samples, else sign flips
over cases, whose power is that of the paired t-test. A change of the average moves all cases alike here; a change of
the pass rate turns some cases for good, while the others change sides by noise as ever.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from steelyard.analysis.intervals import Z, t_quantile
from steelyard.analysis.paired_tests import FEWEST_TO_SHOW, SIGNIFICANT
from steelyard.analysis.pieces import Array
from steelyard.analysis.special import binomial_below_each, binomial_chances, noncentral_t_above
from steelyard.analysis.variance import Spread

POWER = 0.8
REPEATS = (1, 2, 3, 5, 10)
MOST_CASES = 1_000_000
_MOST_REPEATS = 1000
_STEPS = 60
_FAR = 7.0
"""Standard deviations beyond which nothing is counted."""


@dataclass(frozen=True, slots=True)
class Design:
    """So many cases, each asked so often."""

    cases: int
    repeats: int


@dataclass(frozen=True, slots=True)
class Needed:
    """What it takes to detect a change; None when no number that anybody could run would do."""

    repeats: int
    cases: int | None


@dataclass(frozen=True, slots=True)
class PowerFigures:
    """What a suite can detect, from its own runs."""

    suite: str
    metric: str
    """pass_rate or average."""
    runs: tuple[str, ...]
    """Newest first."""
    left_out: dict[str, int]
    """Runs that were not used, by reason."""
    spread: Spread
    now: float | None
    """The smallest change that the newest run's cases and repeats detect; None when they could show none."""
    at_worst: bool
    """True when nothing tells how much a case changes by noise: `now` is then what runs would detect that had nothing
    in common."""
    table: tuple[tuple[Design, float | None], ...]
    """Cases and repeats with the smallest change that they detect."""
    detect: float | None = None
    needed: tuple[Needed, ...] = ()
    """By repeats, the cases that it takes to detect `detect`."""
    repeats_needed: int | None = None
    """With as many cases as now; None when no number of repeats would do, or nobody knows."""


def power(spread: Spread, design: Design, change: float, *, rate: bool) -> float | None:
    """How often a true change is shown; None when nobody knows how much a case changes by noise."""
    noise = spread.of_difference(design.repeats)
    if noise is None:
        return None
    return _power(noise, design, change, rate=rate, single=design.repeats * spread.variants == 1)


def smallest(spread: Spread, design: Design, *, rate: bool) -> float | None:
    """The smallest change that is shown 4 times of 5; None when none is, or nobody knows."""
    noise = spread.of_difference(design.repeats)
    return None if noise is None else smallest_of(noise, design, rate=rate, single=_single(spread, design))


def smallest_of(noise: float, design: Design, *, rate: bool, single: bool) -> float | None:
    """As `smallest`, for a variance of a case's change that is known."""
    if _power(noise, design, 1.0, rate=rate, single=single) < POWER:
        return None
    low, high = 0.0, 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if _power(noise, design, middle, rate=rate, single=single) < POWER:
            low = middle
        else:
            high = middle
    return high


def cases_needed(spread: Spread, repeats: int, change: float, *, rate: bool) -> int | None:
    """The fewest cases, each asked `repeats` times, that show the change 4 times of 5; None beyond a million."""
    low, high = 1, FEWEST_TO_SHOW
    while (reached := power(spread, Design(high, repeats), change, rate=rate)) is not None and reached < POWER:
        low, high = high, 2 * high
        if high > MOST_CASES:
            return None
    if reached is None:
        return None
    while high - low > 1:
        middle = (low + high) // 2
        enough = (power(spread, Design(middle, repeats), change, rate=rate) or 0.0) >= POWER
        low, high = (low, middle) if enough else (middle, high)
    return high


def repeats_needed(spread: Spread, cases: int, change: float, *, rate: bool) -> int | None:
    """The fewest repeats of so many cases that show the change; None when even a thousand do not, or nobody knows."""
    if spread.within is None:
        return None
    if (power(spread, Design(cases, _MOST_REPEATS), change, rate=rate) or 0.0) < POWER:
        return None
    low, high = 0, _MOST_REPEATS
    while high - low > 1:
        middle = (low + high) // 2
        enough = (power(spread, Design(cases, middle), change, rate=rate) or 0.0) >= POWER
        low, high = (low, middle) if enough else (middle, high)
    return high


def designs(spread: Spread) -> list[Design]:
    """Today's cases, twice, five and ten times as many, by repeats; only today's repeats when nobody knows what others
    would do."""
    repeats = sorted({*REPEATS, spread.repeats}) if spread.within is not None else [spread.repeats]
    return [Design(times * spread.n_cases, each) for each in repeats for times in (1, 2, 5, 10)]


def _single(spread: Spread, design: Design) -> bool:
    return design.repeats * spread.variants == 1


def _power(noise: float, design: Design, change: float, *, rate: bool, single: bool) -> float:
    if design.cases < FEWEST_TO_SHOW:
        return 0.0
    if rate and single:
        return _mcnemar(noise, design.cases, change)
    variance = (noise + change) * (1 - change) if rate else noise
    if variance <= 0:
        return 1.0 if change > 0 else 0.0
    return _paired_t(change / math.sqrt(variance / design.cases), design.cases)


def _paired_t(shift: float, cases: int) -> float:
    """The power of the paired t-test when the difference is `shift` standard errors."""
    df, point = cases - 1, t_quantile(cases - 1)
    return noncentral_t_above(point, df, shift)


def _mcnemar(noise: float, cases: int, change: float) -> float:
    """The power of McNemar's exact test: `change` is the share of cases that turn for good, `noise` that of the others
    that change sides by chance, half each way."""
    changing = min(1.0, noise * (1 - change) + change)
    if changing <= 0:
        return 0.0
    spread = math.sqrt(cases * changing * (1 - changing))
    first, last = (round(cases * changing + way * (_FAR * spread + 1)) for way in (-1, 1))
    n = np.arange(max(FEWEST_TO_SHOW, first), min(cases, last) + 1, dtype=float)
    if not len(n):
        return 0.0
    weights = binomial_chances(n, cases, changing) if changing < 1 else (n == cases).astype(float)
    return float(weights @ binomial_below_each(_most_against(n), n, (1 - change / changing) / 2))


def _most_against(n: Array) -> Array:
    """Of numbers of cases that changed, one after another, the most that may have changed the other way: fewer than
    2.5 % are so few when both ways are equally likely."""
    # The normal distribution tells it to within one.
    guess = np.maximum(np.floor((n - Z * np.sqrt(n) - 1) / 2), 0.0)
    below = binomial_below_each(guess, n, 0.5)
    more = below + binomial_chances(guess + 1, n, 0.5)
    most: Array = guess - (below >= SIGNIFICANT / 2) + (more < SIGNIFICANT / 2)
    return most
