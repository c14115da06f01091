"""One answer an item out of several people's labels, and how far each person can be relied on.

Labels are columns of codes from 0: item, person, class that the person chose. Four methods, all by expectation
maximisation from vote shares but for the first, differ only in what they let a person's confusion matrix be:

- majority: everybody alike; the class with most votes. A tie is a tie: it has no winner.
- Dawid-Skene (1979): any matrix.
- one-coin: one accuracy a person, all errors alike.
- MACE (Hovy et al. 2013): the truth, or else a draw from the person's own habit; classes are equally frequent.

Of few labels a matrix is mostly noise, and Dawid-Skene is then worse than majority. `shrinkage` is how many labels
(of a class, or of all for one accuracy or habit) the pooled matrix of all people is worth beside a person's own; at 0
these are the published algorithms. `choose` selects method and shrinkage by held-out labels, and by gold items; people
who repeat one another's labels (`dependent_groups`) have one vote there. crowd-kit is the oracle in the tests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from steelyard.frozen import frozen
from steelyard.stats.arrays import Array
from steelyard.stats.intervals import SHARES, Estimate, Z, bounded, wilson
from steelyard.stats.paired import paired_mean
from steelyard.stats.resampling import SEED, TAILS

MAJORITY, ONE_COIN, MACE, DAWID_SKENE = "majority", "one-coin", "MACE", "Dawid-Skene"
METHODS = (MAJORITY, ONE_COIN, MACE, DAWID_SKENE)
"""From the fewest parameters a person to the most."""
SHRINKAGES = (0.0, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0)
"""What `choose` tries. No single one is right: on public sets the best one for Dawid-Skene is from 2 to 20."""
ENOUGH = 0.9
"""An item whose likeliest class has less than this probability needs another label."""
SPAMMER_BELOW = 0.1
"""A spammer score surely below this: of two classes, sensitivity and specificity add up to less than 1.32."""
FOLDS = 10
ENOUGH_HELD_OUT = 20_000
"""From so many held-out labels on, further folds would tell nothing new."""
FEWEST_HELD_OUT = 20
"""Fewer held-out labels do not choose a method: by a few, one person is always right and another never."""
_MOST_STEPS = 300
_CONVERGED, _NEARLY_CONVERGED = 1e-8, 1e-7
"""The change of the log-likelihood, as a share of it, at which the steps end: of a result, and of a comparison."""
_MANY = 10_000
"""Of more labels a larger share is enough: of 1,000,000 the last steps moved one label in a million."""
_TINY = 1e-300
_LEAST_CHANCE = 1e-10
"""A held-out label that a method thought impossible counts as this probable: no method is out for one label."""
_TIED = 1e-9
_DRAWS = 1000
_FEWEST_TO_ACCUSE = 30
"""With fewer labels even the interval of no information at all reaches beyond SPAMMER_BELOW."""
_ROUNDS_TO_ZERO = 0.0005
"""A difference below this is printed as 0.000, and is never called one."""


@frozen(eq=False)
class CrowdLabels:
    """Labels sorted by item, person and class; made by `Labels.of`."""

    item: Array
    person: Array
    value: Array
    n_items: int
    n_people: int
    n_classes: int

    @classmethod
    def of(
        cls, item: Array, person: Array, value: Array, *, n_items: int = 0, n_people: int = 0, n_classes: int = 0
    ) -> CrowdLabels:
        """Labels from three columns of codes; the numbers are needed where the last codes do not occur."""
        columns = [np.asarray(column) for column in (item, person, value)]
        names = ("item", "person", "value")
        sizes = []
        for name, column, least in zip(names, columns, (n_items, n_people, n_classes), strict=True):
            if len(column) != len(columns[0]):
                raise ValueError(f"{len(columns[0])} labels have a code in `item` and {len(column)} in `{name}`")
            if len(column) and (not np.issubdtype(column.dtype, np.integer) or int(column.min()) < 0):
                raise ValueError(f"`{name}` must hold whole numbers from 0 on")
            sizes.append(max(least, int(column.max()) + 1 if len(column) else 0))
        sizes[2] = max(sizes[2], 1)
        # The result shall not depend on the order of rows, not even in its last digit.
        order = np.lexsort(columns[::-1])
        by_item, by_person, by_value = (column[order].astype(np.int64) for column in columns)
        return cls(by_item, by_person, by_value, *sizes)

    def part(self, rows: Array) -> CrowdLabels:
        """Some of the labels."""
        return replace(self, item=self.item[rows], person=self.person[rows], value=self.value[rows])

    def __len__(self) -> int:
        return len(self.item)

    @property
    def cell(self) -> Array:
        """Person and class in one code."""
        return np.asarray(self.person * self.n_classes + self.value)

    def votes(self) -> Array:
        """How often each class (rows) was chosen for each item (columns)."""
        code = self.value * self.n_items + self.item
        return np.bincount(code, minlength=self.n_classes * self.n_items).reshape(self.n_classes, self.n_items)

    def shared(self) -> Array:
        """For each label, whether somebody else labelled the item, too."""
        first = _starts(self.item)
        if not len(first):
            return np.zeros(0, dtype=bool)
        least, most = np.minimum.reduceat(self.person, first), np.maximum.reduceat(self.person, first)
        return np.repeat(least < most, np.diff(np.append(first, len(self))))


@frozen(eq=False)
class Aggregation:
    """What one method makes of the labels."""

    method: str
    shrinkage: float
    posterior: Array
    """Items by classes: the probability of each class; of majority the share of votes. Items without a label have the
    shares of the classes."""
    winner: Array
    """The likeliest class of each item; -1 for a tie, and for an item without a label."""
    tied: Array
    """Which items have labels and no single likeliest class."""
    shares: Array
    """How frequent each class is."""
    confusion: Array
    """Person, true class, chosen class: how probable it is that the person chooses the one where the other is true."""
    log_likelihood: float | None = None
    """Of all labels; None for majority, which has no model of its own."""
    steps: int = 0
    converged: bool = True

    def needs_label(self, enough: float = ENOUGH) -> Array:
        """Which items another label is needed for: no single likeliest class, or one that is too improbable."""
        return np.asarray((self.winner < 0) | (self.posterior.max(axis=1, initial=0.0) < enough))


MatrixFrom = Callable[[Array, float, Array | None], Array]
"""From expected counts (person, true class, chosen class), shrinkage and the matrices before to the matrices."""


def _shrunk(hits: Array, sizes: Array, shrinkage: float, everybody: Any, unknown: Any) -> Array:
    """A person's shares of hits, everybody's counted in as so many labels; `unknown` where there is neither."""
    total = sizes + shrinkage
    return np.asarray(np.where(total > 0, (hits + shrinkage * everybody) / np.where(total > 0, total, 1.0), unknown))


def _any_matrix(counts: Array, shrinkage: float, _: Array | None) -> Array:
    # Nothing is known of a class that a person never met: then all answers are as probable.
    return _shrunk(counts, counts.sum(axis=2, keepdims=True), shrinkage, _pooled(counts), 1 / counts.shape[1])


def _pooled(counts: Array) -> Array:
    """The matrix of all people together; one label, spread over all classes, keeps it from being 0 anywhere."""
    total = counts.sum(axis=0)
    return np.asarray((total + 1 / len(total)) / (total.sum(axis=1, keepdims=True) + 1))


def _one_accuracy(counts: Array, shrinkage: float, _: Array | None) -> Array:
    n_classes = counts.shape[1]
    right, sizes = np.trace(counts, axis1=1, axis2=2), counts.sum(axis=(1, 2))
    everybody = float(right.sum() / max(sizes.sum(), _TINY))
    accuracy = _shrunk(right, sizes, shrinkage, everybody, everybody)[:, None, None]
    return np.where(np.eye(n_classes, dtype=bool), accuracy, (1 - accuracy) / max(n_classes - 1, 1))


def _truth_or_habit(counts: Array, shrinkage: float, before: Array | None) -> Array:
    right, classes = np.diagonal(counts, axis1=1, axis2=2), np.arange(counts.shape[1])
    # Away from the diagonal a matrix holds the chance of each class by habit; on it, that of the truth comes on top.
    by_habit: Any = 0.5
    if before is not None:
        on_it = np.diagonal(before, axis1=1, axis2=2)
        by_habit = before[:, (classes + 1) % len(classes), classes] / np.maximum(on_it, _TINY)
    habit, sizes = counts.sum(axis=1) - right + right * by_habit, counts.sum(axis=(1, 2))[:, None]
    everybody = habit.sum(axis=0) / max(float(sizes.sum()), _TINY)
    chances = _shrunk(habit, sizes, shrinkage, everybody, everybody)
    truth = 1 - chances.sum(axis=1)
    return np.asarray(chances[:, None, :] + truth[:, None, None] * np.eye(len(classes)))


_MATRICES: dict[str, MatrixFrom] = {DAWID_SKENE: _any_matrix, ONE_COIN: _one_accuracy, MACE: _truth_or_habit}


def aggregate(labels: CrowdLabels, method: str = DAWID_SKENE, *, shrinkage: float = 0.0) -> Aggregation:
    """The labels by one method, as published unless `shrinkage` is above 0."""
    if method not in METHODS:
        raise ValueError(f"{method!r} is not one of {', '.join(METHODS)}")
    if not 0 <= shrinkage < np.inf:
        raise ValueError(f"shrinkage must be a number of labels from 0 on, not {shrinkage}")
    return _fit(labels, method, shrinkage, _CONVERGED)


def _fit(labels: CrowdLabels, method: str, shrinkage: float, enough: float) -> Aggregation:
    """`enough` is the change of the log-likelihood, as a share of it, at which the steps end."""
    votes = labels.votes()
    labelled = votes.sum(axis=0) > 0
    posterior = votes / np.maximum(votes.sum(axis=0), 1)
    confusion: Array | None = None
    likelihood, converged, steps = -np.inf, method == MAJORITY, 0
    while not converged and steps < _MOST_STEPS:
        shares = _class_shares(posterior, labelled, equal=method == MACE)
        confusion = _MATRICES[method](_expected_counts(labels, posterior), shrinkage, confusion)
        before, steps = likelihood, steps + 1
        posterior, likelihood = _posterior(labels, shares, confusion)
        converged = abs(likelihood - before) <= enough * max(1.0, len(labels) / _MANY) * max(1.0, abs(likelihood))
    if confusion is None:
        shares, confusion = _everybody_alike(labels)
    posterior = np.where(labelled, posterior, shares[:, None])
    tied = labelled & ((posterior >= posterior.max(axis=0, initial=0.0) - _TIED).sum(axis=0) > 1)
    winner = np.where(labelled & ~tied, posterior.argmax(axis=0), -1)
    model = (np.ascontiguousarray(posterior.T), winner, tied, shares, confusion)
    return Aggregation(method, shrinkage, *model, likelihood if steps else None, steps, converged)


def _starts(codes: Array) -> Array:
    """Where each code of a sorted column begins."""
    return np.flatnonzero(np.append(True, codes[1:] != codes[:-1])) if len(codes) else np.empty(0, dtype=int)


def _class_shares(posterior: Array, labelled: Array, *, equal: bool = False) -> Array:
    if equal or not labelled.any():
        return np.full(len(posterior), 1 / len(posterior))
    return np.asarray(posterior[:, labelled].mean(axis=1))


def _expected_counts(labels: CrowdLabels, posterior: Array) -> Array:
    """How often each person chose which class (last) where which was true, from the classes' probabilities."""
    cell = labels.cell
    counts = np.empty((labels.n_people, labels.n_classes, labels.n_classes))
    for true, chances in enumerate(posterior):
        sums = np.bincount(cell, chances.take(labels.item), minlength=labels.n_people * labels.n_classes)
        counts[:, true, :] = sums.reshape(labels.n_people, labels.n_classes)
    return counts


def _posterior(labels: CrowdLabels, shares: Array, confusion: Array) -> tuple[Array, float]:
    """The probability of each class (rows) of each item (columns), and the log-likelihood of all labels."""
    cell, starts = labels.cell, _starts(labels.item)
    items = labels.item[starts]
    joint = np.empty((labels.n_classes, len(items)))
    for true in range(labels.n_classes):
        # Class by class: the labels times all classes would take much memory.
        table = np.log(np.maximum(confusion[:, true, :].ravel(), _TINY))
        if len(starts):
            joint[true] = np.add.reduceat(table.take(cell), starts)
        joint[true] += np.log(max(float(shares[true]), _TINY))
    top = joint.max(axis=0, initial=-np.inf)
    np.exp(np.subtract(joint, top, out=joint), out=joint)
    total = joint.sum(axis=0)
    joint /= total
    posterior = joint
    if len(items) < labels.n_items:
        posterior = np.repeat(shares[:, None], labels.n_items, axis=1)
        posterior[:, items] = joint
    return posterior, float((top + np.log(total)).sum())


def _everybody_alike(labels: CrowdLabels) -> tuple[Array, Array]:
    """The model behind majority: the shares of the classes, and one matrix for all, as if winners were right."""
    winners = _winners(labels)
    together = replace(labels, person=np.zeros_like(labels.person), n_people=1)
    matrix = _pooled(_expected_counts(together, winners))
    confusion = np.broadcast_to(matrix, (labels.n_people, *matrix.shape))
    return _class_shares(winners, winners.sum(axis=0) > 0), confusion


def _winners(labels: CrowdLabels) -> Array:
    """The classes (rows) with most votes of each item (columns) as probabilities: a tie is equal parts."""
    votes = labels.votes()
    top = (votes == votes.max(axis=0, initial=0)) & (votes > 0)
    return np.asarray(top / np.maximum(top.sum(axis=0), 1))


# People whose labels are not independent.

MIN_SHARED = 20
"""Fewer items that two people both labeled do not show that one repeats the other."""
MIN_IDENTICAL = 50
"""From this number of items on, people who never differ need somebody else's labels to be counted separately."""
_MAX_DIFFERENT = 0.12
"""Of the 95 % interval's upper end: 0 of 29 items, 2 of 63, 10 of 164."""
_UNEXPLAINED = 0.5


@frozen
class DependentGroup:
    """People who nearly never differ, more than their accuracy explains; together they have one vote."""

    people: tuple[int, ...]
    n_items: int
    """Pairs of labels by two of them for the same item."""
    n_different: int
    unexplained: float | None
    """The share of the other people's agreement with each other, beyond chance, that the group's labels do not explain:
    0 when the group is right, 1 when it guesses. None without others who agree beyond chance."""


def dependent_groups(labels: CrowdLabels) -> tuple[DependentGroup, ...]:
    """The groups of people whose labels count as one person's, largest first.

    Two people are candidates when they differ on fewer than 12 % of the items that both labeled, beyond noise, and on
    at most half as many as independent people with their habits would. Good people rarely differ, too: then the others
    agree with each other because they agree with the truth, which is what the group says. Where the group's labels
    leave more than half of that agreement unexplained, beyond noise, the group shares something that is not the truth.
    Where there is no such agreement, nothing shows that people who never differ on 50 items are independent.
    """
    if labels.n_people < 2 or not len(labels):
        return ()
    first, second, n, same = _pairs_of_people(labels)
    expected = _chance_of_same(labels, first, second)
    different = n - same
    bounds = [wilson(float(share), float(of)) for share, of in zip(different / n, n, strict=True)]
    highest = np.array([1.0 if bound is None else bound[1] for bound in bounds])
    near = (n >= MIN_SHARED) & (highest <= _MAX_DIFFERENT) & (different <= (1 - expected) * n / 2)
    pairs = set(zip(first[near].tolist(), second[near].tolist(), strict=True))
    members = {person: [person] for pair in pairs for person in pair}
    for one, other in sorted(pairs):
        ours, theirs = members[one], members[other]
        # Every two of a group must be near: what is near to a neighbor may be far from its neighbor.
        if ours is not theirs and all((min(pair), max(pair)) in pairs for pair in product(ours, theirs)):
            ours += theirs
            members |= dict.fromkeys(theirs, ours)
    leader = np.array([min(members.get(person, [person])) for person in range(labels.n_people)])
    groups = []
    merged = merge(labels, leader)
    for at in sorted({min(group) for group in members.values() if len(group) > 1}):
        inside = (leader[first] == at) & (leader[second] == at)
        n_items, n_different = int(n[inside].sum()), int(different[inside].sum())
        unexplained, beyond_noise = _unexplained_agreement(merged, at)
        never = unexplained is None and not n_different and n_items >= MIN_IDENTICAL
        if never or beyond_noise:
            people = tuple(np.flatnonzero(leader == at).tolist())
            groups.append(DependentGroup(people, n_items, n_different, unexplained))
    return tuple(sorted(groups, key=lambda group: (-len(group.people), group.people)))


def merge(labels: CrowdLabels, voter: Array) -> CrowdLabels:
    """The labels of voters: of the people of one voter, the label that most of them chose; none where they are tied."""
    code = (labels.item * labels.n_people + voter[labels.person]) * labels.n_classes + labels.value
    cells, votes = np.unique(code, return_counts=True)
    pair, value = np.divmod(cells, labels.n_classes)
    starts = _starts(pair)
    sizes = np.diff(np.append(starts, len(pair)))
    top = np.repeat(np.maximum.reduceat(votes, starts), sizes) if len(starts) else votes
    alone = np.repeat(np.add.reduceat((votes == top).astype(int), starts) == 1, sizes) if len(starts) else top > 0
    kept = (votes == top) & alone
    item, person = np.divmod(pair[kept], labels.n_people)
    return replace(labels, item=item, person=person, value=value[kept])


def _pairs_of_people(labels: CrowdLabels) -> tuple[Array, Array, Array, Array]:
    """Each two people with items in common: who they are, the number of these items, on how many they agree."""
    codes, agree = [], []
    for apart in range(1, int(np.bincount(labels.item).max())):
        rows = np.flatnonzero(labels.item[apart:] == labels.item[:-apart])
        codes.append(labels.person[rows] * labels.n_people + labels.person[rows + apart])
        agree.append(labels.value[rows] == labels.value[rows + apart])
    if not codes:
        return (np.empty(0, dtype=int),) * 4
    pairs, at = np.unique(np.concatenate(codes), return_inverse=True)
    n, same = np.bincount(at), np.bincount(at, np.concatenate(agree)).astype(int)
    first, second = np.divmod(pairs, labels.n_people)
    two = first != second
    return first[two], second[two], n[two], same[two]


def _chance_of_same(labels: CrowdLabels, first: Array, second: Array) -> Array:
    """How often two people would agree if each chose at random by their own habit."""
    habit = np.bincount(labels.cell, minlength=labels.n_people * labels.n_classes).astype(float)
    habit = habit.reshape(labels.n_people, labels.n_classes)
    habit /= np.maximum(habit.sum(axis=1, keepdims=True), 1)
    return np.asarray((habit[first] * habit[second]).sum(axis=1))


def _unexplained_agreement(labels: CrowdLabels, group: int) -> tuple[float | None, bool]:
    """The share of the others' agreement beyond chance that the group's labels do not explain, and whether it is more
    than allowed beyond noise."""
    truth = np.full(labels.n_items, -1)
    mine = labels.person == group
    truth[labels.item[mine]] = labels.value[mine]
    others = labels.part(~mine & (truth[labels.item] >= 0))
    by_item = np.bincount(others.item, minlength=labels.n_items)
    shared = by_item > 1
    if shared.sum() < MIN_SHARED:
        return None, False
    votes = others.votes()
    same = (votes * (votes - 1)).sum(axis=0) / 2
    by_chance = _expected_pairs(others, np.zeros_like(truth))
    if (possible := float((same - by_chance).sum())) <= _TIED:
        return None, False
    beyond = same - _expected_pairs(others, np.maximum(truth, 0))
    result = paired_mean((beyond - _UNEXPLAINED * (same - by_chance))[shared], np.ones(int(shared.sum())))
    return min(1.0, max(0.0, float(beyond.sum()) / possible)), (result.low or 0.0) > 0


def _expected_pairs(labels: CrowdLabels, truth: Array) -> Array:
    """Of the pairs of labels of each item, how many would agree if they were independent given these classes."""
    counts = _expected_counts(labels, np.equal.outer(np.arange(labels.n_classes), truth).astype(float))
    each = (counts / np.maximum(counts.sum(axis=2, keepdims=True), 1))[labels.person, truth[labels.item]]
    expected = np.zeros(labels.n_items)
    for chances in each.T:
        # Over all pairs, the sum of products is half of the square of the sum less the sum of squares.
        total = np.bincount(labels.item, chances, minlength=labels.n_items)
        expected += (total**2 - np.bincount(labels.item, chances**2, minlength=labels.n_items)) / 2
    return expected


# Which method to believe.


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
            _wilson(float(right[method].sum()), n_gold, n_gold),
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
    counts = _expected_counts(labels, fit.posterior.T).sum(axis=0)
    occurs = np.isin(np.arange(labels.n_classes), fit.winner)
    return bool((counts[occurs].argmax(axis=1) == np.flatnonzero(occurs)).all())


def _held_out(labels: CrowdLabels, shrinkages: tuple[float, ...]) -> tuple[dict[tuple[str, float], Array], Array]:
    """The log-probability by each method and shrinkage of labels that were held out, and the item of each.

    The labels of an item are in different folds as far as that goes, so that most others remain to predict from.
    Labels of items that nobody else labelled are not predicted: nothing is known of these items.
    """
    starts = _starts(labels.item)
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
    fit = _fit(rest, method, shrinkage, _NEARLY_CONVERGED)
    total = np.zeros(len(tested))
    for true, chances in enumerate(_posterior(rest, fit.shares, fit.confusion)[0]):
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
    top = fit.posterior[available] >= fit.posterior[available].max(axis=1, keepdims=True, initial=0.0) - _TIED
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


# How far each person can be relied on.


@frozen
class PersonQuality:
    """What is known of one person; items that nobody else labelled say nothing of them."""

    n_labels: int
    n_shared: int
    """Labels of items that somebody else labelled, too: all figures but `gold` stand on these."""
    reliability: Estimate
    """The expected share of right labels. Wilson's interval of the expected count, over as many labels as remain when
    the doubt about the items' classes is counted in."""
    gold: Estimate
    """The share of right labels of gold items, with Wilson's interval."""
    information: Estimate
    """The spammer score of Raykar and Yu (2012): 0 when the person's labels do not depend on the class, 1 when they
    tell it; classes weigh by how frequent they are. Its interval, of 1,000 draws from the Dirichlet distribution of the
    matrix, is there only where the score is below SPAMMER_BELOW and there are 30 labels."""
    spammer: bool
    """Whether the whole interval of `information` is below SPAMMER_BELOW: few labels accuse nobody."""


def people_quality(labels: CrowdLabels, fit: Aggregation, *, gold: Array | None = None) -> list[PersonQuality]:
    """What is known of each person, in the order of their codes."""
    shared = labels.part(labels.shared())
    posterior = fit.posterior.T
    if fit.method == MAJORITY:
        top = posterior >= posterior.max(axis=0, initial=0.0) - _TIED
        posterior = top / top.sum(axis=0)
    right = posterior[shared.value, shared.item]
    n, n_shared = _by_person(labels), _by_person(shared)
    hits, doubt = _by_person(shared, right), _by_person(shared, right * (1 - right))
    share = hits / np.maximum(n_shared, 1)
    sampling = share * (1 - share) * n_shared
    # The variance of the count is that of so many trials, and that of classes which are only probable.
    certain = np.where(doubt > 0, sampling / np.maximum(sampling + doubt, _TINY), 1.0)
    counts = _expected_counts(shared, posterior) * certain[:, None, None]
    truth = np.full(labels.n_items, -1) if gold is None else np.asarray(gold)
    asked = labels.part(truth[labels.item] >= 0)
    n_asked, correct = _by_person(asked), _by_person(asked, asked.value == truth[asked.item])
    quality = []
    for person, table in enumerate(counts):
        information = _information(table, fit.shares)
        reliability = _wilson(hits[person], n_shared[person], n_shared[person] * certain[person])
        of_gold = _wilson(correct[person], n_asked[person], n_asked[person])
        spammer = information.high is not None and information.high < SPAMMER_BELOW
        n_labels = int(n[person]), int(n_shared[person])
        quality.append(PersonQuality(*n_labels, reliability, of_gold, information, spammer))
    return quality


def _by_person(labels: CrowdLabels, amounts: Array | None = None) -> Array:
    """The number of each person's labels, or the sum of what they amount to."""
    return np.bincount(labels.person, amounts, minlength=labels.n_people).astype(float)


def _wilson(hits: float, n: float, trials: float) -> Estimate:
    """A share of hits with Wilson's interval over so many trials."""
    if not n:
        return Estimate(None, 0)
    share = float(hits / n)
    return bounded(share, int(n), 0, wilson(min(share, 1.0), float(trials)), SHARES)


def _information(counts: Array, shares: Array) -> Estimate:
    n, apart = float(counts.sum()), 1 - float((shares**2).sum())
    if n == 0 or apart < _TIED:
        return Estimate(None, 0)
    # One label of each class, chosen as the person mostly does: what is not known looks like no information.
    habit = (counts.sum(axis=0) + 1 / len(shares)) / (n + 1)
    weights = counts + habit

    def score(matrices: Array) -> Array:
        mean = (shares[:, None] * matrices).sum(axis=-2)
        return np.asarray(((shares * (matrices**2).sum(axis=-1)).sum(axis=-1) - (mean**2).sum(axis=-1)) / apart)

    value = float(score(weights / weights.sum(axis=1, keepdims=True)))
    if value >= SPAMMER_BELOW or n < _FEWEST_TO_ACCUSE:
        return Estimate(value, round(n))
    # The same seed for everyone, so that nobody's result depends on who else is there.
    drawn = np.random.default_rng(SEED).standard_gamma(weights, size=(_DRAWS, *weights.shape)) + _TINY
    low, high = np.quantile(score(drawn / drawn.sum(axis=2, keepdims=True)), TAILS)
    return Estimate(value, round(n), 0, min(float(low), value), max(float(high), value))
