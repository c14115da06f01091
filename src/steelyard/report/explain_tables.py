"""What stands behind a figure, in words and tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from steelyard.analysis.attribution_wording import points
from steelyard.analysis.compare_model import MetricChange, Moved
from steelyard.analysis.explain import Behind, BehindPair, Computed, Counted, Explanation, PairExplanation
from steelyard.analysis.model import Estimate
from steelyard.analysis.number_text import in_unit
from steelyard.report import changes
from steelyard.report.changes import of_changes
from steelyard.report.document import Column, Kind, Table
from steelyard.stats.paired import SIGNIFICANT

Facts = list[tuple[str, str]]
_DIGITS = 4
_WRONG = "THE REPORT'S FIGURE IS NOT WHAT ITS SAMPLES COME TO"


def headline(found: Explanation | PairExplanation) -> str:
    """The figure with its n."""
    if isinstance(found, PairExplanation):
        change = found.change
        sides = f"{changes.before(change)} -> {changes.after(change)}"
        return f"{found.metric}: {sides}, n {change.a.n:,} {found.of}"
    return f"{found.metric} = {_figure(found.reported.value, found.unit)}, n {found.reported.n:,} {found.of}"


def facts(found: Explanation) -> Facts:
    """Formula, inputs, n, interval and the check against the samples."""
    missing = f"{found.reported.n:,} {found.of}; {found.reported.n_missing:,} missing"
    return [
        ("what", found.about),
        ("formula", found.formula),
        ("with", inputs(found.computed)),
        ("n", missing),
        ("counts", found.how),
        ("interval", _interval(found)),
        ("check", checked(found.agrees, [("the report", found.reported, found.computed)])),
    ]


def pair_facts(found: PairExplanation) -> Facts:
    """The same of a comparison."""
    change = found.change
    over = f"{change.difference.n:,} cases" if change.runs is None else f"A and B; {changes.base(change)}"
    return [
        ("formula", found.formula),
        ("with A", inputs(found.a)),
        ("with B", inputs(found.b)),
        ("n", f"{change.a.n:,} {found.of} of {over}; {change.a.n_missing:,} missing"),
        ("counts", found.how),
        ("difference", f"{changes.difference(change)} {changes.interval(change)}"),
        ("p", _tested(change)),
        ("method", of_changes([change], "adjusted with the other figures of its table (Holm)")),
        ("check", checked(found.agrees, [("A", change.a, found.a), ("B", change.b, found.b)])),
    ]


def _tested(change: MetricChange) -> str:
    """The p-value before and after it is adjusted, its test, and the verdict with what else keeps it from being one."""
    if change.p is None or change.p_adjusted is None:
        return f"{changes.chance(change)}, {change.test or 'no test'}: {change.verdict.value}"
    alone = changes.chance(replace(change, p_adjusted=change.p))
    hindered = change.verdict is Moved.CANNOT_TELL and change.p_adjusted < SIGNIFICANT
    why = "; `compare` says what hinders a verdict" if hindered else ""
    return f"{alone}, adjusted {changes.chance(change)}, {change.test}: {change.verdict.value}{why}"


def inputs(computed: Computed) -> str:
    """What stands in the formula: `passed 45, n 50, so 0.9`."""
    told = ", ".join(f"{name} {_plain(value)}" for name, value in computed.inputs)
    result = "n/a" if computed.value is None else f"{computed.value:.6g}"
    return f"{told}: {result}" if told else f"nothing: {result}"


def checked(agrees: bool, sides: Sequence[tuple[str, Estimate, Computed]]) -> str:
    """Whether the figure is what its samples come to; if not, both, in capitals."""
    if agrees:
        return "what the rows below come to: the same"
    told = "; ".join(
        f"{name} says {_exact(said.value)} (n {said.n}, {said.n_missing} missing), its samples {_exact(again.value)}"
        f" (n {again.n}, {again.n_missing} missing)"
        for name, said, again in sides
    )
    return f"{_WRONG}: {told}. This is a fault of Steelyard: trust neither"


def reasons(title: str, rows: Sequence[Counted]) -> Table:
    """How many there are for each reason."""
    return Table(
        title,
        (Column("n", Kind.FIGURE), Column("why", Kind.TEXT), Column("cases", Kind.TEXT)),
        [(f"{each.count:,}", each.why, ", ".join(each.cases)) for each in rows],
        most=len(rows),
    )


def behind(found: Explanation, limit: int | None) -> Table:
    """The samples or cells, as many as asked for."""
    rows = found.behind[:limit]
    return Table(
        f"Behind it ({found.order})",
        (Column("case", Kind.TEXT), Column("value", Kind.FIGURE), Column("what", Kind.TEXT)),
        [(_name(each), _plain(each.value), each.detail) for each in rows],
        note=left_off(len(found.behind), len(rows)),
        most=len(rows),
    )


def pairs_behind(found: PairExplanation, limit: int | None) -> Table:
    """The pairs, as many as asked for."""
    rows = found.behind[:limit]
    columns = [Column("case", Kind.TEXT), *(Column(name, Kind.FIGURE) for name in ("A", "B", "B - A"))]
    return Table(
        f"Behind it ({found.order})",
        tuple(columns),
        [(_name(each), _plain(each.a), _plain(each.b), _signed(each.moved)) for each in rows],
        note=left_off(len(found.behind), len(rows)),
        most=len(rows),
    )


def left_off(n: int, listed: int) -> str:
    """Says that there are more than are listed; "" when there are not."""
    return f"{n - listed:,} of {n:,} are not listed: --limit N lists more, --json all" if n > listed else ""


def _name(row: Behind | BehindPair) -> str:
    told = [row.variant] if row.variant else []
    if row.repeat:
        told.append(f"repeat {row.repeat + 1}")
    if isinstance(row, BehindPair) and row.check:
        told.append(row.check)
    return f"{row.case_id} ({', '.join(told)})" if told else row.case_id


def _figure(value: float | None, unit: str) -> str:
    if value is None:
        return "n/a"
    return f"{points(value)} points" if unit == "difference" else in_unit(value, unit)


def _interval(found: Explanation) -> str:
    """The interval and how it is made; of a figure that has none, why."""
    bounds = _bounds(found.reported, found.unit)
    return found.interval if found.interval.startswith(f"{bounds}: ") else f"{bounds}: {found.interval}"


def _bounds(estimate: Estimate, unit: str) -> str:
    if estimate.low is None or estimate.high is None:
        return "none"
    return f"[{_figure(estimate.low, unit)}, {_figure(estimate.high, unit)}]"


def _plain(value: float) -> str:
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:.{_DIGITS}g}"


def _signed(value: float) -> str:
    return f"{value:+.{_DIGITS}g}"


def _exact(value: float | None) -> str:
    return "n/a" if value is None else repr(value)
