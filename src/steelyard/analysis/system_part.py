"""The verdict of a comparison by the part that the system has in the change, as its explanation shows it."""

from __future__ import annotations

from dataclasses import replace

from steelyard.analysis.attribution_model import Attribution, Cause, Portion
from steelyard.analysis.attribution_wording import name_of, points
from steelyard.analysis.compare_model import Comparison, MetricChange, Moved
from steelyard.analysis.compared_figures import UNTOUCHED
from steelyard.stats.paired import NO_CHANGE

_SCALE = {Cause.SCORERS, Cause.JUDGE}
"""What moves a number without the system; by another truth nothing is compared."""
_BEYOND_NOISE = (Moved.BETTER, Moved.WORSE, Moved.CHANGED)


def with_attribution(comparison: Comparison, found: Attribution) -> Comparison:
    """The comparison with why its number moved. Where scorers or judge have a part in it, better and worse are said of
    the system's alone; where theirs is beyond noise of no other figure, since none of them was told apart."""
    comparison = replace(comparison, attribution=found)
    headline = comparison.headline
    others = [each for each in found.portions if _SCALE & {*each.causes} and abs(each.change.value or 0.0) > NO_CHANGE]
    system = found.portions[-1] if found.portions else None
    if headline.hindered_by or headline.in_spite_of or not others or system is None or system.is_joint:
        return comparison
    first = comparison.metrics[0]
    verdict = _verdict(system)
    sentence, sure = _words(verdict, found, system, others)
    told = replace(headline, verdict=verdict, sentence=sentence, how_sure=sure)
    comparison = replace(comparison, headline=told, metrics=(replace(first, verdict=verdict), *comparison.metrics[1:]))
    if all(each.cannot_tell for each in others):
        return comparison
    return replace(
        comparison,
        metrics=(comparison.metrics[0], *map(_doubted, comparison.metrics[1:])),
        slices={
            factor: tuple(replace(each, metrics=tuple(map(_doubted, each.metrics))) for each in groups)
            for factor, groups in comparison.slices.items()
        },
        sections=tuple(replace(each, rate=_doubted(each.rate)) for each in comparison.sections),
    )


def _verdict(system: Portion) -> Moved:
    value = system.change.value or 0.0
    if system.cannot_tell:
        return Moved.CANNOT_TELL
    return Moved.SAME if abs(value) <= NO_CHANGE else Moved.BETTER if value > 0 else Moved.WORSE


def _words(verdict: Moved, found: Attribution, system: Portion, others: list[Portion]) -> tuple[str, str]:
    begun = {Moved.CANNOT_TELL: "cannot tell whether B is better", Moved.SAME: "no change of the system"}
    change = system.change
    ends = "" if change.low is None or change.high is None else f" [{points(change.low)}, {points(change.high)}]"
    parts = ", ".join(f"{name_of(each)} {points(each.change.value)}" for each in others)
    sentence = f"{begun.get(verdict, f'B is {verdict}')}: of {points(found.total)} points the system has"
    sure = "the 95 % interval of the system's part leaves no change out"
    if found.anchors.not_measured:
        sure = f"fairly sure: {sure}; but {found.anchors.not_measured}"
    if verdict is Moved.SAME:
        sure = "no answer moved by more than these parts; that says nothing about answers that may come"
    elif verdict is Moved.CANNOT_TELL:
        sure = f"not sure: the system's part {'may be noise' if ends else 'shows no spread, and has no interval'}"
    return f"{sentence} {points(change.value)} points{ends}, {parts} ({change.n:,} cases)", sure


def _doubted(change: MetricChange) -> MetricChange:
    if change.group in UNTOUCHED or change.verdict not in _BEYOND_NOISE:
        return change
    return replace(change, verdict=Moved.CANNOT_TELL)
