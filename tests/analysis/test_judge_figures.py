"""How a run's judge behaved, from votes that pass by once."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from parts.columns import Made, columns
from parts.described import described_rubric, summarise
from parts.judged import judged, judged_suite, scored, vote
from parts.score_ends import score_ends
from steelyard.analysis.judge.figures import judge_figures
from steelyard.analysis.model import JudgeFigures
from steelyard.records import Mode
from steelyard.stats.groups import Running, mean, share
from steelyard.stats.intervals import Estimate


def figures_of(*samples: object) -> JudgeFigures:
    rubric = described_rubric(judged_suite())
    assert rubric is not None
    return judge_figures(iter(samples), rubric)


FIVE = {"tone": 5, "overall": 4, "harm": False}


class TestCounts:
    def test_modes_and_steps_of_all_votes(self) -> None:
        found = figures_of(
            judged("a", vote(FIVE), vote(FIVE, step="repaired", repeat=1)),
            judged("b", vote(FIVE, mode=Mode.BASIC, step="basic")),
            judged("c", vote(None)),
        )
        assert (found.n_texts, found.n_votes) == (3, 4)
        assert found.modes == {"model": 2, "basic": 1}
        assert found.steps == {"basic": 1, "failed": 1, "repaired": 1, "strict": 1}
        assert (found.failed.value, found.failed.n) == (0.25, 4)

    def test_a_judgement_without_any_vote_is_a_failure_in_sight(self) -> None:
        found = figures_of(scored("a", 3), judged("b"))
        assert (found.n_votes, found.unanswered.value, found.steps) == (2, 0.5, {"failed": 1, "strict": 1})
        assert (found.failed.value, found.failed.n, found.failed.n_missing) == (0, 1, 1)

    def test_only_the_main_mode_can_break_rules(self) -> None:
        broken = {"tone": 4}
        found = figures_of(
            judged("a", vote(FIVE, capped=broken, remarks=("RULE_BROKEN", "MADE_UP_QUOTE"))),
            scored("b", 3),
            judged("c", vote(FIVE, capped=broken, mode=Mode.BASIC, step="basic", remarks=("RULE_BROKEN",))),
        )
        wilson = stats.binomtest(1, 2).proportion_ci(method="wilson")
        bounds = pytest.approx(wilson.low), pytest.approx(wilson.high)
        assert found.broken_rules == Estimate(0.5, 2, 1, *bounds)
        assert found.made_up_quotes == Estimate(0.5, 2, 1, *bounds)
        assert found.remarks == {"MADE_UP_QUOTE": 1, "RULE_BROKEN": 1}

    def test_scores_of_another_mode_are_in_no_mean(self) -> None:
        low = {"tone": 1, "overall": 2, "harm": False}
        found = figures_of(
            judged("a", vote(FIVE, capped={"tone": 4})),
            judged("b", vote(low, mode=Mode.BASIC, step="basic")),
            judged("c", vote(low, mode=Mode.RULES, step="rules")),
        )
        tone = found.dimensions["tone"]
        assert (tone.uncapped_mean.value, tone.uncapped_mean.n, tone.uncapped_mean.n_missing) == (5.0, 1, 2)
        assert (tone.capped_mean.value, tone.capped.value, tone.top_share.value) == (4.0, 1.0, 1.0)
        assert found.dimensions["overall"].uncapped_mean.value == 4.0

    def test_nothing_judged_is_not_available(self) -> None:
        found = figures_of()
        assert found.failed == found.broken_rules == Estimate(None, 0)
        assert found.dimensions["tone"].uncapped_mean == Estimate(None, 0)


class TestBound:
    def test_raw_and_bound_means_stand_side_by_side(self) -> None:
        found = figures_of(
            judged("a", vote(FIVE, capped={"tone": 3})), scored("b", 4), scored("c", 3), judged("d", vote(None))
        ).dimensions["tone"]
        assert (found.capped.value, found.capped.n, found.capped.n_missing) == (pytest.approx(1 / 3), 3, 1)
        assert (found.uncapped_mean.value, found.capped_mean.value) == (4.0, pytest.approx(10 / 3))
        assert found.uncapped_mean.low == pytest.approx(score_ends(4.0, stats.sem([5, 4, 3]), 2, (1.0, 5.0))[0])
        assert 4.8 < found.uncapped_mean.high < 5.0  # 4 + 4.303 / sqrt(3) would be 6.48


class TestRunningSums:
    def test_they_give_what_the_columns_give(self) -> None:
        random = np.random.default_rng(3)
        case = np.sort(random.integers(0, 40, 200))
        values = random.integers(1, 6, 200).astype(float)
        means, shares = Running(), Running()
        for i, value in enumerate(values):
            if i and case[i] != case[i - 1]:
                means.close()
                shares.close()
            means.add(value)
            shares.add(value == 5)
        expected = mean(values, case, (1.0, 5.0), absent=7)
        found = means.mean((1.0, 5.0), 7)
        assert (found.n, found.n_missing) == (200, 7)
        assert (found.value, found.low, found.high) == pytest.approx((expected.value, expected.low, expected.high))
        expected = share(values == 5, np.ones(200, dtype=bool), case)
        found = shares.share(0)
        assert (found.value, found.low, found.high) == pytest.approx((expected.value, expected.low, expected.high))

    def test_equal_values_leave_no_spread_behind(self) -> None:
        running = Running()
        for _ in range(1000):
            running.add(3.3)
            running.close()
        found = running.mean((1.0, 5.0), 0)
        # Of 1,000 without another score at most 1.96^2 / (1000 + 1.96^2) = 0.38268 % have one, at 1 or at 5.
        assert (found.low, found.high) == pytest.approx((3.3 - 0.0038268 * 2.3, 3.3 + 0.0038268 * 1.7), abs=1e-6)


class TestInTheSummary:
    def test_they_are_part_of_it_when_judgements_are_given(self) -> None:
        made = columns([Made("a", 0.75, parts={"tone": 4.0})])
        summary = summarise(made, judged_suite(), judgements=iter([scored("a", 4)]))
        assert summary.judge is not None
        assert (summary.judge.mode, summary.judge.n_texts) == ("model", 1)

    def test_a_run_without_a_judge_has_none(self) -> None:
        made = columns([Made("a", 0.75)])
        assert summarise(made, judged_suite()).judge is None
        assert summarise(made, judged_suite(judge=None), judgements=iter(())).judge is None
