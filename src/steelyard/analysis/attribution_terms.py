"""What single readings add to a portion of the change: the sum of them is the portion."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from steelyard.analysis.attribution_model import Attribution, Cause, How, Portion
from steelyard.analysis.attribution_reasons import reasons_told
from steelyard.analysis.attribution_wording import METHOD, name_of
from steelyard.analysis.compared_run import ComparedRun
from steelyard.analysis.explain import Behind, Computed, Counted, Explanation
from steelyard.errors import UserMistake
from steelyard.stats.arrays import Array

WHY = "why"
"""What a portion is asked for by: `why.truth`, or `why` alone for all of them."""
_SUMMED = {
    How.REWEIGHED: "sum over pairs of (A's answer after the step - before it) / pairs",
    How.ANCHORS: "sum over pairs of the judge's shift (B's judge - before; mean of its band if not measured) / pairs",
    How.LEFT: "sum over pairs of (B's reading - A's answer as last weighed - the judge's shift, if it has one) / pairs",
}
_COUNTED = {
    Cause.CASES: "(B: mean of all readings - mean of those with a counterpart) - (the same of A)",
    Cause.QUESTIONS: (
        "(B: mean of readings with a counterpart - mean of those asked the same question) - (the same of A)"
    ),
    Cause.AVAILABILITY: (
        "(B: mean of readings asked the same question - mean of those read on both sides) - (the same of A)"
    ),
}


@dataclass(frozen=True, slots=True)
class Terms:
    """Readings of a run, by their places in its columns, and what each adds to a portion."""

    run: ComparedRun
    rows: Array
    adds: Array
    before: Array
    after: Array
    """What it read before and after the step; of a reading on one side only both are the same."""
    said: str = ""
    """Words before that."""


Traces = dict[tuple[Cause, ...], list[Terms]]
"""By the causes of a portion, the readings behind it."""


def explain_why(attribution: Attribution, traces: Traces, metric: str) -> list[Explanation]:
    """The portion that `why.truth` names, or all of them for `why`; UserMistake when there is none of that name."""
    if attribution.total is None:
        raise UserMistake(f"metric {metric!r}: {attribution.sentence}")
    asked = metric.removeprefix(WHY).removeprefix(".")
    found = [each for each in attribution.portions if asked in ("", _full(each), *each.causes)]
    if not found:
        there = ", ".join(f"{WHY}.{_full(each)}" for each in attribution.portions)
        raise UserMistake(f"metric {metric!r}: no part of the change is {asked!r}; there are: {there}")
    return [explain_portion(attribution, each, traces[each.causes]) for each in found]


def _full(portion: Portion) -> str:
    return "+".join(portion.causes)


def explain_portion(attribution: Attribution, portion: Portion, terms: list[Terms]) -> Explanation:
    """The portion with what every reading adds to it, what moves it most first."""
    total = float(sum(each.adds.sum() for each in terms))
    rows = [row for each in terms for row in _behind(each)]
    rows.sort(key=lambda row: -abs(row.value))
    level = sum(len(each.adds) for each in terms) - len(rows)
    change = portion.change
    formula = _COUNTED.get(portion.causes[0]) if portion.how is How.COUNTED else _SUMMED[portion.how]
    return Explanation(
        metric=f"{WHY}.{_full(portion)}",
        unit="difference",
        about=f"the part of the change of {attribution.metric} that belongs to: {name_of(portion)}",
        formula=formula or "B's mean - A's mean",
        how="; ".join(told for told in (METHOD, portion.told, *reasons_told(attribution, portion.causes)) if told),
        of="cases",
        reported=change,
        computed=Computed(total, change.n, change.n_missing, (("readings that add to it", float(len(rows))),)),
        interval="over what each case adds",
        excluded=(Counted("adds nothing", level),) if level else (),
        noted=(),
        order="what moves it most first; the values sum to it",
        behind=tuple(rows),
    )


def _behind(terms: Terms) -> list[Behind]:
    columns = terms.run.columns
    return [
        Behind(
            columns.case_ids[int(columns.case[row])],
            columns.variants[int(columns.variant[row])],
            int(columns.repeat[row]),
            float(adds),
            f"{terms.said}{_reads(before, after)}",
        )
        for row, adds, before, after in zip(*_moving(terms), strict=True)
    ]


def _moving(terms: Terms) -> tuple[list[float], ...]:
    moving = np.flatnonzero(terms.adds)
    return tuple(each[moving].tolist() for each in (terms.rows, terms.adds, terms.before, terms.after))


def _reads(before: float, after: float) -> str:
    return f"{before:.4g}" if before == after else f"{before:.4g} -> {after:.4g}"
