"""Why the headline number moved, as tables and sentences that every view of a comparison shows."""

from __future__ import annotations

from steelyard.comparing.attribution_model import Attribution, How, Portion
from steelyard.comparing.attribution_sentences import name_of
from steelyard.comparing.ledger_reasons import reason_in_words
from steelyard.comparing.model import Comparison
from steelyard.report import document as doc
from steelyard.report import format as fmt
from steelyard.report.document import Column, Table
from steelyard.stats.resampling import SEED
from steelyard.wording import HEADLINE_METRICS, signed_points

WHY = "Why"
"""The label of the sentence on why the headline number moved."""
LEDGER = "Ledger"
_MEASURED = {
    How.COUNTED: "counted",
    How.SCORED_AGAIN: "A's answers scored again by B's suite",
    How.ANCHORS: "measured on anchors",
    How.LEFT: "the remainder",
}


def shown(comparison: Comparison) -> Attribution | None:
    """The attribution where it says more than the comparison itself; None when only the system can have done it."""
    result = comparison.attribution
    return None if result is None or (result.only_the_system and result.portions) else result


def why(comparison: Comparison) -> list[tuple[str, str]]:
    """The sentence with its label, what the ledger says of the edits, and why some causes could not be separated."""
    result = shown(comparison)
    if result is None:
        return []
    sentence = result.sentence
    if result.total is not None:
        before, after = (fmt.percent(item.value) for item in (result.a, result.b))
        sentence = f"{HEADLINE_METRICS[result.metric]} of all scored samples {before} -> {after}: {sentence}"
    ledger, joined = (
        [(label, text) for text in texts] for label, texts in ((LEDGER, result.ledger), ("Not split", result.joined))
    )
    return [(WHY, sentence), *ledger, *joined]


def tables(comparison: Comparison) -> list[Table]:
    """The portions with their intervals, and the truth edits that moved the number."""
    result = shown(comparison)
    return [] if result is None or result.total is None else cause_tables(result)


def cause_tables(result: Attribution) -> list[Table]:
    """The same of an attribution that says no more than the comparison, too."""
    edits = result.truth_edits
    listed = doc.table(
        "Truth edits",
        edits.listed,
        ("Case", lambda edit: edit.case_id),
        ("Pairs", lambda edit: f"{edit.n:,}"),
        ("Moved by", lambda edit: signed_points(edit.moved)),
        ("Of the headline", lambda edit: signed_points(edit.part)),
        (doc.words("Reason"), lambda edit: reason_in_words(edit.reason)),
        note=f"{edits.n_moved:,} of {fmt.counted(edits.n_cases, 'case')} with another truth moved the number",
        total=edits.n_moved,
    )
    return [_portions(result), *([listed] if edits.listed else [])]


def method(comparison: Comparison) -> str:
    """How the comparison's figures were computed, those on why the number moved included where they are shown."""
    result = shown(comparison)
    return comparison.method if result is None else f"{comparison.method}; why: {result.method}"


def _portions(attribution: Attribution) -> Table:
    rows = [
        (
            name_of(portion),
            signed_points(portion.change.value),
            _interval(portion),
            f"{portion.change.n:,}",
            _verdict(portion),
            portion.message or _MEASURED[portion.how],
        )
        for portion in attribution.portions
    ]
    if (noise := attribution.noise) is not None:
        of_repeats = noise.of_repeats
        share = "" if of_repeats is None else f"; {fmt.percent(of_repeats, 0)} of its variance is between repeats"
        width = f"up to {fmt.percentage(noise.half_width):.1f}"
        rows.append(("noise, in the last", width, "", "", "", f"half the interval above{share}"))
    base = f"{attribution.a.n:,} scored samples of A, {attribution.b.n:,} of B"
    rows.append(("together", signed_points(attribution.total), "", "", "", base))
    figures = map(Column, ("Points", "95 % interval", "Cases", "Significance"))
    printed = sum(fmt.percentage(portion.change.value or 0.0) for portion in attribution.portions)
    rounded = abs(printed - fmt.percentage(attribution.total or 0.0)) > 0.05
    return Table(
        f"Why the {HEADLINE_METRICS[attribution.metric]} moved",
        (doc.words("Cause"), *figures, doc.words("Based on")),
        rows,
        "figures are rounded after summing" if rounded else "",
        signature=f"95 %: Student t over what each case adds; the remainder: as for the figures | seed {SEED}",
    )


def _verdict(portion: Portion) -> str:
    if portion.how in (How.COUNTED, How.SCORED_AGAIN):
        return "exact"
    return "cannot tell" if portion.cannot_tell else "beyond noise" if portion.change.value else "no change"


def _interval(portion: Portion) -> str:
    low, high = portion.change.low, portion.change.high
    return "no interval" if low is None or high is None else f"[{signed_points(low)}, {signed_points(high)}]"
