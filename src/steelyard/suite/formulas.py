"""How every metric of `gates.METRICS` is computed, in words: one definition that `--explain` prints."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from steelyard.suite.gates import METRICS, Gate, parse_gate


class IntervalKind(StrEnum):
    """How the 95 % interval of a figure is made."""

    RATE = "rate"
    MEAN = "mean"
    OPEN_MEAN = "open mean"
    """Of what has no upper end."""
    QUANTILE = "quantile"
    RATIO = "ratio"
    CELLS = "cells"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Formula:
    """What is computed, and what of each sample enters it."""

    formula: str
    how: str
    interval: IntervalKind
    worse: str = "lower"
    """Which values count against the system: `lower`, `higher`, or "" when that depends on the suite."""
    of: str = "samples"
    """What `n` counts."""


_LEFT_OUT = "inconclusive samples, those set aside and those that never came are left out"
_CONCLUSIVE = f"a malformed answer counts as 0; {_LEFT_OUT}"
_WEIGHED = (
    "a malformed answer counts as the lowest value of the scale, unless cases may skip the component; samples in which"
    " there was no truth to weigh it against are left out, and so are inconclusive ones and those set aside"
)
_FOUND = f"only conclusive samples (scored or malformed) are looked at; {_LEFT_OUT}"
_HELD = (
    "a cell is a case under a variant, and a check of it holds over the repeats as `hold` says; what cannot be decided"
    " does not hold, stays in the denominator and is told as missing"
)
_ANSWERED = "calls that failed, answers from the cache and calls that told no time are left out"
_TOLD = "calls that did not tell it are left out; failed calls that did tell it are in"

FORMULAS: dict[str, Formula] = {
    "pass_rate": Formula("passed / n", f"a malformed answer has not passed; {_LEFT_OUT}", IntervalKind.RATE),
    "average": Formula("sum of scores / n", _CONCLUSIVE, IntervalKind.MEAN),
    "median": Formula("the middle score, or midway between the middle two", _CONCLUSIVE, IntervalKind.QUANTILE),
    "scored_rate": Formula(
        "scored / planned",
        "malformed, inconclusive, set aside and never came all count as not scored",
        IntervalKind.RATE,
    ),
    "malformed_rate": Formula("malformed / (scored + malformed)", _LEFT_OUT, IntervalKind.RATE, "higher"),
    "inconclusive_rate": Formula(
        "inconclusive / planned",
        "target failed, judge failed, set aside and never came all count as inconclusive",
        IntervalKind.RATE,
        "higher",
    ),
    "band.<band>": Formula(
        "samples in the band / samples in any band",
        f"a malformed answer is in the lowest band, where that begins at 0; {_LEFT_OUT}",
        IntervalKind.RATE,
        "",
    ),
    "score.<component>.average": Formula(
        "(sum of the component's values / n - lowest) / (highest - lowest)", _WEIGHED, IntervalKind.MEAN
    ),
    "score.<component>.points": Formula("sum of the component's values / n", _WEIGHED, IntervalKind.MEAN),
    "score.<component>.<measure>": Formula(
        "sum of one count / sum of another; of a mean of measures, the mean of such ratios, those of nothing left out",
        "both counts are summed over the samples in which both are known: a sample with more to count weighs more;"
        " malformed and inconclusive samples have nothing that was counted",
        IntervalKind.RATIO,
        "",
    ),
    "score.<component>.<measure>.readable": Formula(
        "as of the measure itself, over answers that could be read",
        "malformed answers are left out, with what they should have held; beside it stands the measure over all",
        IntervalKind.RATIO,
        "",
    ),
    "findings.total": Formula("number of findings", _FOUND, IntervalKind.NONE, "higher"),
    "findings.<code>": Formula(
        "number of findings of that code; a sample may have several", _FOUND, IntervalKind.NONE, "higher"
    ),
    "findings.<code>.rate": Formula(
        "samples with at least one such finding / conclusive samples", _FOUND, IntervalKind.RATE, "higher"
    ),
    "findings.<code>.samples": Formula("samples with at least one such finding", _FOUND, IntervalKind.NONE, "higher"),
    "cases.held": Formula("cells whose every check holds / planned cells", _HELD, IntervalKind.CELLS, of="cells"),
    "checks.held": Formula(
        "checks of cells that hold / all checks of cells",
        f"{_HELD}; a cell of which no check is known counts as one undecided check",
        IntervalKind.CELLS,
        of="checks of cells",
    ),
    "check.<check>.held": Formula(
        "cells' checks of that name that hold / all of that name",
        f"{_HELD}; whatever values the check looks for",
        IntervalKind.CELLS,
        of="checks of cells",
    ),
    "pass_all.<k>": Formula(
        "mean over cells of C(clean, k) / C(decided, k)",
        "a repeat is clean when every check of its cell passed, decided when it is clean or a check failed; cells with"
        " fewer than k decided repeats are left out",
        IntervalKind.MEAN,
        of="cells",
    ),
    "flaky_rate": Formula(
        "cells with clean and other decided repeats / cells with at least 2 decided repeats",
        "a repeat is clean when every check of its cell passed, decided when it is clean or a check failed",
        IntervalKind.MEAN,
        "higher",
        "cells",
    ),
    "stability.presence": Formula(
        "mean over cells of items in both repeats / items in either, summed over all pairs of repeats",
        "items are paired by key; cells with fewer than two readable repeats, or without any item, are left out",
        IntervalKind.MEAN,
        of="cells",
    ),
    "stability.<field>": Formula(
        "mean over cells of how alike the field is / items in both repeats, summed over all pairs of repeats",
        "items are paired by key; cells with no item in two repeats are left out",
        IntervalKind.MEAN,
        of="cells",
    ),
    "latency.p50": Formula("the 50th percentile, between the two nearest", _ANSWERED, IntervalKind.QUANTILE, "higher"),
    "latency.p95": Formula("the 95th percentile, between the two nearest", _ANSWERED, IntervalKind.QUANTILE, "higher"),
    "latency.p99": Formula("the 99th percentile, between the two nearest", _ANSWERED, IntervalKind.QUANTILE, "higher"),
    "latency.mean": Formula("sum of times / n", _ANSWERED, IntervalKind.OPEN_MEAN, "higher"),
    "latency.min": Formula("the shortest time", _ANSWERED, IntervalKind.NONE, "higher"),
    "latency.max": Formula("the longest time", _ANSWERED, IntervalKind.NONE, "higher"),
    "cost.total": Formula("sum of costs", _TOLD, IntervalKind.NONE, "higher"),
    "tokens.in": Formula("sum of input tokens", _TOLD, IntervalKind.NONE, "higher"),
    "tokens.out": Formula("sum of output tokens", _TOLD, IntervalKind.NONE, "higher"),
}


def asked_metric(text: str, there: Iterable[str] = METRICS) -> Gate:
    """The metric that a text names, `category.chairs.average` or a whole gate; ValueError with a sentence otherwise,
    that lists what is `there`."""
    if not text.strip():
        raise ValueError(f"metric {text!r} is no name; there are: {', '.join(there)}")
    whole = text if any(sign in text for sign in "<>=!") else f"{text} >= 0"
    try:
        return parse_gate(whole)
    except ValueError as error:
        told = about_metric(str(error), whole, text)
        unknown = "there is no metric" in told
        raise ValueError(f"{told}; there are: {', '.join(there)}" if unknown else told) from None


def about_metric(sentence: str, gate: str, text: str) -> str:
    """What is said of a gate, said of the metric that was asked for."""
    return sentence.replace(f"gate {gate!r}", f"metric {text!r}").removesuffix(" >= ...")
