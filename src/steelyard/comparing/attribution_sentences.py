"""Why the headline number moved, in a sentence: `+1.9 points; of these +1.4 truth edits, +0.5 system (cannot tell)`."""

from __future__ import annotations

from steelyard.comparing.attribution_model import Attribution, Cause, Portion
from steelyard.wording import signed_points

METHOD = (
    "from A's number to B's in this order: cases, questions, availability, scorers, truth, judge, system; 95 %"
    " intervals: Student t over what each case adds (exact portions: how far they would lie elsewhere with other cases"
    " like these); the remainder: as for the figures"
)
_NAMES = {
    Cause.CASES: "other cases",
    Cause.QUESTIONS: "other questions",
    Cause.AVAILABILITY: "inconclusive samples",
    Cause.SCORERS: "scorers and weights",
    Cause.TRUTH: "truth edits",
    Cause.JUDGE: "judge",
    Cause.SYSTEM: "system",
}
_ASK = {
    Cause.QUESTIONS: "a file does not hold the questions: cannot tell whether they are the same",
    Cause.SCORERS: "the scorers changed, and A's answers were not scored again by B's",
    Cause.TRUTH: "the truth changed or is not known, and A's answers were not scored again by B's",
    Cause.JUDGE: (
        "judge and system cannot be separated: fewer than two cases have the same answer in both runs;"
        " --rejudge N lets B's judge score N answers of A"
    ),
}


def ask_for(cause: Cause) -> str:
    """Why a cause could not be told from the system, where nothing else says it."""
    return _ASK[cause]


def without_anchors(n: int, judged: int) -> str:
    """That the judge's shift is not known for some scores, and what to do about it."""
    return (
        f"judge and system cannot be separated in {n:,} of {judged:,} judged pairs: B's judge has scored no answer"
        f" of A with such scores; --rejudge N lets it read N, of all scores"
    )


def sentence(attribution: Attribution) -> str:
    """The whole change, then what each cause has of it: the largest first, the system last."""
    total = attribution.total
    if total is None:
        silent = "A" if attribution.a.value is None else "B"
        return f"the change cannot be attributed: run {silent} has no scored sample"
    whole = f"{signed_points(total)} points"
    *others, system = attribution.portions
    unknown = f"; {attribution.anchors.not_measured}" if attribution.anchors.not_measured else ""
    if not others:
        return f"{whole}, {'all of it' if total else 'none of it'} {_mine(system)}{unknown}"
    others.sort(key=lambda portion: -abs(portion.change.value or 0.0))
    return f"{whole}; of these {', '.join(map(_message, [*others, system]))}{unknown}"


def _mine(portion: Portion) -> str:
    return f"{name_of(portion)}{mark_of(portion)}" if portion.is_joint else f"the system's{mark_of(portion)}"


def _message(portion: Portion) -> str:
    return f"{signed_points(portion.change.value)} {name_of(portion)}{mark_of(portion)}"


def name_of(portion: Portion) -> str:
    """The cause in words, or all that cannot be separated."""
    names = [_NAMES[cause] for cause in portion.causes]
    if len(names) == 1:
        return names[0]
    # "scorers and weights and system together" reads as three things.
    names = [name.partition(" and ")[0] for name in names]
    return f"{', '.join(names[:-1])} and {names[-1]} together"


def mark_of(portion: Portion) -> str:
    """What a reader must not overlook: ` (cannot tell)`; "" for what is sure."""
    return " (cannot tell)" if portion.cannot_tell else ""
