"""One grammar for everything that compares a metric with a threshold.

    gate         pass_rate >= 90 %        category.*.average >= 0.6 with n >= 5 skip small
    by a field   input.language.*.pass_rate >= 80 %
    on baseline  average >= release - 3 points        pass_rate >= @release for sure
    criterion    a gate on a number, or    valid in >= 2 of 3 repeats        score >= 80 % in >= 1 of 2 repeats
    judge        agreement.tone.kappa >= 0.6          broken_rules <= 5 %
    experiment   better | not better | worse | not worse, or a gate on the candidate

Reading only: `expression_checks` says whether a suite has what an expression names, and whether it can decide anything.
Every function that reads raises ValueError with a message for a person: what is written, what is wrong, what to write.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import field, replace

from steelyard.frozen import frozen
from steelyard.metrics.registry import (
    FAMILIES,
    OF_JUDGE,
    Compared,
    Level,
    Metric,
    Names,
    find,
    gate_metrics,
    metric,
    same_but,
)
from steelyard.metrics.units import NUMBER_PATTERN, UNIT_PATTERN, read_difference, read_number
from steelyard.suite.paths import path_step
from steelyard.suite.values import SLICED
from steelyard.suite.yaml import listed, meant

FACTORS = ("category", "difficulty", "variant", "tag")
"""By what samples of every suite are sliced; those of some suites by fields of their cases, too."""
EVERY = "*"
"""Stands for every slice of a factor."""
COMPARE: dict[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    "<": operator.lt,
}
OPERATORS = tuple(COMPARE)


@frozen
class Gate:
    """One threshold on one metric, of the whole run or of a slice (`slice` is `*` for every slice of `factor`)."""

    text: str
    factor: str | None
    slice: str | None
    metric: str
    """As written, without the slice: `findings.FORMAT`."""
    operator: str
    threshold: float
    """What the baseline's value is raised by, where the gate looks at one."""
    min_n: int
    unit: str
    pattern: str = ""
    """The name of the metric in the registry: `findings.<code>`."""
    subject: str = ""
    """What fills the angle brackets, a band, component, code, check, field, dimension or flag: `FORMAT`."""
    measure: str = ""
    """The measure of that component, for `score.<component>.<measure>`."""
    baseline: str = ""
    """The baseline that the threshold is counted from; "" when it is a plain number."""
    for_sure: bool = False
    """Whether noise decides nothing: a gate on a baseline passes only beyond it, one on a number passes or fails only
    with its whole interval."""
    min_n_to_pass: int = 1
    """With fewer rows than this it shows nothing good."""
    skip_small: bool = False
    """Of a gate on every slice: those that could not reach `min_n` are left out."""
    kind: str = field(default="gate", compare=False)
    """What messages call it: gate, criterion, metric; "" when its place says so already."""

    @property
    def of(self) -> Metric:
        """The metric that it stands on."""
        return metric(self.pattern)

    @property
    def names(self) -> Names:
        """What fills the angle brackets of its metric."""
        return tuple(name for name in (self.subject, self.measure) if name)

    @property
    def stands_on(self) -> tuple[str | None, str | None, str]:
        """Slice and metric: two gates with the same compare the same value."""
        return self.factor, self.slice, self.metric

    @property
    def label(self) -> str:
        """How messages begin: `gate 'average >= 0.6'`."""
        return _label(self.kind, self.text)


@frozen
class RepeatsRule:
    """In how many of the repeats of a case a condition on one sample must hold.

    `condition` names the value of one sample that is compared: "valid" and "passed" are 1 or 0 and must be >= 1,
    "score" lies in 0..1, "findings" is how many findings of `code` it has.
    """

    text: str
    condition: str
    operator: str
    threshold: float
    code: str
    """Of "findings"; "" for the others."""
    at_least: int
    of: int

    @property
    def unit(self) -> str:
        """How the compared value is measured."""
        return "count" if self.condition == "findings" else "share"

    @property
    def once(self) -> str:
        """The same condition asked of a single run: `valid in >= 1 of 1 repeats`."""
        value = f'findings."{self.code}"' if self.condition == "findings" else self.condition
        compared = "" if self.condition in ("valid", "passed") else f" {self.operator} {self.threshold}"
        return f"{value}{compared} in >= 1 of 1 repeats"


Expression = Gate | RepeatsRule

_BASELINE = r"[A-Za-z](?:[A-Za-z0-9_.-]*[A-Za-z0-9])?"
# A letter first, so that no name reads as a number; no sign at its end, which could be a minus.
_LONGEST_BASELINE = 60
_TOKEN = re.compile(
    r""""(?P<double>[^"]*)"|'(?P<single>[^']*)'|(?P<operator>>=|<=|==|!=|>|<)|(?P<dot>\.)|(?P<other>.)""",
    re.DOTALL,
)
_RIGHT = re.compile(
    rf"\s*(?:(?P<number>[+-]?{NUMBER_PATTERN})\s*(?P<unit>{UNIT_PATTERN})?"
    rf"|(?P<at>@)?(?P<baseline>{_BASELINE})(?:\s*(?P<sign>[+-])\s*(?P<difference>{NUMBER_PATTERN}\s*(?:{UNIT_PATTERN})?))?"
    r"(?P<for_sure>\s+for\s+sure)?)"
    r"\s*(?P<with_n>with\s+n\s*>=\s*(?P<min_n>\d+)(?P<skip_small>\s+skip\s+small)?)?\s*"
)
_REPEATS = re.compile(
    r"\s*(?P<condition>.*?)\s*\bin\s*>=\s*(?P<at_least>\d{1,9})\s+of\s+(?P<of>\d{1,9})\s+(?:repeats?|runs?)\s*",
    re.DOTALL,
)
_ALMOST_REPEATS = re.compile(
    r"""\s*(?:valid|passed)\b.*"""
    r"""|.*\bin\b[^"']*\b(?:repeats?|runs?)\s*"""
    r"""|.*\bin\s*(?:>=|<=|==|!=|>|<|=)?\s*\d+\s+of\b[^<>=!"']*""",
    re.DOTALL,
)
_WRITE_GATE = "write <metric> <operator> <number>, for instance: pass_rate >= 90 %"
_WRITE_JUDGE = "write <metric> <operator> <number>, for instance: agreement.tone.kappa >= 0.6"
_WRITE_REPEATS = "write <condition> in >= <k> of <n> repeats, for instance: valid in >= 2 of 3 repeats"
_CONDITIONS = "valid, passed, score >= 80 %, findings.CODE == 0"


def parse_gate(text: str, kind: str = "gate") -> Gate:
    """The gate that a text says; `kind` is what messages call it."""
    label = _label(kind, text)
    names, sign, rest = split_sides(text, label, _WRITE_GATE)
    right = _right_side(rest)
    if right is None:
        raise ValueError(
            f"{label}: {rest.strip()!r} is not a number; after {sign} write for instance 0.9, 90 % or 500 ms,"
            " then perhaps: with n >= 10, for slices with n >= 10 skip small;"
            " or a baseline: @release, release - 3 points"
        )
    factor, slice_name, spelled = _sliced(names, label, sign)
    # In a slice, a name with a dot that was left unquoted is the likeliest reason.
    hint = '; a name that holds a dot is quoted: tag."a.b".average' if factor else ""
    named = find(spelled)
    if named is None:
        unknown = _no_metric(spelled, gate_metrics(FAMILIES))
        if len(spelled) == 1 and not unknown.endswith("?"):
            hint = hint or "; a component's figures are named as score.<component>.average"
        raise ValueError(f"{label}: {unknown}{hint}")
    on, filled = named
    if factor is not None and on.of_judge:
        raise ValueError(f"{label}: {on.name} is of the whole run, and slices do not have it: leave out the slice")
    try:
        threshold = _threshold(right, on, sign, sliced=factor is not None)
    except ValueError as error:
        raise ValueError(f"{label}: {error}") from None
    if right["with_n"] and int(right["min_n"]) < 1:
        raise ValueError(f"{label}: with n >= {int(right['min_n'])} has no effect; the least is 1")
    if right["skip_small"] and slice_name != EVERY:
        raise ValueError(f"{label}: skip small leaves out some slices of many: write category.*.average {sign} ...")
    return Gate(
        text=text.strip(),
        factor=factor,
        slice=slice_name,
        metric=on.filled(tuple(filled.values())),
        operator=sign,
        threshold=threshold,
        min_n=int(right["min_n"] or 1),
        unit=on.unit,
        pattern=on.name,
        subject=next((name for part, name in filled.items() if part != "<measure>"), ""),
        measure=filled.get("<measure>", ""),
        baseline=right["baseline"] or "",
        for_sure=bool(right["for_sure"]),
        skip_small=bool(right["skip_small"]),
        kind=kind,
    )


def is_factor(name: str) -> bool:
    """Whether a name is what samples are sliced by: `category`, `input.language`."""
    return name in FACTORS or name.partition(".")[0] in (*SLICED, "variant")


def _sliced(names: list[str], label: str, sign: str) -> tuple[str | None, str | None, list[str]]:
    """The factor, the slice and the names of the metric; a field of cases ends where slice and metric can follow."""
    if not is_factor(names[0]):
        return None, None, names
    is_field = names[0] in SLICED
    if len(names) < 3:
        factor = ".".join(names if is_field else names[:1])
        raise ValueError(f"{label}: {factor} needs a slice and a metric: {factor}.*.average {sign} ...")
    ends = (at for at in range(1, len(names) - 1) if find(names[at + 1 :]) is not None)
    # A single factor of the variants, `variant.prompt.short.average`, is read as such where no variant is so called.
    of_factor = names[0] == "variant" and len(names) > 3 and find(names[2:]) is None and find(names[3:]) is not None
    end = next(ends, len(names) - 2) if is_field else 2 if of_factor else 1
    factor = ".".join(path_step(name) if at and "." in name else name for at, name in enumerate(names[:end]))
    return factor, names[end], names[end + 1 :]


def parse_metric(text: str, kind: str = "metric") -> Gate:
    """The metric that a text names, `category.chairs.average`, as a gate that is not to be compared."""
    try:
        return replace(parse_gate(f"{text} >= 0", kind), text=text.strip())
    except ValueError as error:
        raise ValueError(str(error).replace(repr(f"{text} >= 0"), repr(text)).removesuffix(" >= ...")) from None


def asked_metric(text: str, there: Iterable[str] | None = None) -> Gate:
    """The metric that a person asked for, alone or in a whole gate.

    The message of a ValueError lists what is `there`: usually all, of judges only where the name begins as theirs do.
    """
    families = [name for name in FAMILIES if text.strip().startswith(f"{name}.")]
    listing = ", ".join(gate_metrics(families) if there is None else there)
    if not text.strip():
        raise ValueError(f"metric {text!r} is no name; there are: {listing}")
    try:
        return parse_gate(text, "metric") if any(sign in text for sign in "<>=!") else parse_metric(text)
    except ValueError as error:
        unknown = "there is no metric" in str(error) and "did you mean" not in str(error)
        raise ValueError(f"{error}; there are: {listing}" if unknown else str(error)) from None


def parse_repeats(text: str) -> RepeatsRule | None:
    """The rule over repeats that a text says; None when it is of another form."""
    rule = _REPEATS.fullmatch(text)
    if rule is None:
        if _ALMOST_REPEATS.fullmatch(text):
            raise ValueError(f"{text!r} does not say in how many of how many repeats; {_WRITE_REPEATS}")
        return None
    at_least, of = int(rule["at_least"]), int(rule["of"])
    if at_least < 1:
        raise ValueError(f"{text!r}: a condition on 0 repeats is always true; the least is 1")
    if at_least > of:
        raise ValueError(f"{text!r}: {at_least} of {of} repeats can never be")
    condition, sign, threshold, code = _condition(text, rule["condition"])
    return RepeatsRule(text.strip(), condition, sign, threshold, code, at_least, of)


def parse_expression(text: str) -> Expression:
    """The criterion that a text says: a gate on a number, or a rule over repeats."""
    expression = parse_repeats(text) or parse_gate(text, "")
    if isinstance(expression, Gate) and expression.baseline:
        raise ValueError(f"{text!r}: a criterion is compared with a number; put it under gates")
    return expression


FEWEST_LABELS = 20
"""On fewer texts than this even a judge without any mistake may be wrong one time in seven (rule of three: 3 / n)."""


def parse_judge_threshold(text: str) -> Gate:
    """The threshold on a judge that a text says: a gate on a metric `judge.<...>`, which is named without `judge.`.

    It passes or fails with its whole interval, and on too few texts it passes not at all.
    """
    label = _label("health", text)
    names, sign, rest = split_sides(text, label, _WRITE_JUDGE)
    right = _right_side(rest)
    if right is None or right["baseline"] or right["with_n"]:
        raise ValueError(f"{label}: {rest.strip()!r} is not a number; after {sign} write for instance 0.6, 10 %")
    named = find([OF_JUDGE[:-1], *names])
    if named is None:
        every = [item for item in gate_metrics(FAMILIES).values() if item.of_judge]
        there = [short_name(item.name) for item in sorted(every, key=lambda item: item.level is not Level.LABEL)]
        raise ValueError(f"{label}: {_no_metric(names, there)}; metrics of a judge are: {listed(there)}")
    on, filled = named
    try:
        threshold = read_number(right["number"], right["unit"] or "", same_but(on, name=short_name(on.name)))
    except ValueError as error:
        raise ValueError(f"{label}: {error}") from None
    return Gate(
        text=text.strip(),
        factor=None,
        slice=None,
        metric=short_name(on.filled(tuple(filled.values()))),
        operator=sign,
        threshold=threshold,
        min_n=1,
        unit=on.unit,
        pattern=on.name,
        subject=next(iter(filled.values()), ""),
        for_sure=True,
        min_n_to_pass=FEWEST_LABELS,
        kind="health",
    )


def short_name(name: str) -> str:
    """How `judge.health` spells the name of a metric of a judge: without `judge.`."""
    return name.removeprefix(OF_JUDGE)


def is_relative(text: str) -> bool:
    """Whether a gate's threshold is counted from a baseline; False for what is no gate."""
    try:
        right = _right_side(split_sides(text, "gate", _WRITE_GATE)[2])
    except ValueError:
        return False
    return right is not None and bool(right["baseline"])


def split_sides(text: str, label: str, write: str) -> tuple[list[str], str, str]:
    """Names left of the operator (quotes taken off), the operator, and what follows it."""
    names = [""]
    for token in _TOKEN.finditer(text):
        kind = token.lastgroup or "other"
        if kind == "operator":
            stripped = [name.strip() for name in names]
            if not all(stripped):
                raise ValueError(f"{label}: a name is missing before {token[0]}; {write}")
            return stripped, token[0], text[token.end() :]
        if kind == "dot":
            names.append("")
        else:
            names[-1] += token[kind]
    hint = "= is not an operator, write == or >=" if "=" in text else write
    raise ValueError(f"{label} has none of the operators {' '.join(OPERATORS)}; {hint}")


def baseline_name_problem(name: str) -> str | None:
    """Why a baseline cannot be called so, with what would do; None when it can."""
    if name.upper() == "LAST":
        return f"{name!r} is what the newest run is called: choose another name, such as release"
    if len(name) > _LONGEST_BASELINE or not re.fullmatch(_BASELINE, name):
        return (
            f"{name!r} cannot name a baseline: write letters, digits and . _ - in it, a letter first and a letter or"
            f" digit last, at most {_LONGEST_BASELINE}, such as release or v2.1"
        )
    return None


def _label(kind: str, text: str) -> str:
    return f"{kind} {text!r}".strip()


def _right_side(rest: str) -> re.Match[str] | None:
    """The parts of what stands right of an operator.

    A word alone is no baseline, for `pass_rate >= high` is a mistake: it takes an @ or a difference.
    """
    right = _RIGHT.fullmatch(rest)
    return right if right and (right["number"] or right["at"] or right["difference"]) else None


def _no_metric(names: Sequence[str], there: Iterable[str]) -> str:
    written = ".".join(names)
    return f"there is no metric {written!r}{meant(written, there)}"


def _threshold(right: re.Match[str], metric: Metric, sign: str, *, sliced: bool) -> float:
    """The number, or what the baseline's value is raised by."""
    baseline, difference = right["baseline"], right["difference"]
    if not baseline:
        return read_number(right["number"], right["unit"] or "", metric)
    if sign not in (">=", "<="):
        raise ValueError(f"a metric is compared with that of another run by >= or <=, with what is allowed: not {sign}")
    if metric.compared is Compared.NO or (sliced and metric.compared is Compared.WHOLE_RUN):
        where = " in a slice" if metric.compared is Compared.WHOLE_RUN else ""
        raise ValueError(f"{metric.name}{where} is not compared between runs: write a number for {baseline}")
    offset = read_difference(difference, metric.unit, metric.name) if difference else 0.0
    lower = right["sign"] == "-"
    if offset and lower is not (sign == ">="):
        wrong, allowed = ("-", "+") if lower else ("+", "-")
        raise ValueError(
            f"{sign} {baseline} {wrong} {difference.strip()} asks for a change in every run: to allow one, write"
            f" {sign} {baseline} {allowed} {difference.strip()}"
        )
    return -offset if lower else offset


def _condition(text: str, condition: str) -> tuple[str, str, float, str]:
    """The value of one sample, how it is compared, with what, and the code of findings."""
    if condition in ("valid", "passed"):
        return condition, ">=", 1.0, ""
    is_score = re.match(r"score\s*[<>=!]", condition)
    if not is_score and not re.match(r"findings\s*\.", condition):
        raise ValueError(f"{text!r}: {condition!r} is no condition on one sample; there are: {_CONDITIONS}")
    # The score of one sample is written like the average of many.
    written = "average" + condition.removeprefix("score") if is_score else condition
    try:
        gate = parse_gate(written, "")
    except ValueError as error:
        raise ValueError(str(error).replace(repr(written), repr(text)).replace("average", "score")) from None
    if gate.baseline:
        raise ValueError(f"{text!r}: one sample is compared with a number, not against {gate.baseline!r}")
    if gate.min_n > 1:
        raise ValueError(f"{text!r}: with n >= {gate.min_n} has no meaning for one sample; leave it out")
    if is_score:
        return "score", gate.operator, gate.threshold, ""
    if gate.pattern != "findings.<code>":
        raise ValueError(f"{text!r}: of one sample write findings.CODE, as in findings.FORMAT == 0")
    if not gate.threshold.is_integer():
        raise ValueError(f"{text!r}: findings are counted, and {gate.threshold:g} is not a whole number")
    return "findings", gate.operator, gate.threshold, gate.subject
