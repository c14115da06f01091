"""Several people's labels: their agreement as the ceiling of a judge's, and the alternative annotator test."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from parts.judged import health_of, judged_suite, scored
from parts.looped import for_every
from steelyard.analysis.judge.people import people_beside
from steelyard.stats.agreement import (
    alternative_test,
    benjamini_yekutieli,
    krippendorff_alpha,
    signed_rank_below,
    weighted_kappa,
)
from steelyard.suite.labels import Label

NAN = np.nan
N = 60


def four_people(kind: str) -> tuple[np.ndarray, np.ndarray]:
    """A judge and four people on 60 texts, all near one truth; in "gaps" each lacks some, in "bad" the judge errs."""
    truth = np.array([i * 7 % 5 + 1 for i in range(N)])
    more = [[(i * (k + 3) + k) % 5 == 0 for i in range(N)] for k in range(4)]
    less = [[(i * (k + 2) + 1) % 7 == 0 for i in range(N)] for k in range(4)]
    people = np.clip(truth + np.array(more, dtype=int) - np.array(less, dtype=int), 1, 5).astype(float)
    if kind == "gaps":
        people = np.where([[(i + k) % 8 == 0 for i in range(N)] for k in range(4)], NAN, people)
    errors = [i % 3 - 1 if kind == "bad" else i * 5 % 9 == 0 for i in range(N)]
    return np.clip(truth + np.array(errors, dtype=int), 1, 5).astype(float), people


class TestAlternativeAnnotatorTest:
    @pytest.mark.parametrize(
        ("kind", "epsilon", "winning_rate", "advantage"),
        [
            # alt_test(..., "neg_rmse", epsilon) of the authors' notebook (github.com/nitaytech/AltTest, 18428b1).
            ("full", 0.1, 0.5, 0.9208333333333333),
            ("full", 0.2, 1.0, 0.9208333333333333),
            ("gaps", 0.1, 0.5, 0.9146407837445574),
            ("gaps", 0.2, 1.0, 0.9146407837445574),
            ("bad", 0.2, 0.0, 0.575),
        ],
    )
    def test_it_is_that_of_its_authors(self, kind: str, epsilon: float, winning_rate: float, advantage: float) -> None:
        found = alternative_test(*four_people(kind), np.arange(N), epsilon)
        assert (found.winning_rate, found.n_people, found.epsilon) == (winning_rate, 4, epsilon)
        assert found.advantage.value == pytest.approx(advantage)
        assert found.advantage.low < advantage < found.advantage.high

    @pytest.mark.parametrize(
        ("kind", "epsilon", "winning_rate", "advantage"),
        [
            # alt_test(..., "accuracy", epsilon) of the same notebook.
            ("full", 0.05, 0.5, 0.9208333333333333),
            ("gaps", 0.1, 0.5, 0.9146407837445574),
            ("gaps", 0.2, 1.0, 0.9146407837445574),
            ("bad", 0.2, 0.0, 0.5916666666666667),
        ],
    )
    def test_classes_are_the_same_or_not(
        self, kind: str, epsilon: float, winning_rate: float, advantage: float
    ) -> None:
        found = alternative_test(*four_people(kind), np.arange(N), epsilon, nominal=True)
        assert (found.winning_rate, found.advantage.value) == (winning_rate, pytest.approx(advantage))

    def test_few_texts_have_wilcoxons_test_where_they_are_let_in(self) -> None:
        judge, people = four_people("full")
        found = alternative_test(judge[:20], people[:, :20], np.arange(20), 0.6, fewest_texts=20)
        assert (found.n_people, found.winning_rate) == (4, 1.0)
        assert alternative_test(judge[:20], people[:, :20], np.arange(20), 0.0, fewest_texts=20).winning_rate == 0.0

    def test_two_people_or_few_texts_are_not_tested(self) -> None:
        judge, people = four_people("full")
        for some, n in ((people[:2], 60), (people[:, :29], 29)):
            found = alternative_test(judge[:n], some, np.arange(n), 0.2)
            assert (found.winning_rate, found.advantage.value) == (None, None)

    def test_repeats_of_a_text_are_not_new_evidence(self) -> None:
        judge, people = four_people("gaps")
        often = alternative_test(np.repeat(judge, 5), np.repeat(people, 5, axis=1), np.repeat(np.arange(N), 5), 0.1)
        assert often == alternative_test(judge, people, np.arange(N), 0.1)

    def test_texts_that_one_person_alone_labelled_say_nothing(self) -> None:
        judge, people = four_people("full")
        alone = np.full((len(people), 30), np.nan)
        alone[0] = 1.0
        more = alternative_test(np.append(judge, np.full(30, 5.0)), np.hstack((people, alone)), np.arange(N + 30), 0.1)
        assert more == alternative_test(judge, people, np.arange(N), 0.1)

    def test_a_judge_as_far_from_people_as_epsilon_allows_hardly_ever_wins_a_person(self) -> None:
        # People are right in 80 %; the judge in 50 %, so that it is nearer less often by more than 0.2.
        random, won = np.random.default_rng(3), []
        for _ in range(40):
            truth = random.integers(1, 6, 50)
            people = np.where(random.random((3, 50)) < 0.8, truth, random.integers(1, 6, (3, 50))).astype(float)
            judge = np.where(random.random(50) < 0.3, truth, random.integers(1, 6, 50)).astype(float)
            won.append(alternative_test(judge, people, np.arange(50), 0.2).winning_rate)
        assert np.mean(won) <= 0.05


@for_every("seed", range(20))
def test_signed_ranks_are_those_of_all_patterns_of_signs(seed: int) -> None:
    random = np.random.default_rng(seed)
    values = random.choice([-1.2, -0.2, 0.8, 0.0], 9)
    # scipy's permutation of all signs, which allows for ties; zeros are left out (Wilcoxon's own way).
    expected = stats.wilcoxon(values, alternative="less", zero_method="wilcox", method=stats.PermutationMethod())
    assert signed_rank_below(values) == pytest.approx(expected.pvalue)


def test_benjamini_and_yekutieli_by_hand() -> None:
    # Limits of 4: k / 4 * 0.05 / (1 + 1/2 + 1/3 + 1/4) = 0.006, 0.012, 0.018, 0.024; the third carries the second.
    assert benjamini_yekutieli([0.5, 0.001, 0.017, 0.013]) == [False, True, True, True]
    assert benjamini_yekutieli([0.03, 0.04, 0.05, 0.06]) == [False] * 4


class TestTheCeiling:
    def test_two_people_reach_the_kappa_of_their_labels(self) -> None:
        judge, people = four_people("full")
        found = people_beside(judge, people[:2], ["ann", "ben"], np.arange(N), 0.2)
        assert found.kappa == weighted_kappa(people[0], people[1], case=np.arange(N))
        assert found.alpha == krippendorff_alpha(people[:2], case=np.arange(N))
        both = weighted_kappa(np.tile(judge, 2), people[:2].ravel(), case=np.tile(np.arange(N), 2))
        assert found.judge_kappa == both

    def test_of_more_people_all_pairs_count_and_texts_stay_one(self) -> None:
        judge, people = four_people("full")
        found = people_beside(judge, people, list("abcd"), np.arange(N), 0.2)
        single = [weighted_kappa(people[a], people[b], case=np.arange(N)).value for a, b in combinations(range(4), 2)]
        assert found.kappa.value == pytest.approx(np.mean(single), abs=0.005)
        assert found.kappa.n == 6 * N
        # Six pairs of the same texts are hardly worth more than one.
        one = weighted_kappa(people[0], people[1], case=np.arange(N))
        assert found.kappa.high - found.kappa.low > 0.4 * (one.high - one.low)

    def test_one_person_is_no_ceiling(self) -> None:
        judge, people = four_people("full")
        assert people_beside(judge, people[:1], ["ann"], np.arange(N), 0.2) is None

    def test_they_come_from_the_labels_of_cases(self) -> None:
        judge, people = four_people("gaps")
        labels = {
            f"c{i}": {"tone": Label(3, 3, 3, {f"p{k}": int(people[k, i]) for k in range(4) if people[k, i] > 0})}
            for i in range(N)
        }
        samples = [scored(f"c{i}", int(judge[i])) for i in range(N)]
        suite = judged_suite()
        health = health_of(samples, suite | {"judge": suite["judge"] | {"epsilon": 0.1}}, labels)
        found = health.dimensions["tone"].people
        assert found.names == ("p0", "p1", "p2", "p3")
        assert (health["people.tone.winning_rate"].value, found.epsilon) == (0.5, 0.1)
        assert health.dimensions["overall"].people is None
