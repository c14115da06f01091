"""Gates as people write them: `pass_rate >= 90 %`, `category.*.average >= 0.6 with n >= 2`, `findings.FORMAT == 0`.

A threshold may be counted from a baseline: `average >= release - 3 points`. Parsing only; `gate_checks` says whether a
suite has what a gate speaks of, `release.gates` and `release.relative_gates` evaluate gates on a run.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal

from steelyard.suite.relative import ENOUGH, read_relative, relative_threshold
from steelyard.suite.spelling import meant

FACTORS = ("category", "difficulty", "variant", "tag")
COMPARE: dict[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    "<": operator.lt,
}
OPERATORS = tuple(COMPARE)
EVERY = "*"
MOST_IN_A_ROW = 100
"""pass^k is told for k up to this."""
NONE = "(none)"
"""The slice of cases that have no category or no difficulty while others do."""


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric that a gate may stand on; a part in angle brackets is filled with a name of the suite."""

    name: str
    unit: str
    """"share" and "score" lie in 0..1, "points" on a component's own scale; "count", "s", "cost" and "tokens" start
    at 0 and have no upper end."""
    about: str

    @property
    def parts(self) -> tuple[str, ...]:
        """The name, split at its dots."""
        return tuple(self.name.split("."))


METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric("pass_rate", "share", "passed samples among those with a score"),
        Metric("average", "score", "mean score; a malformed answer counts as 0"),
        Metric("median", "score", "middle score; a malformed answer counts as 0"),
        Metric("scored_rate", "share", "samples whose answer was read and weighed, among all planned"),
        Metric("malformed_rate", "share", "answers in the wrong shape, among conclusive samples"),
        Metric("inconclusive_rate", "share", "samples whose target or judge failed, among all planned"),
        Metric("band.<band>", "share", "samples in that band, among those with a band"),
        # Before the measures, because a literal spelling wins.
        Metric("score.<component>.average", "score", "mean of one component, as a fraction of its scale"),
        Metric("score.<component>.points", "points", "mean of one component, on its own scale"),
        Metric("score.<component>.<measure>", "share", "ratio of two counts of a component, each summed over samples"),
        Metric("score.<component>.<measure>.readable", "share", "the same, malformed answers left out"),
        Metric("findings.total", "count", "number of findings of any code"),
        Metric("findings.<code>", "count", "number of findings of that code"),
        Metric("findings.<code>.rate", "share", "conclusive samples with at least one finding of that code"),
        Metric("findings.<code>.samples", "count", "number of samples with at least one finding of that code"),
        Metric("cases.held", "share", "cases whose every check holds over the repeats, among all planned"),
        Metric("checks.held", "share", "checks that hold over the repeats of their case, among all"),
        Metric("check.<check>.held", "share", "the same of one check"),
        Metric("pass_all.<k>", "share", "pass^k: the chance that k repeats of a case pass every check, all of them"),
        Metric("flaky_rate", "share", "cases that pass every check in some repeats and not in others"),
        Metric("stability.presence", "share", "items that come again when a case is asked again"),
        Metric("stability.<field>", "share", "how alike a field of such items is"),
        Metric("latency.p50", "s", "median time of answered calls"),
        Metric("latency.p95", "s", "time that 95 % of answered calls stay within"),
        Metric("latency.p99", "s", "time that 99 % of answered calls stay within"),
        Metric("latency.mean", "s", "mean time of answered calls"),
        Metric("latency.min", "s", "fastest answered call"),
        Metric("latency.max", "s", "slowest answered call"),
        Metric("cost.total", "cost", "sum of the costs that calls reported"),
        Metric("tokens.in", "tokens", "sum of the input tokens that calls reported"),
        Metric("tokens.out", "tokens", "sum of the output tokens that calls reported"),
    )
}


@dataclass(frozen=True, slots=True)
class Gate:
    """One threshold on one metric, of the whole run or of a slice (`slice` is `*` for every slice of `factor`)."""

    text: str
    factor: str | None
    slice: str | None
    metric: str
    """As written, without the slice: `findings.FORMAT`."""
    operator: str
    threshold: float
    """What the baseline's figure is raised by, where the gate looks at one."""
    min_n: int
    unit: str
    pattern: str = ""
    """The key into METRICS: `findings.<code>`."""
    subject: str = ""
    """What fills the angle brackets, a band, component, code, check or field: `FORMAT`."""
    measure: str = ""
    """The measure of that component, for `score.<component>.<measure>`."""
    baseline: str = ""
    """The baseline that the threshold is counted from; "" when it is a plain number."""
    for_sure: bool = False
    """Of a gate on a baseline: it passes only when that is more than noise."""
    skip_small: bool = False
    """Of a gate on every slice: those that could not reach `min_n` are left out."""

    @property
    def readable(self) -> bool:
        """Whether malformed answers are left out of the measure."""
        return self.pattern.endswith(READABLE)

    @property
    def stands_on(self) -> tuple[str | None, str | None, str]:
        """Slice and metric: two gates with the same compare the same figure."""
        return self.factor, self.slice, self.metric


READABLE = ".readable"
"""Ends the name of a measure over the answers that could be read."""
_PIECE = re.compile(
    r""""(?P<double>[^"]*)"|'(?P<single>[^']*)'|(?P<operator>>=|<=|==|!=|>|<)|(?P<dot>\.)|(?P<other>.)""",
    re.DOTALL,
)
_RIGHT = re.compile(
    r"\s*(?P<number>[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,4})?)\s*(?P<unit>%|ms\b|s\b)?"
    rf"\s*{ENOUGH}"
)
_MEASURE = "<measure>"
_SHAPE = "write <metric> <operator> <number>, for instance: pass_rate >= 90 %"


def parse_gate(text: str) -> Gate:
    """The gate that a text says; ValueError with a message for a person when it says none."""
    names, sign, rest = split_sides(text, "gate", _SHAPE)
    found, relative = _RIGHT.fullmatch(rest), read_relative(rest)
    written = found or relative
    if written is None:
        raise ValueError(
            f"gate {text!r}: {rest.strip()!r} is not a number; "
            f"after {sign} write for instance 0.9, 90 % or 500 ms, then perhaps: with n >= 10, for slices"
            " with n >= 10 skip small; or a baseline: @release, release - 3 points"
        )
    factor = slice_name = None
    if names[0] in FACTORS:
        if len(names) < 3:
            raise ValueError(f"gate {text!r}: {names[0]} needs a slice and a metric: {names[0]}.*.average {sign} ...")
        factor, slice_name, names = names[0], names[1], names[2:]
    metric, filled = _metric(text, names, sliced=factor is not None)
    baseline, for_sure = "", False
    if found is not None:
        threshold = _threshold(text, metric, Decimal(found["number"]), found["unit"] or "")
        min_n = int(found["min_n"] or 1)
    elif relative is not None:
        try:
            said = relative_threshold(relative, metric.name, metric.unit, sign, sliced=factor is not None)
        except ValueError as error:
            raise ValueError(f"gate {text!r}: {error}") from None
        baseline, threshold, min_n, for_sure = said.baseline, said.offset, said.min_n, said.for_sure
    if min_n < 1:
        raise ValueError(f"gate {text!r}: with n >= {min_n} asks for nothing; the least is 1")
    skip_small = bool(written["skip_small"])
    if skip_small and slice_name != EVERY:
        raise ValueError(
            f"gate {text!r}: skip small leaves out some slices of many: write category.*.average {sign} ..."
        )
    return Gate(
        text=text.strip(),
        factor=factor,
        slice=slice_name,
        metric=".".join(filled.get(part, part) for part in metric.parts),
        operator=sign,
        threshold=threshold,
        min_n=min_n,
        unit=metric.unit,
        pattern=metric.name,
        subject=next((name for part, name in filled.items() if part != _MEASURE), ""),
        measure=filled.get(_MEASURE, ""),
        baseline=baseline,
        for_sure=for_sure,
        skip_small=skip_small,
    )


def is_relative(text: str) -> bool:
    """Whether a gate's threshold is counted from a baseline; False for what is no gate."""
    try:
        return bool(parse_gate(text).baseline)
    except ValueError:
        return False


def split_sides(text: str, what: str, shape: str) -> tuple[list[str], str, str]:
    """Names left of the operator (quotes taken off), the operator, and what follows it.

    ValueError naming `what` it is and the `shape` it should have.
    """
    names = [""]
    for piece in _PIECE.finditer(text):
        kind = piece.lastgroup or "other"
        if kind == "operator":
            stripped = [name.strip() for name in names]
            if not all(stripped):
                raise ValueError(f"{what} {text!r}: a name is missing before {piece[0]}; {shape}")
            return stripped, piece[0], text[piece.end() :]
        if kind == "dot":
            names.append("")
        else:
            names[-1] += piece[kind]
    hint = "= is not an operator, write == or >=" if "=" in text else shape
    raise ValueError(f"{what} {text!r} has none of the operators {' '.join(OPERATORS)}; {hint}")


def _metric(text: str, names: Sequence[str], *, sliced: bool) -> tuple[Metric, dict[str, str]]:
    """The metric those names spell and what fills its angle brackets, literal spellings first."""
    for metric in METRICS.values():
        if len(metric.parts) != len(names):
            continue
        filled = {part: name for part, name in zip(metric.parts, names, strict=True) if part.startswith("<")}
        if all(filled.get(part, part) == name for part, name in zip(metric.parts, names, strict=True)):
            return metric, filled
    written = ".".join(names)
    sentence = f"gate {text!r}: there is no metric {written!r}{meant(written, METRICS)}"
    # In a slice, a name with a dot that was left unquoted is the likeliest reason.
    raise ValueError(sentence + ('; a name that holds a dot is quoted: tag."a.b".average' if sliced else ""))


def _threshold(text: str, metric: Metric, number: Decimal, unit: str) -> float:
    bounded = metric.unit in ("share", "score")
    allowed = {"share": "%", "score": "%", "s": "ms s"}.get(metric.unit, "")
    if unit and unit not in allowed.split():
        fit = f"allowed: {allowed.replace(' ', ', ')}" if allowed else "it takes a plain number"
        raise ValueError(f"gate {text!r}: {metric.name} is not measured in {unit}; {fit}")
    if not math.isfinite(float(number)):
        raise ValueError(f"gate {text!r}: {number} is beyond every number that can be measured")
    if number < 0 and metric.unit != "points":
        raise ValueError(f"gate {text!r}: {number} is below 0, which {metric.name} never is")
    if unit == "%":
        if number > 100:
            raise ValueError(f"gate {text!r}: {number} % is above 100 %, which {metric.name} never is")
        return float(number / 100)
    if bounded and number > 1:
        raise ValueError(f"gate {text!r}: {number} is above 1: write {number} % or {number / 100}")
    return float(number / 1000) if unit == "ms" else float(number)
