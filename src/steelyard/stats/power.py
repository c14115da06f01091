"""What a suite can detect: the smallest drop that a paired comparison shows with 80 % power, and what a smaller one
would take.

The tests are those of `paired_tests`, at 5 %: McNemar's exact one for a pass rate over single samples, else sign flips
over units, whose power is that of the paired t-test. A unit is a case, or a cluster of them. A change of the average
moves all cases alike here; a change of the pass rate moves the chance of each to pass, those in the middle farthest,
and of cases whose answers never differ it turns some for good.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from statistics import NormalDist

import numpy as np

from steelyard.frozen import frozen
from steelyard.stats.arrays import Array
from steelyard.stats.distributions import binomial_below_each, binomial_chances, noncentral_t_above
from steelyard.stats.intervals import Z, t_quantile
from steelyard.stats.paired import FEWEST_TO_SHOW, SIGNIFICANT

POWER = 0.8
REPEATS = (1, 2, 3, 5, 10)
MOST_CASES = 1_000_000
_MOST_REPEATS = 1000
_STEPS = 30
_UNSURE = 1.7
"""By which over the degrees of freedom a variance that is an estimate is taken to be larger, so that 80 % are 80 % on
average: the second derivative of the power by the variance over twice the first, where it is 80 % (1.68)."""
_NODES = 256
_CERTAIN = 0.98
_FAR_ODDS = 30.0
_LEAST_SPREAD = 0.01
_FAR = 7.0
"""Standard deviations beyond which nothing is counted."""


@frozen
class VarianceComponents:
    """The parts of a metric's variance, on its scale of 0 to 1; None for what the runs do not tell."""

    n_runs: int
    n_pairs: int
    """Pairs of runs, one after the other."""
    n_cases: int
    """Of the newest run."""
    repeats: int
    variants: int
    mean: float
    between: float
    """Of the true means of cases or, where they are in clusters, of clusters."""
    within: float | None
    """Of repeats of one case under one variant."""
    response: float | None
    """Of how much cases differ in their change from one run to the next, beyond the noise of repeats."""
    change: float | None
    """Of the observed change of a case (or cluster) from one run to the next, repeats as they were."""
    df: float = math.inf
    """Degrees of freedom of what is known of a change."""
    per_unit: float = 1.0
    """Cases in a cluster, on average."""

    def of_difference(self, repeats: int) -> float | None:
        """The variance of one unit's change between two runs of so many repeats each; None when nobody knows.

        What the response is by the runs, which may be less than nothing, counts: to cut it off at 0 would ask for more
        cases than it takes. But no change varies less than half of what its repeats do.
        """
        if self.within is None:
            return self.change if repeats == self.repeats else None
        noise, now = (2 * self.within / self.answers(item) for item in (repeats, self.repeats))
        return noise if self.change is None else max(noise + self.change - now, noise / 2)

    def answers(self, repeats: int) -> float:
        """How many answers there are of each unit."""
        return repeats * self.variants * self.per_unit

    @property
    def widest(self) -> float:
        """The variance of a change if two runs had nothing in common but their average."""
        return 2 * (self.between + (self.within or 0.0) / self.answers(self.repeats))


@frozen
class Design:
    """So many cases, each asked so often."""

    cases: int
    repeats: int


@frozen
class Needed:
    """What it takes to detect a change; None when no number that anybody could run would do."""

    repeats: int
    cases: int | None


@frozen
class PowerFigures:
    """What a suite can detect, from its own runs."""

    suite: str
    metric: str
    """pass_rate or average."""
    runs: tuple[str, ...]
    """Newest first."""
    left_out: dict[str, int]
    """Runs that were not used, by reason."""
    spread: VarianceComponents
    now: float | None
    """The smallest drop that the newest run's cases and repeats detect; None when they could show none."""
    rise: float | None
    """The smallest rise that they detect: of a high pass rate it is smaller, since a drop adds noise."""
    at_worst: bool
    """True when nothing tells how much a case changes by noise: `now` is then what runs would detect that had nothing
    in common."""
    table: tuple[tuple[Design, float | None], ...]
    """Cases and repeats with the smallest drop that they detect."""
    detect: float | None = None
    """The drop that was asked for."""
    needed: tuple[Needed, ...] = ()
    """By repeats, the cases that it takes to detect `detect`."""
    repeats_needed: int | None = None
    """With as many cases as now; None when no number of repeats would do, or nobody knows."""


def power(spread: VarianceComponents, design: Design, change: float, *, rate: bool, rise: bool = False) -> float | None:
    """How often a true drop, or with `rise` a true rise, is shown; None when the noise is unknown.

    The two differ for a pass rate only: the closer it is to one half, the more single answers vary, so from 80 % a drop
    is harder to show than a rise of the same size. A drop below 0 % or a rise above 100 % ends there.
    """
    noise = spread.of_difference(design.repeats)
    if noise is None:
        return None
    # The noise is itself an estimate: power falls more where there is more of it than it rises where there is less.
    noise *= 1 + _UNSURE / spread.df
    units = int(design.cases / spread.per_unit)
    if not rate:
        return _power(noise, units, change)
    way = min(change, 1 - spread.mean) if rise else -min(change, spread.mean)
    return _power_of_rate(_moves(spread, design.repeats, way), units)


@frozen
class _Moves:
    """Cases by how far their chance to pass moves, each standing for as many as any other."""

    before: Array
    after: Array
    answers: float
    """To each unit."""
    shared: float
    """How much of what moves cases apart moves units apart."""
    extra: float
    """What the change varies by beyond all this: the noise of runs less that of their repeats."""


def _moves(spread: VarianceComponents, repeats: int, way: float) -> _Moves:
    alone = spread.mean * (1 - spread.mean)
    answers = spread.answers(repeats)
    noise = (spread.of_difference(repeats) or 0.0) * (1 + _UNSURE / spread.df)
    within = min(alone, noise * answers / 2 if spread.within is None else spread.within)
    alike = min(1.0, max(0.0, 1 - within / alone)) if alone > 0 else 1.0
    shared = min(1.0, spread.between / (alone - within)) if alone > within else 1.0
    before, after = (chances(mean, alike) for mean in (spread.mean, spread.mean + way))
    return _Moves(before, after, answers, shared + (1 - shared) / spread.per_unit, noise - 2 * within / answers)


@lru_cache(maxsize=256)
def chances(mean: float, alike: float) -> Array:
    """Chances of cases to pass, evenly drawn from the beta distribution with that mean in which two answers to one case
    have the correlation `alike`; 0 and 1 where that is as good as 1."""
    places = (np.arange(_NODES) + 0.5) / _NODES
    if alike > _CERTAIN or not 0 < mean < 1:
        # The share of each node that lies above 1 - mean, so that their mean is exact.
        return np.asarray(np.clip(np.arange(1, _NODES + 1) - _NODES * (1 - mean), 0.0, 1.0))
    if alike < 1 - _CERTAIN:
        return np.full(_NODES, mean)
    entry, other = ((1 - alike) / alike * item for item in (mean, 1 - mean))
    # By its log odds, whose density has no poles: x ** one * (1 - x) ** other.
    odds = np.linspace(-_FAR_ODDS / entry, _FAR_ODDS / other, 8 * _NODES)
    density = -entry * np.logaddexp(0.0, -odds) - other * np.logaddexp(0.0, odds)
    below = np.cumsum(np.exp(density - density.max()))
    # The logarithm of the chance first: exp(-odds) itself exceeds every float where nearly all cases always pass.
    result: Array = np.exp(-np.logaddexp(0.0, -np.interp(places, below / below[-1], odds)))
    return result


def _power_of_rate(moves: _Moves, units: int) -> float:
    """The power of McNemar's exact test over single answers, else that of sign flips over units.

    Their statistic is the sum of all changes over the root of the sum of their squares, which a skewed change makes
    vary less: its mean and spread are by the first four moments of a unit's change (delta method).
    """
    if units < FEWEST_TO_SHOW:
        return 0.0
    p, q, n = moves.before, moves.after, moves.answers
    moved = q - p
    change = abs(float(moved.mean()))
    moved = np.sign(moved.mean()) * (moved.mean() + (moved - moved.mean()) * math.sqrt(moves.shared))
    apart = np.maximum((p * (1 - p) + q * (1 - q)) / n + moves.extra, 0.0)
    skew = np.sign(change) * (q * (1 - q) * (1 - 2 * q) - p * (1 - p) * (1 - 2 * p)) / n**2
    entry = float(moved.mean())
    two, three, four = (
        float(item.mean())
        for item in (
            moved**2 + apart,
            moved**3 + 3 * moved * apart + skew,
            moved**4 + 6 * moved**2 * apart + 4 * moved * skew + 3 * apart**2,
        )
    )
    if n == 1:
        return _mcnemar(min(1.0, max(change, two)), units, change)
    if two <= 0:
        return 0.0
    ratio = entry / math.sqrt(two)
    together, squares = three / two**1.5 - ratio, four / two**2 - 1
    spread = 1 - ratio**2 - ratio * together + ratio**2 * squares / 4
    centre = math.sqrt(units) * ratio - (together / 2 - 3 / 8 * ratio * squares) / math.sqrt(units)
    point = t_quantile(units - 1)
    # Sums of changes come in steps of two answers, and the p-value of one holds all of its own step.
    least = point * math.sqrt(units / (units - 1 + point * point)) + 1 / (n * math.sqrt(units * two))
    shown = NormalDist().cdf((centre - least) / math.sqrt(max(spread, _LEAST_SPREAD)))
    stayed = float(((1 - p) * (1 - q)) ** n @ np.ones(len(p)) + (p * q) ** n @ np.ones(len(p))) / len(p)
    several = 1 - float(binomial_below_each(np.array([FEWEST_TO_SHOW - 1.0]), np.array([units * 1.0]), 1 - stayed)[0])
    return min(shown, several)


def smallest(spread: VarianceComponents, design: Design, *, rate: bool, rise: bool = False) -> float | None:
    """The smallest drop, or rise, that is shown with 80 % power; None when none is, or the noise is unknown."""
    most = (1 - spread.mean if rise else spread.mean) if rate else 1.0
    return _least(lambda change: power(spread, design, change, rate=rate, rise=rise), most)


def smallest_at_worst(spread: VarianceComponents, *, rate: bool, rise: bool = False) -> float | None:
    """As `smallest`, for today's design if two runs had nothing in common but their average."""
    design, alone = Design(spread.n_cases, spread.repeats), spread.mean * (1 - spread.mean)
    if rate and spread.answers(spread.repeats) == 1:
        return smallest(replace(spread, within=alone, between=0.0, df=math.inf), design, rate=rate, rise=rise)
    units = int(design.cases / spread.per_unit)

    def shown(change: float) -> float:
        after = spread.mean + (change if rise else -change)
        # The rate after the change has its own noise.
        grown = after * (1 - after) / alone if rate and alone > 0 else 1.0
        return _power(spread.widest / 2 * (1 + grown), units, change)

    return _least(shown, (1 - spread.mean if rise else spread.mean) if rate else 1.0)


def _least(shown: Callable[[float], float | None], most: float) -> float | None:
    """The smallest change up to `most` that is shown with 80 % power."""
    if (shown(most) or 0.0) < POWER:
        return None
    low, high = 0.0, most
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if (shown(middle) or 0.0) >= POWER else (middle, high)
    return high


def cases_needed(spread: VarianceComponents, repeats: int, change: float, *, rate: bool) -> int | None:
    """The fewest cases, each asked `repeats` times, that show the drop with 80 % power; None beyond a million."""
    low, high = 1, math.ceil(FEWEST_TO_SHOW * spread.per_unit)
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


def repeats_needed(spread: VarianceComponents, cases: int, change: float, *, rate: bool) -> int | None:
    """The fewest repeats of so many cases that show the drop; None when even a thousand do not, or noise is unknown."""
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


def designs(spread: VarianceComponents) -> list[Design]:
    """Today's cases, twice, five and ten times as many, by repeats; only today's repeats when nobody knows what others
    would do."""
    repeats = sorted({*REPEATS, spread.repeats}) if spread.within is not None else [spread.repeats]
    return [Design(times * spread.n_cases, repeat) for repeat in repeats for times in (1, 2, 5, 10)]


def _power(variance: float, units: int, change: float) -> float:
    if units < FEWEST_TO_SHOW:
        return 0.0
    if variance <= 0:
        return 1.0 if change > 0 else 0.0
    return _paired_t(change / math.sqrt(variance / units), units)


def _paired_t(shift: float, cases: int) -> float:
    """The power of the paired t-test when the difference is `shift` standard errors."""
    df, point = cases - 1, t_quantile(cases - 1)
    return noncentral_t_above(point, df, shift)


def _mcnemar(changing: float, cases: int, change: float) -> float:
    """The power of McNemar's exact test: `changing` is the share of cases that change sides, `change` how many more of
    them change one way than the other."""
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
