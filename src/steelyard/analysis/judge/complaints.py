"""What is wrong with a judge, in words that a tired person understands."""

from __future__ import annotations

from collections.abc import Iterator

from steelyard.analysis.judge.model import LABELS_FOR_INFLATION, JudgeHealth
from steelyard.records import Mode
from steelyard.stats.intervals import Estimate

_POOR_KAPPA = 0.4
"""Below this, agreement is no more than fair (Landis and Koch 1977)."""
_NOTABLE_BIAS = 0.25
"""Points."""
_STRONG_LENGTH = 0.5
_MORE_THAN_REVIEWER = 0.1
_OFTEN = 0.05
"""More votes than this that break a rule, invent a quote or fail are worth a complaint of their own."""
FEWEST_FOR_A_HABIT = 5
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
        if name in health.constant and share.n >= FEWEST_FOR_A_HABIT:
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
        if kappa.n >= FEWEST_FOR_A_HABIT and kappa.high is not None and kappa.high < _POOR_KAPPA:
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
    return correlation.n >= FEWEST_FOR_A_HABIT and not _reaches_zero(correlation)


def _reaches_zero(figure: Estimate) -> bool:
    return figure.low is None or figure.high is None or figure.low <= 0 <= figure.high


def _than_due(health: JudgeHealth, name: str) -> str:
    beyond = health[f"top_beyond.{name}"]
    if beyond.n < LABELS_FOR_INFLATION:
        return "more than 1 in 10 is inflation"
    more = f"{100 * (beyond.value or 0.0):.1f} points more often than the reviewer"
    return f"{more}, who would give it in {_of(health[f'top_labelled.{name}'])}, is inflation"
