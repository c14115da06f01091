"""The best variant is named only when its lead is more than noise."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from parts.columns import Made, columns, suite
from parts.described import summarise
from parts.lengths import simulations, slack
from steelyard.analysis.variants import ComparedVariants, Difference, find_best

NAN = float("nan")


def best_of(*, n_cases: int = 0, max_inconclusive: float = 0.05, **scores: list[float]) -> ComparedVariants:
    """The best of variants by their scores, case by case."""
    means = np.array(list(scores.values()), dtype=float).T
    found = find_best(list(scores), means, n_cases=n_cases, max_inconclusive=max_inconclusive)
    assert found is not None
    return found


def the_only(result: ComparedVariants) -> Difference:
    (difference,) = result.differences
    return difference


RUNS = simulations(1500, 200)
MOST = 0.05 + slack(0.05, RUNS, 1.77)
"""Of 5 %, 6.0 % of 1,500 simulations and 7.7 % of 200."""


def runs(names: int, shifts: tuple[float, ...], n: int, seed: int) -> list[ComparedVariants]:
    """Made-up runs: cases of unlike difficulty, variants that differ by chance and by `shifts`."""
    chance = np.random.default_rng(seed)
    found = []
    for _ in range(RUNS):
        case = chance.beta(5, 2, (n, 1))
        means = np.clip(case + chance.normal(0, 0.1, (n, names)) + np.array(shifts), 0, 1)
        best = find_best([str(i) for i in range(names)], means)
        assert best is not None
        found.append(best)
    return found


class TestFigures:
    def test_two_variants_are_compared_as_scipy_does(self) -> None:
        chance = np.random.default_rng(1)
        first, second = chance.random(24), chance.random(24) * 0.7
        found = best_of(piles=list(first), boxes=list(second))
        oracle = stats.ttest_rel(first, second)
        interval = oracle.confidence_interval(0.95)
        difference = the_only(found)
        assert difference.p == pytest.approx(oracle.pvalue, rel=1e-9)
        assert difference.estimate.value == pytest.approx(float((first - second).mean()))
        assert (difference.estimate.low, difference.estimate.high) == pytest.approx((interval.low, interval.high))
        assert (difference.first, difference.other, difference.estimate.n) == ("piles", "boxes", 24)

    def test_of_three_variants_each_comparison_is_one_of_three(self) -> None:
        chance = np.random.default_rng(2)
        first, second, third = 0.5 * chance.random((3, 20)) + np.array([[0.2], [0.1], [0.0]])
        found = best_of(a=list(third), b=list(first), c=list(second))
        assert [each.other for each in found.differences] == ["a", "c"]
        for difference, other in zip(found.differences, (third, second), strict=True):
            oracle = stats.ttest_rel(first, other)
            interval = oracle.confidence_interval(1 - 0.05 / 3)
            assert difference.p == pytest.approx(min(1, 3 * oracle.pvalue), rel=1e-9)
            assert difference.estimate.high == pytest.approx(min(1, interval.high))
            assert difference.estimate.low == pytest.approx(interval.low)

    def test_pairs_are_the_cases_that_both_have(self) -> None:
        nan = float("nan")
        found = best_of(a=[0.9, 0.8, nan, 0.7], b=[0.5, nan, 1.0, 0.4])
        estimate = the_only(found).estimate
        assert (estimate.value, estimate.n, estimate.n_missing) == (pytest.approx(0.35), 2, 2)  # 0.4 and 0.3

    def test_the_leader_is_found_on_the_cases_that_all_have(self) -> None:
        nan = float("nan")
        # On its own cases b has (0.5 + 0.5 + 1) / 3, but where both answered a is ahead.
        assert best_of(a=[0.6, 0.6, nan], b=[0.5, 0.5, 1.0]).leader == "a"


class TestNaming:
    def test_a_clear_lead_is_named(self) -> None:
        first = [0.80, 0.85, 0.78, 0.90, 0.82, 0.79, 0.88, 0.84]
        found = best_of(boxes=[score - 0.1 - 0.01 * (i % 3) for i, score in enumerate(first)], piles=first)
        assert found.best == "piles"
        # Margins 0.10, 0.11, 0.12, 0.10, 0.11, 0.12, 0.10, 0.11: mean 0.10875, sd 0.008345, t(7) 2.3646: +- 0.0070.
        assert found.sentence == "piles is best: 83.2 % against 72.4 % of boxes (+10.9 points [10.2, 11.6], 8 cases)"

    def test_a_lead_within_noise_is_not_named(self) -> None:
        found = best_of(piles=[0.9, 0.4, 0.8, 0.6, 0.7, 0.9], boxes=[0.8, 0.5, 0.8, 0.5, 0.8, 0.8])
        # Differences 0.1, -0.1, 0, 0.1, -0.1, 0.1: mean 0.016667, sd 0.098319, t(5) 2.5706: +- 0.10318.
        assert found.best is None
        assert found.leader == "piles"
        assert found.sentence == (
            "cannot tell which variant is best: piles leads with 71.7 %,"
            " boxes is 1.7 points lower [-8.7, 12.0] (6 cases)"
        )

    def test_the_leader_must_beat_every_other(self) -> None:
        first = [0.80, 0.85, 0.78, 0.90, 0.82, 0.79, 0.88, 0.84]
        close = [score - (0.05 if i % 2 else -0.04) for i, score in enumerate(first)]
        found = best_of(a=first, b=close, c=[score - 0.3 + 0.01 * (i % 3) for i, score in enumerate(first)])
        assert found.best is None
        assert "b is 0.5 points lower" in found.sentence
        assert "c is" not in found.sentence

    def test_several_others_are_joined_nearest_first(self) -> None:
        first = [0.80, 0.85, 0.78, 0.90, 0.82, 0.79, 0.88, 0.84]
        worse = {
            name: [s - lag + 0.01 * (i % 3) for i, s in enumerate(first)] for name, lag in (("b", 0.4), ("c", 0.2))
        }
        found = best_of(a=first, **worse)
        assert found.best == "a"
        assert found.sentence.startswith("a is best: 83.2 % against 64.1 % of c (+19.1 points [")
        assert " and 44.1 % of b (+39.1 points [" in found.sentence

    def test_many_others_are_counted(self) -> None:
        first = [0.80, 0.85, 0.78, 0.90, 0.82, 0.79, 0.88, 0.84] * 3
        worse = {f"v{lag}": [s - lag / 10 + 0.01 * (i % 3) for i, s in enumerate(first)] for lag in range(1, 6)}
        assert best_of(a=first, **worse).sentence.endswith("24 cases) and 2 more")


class TestTooLittle:
    @pytest.mark.parametrize(("n", "best"), [(5, None), (6, "a"), (12, "a")])
    def test_a_lead_that_never_varies_is_judged_by_the_number_of_cases(self, n: int, best: str | None) -> None:
        found = best_of(a=[0.75] * n, b=[0.5] * n)
        assert found.best == best
        assert the_only(found).p == pytest.approx(2 * 0.5**n)  # the sign test, all cases agreeing
        assert the_only(found).estimate.low is None

    def test_few_cases_that_happen_to_be_alike_prove_nothing(self) -> None:
        found = best_of(a=[0.8, 0.801, 0.8, 0.799], b=[0.7, 0.7, 0.7, 0.7])
        assert found.best is None
        assert the_only(found).p == 0.125  # 2 / 2**4, while the t-test alone says 7e-7
        assert found.sentence.endswith("(4 cases, too few to tell)")

    def test_equal_variants_cannot_be_separated(self) -> None:
        found = best_of(a=[0.5, 0.7, 0.9] * 4, b=[0.5, 0.7, 0.9] * 4)
        assert (found.best, found.leader, the_only(found).p) == (None, "a", 1.0)
        assert found.sentence == "no variant is better: all 2 score the same in every case (70.0 %, 12 cases)"

    def test_one_case_tells_nothing(self) -> None:
        found = best_of(a=[0.9], b=[0.1])
        assert (found.best, the_only(found).p) == (None, None)
        assert found.sentence == (
            "cannot tell which variant is best: a leads with 90.0 %, b cannot be compared (1 case in common)"
        )

    def test_a_variant_without_any_score_keeps_the_best_from_being_named(self) -> None:
        scores = [0.80, 0.85, 0.78, 0.90, 0.82, 0.79, 0.88, 0.84]
        found = best_of(a=scores, b=[s - 0.3 + 0.01 * (i % 3) for i, s in enumerate(scores)], c=[float("nan")] * 8)
        assert (found.best, found.leader) == (None, "a")
        assert found.sentence == ("cannot tell which variant is best: for c 8 of 8 cases are missing")

    def test_no_scores_at_all_are_said(self) -> None:
        found = best_of(a=[float("nan")] * 3, b=[float("nan")] * 3)
        assert (found.best, the_only(found).estimate.value) == (None, None)
        assert found.sentence == "cannot tell which variant is best: no case has a score for a and for another variant"


class TestMissingCases:
    FIRST = (0.80, 0.85, 0.78, 0.90, 0.82, 0.79, 0.88, 0.84) * 3
    """24 cases."""

    def contributing(self, lag: float = 0.1) -> list[float]:
        return [score - lag - 0.01 * (i % 3) for i, score in enumerate(self.FIRST)]

    def without(self, n: int, scores: list[float]) -> list[float]:
        return [NAN] * n + scores[n:]

    def test_a_lead_on_the_few_cases_that_came_is_not_named(self) -> None:
        found = best_of(p=list(self.FIRST), q=self.without(17, self.contributing()))
        # On 7 cases the lead is beyond noise (all agree: 2 / 2**7); it is the gap that forbids the name.
        assert the_only(found).p == 0.015625
        assert (found.best, found.leader) == (None, "p")
        assert found.sentence == "cannot tell which variant is best: for q 17 of 24 cases are missing"

    def test_cases_that_the_leader_lacks_count_alike(self) -> None:
        found = best_of(p=self.without(17, list(self.FIRST)), q=self.contributing())
        assert (found.best, found.leader) == (None, "p")
        assert found.sentence == "cannot tell which variant is best: for p 17 of 24 cases are missing"

    def test_few_missing_cases_are_said_beside_the_name(self) -> None:
        found = best_of(p=list(self.FIRST), q=self.without(1, self.contributing()))  # 1 / 24 = 4.2 %
        assert found.best == "p"
        # Margins of cases 2 to 24: 8 x 0.11, 8 x 0.12, 7 x 0.10: mean 2.54 / 23 = 0.110435; squares 8 x 0.0121
        # + 8 x 0.0144 + 7 x 0.01 = 0.282; variance (0.282 - 2.54**2 / 23) / 22 = 0.0000680; sd 0.008245; t(22) 2.0739:
        # +- 0.003565.
        assert found.sentence.endswith("(+11.0 points [10.7, 11.4], 23 of 24 cases)")

    def test_missing_cases_are_said_where_nobody_can_tell(self) -> None:
        noisy = [score + (0.05 if i % 2 else -0.06) for i, score in enumerate(self.FIRST)]
        found = best_of(p=list(self.FIRST), q=self.without(1, noisy))
        assert found.best is None
        assert found.sentence.endswith("(23 of 24 cases)")

    @pytest.mark.parametrize(("allowed", "best"), [(1 / 8, "p"), (0.124, None), (0.0, None), (1.0, "p")])
    def test_the_suite_says_how_many_may_be_missing(self, allowed: float, best: str | None) -> None:
        found = best_of(p=list(self.FIRST), q=self.without(3, self.contributing()), max_inconclusive=allowed)
        assert found.best == best

    def test_rounding_does_not_make_the_last_allowed_case_one_too_many(self) -> None:
        scores = (list(self.FIRST) * 5)[:100]
        lower = [score - 0.1 - 0.01 * (i % 3) for i, score in enumerate(scores)]
        assert 0.29 * 100 < 29
        assert best_of(p=scores, q=self.without(29, lower), max_inconclusive=0.29).best == "p"
        assert best_of(p=scores, q=self.without(30, lower), max_inconclusive=0.29).best is None

    def test_each_variant_that_lacks_cases_is_named_the_worst_first(self) -> None:
        found = best_of(
            p=list(self.FIRST),
            q=self.without(2, self.contributing()),
            r=self.without(5, self.contributing(0.2)),
            s=self.contributing(0.3),
        )
        assert found.sentence == (
            "cannot tell which variant is best: for r 5 of 24 cases are missing and for q 2 of 24 cases are missing"
        )

    def test_one_missing_case_of_few_is_too_many(self) -> None:
        found = best_of(p=list(self.FIRST[:8]), q=self.without(1, self.contributing()[:8]))
        assert found.sentence == "cannot tell which variant is best: for q 1 of 8 cases is missing"

    def test_cases_that_never_came_are_missing_too(self) -> None:
        found = best_of(p=list(self.FIRST), q=self.contributing(), n_cases=30)
        assert (found.best, the_only(found).estimate.n_missing) == (None, 6)
        assert found.sentence == (
            "cannot tell which variant is best: for p 6 of 30 cases are missing and for q 6 of 30 cases are missing"
        )

    def test_variants_without_a_case_in_common_are_reported_so(self) -> None:
        found = best_of(p=[0.9, NAN], q=[NAN, 0.8])
        assert found.sentence == "cannot tell which variant is best: no case has a score for p and for another variant"


@pytest.mark.simulation
class TestHowOften:
    def test_equal_variants_are_seldom_separated(self) -> None:
        named = [each.best for each in runs(3, (0.0, 0.0, 0.0), 24, 11) if each.best is not None]
        assert len(named) / RUNS <= MOST

    def test_of_two_that_lead_together_seldom_one_is_named(self) -> None:
        # The hardest case: the third is far behind and stops nobody.
        named = [each.best for each in runs(3, (0.0, 0.0, -0.3), 24, 14) if each.best is not None]
        assert 0 < len(named) / RUNS <= MOST

    def test_the_interval_of_the_leader_allows_for_its_having_been_picked(self) -> None:
        # All variants are equally good, so the true difference is 0, and all intervals should hold it in 95 %.
        found = runs(4, (0.0, 0.0, 0.0, 0.0), 24, 12)
        missed = sum(any((each.estimate.low or 0) > 0 for each in one.differences) for one in found)
        assert missed / RUNS <= MOST

    def test_a_clear_difference_is_mostly_named(self) -> None:
        named = [each.best for each in runs(3, (0.0, 0.15, 0.0), 24, 13)]
        assert named.count("1") / RUNS >= 0.8
        assert named.count("0") + named.count("2") == 0


class TestFromARun:
    def test_repeats_are_averaged_and_failed_calls_left_out(self) -> None:
        made = [Made("a", 0.8, variant="x"), Made("a", 0.6, variant="x", repeat=1), Made("a", 0.4, variant="y")]
        made += [Made("a", None, "target_failed", variant="y", repeat=1)]
        made += [Made("b", 0.9, variant="x"), Made("b", None, "malformed", variant="y")]
        summary = summarise(columns(made), suite(variants=["x", "y"]))
        # Case a: 0.7 against 0.4, the failed call is no zero. Case b: 0.9 against 0, the unreadable answer is one.
        assert summary.overall["best.y"].value == pytest.approx(0.6)
        assert summary.overall["best.y.p"].value is not None
        assert summary.best_variant is not None
        assert (summary.best_variant.leader, summary.best_variant.others) == ("x", ("y",))

    def made(self, n: int, n_failed: int, repeats: int = 1) -> list[Made]:
        """`n` cases in which p is far ahead of q, whose first calls fail."""
        return [
            made
            for i in range(n)
            for repeat in range(repeats)
            for made in (
                Made(f"{i:02}", 0.9 + 0.01 * (i % 3), variant="p", repeat=repeat),
                Made(f"{i:02}", None, "target_failed", variant="q", repeat=repeat)
                if i < n_failed
                else Made(f"{i:02}", 0.6, variant="q", repeat=repeat),
            )
        ]

    @pytest.mark.parametrize(("allowed", "best"), [(0.05, None), (0.75, "p")])
    def test_calls_that_failed_keep_a_run_from_having_a_best(self, allowed: float, best: str | None) -> None:
        described = suite(variants=["p", "q"], limits={"max_inconclusive": allowed}, n_planned=48)
        found = summarise(columns(self.made(24, 17)), described).best_variant
        assert found is not None
        assert found.best == best
        assert ("7 of 24 cases)" if best else "for q 17 of 24 cases are missing") in found.sentence

    def test_a_run_described_without_a_limit_has_the_usual_one(self) -> None:
        described = suite(variants=["p", "q"])
        del described["limits"]
        found = summarise(columns(self.made(24, 2)), described).best_variant
        assert found is not None
        assert found.best is None

    def test_a_run_that_was_stopped_lacks_the_cases_it_never_asked(self) -> None:
        described = suite(variants=["p", "q"], repeats=3, n_planned=24 * 2 * 3)
        found = summarise(columns(self.made(8, 0, repeats=3)), described).best_variant
        assert found is not None
        assert found.sentence == (
            "cannot tell which variant is best: for p 16 of 24 cases are missing and for q 16 of 24 cases are missing"
        )
        whole = summarise(columns(self.made(24, 0, repeats=3)), described).best_variant
        assert whole is not None
        assert whole.best == "p"
        assert whole.sentence.endswith(", 24 cases)")

    def test_one_variant_is_not_compared(self) -> None:
        assert summarise(columns([Made("a", 0.8)]), suite()).best_variant is None
        assert summarise(columns([]), suite()).best_variant is None

    def test_differences_come_in_the_order_the_suite_declares(self) -> None:
        made = [Made(case, score, variant=v) for case in "ab" for v, score in (("x", 0.2), ("y", 0.9), ("z", 0.5))]
        found = summarise(columns(made), suite(variants=["z", "y", "x"])).best_variant
        assert found is not None
        assert (found.leader, found.others) == ("y", ("z", "x"))
