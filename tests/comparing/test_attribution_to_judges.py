"""How much of a change is the judge's, by the real command line: another judge, a drift of the same, bought anchors."""

from __future__ import annotations

import json

import pytest
import yaml

from parts.attributed import Bench, contributing, points
from parts.command import invoke, steelyard
from parts.judge_server import judge_server, last_message
from parts.judged_suite import chat_judge, verdict, write_judged


@pytest.fixture
def bench(tmp_path, monkeypatch):
    """Runs a suite and compares the last two runs in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("STEELYARD_STORE", raising=False)
    return Bench(tmp_path)


MILD, HARSH = "judge-1", "judge-2"
PRICE = {"price": {"input": 1.0, "output": 1.0}}


def clarity(of):
    """A judge that gives 4, or what the text asks for; the harsh one is 2 below."""
    below = {MILD: 0, HARSH: 2}

    def stated(request):
        text = last_message(request)
        return verdict((5 if "fine" in text else 4) - below[of])

    return stated


@pytest.fixture
def judges():
    with judge_server(clarity(MILD)) as server:
        server.by_model(HARSH, clarity(HARSH))
        yield server


def judged_run(folder, server, model, *, texts=None, n=12):
    """Run the judged suite; texts have clarity 5 by the mild judge (75 points of 100 by the harsh one fewer 50)."""
    plain = "This text about number {} has nothing to say and says it in ten words."
    write_judged(
        folder / "judged",
        n=n,
        texts={k: plain.format(k) for k in range(n)} | (texts or {}),
        **chat_judge(server, model=model, **PRICE),
        suite={"pass": None, "gates": []},
    )
    path = folder / "judged" / "suite.yaml"
    suite = yaml.safe_load(path.read_text())
    del suite["pass"]
    path.write_text(yaml.safe_dump(suite, sort_keys=False))
    invoke("run", "judged")


def fine(numbers):
    return {k: f"This text about number {k} is fine and says it in ten words." for k in numbers}


def test_another_judge_is_measured_on_identical_answers(bench, judges):
    judged_run(bench.folder, judges, MILD)
    # Four texts are better; the judge gives 2 of 4 steps less to all.
    judged_run(bench.folder, judges, HARSH, texts=fine(range(4)))
    asked = len(judges.requests)
    found = bench.compared(code=4)
    # The eight identical texts fell by 50 points, carried over to all 12; 4 of 12 rose by 25 on either scale.
    assert points(found) == {"judge": -50.0, "system": pytest.approx(100 / 12)}
    assert (found["anchors"]["identical"], found["anchors"]["judged"]) == (8, 12)
    assert len(judges.requests) == asked


def test_a_drift_of_the_same_judge_is_no_loss_of_the_system(bench, judges):
    judged_run(bench.folder, judges, MILD)
    invoke("baseline", "set", "LAST", "--name", "release", "--force", "--reason", "no gates")
    # Behind the same name another judge answers, two of four steps below.
    judges.by_model(MILD, clarity(HARSH))
    judged_run(bench.folder, judges, MILD, texts=fine(range(2)))
    # The ten texts that are the same, and the two others of the baseline, which the judge read again in that run.
    drifted = "the judge has drifted: it scores 12 answers that it has read in both 50.0 points lower in B"
    told = " ".join(invoke("compare", "LAST~1", "LAST", code=4).split())
    assert f"CANNOT TELL {drifted}" in told
    assert "of these -50.0 judge, +4.2 system" in told
    gate = json.loads(invoke("gate", "LAST", "--gate", "average >= @release", "--json", code=4))["gates"][0]
    assert (gate["verdict"], drifted in gate["reason"]) == ("AMBIGUOUS", True)
    traced = " ".join(invoke("compare", "LAST~1", "LAST", "--explain", "average", code=4).split())
    # All 12 cases fell: 2 of the 4,096 patterns of signs are as far off, p = 0.0005, alone in its family.
    assert "p <0.001, adjusted <0.001, exact sign flips: cannot tell; `compare` says what blocks" in traced
    anyway = " ".join(invoke("compare", "LAST~1", "LAST", "--allow-mismatch", code=1).split())
    assert "B is worse" in anyway
    assert drifted in anyway
    for more, code, word, in_spite_of in (((), 4, "cannot tell", []), (("--allow-mismatch",), 1, "worse", [drifted])):
        against = json.loads(invoke("gate", "LAST", "--against", "release", "--json", *more, code=code))["against"]
        assert (against["verdict"], against["headline"]["in_spite_of"]) == (word, in_spite_of)


def test_a_judge_that_reads_the_same_answers_alike_blocks_nothing(bench, judges):
    judged_run(bench.folder, judges, MILD)
    # Six cases with identical answers are enough to measure it, and four are not.
    for n_fine, code in ((6, 0), (8, 4)):
        judged_run(bench.folder, judges, MILD, texts=fine(range(n_fine)))
        assert points(bench.compared(code=code)) == {"system": pytest.approx(n_fine * 100 / 12 / 4)}
        judged_run(bench.folder, judges, MILD)


def test_without_anchors_it_is_said_and_rejudging_buys_them_once(bench, judges):
    judged_run(bench.folder, judges, MILD)
    judged_run(bench.folder, judges, HARSH, texts=fine(range(12)))
    joint = bench.compared(code=4)
    assert points(joint) == {"judge+system": -25.0}
    assert "judge and system cannot be separated" in joint["joined"][0]
    asked = len(judges.requests)
    found = bench.compared("--rejudge", "5", "--yes", code=4)
    assert len(judges.requests) == asked + 5
    assert points(found) == {"judge": -50.0, "system": 25.0}
    assert (found["anchors"]["identical"], found["anchors"]["bought"]) == (0, 5)
    # Eight hold the five that were bought.
    bench.compared("--rejudge", "8", "--yes", code=4)
    assert len(judges.requests) == asked + 8
    bench.compared("--rejudge", "8", "--yes", code=4)
    assert len(judges.requests) == asked + 8


def test_what_one_judge_said_is_not_taken_for_another(bench, judges):
    judges.by_model("judge-3", clarity(HARSH))
    judged_run(bench.folder, judges, MILD)
    judged_run(bench.folder, judges, HARSH, texts=fine(range(12)))
    bench.compared("--rejudge", "3", "--yes", code=4)
    judged_run(bench.folder, judges, "judge-3", texts=fine(range(12)))
    asked = len(judges.requests)
    invoke("compare", "LAST~2", "LAST", "--rejudge", "3", "--yes", code=4)
    assert [request["model"] for request in judges.requests[asked:]] == ["judge-3"] * 3


def test_a_judge_that_is_not_in_the_suite_any_more_is_not_asked(bench, judges):
    judged_run(bench.folder, judges, MILD)
    judged_run(bench.folder, judges, HARSH, texts=fine(range(12)))
    asked = len(judges.requests)
    path = bench.folder / "judged" / "suite.yaml"
    path.write_text(path.read_text().replace(HARSH, "judge-9"))
    told = invoke("compare", "LAST~1", "LAST", "--rejudge", "3", "--yes", code=2)
    assert "is not in the suite any more" in told
    assert len(judges.requests) == asked


def test_identical_answers_are_not_bought(bench, judges):
    judged_run(bench.folder, judges, MILD)
    judged_run(bench.folder, judges, HARSH, texts=fine(range(4)))
    asked = len(judges.requests)
    found = bench.compared("--rejudge", "12", "--yes", code=4)
    assert len(judges.requests) == asked + 4
    assert (found["anchors"]["identical"], found["anchors"]["bought"]) == (8, 4)
    assert points(found) == {"judge": -50.0, "system": pytest.approx(100 / 12)}
    traced = contributing("why", "--rejudge", "12", "--yes", code=4)
    assert (traced["why.judge"]["n_contributing"], traced["why.system"]["n_contributing"]) == (12, 4)


def test_a_judge_that_is_code_reads_all_answers_again(bench):
    for folder, gives in (("before", "3"), ("after", "4")):
        path = write_judged(bench.folder / folder, suite={"pass": "score >= 70 %"})
        code = path.with_name("measures.py")
        code.write_text(code.read_text().replace("else 3", f"else {gives}"))
        invoke("run", folder)
    # 3 of 1..5 is 50 %, 4 is 75 %: none of four passes, then all. The file holds a scorer, too, which says the same.
    found = bench.compared("--suite", "after", code=4)
    assert points(found) == {"scorers": 0.0, "judge": 100.0, "system": 0.0}
    assert [portion["how"] for portion in found["portions"]] == ["rescored", "rescored", "left"]


def test_rejudging_keeps_to_its_budget_and_asks_before_it_spends(bench, judges):
    judged_run(bench.folder, judges, MILD)
    judged_run(bench.folder, judges, HARSH, texts=fine(range(12)))
    asked = len(judges.requests)
    told = invoke("compare", "LAST~1", "LAST", "--rejudge", "5", code=2)
    assert "5 texts, at least 5 calls" in told
    assert "add --yes" in told
    assert len(judges.requests) == asked
    # A call takes 100 + 20 tokens at 1 a million: 0.00012. There is room for three.
    found = bench.compared("--rejudge", "8", "--yes", "--max-cost", "0.0004", code=4)
    assert len(judges.requests) == asked + 3
    assert found["anchors"]["bought"] == 3


def test_what_was_bought_before_is_no_price_for_what_is_not(bench, judges):
    judged_run(bench.folder, judges, MILD)
    judged_run(bench.folder, judges, HARSH, texts=fine(range(12)))
    bench.compared("--rejudge", "3", "--yes", code=4)
    asked = len(judges.requests)
    # Three come for nothing; there is room for one more of 0.00012, whatever the others cost.
    found = bench.compared("--rejudge", "12", "--yes", "--max-cost", "0.0002", code=4)
    assert len(judges.requests) == asked + 1
    assert found["anchors"]["bought"] == 4
    assert "the spending limit of 0.0002" in found["portions"][0]["message"]
    assert "4 of 12 answers were judged" in found["portions"][0]["message"]


def test_a_failing_judge_is_no_anchor(bench, judges):
    judged_run(bench.folder, judges, MILD)
    judged_run(bench.folder, judges, HARSH, texts=fine(range(12)))
    judges.by_model(HARSH, "no JSON at all")
    found = bench.compared("--rejudge", "4", "--yes", code=4)
    assert points(found) == {"judge+system": -25.0}
    assert found["anchors"]["failed"] == 4


def test_a_judge_in_code_that_says_the_same_of_every_answer_is_the_same_judge(bench):
    write_judged(bench.folder / "judged")
    module = bench.folder / "judged" / "measures.py"
    first = module.read_text()
    for code in (first, f"{first}# a word\n", first.replace("else 3", "else 4")):
        module.write_text(code)
        # In a process of its own: code that was read once is not read again.
        assert steelyard("run", "judged", cwd=bench.folder).returncode == 0
    found = json.loads(steelyard("compare", "LAST~1", "LAST", "--json", cwd=bench.folder).stdout)
    assert [change["part"] for change in found["signatures"]["changes"]] == ["judge", "scorers"]
    module.write_text(f"{first}# a word\n")
    found = json.loads(invoke("compare", "LAST~2", "LAST~1", "--json"))
    (change,) = found["signatures"]["changes"]
    told = "the code of scorers and judge changed, and rescored by it all 4 answers of A have the scores they had"
    assert (change["means"], change["sentence"]) == ("noted", f"{told}: the same signature")
