"""Whether a judge can be believed: what is wrong with it in words, constant scores, labels that are no labels."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from itertools import combinations

import numpy as np

from steelyard.analysis.judge.details import constant_dimensions
from steelyard.analysis.judge.model import (
    ALWAYS_TOGETHER,
    LABELS_FOR_INFLATION,
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
from steelyard.analysis.model import JudgeDetails, UsualScore
from steelyard.metrics.figures import Slice
from steelyard.metrics.run_data import CorrectedRate, RunData
from steelyard.metrics.run_figures import row_figures_of
from steelyard.records import Mode
from steelyard.stats.agreement import FEWEST, confusion, weighted_kappa
from steelyard.stats.arrays import Array
from steelyard.stats.intervals import Estimate, wilson
from steelyard.store.base import Spending

# What is wrong with a judge, in words that a tired person understands.

_POOR_KAPPA = 0.4
"""Below this, agreement is no more than fair (Landis and Koch 1977)."""
_NOTABLE_BIAS = 0.25
"""Points."""
_STRONG_LENGTH = 0.5
_MORE_THAN_REVIEWER = 0.1
_OFTEN = 0.05
"""More votes than this that break a rule, invent a quote or fail are worth a complaint of their own."""
_FEWEST = 5
"""Fewer texts than this show no habit of using the scale; so few come in one order in fewer than 1 of 50 cases."""


def complaints_about(health: JudgeHealth) -> tuple[str, ...]:
    """Sentences, those about readings that cannot be believed at all first."""
    return (*health.unfit, *health.dependent, *_itself(health), *_scale(health), *_labels(health), *_pairs(health))


def _itself(health: JudgeHealth) -> Iterator[str]:
    unanswered = health["unanswered"]
    if health.count("texts") and not health.modes.get(health.mode):
        silent = unanswered.value == 1
        yield "the judge was never reached: no call was answered" if silent else "the judge gave no usable answer"
    if unanswered.value:
        yield f"no answer for {_of(unanswered)} votes: that shows nothing about how it judges"
    if n := health.count("texts.failed"):
        yield f"gave no scores for {n} of {health.count('texts')} texts"
    if n := health.count("texts.excluded"):
        basic = Mode.BASIC in health.modes
        why = "only bare scores could be read from its answers" if basic else "read in another mode"
        yield f"{_were(n)} excluded: {why}"
    for name, what in (
        ("failed", "gave an answer that could not be used"),
        ("cut_off", "broke off at the limit of tokens"),
        ("broken_rules", "broke a binding rule"),
        ("made_up_quotes", "quoted what the text does not say"),
        ("unproven", "gave a high score without a quote for it"),
        ("contradictions", "made a complaint that the answer contradicts"),
        ("self_contradictions", "gave scores that do not fit its own lists"),
        ("too_few_reasons", "gave fewer reasons than asked for"),
    ):
        figure = health[name]
        if figure.value is not None and figure.value > _OFTEN:
            yield f"{what} in {_of(figure)} votes"
    if health["unanswered_findings"].value:
        yield f"left {_of(health['unanswered_findings'])} findings unanswered that it had to confirm or rebut"
    if health["disagreement"].value:
        yield f"votes on one text are far apart in {_of(health['disagreement'])} texts"


def _scale(health: JudgeHealth) -> Iterator[str]:
    top = health.scale[1]
    for name, item in health.dimensions.items():
        share = health[f"top_share.{name}"]
        if name in health.constant and share.n >= _FEWEST:
            yield f"{name} is the same in all {share.n} texts: it separates none"
        if item.inflated:
            yield f"gives {top:g} of {top:g} for {name} in {_of(share)} texts: {_than_due(health, name)}"
        length, other = (health[f"length.{name}.{which}"] for which in ("correlation", "labels"))
        if length.value is not None and _likes_length(length, other):
            longer = "higher" if length.value > 0 else "lower"
            extra = "" if other.value is None else f"; the reviewer's scores: {other.value:.2f}"
            yield f"{name} gets {longer} the longer the text is (correlation {length.value:.2f}, n {length.n}{extra})"


def _labels(health: JudgeHealth) -> Iterator[str]:
    for name in health.dimensions:
        kappa, bias = health[f"agreement.{name}.kappa"], health[f"agreement.{name}.difference"]
        if kappa.n >= _FEWEST and kappa.high is not None and kappa.high < _POOR_KAPPA:
            yield f"{name} hardly agrees with the reviewer beyond chance (kappa {kappa.value:.2f}, n {kappa.n})"
        if bias.value is not None and abs(bias.value) >= _NOTABLE_BIAS and not _reaches_zero(bias):
            how = "more lenient" if bias.value > 0 else "stricter"
            yield f"{name}: {abs(bias.value):.2f} points {how} than the reviewer on average (n {bias.n})"
    for name, flag in health.flags.items():
        counts = flag.counts
        if counts.missed:
            yield f"misses {counts.missed} of {counts.missed + counts.hits} texts that the reviewer flags with {name}"
        if counts.false_alarms:
            text = counts.false_alarms + counts.hits
            yield f"{counts.false_alarms} of {text} texts that it flags with {name} are no such thing to the reviewer"


def _pairs(health: JudgeHealth) -> Iterator[str]:
    for pair in health.pairs:
        correlation = health.figures[pair.metric]
        if pair.identical:
            yield f"{pair.first} and {pair.second} are the same in every text"
        elif pair.always and _beyond_noise(correlation):
            value = correlation.value or 0.0
            yield f"{pair.first} and {pair.second} always move together (correlation {value:.2f})"


def _of(figure: Estimate) -> str:
    """`38 of 40`"""
    return f"{round((figure.value or 0.0) * figure.n)} of {figure.n}"


def _were(n: int) -> str:
    return "1 text was" if n == 1 else f"{n} texts were"


def _likes_length(length: Estimate, of_labels: Estimate) -> bool:
    """Whether scores follow the length of the text, and clearly more so than the reviewer's do."""
    value, reviewer = length.value or 0.0, of_labels.value or 0.0
    of_its_own = abs(value) - max(0.0, reviewer if value > 0 else -reviewer)
    return _beyond_noise(length) and abs(value) >= _STRONG_LENGTH and of_its_own > _MORE_THAN_REVIEWER


def _beyond_noise(correlation: Estimate) -> bool:
    """Whether it is not 0 by chance."""
    return correlation.n >= _FEWEST and not _reaches_zero(correlation)


def _reaches_zero(figure: Estimate) -> bool:
    return figure.low is None or figure.high is None or figure.low <= 0 <= figure.high


def _than_due(health: JudgeHealth, name: str) -> str:
    beyond = health[f"top_beyond.{name}"]
    if beyond.n < LABELS_FOR_INFLATION:
        return "more than 1 in 10 is inflation"
    more = f"{100 * (beyond.value or 0.0):.1f} points more often than the reviewer"
    return f"{more}, who would give it in {_of(health[f'top_labelled.{name}'])}, is inflation"


# How far a judge can be trusted: against a reviewer's labels, against its rubric, against itself.


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
        if kappa.n >= _FEWEST and kappa.value is not None and (exact.value or 0.0) < 1:
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


# Whether a judge tells texts apart: one that gives all, or nearly all, of them one score may tell nothing.

FEWEST_ALIKE = 5
"""Fewer texts that have the same scores show no habit."""
_FEWEST_NEARLY = 20
_NEARLY_ALL = 0.95


def constant_judge(figures: JudgeDetails, scale: tuple[float, float], expected: Collection[str] = ()) -> str:
    """Why the scores of a judge tell nothing of texts that differ; "" when they do, or when one score may be due.

    In the dimensions of `expected` the suite declares that one score is, unless labels contradict it.

    A judge that gives all texts the same scores is suspect. Labels that are all alike allow it, and so does a scale of
    two, on which a system that is always right has one score. In a single dimension, and where it is nearly all texts,
    the labels must contradict it: they refuse the score to more texts than the judge does.
    """
    usual = {name: item for name, item in figures.usual.items() if item.n_texts >= FEWEST_ALIKE}
    open_to_doubt = {name: item for name, item in usual.items() if name not in expected}
    constant = bool(open_to_doubt) and all(item.n == item.n_texts for item in usual.values())
    if constant and not _may_be_due(open_to_doubt, scale):
        given = ", ".join(f"{name} {item.score:g}" for name, item in open_to_doubt.items())
        n = max(item.n_texts for item in open_to_doubt.values())
        return f"the judge gives all {n:,} texts the same scores ({given}) although the texts differ"
    refused = [
        f"{name} {item.score:g} to {item.n:,} of {item.n_texts:,}; labels refuse it to"
        f" {item.n_refused:,} of {item.n_labelled:,}"
        for name, item in usual.items()
        if _is_contradicted(item)
    ]
    return f"the judge hardly separates texts that differ by their labels ({', '.join(refused)})" if refused else ""


def hardly_distinguishes(usual: UsualScore | None, scale: tuple[float, float]) -> bool:
    """True when nearly all texts have one score on a scale of more than two, and no labels show that it is due."""
    if usual is None or usual.n == usual.n_texts or scale[1] - scale[0] == 1:
        return False
    return _is_nearly_constant(usual) and (usual.n_labelled < FEWEST_ALIKE or _is_contradicted(usual))


def _may_be_due(usual: dict[str, UsualScore], scale: tuple[float, float]) -> bool:
    if any(item.labels_differ for item in usual.values()):
        return False
    labelled, refused = (sum(getattr(item, name) for item in usual.values()) for name in ("n_labelled", "n_refused"))
    return (labelled >= FEWEST_ALIKE and not refused) or (scale[1] - scale[0] == 1 and not refused)


def _is_nearly_constant(usual: UsualScore) -> bool:
    return usual.n == usual.n_texts or (usual.n_texts >= _FEWEST_NEARLY and usual.n >= _NEARLY_ALL * usual.n_texts)


def _is_contradicted(usual: UsualScore) -> bool:
    if usual.n_labelled < FEWEST_ALIKE or not _is_nearly_constant(usual):
        return False
    bounds = wilson(usual.n_refused / usual.n_labelled, usual.n_labelled)
    # At the lower end the labels must still differ from that score more than twice as often as the judge does.
    return bounds is not None and bounds[0] > max(1 - _NEARLY_ALL, 2 * (1 - usual.n / usual.n_texts))
