"""Labels of a crowd against the published table of Dawid and Skene, crowd-kit's figures, and simulated people."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steelyard.people.crowd import DAWID_SKENE, MAJORITY, METHODS, ONE_COIN, CrowdLabels, aggregate
from steelyard.people.method_choice import choose
from steelyard.people.person_quality import SPAMMER_BELOW, people_quality

# Dawid and Skene (1979), table 1: 45 patients; observer 1 answered three times, then observers 2 to 5.
PATIENTS = [
    "1111111 3334334 1122122 2223121 2223222 2223322 1222111 3333433 2222223 2322223 4444444 2223343 1111111",
    "2223212 1211111 1112111 1111111 1111111 2222221 2221322 2222222 2222221 2223222 2212222 1111111 1111111",
    "2322222 1111111 1111111 1121121 1111111 3333233 1111111 2222222 2223232 4334343 2212232 2323233 3333432",
    "1111111 1111111 1212111 2322222 1211111 2222222",
]
OBSERVER = (0, 0, 0, 1, 2, 3, 4)


def anaesthetists() -> CrowdLabels:
    rows = [
        (patient, observer, int(answer) - 1)
        for patient, answers in enumerate(" ".join(PATIENTS).split())
        for observer, answer in zip(OBSERVER, answers, strict=True)
    ]
    return CrowdLabels.of(*np.array(rows).T)


def made(
    items: int, an_item: int, accuracy: np.ndarray, classes: int = 3, seed: int = 1, shares: list[float] | None = None
) -> tuple[CrowdLabels, np.ndarray]:
    """Labels of people who are right as often as `accuracy` says, and the truth."""
    random = np.random.default_rng(seed)
    truth = random.choice(classes, items, p=shares)
    item, person = np.repeat(np.arange(items), an_item), random.integers(0, len(accuracy), items * an_item)
    wrong = (truth[item] + random.integers(1, classes, len(item))) % classes
    value = np.where(random.random(len(item)) < accuracy[person], truth[item], wrong)
    return CrowdLabels.of(item, person, value, n_people=len(accuracy), n_classes=classes), truth


class TestPublished:
    def test_dawid_and_skene_1979(self) -> None:
        found = aggregate(anaesthetists(), shrinkage=0)
        assert found.converged
        assert found.shares == pytest.approx([0.3996, 0.4220, 0.1118, 0.0667], abs=5e-5)
        assert found.log_likelihood == pytest.approx(-192.8909, abs=5e-5)
        # Table 2 of the paper: observer 1 on patients of class 1 and 4.
        assert found.confusion[0, 0] == pytest.approx([0.89, 0.11, 0, 0], abs=0.005)
        assert found.confusion[0, 3] == pytest.approx([0, 0, 0.56, 0.44], abs=0.005)

    def test_votes_of_the_third_patient_are_split_and_the_model_decides(self) -> None:
        # 1, 1, 2 of observer 1 and 2, 1, 2, 2 of the others: four of seven.
        votes = aggregate(anaesthetists(), MAJORITY)
        assert votes.posterior[2] == pytest.approx([3 / 7, 4 / 7, 0, 0])
        assert votes.winner[2] == 1
        assert aggregate(anaesthetists(), shrinkage=0).posterior[2, 1] > 0.99

    def test_one_coin_is_that_of_crowd_kit(self) -> None:
        found = aggregate(anaesthetists(), ONE_COIN, shrinkage=0)
        # crowd-kit 1.4.2: OneCoinDawidSkene(n_iter=300, tol=1e-11).fit(...).priors_
        assert found.shares == pytest.approx([0.401920, 0.451100, 0.124629, 0.022352], abs=2e-5)


class TestMace:
    def test_it_tells_who_knows_from_who_has_a_habit(self) -> None:
        # Person 0 gives class 2 whatever it is in 70 %, person 1 any class in 40 %; the others in 10 %.
        random = np.random.default_rng(12)
        truth = random.integers(0, 3, 900)
        habit = np.array([[0, 0, 0.7], [0.4 / 3] * 3] + [[0.1 / 3] * 3] * 5)
        item, person = np.repeat(np.arange(900), 7), np.tile(np.arange(7), 900)
        chances = habit[person] + (1 - habit.sum(axis=1))[person, None] * np.eye(3)[truth[item]]
        value = (random.random((6300, 1)) > chances.cumsum(axis=1)[:, :2]).sum(axis=1)
        found = aggregate(CrowdLabels.of(item, person, value), "MACE", shrinkage=0)
        expected = habit[:, None, :] + (1 - habit.sum(axis=1))[:, None, None] * np.eye(3)
        assert found.confusion == pytest.approx(expected, abs=0.05)
        assert (found.winner == truth).mean() > 0.98


class TestMajority:
    def test_a_tie_is_stated_and_not_broken(self) -> None:
        found = aggregate(CrowdLabels.of(*np.array([[0, 0, 0], [0, 1, 1], [1, 0, 2], [1, 1, 2]]).T), MAJORITY)
        assert found.winner.tolist() == [-1, 2]
        assert found.tied.tolist() == [True, False]
        assert found.needs_label().tolist() == [True, False]

    def test_an_item_without_a_label_has_no_winner_and_needs_one(self) -> None:
        labels = CrowdLabels.of(np.array([0, 0]), np.array([0, 1]), np.array([1, 1]), n_items=2)
        for method in METHODS:
            found = aggregate(labels, method)
            assert (found.winner[1], bool(found.tied[1])) == (-1, False)
            assert found.needs_label()[1]

    def test_an_item_below_the_bar_needs_another_label(self) -> None:
        found = aggregate(CrowdLabels.of(np.zeros(4, int), np.arange(4), np.array([0, 0, 0, 1])), MAJORITY)
        assert found.needs_label(0.75).tolist() == [False]
        assert found.needs_label(0.76).tolist() == [True]


class TestWhatIsFed:
    @pytest.mark.parametrize("column", [[-1, 0], [0.5, 1.0], [0, 1, 2]])
    def test_codes_that_are_none(self, column: list[float]) -> None:
        with pytest.raises(ValueError, match="value"):
            CrowdLabels.of(np.array([0, 1]), np.array([0, 1]), np.array(column))

    def test_a_method_or_shrinkage_that_does_not_exist(self) -> None:
        with pytest.raises(ValueError, match="one-coin"):
            aggregate(anaesthetists(), "mean")
        with pytest.raises(ValueError, match="from 0 on"):
            aggregate(anaesthetists(), shrinkage=-1)

    def test_no_labels_at_all(self) -> None:
        nothing = CrowdLabels.of(*np.empty((3, 0), dtype=int))
        choice = choose(nothing)
        assert (choice.chosen.method, choice.dawid_skene_worse) == (MAJORITY, None)
        assert people_quality(nothing, choice.chosen) == []

    def test_one_class_alone(self) -> None:
        labels = CrowdLabels.of(np.repeat(np.arange(5), 2), np.tile([0, 1], 5), np.zeros(10, int))
        assert [aggregate(labels, method).winner.tolist() for method in METHODS] == [[0] * 5] * 4
        assert not any(person.spammer for person in people_quality(labels, choose(labels).chosen))

    def test_one_label_an_item_says_nothing_of_anybody(self) -> None:
        labels = CrowdLabels.of(np.arange(30), np.arange(30) % 3, np.arange(30) % 2)
        choice = choose(labels)
        assert "no item has labels of two people" in choice.message
        assert [person.reliability.value for person in people_quality(labels, choice.chosen)] == [None] * 3


@given(st.integers(0, 2**32 - 1), st.sampled_from(METHODS), st.sampled_from([0.0, 10.0]))
@settings(max_examples=30, deadline=None)
def test_the_order_of_rows_people_and_items_changes_nothing(seed: int, method: str, shrinkage: float) -> None:
    random = np.random.default_rng(seed)
    labels, _ = made(40, 4, random.uniform(0.4, 0.9, 8), seed=seed)
    rows, to_item, to_person = random.permutation(len(labels)), random.permutation(40), random.permutation(8)
    first = aggregate(labels, method, shrinkage=shrinkage)
    codes = to_item[labels.item][rows], to_person[labels.person][rows], labels.value[rows]
    second = aggregate(CrowdLabels.of(*codes, n_items=40, n_people=8, n_classes=3), method, shrinkage=shrinkage)
    assert second.posterior[to_item] == pytest.approx(first.posterior, abs=1e-6)
    assert second.confusion[to_person] == pytest.approx(first.confusion, abs=1e-6)
    by_rows = CrowdLabels.of(labels.item[rows], labels.person[rows], labels.value[rows], n_people=8, n_classes=3)
    assert np.array_equal(aggregate(by_rows, method, shrinkage=shrinkage).posterior, first.posterior)


@given(st.integers(0, 2**32 - 1), st.sampled_from(METHODS))
@settings(max_examples=30, deadline=None)
def test_probabilities_add_up_to_1(seed: int, method: str) -> None:
    labels, _ = made(20, 3, np.random.default_rng(seed).uniform(0.2, 1.0, 6), seed=seed)
    found = aggregate(labels, method, shrinkage=float(seed % 2))
    assert found.posterior.sum(axis=1) == pytest.approx(np.ones(20))
    assert found.shares.sum() == pytest.approx(1)
    assert found.confusion.sum(axis=2) == pytest.approx(np.ones((6, 3)))


class TestChoice:
    def test_with_three_labels_a_person_dawid_skene_is_worse_than_majority_until_it_is_shrunk(self) -> None:
        labels, truth = made(400, 4, np.full(530, 0.75), classes=4, seed=3)
        choice = choose(labels, gold=truth, shrinkage=0)
        plain, votes = choice.score(DAWID_SKENE), choice.score(MAJORITY)
        assert plain.gold.value < votes.gold.value - 0.03
        assert plain.held_out.value < votes.held_out.value - 1
        assert choice.dawid_skene_worse
        assert choice.chosen.method == MAJORITY
        assert "Dawid-Skene predicts held-out labels WORSE than majority" in choice.message
        assert "Dawid-Skene is right on FEWER gold items than majority" in choice.message
        shrunk = choose(labels, gold=truth).score(DAWID_SKENE)
        assert shrunk.held_out.value > plain.held_out.value + 1
        assert shrunk.gold.value > plain.gold.value + 0.03

    def test_people_who_take_one_class_for_another_are_best_known_by_their_matrices(self) -> None:
        # Four of seven people call class 1 mostly 2, so that majority is wrong on it; the others know.
        random = np.random.default_rng(5)
        truth = random.integers(0, 3, 600)
        four, three = (np.full((3, 3), 0.03) + 0.91 * np.eye(3) for _ in range(2))
        four[1] = 0.03, 0.3, 0.67
        tables = np.array([four] * 4 + [three] * 3)
        item, person = np.repeat(np.arange(600), 7), np.tile(np.arange(7), 600)
        value = (random.random((4200, 1)) > tables[person, truth[item]].cumsum(axis=1)[:, :2]).sum(axis=1)
        choice = choose(CrowdLabels.of(item, person, value), gold=truth)
        assert choice.chosen.method == DAWID_SKENE
        assert choice.dawid_skene_worse is False
        assert choice.score(DAWID_SKENE).gold_against_majority.low > 0.05
        assert "Dawid-Skene is right on more gold items than majority" in choice.message
        assert choice.chosen.confusion == pytest.approx(tables, abs=0.1)

    def test_gold_items_overrule_held_out_labels(self) -> None:
        # Four of nine people see a second thing, which they agree on far more than the others do on the class: labels
        # follow it. They differ on a quarter of the items, so they are not one person's labels four times.
        random = np.random.default_rng(2)
        truth, other = random.integers(0, 2, (2, 500))
        item, person = np.repeat(np.arange(500), 9), np.tile(np.arange(9), 500)
        by_truth, by_other = random.random((2, 4500)) < [[0.97], [0.86]]
        value = np.where(person < 5, np.where(by_truth, truth[item], 1 - truth[item]), other[item] ^ ~by_other)
        asleep = np.where((person < 5) & (random.random(4500) < 0.5), random.integers(0, 2, 4500), value)
        choice = choose(CrowdLabels.of(item, person, asleep), gold=truth)
        assert choice.score(DAWID_SKENE).against_majority.low > 0
        assert choice.score(DAWID_SKENE).gold_against_majority.high < 0
        assert choice.dawid_skene_worse
        assert choice.chosen.method != DAWID_SKENE
        assert "right on fewer gold items than majority" in choice.message

    def test_everybody_alike_is_predicted_as_well_by_majority(self) -> None:
        labels, _ = made(300, 5, np.full(60, 0.8), seed=8)
        choice = choose(labels)
        assert abs(choice.score(ONE_COIN).against_majority.value) < 0.03
        assert choice.score(MAJORITY).held_out.n == 1500
        assert [score.gold.value for score in choice.scores] == [None] * 4


class TestPeople:
    def test_reliability_is_near_the_truth_and_its_interval_holds_it(self) -> None:
        accuracy = np.linspace(0.5, 0.95, 40)
        labels, _ = made(800, 6, accuracy, seed=4)
        found = people_quality(labels, aggregate(labels, ONE_COIN))
        holds = [
            person.reliability.low <= real <= person.reliability.high
            for person, real in zip(found, accuracy, strict=True)
        ]
        assert np.mean(holds) >= 0.85
        assert [person.n_labels for person in found] == np.bincount(labels.person).tolist()

    def test_gold_questions_have_wilsons_interval(self) -> None:
        labels = CrowdLabels.of(np.repeat(np.arange(10), 2), np.tile([0, 1], 10), np.tile([0, 0], 10), n_classes=2)
        gold = np.array([0] * 8 + [1] * 2)
        found = people_quality(labels, aggregate(labels, MAJORITY), gold=gold)[0].gold
        # Wilson, 8 of 10: 0.4902 to 0.9433.
        assert (found.value, found.n) == (0.8, 10)
        assert (found.low, found.high) == pytest.approx((0.4902, 0.9433), abs=5e-5)

    def test_who_chooses_at_random_or_always_the_same_is_a_spammer_and_who_errs_is_not(self) -> None:
        accuracy = np.array([1 / 3] * 3 + [0.6] * 7 + [0.9] * 10)
        labels, _ = made(1500, 6, accuracy, seed=6)
        always = np.where(labels.person == 2, 1, labels.value)
        labels = CrowdLabels.of(labels.item, labels.person, always)
        found = people_quality(labels, aggregate(labels))
        assert [person.spammer for person in found] == [True] * 3 + [False] * 17
        assert found[2].information.high < SPAMMER_BELOW < found[5].information.value

    def test_few_labels_accuse_nobody(self) -> None:
        accuracy = np.concatenate((np.full(100, 1 / 3), np.full(100, 0.85)))
        labels, _ = made(300, 6, accuracy, seed=7)
        assert np.bincount(labels.person).max() < 25
        assert not any(person.spammer for person in people_quality(labels, aggregate(labels)))

    def test_a_person_who_swaps_two_classes_tells_as_much_as_one_who_does_not(self) -> None:
        labels, _ = made(400, 6, np.full(12, 0.9), classes=2, seed=9)
        swapped = np.where(labels.person == 0, 1 - labels.value, labels.value)
        first = people_quality(labels, aggregate(labels))[0]
        second = people_quality(turned := CrowdLabels.of(labels.item, labels.person, swapped), aggregate(turned))[0]
        assert second.reliability.value == pytest.approx(1 - first.reliability.value, abs=0.03)
        assert second.information.value == pytest.approx(first.information.value, abs=0.05)
        assert not second.spammer

    def test_nobody_depends_on_the_code_that_they_have(self) -> None:
        labels, truth = made(200, 5, np.array([1 / 3, 0.5, 0.7, 0.9]), seed=10)
        to = np.array([2, 0, 3, 1])
        moved = CrowdLabels.of(labels.item, to[labels.person], labels.value)
        first, second = (people_quality(each, aggregate(each), gold=truth) for each in (labels, moved))
        for person in range(4):
            ours, theirs = first[person], second[to[person]]
            assert (ours.spammer, ours.gold, ours.n_shared) == (theirs.spammer, theirs.gold, theirs.n_shared)
            assert ours.information.value == pytest.approx(theirs.information.value, abs=1e-6)
