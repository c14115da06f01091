"""How far a judge can be trusted: against a reviewer's labels, against its rubric, against itself."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations

import numpy as np

from steelyard.analysis.judge.complaints import FEWEST_FOR_A_HABIT, complaints_about
from steelyard.analysis.judge.details import constant_dimensions
from steelyard.analysis.judge.model import (
    ALWAYS_TOGETHER,
    MOST_LISTED,
    DimensionHealth,
    Disagreement,
    FlagCounts,
    FlagHealth,
    JudgeHealth,
    People,
    Together,
    is_inflated,
)
from steelyard.analysis.judge.votes import Range, Votes, votes_in
from steelyard.metrics.figures import Slice
from steelyard.metrics.run_data import CorrectedRate, RunData
from steelyard.metrics.run_figures import row_figures_of
from steelyard.stats.agreement import FEWEST, confusion, weighted_kappa
from steelyard.stats.arrays import Array
from steelyard.store.base import Spending


def judge_health(data: RunData, corrected: CorrectedRate, spending: Spending | None = None) -> JudgeHealth:
    """The figures of the judge of one run and what is listed besides; `corrected` is its pass rate by labels.

    Only readings of the run's main mode count; ValueError for a suite without a judge.
    """
    votes = votes_in(data)
    figures = row_figures_of(data)
    health = JudgeHealth(
        mode=votes.rubric.mode,
        scale=votes.rubric.scale,
        figures=figures,
        dimensions={name: _dimension(name, votes, figures) for name in votes.rubric.dimensions},
        flags={name: _flag(name, votes) for name in votes.rubric.flags},
        pairs=_together(votes, figures),
        by_rule=dict(sorted(votes.broken.items(), key=lambda pair: (-pair[1], pair[0]))),
        rebuttals=tuple(votes.rebuttals),
        corrected=corrected,
        spending=spending,
        constant=constant_dimensions(votes, () if data.suite.judge is None else data.suite.judge.constant),
        dependent=tuple(_not_independent(votes)),
    )
    health = replace(health, unfit=tuple(_unfit(health)))
    return replace(health, complaints=complaints_about(health))


MIN_IDENTICAL = 50
"""Texts from which on agreement of 1.00 between a judge and labels is too good."""
_MIN_IDENTICAL_RATERS = 20
"""Two people, or two judges, who never differ on this many texts are one."""
_SHOWN_AS_ONE = 0.995


def _unfit(health: JudgeHealth) -> Iterator[str]:
    """Why a judge is not fit, whatever the thresholds are: one score for every text, which labels refuse to some."""
    for name in health.constant:
        kappa, exact = (health[f"agreement.{name}.{which}"] for which in ("kappa", "exact"))
        if kappa.n >= FEWEST_FOR_A_HABIT and kappa.value is not None and (exact.value or 0.0) < 1:
            yield (
                f"{name}: the same score for all {kappa.n:,} labeled texts, and the labels differ from it:"
                " kappa is 0 by definition"
            )


def _not_independent(votes: Votes) -> Iterator[str]:
    """Labels and votes that are not independent of each other, one sentence each."""
    rubric, labels = votes.rubric, votes.labels
    for name in (*rubric.dimensions, *rubric.flags):
        best = labels.of(name).best if name in rubric.dimensions else labels.flag(name)
        given, names = labels.people(name) if name in rubric.dimensions else (np.empty((0, len(best))), [])
        references = [("the label", best), *((f"{who}'s label", row) for who, row in zip(names, given, strict=True))]
        for whose, column in references:
            same, n = max(_identical(scores, column) for scores in (votes.uncapped(name), votes.capped(name)))
            if n >= MIN_IDENTICAL:
                yield (
                    f"{name}: the judge gives {whose} in {same:,} of {n:,} texts (agreement of 1.00): labels that are"
                    " the judge's own scores, or that it is shown, look like this"
                )
                break
        for one, other in combinations(range(len(names)), 2):
            same, n = _identical(given[one], given[other])
            if n >= _MIN_IDENTICAL_RATERS:
                both, texts = f"{names[one]} and {names[other]}", "all" if same == n else f"{same:,} of"
                yield f"{name}: {both} give the same score in {texts} {n:,} texts: two names, one labeler"
    for (first, ours), (second, theirs) in combinations(_by_member(votes).items(), 2):
        same, n = _identical(ours, theirs)
        if n >= _MIN_IDENTICAL_RATERS * len(rubric.dimensions):
            both = f"judges {first} and {second}"
            scores = f"in all texts ({n:,} scores)" if same == n else f"in {same:,} of {n:,} scores"
            yield f"{both} give the same scores {scores}: the panel has one vote twice"


def _identical(first: Array, second: Array) -> tuple[int, int]:
    """In how many texts two columns agree, and how many both have, when they agree but for what rounds to 1.00 and are
    not constant; 0 and 0 when they do not."""
    both = ~(np.isnan(first) | np.isnan(second))
    one, other = first[both], second[both]
    if not len(one) or len(np.unique(other)) < 2:
        return 0, 0
    kappa, same = weighted_kappa(one, other).value, int((one == other).sum())
    is_one = kappa is not None and kappa >= _SHOWN_AS_ONE and same >= 0.99 * len(one)
    return (same, len(one)) if is_one else (0, 0)


def _by_member(votes: Votes) -> dict[str, Array]:
    """By member of a panel, its scores in all dimensions, text by text; the first of several repeats."""
    columns = {}
    for member, code in votes.members.items():
        mine = votes.main & (votes.member == code)
        texts, first = np.unique(votes.text[mine], return_index=True)
        rows = np.full((len(votes.rubric.dimensions), votes.n_texts), np.nan)
        for at, name in enumerate(votes.rubric.dimensions):
            rows[at, texts] = votes.stated(name)[mine][first]
        columns[member] = rows.ravel()
    return columns


def _dimension(name: str, votes: Votes, figures: Slice) -> DimensionHealth:
    raw, label = votes.uncapped(name), votes.labels.of(name)
    people = votes.people(name)
    return DimensionHealth(
        confusion=confusion(raw, label.best, votes.rubric.scale),
        inflated=is_inflated(
            figures[f"judge.top_share.{name}"], figures[f"judge.top_beyond.{name}"], votes.rubric.mode
        ),
        constant=name in constant_dimensions(votes),
        people=None if people is None else People(people.names, people.test.epsilon),
        disagreements=_farthest(_outside(raw, label), raw, label, votes),
    )


def _outside(scores: Array, label: Range) -> Array:
    """How far each score is beyond the allowed range, with its sign; 0 inside it, and where one of them is missing."""
    above, below = np.maximum(scores - label.high, 0), np.maximum(label.low - scores, 0)
    outside: Array = np.nan_to_num(np.round(above - below, 9), nan=0.0)
    return outside


def _farthest(outside: Array, scores: Array, label: Range, votes: Votes) -> tuple[Disagreement, ...]:
    # Of texts equally far outside the range, those farther from the best score come first.
    from_best = np.abs(np.nan_to_num(scores - label.best, nan=0.0))
    order = np.lexsort((-from_best, -np.abs(outside)))[:MOST_LISTED]
    names = votes.case_ids
    return tuple(
        Disagreement(
            names[votes.case[k]],
            *(float(column[k]) for column in (label.best, label.low, label.high, scores, outside)),
        )
        for k in order.tolist()
        if outside[k]
    )


def _flag(name: str, votes: Votes) -> FlagHealth:
    raw, label = votes.uncapped(name), votes.labels.flag(name)
    return FlagHealth(
        counts=_counts(raw, label),
        capped=_counts(votes.capped(name), label),
        missed=_cases(votes, (raw == 0) & (label == 1)),
        false_alarms=_cases(votes, (raw == 1) & (label == 0)),
    )


def _counts(given: Array, label: Array) -> FlagCounts:
    both = ((1, 1), (1, 0), (0, 1), (0, 0))
    return FlagCounts(*(int(((given == judge) & (label == reviewer)).sum()) for judge, reviewer in both))


def _cases(votes: Votes, chosen: Array) -> tuple[str, ...]:
    names = votes.case_ids
    return tuple(names[votes.case[k]] for k in np.flatnonzero(chosen)[:MOST_LISTED].tolist())


def _together(votes: Votes, figures: Slice) -> tuple[Together, ...]:
    """Every two dimensions compared vote by vote, those that move together most first."""
    pairs = []
    for first, second in combinations(votes.rubric.dimensions, 2):
        one, other = votes.stated(first), votes.stated(second)
        present = ~(np.isnan(one) | np.isnan(other))
        identical = int(present.sum()) >= FEWEST and bool((one[present] == other[present]).all())
        value = figures[f"judge.correlation.{first}.{second}"].value or 0.0
        pairs.append((abs(value), Together(first, second, identical, identical or value >= ALWAYS_TOGETHER)))
    return tuple(pair for _, pair in sorted(pairs, key=lambda item: (not item[1].identical, -item[0])))
