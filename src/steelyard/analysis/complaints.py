"""What is wrong with a judge, in words that a tired person understands."""

from __future__ import annotations

from collections.abc import Iterator

from steelyard.analysis.judge_model import LABELS_FOR_INFLATION, DimensionHealth, JudgeHealth
from steelyard.records import Mode
from steelyard.stats.intervals import Estimate

_POOR_KAPPA = 0.4
"""Below this, agreement is no more than fair (Landis and Koch 1977)."""
_NOTABLE_BIAS = 0.25
"""Points."""
_STRONG_LENGTH = 0.5
_MORE_THAN_REVIEWER = 0.1
_OFTEN = 0.05
"""More ballots than this that break a rule, invent a quote or fail are worth a complaint of their own."""
_FEWEST = 5
"""Fewer texts than this show no habit of using the scale; so few come in one order in fewer than 1 of 50 cases."""


def complaints_about(health: JudgeHealth) -> tuple[str, ...]:
    """Sentences, those about readings that cannot be believed at all first."""
    return (*_itself(health), *_scale(health), *_labels(health), *_pairs(health))


def _itself(health: JudgeHealth) -> Iterator[str]:
    itself = health.itself
    if health.n_texts and not health.modes.get(health.mode):
        silent = itself.unanswered.value == 1
        yield "the judge was never reached: no call was answered" if silent else "the judge answered nothing usable"
    if itself.unanswered.value:
        yield f"no answer came for {_of(itself.unanswered)} readings: that says nothing of how it judges"
    if health.n_failed:
        yield f"came to no reading of {health.n_failed} of {health.n_texts} texts"
    if health.n_aside:
        basic = Mode.BASIC in health.modes
        why = "only bare scores could be read from its answers" if basic else "read in another mode"
        yield f"{_were(health.n_aside)} set aside: {why}"
    for figure, what in (
        (itself.failed, "gave an answer that could not be used"),
        (itself.cut_off, "broke off at the limit of tokens"),
        (itself.broken_rules, "broke a binding rule"),
        (itself.made_up_quotes, "quoted what the text does not say"),
        (itself.unproven, "gave a high score without a quote for it"),
        (itself.contradictions, "complained of what the answer shows to be otherwise"),
        (itself.too_few_reasons, "gave fewer reasons than asked for"),
    ):
        if figure.value is not None and figure.value > _OFTEN:
            yield f"{what} in {_of(figure)} readings"
    disagreed = itself.disagreement
    if disagreed.value:
        yield f"readings of one text lie far apart in {_of(disagreed)} texts"


def _scale(health: JudgeHealth) -> Iterator[str]:
    top = health.scale[1]
    for name, each in health.dimensions.items():
        share = each.top_share
        if each.constant and share.n >= _FEWEST:
            yield f"{name} is the same in all {share.n} texts: it tells none from another"
        if each.inflated:
            yield f"gives {top:g} of {top:g} for {name} in {_of(share)} texts: {_than_due(each)}"
        length = each.length
        if length.value is not None and _likes_length(each):
            longer = "higher" if length.value > 0 else "lower"
            other = each.length_labelled
            beside = "" if other.value is None else f"; the reviewer's scores: {other.value:.2f}"
            yield f"{name} gets {longer} the longer the text is (correlation {length.value:.2f}, n {length.n}{beside})"


def _labels(health: JudgeHealth) -> Iterator[str]:
    for name, each in health.dimensions.items():
        kappa, bias = each.agreement.kappa, each.agreement.bias
        if kappa.n >= _FEWEST and kappa.high is not None and kappa.high < _POOR_KAPPA:
            yield f"{name} hardly agrees with the reviewer beyond chance (kappa {kappa.value:.2f}, n {kappa.n})"
        if bias.value is not None and abs(bias.value) >= _NOTABLE_BIAS and not _reaches_zero(bias):
            how = "more lenient" if bias.value > 0 else "stricter"
            yield f"{name}: {abs(bias.value):.2f} points {how} than the reviewer on average (n {bias.n})"
    for name, flag in health.flags.items():
        found = flag.agreement
        if found.missed:
            yield f"misses {found.missed} of {found.missed + found.hits} texts that the reviewer flags with {name}"
        if found.false_alarms:
            said = found.false_alarms + found.hits
            yield f"{found.false_alarms} of {said} texts that it flags with {name} are no such thing to the reviewer"
    if health.corrected.clipped:
        yield "the corrected pass rate was cut off at the end of 0..1: the labelled part is not like the rest"


def _pairs(health: JudgeHealth) -> Iterator[str]:
    for pair in health.pairs:
        if pair.identical:
            yield f"{pair.first} and {pair.second} are the same in every text"
        elif pair.always and _beyond_noise(pair.correlation):
            value = pair.correlation.value or 0.0
            yield f"{pair.first} and {pair.second} always move together (correlation {value:.2f})"


def _of(figure: Estimate) -> str:
    """`38 of 40`"""
    return f"{round((figure.value or 0.0) * figure.n)} of {figure.n}"


def _were(n: int) -> str:
    return "1 text was" if n == 1 else f"{n} texts were"


def _likes_length(each: DimensionHealth) -> bool:
    """Whether scores follow the length of the text, and clearly more so than the reviewer's do."""
    value, reviewer = each.length.value or 0.0, each.length_labelled.value or 0.0
    of_its_own = abs(value) - max(0.0, reviewer if value > 0 else -reviewer)
    return _beyond_noise(each.length) and abs(value) >= _STRONG_LENGTH and of_its_own > _MORE_THAN_REVIEWER


def _beyond_noise(correlation: Estimate) -> bool:
    """Whether it is not 0 by chance."""
    return correlation.n >= _FEWEST and not _reaches_zero(correlation)


def _reaches_zero(figure: Estimate) -> bool:
    return figure.low is None or figure.high is None or figure.low <= 0 <= figure.high


def _than_due(each: DimensionHealth) -> str:
    beyond = each.top_beyond
    if beyond.n < LABELS_FOR_INFLATION:
        return "more than 1 in 10 is inflation"
    more = f"{100 * (beyond.value or 0.0):.1f} points more often than the reviewer"
    return f"{more}, who would give it in {_of(each.top_labelled)}, is inflation"
