"""What is said of edits with and without a reason in the ledger."""

from __future__ import annotations

from types import SimpleNamespace

from parts.looped import for_every
from parts.reports import header
from steelyard.comparing.attribution_model import Attribution, Cause, How, Portion, Reason, ScoringEdit, TruthEdits
from steelyard.comparing.ledger_reasons import Reasons, reason_messages
from steelyard.pairing.runs import Rescored
from steelyard.stats.intervals import Estimate

STORED = {
    "at": "2026-01-31T12:00:00Z",
    "by": "ann",
    "what": "scorers",
    "before": "1",
    "after": "2",
    "reason": "too strict",
}


def attribution(edits=(), portions=(), **truth):
    level = Estimate(0.5, 10)
    return Attribution(
        "pass_rate", level, level, 0.0, portions=portions, truth_edits=TruthEdits(**truth), scoring_edits=edits
    )


@for_every(
    ("n", "reasoned", "part", "message"),
    [
        (1, 1, 0.0, "the truth edit has a reason in the ledger"),
        (1, 0, -0.02, "the truth edit has no reason in the ledger; it lowers the number by 2.0 points"),
        (1, 0, None, "the truth edit has no reason in the ledger"),
        (28, 28, 0.0, "all 28 truth edits have a reason in the ledger"),
        (28, 0, 0.56, "none of 28 truth edits has a reason in the ledger; they raise the number by 56.0 points"),
        (28, 0, 0.0, "none of 28 truth edits has a reason in the ledger; they do not move the number"),
        (28, 27, 0.0, "of 28 truth edits 27 have a reason in the ledger; the other does not move the number"),
        (
            3,
            1,
            0.0002,
            "of 3 truth edits 1 has a reason in the ledger; the others raise the number by less than 0.1 points",
        ),
        (2_000, 1_000, None, "of 2,000 truth edits 1,000 have a reason in the ledger"),
    ],
)
def test_truth_edits_without_a_reason_are_counted_with_what_they_come_to(n, reasoned, part, message):
    found = attribution(n_cases=n, n_with_reason=reasoned, part_without_reason=part)
    assert reason_messages(found) == (message,)
    assert reason_messages(found, (Cause.SYSTEM,)) == ()


def test_of_several_edits_of_the_scorers_nobody_says_what_one_of_them_came_to():
    reason = Reason("too\n strict", "ann", "2026-01-31T12:00:00Z")
    edits = (ScoringEdit("scorers", reason), ScoringEdit("rules"))
    portions = (Portion((Cause.SCORERS,), Estimate(0.1, 10), How.SCORED_AGAIN),)
    assert reason_messages(attribution(edits, portions)) == (
        "scorers, weights, bands or pass rule: too strict (ann, 2026-01-31)",
        "rules, checks or rubric of the judge: no reason in the ledger",
    )
    alone = reason_messages(attribution(edits[1:], portions))
    assert alone == (
        "rules, checks or rubric of the judge: no reason in the ledger; it raises the number by 10.0 points",
    )


def test_what_a_run_does_not_say_of_its_scorers_is_no_edit():
    headers = [
        header(signature=signed, suite={"ledger": [STORED]})
        for signed in ({"schema": "s"}, {"scorers": "2", "schema": "s"}, {"scorers": "1", "schema": "s"})
    ]
    runs = [
        SimpleNamespace(header=run, suite=run.description, contents=None, imported=False, rescored=Rescored())
        for run in headers
    ]
    silent, after, before = runs
    assert Reasons(after, ()).of_scoring(silent) == ()
    (edit,) = Reasons(after, ()).of_scoring(before)
    assert (edit.part, edit.reason) == ("scorers", Reason("too strict", "ann", "2026-01-31T12:00:00Z"))
    # Without the cases of a run nobody knows what their truths are.
    assert Reasons(after, ()).of_cases(["c1"]) == {}
