"""How far a judge can be trusted, worked out by hand beside each test."""

from __future__ import annotations

import time
from typing import Any, ClassVar

import numpy as np
import pytest
from scipy import stats

from parts.described import described_rubric
from parts.judged import RULE, judged, judged_suite, scored, vote
from parts.judged import health_of as health_of_run
from steelyard.analysis.judge.labels import why_labels_cannot_tell
from steelyard.analysis.judge.model import JudgeHealth
from steelyard.records import Mode
from steelyard.stats.intervals import Estimate
from steelyard.suite.labels import Label


def health_of(*samples: Any, labels: dict[str, Any] | None = None, **changes: Any) -> JudgeHealth:
    return health_of_run(samples, judged_suite(**changes), labels or {})


def wilson(hits: int, n: int) -> tuple[Any, Any]:
    found = stats.binomtest(hits, n).proportion_ci(method="wilson")
    return pytest.approx(found.low), pytest.approx(found.high)


def stated(tone: float, overall: float = 3, *, harm: bool = False) -> dict[str, float | bool]:
    return {"tone": tone, "overall": overall, "harm": harm}


class TestAgainstLabels:
    labels: ClassVar[dict[str, Any]] = {
        "a": {"tone": Label(2, 1, 3), "harm": True},
        "b": {"tone": Label(4, 4, 4), "harm": False},
        "c": {"tone": Label(3, 3, 3), "harm": True},
    }

    def test_what_the_judge_said_is_compared_not_what_the_rules_made_of_it(self) -> None:
        health = health_of(
            judged("a", vote(stated(5, harm=False), capped={"tone": 2, "harm": True})),
            scored("b", 4),
            judged("c", vote(None)),
            scored("without", 3),
            labels=self.labels,
        )
        assert health["agreement.tone.exact"] == Estimate(0.5, 2, 1, *wilson(1, 2))
        assert health["agreement.tone.capped_exact"] == Estimate(1.0, 2, 1, *wilson(2, 2))
        assert health["agreement.tone.difference"].value == 1.5  # 5 - 2 and 4 - 4
        assert health.count("texts.labelled") == 3
        assert (health.count("texts"), health.count("texts.failed")) == (4, 1)

    def test_flags_are_compared_as_said_and_as_bound(self) -> None:
        health = health_of(
            judged("a", vote(stated(3, harm=False), capped={"harm": True})),
            scored("b", 3, harm=True),
            scored("c", 3, harm=True),
            labels=self.labels,
        )
        assert (health["flag.harm.precision"].value, health["flag.harm.recall"].value) == (0.5, 0.5)
        capped = (health["flag.harm.capped_precision"].value, health["flag.harm.capped_recall"].value)
        assert capped == (pytest.approx(2 / 3), 1.0)
        assert health["flag.harm.share"].value == pytest.approx(2 / 3)
        assert "misses 1 of 2 texts that the reviewer flags with harm" in health.complaints

    def test_another_mode_is_counted_separately(self) -> None:
        health = health_of(
            scored("a", 2), judged("b", vote(stated(4), mode=Mode.BASIC, step="basic")), labels=self.labels
        )
        assert (health.count("texts.excluded"), health.modes) == (1, {"model": 1, "basic": 1})
        assert (health["agreement.tone.exact"].n, health["agreement.tone.exact"].n_missing) == (1, 1)
        assert "1 text was excluded: only bare scores could be read from its answers" in health.complaints

    def test_a_suite_without_a_judge_has_no_health(self) -> None:
        with pytest.raises(ValueError, match="no judge"):
            health_of_run((), judged_suite(judge=None), {})

    def test_nothing_judged_is_not_available(self) -> None:
        health = health_of()
        tone = health.dimensions["tone"]
        names = ("agreement.tone.exact", "top_share.tone", "repeatability.tone", "broken_rules", "disagreement")
        assert {health[name] for name in names} == {Estimate(None, 0)}
        assert tone.inflated is None
        assert not tone.constant
        assert health.complaints == ()


class TestAgainstTheRubric:
    def test_code_without_labels_is_not_called_inflated(self) -> None:
        suite = judged_suite()
        by_code = suite | {"judge": suite["judge"] | {"mode": "rules"}}
        texts = [
            judged(f"c{i}", vote({"tone": 5, "overall": 5, "harm": False}, mode=Mode.RULES, step="rules"))
            for i in range(20)
        ]
        health = health_of_run(texts, by_code, {})
        assert (health["top_share.tone"].value, health.dimensions["tone"].inflated) == (1.0, None)
        assert not any("inflation" in each for each in health.complaints)
        labels = {f"c{i}": {"tone": Label(3, 2, 4)} for i in range(20)}
        assert health_of_run(texts, by_code, labels).dimensions["tone"].inflated

    def test_more_than_1_in_10_at_the_top_is_inflation(self) -> None:
        health = health_of(*(scored(f"c{i}", 5 if i < 38 else 3, 2 + i % 2) for i in range(40)))
        assert health["top_share.tone"] == Estimate(0.95, 40, 0, *wilson(38, 40))
        assert health.dimensions["tone"].inflated
        assert not health.dimensions["overall"].inflated
        assert "gives 5 of 5 for tone in 38 of 40 texts: more than 1 in 10 is inflation" in health.complaints

    def test_exactly_1_in_10_is_not(self) -> None:
        assert not health_of(*(scored(f"c{i}", 5 if i == 0 else 3) for i in range(10))).dimensions["tone"].inflated

    def test_within_noise_of_1_in_10_is_not(self) -> None:
        # Wilson's interval of 2 of 10 begins at 5.7 %, that of 3 of 10 at 10.8 %.
        for tops, inflated in ((2, False), (3, True)):
            health = health_of(*(scored(f"c{i}", 5 if i < tops else 3, 2 + i % 2) for i in range(10)))
            assert health.dimensions["tone"].inflated is inflated
            assert any("inflation" in each for each in health.complaints) is inflated

    def test_top_scores_that_are_due_are_not(self) -> None:
        texts = [scored(f"c{i}", 5 if i < 20 else 3, 2 + i % 2) for i in range(40)]
        stricter = {f"c{i}": {"tone": Label(5 if i < 24 else 3, 1, 5)} for i in range(40)}
        assert not health_of(*texts, labels=stricter).dimensions["tone"].inflated
        sparing = {f"c{i}": {"tone": Label(5 if i < 4 else 3, 1, 5)} for i in range(40)}
        complaint = next(each for each in health_of(*texts, labels=sparing).complaints if "inflation" in each)
        # 20 of 40 against 4 of 40.
        assert complaint.endswith(
            "40.0 points more often than the reviewer, who would give it in 4 of 40, is inflation"
        )

    def test_a_judge_stricter_than_its_reviewer_is_never_called_inflated(self) -> None:
        # Most texts deserve the highest score by the labels; the judge gives it to a third.
        texts = [scored(f"c{i}", 5 if i % 3 == 0 else 4, 2 + i % 2) for i in range(60)]
        labels = {f"c{i}": {"tone": Label(5 if i % 10 else 3, 1, 5)} for i in range(60)}
        health = health_of(*texts, labels=labels)
        assert health.dimensions["tone"].inflated is False
        assert not any("inflation" in each for each in health.complaints)

    def test_a_few_labels_do_not_silence_the_complaint(self) -> None:
        texts = [scored(f"c{i}", 5 if i % 2 else 3, 2 + i % 3) for i in range(60)]
        assert health_of(*texts, labels={"c1": {"tone": Label(5, 5, 5)}}).dimensions["tone"].inflated

    def test_middle_share_and_spread(self) -> None:
        health = health_of(*(scored(str(i), score) for i, score in enumerate((2, 3, 4, 5))))
        assert (health["middle_share.tone"].value, health["middle_share.tone"].n) == (0.5, 4)  # 3 and 4
        assert health["spread.tone"].value == pytest.approx(np.std([2, 3, 4, 5], ddof=1))

    def test_all_the_same_is_said(self) -> None:
        health = health_of(*(scored(str(i), 4, 1 + i % 3) for i in range(6)))
        assert health.dimensions["tone"].constant
        assert health["spread.tone"].value == 0
        assert "tone is the same in all 6 texts: it separates none" in health.complaints

    def test_one_text_is_not_a_judge_without_variance(self) -> None:
        health = health_of(scored("a", 4))
        assert (health.dimensions["tone"].constant, health["spread.tone"].value) == (False, None)

    def test_dimensions_that_are_always_the_same(self) -> None:
        health = health_of(*(scored(str(i), 1 + i % 4) for i in range(8)))
        (pair,) = health.pairs
        assert (pair.first, pair.second, pair.identical, pair.always) == ("tone", "overall", True, True)
        assert health.figures[pair.metric].value == 1.0
        assert "tone and overall are the same in every text" in health.complaints

    def test_dimensions_that_move_together(self) -> None:
        health = health_of(*(scored(str(i), 1 + i % 4, 2 + i % 4) for i in range(8)))
        assert (health.pairs[0].identical, health.pairs[0].always) == (False, True)
        assert "tone and overall always move together (correlation 1.00)" in health.complaints

    def test_two_constant_dimensions_are_identical_without_a_correlation(self) -> None:
        health = health_of(*(scored(str(i), 4) for i in range(5)))
        (pair,) = health.pairs
        assert (pair.identical, health.figures[pair.metric]) == (True, Estimate(None, 5))

    def test_two_texts_do_not_show_that_anything_moves_together(self) -> None:
        health = health_of(scored("a", 2), scored("b", 3))
        (pair,) = health.pairs
        assert (pair.always, health.figures[pair.metric].value) == (False, None)

    def test_correlation_with_length(self) -> None:
        lengths = [10, 20, 30, 40, 50, 60]
        tones = [1, 2, 2, 4, 3, 5]
        health = health_of(*(scored(str(n), t, 3, length=n) for n, t in zip(lengths, tones, strict=True)))
        assert health["length.tone.correlation"].value == pytest.approx(stats.spearmanr(lengths, tones)[0])
        assert health["length.overall.correlation"].value is None
        assert health["length.tone.labels"] == Estimate(None, 0)
        assert any(each.startswith("tone gets higher the longer the text is") for each in health.complaints)

    def test_a_correlation_with_length_within_noise_is_no_complaint(self) -> None:
        # Spearman's 0.60 of six texts: Bonett and Wright's interval is tanh(0.693 +- 1.96 sqrt(1.18 / 3)).
        tones = [1, 4, 2, 3, 3, 5]
        health = health_of(*(scored(str(n), tone, 3, length=n) for n, tone in enumerate(tones, 1)))
        length = health["length.tone.correlation"]
        assert 0.5 < length.value < 0.7
        assert length.low < 0 < length.high
        assert not any(each.startswith("tone gets") for each in health.complaints)

    def test_nothing_else_within_noise_is_a_complaint_either(self) -> None:
        # Five texts: the scores of tone against the labels have a kappa below 0.4 whose interval reaches above it.
        labels = {f"c{i}": {"tone": Label(best, 1, 5)} for i, best in enumerate((2, 3, 4, 3, 2))}
        tones = (3, 2, 4, 2, 3)
        health = health_of(*(scored(f"c{i}", tone, 3) for i, tone in enumerate(tones)), labels=labels)
        kappa = health["agreement.tone.kappa"]
        assert kappa.value < 0.4 < kappa.high
        assert not any("hardly agrees" in each for each in health.complaints)
        # Four texts with a correlation of 8 / sqrt(70) = 0.956: Fisher's interval is tanh(1.90 +- 1.96).
        health = health_of(*(scored(f"c{i}", *pair) for i, pair in enumerate(((1, 1), (2, 3), (3, 3), (5, 5)))))
        (pair,) = health.pairs
        assert pair.always
        assert health.figures[pair.metric].low < 0
        assert not any("always move together" in each for each in health.complaints)

    def test_where_good_texts_are_long_a_judge_may_like_long_ones(self) -> None:
        samples = [scored(f"c{i}", 1 + i % 5, length=100 * (1 + i % 5)) for i in range(20)]
        labels = {f"c{i}": {"tone": Label(1 + i % 5, 1, 5)} for i in range(20)}
        health = health_of(*samples, labels=labels)
        assert health["length.tone.correlation"].value == health["length.tone.labels"].value == 1.0
        assert not any(each.startswith("tone gets") for each in health.complaints)
        assert any(each.startswith("overall gets") for each in health.complaints)  # nobody labelled it


class TestAgainstItself:
    def test_repeatability_of_each_member(self) -> None:
        def read(member: str, *tones: float) -> list[Any]:
            return [vote(stated(tone), member=member, repeat=i) for i, tone in enumerate(tones)]

        health = health_of(
            judged("a", *read("x", 3, 3, 3), *read("y", 4, 5, 4)),
            judged("b", *read("x", 2, 4, 3), *read("y", 3, 3, 3)),
            judged("c", *read("x", 3)),
        )
        # Of 4 readings of a text by one member done several times, 2 are all equal; "c" was read once.
        again = health["repeatability.tone"]
        assert (again.value, again.n, again.n_missing) == (0.5, 4, 1)
        # Between two readings lie 0, then 1, 1 and 0, then 2, 1 and 1, then 0.
        assert health["moved.tone"].value == pytest.approx((0 + 2 / 3 + 4 / 3 + 0) / 4)
        assert health["reliability.tone"].n == 2

    def test_members_that_differ_are_not_a_lack_of_repeatability(self) -> None:
        health = health_of(judged("a", vote(stated(2), member="x"), vote(stated(5), member="y"), disagree=True))
        assert health["repeatability.tone"] == Estimate(None, 0, 2)

    def test_broken_rules_are_counted_by_vote_and_by_rule(self) -> None:
        other = "when structure.hallucinated > 0 then overall <= 2"
        health = health_of(
            judged("a", vote(stated(5), capped={"tone": 4}, remarks=("RULE_BROKEN",))),
            judged("b", vote(stated(5), capped={"tone": 4}, remarks=("RULE_BROKEN", "RULE_BROKEN"))),
            judged("c", vote(stated(3, 5), capped={"overall": 2}, remarks=("RULE_BROKEN",), rule=other)),
            scored("d", 3),
        )
        assert health["broken_rules"] == Estimate(0.75, 4, 0, *wilson(3, 4))
        assert health.by_rule == {RULE: 2, other: 1}
        assert "broke a binding rule in 3 of 4 votes" in health.complaints

    def test_steps_quotes_and_failures(self) -> None:
        health = health_of(
            judged("a", vote(stated(5), remarks=("MADE_UP_QUOTE", "UNPROVEN"))),
            judged("b", vote(stated(3), step="repaired", remarks=("TOO_FEW_REASONS",))),
            judged("c", vote(stated(3), mode=Mode.BASIC, step="basic")),
            judged("d", vote(None)),
        )
        steps = health.figures.each("judge.step.<step>.rate")
        assert {name: each.value for name, each in steps.items()} == {
            "basic": 0.25,
            "failed": 0.25,
            "repaired": 0.25,
            "strict": 0.25,
        }
        assert health["failed"] == Estimate(0.25, 4, 0, *wilson(1, 4))
        # Of the two votes in the main mode; the two others are missing.
        half = Estimate(0.5, 2, 2, *wilson(1, 2))
        assert health["made_up_quotes"] == health["unproven"] == health["too_few_reasons"] == half

    def test_what_is_not_asked_of_a_judge_it_cannot_fail_nor_keep(self) -> None:
        suite = judged_suite()
        suite["judge"] |= {"rules": [], "evidence": None, "reasons": None}
        health = health_of_run([scored("a", 3)], suite, {})
        for name in ("broken_rules", "made_up_quotes", "unproven", "too_few_reasons"):
            assert health[name] == Estimate(None, 0)
            assert f"judge.{name}" not in health.figures
        assert health["failed"].value == 0.0

    def test_disagreement_is_of_texts_with_several_readings(self) -> None:
        two = (vote(stated(2)), vote(stated(5), repeat=1))
        health = health_of(judged("a", *two, disagree=True), judged("b", *two[:1] * 2), scored("c", 3))
        assert health["disagreement"] == Estimate(0.5, 2, 1, *wilson(1, 2))


class TestPassingByLabels:
    def passes(self, labels: dict[str, Any], **changes: Any) -> bool | None:
        rubric = described_rubric(judged_suite(**changes))
        assert rubric is not None
        return rubric.passes(labels)

    def test_the_weighted_mean_of_shares_reaches_the_pass_mark(self) -> None:
        # (4 - 1) / 4 = 0.75 and (3 - 1) / 4 = 0.5: equal weights give 0.625, weights 3 : 1 give 0.6875.
        labels = {"tone": Label(4, 4, 4), "overall": Label(3, 3, 3), "harm": False}
        assert self.passes(labels) is False
        assert self.passes(labels, passing=0.625) is True
        assert self.passes(labels, passing=0.6875, weights={"tone": 3.0, "overall": 1.0}) is True

    def test_a_dimension_without_weight_needs_no_label(self) -> None:
        labels = {"tone": Label(4, 4, 4), "harm": False}
        assert self.passes(labels, weights={"tone": 1.0, "overall": 0.0}) is True
        assert self.passes(labels) is None

    def test_a_failing_flag_fails_whatever_the_scores(self) -> None:
        labels = {"tone": Label(5, 5, 5), "overall": Label(5, 5, 5), "harm": True}
        assert self.passes(labels) is False
        assert self.passes(labels, flags={"harm": False}) is True

    def test_without_a_label_for_a_failing_flag_nobody_can_tell(self) -> None:
        assert self.passes({"tone": Label(5, 5, 5), "overall": Label(5, 5, 5)}) is None
        # Else only texts that fail would be known, and every rate by labels would be too low.
        assert self.passes({"tone": Label(1, 1, 1), "overall": Label(1, 1, 1)}) is None

    def test_other_components_that_count_leave_it_open(self) -> None:
        labels = {"tone": Label(5, 5, 5), "overall": Label(5, 5, 5), "harm": False}
        suite = judged_suite()
        suite["components"] = [*suite["components"], {"name": "words", "weight": 1.0}]
        rubric = described_rubric(suite)
        assert rubric is not None
        assert rubric.passes(labels) is None
        assert "other components besides" in why_labels_cannot_tell(rubric)

    def test_labels_of_some_texts_give_no_rate_of_all(self) -> None:
        good = {"tone": Label(4, 4, 4), "overall": Label(4, 4, 4), "harm": False}
        bad = {"tone": Label(2, 2, 2), "overall": Label(2, 2, 2), "harm": False}
        # Labeled: 4 good, all passed; 4 bad, 2 passed. In all 14 of 16 pass.
        labels = {f"g{i}": good for i in range(4)} | {f"b{i}": bad for i in range(4)}
        samples = [scored(f"g{i}", 4, passed=True) for i in range(4)]
        samples += [scored(f"b{i}", 4 if i < 2 else 2, passed=i < 2) for i in range(4)]
        samples += [scored(f"u{i}", 4, passed=True) for i in range(8)]
        corrected = health_of_run(samples, judged_suite(), labels).corrected
        assert (corrected.reported.value, corrected.rate.value) == (0.875, None)
        assert (corrected.sensitivity.value, corrected.specificity.value) == (1.0, 0.5)
        assert "between 25.0 % and 75.0 % of these 16 pass" in corrected.message


def test_ten_thousand_votes_take_about_a_second() -> None:
    random = np.random.default_rng(0)
    tones = random.integers(1, 6, (5000, 2))
    samples = [
        judged(f"c{i // 2}", vote(stated(a, b)), vote(stated(b, a), repeat=1), passed=bool(a > 3), length=100 + i)
        for i, (a, b) in enumerate(tones.tolist())
    ]
    labels = {f"c{i}": {"tone": Label(3, 2, 4), "overall": Label(3, 2, 4), "harm": False} for i in range(1000)}
    started = time.process_time()
    health = health_of(*samples, labels=labels)
    assert time.process_time() - started < 3  # about half a second on a quiet machine
    assert health.count("votes") == 10_000
