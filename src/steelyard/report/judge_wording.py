"""What every view of a judge's report card says in words: the verdict, what it stands on, and examples."""

from __future__ import annotations

from steelyard.analysis.model import Estimate
from steelyard.records import Outcome, Verdict
from steelyard.report import figures
from steelyard.report.judge_card import FEWEST_TO_BE_FIT, JudgeCard
from steelyard.report.judged_tables import spending_words
from steelyard.report.judged_wording import judged_by
from steelyard.report.safe_text import clipped
from steelyard.report.wording import NO_VERDICT

_TOLD = {
    "MADE_UP_QUOTE": "a made-up quote",
    "RULE_BROKEN": "a broken rule",
    "UNPROVEN": "an unproven score",
    "TOO_FEW_REASONS": "too few reasons",
    "CONTRADICTION": "a complaint that is wrong",
    "CUT_OFF": "an answer that broke off",
    "EXTRA_FIELD": "a field too many",
    "VIOLATION": "an answer that could not be used",
    "DISAGREEMENT": "a disagreement",
    "FAILED": "nothing usable",
    "UNANSWERED": "no answer",
}
_LONGEST_REASON = 240


def verdict_word(card: JudgeCard) -> str:
    """PASS, FAIL, AMBIGUOUS, INVALID, or NO VERDICT."""
    return card.verdict.value if card.verdict else NO_VERDICT


def headline(card: JudgeCard) -> str:
    """The verdict as a sentence: `This judge is not fit: 3 of 7 thresholds missed`."""
    n = len(card.checks)
    missed, untold = card.count(Verdict.FAIL), card.count(Verdict.AMBIGUOUS)
    also = f", {untold} cannot be told" if untold else ""
    if card.verdict is Verdict.INVALID:
        return "This run says nothing about its judge: neither fit nor unfit"
    if card.verdict is Verdict.FAIL:
        return f"This judge is not fit: {missed} of {figures.counted(n, 'threshold')} missed{also}"
    if card.verdict is Verdict.AMBIGUOUS and not untold:
        texts = figures.counted(card.n, "labelled text" if card.labels_at else "text")
        held = figures.counted(n, "threshold")
        return (
            f"Nobody can tell whether this judge is fit: {held} held, but {texts} are too few to call it so"
            f" (at least {FEWEST_TO_BE_FIT})"
        )
    if card.verdict is Verdict.AMBIGUOUS:
        return (
            f"Nobody can tell whether this judge is fit: {untold} of {figures.counted(n, 'threshold')} cannot be told"
        )
    if card.verdict is Verdict.PASS:
        return f"This judge is fit: {figures.counted(n, 'threshold')} held"
    return "The suite asks nothing of its judge: declare thresholds under judge.health"


def standing(card: JudgeCard) -> list[tuple[str, str]]:
    """What the card stands on, as label and value."""
    health = card.health
    rows = [
        ("Judged by", judged_by(card.header)),
        ("Texts", _texts(card)),
        ("Ballots", f"{health.n_ballots:,}, {_modes(card)}"),
    ]
    if health.n_aside:
        texts = figures.counted(health.n_aside, "text")
        rows.append(("Set aside", f"{texts}: only bare scores could be read from the judge's answers"))
    if why := no_labels(card):
        rows.append(("Labels", why))
    if health.spending is not None and health.spending.calls:
        rows.append(("Judging took", spending_words(health.spending)))
    return rows


def _texts(card: JudgeCard) -> str:
    health, outcomes = card.health, card.outcomes
    never = max(0, card.header.n_planned - sum(outcomes.values()))
    missing = (
        (outcomes.get(Outcome.MALFORMED, 0), "malformed"),
        (outcomes.get(Outcome.TARGET_FAILED, 0), "target failed"),
        (card.n_broken, "not judged, since a scorer or the judge's own code broke"),
        (never, "never came"),
    )
    others = [f"{count:,} {told}" for count, told in missing if count]
    told = f"{health.n_texts:,} of {figures.counted(card.header.n_planned, 'sample')} came before the judge"
    told += f" ({', '.join(others)})" if others else ""
    return f"{told}; {health.n_labelled:,} of them are labelled"


def no_labels(card: JudgeCard) -> str:
    """Why nothing can be held against labels; "" when something can."""
    if card.health.n_labelled:
        return ""
    if not card.labels_at:
        return "n/a: the suite names no labels (judge.labels), so nothing tells how right the judge is"
    return f"n/a: none of the texts has labels at {card.labels_at}, so nothing tells how right the judge is"


def _modes(card: JudgeCard) -> str:
    told = [f"{count:,} in mode {mode}" for mode, count in card.health.modes.items()]
    without = card.health.n_ballots - sum(card.health.modes.values())
    silent = card.health.itself.unanswered
    unanswered = round((silent.value or 0.0) * silent.n)
    told += [f"{without - unanswered:,} not usable"] if without > unanswered else []
    told += [f"{unanswered:,} unanswered"] if unanswered else []
    return ", ".join(told) or "none"


def corrected(card: JudgeCard) -> list[tuple[str, str]]:
    """The pass rate as the judge reports it, and corrected by its errors on the labelled texts."""
    found = card.health.corrected
    rows = [
        ("As reported", figures.with_base(found.reported)),
        ("Corrected", f"n/a: {found.told}" if found.told else _corrected(found.rate, clipped=found.clipped)),
    ]
    if found.sensitivity.n or found.specificity.n:
        rows.append(("Passes those that should", figures.with_base(found.sensitivity)))
        rows.append(("Stops those that should not", figures.with_base(found.specificity)))
    return rows


def _corrected(rate: Estimate, *, clipped: bool) -> str:
    cut = " (cut off at the end of the scale)" if clipped else ""
    return f"{figures.with_base(rate)}{cut}"


def warnings(card: JudgeCard) -> list[str]:
    """What a reader must know before reading a figure."""
    said = [commonest_failure(card), no_labels(card)]
    if card.n_broken:
        texts = figures.counted(card.n_broken, "text")
        said.append(f"{texts} not judged, since a scorer or the judge's own code broke: in no figure of this card")
    return [each for each in said if each]


def commonest_failure(card: JudgeCard) -> str:
    """`9 of 9: judge good: http_401 Incorrect API key provided`; "" when every text has a reading."""
    if not card.why_failed:
        return ""
    reason, count = next(iter(card.why_failed.items()))
    return f"{count:,} of {card.health.n_texts:,}: {clipped(reason, _LONGEST_REASON)}"


def examples(card: JudgeCard) -> list[str]:
    """One example of each thing that the judge did wrong."""
    told = []
    for code, words in _TOLD.items():
        for example in card.examples.get(code, [])[:1]:
            by = f", {example.member}" if example.member else ""
            told.append(f"{words} (case {example.case_id}{by}): {example.told}")
    return told
