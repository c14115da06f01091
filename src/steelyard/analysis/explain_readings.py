"""What one sample brings into a figure, read from the sample itself: a way of its own, beside the columns.

Every rule on what counts as what is said here once more in plain Python, so that a mistake in either is found when the
two figures differ.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from steelyard.records import Outcome, Sample, Score
from steelyard.suite.gates import Gate

TARGET_FAILED = "the target failed: inconclusive"
JUDGE_FAILED = "the judge failed: inconclusive"
SET_ASIDE = "set aside: read by another kind of judge than the run's"
NEVER_CAME = "planned and never came"
MALFORMED = "malformed: counts as 0"
_NOT_WEIGHED = "nothing to weigh it against in this case"
_NOT_COUNTED = "nothing was counted"
_UNREAD = "malformed: nothing could be counted"


@dataclass(frozen=True, slots=True)
class Reading:
    """What a sample brings; `value` is None when it is not in the figure, and `why` says why not.

    Of one that is in it otherwise than as it stands, `why` says how. `ratios` are numerator and denominator of each
    ratio that a measure is made of, None where they are not known.
    """

    value: float | None
    why: str = ""
    ratios: tuple[tuple[float, float] | None, ...] = ()


Reader = Callable[[Sample], Reading]


class Rules:
    """A suite's rules on what a sample counts as."""

    def __init__(self, suite: Mapping[str, Any]) -> None:
        self.mode = (suite.get("judge") or {}).get("mode")
        self.has_threshold = bool(suite.get("passing"))
        self.components = {each["name"]: each for each in suite.get("components") or ()}
        self.bands = list(suite.get("bands") or ())

    def set_aside(self, sample: Sample) -> bool:
        """Whether another kind of judge has read it than the run's own."""
        return sample.outcome is Outcome.SCORED and self.mode is not None and sample.mode != self.mode

    def left_out(self, sample: Sample) -> str:
        """Why a sample says nothing about the system; "" when it does."""
        if sample.outcome is Outcome.TARGET_FAILED:
            return TARGET_FAILED
        if sample.outcome is Outcome.JUDGE_FAILED:
            return JUDGE_FAILED
        return SET_ASIDE if self.set_aside(sample) else ""

    def scale(self, component: str) -> tuple[float, float]:
        """The lowest and the highest value of a component."""
        low, high = self.components.get(component, {}).get("scale") or (0.0, 1.0)
        return float(low), float(high)


def reader(gate: Gate, suite: Mapping[str, Any]) -> Reader:
    """How one sample enters a metric that is made of samples."""
    return _READERS[gate.pattern](gate, Rules(suite))


def _average(_: Gate, rules: Rules) -> Reader:
    def read(sample: Sample) -> Reading:
        if why := rules.left_out(sample):
            return Reading(None, why)
        if sample.outcome is Outcome.MALFORMED:
            return Reading(0.0, MALFORMED)
        return Reading(sample.score, "" if sample.score is not None else "no component was weighed: no score")

    return read


def _passed(_: Gate, rules: Rules) -> Reader:
    def read(sample: Sample) -> Reading:
        if why := rules.left_out(sample):
            return Reading(None, why)
        if sample.outcome is Outcome.MALFORMED and rules.has_threshold:
            return Reading(0.0, "malformed: has not passed")
        if sample.passed is None:
            return Reading(None, "nothing says whether it passed")
        return Reading(float(sample.passed))

    return read


def _scored(_: Gate, rules: Rules) -> Reader:
    def read(sample: Sample) -> Reading:
        why = rules.left_out(sample)
        malformed = sample.outcome is Outcome.MALFORMED
        return Reading(float(not why and not malformed), "malformed: not scored" if malformed else why)

    return read


def _inconclusive(_: Gate, rules: Rules) -> Reader:
    def read(sample: Sample) -> Reading:
        why = rules.left_out(sample)
        return Reading(float(bool(why)), why)

    return read


def _malformed(_: Gate, rules: Rules) -> Reader:
    def read(sample: Sample) -> Reading:
        why = rules.left_out(sample)
        return Reading(None if why else float(sample.outcome is Outcome.MALFORMED), why)

    return read


def _band(gate: Gate, rules: Rules) -> Reader:
    lowest = [band["name"] for band in rules.bands if band["at_least"] <= 0][-1:]

    def read(sample: Sample) -> Reading:
        if why := rules.left_out(sample):
            return Reading(None, why)
        band, why = sample.band, ""
        if sample.outcome is Outcome.MALFORMED and band is None and lowest:
            band, why = lowest[0], "malformed: in the lowest band"
        return Reading(None, "in no band") if band is None else Reading(float(band == gate.subject), why)

    return read


def _component(gate: Gate, rules: Rules) -> Reader:
    low, high = rules.scale(gate.subject)
    declared = rules.components.get(gate.subject)
    earns_nothing = declared is not None and declared.get("when_unknown") != "skip"
    whole = gate.pattern.endswith(".points")

    def read(sample: Sample) -> Reading:
        if why := rules.left_out(sample):
            return Reading(None, why)
        found = _score(sample, gate.subject)
        value, why = (None if found is None else found.value), ""
        if value is None and sample.outcome is Outcome.MALFORMED and earns_nothing:
            value, why = low, "malformed: counts as the lowest value"
        if value is None:
            unread = sample.outcome is Outcome.MALFORMED
            return Reading(None, "malformed, and cases may skip it" if unread else _NOT_WEIGHED)
        return Reading(value if whole else (value - low) / (high - low), why)

    return read


def _measure(gate: Gate, rules: Rules) -> Reader:
    pairs = measure_counts(rules.components.get(gate.subject, {}), gate.measure)
    counts_of = counts_reader(gate, rules)

    def read(sample: Sample) -> Reading:
        if gate.readable and sample.outcome is Outcome.MALFORMED:
            return Reading(None, "malformed: not among the answers that could be read")
        counts = counts_of(sample)
        why = rules.left_out(sample)
        if counts is None:
            return Reading(None, why)
        ratios = tuple(_ratio(counts, above, below) for above, below in pairs)
        if not any(ratio is not None for ratio in ratios):
            return Reading(None, _UNREAD if sample.outcome is Outcome.MALFORMED else _NOT_COUNTED)
        return Reading(0.0, why and "set aside, and flagged: counts", ratios)

    return read


def counts_reader(gate: Gate, rules: Rules) -> Callable[[Sample], Mapping[str, int] | None]:
    """What a component counted in a sample; None when the sample says nothing."""
    is_flag = rules.components.get(gate.subject, {}).get("kind") == "flag"

    def read(sample: Sample) -> Mapping[str, int] | None:
        found = _score(sample, gate.subject)
        counts = {} if found is None else found.counts
        why = rules.left_out(sample)
        # A text must not talk itself out of a flag by breaking the judge.
        flagged = is_flag and why == SET_ASIDE and counts.get("flagged", 0) > 0
        return None if why and not flagged else counts

    return read


def measure_counts(component: Mapping[str, Any], measure: str) -> list[tuple[str, str]]:
    """The names of numerator and denominator of every ratio that a measure, or a mean of measures, is made of."""
    measures = component.get("measures") or {}
    mean = (component.get("means") or {}).get(measure)
    names = [measure] if mean is None else list(mean["of"])
    return [(measures[name]["numerator"], measures[name]["denominator"]) for name in names if name in measures]


def _ratio(counts: Mapping[str, int], above: str, below: str) -> tuple[float, float] | None:
    return (float(counts[above]), float(counts[below])) if above in counts and below in counts else None


def _score(sample: Sample, component: str) -> Score | None:
    return next((score for score in sample.scores if score.name == component), None)


def _found(gate: Gate, rules: Rules) -> Reader:
    once = gate.pattern.endswith((".rate", ".samples"))

    def read(sample: Sample) -> Reading:
        if why := rules.left_out(sample):
            return Reading(None, why)
        n = sum(gate.pattern == "findings.total" or finding.code == gate.subject for finding in sample.findings)
        return Reading(float(n > 0) if once else float(n))

    return read


def _latency(_: Gate, __: Rules) -> Reader:
    def read(sample: Sample) -> Reading:
        attempt = sample.attempt
        if sample.outcome is Outcome.TARGET_FAILED or attempt.failure is not None:
            return Reading(None, "the call failed")
        if attempt.cached:
            return Reading(None, "the answer came from the cache")
        return Reading(attempt.latency) if attempt.latency > 0 else Reading(None, "the call told no time")

    return read


def _reported(gate: Gate, _: Rules) -> Reader:
    name = {"cost.total": "cost", "tokens.in": "tokens_in", "tokens.out": "tokens_out"}[gate.pattern]

    def read(sample: Sample) -> Reading:
        value = getattr(sample.attempt, name)
        return Reading(None, "the call did not tell it") if value is None else Reading(float(value))

    return read


_READERS: dict[str, Callable[[Gate, Rules], Reader]] = {
    "pass_rate": _passed,
    "average": _average,
    "median": _average,
    "scored_rate": _scored,
    "malformed_rate": _malformed,
    "inconclusive_rate": _inconclusive,
    "band.<band>": _band,
    "score.<component>.average": _component,
    "score.<component>.points": _component,
    **dict.fromkeys(("score.<component>.<measure>", "score.<component>.<measure>.readable"), _measure),
    **dict.fromkeys(("findings.total", "findings.<code>", "findings.<code>.rate", "findings.<code>.samples"), _found),
    **dict.fromkeys([f"latency.{point}" for point in ("p50", "p95", "p99", "mean", "min", "max")], _latency),
    **dict.fromkeys(("cost.total", "tokens.in", "tokens.out"), _reported),
}
OF_SAMPLES = frozenset(_READERS)
"""Metrics that are made of samples; all others are made of cells."""


def in_words(sample: Sample) -> str:
    """What went wrong in a sample: its failure, or the codes that were found in it."""
    if sample.attempt.failure is not None:
        return f"{sample.attempt.failure.kind}: {sample.attempt.failure.message}"
    codes = Counter(finding.code for finding in sample.findings)
    told = ", ".join(code if n == 1 else f"{code} x {n}" for code, n in codes.items())
    outcome = "" if sample.outcome is Outcome.SCORED else sample.outcome.value
    return f"{outcome}: {told}" if outcome and told else outcome or told
