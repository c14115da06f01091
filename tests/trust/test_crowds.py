"""Crowds in which some people repeat others, and methods that are called better than they are."""

from __future__ import annotations

import json

import numpy as np
import pytest

from parts.command import invoke
from parts.judged_suite import write_judged
from steelyard.api import run_suite
from steelyard.loading.load import load_suite
from steelyard.people.crowd import DAWID_SKENE, MAJORITY, CrowdLabels, aggregate
from steelyard.people.dependent_people import dependent_groups
from steelyard.people.method_choice import MethodScore, _compared, choose
from steelyard.people.person_quality import people_quality
from steelyard.stats.intervals import Estimate
from steelyard.store.people import LabelRecord
from steelyard.store.sql import open_store


def columns_of(*columns: np.ndarray, classes: int = 2) -> CrowdLabels:
    """Every person labels every item."""
    people, items = len(columns), len(columns[0])
    item, person = np.tile(np.arange(items), people), np.repeat(np.arange(people), items)
    return CrowdLabels.of(item, person, np.concatenate(columns), n_classes=classes)


def right(random: np.random.Generator, truth: np.ndarray, accuracy: float, classes: int = 2) -> np.ndarray:
    wrong = (truth + random.integers(1, classes, len(truth))) % classes
    return np.where(random.random(len(truth)) < accuracy, truth, wrong)


def bots(kind: str, seed: int = 3, n: int = 200) -> tuple[CrowdLabels, np.ndarray]:
    """Three people who share one column of labels that is not the truth, then two who are right 92 % of the time."""
    random = np.random.default_rng(seed)
    classes = 5 if kind == "five classes" else 2
    truth = random.integers(0, classes, n)
    coin = random.integers(0, classes, n)
    if kind == "always the same":
        coin = np.zeros(n, dtype=int)
    shared = [coin] * 3
    if kind == "a slip now and then":
        shared = [np.where(random.random(n) < 0.06, random.integers(0, 2, n), coin) for _ in range(3)]
    if kind == "right 70 %":
        shared = [right(random, truth, 0.7)] * 3
    good = [right(random, truth, 0.92, classes) for _ in range(2)]
    return columns_of(*shared, *good, classes=classes), truth


KINDS = ("one coin flip", "a slip now and then", "always the same", "five classes", "right 70 %")


@pytest.mark.parametrize("kind", KINDS)
def test_people_who_share_their_labels_have_one_vote(kind: str) -> None:
    labels, truth = bots(kind)
    choice = choose(labels)
    assert [group.people for group in choice.dependent] == [(0, 1, 2)]
    # Of two people who are right 92 % of the time each, one alone is right on about 92 % of the items.
    assert (choice.chosen.winner == truth).mean() > 0.85
    assert (aggregate(labels, MAJORITY).winner == truth).mean() < 0.8
    assert not any(person.spammer for person in people_quality(labels, choice.chosen)[3:])


def test_three_bots_and_two_good_labelers_through_the_command(tmp_path, monkeypatch) -> None:
    labels, truth = bots("one coin flip", n=60)
    path = write_judged(tmp_path / "suite", n=60, labels="")
    monkeypatch.setenv("STEELYARD_STORE", str(tmp_path / "steelyard.db"))
    run_suite(load_suite(str(path)), store=str(tmp_path / "steelyard.db"))
    store = open_store(str(tmp_path / "steelyard.db"))
    header = store.run("LAST")
    names = ("bot-1", "bot-2", "bot-3", "ann", "ben")
    store.people.add_labels(
        [
            LabelRecord(header.suite_name, f"c{item}", names[person], "verdict", bool(value), run_id=header.id)
            for item, person, value in zip(labels.item, labels.person, labels.value, strict=True)
        ]
    )
    store.close()
    shown = " ".join(invoke("label", "crowd", "--names").split())
    assert "bot-1, bot-2, bot-3 never differ on 180 pairs of labels and have one vote" in shown
    assert "ann (spammer)" not in shown
    assert "ben (spammer)" not in shown
    data = json.loads(invoke("label", "crowd", "--names", "--json"))
    assert [group["people"] for group in data["one_vote"]] == [["bot-1", "bot-2", "bot-3"]]
    agreed = [item["value"] == truth[int(item["case_id"][1:])] for item in data["agreed"]]
    assert len(agreed) >= 20
    assert np.mean(agreed) > 0.85


def test_two_people_whose_labels_are_one_file_agree_on_nothing() -> None:
    column = np.random.default_rng(1).integers(0, 2, 50)
    choice = choose(columns_of(column, column))
    assert [group.people for group in choice.dependent] == [(0, 1)]
    assert np.bincount(choice.voters.item).tolist() == [1] * 50


def test_good_people_who_rarely_differ_keep_their_votes() -> None:
    random = np.random.default_rng(4)
    truth = random.integers(0, 3, 300)
    best, others = [right(random, truth, 0.985, 3) for _ in range(3)], [right(random, truth, 0.7, 3) for _ in range(3)]
    assert (best[0] == best[1]).mean() > 0.95
    assert dependent_groups(columns_of(*best, *others, classes=3)) == ()


def test_good_people_keep_their_votes_where_bots_agree_as_well() -> None:
    # The bots' agreement with each other must not count as what the good people leave unexplained.
    random = np.random.default_rng(5)
    truth, coin = random.integers(0, 2, (2, 300))
    good = [right(random, truth, 0.98) for _ in range(3)]
    others = [right(random, truth, 0.75) for _ in range(2)]
    found = dependent_groups(columns_of(*good, coin, coin, coin, *others))
    assert [group.people for group in found] == [(3, 4, 5)]


@pytest.mark.simulation
def test_independent_people_are_rarely_called_dependent() -> None:
    # 200 crowds of 6 people, right 75 to 99 % of the time, in two to four classes of unequal frequency.
    random = np.random.default_rng(6)
    found = 0
    for _ in range(200):
        classes = int(random.integers(2, 5))
        truth = random.choice(classes, 120, p=random.dirichlet(np.full(classes, 3.0)))
        accuracy = random.uniform(0.75, 0.99, 6)
        crowd = columns_of(*(right(random, truth, each, classes) for each in accuracy), classes=classes)
        found += bool(dependent_groups(crowd))
    assert found <= 0.05 * 200


def test_a_difference_of_0_000_is_never_called_better() -> None:
    # People who are all alike: methods predict held-out labels nearly equally well.
    random = np.random.default_rng(7)
    truth = random.integers(0, 2, 400)
    for accuracy in (1.0, 0.95, 0.9, 0.8):
        item = np.repeat(np.arange(400), 3)
        person = random.integers(0, 300, 1200)
        value = np.where(random.random(1200) < accuracy, truth[item], 1 - truth[item])
        choice = choose(CrowdLabels.of(item, person, value, n_people=300, n_classes=2))
        for score in choice.scores:
            called = f"{score.method} predicts held-out labels better" in choice.message
            assert not (called and round(score.against_majority.value or 0.0, 3) == 0)
        best = choice.score(choice.chosen.method)
        assert best.method == MAJORITY or round(best.against_majority.value, 3) > 0


def test_a_difference_that_rounds_to_0_is_about_as_good() -> None:
    # 0.0003 nats, and the interval is above 0: it is printed as 0.000, so it is no difference.
    tiny = Estimate(0.0003, 5000, 0, 0.0001, 0.0005)
    score = MethodScore(DAWID_SKENE, 0.0, tiny, Estimate(None, 0), tiny, Estimate(None, 0), 0, True)
    assert [*_compared(score)] == [
        "Dawid-Skene predicts held-out labels about as well as majority (difference 0.000 nats, 95 % interval 0.000 to"
        " 0.001, n = 5,000)."
    ]


def test_a_method_that_differs_from_the_majority_without_gold_is_reported() -> None:
    # Four of nine follow something else than the class, and agree on it far more than the others on the class:
    # held-out labels prefer it, and nothing but gold shows that it is wrong.
    random = np.random.default_rng(2)
    truth, other = random.integers(0, 2, (2, 500))
    columns = [np.where(random.random(500) < 0.5, random.integers(0, 2, 500), truth) for _ in range(5)]
    columns += [right(random, other, 0.86) for _ in range(4)]
    labels = columns_of(*columns)
    choice, votes = choose(labels), aggregate(labels, MAJORITY)
    assert choice.chosen.method != MAJORITY
    below = (votes.winner == truth).mean() - (choice.chosen.winner == truth).mean()
    assert below > 0.01
    n = choice.score(choice.chosen.method).n_different
    assert f"differs from majority on {n} of 500 items: it can be up to {n / 5:.1f} points worse" in choice.message
    assert choose(labels, gold=truth).chosen.method == MAJORITY


def test_sparse_people_are_shrunk_and_busy_ones_are_not() -> None:
    # With 4 labels per person the published Dawid-Skene is noise; with 400 it needs no help.
    random = np.random.default_rng(8)
    truth = random.integers(0, 3, 400)
    item = np.repeat(np.arange(400), 4)
    for people, shrunk in ((400, True), (4, False)):
        person = random.integers(0, people, 1600) if people > 4 else np.tile(np.arange(4), 400)
        skill = random.uniform(0.6, 0.95, people)
        value = np.where(random.random(1600) < skill[person], truth[item], (truth[item] + 1) % 3)
        score = choose(CrowdLabels.of(item, person, value, n_people=people, n_classes=3)).score(DAWID_SKENE)
        assert (score.shrinkage > 0) is shrunk
