"""What a suite can detect: the smallest change that a comparison of two runs shows, and what a smaller one takes."""

from __future__ import annotations

import math
from typing import Any

from steelyard.report import format as fmt
from steelyard.report.document import Block, Column, Document, Facts, Table, Text, section, table_section
from steelyard.report.render.json import encode_object
from steelyard.stats.paired import SIGNIFICANT
from steelyard.stats.power import POWER, Design, PowerFigures

_NAMES = {"pass_rate": "pass rate", "average": "average score"}
METHOD = (
    f"paired comparison of two runs, two-sided at 5 %, {100 * POWER:.0f} % power; the pass rate of single samples by"
    " the exact McNemar test, else sign flips over cases or clusters; a pass rate moves by chances that are beta"
    " distributed before and after, rise and fall averaged; no random numbers"
)


def document(found: PowerFigures) -> Document:
    """The answer, where the noise comes from, and what more cases or repeats would do."""
    blocks: list[Block] = [
        Text(headline(found)),
        *section("Noise", Facts(facts(found))),
        *table_section(smallest_changes(found)),
        *table_section(needed(found)),
    ]
    return Document(f"Power of {found.suite}", blocks, footer=(f"Method: {METHOD}",))


def data(found: PowerFigures) -> dict[str, Any]:
    """The figures as plain data; shares from 0 to 1: a change of 0.03 is 3 points; null for what nobody knows."""
    said = {"sentence": headline(found), "alpha": SIGNIFICANT, "power": POWER, "method": METHOD}
    designs = [encode_object(design) | {"smallest": value} for design, value in found.table]
    return said | encode_object(found) | {"table": designs}


def headline(found: PowerFigures) -> str:
    """The answer in one sentence."""
    spread = found.spread
    today = f"{fmt.counted(spread.n_cases, 'case')} x {fmt.counted(spread.repeats, 'repeat')}"
    if spread.per_unit > 1:
        today += f" in {fmt.counted(round(spread.n_cases / spread.per_unit), 'cluster')}"
    if found.now is None:
        return f"{today} can show no change of the {_NAMES[found.metric]}: it takes more cases"
    if found.now <= 0:
        return f"nothing ever changed in {today}: these runs show no noise, and any change would be one"
    points = f"{in_points(found.now)} points of {_NAMES[found.metric]}"
    if found.at_worst:
        return f"{today} detect a change of {points} at worst: how much of it is noise nobody knows yet"
    return f"{today} detect a change of {points}, 4 times of 5"


def facts(found: PowerFigures) -> list[tuple[str, str]]:
    """Where the noise comes from, and which runs say so."""
    spread = found.spread
    rows = [("Runs", _runs(found)), ("Between cases", f"SD {in_points(math.sqrt(spread.between))} points")]
    rows.append(("Between repeats", _within(found)))
    if found.metric == "pass_rate" and spread.within is not None:
        share = fmt.percent(2 * spread.within)
        rows.append(("Discordance", f"{share} of single answers change sides when a case is asked once more"))
    rows.append(("Between runs", _response(found)))
    return rows


def _runs(found: PowerFigures) -> str:
    told = f"{fmt.counted(len(found.runs), 'run')}, the newest {found.runs[0]}"
    left = ", ".join(f"{count} {why}" for why, count in found.left_out.items())
    return f"{told}; left out: {left}" if left else told


def _within(found: PowerFigures) -> str:
    within = found.spread.within
    if within is None:
        return "unknown: nothing was asked twice; steelyard run SUITE --repeats 3 would tell"
    return f"SD {in_points(math.sqrt(within))} points"


def _response(found: PowerFigures) -> str:
    spread = found.spread
    if spread.change is None:
        return "unknown: it takes two runs; cases are taken to change alike"
    if spread.response is None:
        told = f"SD {in_points(math.sqrt(spread.change))} points of a case's change, noise of repeats in it"
    else:
        told = f"SD {in_points(math.sqrt(spread.response))} points of a case's change beyond the noise of repeats"
    return f"{told} ({fmt.counted(spread.n_pairs, 'pair')} of runs)"


def smallest_changes(found: PowerFigures) -> Table:
    """The smallest change that is detected, by repeats and cases."""
    cases = sorted({design.cases for design, _ in found.table})
    by_design = dict(found.table)
    repeats = sorted({design.repeats for design, _ in found.table})
    rows = [(f"{each:,}", *(_change(by_design[Design(n, each)]) for n in cases)) for each in repeats]
    columns = (Column("Repeats"), *(Column(f"{n:,} cases") for n in cases))
    note = "points; today's cases first" + _no_repeats(found)
    return Table("Smallest change that is detected", columns, rows, note)


def needed(found: PowerFigures) -> Table:
    """How many cases a change takes, by repeats; no rows when none was asked for."""
    rows = [
        (
            f"{each.repeats:,}",
            "more than 1,000,000" if each.cases is None else f"{each.cases:,}",
            "" if each.cases is None else f"{each.cases * each.repeats * found.spread.variants:,}",
        )
        for each in found.needed
    ]
    columns = (Column("Repeats"), Column("Cases"), Column("Calls"))
    title = "" if found.detect is None else f"To detect {in_points(found.detect)} points"
    return Table(title, columns, rows, _by_repeats(found) + _no_repeats(found))


def _by_repeats(found: PowerFigures) -> str:
    n = fmt.counted(found.spread.n_cases, "case")
    if found.spread.within is None:
        return f"how many repeats of today's {n} nobody knows"
    if found.repeats_needed is None:
        return f"no number of repeats of today's {n} would do"
    return f"or today's {n} with {fmt.counted(found.repeats_needed, 'repeat')} each"


def _no_repeats(found: PowerFigures) -> str:
    return "; other repeats are unknown while nothing is asked twice" if found.spread.within is None else ""


def _change(value: float | None) -> str:
    return "none" if value is None else in_points(value)


def in_points(share: float) -> str:
    """A share as percentage points."""
    return f"{fmt.percentage(share):.1f}"
