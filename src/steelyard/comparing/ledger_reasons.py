"""The reasons that the ledger gives for what was edited from A to B: of truths, and of how answers are scored."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from steelyard.comparing.attribution_model import Attribution, Cause, Reason, ScoringEdit
from steelyard.pairing.runs import ComparedRun
from steelyard.pairing.signatures import signed
from steelyard.stats.paired import NO_CHANGE
from steelyard.suite.case import digest
from steelyard.suite.ledger import NAMES, SCORED_BY, TRUTH, LedgerLine, by_state, stored_lines
from steelyard.wording import percentage

_PAGE = 500
NO_REASON = "no reason in the ledger"


class Reasons:
    """What the ledger says of B's truth and of how B was scored: as the run kept it, and what was noted since."""

    def __init__(self, b: ComparedRun, noted_since: Sequence[LedgerLine]) -> None:
        self._b = b
        self._lines = by_state([*stored_lines(b.suite.ledger), *noted_since])

    def of_cases(self, ids: Sequence[str]) -> dict[str, Reason]:
        """By case the reason of its truth; those without one are left out."""
        spoken_of = {line.case for line in self._lines.values()}
        asked, contents = [item for item in ids if item in spoken_of], self._b.contents
        reasons: dict[str, Reason] = {}
        for start in range(0, len(asked) if contents else 0, _PAGE):
            page = contents.cases(asked[start : start + _PAGE]) if contents else {}
            lines = {name: self._lines.get((TRUTH, name, digest(case.expected))) for name, case in page.items()}
            reasons |= {name: _reason(line) for name, line in lines.items() if line is not None}
        return reasons

    def of_scoring(self, a: ComparedRun) -> tuple[ScoringEdit, ...]:
        """The parts of how answers are scored that both runs name and that differ."""
        named = [(part, signed(a, part), signed(self._b, part)) for part in SCORED_BY]
        lines = [
            (part, self._lines.get((part, None, after)))
            for part, before, after in named
            if before is not None and after is not None and before != after
        ]
        return tuple(ScoringEdit(part, None if line is None else _reason(line)) for part, line in lines)


def _reason(line: LedgerLine) -> Reason:
    return Reason(line.reason, line.by, line.at)


def reason_in_words(reason: Reason | None) -> str:
    """Why, who said so and when, on one line; or that nobody did."""
    return NO_REASON if reason is None else " ".join(f"{reason.text} ({reason.by}, {reason.at[:10]})".split())


def reason_messages(
    attribution: Attribution, causes: Sequence[Cause] = (Cause.SCORERS, Cause.TRUTH)
) -> tuple[str, ...]:
    """How many edits have a reason in the ledger, and what the others come to, in sentences."""
    message = [*_scoring_message(attribution)] if Cause.SCORERS in causes else []
    edits = attribution.truth_edits
    if Cause.TRUTH in causes and edits.n_cases:
        message.append(_truth_message(edits.n_cases, edits.n_with_reason, edits.part_without_reason))
    return tuple(message)


def _truth_message(n: int, n_with: int, part: float | None) -> str:
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


def _scoring_message(attribution: Attribution) -> Iterator[str]:
    alone = len(attribution.scoring_edits) == 1
    portion = next((portion for portion in attribution.portions if portion.causes == (Cause.SCORERS,)), None)
    part = portion.change.value if portion is not None and alone else None
    for edit in attribution.scoring_edits:
        moves = _moves(part, "it", "s") if edit.reason is None else ""
        yield f"{NAMES[edit.part]}: {reason_in_words(edit.reason)}{moves}"


def _moves(part: float | None, who: str, ending: str) -> str:
    """What edits come to in the headline number; "" where nobody has scored it."""
    if part is None:
        return ""
    if abs(part) <= NO_CHANGE:
        return f"; {who} do{'es' if ending else ''} not move the number"
    far = f"{percentage(abs(part)):.1f}" if percentage(part) else "less than 0.1"
    return f"; {who} {'raise' if part > 0 else 'lower'}{ending} the number by {far} points"
