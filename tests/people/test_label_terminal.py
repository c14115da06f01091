"""`steelyard label` as a person types it: what is shown, what a slip of the finger costs, and where to go next."""

import json

import pytest

from parts.command import invoke
from parts.judged_suite import write_judged
from steelyard.api import run_suite
from steelyard.loading.load import load_suite
from steelyard.people.desk import Desk
from steelyard.store.sql import open_store


@pytest.fixture
def run(tmp_path, monkeypatch):
    """The id of a run of four judged answers in the store that commands use."""
    monkeypatch.setenv("STEELYARD_STORE", str(tmp_path / "steelyard.db"))
    monkeypatch.chdir(tmp_path)
    return run_suite(load_suite(str(write_judged(tmp_path / "suite"))), store=str(tmp_path / "steelyard.db")).id


def labels(*fields):
    return [
        tuple(label[field] for field in fields) for label in json.loads(invoke("label", "log", "--names", "--json"))
    ]


def test_undo_within_scores_takes_back_the_last_score_alone(run):
    invoke("label", "plan", "--random", 2)
    shown = invoke("label", "next", "--as", "ann", typed="4\nno\n5\nu\n2\nyes\n")
    assert labels("scores") == [({"clarity": 4, "harm": False},), ({"clarity": 2, "harm": True},)]
    assert "Nothing is left for you to label." in shown
    assert f"2 labelled. What they say:\n  steelyard label agreement {run}" in shown


def test_a_verdict_is_p_or_f_and_a_comment_needs_a_text(run):
    invoke("label", "plan", "--random", 1, "--kind", "verdict")
    shown = invoke("label", "next", "--as", "ann", typed="u\n1\nc\nc hard to say\nP\n")
    assert "there is nothing to take back" in shown
    assert "say p (pass) or f (fail)" in shown
    assert "no comment: give one as c TEXT" in shown
    assert labels("verdict", "comment") == [(True, "hard to say")]


def test_who_leaves_at_once_is_not_sent_to_labels_that_are_not_there(run):
    invoke("label", "plan", "--random", 1)
    assert invoke("label", "next", "--as", "ann", typed="").endswith("\n0 labelled.\n")


def test_a_plan_without_anything_to_draw_says_so(run):
    invoke("label", "plan", "--random", 4)
    shown = invoke("label", "plan", "--random", 4)
    assert shown.startswith("random: 0 of 4 drawn\nThere is nothing more to draw")
    assert "label next" not in shown


@pytest.mark.parametrize("command", ["agreement", "estimate", "crowd"])
def test_a_run_without_labels_says_how_to_get_some(run, command):
    invoke("label", "plan", "--random", 4)
    invoke("label", "next", "--as", "ann", typed="s\ns\ns\ns\n")
    assert f"run {run} has no labels yet" in invoke("label", command, code=2)


def test_a_suite_without_experts_says_how_to_get_some(run, tmp_path):
    assert "steelyard label plan RUN --kind answer" in invoke("label", "experts", tmp_path / "suite", code=2)


def test_who_skipped_everything_has_not_labelled_and_what_was_skipped_is_in_no_count(tmp_path, monkeypatch):
    monkeypatch.setenv("STEELYARD_STORE", str(tmp_path / "steelyard.db"))
    suite = load_suite(str(write_judged(tmp_path / "suite", label=lambda _k: None)))
    run = run_suite(suite, store=str(tmp_path / "steelyard.db")).id
    invoke("label", "plan", "--random", 4, "--per-item", 2, "--kind", "verdict")
    invoke("label", "next", "--as", "ann", typed="p\nf\np\ns\n")
    invoke("label", "next", "--as", "ben", typed="s\ns\ns\ns\n")
    assert "3 labels of 1 person, 5 skipped" in invoke("label", "agreement")
    shown = " ".join(invoke("label", "estimate", "--label-cost", 2).split())
    few = "3 texts have labels that count here, and at least 4 must"
    assert f"{few}. Draw some: steelyard label plan {run} --random 50" in shown
    assert "Method 3 texts have labels" in shown
    assert "Labels cost 6.00" in shown


def test_what_one_person_says_is_not_agreed(run, tmp_path):
    invoke("label", "plan", "--random", 4, "--kind", "verdict")
    invoke("label", "next", "--as", "ann", typed="p\np\np\np\n")
    data = json.loads(invoke("label", "crowd", "--json"))
    assert (data["agreed"], len(data["needs_label"])) == ([], 4)


def test_how_often_people_prefer_the_answers_of_a_run(run, tmp_path):
    other = run_suite(load_suite(str(tmp_path / "suite")), store=str(tmp_path / "steelyard.db")).id
    said = [("c0", "ann", "a"), ("c1", "ann", "a"), ("c2", "ann", "tie"), ("c3", "ann", "b"), ("c0", "ben", "a")]
    rows = "".join(f"{case},{person},{value},{other}\n" for case, person, value in said)
    (tmp_path / "labels.csv").write_text(f"case,person,preference,other_run\n{rows}")
    assert invoke("label", "import", "labels.csv", run) == f"5 labels of 2 people kept with {run}\n"
    (mine,), (theirs,) = (
        json.loads(invoke("label", "agreement", id_, "--json"))["preferences"] for id_ in (run, other)
    )
    assert (mine["other_run"], mine["better"], mine["ties"], mine["worse"]) == (other, 3, 1, 1)
    assert mine["share"]["value"] == 0.7  # three and a half of five
    assert (theirs["other_run"], theirs["better"], theirs["ties"], theirs["worse"]) == (run, 1, 1, 3)
    assert "Which answer is better" in invoke("label", "agreement", run)


def test_two_people_who_differ_do_not_make_a_crowd_that_agrees(run):
    invoke("label", "plan", "--random", 4, "--per-item", 2, "--kind", "verdict")
    invoke("label", "next", "--as", "ann", typed="p\np\np\np\n")
    invoke("label", "next", "--as", "ben", typed="f\nq\n")
    data = json.loads(invoke("label", "crowd", "--json"))
    assert (data["method"], data["agreed"]) == ("majority", [])
    assert "majority: 2 labels of items that two people labelled are too few to choose a method by." in data["message"]


def test_the_status_of_two_runs_that_are_compared_is_their_own(run, tmp_path):
    other = run_suite(load_suite(str(tmp_path / "suite")), store=str(tmp_path / "steelyard.db")).id
    invoke("label", "plan", run, "--random", 3, "--against", other)
    invoke("label", "plan", run, "--random", 4)
    invoke("label", "next", run, "--against", other, "--as", "ann", typed="1\nq\n")
    shown = " ".join(invoke("label", "status", run, "--against", other).split())
    assert shown == "random 1 of 3 labelled person-1 1 label"
    assert "random 0 of 4 labelled" in " ".join(invoke("label", "status", run).split())


def test_a_newer_run_without_labels_names_the_one_that_has_them(run, tmp_path):
    invoke("label", "plan", "--random", 1, "--kind", "verdict")
    invoke("label", "next", "--as", "ann", typed="p\n")
    run_suite(load_suite(str(tmp_path / "suite")), store=str(tmp_path / "steelyard.db"))
    for command, code in (("status", 0), ("agreement", 2), ("estimate", 2)):
        assert f"(the labels given last are of run {run})" in invoke("label", command, code=code)


def test_a_run_has_verdicts_and_experts_answers_side_by_side(run):
    invoke("label", "plan", "--random", 4, "--kind", "verdict")
    assert f"steelyard label next {run} --kind answer" in invoke("label", "plan", "--random", 2, "--kind", "answer")
    invoke("label", "next", "--as", "ann", typed="p\nq\n")
    invoke("label", "next", "--as", "ann", "--kind", "answer", typed="A number\ns\n")
    status = " ".join(invoke("label", "status").split())
    assert status == "random 1 of 4 labelled random, answer 1 of 2 labelled person-1 2 labels"
    assert "no plan of scores yet" in invoke("label", "next", "--kind", "scores", code=2)


def test_what_the_same_person_labels_in_another_terminal_meanwhile_is_passed_over(run, monkeypatch):
    invoke("label", "plan", "--random", 1, "--kind", "verdict")

    def typed_late(*_, **__):
        store = open_store()
        other = Desk(store, store.run(run), "Ann ")
        other.save(other.next(), True)
        store.close()
        return "f"

    monkeypatch.setattr("click.prompt", typed_late)
    shown = invoke("label", "next", "--as", "ann")
    assert "you labelled this one elsewhere meanwhile: that label stays" in shown
    assert shown.endswith("Nothing is left for you to label.\n\n0 labelled.\n")
    assert labels("person", "verdict") == [("Ann", True)]
