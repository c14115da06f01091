"""People whose labels are not independent: those who repeat one another's."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np

from steelyard.frozen import frozen
from steelyard.people.crowd import TIED, CrowdLabels, expected_counts, starts_of
from steelyard.stats.arrays import Array
from steelyard.stats.intervals import wilson
from steelyard.stats.paired import paired_mean

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
    starts = starts_of(pair)
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
    if (possible := float((same - by_chance).sum())) <= TIED:
        return None, False
    beyond = same - _expected_pairs(others, np.maximum(truth, 0))
    result = paired_mean((beyond - _UNEXPLAINED * (same - by_chance))[shared], np.ones(int(shared.sum())))
    return min(1.0, max(0.0, float(beyond.sum()) / possible)), (result.low or 0.0) > 0


def _expected_pairs(labels: CrowdLabels, truth: Array) -> Array:
    """Of the pairs of labels of each item, how many would agree if they were independent given these classes."""
    counts = expected_counts(labels, np.equal.outer(np.arange(labels.n_classes), truth).astype(float))
    each = (counts / np.maximum(counts.sum(axis=2, keepdims=True), 1))[labels.person, truth[labels.item]]
    expected = np.zeros(labels.n_items)
    for chances in each.T:
        # Over all pairs, the sum of products is half of the square of the sum less the sum of squares.
        total = np.bincount(labels.item, chances, minlength=labels.n_items)
        expected += (total**2 - np.bincount(labels.item, chances**2, minlength=labels.n_items)) / 2
    return expected
