"""Tests and bounds that hold however often one looks at differences as they come."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from steelyard.frozen import frozen
from steelyard.stats.arrays import Array

ALPHA = 0.05
FEWEST_WITHOUT_ENDS = 50
"""Differences without ends that an interval takes: with fewer it would hold too seldom, as simulations show."""
_MOST_CARRIED = 0.15
"""Lyapunov's ratio, which is 1 / sqrt(k) where k of many values are not 0 and alike, up to which a mean is taken to be
normal at every look: with 97 % of 0 in arms of 9 : 1 a difference was shown in 8 to 34 % of null experiments without
this limit, and in none of 600 with it, most of which it refused an interval. A test that is read once may take twice
as much."""
_LEAST_PLANNED = 300
"""A sequence that is tightest earlier than here is too short for skewed differences: it missed 8 % instead of 5."""
_BOLDEST = 0.75
"""The largest part of the capital that one difference may cost."""
_STAKES = 13
"""Stakes in the mixture, each half of the one before: the smallest suits a difference of a few ten thousandths."""
_HALVINGS = 45
"""Of the scale, until the end of an interval is found: less than what is left is rounding."""


def _mixture() -> tuple[Array, Array]:
    """Stakes as parts of the largest one allowed, and the logarithms of what of the capital is set on each."""
    number = np.arange(_STAKES)
    shares = 1 / ((number + 1) * (number + 2))
    return 0.5**number, np.log(shares / shares.sum())


@frozen
class Sequential:
    """What may be said of a mean difference after looking at it all the time; None for what is undefined."""

    low: float | None
    high: float | None
    p: float | None = None
    """Valid at any time: the chance, were there no difference, ever to see as much as was seen."""
    decided_at: int | None = None
    """After how many differences 0 was outside for the first time, or all that counts as same was shown."""


class Bet:
    """The capital of two gamblers who bet that a mean is above, or below, a value between 0 and 1.

    If the mean is that value, neither can be expected to win: capital above 1 / alpha shows that it is not.
    """

    def __init__(self, value: float) -> None:
        self._value = value
        stakes, shares = _mixture()
        self._stakes = np.stack([stakes * _BOLDEST / value, -stakes * _BOLDEST / (1 - value)])
        self._logs = np.stack([shares, shares]) + math.log(0.5)
        self._most = np.full(2, math.log(0.5))

    def add(self, x: float) -> None:
        """One more observation."""
        self._logs += np.log1p(self._stakes * (x - self._value))
        np.maximum(self._most, np.logaddexp.reduce(self._logs, axis=1), out=self._most)

    @property
    def is_above(self) -> bool:
        """True once the mean is shown to be above the value."""
        return bool(self._most[0] >= -math.log(ALPHA))

    @property
    def is_below(self) -> bool:
        """True once the mean is shown to be below the value."""
        return bool(self._most[1] >= -math.log(ALPHA))


class Watch:
    """Looks at differences between -1 and 1 as they come, and says when they have decided.

    `same_within` is how far from 0 the mean may be and still count as the same; None when nothing but 0 does.
    """

    def __init__(self, same_within: float | None = None) -> None:
        self.n = 0
        self.decided_at: int | None = None
        self._none = Bet(0.5)
        values = _margins(same_within)
        self._margins = None if values is None else (Bet(values[0]), Bet(values[1]))

    def add(self, difference: float) -> bool:
        """Take one more; True when the decision has fallen, now or before."""
        if self.decided_at is not None:
            return True
        x = (max(-1.0, min(1.0, difference)) + 1) / 2
        for bet in (self._none, *(self._margins or ())):
            bet.add(x)
        self.n += 1
        same = self._margins is not None and self._margins[0].is_above and self._margins[1].is_below
        if self._none.is_above or self._none.is_below or same:
            self.decided_at = self.n
        return self.decided_at is not None


def _margins(same_within: float | None) -> tuple[float, float] | None:
    """What counts as the same, on the scale from 0 to 1."""
    if same_within is None or not 0 < same_within < 1:
        return None
    return (1 - same_within) / 2, (1 + same_within) / 2


def sequential_mean(differences: Array, same_within: float | None = None) -> Sequential:
    """The always-valid interval and p-value of the mean of differences between -1 and 1, in the order they came.

    The interval is what is left after all looks that mattered: those at which something was shown, and the last.
    """
    if len(differences) < 2:
        return Sequential(None, None)
    x = _scaled(differences)
    above, below = _paths(x, 0.5)
    not_none = _first_shown(np.maximum(above, below))
    sides: list[int | None] = []
    values = _margins(same_within)
    if values is not None:
        sides = [_first_shown(_paths(x, values[0])[0]), _first_shown(_paths(x, values[1])[1])]
    shown = [moment for moment in (not_none, *sides) if moment is not None]
    decisive = [] if not_none is None else [not_none]
    if sides and None not in sides:
        decisive.append(max(shown[-2:]))
    low, high = _left(differences, shown)
    p = min(1.0, math.exp(-float(max(above.max(), below.max()))))
    return Sequential(low, high, p, min(decisive, default=None))


def _left(differences: Array, moments: list[int]) -> tuple[float, float]:
    """What the intervals of these moments, the earliest first, and of the last have in common."""
    low, high = -1.0, 1.0
    for n in (*sorted(moments), len(differences)):
        then = betting_interval(differences[:n])
        both = max(low, then[0]), min(high, then[1])
        if both[0] > both[1]:
            # Only when the differences of later are of another kind than those that decided.
            break
        low, high = both
    return low, high


def _paths(x: Array, value: float) -> tuple[Array, Array]:
    """The logarithms of what each gambler owns after every observation."""
    results = []
    for most in (_BOLDEST / value, -_BOLDEST / (1 - value)):
        path = np.full(len(x), -np.inf)
        for stake, share in zip(*_mixture(), strict=True):
            np.logaddexp(path, share + np.cumsum(np.log1p(stake * most * (x - value))), out=path)
        results.append(path + math.log(0.5))
    return results[0], results[1]


def _first_shown(path: Array) -> int | None:
    shown = np.flatnonzero(path >= -math.log(ALPHA))
    return int(shown[0]) + 1 if len(shown) else None


def betting_interval(differences: Array) -> tuple[float, float]:
    """The 95 % confidence sequence of a mean of differences between -1 and 1, as it is after all of them."""
    # The order does not matter, so that equal differences are worked out once.
    x, counts = np.unique(_scaled(differences), return_counts=True)
    stakes, shares = _mixture()
    needed = -math.log(ALPHA) + math.log(2)

    def owns(mean: float, most: float) -> float:
        logs = np.log1p(most * stakes[:, None] * (x - mean)) @ counts
        return float(np.logaddexp.reduce(shares + logs))

    # What a gambler on "above" owns falls the higher the mean is that he bets against: one end each.
    low = interval_end(lambda mean: owns(mean, _BOLDEST / mean) >= needed, 0.0, 1.0)
    high = interval_end(lambda mean: owns(mean, -_BOLDEST / (1 - mean)) >= needed, 1.0, 0.0)
    return 2 * low - 1, 2 * high - 1


def interval_end(excluded: Callable[[float], bool], outside: float, inside: float, halvings: int = _HALVINGS) -> float:
    """The end of an interval: the last value, coming from `outside`, that is excluded; rounded outwards."""
    for _ in range(halvings):
        middle = (outside + inside) / 2
        if excluded(middle):
            outside = middle
        else:
            inside = middle
    return outside


def _scaled(differences: Array) -> Array:
    scaled: Array = (np.clip(differences.astype(float), -1.0, 1.0) + 1) / 2
    return scaled


def asymptotic_mean(differences: Array, planned: int) -> Sequential:
    """The always-valid interval of a mean of differences without ends, tightest at the planned number of them.

    Undefined below `FEWEST_WITHOUT_ENDS`, without spread, and where few differences carry the mean.
    """
    n = len(differences)
    if n < FEWEST_WITHOUT_ENDS or carried_by_few(differences):
        return Sequential(None, None)
    mean, spread = float(differences.mean()), float(differences.std(ddof=1))
    half = spread * mixture_radius(n, planned)
    return Sequential(mean - half, mean + half)


def carried_by_few(values: Array, *, looks: bool = True) -> bool:
    """Whether so few values carry a mean that it cannot be taken to be normal; True without any spread.

    `looks` tells that it is looked at all the time, and not once.
    """
    apart = np.abs(values - values.mean())
    squares = float((apart**2).sum())
    return not squares > 0 or float((apart**3).sum()) > (1 if looks else 2) * _MOST_CARRIED * squares**1.5


def mixture_radius(n: int, planned: int) -> float:
    """Half the width of the normal mixture's sequence after `n`, in standard deviations."""
    square = (-2 * math.log(ALPHA) + math.log(1 - 2 * math.log(ALPHA))) / max(planned, _LEAST_PLANNED)
    grown = n * square + 1
    return math.sqrt(2 * grown / (n * n * square) * math.log(math.sqrt(grown) / ALPHA))
