"""Why the headline number moved, as tables and sentences that every view of a comparison shows."""

from __future__ import annotations

from steelyard.analysis.attribution_model import Attribution, How, Portion
from steelyard.analysis.attribution_reasons import reason_in_words
from steelyard.analysis.attribution_wording import name_of, points
from steelyard.analysis.compare_model import Comparison
from steelyard.report import format as fmt
from steelyard.report.document import Column, Kind, Table
from steelyard.stats.arrays import SEED

WHY = "Why"
"""The label of the sentence beside the answer."""
LEDGER = "Ledger"
_METRICS = {"pass_rate": "pass rate", "average": "average score"}
_MEASURED = {
    How.COUNTED: "counted",
    How.REWEIGHED: "A's answers weighed again by B's suite",
    How.ANCHORS: "measured on anchors",
    How.LEFT: "what is left",
}


def shown(comparison: Comparison) -> Attribution | None:
    """The attribution where it says more than the comparison itself; None when only the system can have done it."""
    found = comparison.attribution
    return None if found is None or (found.only_the_system and found.portions) else found


def why(comparison: Comparison) -> list[tuple[str, str]]:
    """The sentence with its label, what the ledger says of the edits, and why some causes could not be told apart."""
    found = shown(comparison)
    if found is None:
        return []
    rows = [(WHY, f"{_headline(found)}{found.sentence}"), *((LEDGER, told) for told in found.ledger)]
    return rows + [("Not split", told) for told in found.joined]


def _headline(found: Attribution) -> str:
    if found.total is None:
        return ""
    before, after = (fmt.percent(each.value) for each in (found.a, found.b))
    return f"{_METRICS[found.metric]} of all readings {before} -> {after}: "


def tables(comparison: Comparison) -> list[Table]:
    """The portions with their intervals, and the truth edits that moved the number."""
    found = shown(comparison)
    if found is None or found.total is None:
        return []
    return [_portions(found), *([_edits(found)] if found.truth_edits.listed else [])]


def method(comparison: Comparison) -> str:
    """How the comparison's figures were computed, those on why the number moved included where they are shown."""
    found = shown(comparison)
    return comparison.method if found is None else f"{comparison.method}; why: {found.method}"


def _portions(found: Attribution) -> Table:
    rows = [
        (
            name_of(portion),
            points(portion.change.value),
            _interval(portion),
            f"{portion.change.n:,}",
            _verdict(portion),
            portion.told or _MEASURED[portion.how],
        )
        for portion in found.portions
    ]
    if found.noise is not None:
        width = fmt.percentage(found.noise.half_width)
        rows.append(("noise, in the last", f"up to {width:.1f}", "", "", "", _repeats(found.noise.of_repeats)))
    rows.append(("together", points(found.total), "", "", "", f"{found.a.n:,} readings of A, {found.b.n:,} of B"))
    columns = (
        Column("Cause", Kind.TEXT),
        Column("Points"),
        Column("95 % interval"),
        Column("Cases"),
        Column("How sure"),
        Column("Stands on", Kind.TEXT),
    )
    note = "figures are rounded, and sum before that" if _rounding_shows(found) else ""
    signature = f"95 %: Student t over what each case adds; what is left: as for the figures | seed {SEED}"
    return Table(f"Why the {_METRICS[found.metric]} moved", columns, rows, note, signature=signature)


def _verdict(portion: Portion) -> str:
    if portion.how in (How.COUNTED, How.REWEIGHED):
        return "exact"
    return "cannot tell" if portion.cannot_tell else "beyond noise" if portion.change.value else "no change"


def _interval(portion: Portion) -> str:
    low, high = portion.change.low, portion.change.high
    return "no interval" if low is None or high is None else f"[{points(low)}, {points(high)}]"


def _repeats(share: float | None) -> str:
    told = "half the interval above"
    return told if share is None else f"{told}; {fmt.percent(share, 0)} of its variance is between repeats"


def _rounding_shows(found: Attribution) -> bool:
    printed = sum(fmt.percentage(portion.change.value or 0.0) for portion in found.portions)
    return abs(printed - fmt.percentage(found.total or 0.0)) > 0.05


def _edits(found: Attribution) -> Table:
    edits = found.truth_edits
    rows = [
        (edit.case_id, f"{edit.n:,}", points(edit.moved), points(edit.part), reason_in_words(edit.reason))
        for edit in edits.listed
    ]
    columns = (
        Column("Case", Kind.TEXT),
        Column("Pairs"),
        Column("Moved by"),
        Column("Of the headline"),
        Column("Reason", Kind.TEXT),
    )
    told = f"{edits.n_moved:,} of {fmt.counted(edits.n_cases, 'case')} with another truth moved the number"
    return Table("Truth edits", columns, rows, told, total=edits.n_moved)
