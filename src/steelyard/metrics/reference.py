"""The table of all metrics in docs/reference/metrics.md, written from the registry.

python -m steelyard.metrics.reference docs/reference/metrics.md
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from steelyard.metrics.registry import Metric, metrics

_MARKS = re.compile(r"(<!-- metrics: begin -->\n).*?(<!-- metrics: end -->)", re.S)
_UNITS = {"s": "seconds", "cost": "the suite's currency"}
_BETTER = {"higher": "higher", "lower": "lower", "": "-"}


def table() -> str:
    """Every metric of the product, one line each."""
    rows = [_row(metric) for metric in metrics().values() if not metric.own]
    head = ["| metric | what it is | unit | better | formula | counted over |", "|---|---|---|---|---|---|"]
    return "\n".join([*head, *rows]) + "\n"


def _row(metric: Metric) -> str:
    better = "as the suite says" if callable(metric.better) else _BETTER[metric.better]
    cells = (
        f"`{metric.name}`",
        metric.about,
        _UNITS.get(metric.unit, metric.unit),
        better,
        metric.formula.replace(" / ", " ÷ "),
        metric.stands_on,
    )
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def written(page: str) -> str:
    """The page with the table as it is now."""
    return _MARKS.sub(lambda result: f"{result[1]}{table()}{result[2]}", page)


if __name__ == "__main__":
    path = Path(sys.argv[1])
    path.write_text(written(path.read_text(encoding="utf-8")), encoding="utf-8")
