"""How a run's judge behaved, from votes that pass by once."""

from __future__ import annotations

import pytest
from scipy import stats

from parts.columns import Made, columns
from parts.described import summarise
from parts.judged import health_of, judged, judged_suite, scored, vote
from parts.score_ends import score_ends
from steelyard.analysis.judge.model import JudgeHealth
from steelyard.records import Mode
from steelyard.stats.intervals import Estimate
from steelyard.store.base import JudgedSample


def figures_of(*samples: JudgedSample) -> JudgeHealth:
    return health_of(samples, judged_suite(), {})


FIVE = {"tone": 5, "overall": 4, "harm": False}


class TestCounts:
    def test_modes_and_steps_of_all_votes(self) -> None:
        found = figures_of(
            judged("a", vote(FIVE), vote(FIVE, step="repaired", repeat=1)),
            judged("b", vote(FIVE, mode=Mode.BASIC, step="basic")),
            judged("c", vote(None)),
        )
        assert (found.count("texts"), found.count("votes")) == (3, 4)
        assert found.modes == {"model": 2, "basic": 1}
        assert found.figures.counts("judge.step.<step>") == {"basic": 1, "failed": 1, "repaired": 1, "strict": 1}
        assert (found["failed"].value, found["failed"].n) == (0.25, 4)

    def test_a_judgement_without_any_vote_is_a_failure_in_sight(self) -> None:
        found = figures_of(scored("a", 3), judged("b"))
        steps = found.figures.counts("judge.step.<step>")
        assert (found.count("votes"), found["unanswered"].value, steps) == (2, 0.5, {"failed": 1, "strict": 1})
        assert (found["failed"].value, found["failed"].n, found["failed"].n_missing) == (0, 1, 1)

    def test_only_the_main_mode_can_break_rules(self) -> None:
        broken = {"tone": 4}
        found = figures_of(
            judged("a", vote(FIVE, capped=broken, remarks=("RULE_BROKEN", "MADE_UP_QUOTE"))),
            scored("b", 3),
            judged("c", vote(FIVE, capped=broken, mode=Mode.BASIC, step="basic", remarks=("RULE_BROKEN",))),
        )
        wilson = stats.binomtest(1, 2).proportion_ci(method="wilson")
        bounds = pytest.approx(wilson.low), pytest.approx(wilson.high)
        assert found["broken_rules"] == Estimate(0.5, 2, 1, *bounds)
        assert found["made_up_quotes"] == Estimate(0.5, 2, 1, *bounds)
        assert found.figures.counts("judge.remark.<remark>") == {"MADE_UP_QUOTE": 1, "RULE_BROKEN": 1}

    def test_scores_of_another_mode_are_in_no_mean(self) -> None:
        low = {"tone": 1, "overall": 2, "harm": False}
        found = figures_of(
            judged("a", vote(FIVE, capped={"tone": 4})),
            judged("b", vote(low, mode=Mode.BASIC, step="basic")),
            judged("c", vote(low, mode=Mode.RULES, step="rules")),
        )
        uncapped = found["dimension.tone.uncapped_mean"]
        assert (uncapped.value, uncapped.n, uncapped.n_missing) == (5.0, 1, 2)
        names = ("dimension.tone.capped_mean", "dimension.tone.capped", "top_share.tone")
        assert tuple(found[name].value for name in names) == (4.0, 1.0, 1.0)
        assert found["dimension.overall.uncapped_mean"].value == 4.0

    def test_nothing_judged_is_not_available(self) -> None:
        found = figures_of()
        assert found["failed"] == found["broken_rules"] == Estimate(None, 0)
        assert found["dimension.tone.uncapped_mean"] == Estimate(None, 0)


class TestBound:
    def test_raw_and_bound_means_stand_side_by_side(self) -> None:
        found = figures_of(
            judged("a", vote(FIVE, capped={"tone": 3})), scored("b", 4), scored("c", 3), judged("d", vote(None))
        )
        share, uncapped, bound = (
            found[f"dimension.tone.{name}"] for name in ("capped", "uncapped_mean", "capped_mean")
        )
        assert (share.value, share.n, share.n_missing) == (pytest.approx(1 / 3), 3, 1)
        assert (uncapped.value, bound.value) == (4.0, pytest.approx(10 / 3))
        assert uncapped.low == pytest.approx(score_ends(4.0, stats.sem([5, 4, 3]), 2, (1.0, 5.0))[0])
        assert 4.8 < uncapped.high < 5.0  # 4 + 4.303 / sqrt(3) would be 6.48


class TestInTheSummary:
    def test_they_are_part_of_it_when_judgements_are_given(self) -> None:
        made = columns([Made("a", 0.75, parts={"tone": 4.0})])
        summary = summarise(made, judged_suite(), judgements=iter([scored("a", 4)]))
        assert summary.judge is not None
        assert (summary.judge.mode, summary.overall.count("judge.texts")) == ("model", 1)

    def test_a_run_without_a_judge_has_none(self) -> None:
        made = columns([Made("a", 0.75)])
        assert summarise(made, judged_suite()).judge is None
        assert summarise(made, judged_suite(judge=None), judgements=iter(())).judge is None
