"""What a judge says beyond its scores, as tables: the mean of each number, and how often each word is said."""

from __future__ import annotations

from typing import Any

from steelyard.analysis.model import Estimate
from steelyard.report import figures
from steelyard.report.error_tables import sums
from steelyard.report.model import Report
from steelyard.report.tables import Column, Kind, Table

_NO_WEIGHT = "weighs nothing in the score"


def said(report: Report) -> list[Table]:
    """The means in one table, then a table for each list of words; those without rows are left out."""
    declared = [each for each in report.header.suite.get("components") or () if each.get("kind") == "said"]
    means = _means(report, [each for each in declared if not each.get("measures")])
    counts = [_counts(report, each) for each in declared if each.get("measures")]
    return [table for table in (means, *counts) if table.rows]


def _means(report: Report, declared: list[dict[str, Any]]) -> Table:
    overall = report.summary.overall
    rows = []
    for each in declared:
        mean = overall.components.get(each["name"], Estimate(None, 0, overall.n_planned))
        shown = (figures.plain(mean.value), figures.interval(mean, "points"), figures.bare_base(mean))
        low, high = each["scale"]
        rows.append((each["name"], f"{low:g} to {high:g}", *shown))
    told = dict.fromkeys(f"{each['figure']}: {each['about']}" for each in declared if each.get("about"))
    note = f"means over the texts that have it; {_NO_WEIGHT}" + "".join(f"; {one.rstrip('.')}" for one in told)
    columns = (Column("Figure", Kind.TEXT), *map(Column, ("Scale", "Mean", "95 % interval", "n")))
    return Table("What else the judge says", columns, rows, note if rows else "")


def _counts(report: Report, declared: dict[str, Any]) -> Table:
    ratios = report.summary.overall.measures.get(declared["name"], {})
    rows = [
        (
            word,
            sums(ratio),
            figures.percent(ratio.estimate.value),
            figures.interval(ratio.estimate),
            figures.bare_base(ratio.estimate),
        )
        for word, ratio in ratios.items()
    ]
    listed = max((ratio.denominator for ratio in ratios.values()), default=0)
    others = listed - sum(ratio.numerator for ratio in ratios.values())
    note = f"of all that the judge lists in n texts, as far as it bears checking; {_NO_WEIGHT}"
    note += f"; {others:,} have another word or none" if others else ""
    columns = (Column("Said", Kind.TEXT), *map(Column, ("Times", "Share", "95 % interval", "n")))
    about = f": {declared['about'].rstrip('.')}" if declared.get("about") else ""
    return Table(f"{declared['name']}{about}", columns, rows, note if rows else "")
