"""The tables of all metrics in docs/reference/metrics.md, written from the registry.

python -m steelyard.metrics.reference docs/reference/metrics.md
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from steelyard.metrics.kinds import NO_INTERVAL
from steelyard.metrics.registry import Level, Metric, Reported, gate_metrics, metrics, reported

_MARKS = re.compile(r"(<!-- (metrics|reported): begin -->\n).*?(<!-- \2: end -->)", re.S)
_UNITS = {"s": "seconds", "cost": "the suite's currency"}
_BETTER = {"higher": "higher", "lower": "lower", "": "-"}
_SPELLED = {
    "<slice>.": "",
    "<case>": "case.<id>",
    "<sample>": "case.<id>.repeat.<number>",
    "<n>": "<number>",
    "<section>": "<name>",
}
"""How `--explain` spells parts of names."""
_AGAIN = "confidence.label.<label>."
"""Begins the names that one kind of claims has as all of them do."""


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |\n" for line in lines)


def table() -> str:
    """Every metric of the product that a gate can name, one line each."""
    head = ("metric", "what it is", "unit", "better", "formula", "counted over")
    return _table(head, (_row(metric) for metric in gate_metrics(judged=True).values() if not metric.own))


def _row(metric: Metric) -> Sequence[str]:
    better = "as the suite says" if callable(metric.better) else _BETTER[metric.better]
    unit, formula = _UNITS.get(metric.unit, metric.unit), metric.formula.replace(" / ", " ÷ ")
    return f"`{metric.name}`", metric.about, unit, better, formula, metric.stands_on


def reported_table() -> str:
    """Every metric that is only reported, one line each."""
    # The three lists of samples have the same names.
    every = {(_spelled(item.name), _formula(item)): item for group in reported() for item in group}
    rows = [_reported_row(item) for item in every.values() if not item.name.startswith(_AGAIN)]
    rows += [_plain_row(metric) for metric in metrics(judged=True).values() if not metric.gate]
    return _table(("metric", "formula", "unit", "made of", "interval"), rows)


def _reported_row(item: Reported) -> Sequence[str]:
    rows = f"{item.rows}; also of slices" if item.name.startswith("<slice>") else item.rows
    interval = "none" if item.significance.startswith("none: ") else item.significance
    return f"`{_spelled(item.name)}`", _formula(item), _UNITS.get(item.unit, item.unit), rows, interval


def _plain_row(metric: Metric) -> Sequence[str]:
    interval = metric.aggregate.interval_text(metric.unit, of_cells=metric.level is Level.CELL)
    formula = metric.formula.replace(" / ", " ÷ ")
    unit = _UNITS.get(metric.unit, metric.unit)
    return f"`{_spelled(metric.name)}`", formula, unit, metric.rows, "none" if interval == NO_INTERVAL else interval


def _spelled(name: str) -> str:
    for part, words in _SPELLED.items():
        name = name.replace(part, words)
    return name


def _formula(item: Reported) -> str:
    """In words; what a row of the report fills in is named."""
    text = item.formula
    if callable(text):
        text = (text.__doc__ or "").rstrip(".")
        text = text[:1].lower() + text[1:]
    return re.sub(r"\{(\w+)(?::\w+)?\}", r"*\1*", text).replace(" / ", " ÷ ")


def written(page: str) -> str:
    """The page with the tables as they are now."""
    tables = {"metrics": table, "reported": reported_table}
    return _MARKS.sub(lambda result: f"{result[1]}{tables[result[2]]()}{result[3]}", page)


if __name__ == "__main__":
    path = Path(sys.argv[1])
    path.write_text(written(path.read_text(encoding="utf-8")), encoding="utf-8")
