"""The pass rate by labels, `pass_rate.corrected`, in reports, gates, comparisons and histories."""

import json

import pytest

from parts.command import invoke
from parts.judged_suite import TEXT, write_judged
from parts.stored import add_planned
from steelyard.people.estimates import estimates_of
from steelyard.stats.intervals import Estimate, independent_difference
from steelyard.store.people import DISAGREEMENT, PRECISION, RANDOM, LabelRecord, Queue, QueuePlan
from steelyard.store.sql import open_store

SUITE = """
suite: chairs
cases: {files: cases.jsonl}
target: {recorded: answers.jsonl}
score:
  style: {exact: {expected: expected.style}}
pass: score >= 50 %
gates: [pass_rate >= 50 %]
"""
N, N_RIGHT = 60, 40
"""Cases, and how many of them the answers pass."""


def write(folder, right=N_RIGHT):
    """A suite of 60 cases; answers to the first `right` of them are right."""
    cases = [{"id": f"c{k:02d}", "input": "?", "expected": {"style": "Rococo"}} for k in range(N)]
    answers = [{"case": f"c{k:02d}", "answer": "Rococo" if k < right else "Empire"} for k in range(N)]
    for name, rows in (("cases", cases), ("answers", answers)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "suite.yaml").write_text(SUITE)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path)
    return tmp_path


def label(folder, passes, drawn=RANDOM, run="LAST", person="ann", round_=0, *, planned=True):
    """Labels of a run: by number of a case, whether a person lets its answer pass. A plan drew them, unless not."""
    store = open_store()
    run_id = store.run(run).id
    labels = [
        LabelRecord("chairs", f"c{k:02d}", person, "verdict", value, run_id=run_id, drawn=drawn, round=round_)
        for k, value in passes.items()
    ]
    if planned:
        add_planned(store, labels)
    else:
        store.people.add_labels(labels)
    store.close()


def split(good, of_passed, good_failed, of_failed, right=N_RIGHT):
    """Labels of so many answers that passed and of so many that did not, so many of either good."""
    first = {k: k < good for k in range(of_passed)}
    return first | {right + k: k < good_failed for k in range(of_failed)}


def gated(*gates, code=0):
    given = [part for gate in gates for part in ("--gate", gate)]
    return json.loads(invoke("gate", "LAST", *given, "--json", code=code))["gates"]


@pytest.mark.parametrize("drawn", [RANDOM, PRECISION])
def test_the_rate_is_weighted_by_what_the_run_itself_passes(folder, drawn):
    """12 of 16 that passed are good, none of 14 that did not: 40 / 60 x 12 / 16 = 50 %, not the 12 of 30 labels."""
    invoke("run", "suite.yaml")
    label(folder, split(12, 16, 0, 14), drawn)
    label(folder, {0: False, N_RIGHT: True}, drawn, round_=1)  # a second time is for agreement with oneself alone
    (gate,) = gated("pass_rate.corrected >= 45 %")
    assert gate["value"]["value"] == pytest.approx(0.5)
    assert (gate["value"]["n"], gate["value"]["n_missing"], gate["verdict"]) == (60, 0, "PASS")
    assert gate["value"]["low"] < 0.5 < gate["value"]["high"]
    (gate,) = gated("pass_rate.corrected >= 55 %", code=1)
    assert gate["reason"].startswith("50.0 % is not >= 55.0 %")
    report = json.loads(invoke("report", "LAST", "--json"))
    assert report["figures"]["pass_rate.corrected"]["value"] == pytest.approx(0.5)
    assert "by the labels 50.0 %" in invoke("report", "LAST")


def test_a_rate_that_labels_do_not_tell_is_unknown_and_says_why(folder):
    invoke("run", "suite.yaml")
    (gate,) = gated("pass_rate.corrected >= 45 %", code=4)
    assert (gate["value"]["value"], gate["verdict"]) == (None, "AMBIGUOUS")
    assert gate["reason"] == "n/a: 0 texts have labels that count here, and at least 10 must; see steelyard label plan"
    label(folder, split(5, 5, 0, 4))
    (gate,) = gated("pass_rate.corrected >= 45 %", code=4)
    assert gate["reason"].startswith("n/a: 9 texts have labels")
    # What somebody picked says nothing of the rest.
    label(folder, split(5, 10, 0, 10), "asked", person="ben")
    assert gated("pass_rate.corrected >= 45 %", code=4)[0]["reason"].startswith("n/a: 9 texts have labels")


def test_a_random_draw_that_began_with_picked_texts_gates_nothing_until_it_is_labelled(folder):
    invoke("run", "suite.yaml")
    label(folder, split(12, 16, 0, 13), planned=False)
    store = open_store()
    places = [((f"c{k:02d}", "", 0), RANDOM) for k in (*range(16), *range(N_RIGHT, N_RIGHT + 14))]
    store.people.add_places(Queue(store.run("LAST").id), QueuePlan("verdict", turned=(DISAGREEMENT,)), places)
    store.close()
    (gate,) = gated("pass_rate.corrected >= 45 %", code=4)
    assert gate["reason"] == (
        "n/a: some texts of the random draw were picked before, and of the others 1 have no label yet"
    )
    label(folder, {N_RIGHT + 13: False})
    assert gated("pass_rate.corrected >= 45 %")[0]["value"]["value"] == pytest.approx(0.5)


def test_one_label_for_precision_makes_no_random_part_of_labels_that_are_none(folder):
    """All but one of 21 labels `at random` are of what did not pass."""
    invoke("run", "suite.yaml")
    label(folder, split(1, 1, 0, 20), planned=False)
    label(folder, {5: True}, PRECISION, planned=False)
    (gate,) = gated("pass_rate.corrected >= 45 %", code=4)
    assert gate["reason"].startswith("n/a: the labeled texts are declared as a random sample, but ")
    assert "passed by the judge: 4.8 % of the labeled" in gate["reason"]
    store = open_store()
    assert "declared as a random sample, but" in estimates_of(store, store.run("LAST")).figures[0].why
    store.close()


def test_where_people_differ_an_answer_passes_in_part(folder):
    invoke("run", "suite.yaml")
    label(folder, split(12, 16, 0, 14), PRECISION)
    # One of the good ones, and one of those that did not pass, is half good: 40 / 60 x 11.5 / 16 + 20 / 60 x 0.5 / 14.
    label(folder, {0: False, N_RIGHT: True}, PRECISION, person="ben")
    (gate,) = gated("pass_rate.corrected >= 45 %")
    assert gate["value"]["value"] == pytest.approx(40 / 60 * 11.5 / 16 + 20 / 60 * 0.5 / 14)
    assert gate["value"]["low"] < 0.49 < gate["value"]["high"]
    assert "(post-stratified)" in " ".join(invoke("report", "LAST").split())


def test_a_malformed_answer_has_not_passed_whatever_labels_say_of_the_rest(folder):
    """Of 60 answers 15 cannot be read; of the other 45, of which 40 pass, 40 / 45 x 12 / 16 pass by labels."""
    suite = SUITE.replace("score:", "answer: {schema: {type: object}}\nscore:").replace(
        "expected: expected.style", "answer: style, expected: expected.style"
    )
    (folder / "suite.yaml").write_text(suite)
    answers = [json.dumps({"style": "Rococo" if k < N_RIGHT else "Empire"}) if k < 45 else "?" for k in range(N)]
    rows = [json.dumps({"case": f"c{k:02d}", "answer": answer}) + "\n" for k, answer in enumerate(answers)]
    (folder / "answers.jsonl").write_text("".join(rows))
    invoke("run", "suite.yaml")
    label(folder, split(12, 16, 0, 4), PRECISION)
    (gate,) = gated("pass_rate.corrected >= 45 %")
    assert gate["value"]["value"] == pytest.approx(45 / 60 * 40 / 45 * 12 / 16)
    assert gate["value"]["n"] == 60
    assert 0.3 < gate["value"]["low"] < 0.5 < gate["value"]["high"] < 0.7


def test_it_is_explained(folder):
    invoke("run", "suite.yaml")
    label(folder, split(12, 16, 0, 14), PRECISION)
    data = json.loads(invoke("report", "LAST", "--explain", "pass_rate.corrected", "--json"))["explained"][0]
    # 12 of the 16 labeled texts that it passes pass by their labels, and none of the 14 that it does not.
    assert (data["inputs"]["passed"], data["inputs"]["n"]) == (N_RIGHT, N)
    assert data["figure"]["value"] == pytest.approx(N_RIGHT / N * 12 / 16 + (N - N_RIGHT) / N * 0 / 14)
    noted = {item["why"]: item["count"] for item in data["noted"]}
    assert noted == {"labelled: passes": 12, "labelled: does not pass": 18}


def test_two_runs_are_compared_by_the_difference_of_their_estimates(folder):
    invoke("run", "suite.yaml")
    label(folder, split(12, 16, 0, 14), PRECISION)
    invoke("baseline", "set", "LAST", "--name", "release")
    write(folder, right=50)
    invoke("run", "suite.yaml")
    # 50 / 60 x 18 / 20 = 75 %.
    label(folder, split(18, 20, 0, 10, right=50), PRECISION)
    change = next(
        item
        for item in json.loads(invoke("compare", "LAST~1", "LAST", "--json"))["metrics"]
        if item["name"] == "pass_rate.corrected"
    )
    assert change["difference"]["value"] == pytest.approx(0.25)
    sides = [Estimate(*(change[side][name] for name in ("value", "n", "n_missing", "low", "high"))) for side in "ab"]
    assert [side.value for side in sides] == pytest.approx([0.5, 0.75])
    assert change["difference"]["low"] == pytest.approx(independent_difference(*sides).low)
    assert (change["p"] < 0.05) is (independent_difference(*sides).low > 0)
    (gate,) = gated("pass_rate.corrected >= @release - 1 points")
    assert gate["value"]["value"] == pytest.approx(0.25)
    assert "pass_rate.corrected" in invoke("compare", "LAST~1", "LAST")
    with pytest.raises(AssertionError, match="compared as two estimates, not pair by pair"):
        invoke("compare", "LAST~1", "LAST", "--explain", "pass_rate.corrected")


def test_a_history_shows_the_labels_that_came_after_the_run(folder):
    invoke("run", "suite.yaml")
    with open_store() as store:
        stored = store.figures([store.run("LAST").id], ["pass_rate.corrected"])
    assert list(stored.values()) == [[]]
    label(folder, split(12, 16, 0, 14), PRECISION)
    assert "50.0 %" in invoke("history", "chairs", "--metric", "pass_rate.corrected")


def good_until(n, of):
    """Labels of the first `of` cases, of which the first `n` are good and the others bad."""
    return lambda k: {"clarity": {"best": 4 if k < n else 1}, "harm": False} if k < of else None


def write_passing(folder, **more):
    """A suite of 60 texts whose judge passes all, with clarity 3 or, of every second, 4."""
    texts = {k: f"{TEXT.format(number=k)} How splendid." for k in range(0, N, 2)}
    return write_judged(folder, n=N, texts=texts, **more)


def scored(scores):
    """People's scores of the last run, by number of a case, drawn at random."""
    store = open_store()
    run_id = store.run("LAST").id
    given = [(f"c{k}", {"clarity": clarity, "harm": False}) for k, clarity in scores.items()]
    add_planned(
        store, [LabelRecord("numbers", case, "ann", "scores", value, run_id, drawn=RANDOM) for case, value in given]
    )
    store.close()


def test_labels_of_cases_correct_a_judge_and_their_gate_needs_no_other_check(folder):
    """The judge passes all 60; by the labels of 40 half are good."""
    path = write_passing(folder / "my", label=good_until(20, 40), require_checked=True, labels_are="random")
    invoke("run", path, code=4)
    assert [gate["verdict"] for gate in gated("pass_rate.corrected >= 45 %")] == ["PASS"]
    (gate,) = gated("pass_rate.corrected >= 55 %", code=1)
    assert gate["value"]["value"] == pytest.approx(0.5)


def test_what_people_score_in_the_store_checks_a_judge(folder):
    invoke("run", write_passing(folder / "my", label=None, require_checked=True), code=4)
    scored({k: 4 if k < 24 else 1 for k in range(30)})
    (by_judge,) = gated("pass_rate >= 70 %")
    assert (by_judge["verdict"], by_judge["value"]["value"]) == ("PASS", 1.0)
    # 24 of 30 pass by people's scores, and the judge, which passes all, adds nothing.
    (gate,) = gated("pass_rate.corrected >= 70 %")
    assert gate["value"]["value"] == pytest.approx(0.8)


def test_labels_that_were_chosen_are_left_out_where_chance_drew_others(folder):
    """By the chosen labels of 20 texts none is good; by those that chance drew 24 of 30 are."""
    chosen = lambda k: good_until(0, N)(k) if k >= 40 else None  # noqa: E731
    path = write_passing(folder / "my", label=chosen, labels_are="chosen")
    invoke("run", path)
    scored({k: 4 if k < 24 else 1 for k in range(30)})
    (gate,) = gated("pass_rate.corrected >= 70 %")
    assert gate["value"]["value"] == pytest.approx(0.8)
