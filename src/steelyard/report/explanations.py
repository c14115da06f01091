"""What stands behind a figure: as data, and in words and tables for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from rich.console import Console
from rich.text import Text as Line

from steelyard.analysis.compare.attribution_model import points
from steelyard.analysis.compare.model import MetricChange, Moved
from steelyard.analysis.explain import BehindPair, Contributing, Counted, Explanation, Inputs, PairExplanation
from steelyard.report import document as doc
from steelyard.report.compare import changes
from steelyard.report.document import Block, Document, Facts, Section, Table, table_section
from steelyard.report.format import ascii_only, visible
from steelyard.report.render.json import encode_object, picked
from steelyard.report.render.terminal import print_document
from steelyard.stats.paired import SIGNIFICANT
from steelyard.wording import in_unit


def explanations_to_json(
    runs: Sequence[str], explanations: Sequence[Explanation | PairExplanation], limit: int | None
) -> dict[str, Any]:
    """All figures that were asked for; of the samples behind each as many as `limit` says, all without it."""
    return {"runs": list(runs), "explained": [_single(item, limit) for item in explanations]}


def _single(explanation: Explanation | PairExplanation, limit: int | None) -> dict[str, Any]:
    messages: dict[str, Any] = {"n_contributing": len(explanation.contributing)}
    if isinstance(explanation, Explanation):
        shown = replace(explanation, contributing=explanation.contributing[:limit])
        return encode_object(shown) | messages | {"inputs": dict(explanation.inputs)}
    change, rows = explanation.change, explanation.contributing[:limit]
    data = encode_object(replace(explanation, contributing=())) | messages
    data["a"] = encode_object(change.a) | {"inputs": dict(explanation.inputs_a)}
    data["b"] = encode_object(change.b) | {"inputs": dict(explanation.inputs_b)}
    for name in ("change", "inputs_a", "inputs_b"):
        del data[name]
    tested = encode_object(change.difference) | picked(change, "p", "p_adjusted", "test", "verdict")
    moved = [encode_object(row) | {"moved": row.moved} for row in rows]
    return data | {"unit": change.unit, "difference": tested, "contributing": moved}


# What stands behind a figure, in a terminal.

ExplainedFacts = list[tuple[str, str]]
_DIGITS = 4
_WIDE_NAME = 40
"""Longer names push their places to the right."""


def print_explanations(
    explanations: Sequence[Explanation | PairExplanation], console: Console, runs: Sequence[str], limit: int | None
) -> None:
    """Print each figure with its formula, what it leaves out and the samples behind it."""
    blocks = [block for item in explanations for block in _blocks(item, limit)]
    context = [f"run {run}" for run in runs]
    print_document(Document(f"Explanation of {explanations[0].metric}", blocks, context=context), console)


def print_names(result: Sequence[tuple[str, str]], console: Console, *, title: str) -> None:
    """Print the name of every figure on a line of its own, as it is to be asked for, with what it is behind it."""
    plain = not console.encoding.startswith("utf")
    wide = max((len(name) for name, _ in result if len(name) <= _WIDE_NAME), default=0)
    rows = [f"{name:<{wide}}  {about}" for name, about in result]
    for line in (f"{title} (* is any, or all of them)", *rows):
        # Never broken: a name that is cut in two cannot be copied.
        console.print(Line(ascii_only(visible(line)) if plain else visible(line)), soft_wrap=True)


def _blocks(explanation: Explanation | PairExplanation, limit: int | None) -> list[Block]:
    noted: Sequence[Counted] = ()
    if isinstance(explanation, Explanation):
        rows, noted = _facts(explanation), explanation.noted
    else:
        rows = _pair_facts(explanation)
    return [
        Section(_headline(explanation), [Facts(rows)]),
        *table_section(_reasons("Left out", explanation.excluded)),
        *table_section(_reasons("Counted with another value", noted)),
        *table_section(_contributions(explanation, limit)),
    ]


def _headline(explanation: Explanation | PairExplanation) -> str:
    """The figure with its n."""
    if isinstance(explanation, PairExplanation):
        change = explanation.change
        sides = f"{changes.before(change)} -> {changes.after(change)}"
        return f"{explanation.metric}: {sides}, n {change.a.n:,} {explanation.of}"
    return (
        f"{explanation.metric} = {_as_printed(explanation.figure.value, explanation.unit)},"
        f" n {explanation.figure.n:,} {explanation.of}"
    )


def _facts(explanation: Explanation) -> ExplainedFacts:
    """Formula, inputs, n and interval."""
    figure, unit = explanation.figure, explanation.unit
    bounds = "none"
    if figure.low is not None and figure.high is not None:
        bounds = f"[{_as_printed(figure.low, unit)}, {_as_printed(figure.high, unit)}]"
    named = explanation.interval.startswith(f"{bounds}: ")
    return [
        ("what", explanation.about),
        ("formula", explanation.formula),
        ("with", _inputs(explanation.inputs, figure.value)),
        ("n", f"{figure.n:,} {explanation.of}; {figure.n_missing:,} missing"),
        ("counts", explanation.how),
        ("interval", explanation.interval if named else f"{bounds}: {explanation.interval}"),
    ]


def _pair_facts(pair: PairExplanation) -> ExplainedFacts:
    """The same of a comparison."""
    change, (a, b) = pair.change, pair.sides
    over = f"{change.difference.n:,} cases" if change.runs is None else f"A and B; {changes.base(change)}"
    return [
        ("formula", pair.formula),
        ("with A", _inputs(pair.inputs_a, a.value)),
        ("with B", _inputs(pair.inputs_b, b.value)),
        ("n", f"{change.a.n:,} {pair.of} of {over}; {change.a.n_missing:,} missing"),
        ("counts", pair.how),
        ("difference", f"{changes.difference(change)} {changes.interval(change)}"),
        ("p", _tested(change)),
        ("method", changes.of_changes([change], "adjusted with the other figures of its table (Holm)")),
    ]


def _tested(change: MetricChange) -> str:
    """The p-value before and after it is adjusted, its test, and the verdict with what else keeps it from being one."""
    if change.p is None or change.p_adjusted is None:
        return f"{changes.chance(change)}, {change.test or 'no test'}: {change.verdict.value}"
    alone = changes.chance(replace(change, p_adjusted=change.p))
    confounded = change.verdict is Moved.CANNOT_TELL and change.p_adjusted < SIGNIFICANT
    why = "; `compare` says what blocks a verdict" if confounded else ""
    return f"{alone}, adjusted {changes.chance(change)}, {change.test}: {change.verdict.value}{why}"


def _inputs(inputs: Inputs, value: float | None) -> str:
    """What stands in the formula: `passed 45, n 50, so 0.9`."""
    message = ", ".join(f"{name} {_plain_value(number)}" for name, number in inputs) or "nothing"
    return f"{message}: {'n/a' if value is None else f'{value:.6g}'}"


def _reasons(title: str, rows: Sequence[Counted]) -> Table:
    """How many there are for each reason."""
    return doc.table(
        title,
        rows,
        (doc.Column("n"), lambda row: f"{row.count:,}"),
        (doc.words("why"), lambda row: row.why),
        (doc.words("cases"), lambda row: ", ".join(row.cases)),
        most=len(rows),
    )


def _contributions(explanation: Explanation | PairExplanation, limit: int | None) -> Table:
    """The samples, cells or pairs, as many as asked for."""
    columns: list[doc.Written[Any]] = [
        ("value", lambda row: _plain_value(row.value)),
        (doc.words("what"), lambda row: row.detail),
    ]
    if isinstance(explanation, PairExplanation):
        columns = [
            ("A", lambda row: _plain_value(row.a)),
            ("B", lambda row: _plain_value(row.b)),
            ("B - A", lambda row: f"{row.moved:+.{_DIGITS}g}"),
        ]
    rows: Sequence[Any] = explanation.contributing[:limit]
    n = len(explanation.contributing)
    more = f"{n - len(rows):,} of {n:,} are not listed: --limit N lists more, --json all" if n > len(rows) else ""
    return doc.table(f"Contributions ({explanation.order})", rows, ("case", _name), *columns, note=more, most=len(rows))


def _name(row: Contributing | BehindPair) -> str:
    message = [row.variant] if row.variant else []
    if row.repeat:
        message.append(f"repeat {row.repeat + 1}")
    if isinstance(row, BehindPair) and row.check:
        message.append(row.check)
    return f"{row.case_id} ({', '.join(message)})" if message else row.case_id


def _as_printed(value: float | None, unit: str) -> str:
    if value is None:
        return "n/a"
    return f"{points(value)} points" if unit == "difference" else in_unit(value, unit)


def _plain_value(value: float) -> str:
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:.{_DIGITS}g}"
