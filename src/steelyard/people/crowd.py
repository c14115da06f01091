"""One answer an item out of several people's labels, by one of four methods.

Labels are columns of codes from 0: item, person, class that the person chose. Four methods, all by expectation
maximisation from vote shares but for the first, differ only in what they let a person's confusion matrix be:

- majority: everybody alike; the class with most votes. A tie is a tie: it has no winner.
- Dawid-Skene (1979): any matrix.
- one-coin: one accuracy a person, all errors alike.
- MACE (Hovy et al. 2013): the truth, or else a draw from the person's own habit; classes are equally frequent.

Of few labels a matrix is mostly noise, and Dawid-Skene is then worse than majority. `shrinkage` is how many labels
(of a class, or of all for one accuracy or habit) the pooled matrix of all people is worth beside a person's own; at 0
these are the published algorithms. `method_choice` selects method and shrinkage by held-out labels, and by gold items;
people who repeat one another's labels (`dependent_people`) have one vote there. crowd-kit is the oracle in the tests.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from steelyard.frozen import frozen
from steelyard.stats.arrays import Array

MAJORITY, ONE_COIN, MACE, DAWID_SKENE = "majority", "one-coin", "MACE", "Dawid-Skene"
METHODS = (MAJORITY, ONE_COIN, MACE, DAWID_SKENE)
"""From the fewest parameters a person to the most."""
ENOUGH = 0.9
"""An item whose likeliest class has less than this probability needs another label."""
_MOST_STEPS = 300
CONVERGED, NEARLY_CONVERGED = 1e-8, 1e-7
"""The change of the log-likelihood, as a share of it, at which the steps end: of a result, and of a comparison."""
_MANY = 10_000
"""Of more labels a larger share is enough: of 1,000,000 the last steps moved one label in a million."""
TINY = 1e-300
TIED = 1e-9


@frozen(eq=False)
class CrowdLabels:
    """Labels sorted by item, person and class; made by `CrowdLabels.of`."""

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
        first = starts_of(self.item)
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
    everybody = float(right.sum() / max(sizes.sum(), TINY))
    accuracy = _shrunk(right, sizes, shrinkage, everybody, everybody)[:, None, None]
    return np.where(np.eye(n_classes, dtype=bool), accuracy, (1 - accuracy) / max(n_classes - 1, 1))


def _truth_or_habit(counts: Array, shrinkage: float, before: Array | None) -> Array:
    right, classes = np.diagonal(counts, axis1=1, axis2=2), np.arange(counts.shape[1])
    # Away from the diagonal a matrix holds the chance of each class by habit; on it, that of the truth comes on top.
    by_habit: Any = 0.5
    if before is not None:
        on_it = np.diagonal(before, axis1=1, axis2=2)
        by_habit = before[:, (classes + 1) % len(classes), classes] / np.maximum(on_it, TINY)
    habit, sizes = counts.sum(axis=1) - right + right * by_habit, counts.sum(axis=(1, 2))[:, None]
    everybody = habit.sum(axis=0) / max(float(sizes.sum()), TINY)
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
    return fitted(labels, method, shrinkage, CONVERGED)


def fitted(labels: CrowdLabels, method: str, shrinkage: float, enough: float) -> Aggregation:
    """The labels by one method; the steps end at a change of the log-likelihood by `enough`, as a share of it."""
    votes = labels.votes()
    labelled = votes.sum(axis=0) > 0
    posterior = votes / np.maximum(votes.sum(axis=0), 1)
    confusion: Array | None = None
    likelihood, converged, steps = -np.inf, method == MAJORITY, 0
    while not converged and steps < _MOST_STEPS:
        shares = _class_shares(posterior, labelled, equal=method == MACE)
        confusion = _MATRICES[method](expected_counts(labels, posterior), shrinkage, confusion)
        before, steps = likelihood, steps + 1
        posterior, likelihood = posterior_of(labels, shares, confusion)
        converged = abs(likelihood - before) <= enough * max(1.0, len(labels) / _MANY) * max(1.0, abs(likelihood))
    if confusion is None:
        shares, confusion = _everybody_alike(labels)
    posterior = np.where(labelled, posterior, shares[:, None])
    tied = labelled & ((posterior >= posterior.max(axis=0, initial=0.0) - TIED).sum(axis=0) > 1)
    winner = np.where(labelled & ~tied, posterior.argmax(axis=0), -1)
    model = (np.ascontiguousarray(posterior.T), winner, tied, shares, confusion)
    return Aggregation(method, shrinkage, *model, likelihood if steps else None, steps, converged)


def starts_of(codes: Array) -> Array:
    """Where each code of a sorted column begins."""
    return np.flatnonzero(np.append(True, codes[1:] != codes[:-1])) if len(codes) else np.empty(0, dtype=int)


def _class_shares(posterior: Array, labelled: Array, *, equal: bool = False) -> Array:
    if equal or not labelled.any():
        return np.full(len(posterior), 1 / len(posterior))
    return np.asarray(posterior[:, labelled].mean(axis=1))


def expected_counts(labels: CrowdLabels, posterior: Array) -> Array:
    """How often each person chose which class (last) where which was true, from the classes' probabilities."""
    cell = labels.cell
    counts = np.empty((labels.n_people, labels.n_classes, labels.n_classes))
    for true, chances in enumerate(posterior):
        sums = np.bincount(cell, chances.take(labels.item), minlength=labels.n_people * labels.n_classes)
        counts[:, true, :] = sums.reshape(labels.n_people, labels.n_classes)
    return counts


def posterior_of(labels: CrowdLabels, shares: Array, confusion: Array) -> tuple[Array, float]:
    """The probability of each class (rows) of each item (columns), and the log-likelihood of all labels."""
    cell, starts = labels.cell, starts_of(labels.item)
    items = labels.item[starts]
    joint = np.empty((labels.n_classes, len(items)))
    for true in range(labels.n_classes):
        # Class by class: the labels times all classes would take much memory.
        table = np.log(np.maximum(confusion[:, true, :].ravel(), TINY))
        if len(starts):
            joint[true] = np.add.reduceat(table.take(cell), starts)
        joint[true] += np.log(max(float(shares[true]), TINY))
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
    matrix = _pooled(expected_counts(together, winners))
    confusion = np.broadcast_to(matrix, (labels.n_people, *matrix.shape))
    return _class_shares(winners, winners.sum(axis=0) > 0), confusion


def _winners(labels: CrowdLabels) -> Array:
    """The classes (rows) with most votes of each item (columns) as probabilities: a tie is equal parts."""
    votes = labels.votes()
    top = (votes == votes.max(axis=0, initial=0)) & (votes > 0)
    return np.asarray(top / np.maximum(top.sum(axis=0), 1))
