"""What a figure of a comparison is made of: as data, and as blocks for a terminal."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from steelyard.comparing import change_texts as texts
from steelyard.comparing.explain import PairExplanation
from steelyard.pairing.model import MetricChange, Moved
from steelyard.report import document as doc
from steelyard.report.document import Block, Facts, Section, table_section
from steelyard.report.explanations import contributions_table, inputs_text, plain_value, reasons_table, row_name
from steelyard.report.render.json import encode_object, picked
from steelyard.stats.paired import SIGNIFICANT

_DIGITS = 4


def pair_data(pair: PairExplanation, limit: int | None) -> dict[str, Any]:
    """The figure as plain data, with the first `limit` of its pairs; with all of them when that is None."""
    change, rows = pair.change, pair.contributing[:limit]
    data = encode_object(replace(pair, contributing=())) | {"n_contributing": len(pair.contributing)}
    data["a"] = encode_object(change.a) | {"inputs": dict(pair.inputs_a)}
    data["b"] = encode_object(change.b) | {"inputs": dict(pair.inputs_b)}
    for name in ("change", "inputs_a", "inputs_b"):
        del data[name]
    tested = encode_object(change.difference) | picked(change, "p", "p_adjusted", "test", "verdict")
    moved = [encode_object(row) | {"moved": row.moved} for row in rows]
    return data | {"unit": change.unit, "difference": tested, "contributing": moved}


def pair_blocks(pair: PairExplanation, limit: int | None) -> list[Block]:
    """The figure with its formula, what it leaves out and the first `limit` of its pairs."""
    change = pair.change
    title = f"{pair.metric}: {texts.before(change)} -> {texts.after(change)}, n {change.a.n:,} {pair.of}"
    columns: list[doc.Written[Any]] = [
        ("case", lambda row: row_name(row.case_id, row.variant, row.repeat, row.check)),
        ("A", lambda row: plain_value(row.a)),
        ("B", lambda row: plain_value(row.b)),
        ("B - A", lambda row: f"{row.moved:+.{_DIGITS}g}"),
    ]
    return [
        Section(title, [Facts(_facts(pair))]),
        *table_section(reasons_table("Left out", pair.excluded)),
        *table_section(contributions_table(pair.contributing, pair.order, columns, limit)),
    ]


def _facts(pair: PairExplanation) -> list[tuple[str, str]]:
    """Formula, inputs of both sides, n, difference and test."""
    change, (a, b) = pair.change, pair.sides
    over = f"{change.difference.n:,} cases" if change.runs is None else f"A and B; {texts.base(change)}"
    method = texts.of_changes([change], "adjusted with the other figures of its table (Holm)")
    return [
        ("formula", pair.formula),
        ("with A", inputs_text(pair.inputs_a, a.value)),
        ("with B", inputs_text(pair.inputs_b, b.value)),
        ("n", f"{change.a.n:,} {pair.of} of {over}; {change.a.n_missing:,} missing"),
        ("counts", pair.how),
        ("difference", f"{texts.difference(change)} {texts.interval(change)}"),
        ("p", _tested(change)),
        *([("method", method)] if method else ()),
    ]


def _tested(change: MetricChange) -> str:
    """The p-value before and after it is adjusted, its test, and the verdict with what else keeps it from being one."""
    if change.p is None or change.p_adjusted is None:
        why, verdict = change.test or "no test", change.verdict.value
        return f"{texts.chance(change)}, {why}{'' if verdict in why else f': {verdict}'}"
    alone = texts.chance(replace(change, p_adjusted=change.p))
    confounded = change.verdict is Moved.CANNOT_TELL and change.p_adjusted < SIGNIFICANT
    why = "; `compare` says what blocks a verdict" if confounded else ""
    return f"{alone}, adjusted {texts.chance(change)}, {change.test}: {change.verdict.value}{why}"
