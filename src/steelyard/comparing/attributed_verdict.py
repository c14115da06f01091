"""The verdict of a comparison by the part that the system has in the change, as its explanation shows it."""

from __future__ import annotations

from dataclasses import replace

from steelyard.comparing.attribution_model import Attribution, Cause, Portion
from steelyard.comparing.attribution_sentences import name_of
from steelyard.comparing.headline import with_sides
from steelyard.comparing.model import Comparison
from steelyard.pairing.figures import UNTOUCHED
from steelyard.pairing.model import MetricChange, Moved
from steelyard.stats.paired import NO_CHANGE
from steelyard.wording import signed_points

_SCALE = {Cause.SCORERS, Cause.JUDGE}
"""What moves a number without the system; by another truth nothing is compared."""
_BEYOND_NOISE = (Moved.BETTER, Moved.WORSE, Moved.CHANGED)


def with_attribution(comparison: Comparison, attribution: Attribution) -> Comparison:
    """The comparison with why its number moved. Where scorers or judge have a part in it, better and worse are said of
    the system's alone; where theirs is beyond noise of no other figure, since none of them was told apart."""
    comparison = replace(comparison, attribution=attribution)
    headline = comparison.headline
    others = [
        portion
        for portion in attribution.portions
        if _SCALE & {*portion.causes} and abs(portion.change.value or 0.0) > NO_CHANGE
    ]
    system = attribution.portions[-1] if attribution.portions else None
    if headline.confounded_by or headline.in_spite_of or not others or system is None or system.is_joint:
        return comparison
    first = comparison.metrics[0]
    verdict = _verdict(system)
    sentence, sure = _words(verdict, attribution, system, others)
    message = replace(headline, verdict=verdict, sentence=sentence, significance=sure)
    message = with_sides(message, comparison.a, comparison.b)
    comparison = replace(
        comparison, headline=message, metrics=(replace(first, verdict=verdict), *comparison.metrics[1:])
    )
    if all(other.cannot_tell for other in others):
        return comparison
    return replace(
        comparison,
        metrics=(comparison.metrics[0], *map(_doubted, comparison.metrics[1:])),
        slices={
            factor: tuple(replace(group, metrics=tuple(map(_doubted, group.metrics))) for group in groups)
            for factor, groups in comparison.slices.items()
        },
        sections=tuple(replace(section, rate=_doubted(section.rate)) for section in comparison.sections),
    )


def _verdict(system: Portion) -> Moved:
    value = system.change.value or 0.0
    if system.cannot_tell:
        return Moved.CANNOT_TELL
    return Moved.SAME if abs(value) <= NO_CHANGE else Moved.BETTER if value > 0 else Moved.WORSE


def _words(verdict: Moved, attribution: Attribution, system: Portion, others: list[Portion]) -> tuple[str, str]:
    started = {Moved.CANNOT_TELL: "cannot tell whether B is better", Moved.SAME: "no change of the system"}
    change = system.change
    ends = (
        ""
        if change.low is None or change.high is None
        else f" [{signed_points(change.low)}, {signed_points(change.high)}]"
    )
    parts = ", ".join(f"{name_of(other)} {signed_points(other.change.value)}" for other in others)
    sentence = f"{started.get(verdict, f'B is {verdict}')}: of {signed_points(attribution.total)} points the system has"
    sure = "the 95 % interval of the system's part leaves no change out"
    if attribution.anchors.not_measured:
        sure = f"limited: {sure}, but {attribution.anchors.not_measured}"
    if verdict is Moved.SAME:
        sure = "no answer moved by more than these parts; that does not generalise to other answers"
    elif verdict is Moved.CANNOT_TELL:
        sure = f"not sure: the system's part {'may be noise' if ends else 'shows no spread, and has no interval'}"
    return f"{sentence} {signed_points(change.value)} points{ends}, {parts} ({change.n:,} cases)", sure


def _doubted(change: MetricChange) -> MetricChange:
    if change.group in UNTOUCHED or change.verdict not in _BEYOND_NOISE:
        return change
    return replace(change, verdict=Moved.CANNOT_TELL)
