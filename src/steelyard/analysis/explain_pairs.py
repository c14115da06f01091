"""A figure of a comparison traced to its pairs: computed again from the samples, and held against the comparison's.

Which samples are pairs is the comparison's own; what each of them brings is read from the samples themselves.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from steelyard.analysis import explain_only_compared as only_compared
from steelyard.analysis.compare_model import MetricChange, PairList, Pairs, Why
from steelyard.analysis.compared_slices import DIFFERS
from steelyard.analysis.explain_model import BehindPair, Computed, Counted, PairExplanation
from steelyard.analysis.explain_parts import Reasons
from steelyard.analysis.explain_readings import Reading, Rules, counts_reader, measure_counts, reader
from steelyard.analysis.explain_sums import combined
from steelyard.analysis.pieces import Array
from steelyard.records import Finding, Outcome, Sample
from steelyard.suite.formulas import FORMULAS
from steelyard.suite.gates import NONE, Gate

FAILURES = ("inconclusive_rate", "malformed_rate", only_compared.TARGET_FAILED, only_compared.JUDGE_FAILED)
"""Figures of every pair that was asked the same question, with a reading or without."""
NAMES = {"cost.total": "cost"}
"""What a comparison names otherwise than gates do."""
_MEANS = {
    "findings.total": "number of findings / n",
    "findings.<code>": "number of findings of that code / n",
    "cost.total": "sum of costs / n",
    "tokens.in": "sum of input tokens / n",
    "tokens.out": "sum of output tokens / n",
    **only_compared.FORMULAS,
}
_MOST_CASES = 5
_HOW = "over the pairs in which both sides have it"


@dataclass(frozen=True, slots=True)
class Side:
    """One sample of a pair, as far as a figure needs it."""

    key: tuple[str, str, int]
    reading: Reading
    counts: Mapping[str, int] | None
    """Of a measure, what its component counted; None when the sample says nothing."""
    category: str | None
    difficulty: str | None
    tags: tuple[str, ...]


def read_sides(
    gate: Gate, suite: Mapping[str, Any], samples: Iterable[Sample], wanted: Array, *, only_scores: bool
) -> dict[int, Side]:
    """By position, the samples that are in pairs; `wanted` holds their positions.

    With `only_scores` findings that a judge names besides its scores are passed over: one of the runs has none.
    """
    rules = Rules(suite)
    if only_scores:
        samples = (replace(each, findings=tuple(_from_scores(each, rules))) for each in samples)
    read = _reader(gate, suite, rules)
    counts = counts_reader(gate, rules) if gate.measure else None
    positions = set(wanted.tolist())
    return {
        at: Side(
            sample.key,
            read(sample),
            None if counts is None else counts(sample),
            sample.category,
            sample.difficulty,
            sample.tags,
        )
        for at, sample in enumerate(samples)
        if at in positions
    }


def _from_scores(sample: Sample, rules: Rules) -> Iterator[Finding]:
    """The findings that follow from a score, or from an answer that could not be read."""
    for finding in sample.findings:
        of_dimension = rules.components.get(finding.component, {}).get("kind") == "dimension"
        named = not finding.component or (of_dimension and finding.gain == 0)
        if sample.outcome is Outcome.MALFORMED or not named:
            yield finding


def _reader(gate: Gate, suite: Mapping[str, Any], rules: Rules) -> Callable[[Sample], Reading]:
    if gate.pattern in only_compared.FORMULAS:
        return only_compared.reader_of(gate, rules)
    return _failure(gate) if gate.pattern in FAILURES else reader(gate, suite)


def _failure(gate: Gate) -> Callable[[Sample], Reading]:
    """Comparisons look at how samples ended, whichever judge has read them."""

    def read(sample: Sample) -> Reading:
        if gate.pattern == "inconclusive_rate":
            return Reading(float(not sample.outcome.conclusive))
        if not sample.outcome.conclusive:
            return Reading(None, "inconclusive")
        return Reading(float(sample.outcome is Outcome.MALFORMED))

    return read


def slice_of(a: Side, b: Side, factor: str) -> tuple[str, ...]:
    """The groups of a factor that a pair is in."""
    if factor == "variant":
        return (a.key[1],)
    if factor == "tag":
        return tuple(tag for tag in a.tags if tag in b.tags)
    one, other = getattr(a, factor), getattr(b, factor)
    return (DIFFERS,) if one != other else (NONE if one is None else one,)


def explain_pairs(
    gate: Gate,
    metric: str,
    change: MetricChange,
    pairs: Sequence[tuple[Side, Side]],
    suite: Mapping[str, Any],
    not_comparable: Sequence[Counted],
    method: str,
) -> PairExplanation:
    """The figure with everything behind it; `pairs` are those of its slice."""
    excluded = Reasons()
    known: list[tuple[Side, Reading, Reading]] = []
    for a, b in pairs:
        before, after = _both(gate, suite, a, b)
        if before.value is None or after.value is None:
            excluded.add(why_not_known(before, after), a.key[0])
        else:
            known.append((a, before, after))
    missing = len(pairs) - len(known)
    computed_a = _computed(gate, [before for _, before, _ in known], missing)
    computed_b = _computed(gate, [after for _, _, after in known], missing)
    order, rows = most_against(change, [_row(each, computed_a) for each in known])
    return PairExplanation(
        metric=metric,
        formula=(_MEANS.get(gate.pattern) or FORMULAS[gate.pattern].formula) + ", of A and of B; B - A",
        how=_HOW,
        of="pairs",
        change=change,
        a=computed_a,
        b=computed_b,
        interval=method,
        excluded=(*not_comparable, *excluded.counted()),
        order=order,
        behind=rows,
    )


def _both(gate: Gate, suite: Mapping[str, Any], a: Side, b: Side) -> tuple[Reading, Reading]:
    """What a pair brings on either side; of a measure, what only one side counted is none on the other."""
    if not gate.measure:
        return a.reading, b.reading
    if gate.pattern == only_compared.COUNT:
        return _count(gate, a.counts, b.counts), _count(gate, b.counts, a.counts)
    declared = {each["name"]: each for each in suite.get("components") or ()}.get(gate.subject, {})
    ((above, below),) = measure_counts(declared, gate.measure)[:1] or [("", "")]
    found = []
    for own, other in ((a.counts, b.counts), (b.counts, a.counts)):
        numbers = [_filled(own, other, name) for name in (above, below)]
        if numbers[0] is None or numbers[1] is None:
            found.append(Reading(None, "nothing was counted"))
        else:
            found.append(Reading(0.0, "", ((float(numbers[0]), float(numbers[1])),)))
    return found[0], found[1]


def _count(gate: Gate, own: Mapping[str, int] | None, other: Mapping[str, int] | None) -> Reading:
    number = _filled(own, other, gate.measure)
    return Reading(None, "nothing was counted") if number is None else Reading(float(number))


def _filled(own: Mapping[str, int] | None, other: Mapping[str, int] | None, name: str) -> int | None:
    if own and name in own:
        return own[name]
    return 0 if own and other and name in other else None


def why_not_known(before: Reading, after: Reading) -> str:
    """Why a pair is in no figure, in words."""
    if before.value is None and after.value is None:
        return f"not known on either side: {before.why}"
    side, why = ("A", before.why) if before.value is None else ("B", after.why)
    return f"not known in {side}: {why}"


def _computed(gate: Gate, readings: Sequence[Reading], missing: int) -> Computed:
    means = replace(gate, pattern="average", measure="") if gate.pattern in _MEANS else gate
    found = combined(means, readings)
    return Computed(found.value, found.n, missing, found.inputs)


def _row(pair: tuple[Side, Reading, Reading], a: Computed) -> BehindPair:
    """A pair of a measure brings numerator - A's ratio x denominator: the sum of what moved is what the ratio moved."""
    side, before, after = pair
    if not before.ratios:
        return BehindPair(*side.key, before.value or 0.0, after.value or 0.0)
    ratio = a.value or 0.0
    values = [above - ratio * below for each in (before, after) for above, below in filter(None, each.ratios)]
    return BehindPair(*side.key, values[0], values[1])


def most_against(change: MetricChange, rows: Sequence[BehindPair]) -> tuple[str, tuple[BehindPair, ...]]:
    """What moved most against the system first, and that order in words."""
    if change.better_when == "higher":
        return "what fell most first", tuple(sorted(rows, key=lambda row: row.moved))
    if change.better_when == "lower":
        return "what rose most first", tuple(sorted(rows, key=lambda row: -row.moved))
    return "what moved most first", tuple(sorted(rows, key=lambda row: -math.fabs(row.moved)))


def not_comparable(pairs: Pairs, gate: Gate) -> list[Counted]:
    """Samples of either run that are in no pair, by reason; of a rate of failures, only those without a counterpart."""
    reasons: dict[Why, PairList] = pairs.not_comparable
    whole = " (of the whole comparison)" if gate.factor else ""
    alone = (Why.ONLY_IN_A, Why.ONLY_IN_B, Why.CHANGED_QUESTION)
    return [
        Counted(
            f"{why.value}{whole}", each.count, tuple(dict.fromkeys(line.case_id for line in each.lines))[:_MOST_CASES]
        )
        for why, each in reasons.items()
        if gate.pattern not in FAILURES or why in alone
    ]
