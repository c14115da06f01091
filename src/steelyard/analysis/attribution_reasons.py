"""The reasons that the ledger gives for what was edited from A to B: of truths, and of how answers are weighed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from steelyard.analysis.attribution_model import Attribution, Cause, Reason, WeighingEdit
from steelyard.analysis.compared_run import ComparedRun
from steelyard.analysis.instruments import signed
from steelyard.analysis.number_text import percentage
from steelyard.stats.paired import NO_CHANGE
from steelyard.suite.case import digest
from steelyard.suite.truth import NAMES, TRUTH, WEIGHED_BY, LedgerLine, by_state, lines_kept

_PAGE = 500
NO_REASON = "no reason in the ledger"


class Reasons:
    """What the ledger says of B's truth and of how B was weighed: as the run kept it, and what was noted since."""

    def __init__(self, b: ComparedRun, noted_since: Sequence[LedgerLine]) -> None:
        self._b = b
        self._lines = by_state([*lines_kept(b.header.suite), *noted_since])

    def of_cases(self, ids: Sequence[str]) -> dict[str, Reason]:
        """By case the reason of its truth; those without one are left out."""
        spoken_of = {line.case for line in self._lines.values()}
        asked, contents = [one for one in ids if one in spoken_of], self._b.contents
        found: dict[str, Reason] = {}
        for start in range(0, len(asked) if contents else 0, _PAGE):
            page = contents.cases(asked[start : start + _PAGE]) if contents else {}
            lines = {name: self._lines.get((TRUTH, name, digest(case.expected))) for name, case in page.items()}
            found |= {name: _reason(line) for name, line in lines.items() if line is not None}
        return found

    def of_weighing(self, a: ComparedRun) -> tuple[WeighingEdit, ...]:
        """The parts of how answers are weighed that both runs name and that differ."""
        named = [(part, signed(a, part), signed(self._b, part)) for part in WEIGHED_BY]
        lines = [
            (part, self._lines.get((part, None, after)))
            for part, before, after in named
            if before is not None and after is not None and before != after
        ]
        return tuple(WeighingEdit(part, None if line is None else _reason(line)) for part, line in lines)


def _reason(line: LedgerLine) -> Reason:
    return Reason(line.reason, line.by, line.at)


def reason_in_words(reason: Reason | None) -> str:
    """Why, who said so and when, on one line; or that nobody did."""
    return NO_REASON if reason is None else " ".join(f"{reason.text} ({reason.by}, {reason.at[:10]})".split())


def reasons_told(found: Attribution, causes: Sequence[Cause] = (Cause.SCORERS, Cause.TRUTH)) -> tuple[str, ...]:
    """How many edits have a reason in the ledger, and what the others come to, in sentences."""
    told = [*_weighing_told(found)] if Cause.SCORERS in causes else []
    edits = found.truth_edits
    if Cause.TRUTH in causes and edits.n_cases:
        told.append(_truth_told(edits.n_cases, edits.n_with_reason, edits.part_without_reason))
    return tuple(told)


def _truth_told(n: int, n_with: int, part: float | None) -> str:
    if n == n_with:
        return (
            "the truth edit has a reason in the ledger"
            if n == 1
            else f"all {n:,} truth edits have a reason in the ledger"
        )
    if n == 1:
        return f"the truth edit has {NO_REASON}{_moves(part, 'it', 's')}"
    if n_with == 0:
        return f"none of {n:,} truth edits has a reason in the ledger{_moves(part, 'they', '')}"
    have = "has a reason" if n_with == 1 else "have a reason"
    others = ("the other", "s") if n - n_with == 1 else ("the others", "")
    return f"of {n:,} truth edits {n_with:,} {have} in the ledger{_moves(part, *others)}"


def _weighing_told(found: Attribution) -> Iterator[str]:
    alone = len(found.weighing_edits) == 1
    portion = next((each for each in found.portions if each.causes == (Cause.SCORERS,)), None)
    part = portion.change.value if portion is not None and alone else None
    for edit in found.weighing_edits:
        moves = _moves(part, "it", "s") if edit.reason is None else ""
        yield f"{NAMES[edit.part]}: {reason_in_words(edit.reason)}{moves}"


def _moves(part: float | None, who: str, ending: str) -> str:
    """What edits come to in the headline number; "" where nobody has weighed it."""
    if part is None:
        return ""
    if abs(part) <= NO_CHANGE:
        return f"; {who} do{'es' if ending else ''} not move the number"
    far = f"{percentage(abs(part)):.1f}" if percentage(part) else "less than 0.1"
    return f"; {who} {'raise' if part > 0 else 'lower'}{ending} the number by {far} points"
