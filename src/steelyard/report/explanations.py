"""What a figure of a run is made of: as data, and as blocks for a terminal."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from textwrap import wrap
from typing import Any

from rich.console import Console
from rich.text import Text as Line

from steelyard.analysis.explain import Counted, Explanation, Inputs
from steelyard.report import document as doc
from steelyard.report.document import Block, Facts, Section, Table, table_section
from steelyard.report.format import ascii_only, visible
from steelyard.report.render.json import encode_object
from steelyard.wording import in_unit, signed_points

_DIGITS = 4
_WIDE_NAME = 40
"""Longer names push what they are to the right."""
_MIN_ABOUT = 20


def explanation_data(explanation: Explanation, limit: int | None) -> dict[str, Any]:
    """The figure as plain data, with the first `limit` of its samples; with all of them when that is None."""
    shown = replace(explanation, contributing=explanation.contributing[:limit])
    n = {"n_contributing": len(explanation.contributing)}
    return encode_object(shown) | n | {"inputs": dict(explanation.inputs)}


def explanation_blocks(explanation: Explanation, limit: int | None) -> list[Block]:
    """The figure with its formula, what it leaves out and the first `limit` of its samples."""
    figure = _as_printed(explanation.figure.value, explanation.unit)
    title = f"{explanation.metric} = {figure}, n {explanation.figure.n:,} {explanation.of}"
    columns: list[doc.Written[Any]] = [
        ("case", lambda row: row_name(row.case_id, row.variant, row.repeat)),
        ("value", lambda row: plain_value(row.value)),
        (doc.words("what"), lambda row: row.detail),
    ]
    return [
        Section(title, [Facts(_facts(explanation))]),
        *table_section(reasons_table("Left out", explanation.excluded)),
        *table_section(reasons_table("Counted with another value", explanation.noted)),
        *table_section(contributions_table(explanation.contributing, explanation.order, columns, limit)),
    ]


def _facts(explanation: Explanation) -> list[tuple[str, str]]:
    """Formula, inputs, n and interval."""
    figure, unit = explanation.figure, explanation.unit
    bounds = "none"
    if figure.low is not None and figure.high is not None:
        bounds = f"[{_as_printed(figure.low, unit)}, {_as_printed(figure.high, unit)}]"
    named = explanation.interval.startswith(f"{bounds}: ")
    return [
        ("what", explanation.about),
        ("formula", explanation.formula),
        ("with", inputs_text(explanation.inputs, figure.value)),
        ("n", f"{figure.n:,} {explanation.of}; {figure.n_missing:,} missing"),
        ("counts", explanation.how),
        ("interval", explanation.interval if named else f"{bounds}: {explanation.interval}"),
    ]


def inputs_text(inputs: Inputs, value: float | None) -> str:
    """What stands in the formula: `passed 45, n 50: 0.9`."""
    message = ", ".join(f"{name} {plain_value(number)}" for name, number in inputs) or "nothing"
    return f"{message}: {'n/a' if value is None else f'{value:.6g}'}"


def reasons_table(title: str, rows: Sequence[Counted]) -> Table:
    """How many there are for each reason."""
    return doc.table(
        title,
        rows,
        (doc.Column("n"), lambda row: f"{row.count:,}"),
        (doc.words("why"), lambda row: row.why),
        (doc.words("cases", optional=True), lambda row: ", ".join(row.cases)),
        most=len(rows),
    )


def contributions_table(
    contributing: Sequence[Any], order: str, columns: Sequence[doc.Written[Any]], limit: int | None
) -> Table:
    """The first `limit` samples, cells or pairs, and how many there are."""
    rows, n = contributing[:limit], len(contributing)
    more = f"{n - len(rows):,} of {n:,} are not listed: --limit N lists more, --json all" if n > len(rows) else ""
    return doc.table(f"Contributions ({order})", rows, *columns, note=more, most=len(rows))


def row_name(case_id: str, variant: str, repeat: int | None, check: str = "") -> str:
    """`case-1 (short, repeat 2)`."""
    parts = (variant, f"repeat {repeat + 1}" if repeat else "", check)
    message = ", ".join(filter(None, parts))
    return f"{case_id} ({message})" if message else case_id


def _as_printed(value: float | None, unit: str) -> str:
    if value is None:
        return "n/a"
    return f"{signed_points(value)} points" if unit == "difference" else in_unit(value, unit)


def plain_value(value: float) -> str:
    """`45`, or four significant digits: `0.5833`."""
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:.{_DIGITS}g}"


def print_names(result: Sequence[tuple[str, str]], console: Console, *, title: str) -> None:
    """Print the name of every figure on a line of its own, as `--explain` takes it, with what it is next to it."""
    plain = not console.encoding.startswith("utf")
    wide = max((len(name) for name, _ in result if len(name) <= _WIDE_NAME), default=0)
    # A pipe gets one line per name.
    room = max(_MIN_ABOUT, console.width - wide - 2) if console.is_terminal else sys.maxsize
    lines = [f"{title} (* is any, or all of them)"]
    for name, about in result:
        first, *more = wrap(about, room) or [""]
        lines += [f"{name:<{wide}}  {first}", *(f"{'':{wide}}  {line}" for line in more)]
    for line in lines:
        # Never broken: a name that is cut in two cannot be copied.
        console.print(Line(ascii_only(visible(line)) if plain else visible(line)), soft_wrap=True)
