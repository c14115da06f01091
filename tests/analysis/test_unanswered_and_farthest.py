"""Calls that were never answered are not answers that cannot be used; and where judge and reviewer differ most."""

from __future__ import annotations

from parts.judged import health_of as health_of_run
from parts.judged import judged, judged_run, judged_suite, scored, unanswered, vote
from steelyard.analysis.judge.details import judge_details
from steelyard.analysis.judge.model import Disagreement, JudgeHealth
from steelyard.analysis.model import JudgeDetails
from steelyard.suite.labels import Label

FAIR = {"tone": Label(3, 2, 4), "overall": Label(3, 3, 3), "harm": False}


def health_of(*samples: object, labels: object = None) -> JudgeHealth:
    return health_of_run(samples, judged_suite(), labels or {})  # type: ignore[arg-type]


def details_of(*samples: object) -> JudgeDetails:
    found = judge_details(judged_run(samples, judged_suite(), {})[0])  # type: ignore[arg-type]
    assert found is not None
    return found


class TestUnanswered:
    def test_what_could_not_be_used_is_counted_among_what_came(self) -> None:
        # Of four votes one was never answered; of the three that were, one could not be used.
        samples = (scored("a", 3), scored("b", 3), judged("c", vote(None)), judged("d", unanswered()))
        found = health_of(*samples)
        assert (found["failed"].value, found["failed"].n, found["failed"].n_missing) == (1 / 3, 3, 1)
        assert (found["unanswered"].value, found["unanswered"].n) == (0.25, 4)

    def test_a_judge_that_was_never_reached_is_not_called_unusable(self) -> None:
        told = health_of(judged("a", unanswered()), judged("b", unanswered())).complaints
        assert told[0] == "the judge was never reached: no call was answered"
        assert health_of(judged("a", vote(None))).complaints[0] == "the judge gave no usable answer"

    def test_the_commonest_reason_comes_first_in_words(self) -> None:
        key = 'http_401: answered 401: {"error": {"message": "Incorrect API key %d"}}'
        found = details_of(
            judged("a", vote(None)),
            judged("b", unanswered(key % 1)),
            judged("c", unanswered(key % 2)),
            scored("d", 3),
        )
        # Two refusals differ in a number alone: the kind counts, and the first wording is kept.
        assert found.why_failed == {
            "judge m: http_401 Incorrect API key 1": 2,
            "judge m: there is no JSON object in the answer": 1,
        }


class TestHabits:
    def test_top_scores_and_sameness_are_of_what_the_judge_said(self) -> None:
        samples = (scored("a", 5, 4), scored("b", 5, 3), scored("c", 5, 5))
        found = health_of(*samples)
        assert (found["top_share.tone"].value, found["top_share.overall"].value) == (1, 1 / 3)
        assert details_of(*samples).constant == ("tone",)
        assert [name for name, item in found.dimensions.items() if item.constant] == ["tone"]

    def test_disagreement_stands_on_texts_with_several_readings(self) -> None:
        one = {"tone": 1, "overall": 1, "harm": False}
        five = {"tone": 5, "overall": 5, "harm": False}
        found = health_of(
            judged("a", vote(one), vote(five, repeat=1), disagree=True),
            judged("b", vote(one), vote(one, repeat=1)),
            scored("c", 3),
        )["disagreement"]
        assert (found.value, found.n, found.n_missing) == (0.5, 2, 1)


LABELS = {f"c{k}": FAIR for k in range(15)}


class TestFarthest:
    def test_texts_outside_the_range_are_named_the_farthest_first(self) -> None:
        health = health_of(scored("c0", 3), scored("c1", 5, 3), scored("c2", 1, 1), labels=LABELS)
        found = health.dimensions
        # tone: 5 is one above 2..4, 1 is one below; both are two from the best. overall: 1 is two below 3..3.
        assert found["tone"].disagreements == (Disagreement("c1", 3, 2, 4, 5, 1), Disagreement("c2", 3, 2, 4, 1, -1))
        assert found["overall"].disagreements == (Disagreement("c2", 3, 3, 3, 1, -2),)
        assert health.count("agreement.tone.outside") == 2

    def test_no_more_than_ten_are_named_and_all_are_counted(self) -> None:
        health = health_of(*(scored(f"c{k}", 5) for k in range(15)), labels=LABELS)
        assert (len(health.dimensions["tone"].disagreements), health.count("agreement.tone.outside")) == (10, 15)

    def test_flags_that_were_missed_or_raised_wrongly_are_named(self) -> None:
        labels = LABELS | {"c1": {**FAIR, "harm": True}}
        harm = health_of(scored("c0", 3, harm=True), scored("c1", 3), scored("c2", 3), labels=labels).flags["harm"]
        assert (harm.missed, harm.false_alarms) == (("c1",), ("c0",))

    def test_texts_without_labels_or_scores_are_not_named(self) -> None:
        health = health_of(scored("x", 5), judged("c0", vote(None)), labels=LABELS)
        assert (health.dimensions["tone"].disagreements, health.count("agreement.tone.outside")) == ((), 0)
