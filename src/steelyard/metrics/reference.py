"""The tables of all metrics in docs/reference/metrics.md, written from the registry.

python -m steelyard.metrics.reference docs/reference/metrics.md
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from steelyard.metrics.registry import FAMILIES, Level, Metric, gate_metrics, metrics

_MARKS = re.compile(r"(<!-- (metrics|reported): begin -->\n).*?(<!-- \2: end -->)", re.S)
_UNITS = {"s": "seconds", "cost": "the suite's currency"}
_BETTER = {"higher": "higher", "lower": "lower", "": "-"}
_SPELLED = {"<case>": "<id>", "<n>": "<number>", "<repeat>": "<number>", "<section>": "<name>"}
"""How `--explain` spells parts of names."""
_AGAIN = "confidence.label.<label>."
"""Begins the names that one kind of claims has as all of them do."""


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |\n" for line in lines)


def table() -> str:
    """Every metric of the product that a gate can name, one line each."""
    head = ("metric", "what it is", "unit", "better", "formula", "counted over")
    return _table(head, (_row(metric) for metric in gate_metrics(FAMILIES).values() if not metric.own))


def _row(metric: Metric) -> Sequence[str]:
    better = "as the suite says" if callable(metric.better) else _BETTER[metric.better]
    unit, formula = _UNITS.get(metric.unit, metric.unit), metric.formula.replace(" / ", " ÷ ")
    return f"`{metric.name}`", metric.about, unit, better, formula, metric.stands_on


def reported_table() -> str:
    """Every metric that is only reported, one line each."""
    every = metrics(FAMILIES).values()
    some = (item for item in every if not (item.gate or item.own or item.name.startswith(_AGAIN)))
    head = ("metric", "what it is", "unit", "formula", "made of", "interval")
    return _table(head, map(_reported_row, some))


def spelled(metric: Metric) -> str:
    """The name of a metric as the page has it; "" of one that is named with all claims."""
    name = "" if metric.name.startswith(_AGAIN) else metric.name
    if not metric.gate:
        for part, words in _SPELLED.items():
            name = name.replace(part, words)
    return name


def _reported_row(metric: Metric) -> Sequence[str]:
    in_slices = metric.sliced and not metric.listed and metric.level in (Level.SAMPLE, Level.CELL)
    rows = f"{metric.rows}; also of slices" if in_slices else metric.rows
    interval = metric.aggregate.interval_text(metric.unit, of_cells=metric.level is Level.CELL)
    interval = "none" if interval.startswith("none: ") else interval
    formula = metric.formula.replace(" / ", " ÷ ")
    return f"`{spelled(metric)}`", metric.about, _UNITS.get(metric.unit, metric.unit), formula, rows, interval


def written(page: str) -> str:
    """The page with the tables as they are now."""
    tables = {"metrics": table, "reported": reported_table}
    return _MARKS.sub(lambda result: f"{result[1]}{tables[result[2]]()}{result[3]}", page)


if __name__ == "__main__":
    path = Path(sys.argv[1])
    path.write_text(written(path.read_text(encoding="utf-8")), encoding="utf-8")
