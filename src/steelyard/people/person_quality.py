"""How far each person can be relied on."""

from __future__ import annotations

import numpy as np

from steelyard.frozen import frozen
from steelyard.people.crowd import MAJORITY, TIED, TINY, Aggregation, CrowdLabels, expected_counts
from steelyard.stats.arrays import Array
from steelyard.stats.intervals import SHARES, Estimate, bounded, wilson
from steelyard.stats.resampling import SEED, TAILS

SPAMMER_BELOW = 0.1
"""A spammer score surely below this: of two classes, sensitivity and specificity add up to less than 1.32."""
_DRAWS = 1000
_FEWEST_TO_ACCUSE = 30
"""With fewer labels even the interval of no information at all reaches beyond SPAMMER_BELOW."""


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
        top = posterior >= posterior.max(axis=0, initial=0.0) - TIED
        posterior = top / top.sum(axis=0)
    right = posterior[shared.value, shared.item]
    n, n_shared = _by_person(labels), _by_person(shared)
    hits, doubt = _by_person(shared, right), _by_person(shared, right * (1 - right))
    share = hits / np.maximum(n_shared, 1)
    sampling = share * (1 - share) * n_shared
    # The variance of the count is that of so many trials, and that of classes which are only probable.
    certain = np.where(doubt > 0, sampling / np.maximum(sampling + doubt, TINY), 1.0)
    counts = expected_counts(shared, posterior) * certain[:, None, None]
    truth = np.full(labels.n_items, -1) if gold is None else np.asarray(gold)
    asked = labels.part(truth[labels.item] >= 0)
    n_asked, correct = _by_person(asked), _by_person(asked, asked.value == truth[asked.item])
    quality = []
    for person, table in enumerate(counts):
        information = _information(table, fit.shares)
        reliability = share_estimate(hits[person], n_shared[person], n_shared[person] * certain[person])
        of_gold = share_estimate(correct[person], n_asked[person], n_asked[person])
        spammer = information.high is not None and information.high < SPAMMER_BELOW
        n_labels = int(n[person]), int(n_shared[person])
        quality.append(PersonQuality(*n_labels, reliability, of_gold, information, spammer))
    return quality


def _by_person(labels: CrowdLabels, amounts: Array | None = None) -> Array:
    """The number of each person's labels, or the sum of what they amount to."""
    return np.bincount(labels.person, amounts, minlength=labels.n_people).astype(float)


def share_estimate(hits: float, n: float, trials: float) -> Estimate:
    """A share of hits with Wilson's interval over so many trials."""
    if not n:
        return Estimate(None, 0)
    share = float(hits / n)
    return bounded(share, int(n), 0, wilson(min(share, 1.0), float(trials)), SHARES)


def _information(counts: Array, shares: Array) -> Estimate:
    n, apart = float(counts.sum()), 1 - float((shares**2).sum())
    if n == 0 or apart < TIED:
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
    drawn = np.random.default_rng(SEED).standard_gamma(weights, size=(_DRAWS, *weights.shape)) + TINY
    low, high = np.quantile(score(drawn / drawn.sum(axis=2, keepdims=True)), TAILS)
    return Estimate(value, round(n), 0, min(float(low), value), max(float(high), value))
