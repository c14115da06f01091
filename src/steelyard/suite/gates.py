"""Gates as people write them: `pass_rate >= 90 %`, `category.*.average >= 0.6 with n >= 2`, `findings.FORMAT == 0`.

Parsing and checking only; `release.gates` evaluates them on a run.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from steelyard.suite.bounds import ANYTHING, Bounds, in_words, settled_within
from steelyard.suite.spelling import listed, meant

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
    min_n: int
    unit: str
    pattern: str = ""
    """The key into METRICS: `findings.<code>`."""
    subject: str = ""
    """What fills the angle brackets, a band, component, code, check or field: `FORMAT`."""
    measure: str = ""
    """The measure of that component, for `score.<component>.<measure>`."""

    @property
    def stands_on(self) -> tuple[str | None, str | None, str]:
        """Slice and metric: two gates with the same compare the same figure."""
        return self.factor, self.slice, self.metric


@dataclass(frozen=True, slots=True)
class Known:
    """The names that gates may speak of in one suite; None where they could not be read, so nothing can be said."""

    components: Mapping[str, Sequence[str] | None] | None = field(default_factory=dict)
    """Each component with the names of its measures."""
    codes: Sequence[str] | None = ()
    bands: Sequence[str] = ()
    slices: Mapping[str, Sequence[str]] | None = field(default_factory=dict)
    """By factor, the names that cases have."""
    passing: bool = True
    """Whether the suite says when a sample passes."""
    checks: Sequence[str] | None = ()
    """The names of declared checks; none when nothing is expected."""
    stability: Sequence[str] | None = ()
    """What repeats are compared in: `presence` and the declared fields; nothing when they are not compared."""
    scales: Mapping[str, Bounds] = field(default_factory=dict)
    """By component, the lowest and highest value it gives; one that is not here can be any number."""


_PIECE = re.compile(
    r""""(?P<double>[^"]*)"|'(?P<single>[^']*)'|(?P<operator>>=|<=|==|!=|>|<)|(?P<dot>\.)|(?P<other>.)""",
    re.DOTALL,
)
_RIGHT = re.compile(
    r"\s*(?P<number>[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,4})?)\s*(?P<unit>%|ms\b|s\b)?"
    r"\s*(?:with\s+n\s*>=\s*(?P<min_n>\d+))?\s*"
)
_MEASURE = "<measure>"
_WHOLE = ("count", "tokens")
_SHAPE = "write <metric> <operator> <number>, for instance: pass_rate >= 90 %"


def parse_gate(text: str) -> Gate:
    """The gate that a text says; ValueError with a message for a person when it says none."""
    names, sign, rest = split_sides(text, "gate", _SHAPE)
    found = _RIGHT.fullmatch(rest)
    if found is None:
        raise ValueError(
            f"gate {text!r}: {rest.strip()!r} is not a number; "
            f"after {sign} write for instance 0.9, 90 % or 500 ms, then perhaps: with n >= 10"
        )
    factor = slice_name = None
    if names[0] in FACTORS:
        if len(names) < 3:
            raise ValueError(f"gate {text!r}: {names[0]} needs a slice and a metric: {names[0]}.*.average {sign} ...")
        factor, slice_name, names = names[0], names[1], names[2:]
    metric, filled = _metric(text, names, sliced=factor is not None)
    threshold = _threshold(text, metric, Decimal(found["number"]), found["unit"] or "")
    min_n = int(found["min_n"] or 1)
    if min_n < 1:
        raise ValueError(f"gate {text!r}: with n >= {min_n} asks for nothing; the least is 1")
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
    )


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


def check_gate(gate: Gate, known: Known) -> str | None:
    """What is wrong with a gate in its suite (a name that is not there, a threshold that decides nothing), or None."""
    return missing_name(gate, known) or cannot_fail(gate, known)


def missing_name(gate: Gate, known: Known) -> str | None:
    """What a gate speaks of that its suite does not have, or None."""
    if gate.pattern == "pass_rate" and not known.passing:
        return f"gate {gate.text!r} needs a pass rule: write pass: score >= 75 %"
    if (lacking := _lacks(gate, known)) is not None:
        return lacking
    names = {
        "<component>": ("component", None if known.components is None else list(known.components)),
        "<code>": ("finding code", known.codes),
        "<band>": ("band", known.bands),
        "<check>": ("check", known.checks),
        "<field>": ("field of stability", known.stability),
    }
    for part in METRICS[gate.pattern].parts:
        if part not in names:
            continue
        what, there = names[part]
        if there is not None and gate.subject not in there:
            return _unknown(gate, what, there, gate.subject)
    measures = known.components.get(gate.subject) if gate.measure and known.components is not None else None
    if measures is not None and gate.measure not in measures:
        return _unknown(gate, f"measure of {gate.subject}", [*measures, "average", "points"], gate.measure)
    if gate.factor is not None and known.slices is not None:
        slices = known.slices.get(gate.factor, ())
        if not slices:
            return f"gate {gate.text!r}: no case of this suite has a {gate.factor}"
        if gate.slice not in (EVERY, NONE, *slices):
            return _unknown(gate, gate.factor, slices, gate.slice or "")
    return None


def _lacks(gate: Gate, known: Known) -> str | None:
    """What a gate over repeats needs that its suite does not declare, or None."""
    head = gate.pattern.partition(".")[0]
    if head in ("cases", "checks", "check", "pass_all", "flaky_rate") and known.checks is not None and not known.checks:
        return f"gate {gate.text!r} needs checks: write expect: {{how_many: {{count: items[], between: [1, 3]}}}}"
    if head == "stability" and known.stability is not None and not known.stability:
        return f"gate {gate.text!r} needs repeats that are compared: write stability: {{items: items[], key: id}}"
    if head == "pass_all" and gate.subject not in map(str, range(1, MOST_IN_A_ROW + 1)):
        return f"gate {gate.text!r}: {gate.subject!r} is no number of repeats from 1 to {MOST_IN_A_ROW}: pass_all.3"
    return None


def _unknown(gate: Gate, what: str, names: Sequence[str], name: str) -> str:
    hint = meant(name, names) or (f"; there are: {listed(names)}" if names else "; this suite declares none")
    return f"gate {gate.text!r}: there is no {what} {name!r}{hint}"


def cannot_fail(gate: Gate, known: Known | None = None) -> str | None:
    """Why a gate decides nothing, because every value passes it or none can; None when it can do both."""
    scale = None if known is None else known.scales.get(gate.subject)
    always = settled(gate.operator, gate.threshold, gate.unit, scale)
    if always is None:
        return None
    return f"gate {gate.text!r} cannot {'fail' if always else 'pass'}: {gate.metric} is always {span(gate, scale)}"


def settled(sign: str, limit: float, unit: str, scale: Bounds | None = None) -> bool | None:
    """True when every value of that unit compares so, False when none does, None when it depends.

    `scale` is that of a figure in points; without it nothing can be said of one.
    """
    return settled_within(sign, limit, bounds_of(unit, scale), whole=unit in _WHOLE)


def span(gate: Gate, scale: Bounds | None = None) -> str:
    """The values that a gate's metric can have, in words."""
    if gate.unit in _WHOLE and not gate.threshold.is_integer():
        return "a whole number"
    return in_words(bounds_of(gate.unit, scale))


def bounds_of(unit: str, scale: Bounds | None = None) -> Bounds:
    """The lowest and the highest value of that unit; points lie on the scale."""
    if unit == "points":
        return scale or ANYTHING
    return (0.0, 1.0) if unit in ("share", "score") else (0.0, math.inf)
