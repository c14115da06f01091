"""What a crowd's labels of a run come to: one answer an item, whom to rely on, proposed cases."""

import json

import pytest

from parts.command import invoke
from parts.judged_suite import write_judged
from steelyard.api import run_suite
from steelyard.errors import UsageError
from steelyard.loading.load import load_suite
from steelyard.people.consensus import consensus_of, propose_cases
from steelyard.store.people import LabelRecord
from steelyard.store.sql import open_store

N = 60


@pytest.fixture(scope="module")
def crowd(tmp_path_factory):
    """60 texts, every third of which people give a 2 and the others a 4; Ann, Ben and Cid agree but for a few, and
    Sam always gives a 4. The cases' own labels (gold) say what Ann says."""
    folder = tmp_path_factory.mktemp("crowd")
    true = [2 if k % 3 == 0 else 4 for k in range(N)]
    path = write_judged(folder / "suite", n=N, label=lambda k: {"clarity": true[k], "harm": False})
    run_suite(load_suite(str(path)), store=str(folder / "steelyard.db"))
    store = open_store(str(folder / "steelyard.db"))
    header = store.run("LAST")
    said = {
        "ann": true,
        "ben": [6 - value if k % 20 == 1 else value for k, value in enumerate(true)],
        "cid": [6 - value if k % 20 == 2 else value for k, value in enumerate(true)],
        "sam": [4] * N,
    }
    store.people.add_labels(
        [
            LabelRecord(
                header.suite_name, f"c{k}", person, "scores", {"clarity": value, "harm": False}, run_id=header.id
            )
            for person, values in said.items()
            for k, value in enumerate(values)
        ]
    )
    # Ann changes her mind the second time: that is for her agreement with herself alone.
    again = {"clarity": 1, "harm": True}
    store.people.add_labels([LabelRecord(header.suite_name, "c0", "ann", "scores", again, header.id, round=1)])
    yield store, header, true, str(folder / "steelyard.db")
    store.close()


def test_the_crowd_comes_to_the_right_answer(crowd):
    store, header, true, _ = crowd
    found = consensus_of(store, header, "clarity")
    assert (found.classes, found.n_labels, found.n_items, found.n_gold) == ((2.0, 4.0), 240, 60, 60)
    right = [item.value == true[int(item.case_id[1:])] for item in found.agreed]
    assert len(right) + len(found.needs_label) == 60
    assert len(right) >= 54
    assert all(right)


def test_what_is_not_probable_enough_needs_another_label(crowd):
    found = consensus_of(*crowd[:2], "clarity", enough=1.1)
    assert (found.agreed, len(found.needs_label)) == ((), 60)


def test_who_always_says_the_same_is_a_spammer_and_nobody_else(crowd):
    found = consensus_of(*crowd[:2], "clarity")
    assert {item.name: item.quality.spammer for item in found.people} == {
        "ann": False,
        "ben": False,
        "cid": False,
        "sam": True,
    }
    gold = {item.name: item.quality.gold.value for item in found.people}
    # Ben errs in 3 of 60 (k = 1, 21, 41), Cid in 3 (2, 22, 42), Sam in the 20 that are a 2.
    assert gold == {"ann": 1.0, "ben": 57 / 60, "cid": 57 / 60, "sam": 40 / 60}


def test_whether_answers_pass_is_asked_for_by_default(crowd):
    found = consensus_of(*crowd[:2])
    assert (found.figure, found.classes) == ("passes", (0.0, 1.0))


def test_agreed_items_without_a_truth_become_proposed_cases_with_where_they_come_from(tmp_path):
    folder = tmp_path / "suite"
    path = write_judged(folder, n=6, label=lambda k: {"clarity": 2, "harm": False} if k < 2 else {"harm": False})
    run_suite(load_suite(str(path)), store=str(tmp_path / "steelyard.db"))
    with open_store(str(tmp_path / "steelyard.db")) as store:
        header = store.run("LAST")
        value, people = {"clarity": 4, "harm": False}, ("ann", "ben", "cid")
        given = [(f"c{k}", person) for k in range(5) for person in people]
        store.people.add_labels([LabelRecord(header.suite_name, *one, "scores", value, header.id) for one in given])
        found = consensus_of(store, header, "clarity")
        n = propose_cases(store, header, found, tmp_path / "proposed.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "proposed.jsonl").read_text().splitlines()]
    # Of c0 and c1 the suite's own labels say 2: the crowd's 4 is nothing to propose against them.
    assert [row["id"] for row in rows] == ["c2", "c3", "c4"]
    assert n == 3
    assert rows[0]["expected"] == {"clarity": 4}
    assert rows[0]["source"].startswith(f"crowd: 3 labels of run {header.id}, {found.method}, probability ")
    assert rows[0]["input"] == {"number": 2}


def test_a_figure_that_nobody_labelled(crowd):
    with pytest.raises(UsageError, match=r"nobody labelled clarty.*clarity"):
        consensus_of(*crowd[:2], "clarty")


def test_the_command_shows_pseudonyms_methods_and_what_it_wrote(crowd, tmp_path, monkeypatch):
    monkeypatch.setenv("STEELYARD_STORE", crowd[3])
    shown = invoke("label", "crowd", "--figure", "clarity", "--propose", tmp_path / "p.jsonl")
    assert "Dawid-Skene" in shown
    assert "person-4 (spammer)" in " ".join(shown.split())
    assert "sam" not in shown
    assert f"written: {tmp_path / 'p.jsonl'}" in shown
    data = json.loads(invoke("label", "crowd", "--figure", "clarity", "--names", "--json"))
    assert [item["name"] for item in data["people"]] == ["ann", "ben", "cid", "sam"]


def test_texts_that_differ_in_case_and_spaces_alone_are_one_answer(crowd):
    store, header, *_ = crowd
    said = {"ann": "A Fine number", "ben": " a fine  number", "cid": "Another"}
    store.people.add_labels(
        [LabelRecord(header.suite_name, "c0", who, "answer", text, header.id) for who, text in said.items()]
    )
    assert consensus_of(store, header, "text").classes == ("A Fine number", "Another")
