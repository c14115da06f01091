"""Why the headline number moved, by the real command line on real runs: each cause alone, then all at once."""

from __future__ import annotations

import json

import pytest
import yaml

from parts.command import invoke
from parts.judge_server import judge_server, last_message
from parts.judged_suite import chat_judge, verdict, write_judged

RIGHT = range(30, 50)


def write_names(folder, *, truths=None, cases=range(50), answers=None, **more):
    """A suite of names: the system says `said k`, which is right where the truth says so too."""
    folder.mkdir(exist_ok=True)
    truth = {k: f"said {k}" if k in RIGHT else f"true {k}" for k in cases} | (truths or {})
    said = {k: f"said {k}" for k in cases} | (answers or {})
    rows = [{"id": f"c{k:02d}", "input": {"k": k}, "expected": {"name": truth[k]}} for k in cases]
    kept = [{"case": f"c{k:02d}"} | _answer(said[k]) for k in cases]
    suite = {
        "suite": "names",
        "cases": {"files": "cases.jsonl"},
        "target": {"recorded": "answers.jsonl"},
        "answer": {"schema": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}}},
        "score": {"name": {"exact": {"expected": "expected.name"}}},
        "pass": "score >= 90 %",
        "limits": {"retries": 0, "max_inconclusive": 0.5},
        **more,
    }
    for name, lines in (("cases.jsonl", rows), ("answers.jsonl", kept)):
        (folder / name).write_text("".join(json.dumps(line) + "\n" for line in lines))
    (folder / "suite.yaml").write_text(yaml.safe_dump(suite, sort_keys=False))


def _answer(name):
    return {"failed": "timeout"} if name is None else {"answer": {"name": name}}


@pytest.fixture
def bench(tmp_path, monkeypatch):
    """Runs a suite and compares the last two runs in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("STEELYARD_STORE", raising=False)
    return Bench(tmp_path)


class Bench:
    def __init__(self, folder):
        self.folder = folder

    def weigh(self, **suite):
        write_names(self.folder / "names", **suite)
        invoke("run", "names", code=0)

    def compared(self, *more, code):
        """The attribution of the last two runs as data, after a look at the sums."""
        found = json.loads(invoke("compare", "LAST~1", "LAST", "--json", *more, code=code))["attribution"]
        if found["total"] is not None:
            parts = [portion["change"]["value"] for portion in found["portions"]]
            assert sum(parts) == pytest.approx(found["total"], abs=1e-9)
        return found


def points(found):
    """By cause, points of a hundred."""
    return {"+".join(one["causes"]): round(100 * one["change"]["value"], 6) for one in found["portions"]}


def test_28_of_50_rewritten_truths_explain_the_whole_gain(bench):
    bench.weigh()
    # Rewritten to what the system says: 20 of 50 becomes 48 of 50, and the system is what it was.
    bench.weigh(truths={k: f"said {k}" for k in range(28)})
    found = bench.compared(code=0)
    assert points(found) == {"truth": 56.0, "system": 0.0}
    assert (found["truth_edits"]["n_cases"], found["truth_edits"]["n_moved"]) == (28, 28)
    first = {"case_id": "c00", "n": 1, "moved": 1.0, "part": 0.02, "reason": None}
    assert found["truth_edits"]["listed"][0] == first
    told = " ".join(invoke("compare", "LAST~1", "LAST", code=0).split())
    assert "pass rate of all readings 40.0 % -> 96.0 %: +56.0 points; of these +56.0 truth edits, 0.0 system" in told
    assert "28 of 28 cases with another truth moved the number" in told


def test_prompts_that_were_removed_explain_the_rise(bench):
    bench.weigh()
    bench.weigh(cases=range(10, 50))
    # 20 of 50 becomes 20 of 40.
    assert points(bench.compared(code=0)) == {"cases": 10.0, "system": 0.0}


def test_failed_calls_are_no_change_of_the_system(bench):
    bench.weigh()
    bench.weigh(answers=dict.fromkeys(range(40, 50)))
    # 20 of 50 becomes 10 of 40; the 40 that both have are worth 10 in each.
    found = bench.compared(code=0)
    assert points(found) == {"availability": -15.0, "system": 0.0}


def parts(name, said):
    """The weights of the true name and of a word that the system always says."""
    return {
        "name": {"exact": {"expected": "expected.name"}, "weight": name},
        "said": {"regex": {"pattern": "^said", "example": "said 1", "answer": "name"}, "weight": said},
    }


def test_another_pass_rule_is_weighed_again(bench):
    bench.weigh(score=parts(1, 1))
    bench.weigh(score=parts(1, 1), **{"pass": "score >= 40 %"})
    found = bench.compared(code=4)
    # A wrong name earns half, which passes by the new rule: 20 of 50 becomes 50 of 50 in A, too.
    assert points(found) == {"scorers": 60.0, "system": 0.0}
    assert found["portions"][0]["how"] == "reweighed"


def test_an_answer_in_the_wrong_shape_is_worth_nothing_by_any_scorers(bench):
    broken = {0: ["no", "name"]}
    bench.weigh(score=parts(1, 1), answers=broken)
    bench.weigh(score=parts(1, 1), answers=broken, **{"pass": "score >= 40 %"})
    # 20 of 50 becomes 49 of 50.
    assert points(bench.compared(code=4)) == {"scorers": 58.0, "system": 0.0}


def test_weights_are_told_from_the_system(bench):
    bench.weigh(score=parts(1, 1))
    # What failed gets next to no weight; five answers name the truth and do not say the word.
    bench.weigh(score=parts(1, 9), answers={k: f"true {k}" for k in range(5)})
    # By these weights all 50 of A pass (90 %), and 45 of B.
    assert points(bench.compared(code=4)) == {"scorers": 60.0, "system": -10.0}


def test_a_suite_that_has_changed_since_joins_what_it_cannot_split(bench):
    bench.weigh()
    bench.weigh(**{"pass": "score >= 10 %"})
    write_names(bench.folder / "names", **{"pass": "score >= 20 %"})
    found = bench.compared(code=4)
    assert list(points(found)) == ["scorers+system"]
    assert "is not the one that run" in found["joined"][0]
    assert "--suite PLACE" in found["joined"][0]
    # A copy of B's suite elsewhere will do.
    write_names(bench.folder / "copy", **{"pass": "score >= 10 %"})
    assert list(points(bench.compared("--suite", "copy", code=4))) == ["scorers", "system"]


def test_a_suite_that_is_gone_is_said_and_named_ones_must_be_there(bench):
    bench.weigh()
    bench.weigh(truths={0: "said 0"})
    (bench.folder / "names" / "suite.yaml").unlink()
    found = bench.compared(code=0)
    assert points(found) == {"truth+system": 2.0, "system": 0.0}
    assert "suite cannot be read" in found["joined"][0]
    assert "there is no suite at nowhere" in invoke("compare", "LAST~1", "LAST", "--suite", "nowhere", code=2)


def test_code_that_changed_under_the_same_signature_is_not_believed(bench):
    bench.weigh()
    bench.weigh(truths={0: "said 0"})
    # The scorer is the suite's own code, which reads a file that no signature knows.
    for n, score in enumerate(("1.0", "0.0")):
        (bench.folder / "names" / "own.py").write_text(OWN)
        (bench.folder / "names" / "worth.txt").write_text(score)
        if n == 0:
            own = {"name": {"python": "own:Own"}}
            bench.weigh(score=own)
            bench.weigh(score=own, truths={0: "said 0", 1: "said 1"})
    found = bench.compared(code=0)
    assert list(points(found)) == ["truth+system", "system"]
    assert "does not weigh B's answer to c00 as it did" in found["joined"][0]


OWN = '''
from pathlib import Path
from steelyard import Reading, Scorer


class Own(Scorer):
    """Whatever the file says."""

    def read(self, answer, case):
        return Reading(float(Path(__file__).with_name("worth.txt").read_text()))
'''


def test_nothing_is_said_where_only_the_system_changed_and_on_demand_nothing_is_looked_for(bench):
    bench.weigh()
    bench.weigh(answers={k: f"true {k}" for k in range(20)})
    assert points(bench.compared(code=0)) == {"system": 40.0}
    assert "Why" not in invoke("compare", "LAST~1", "LAST", code=0)
    assert bench.folder.joinpath("names").exists()
    assert json.loads(invoke("compare", "LAST~1", "LAST", "--no-attribution", "--json"))["attribution"] is None


def test_all_at_once_in_every_view(bench, tmp_path):
    short = dict.fromkeys(range(16, 20), "said")
    bench.weigh(truths=short)
    bench.weigh(
        cases=range(5, 50),
        truths=short | {k: f"said {k}" for k in range(5, 15)},
        answers=dict.fromkeys((15, 45)) | {20: "true 20"},
        score={"name": {"contains": {"expected": "expected.name"}}},
    )
    found = bench.compared(code=4)
    assert list(points(found)) == ["cases", "availability", "scorers", "truth", "system"]
    # A 20/50; 20/45 of the common cases; 19/43 of those that both answered. To contain the truth is enough now: the
    # four short ones. Ten truths were rewritten, and one answer is right that was not.
    assert points(found) == {
        "cases": pytest.approx(100 * (20 / 45 - 20 / 50)),
        "availability": pytest.approx(100 * (19 / 43 - 20 / 45)),
        "scorers": pytest.approx(400 / 43),
        "truth": pytest.approx(1000 / 43),
        "system": pytest.approx(100 / 43),
    }
    invoke("compare", "LAST~1", "LAST", "--markdown", "c.md", "--html", "c.html", code=4)
    for name in ("c.md", "c.html"):
        text = (tmp_path / name).read_text()
        # The method is there to its end, where the order of the split stands.
        order = "cases, availability, scorers, truth, judge, system"
        for told in ("+23.3 truth edits", "Why the pass rate moved", "Truth edits", "missing readings", order):
            assert told in text, (name, told)


def behind(*asked, code):
    """What stands behind parts of the change, by metric; every one is what its readings come to."""
    found = json.loads(invoke("compare", "LAST~1", "LAST", "--explain", *asked, "--json", code=code))["explained"]
    assert all(each["agrees"] for each in found)
    return {each["metric"]: each for each in found}


def test_every_part_is_traced_to_the_readings_that_make_it(bench):
    bench.weigh()
    bench.weigh(cases=range(1, 50), truths={5: "said 5"}, answers={2: None, 40: "wrong"})
    parts = points(bench.compared(code=4))
    found = behind("why", code=4)
    assert [name.removeprefix("why.") for name in found] == list(parts)
    told = {name: [(row["case_id"], row["said"]) for row in each["behind"]] for name, each in found.items()}
    assert told == {
        "why.cases": [("c00", "only in A: 0")],
        "why.availability": [("c02", "only in A: 0")],
        "why.truth": [("c05", "0 -> 1")],
        "why.system": [("c40", "1 -> 0")],
    }
    # 20 of 50 are right, 20 of 49 without c00, 20 of 48 without c02: each takes (0 - the mean without it) / n with it.
    values = {name: each["behind"][0]["value"] for name, each in found.items()}
    assert values == {
        "why.cases": pytest.approx((20 / 49) / 50),
        "why.availability": pytest.approx((20 / 48) / 49),
        "why.truth": pytest.approx(1 / 48),
        "why.system": pytest.approx(-1 / 48),
    }
    assert found["why.truth"]["excluded"] == [{"why": "adds nothing", "count": 47, "cases": []}]
    assert list(behind("why.truth", code=4)) == ["why.truth"]
    said = " ".join(invoke("compare", "LAST~1", "LAST", "--explain", "why.truth", code=4).split())
    assert "why.truth = +2.1 points, n 48 cases" in said


def test_a_part_that_is_not_there_is_told_with_those_that_are(bench):
    bench.weigh()
    bench.weigh(truths={5: "said 5"})
    asked = ("compare", "LAST~1", "LAST", "--explain")
    told = invoke(*asked, "why.judge", code=2)
    assert "no part of the change is 'judge'; there are: why.truth, why.system" in told
    assert "do not go together" in invoke(*asked, "why", "--no-attribution", code=2)
    assert "do not go together" in invoke(*asked, "average", "--suite", "names", code=2)
    (bench.folder / "names" / "suite.yaml").rename(bench.folder / "suite.yaml")
    assert list(behind("why.truth", code=0)) == ["why.truth+system"]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (("--yes",), "--yes: nobody is asked without --rejudge N"),
        (("--max-cost", "1"), "--max-cost: nobody is asked without --rejudge N"),
        (("--rejudge", "3", "--no-attribution"), "--rejudge and --no-attribution do not go together"),
        (("--rejudge", "3", "--yes"), "--rejudge: run B has no judge"),
    ],
)
def test_options_that_can_do_nothing_are_refused(bench, given, told):
    bench.weigh()
    bench.weigh(truths={0: "said 0"})
    assert told in invoke("compare", "LAST~1", "LAST", *given, code=2)


MILD, HARSH = "judge-1", "judge-2"
PRICE = {"price": {"input": 1.0, "output": 1.0}}


def clarity(of):
    """A judge that gives 4, or what the text asks for; the harsh one is 2 below."""
    below = {MILD: 0, HARSH: 2}

    def said(request):
        text = last_message(request)
        return verdict((5 if "fine" in text else 4) - below[of])

    return said


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
    drifted = "the judge has drifted: it scores 10 answers that are the same in both runs 50.0 points lower in B"
    told = " ".join(invoke("compare", "LAST~1", "LAST", code=4).split())
    assert f"CANNOT TELL {drifted}" in told
    assert "of these -50.0 judge, +4.2 system" in told
    gate = json.loads(invoke("gate", "LAST", "--gate", "average >= @release", "--json", code=4))["gates"][0]
    assert (gate["verdict"], drifted in gate["reason"]) == ("AMBIGUOUS", True)
    traced = " ".join(invoke("compare", "LAST~1", "LAST", "--explain", "average", code=4).split())
    # All 12 cases fell: 2 of the 4,096 patterns of signs are as far off, p = 0.0005, alone in its family.
    assert "p <0.001, adjusted <0.001, exact sign flips: cannot tell; `compare` says what hinders" in traced
    anyway = " ".join(invoke("compare", "LAST~1", "LAST", "--anyway", code=1).split())
    assert "B is worse" in anyway
    assert drifted in anyway
    for more, code, word, in_spite_of in (((), 4, "cannot tell", []), (("--anyway",), 1, "worse", [drifted])):
        against = json.loads(invoke("gate", "LAST", "--against", "release", "--json", *more, code=code))["against"]
        assert (against["verdict"], against["headline"]["in_spite_of"]) == (word, in_spite_of)


def test_a_judge_that_reads_the_same_answers_alike_hinders_nothing(bench, judges):
    judged_run(bench.folder, judges, MILD)
    judged_run(bench.folder, judges, MILD, texts=fine(range(8)))
    assert points(bench.compared(code=0)) == {"system": pytest.approx(800 / 12 / 4)}


def test_without_anchors_it_is_said_and_rejudging_buys_them_once(bench, judges):
    judged_run(bench.folder, judges, MILD)
    judged_run(bench.folder, judges, HARSH, texts=fine(range(12)))
    joint = bench.compared(code=4)
    assert points(joint) == {"judge+system": -25.0}
    assert "judge and system cannot be told apart" in joint["joined"][0]
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
    traced = behind("why", "--rejudge", "12", "--yes", code=4)
    assert (traced["why.judge"]["n_behind"], traced["why.system"]["n_behind"]) == (12, 4)


def test_a_judge_that_is_code_reads_all_answers_again(bench):
    for folder, gives in (("before", "3"), ("after", "4")):
        path = write_judged(bench.folder / folder, suite={"pass": "score >= 70 %"})
        code = path.with_name("measures.py")
        code.write_text(code.read_text().replace("else 3,", f"else {gives},"))
        invoke("run", folder)
    # 3 of 1..5 is 50 %, 4 is 75 %: none of four passes, then all. The file holds a scorer, too, which says the same.
    found = bench.compared(code=4)
    assert points(found) == {"scorers": 0.0, "judge": 100.0, "system": 0.0}
    assert [portion["how"] for portion in found["portions"]] == ["reweighed", "reweighed", "left"]


def test_rejudging_keeps_to_its_budget_and_asks_before_it_spends(bench, judges):
    judged_run(bench.folder, judges, MILD)
    judged_run(bench.folder, judges, HARSH, texts=fine(range(12)))
    asked = len(judges.requests)
    told = invoke("compare", "LAST~1", "LAST", "--rejudge", "5", code=2)
    assert "5 texts, at least 5 calls" in told
    assert "add --yes to go on" in told
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
    assert "the spending limit of 0.0002" in found["portions"][0]["told"]
    assert "4 of 12 answers were judged" in found["portions"][0]["told"]


def test_a_failing_judge_is_no_anchor(bench, judges):
    judged_run(bench.folder, judges, MILD)
    judged_run(bench.folder, judges, HARSH, texts=fine(range(12)))
    judges.by_model(HARSH, "no JSON at all")
    found = bench.compared("--rejudge", "4", "--yes", code=4)
    assert points(found) == {"judge+system": -25.0}
    assert found["anchors"]["failed"] == 4
