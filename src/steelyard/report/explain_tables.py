"""What stands behind a figure, in words and tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from steelyard.analysis.compare.attribution_model import points
from steelyard.analysis.compare.model import MetricChange, Moved
from steelyard.analysis.explain import BehindPair, Computed, Contributing, Counted, Explanation, PairExplanation
from steelyard.analysis.wording import in_unit
from steelyard.report.compare import changes
from steelyard.report.compare.changes import of_changes
from steelyard.report.document import Column, Kind, Table
from steelyard.stats.intervals import Estimate
from steelyard.stats.paired import SIGNIFICANT

ExplainedFacts = list[tuple[str, str]]
_DIGITS = 4
_WRONG = "THE REPORT'S FIGURE DIFFERS FROM WHAT ITS SAMPLES GIVE"


def headline(explanation: Explanation | PairExplanation) -> str:
    """The figure with its n."""
    if isinstance(explanation, PairExplanation):
        change = explanation.change
        sides = f"{changes.before(change)} -> {changes.after(change)}"
        return f"{explanation.metric}: {sides}, n {change.a.n:,} {explanation.of}"
    return (
        f"{explanation.metric} = {_figure(explanation.reported.value, explanation.unit)},"
        f" n {explanation.reported.n:,} {explanation.of}"
    )


def facts(explanation: Explanation) -> ExplainedFacts:
    """Formula, inputs, n, interval and the check against the samples."""
    missing = f"{explanation.reported.n:,} {explanation.of}; {explanation.reported.n_missing:,} missing"
    return [
        ("what", explanation.about),
        ("formula", explanation.formula),
        ("with", inputs(explanation.computed)),
        ("n", missing),
        ("counts", explanation.how),
        ("interval", _interval(explanation)),
        ("check", checked(explanation.agrees, [("the report", explanation.reported, explanation.computed)])),
    ]


def pair_facts(pair_explanation: PairExplanation) -> ExplainedFacts:
    """The same of a comparison."""
    change = pair_explanation.change
    over = f"{change.difference.n:,} cases" if change.runs is None else f"A and B; {changes.base(change)}"
    return [
        ("formula", pair_explanation.formula),
        ("with A", inputs(pair_explanation.a)),
        ("with B", inputs(pair_explanation.b)),
        ("n", f"{change.a.n:,} {pair_explanation.of} of {over}; {change.a.n_missing:,} missing"),
        ("counts", pair_explanation.how),
        ("difference", f"{changes.difference(change)} {changes.interval(change)}"),
        ("p", _tested(change)),
        ("method", of_changes([change], "adjusted with the other figures of its table (Holm)")),
        (
            "check",
            checked(
                pair_explanation.agrees, [("A", change.a, pair_explanation.a), ("B", change.b, pair_explanation.b)]
            ),
        ),
    ]


def _tested(change: MetricChange) -> str:
    """The p-value before and after it is adjusted, its test, and the verdict with what else keeps it from being one."""
    if change.p is None or change.p_adjusted is None:
        return f"{changes.chance(change)}, {change.test or 'no test'}: {change.verdict.value}"
    alone = changes.chance(replace(change, p_adjusted=change.p))
    confounded = change.verdict is Moved.CANNOT_TELL and change.p_adjusted < SIGNIFICANT
    why = "; `compare` says what blocks a verdict" if confounded else ""
    return f"{alone}, adjusted {changes.chance(change)}, {change.test}: {change.verdict.value}{why}"


def inputs(computed: Computed) -> str:
    """What stands in the formula: `passed 45, n 50, so 0.9`."""
    message = ", ".join(f"{name} {_plain_value(value)}" for name, value in computed.inputs)
    result = "n/a" if computed.value is None else f"{computed.value:.6g}"
    return f"{message}: {result}" if message else f"nothing: {result}"


def checked(agrees: bool, sides: Sequence[tuple[str, Estimate, Computed]]) -> str:
    """Whether the figure is what its samples come to; if not, both, in capitals."""
    if agrees:
        return "recomputed from the rows below: the same"
    message = "; ".join(
        f"{name} says {_exact(text.value)} (n {text.n}, {text.n_missing} missing), its samples {_exact(again.value)}"
        f" (n {again.n}, {again.n_missing} missing)"
        for name, text, again in sides
    )
    return f"{_WRONG}: {message}. This is a defect of Steelyard: trust neither"


def reasons(title: str, rows: Sequence[Counted]) -> Table:
    """How many there are for each reason."""
    return Table(
        title,
        (Column("n", Kind.FIGURE), Column("why", Kind.TEXT), Column("cases", Kind.TEXT)),
        [(f"{row.count:,}", row.why, ", ".join(row.cases)) for row in rows],
        most=len(rows),
    )


def contributing(explanation: Explanation, limit: int | None) -> Table:
    """The samples or cells, as many as asked for."""
    rows = explanation.contributing[:limit]
    return Table(
        f"Contributions ({explanation.order})",
        (Column("case", Kind.TEXT), Column("value", Kind.FIGURE), Column("what", Kind.TEXT)),
        [(_name(row), _plain_value(row.value), row.detail) for row in rows],
        note=left_off(len(explanation.contributing), len(rows)),
        most=len(rows),
    )


def pairs_behind(pair_explanation: PairExplanation, limit: int | None) -> Table:
    """The pairs, as many as asked for."""
    rows = pair_explanation.contributing[:limit]
    columns = [Column("case", Kind.TEXT), *(Column(name, Kind.FIGURE) for name in ("A", "B", "B - A"))]
    return Table(
        f"Contributions ({pair_explanation.order})",
        tuple(columns),
        [(_name(row), _plain_value(row.a), _plain_value(row.b), _signed(row.moved)) for row in rows],
        note=left_off(len(pair_explanation.contributing), len(rows)),
        most=len(rows),
    )


def left_off(n: int, listed: int) -> str:
    """Says that there are more than are listed; "" when there are not."""
    return f"{n - listed:,} of {n:,} are not listed: --limit N lists more, --json all" if n > listed else ""


def _name(row: Contributing | BehindPair) -> str:
    message = [row.variant] if row.variant else []
    if row.repeat:
        message.append(f"repeat {row.repeat + 1}")
    if isinstance(row, BehindPair) and row.check:
        message.append(row.check)
    return f"{row.case_id} ({', '.join(message)})" if message else row.case_id


def _figure(value: float | None, unit: str) -> str:
    if value is None:
        return "n/a"
    return f"{points(value)} points" if unit == "difference" else in_unit(value, unit)


def _interval(explanation: Explanation) -> str:
    """The interval and how it is made; of a figure that has none, why."""
    bounds = _bounds(explanation.reported, explanation.unit)
    return (
        explanation.interval if explanation.interval.startswith(f"{bounds}: ") else f"{bounds}: {explanation.interval}"
    )


def _bounds(estimate: Estimate, unit: str) -> str:
    if estimate.low is None or estimate.high is None:
        return "none"
    return f"[{_figure(estimate.low, unit)}, {_figure(estimate.high, unit)}]"


def _plain_value(value: float) -> str:
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:.{_DIGITS}g}"


def _signed(value: float) -> str:
    return f"{value:+.{_DIGITS}g}"


def _exact(value: float | None) -> str:
    return "n/a" if value is None else repr(value)
