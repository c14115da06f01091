"""What a suite can detect: the smallest drop that a comparison of two runs shows, and what a smaller one takes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from steelyard.report import document as doc
from steelyard.report import format as fmt
from steelyard.report.document import section, table_section
from steelyard.report.render.json import encode_object
from steelyard.stats.paired import SIGNIFICANT
from steelyard.stats.power import POWER, Design, PowerFigures
from steelyard.wording import HEADLINE_METRICS

METHOD = (
    f"paired comparison of two runs, two-sided at 5 %, {100 * POWER:.0f} % power; the pass rate of single samples by"
    " the exact McNemar test, else sign flips over cases or clusters; a pass rate drops by chances that are beta"
    " distributed before and after, all cases by a part of it; no random numbers"
)


def power_document(figures: PowerFigures) -> doc.Document:
    """The answer, where the noise comes from, and what more cases or repeats would do."""
    blocks: list[doc.Block] = [
        doc.Text(_power_sentence(figures)),
        *section("Noise", doc.Facts(_noise(figures))),
        *(item for table in _power_tables(figures) for item in table_section(table)),
    ]
    return doc.Document(f"Power of {figures.suite}", blocks, footer=(f"Method: {METHOD}",))


def power_data(figures: PowerFigures) -> dict[str, Any]:
    """The figures as plain data; shares from 0 to 1: a drop of 0.03 is 3 points; null for what nobody knows."""
    texts = {"sentence": _power_sentence(figures), "alpha": SIGNIFICANT, "power": POWER, "method": METHOD}
    designs = [encode_object(design) | {"smallest": value} for design, value in figures.table]
    return texts | encode_object(figures) | {"table": designs}


def _power_sentence(figures: PowerFigures) -> str:
    """The answer in one sentence."""
    spread, name = figures.spread, HEADLINE_METRICS[figures.metric]
    today = f"{fmt.counted(spread.n_cases, 'case')} x {fmt.counted(spread.repeats, 'repeat')}"
    if spread.per_unit > 1:
        today += f" in {fmt.counted(round(spread.n_cases / spread.per_unit), 'cluster')}"
    if figures.now is None:
        return f"{today} can show no drop of the {name} from {fmt.percent(spread.mean)}: it takes more cases"
    if figures.now <= 0:
        return f" {today} show no noise: nothing changed between these runs, and any change would be detected"
    points = f"{_in_points(figures.now)} points of {name}"
    if figures.at_worst:
        return f"{today} detect a drop of {points} at worst: how much of it is noise is not known yet"
    rise = ""
    if figures.rise is None:
        rise = ", and no rise"
    elif _in_points(figures.rise) != _in_points(figures.now):
        rise = f", and a rise of {_in_points(figures.rise)}"
    return f"{today} detect a drop of {points} with 80 % power{rise}"


def _noise(figures: PowerFigures) -> list[tuple[str, str]]:
    """Where the noise comes from, and which runs say so."""
    spread = figures.spread
    runs = f"{fmt.counted(len(figures.runs), 'run')}, the newest {figures.runs[0]}"
    left = ", ".join(f"{count} {why}" for why, count in figures.left_out.items())
    within = "unknown: no case was repeated; steelyard run SUITE --repeats 3 measures it"
    rows = [
        ("Runs", f"{runs}; left out: {left}" if left else runs),
        ("Between cases", f"{_deviation(spread.between)} points"),
        ("Between repeats", within if spread.within is None else f"{_deviation(spread.within)} points"),
    ]
    if figures.metric == "pass_rate" and spread.within is not None:
        share = fmt.percent(2 * spread.within)
        rows.append(("Discordance", f"{share} of single answers change between pass and fail when a case is repeated"))
    if spread.change is None:
        return [*rows, ("Between runs", "unknown: it takes two runs; all cases are assumed to change alike")]
    message = f"{_deviation(spread.change)} points of a case's change, noise of repeats in it"
    if spread.response is not None:
        message = f"{_deviation(spread.response)} points of a case's change beyond the noise of repeats"
    return [*rows, ("Between runs", f"{message} ({fmt.counted(spread.n_pairs, 'pair')} of runs)")]


def _deviation(variance: float) -> str:
    return f"SD {_in_points(math.sqrt(variance))}"


def _power_tables(figures: PowerFigures) -> Iterator[doc.Table]:
    """The smallest drop that is detected, by repeats and cases; and how many cases the requested one takes."""
    cases = sorted({design.cases for design, _ in figures.table})
    smallest = {design: "none" if value is None else _in_points(value) for design, value in figures.table}
    repeats = sorted({design.repeats for design, _ in figures.table})
    rows = [(f"{repeat:,}", *(smallest[Design(n, repeat)] for n in cases)) for repeat in repeats]
    columns = (doc.Column("Repeats"), *(doc.Column(f"{n:,} cases") for n in cases))
    unknown = "" if figures.spread.within is not None else "; other repeats are unknown while no case is repeated"
    yield doc.Table("Minimum detectable drop", columns, rows, f"points; today's cases first{unknown}")
    if figures.detect is None:
        return
    n = fmt.counted(figures.spread.n_cases, "case")
    note = f"the number of repeats of today's {n} is not known"
    if figures.spread.within is not None:
        note = f"no number of repeats of today's {n} would do"
        if figures.repeats_needed is not None:
            note = f"or today's {n} with {fmt.counted(figures.repeats_needed, 'repeat')} each"
    variants = figures.spread.variants
    yield doc.table(
        f"To detect a drop of {_in_points(figures.detect)} points",
        figures.needed,
        (doc.Column("Repeats"), lambda item: f"{item.repeats:,}"),
        ("Cases", lambda item: "more than 1,000,000" if item.cases is None else f"{item.cases:,}"),
        ("Calls", lambda item: "" if item.cases is None else f"{item.cases * item.repeats * variants:,}"),
        note=note + unknown,
    )


def _in_points(share: float) -> str:
    """A share as percentage points."""
    return f"{fmt.percentage(share):.1f}"
