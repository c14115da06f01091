"""Which method to believe: by held-out labels, and by gold items."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from steelyard.frozen import frozen
from steelyard.people.crowd import (
    DAWID_SKENE,
    MAJORITY,
    METHODS,
    NEARLY_CONVERGED,
    TIED,
    Aggregation,
    CrowdLabels,
    aggregate,
    expected_counts,
    fitted,
    posterior_of,
    starts_of,
)
from steelyard.people.dependent_people import DependentGroup, dependent_groups, merge
from steelyard.people.person_quality import share_estimate
from steelyard.stats.arrays import Array
from steelyard.stats.intervals import Estimate, Z
from steelyard.stats.paired import paired_mean
from steelyard.stats.resampling import SEED

SHRINKAGES = (0.0, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0)
"""What `choose` tries. No single one is right: on public sets the best one for Dawid-Skene is from 2 to 20."""
FOLDS = 10
ENOUGH_HELD_OUT = 20_000
"""From so many held-out labels on, further folds would tell nothing new."""
FEWEST_HELD_OUT = 20
"""Fewer held-out labels do not choose a method: by a few, one person is always right and another never."""
_LEAST_CHANCE = 1e-10
"""A held-out label that a method thought impossible counts as this probable: no method is out for one label."""
_ROUNDS_TO_ZERO = 0.0005
"""A difference below this is printed as 0.000, and is never called one."""


@frozen
class MethodScore:
    """How well one method does."""

    method: str
    shrinkage: float
    """The least that predicts held-out labels within a standard error of the best, and keeps the classes' meaning."""
    held_out: Estimate
    """The mean log-probability (in nats) of a label that was held out, by the item's other labels; 0 is the best."""
    gold: Estimate
    """The share of gold items with the right winner; a tie counts in part."""
    against_majority: Estimate
    """`held_out` minus that of majority."""
    gold_against_majority: Estimate
    n_different: int
    """Labeled items whose winner is not the majority's."""
    keeps_classes: bool
    """Whether people choose each class more often than any other where it is true. Held-out labels do not depend on
    what classes are called: a model in which one stands for another may predict them well, and is never chosen."""


@frozen(eq=False)
class MethodChoice:
    """The method that is to be believed, and why."""

    scores: tuple[MethodScore, ...]
    """In the order of METHODS."""
    chosen: Aggregation
    dawid_skene_worse: bool | None
    """Whether Dawid-Skene is worse than majority beyond noise, on held-out labels or on gold items; None: not tested.
    """
    message: str
    voters: CrowdLabels
    """The labels that were aggregated: a dependent group has those of one person."""
    dependent: tuple[DependentGroup, ...] = ()

    def score(self, method: str) -> MethodScore:
        return next(score for score in self.scores if score.method == method)


def choose(labels: CrowdLabels, *, gold: Array | None = None, shrinkage: float | None = None) -> MethodChoice:
    """The method, and its shrinkage, under which held-out labels are most probable.

    It is majority unless another one predicts them better beyond noise and is not right on fewer gold items beyond
    noise. `gold` has the true class of each item, -1 where it is not known; `shrinkage` fixes what is tried.
    """
    dependent = dependent_groups(labels)
    voter = np.arange(labels.n_people)
    for group in dependent:
        voter[list(group.people)] = group.people[0]
    voters = merge(labels, voter) if dependent else labels
    tried = SHRINKAGES if shrinkage is None else (shrinkage,)
    chances, item = _held_out(voters, tried)
    fits = {method: _least_shrunk(voters, method, chances, item) for method in METHODS}
    predicted = {method: chances[method, fit.shrinkage] for method, fit in fits.items()}
    right = {method: _right(fit, gold) for method, fit in fits.items()}
    n_gold, labeled = len(right[MAJORITY]), voters.votes().any(axis=0)
    scores = tuple(
        MethodScore(
            method,
            fits[method].shrinkage,
            _mean(predicted[method], item),
            share_estimate(float(right[method].sum()), n_gold, n_gold),
            _mean(predicted[method] - predicted[MAJORITY], item),
            _mean(right[method] - right[MAJORITY], np.arange(n_gold), 1.0),
            int((labeled & (fits[method].winner != fits[MAJORITY].winner)).sum()),
            _keeps_classes(voters, fits[method]),
        )
        for method in METHODS
    )
    best, tested = scores[METHODS.index(MAJORITY)], scores[METHODS.index(DAWID_SKENE)]
    refuted = [score.method for score in scores if _sign(score.gold_against_majority) < 0]
    if tested.held_out.n >= FEWEST_HELD_OUT:
        better = [score for score in scores if score.keeps_classes and _sign(score.against_majority) > 0]
        better = [score for score in better if score.method not in refuted]
        best = max(better, key=lambda score: _value(score.held_out), default=best)
    worse = _sign(tested.against_majority) < 0 or DAWID_SKENE in refuted
    about = [best] if best.method != MAJORITY else []
    about += [tested] if tested not in about else []
    message = " ".join(
        (
            _reason(best, refuted, [score.method for score in scores if not score.keeps_classes]),
            *(sentence for score in about for sentence in _compared(score)),
            *_unsettled(best, int(labeled.sum())),
        )
    )
    chosen = replace(fits[best.method], confusion=fits[best.method].confusion[voter])
    worse_or_not = worse if tested.held_out.n + tested.gold.n else None
    return MethodChoice(scores, chosen, worse_or_not, message, voters, dependent)


def _least_shrunk(
    labels: CrowdLabels, method: str, chances: dict[tuple[str, float], Array], item: Array
) -> Aggregation:
    """The fit with the least shrinkage that predicts held-out labels within one standard error of the best.

    Only fits that keep the classes count, if there are any: see `MethodScore.keeps_classes`.
    """
    fits = {shrinkage: aggregate(labels, method, shrinkage=shrinkage) for of, shrinkage in chances if of == method}
    named = {shrinkage: fit for shrinkage, fit in fits.items() if _keeps_classes(labels, fit)} or fits
    if not len(item):
        return named[min(named)]
    means = {shrinkage: _mean(chances[method, shrinkage], item) for shrinkage in named}
    best = max(means.values(), key=_value)
    error = 0.0 if best.low is None or best.high is None else (best.high - best.low) / (2 * Z)
    return named[min(shrinkage for shrinkage, mean in means.items() if _value(mean) >= _value(best) - error)]


def _value(estimate: Estimate) -> float:
    return -np.inf if estimate.value is None else estimate.value


def _keeps_classes(labels: CrowdLabels, fit: Aggregation) -> bool:
    """Whether, of each class that is the winner somewhere, people choose that class more often than any other."""
    counts = expected_counts(labels, fit.posterior.T).sum(axis=0)
    occurs = np.isin(np.arange(labels.n_classes), fit.winner)
    return bool((counts[occurs].argmax(axis=1) == np.flatnonzero(occurs)).all())


def _held_out(labels: CrowdLabels, shrinkages: tuple[float, ...]) -> tuple[dict[tuple[str, float], Array], Array]:
    """The log-probability by each method and shrinkage of labels that were held out, and the item of each.

    The labels of an item are in different folds as far as that goes, so that most others remain to predict from.
    Labels of items that nobody else labelled are not predicted: nothing is known of these items.
    """
    starts = starts_of(labels.item)
    sizes = np.diff(np.append(starts, len(labels)))
    offset = np.random.default_rng(SEED).integers(0, FOLDS, len(starts))
    fold = (np.arange(len(labels)) - np.repeat(starts - offset, sizes)) % FOLDS
    shared = labels.shared()
    tried = [(method, shrinkage) for method in METHODS for shrinkage in shrinkages if method != MAJORITY]
    chances: dict[tuple[str, float], list[Array]] = {key: [] for key in [(MAJORITY, 0.0), *tried]}
    items: list[Array] = []
    for number in range(FOLDS):
        if sum(map(len, items)) >= ENOUGH_HELD_OUT:
            break
        rest, tested = labels.part(fold != number), labels.part((fold == number) & shared)
        if len(rest) and len(tested):
            items.append(tested.item)
            for method, shrinkage in chances:
                chances[method, shrinkage].append(_log_chances(rest, tested, method, shrinkage))
    return (
        {key: np.concatenate((np.empty(0), *parts)) for key, parts in chances.items()},
        np.concatenate((np.empty(0, dtype=int), *items)),
    )


def _log_chances(rest: CrowdLabels, tested: CrowdLabels, method: str, shrinkage: float) -> Array:
    """The log-probability of labels that are not among the known ones."""
    fit = fitted(rest, method, shrinkage, NEARLY_CONVERGED)
    total = np.zeros(len(tested))
    for true, chances in enumerate(posterior_of(rest, fit.shares, fit.confusion)[0]):
        total += chances.take(tested.item) * fit.confusion[tested.person, true, tested.value]
    return np.log(np.maximum(total, _LEAST_CHANCE))


def _mean(values: Array, item: Array, widest: float = np.inf) -> Estimate:
    """The mean of values that belong to items, with its interval over items."""
    cluster = np.unique(item, return_inverse=True)[1]
    sums, sizes = np.bincount(cluster, values), np.bincount(cluster).astype(float)
    result = paired_mean(sums, sizes, widest)
    return Estimate(result.difference, len(values), 0, result.low, result.high)


def _right(fit: Aggregation, gold: Array | None) -> Array:
    """For each gold item with labels, 1 when its winner is right, and a part of 1 when it is one of several."""
    if gold is None:
        return np.empty(0)
    available = np.flatnonzero((np.asarray(gold) >= 0) & ((fit.winner >= 0) | fit.tied))
    top = fit.posterior[available] >= fit.posterior[available].max(axis=1, keepdims=True, initial=0.0) - TIED
    return np.asarray(top[np.arange(len(available)), gold[available]] / np.maximum(top.sum(axis=1), 1))


def _sign(difference: Estimate) -> int:
    """1 or -1 for a difference that is above or below 0 beyond noise; 0 else, and where it rounds to 0."""
    if difference.value is None or abs(difference.value) < _ROUNDS_TO_ZERO:
        return 0
    return ((difference.low or 0.0) > 0) - (difference.high is not None and difference.high < 0)


def _reason(best: MethodScore, refuted: list[str], renamed: list[str]) -> str:
    n = best.held_out.n
    if not n:
        return "majority: no item has labels of two people, so that nothing says which method is best."
    if n < FEWEST_HELD_OUT:
        return f"majority: {n} labels of items that two people labelled are too few to choose a method by."
    excluded = (
        (refuted, "right on fewer gold items than majority"),
        (renamed, "using a class in the place of another"),
    )
    but = "".join(
        f" but for {' and '.join(methods)}, which {'is' if len(methods) == 1 else 'are'} {why}"
        for methods, why in excluded
        if methods
    )
    if best.method == MAJORITY:
        return f"majority: no method predicts held-out labels better{but} ({_of(best.held_out, ' nats a label')})."
    shrunk = f" with shrinkage {best.shrinkage:g}" if best.shrinkage else ""
    return f"{best.method}{shrunk} predicts held-out labels best{but} ({_of(best.held_out, ' nats a label')})."


_BETTER_WORSE_ALIKE = {
    " nats": ("predicts held-out labels", "better than", "WORSE than", "about as well as"),
    "": ("is right on", "more gold items than", "FEWER gold items than", "about as many gold items as"),
}


def _compared(score: MethodScore) -> Iterator[str]:
    """How a method compares with majority; nothing where nothing is known."""
    for difference, unit in ((score.against_majority, " nats"), (score.gold_against_majority, "")):
        what, better, worse, alike = _BETTER_WORSE_ALIKE[unit]
        how = (alike, better, worse)[_sign(difference)]
        if difference.value is not None:
            yield f"{score.method} {what} {how} majority (difference {_of(difference, unit)})."


def _unsettled(best: MethodScore, n_labeled: int) -> Iterator[str]:
    """How far the chosen method could be from the majority, where no gold items show which of them is right."""
    gold = best.gold_against_majority
    if not best.n_different or (gold.low is not None and gold.low > 0):
        return
    share = best.n_different / n_labeled
    differs = f"{best.method} differs from majority on {best.n_different:,} of {n_labeled:,} items"
    if gold.value is None:
        yield (
            f"{differs}: it can be up to {100 * share:.1f} points worse, or better. Held-out labels do not show"
            " which of the two is right: label some of these items yourself, as gold."
        )
    else:
        yield f"{differs}; gold items do not show which of the two is right there."


def _of(estimate: Estimate, unit: str) -> str:
    interval = "" if estimate.low is None else f", 95 % interval {estimate.low:.3f} to {estimate.high:.3f}"
    return f"{estimate.value:.3f}{unit}{interval}, n = {estimate.n:,}"
