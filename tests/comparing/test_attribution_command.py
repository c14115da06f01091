"""Why the headline number moved, by the real command line on real runs: each cause alone, then all at once."""

from __future__ import annotations

import json

import pytest

from parts.attributed import Bench, contributing, points, write_names
from parts.command import invoke, steelyard


@pytest.fixture
def bench(tmp_path, monkeypatch):
    """Runs a suite and compares the last two runs in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("STEELYARD_STORE", raising=False)
    return Bench(tmp_path)


def test_28_of_50_rewritten_truths_explain_the_whole_gain(bench):
    bench.evaluate()
    # Rewritten to what the system says: 20 of 50 becomes 48 of 50, and the system is what it was.
    bench.evaluate(truths={k: f"said {k}" for k in range(28)})
    found = bench.compared(code=0)
    assert points(found) == {"truth": 56.0, "system": 0.0}
    assert (found["truth_edits"]["n_cases"], found["truth_edits"]["n_moved"]) == (28, 28)
    first = {"case_id": "c00", "n": 1, "moved": 1.0, "part": 0.02, "reason": None}
    assert found["truth_edits"]["listed"][0] == first
    told = " ".join(invoke("compare", "LAST~1", "LAST", code=0).split())
    assert (
        "pass rate of all scored samples 40.0 % -> 96.0 %: +56.0 points; of these +56.0 truth edits, 0.0 system" in told
    )
    assert "28 of 28 cases with another truth moved the number" in told


def test_prompts_that_were_removed_explain_the_rise(bench):
    bench.evaluate()
    bench.evaluate(cases=range(10, 50))
    # 20 of 50 becomes 20 of 40; 40 of 50 cases are fewer than the 90 % that a verdict asks for.
    assert points(bench.compared(code=4)) == {"cases": 10.0, "system": 0.0}


def test_failed_calls_are_no_change_of_the_system(bench):
    bench.evaluate()
    bench.evaluate(answers=dict.fromkeys(range(40, 50)))
    # 20 of 50 becomes 10 of 40; the 40 that both have are worth 10 in each, and are too few for a verdict.
    found = bench.compared(code=4)
    assert points(found) == {"availability": -15.0, "system": 0.0}


def parts(name, stated):
    """The weights of the true name and of a word that the system always says."""
    return {
        "name": {"exact": {"expected": "expected.name"}, "weight": name},
        "stated": {"regex": {"pattern": "^said", "example": "said 1", "answer": "name"}, "weight": stated},
    }


def test_another_pass_rule_is_scored_again(bench):
    bench.evaluate(score=parts(1, 1))
    bench.evaluate(score=parts(1, 1), **{"pass": "score >= 40 %"})
    found = bench.compared(code=4)
    # A wrong name earns half, which passes by the new rule: 20 of 50 becomes 50 of 50 in A, too.
    assert points(found) == {"scorers": 60.0, "system": 0.0}
    assert found["portions"][0]["how"] == "rescored"


def test_an_answer_in_the_wrong_shape_is_worth_nothing_by_any_scorers(bench):
    broken = {0: ["no", "name"]}
    bench.evaluate(score=parts(1, 1), answers=broken)
    bench.evaluate(score=parts(1, 1), answers=broken, **{"pass": "score >= 40 %"})
    # 20 of 50 becomes 49 of 50.
    assert points(bench.compared(code=4)) == {"scorers": 58.0, "system": 0.0}


def test_weights_are_separated_from_the_system(bench):
    bench.evaluate(score=parts(1, 1))
    # What failed gets next to no weight; five answers name the truth and do not say the word.
    bench.evaluate(score=parts(1, 9), answers={k: f"true {k}" for k in range(5)})
    # By these weights all 50 of A pass (90 %), and 45 of B.
    assert points(bench.compared(code=4)) == {"scorers": 60.0, "system": -10.0}


def test_a_suite_that_has_changed_since_joins_what_it_cannot_split(bench):
    bench.evaluate()
    bench.evaluate(**{"pass": "score >= 10 %"})
    write_names(bench.folder / "names", **{"pass": "score >= 20 %"})
    found = bench.compared(code=4)
    assert list(points(found)) == ["scorers+system"]
    assert "is not the one that run" in found["joined"][0]
    assert "--suite PLACE" in found["joined"][0]
    # A copy of B's suite elsewhere will do.
    write_names(bench.folder / "copy", **{"pass": "score >= 10 %"})
    assert list(points(bench.compared("--suite", "copy", code=4))) == ["scorers", "system"]


def test_a_suite_that_is_gone_is_said_and_named_ones_must_be_there(bench):
    bench.evaluate()
    bench.evaluate(truths={0: "said 0"})
    (bench.folder / "names" / "suite.yaml").unlink()
    found = bench.compared(code=0)
    assert points(found) == {"truth+system": 2.0, "system": 0.0}
    assert "suite cannot be read" in found["joined"][0]
    assert "there is no suite at nowhere" in invoke("compare", "LAST~1", "LAST", "--suite", "nowhere", code=2)


def test_code_that_changed_under_the_same_signature_is_not_believed(bench):
    bench.evaluate()
    bench.evaluate(truths={0: "said 0"})
    # The scorer is the suite's own code, which reads a file that no signature knows.
    for n, score in enumerate(("1.0", "0.0")):
        (bench.folder / "names" / "own.py").write_text(OWN)
        (bench.folder / "names" / "worth.txt").write_text(score)
        if n == 0:
            own = {"name": {"python": "own:Own"}}
            bench.evaluate(score=own)
            bench.evaluate(score=own, truths={0: "said 0", 1: "said 1"})
    found = bench.compared(code=0)
    assert list(points(found)) == ["truth+system", "system"]
    assert "does not score B's answer to c00 as it did" in found["joined"][0]


OWN = '''
from pathlib import Path
from steelyard import Reading, Scorer


class Own(Scorer):
    """Whatever the file says."""

    def read(self, answer, case):
        return Reading(float(Path(__file__).with_name("worth" + ".txt").read_text()))
'''


OTHERS = '''
from steelyard import Reading, Scorer


class Own(Scorer):
    """Whether the name is right."""

    def read(self, answer, case):
        right = answer["name"].casefold() == case.expected["name"].casefold()
        return Reading(float(right))
'''


@pytest.fixture
def own(bench):
    """Scores the names by code that stands in a file of the suite."""

    def evaluate(code, *more, exits=0, **suite):
        write_names(bench.folder / "names", score={"name": {"python": "own:Own"}}, **suite)
        (bench.folder / "names" / "own.py").write_text(code)
        # In a process of its own: code that was read once is not read again.
        done = steelyard("run", "names", *more, cwd=bench.folder)
        assert done.returncode == exits, done.stderr
        return done.stdout

    return evaluate


def test_code_that_gives_every_answer_the_scores_it_had_is_the_same_signature(own, bench):
    own(OTHERS, gates=["pass_rate >= 30 %"])
    invoke("baseline", "set", "LAST", "--name", "release")
    # A comment, and five answers that are right now.
    better = {k: f"true {k}" for k in range(5)}
    told = " ".join(
        own(f"{OTHERS}# a word\n", "--against", "release", gates=["pass_rate >= 30 %"], answers=better).split()
    )
    same = "the code of scorers changed, and rescored by it all 50 answers of A have the scores they had"
    assert f"{same}: the same signature" in told
    assert "40.0 % -> 50.0 % (+10.0 points" in told
    for command in (("gate", "LAST", "--against", "release"), ("ci", "names", "--against", "release")):
        assert same in " ".join(invoke(*command).split())
    found = json.loads(invoke("compare", "@release", "LAST", "--json", code=4))
    assert [change["part"] for change in found["signatures"]["changes"]] == ["target", "code"]
    assert (found["headline"]["confounded_by"], found["pairs"]["fixed"]["count"]) == ([], 5)
    # The verdict and the reasons stand on the same evidence.
    assert points(found["attribution"]) == {"system": 10.0}
    # The other way round it is the suite of A that is there.
    back = json.loads(invoke("compare", "LAST", "@release", "--json", code=4))
    assert back["headline"]["confounded_by"] == []
    assert invoke("compare", "@release", "LAST", "--no-attribution", code=4)
    assert invoke("compare", "@release", "LAST", "--explain", "pass_rate", code=4)


def test_code_that_gives_one_answer_another_score_is_another_signature(own, bench):
    own(OTHERS, truths={0: "SAID 0"})
    own(OTHERS.replace(".casefold()", ""), truths={0: "SAID 0"})
    found = json.loads(steelyard("compare", "LAST~1", "LAST", "--json", cwd=bench.folder).stdout)
    assert found["headline"]["confounded_by"] == ["the scorers differ: a change may be theirs"]
    assert points(found["attribution"]) == {"scorers": -2.0, "system": 0.0}


def test_settings_that_are_others_block_though_no_answer_of_a_shows_it(bench):
    bench.evaluate(**{"pass": "score >= 90 %"})
    bench.evaluate(**{"pass": "score >= 80 %"})
    found = json.loads(invoke("compare", "LAST~1", "LAST", "--json", code=4))
    assert found["headline"]["confounded_by"] == ["the scorers differ: a change may be theirs"]


def test_where_the_truth_changed_answers_of_both_runs_are_compared_by_that_of_b(own, bench):
    own(OTHERS, answers={1: "TRUE 1"})
    # Case 0 is wrong by both truths in both runs; 1 is right in A by both and wrong in B; 2, wrong in A by its own
    # truth, is right by B's in both.
    truths = {0: "neither", 1: "True 1", 2: "said 2"}
    own(OTHERS, truths=truths)
    found = json.loads(invoke("compare", "LAST~1", "LAST", "--json", code=4))
    assert [line["case_id"] for line in found["pairs"]["broken"]["lines"]] == ["c01"]
    assert (found["pairs"]["comparable"], found["pairs"]["fixed"]["count"]) == (50, 0)
    told = [change["sentence"] for change in found["signatures"]["changes"]]
    assert told == [
        "the target differs: recorded answers",
        "the truth of 3 cases changed, and A's answers are scored by B's: 1 moved; c00, c01, c02",
    ]


def test_nothing_is_said_where_only_the_system_changed_and_on_demand_nothing_is_looked_for(bench):
    bench.evaluate()
    bench.evaluate(answers={k: f"true {k}" for k in range(20)})
    assert points(bench.compared(code=0)) == {"system": 40.0}
    assert "Why" not in invoke("compare", "LAST~1", "LAST", code=0)
    assert bench.folder.joinpath("names").exists()
    assert json.loads(invoke("compare", "LAST~1", "LAST", "--no-attribution", "--json"))["attribution"] is None


def test_all_at_once_in_every_view(bench, tmp_path):
    short = dict.fromkeys(range(16, 20), "said")
    bench.evaluate(truths=short)
    bench.evaluate(
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
        order = "cases, questions, availability, scorers, truth, judge, system"
        for told in ("+23.3 truth edits", "Why the pass rate moved", "Truth edits", "inconclusive samples", order):
            assert told in text, (name, told)


def test_every_part_is_traced_to_the_readings_that_make_it(bench):
    bench.evaluate()
    bench.evaluate(cases=range(1, 50), truths={5: "said 5"}, answers={2: None, 40: "wrong"})
    parts = points(bench.compared(code=4))
    found = contributing("why", code=4)
    assert [name.removeprefix("why.") for name in found] == list(parts)
    told = {name: [(row["case_id"], row["detail"]) for row in each["contributing"]] for name, each in found.items()}
    assert told == {
        "why.cases": [("c00", "only in A: 0")],
        "why.availability": [("c02", "only in A: 0")],
        "why.truth": [("c05", "0 -> 1")],
        "why.system": [("c40", "1 -> 0")],
    }
    # 20 of 50 are right, 20 of 49 without c00, 20 of 48 without c02: each takes (0 - the mean without it) / n with it.
    values = {name: each["contributing"][0]["value"] for name, each in found.items()}
    assert values == {
        "why.cases": pytest.approx((20 / 49) / 50),
        "why.availability": pytest.approx((20 / 48) / 49),
        "why.truth": pytest.approx(1 / 48),
        "why.system": pytest.approx(-1 / 48),
    }
    assert found["why.truth"]["excluded"] == [{"why": "contributes 0", "count": 47, "cases": []}]
    assert list(contributing("why.truth", code=4)) == ["why.truth"]
    said = " ".join(invoke("compare", "LAST~1", "LAST", "--explain", "why.truth", code=4).split())
    assert "why.truth = +2.1 points, n 48 cases" in said


def test_a_part_that_is_not_there_is_reported_with_those_that_are(bench):
    bench.evaluate()
    bench.evaluate(truths={5: "said 5"})
    asked = ("compare", "LAST~1", "LAST", "--explain")
    told = invoke(*asked, "why.judge", code=2)
    assert "no part of the change is 'judge'; there are: why.truth, why.system" in told
    assert "do not go together" in invoke(*asked, "why", "--no-attribution", code=2)
    assert "do not go together" in invoke(*asked, "average", "--suite", "names", code=2)
    (bench.folder / "names" / "suite.yaml").rename(bench.folder / "suite.yaml")
    assert list(contributing("why.truth", code=0)) == ["why.truth+system"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("--yes",), "--yes: no judge is called without --rejudge N"),
        (("--max-cost", "1"), "--max-cost: no judge is called without --rejudge N"),
        (("--rejudge", "3", "--no-attribution"), "--rejudge and --no-attribution do not go together"),
        (("--rejudge", "3", "--yes"), "--rejudge: run B has no judge"),
    ],
)
def test_options_that_can_do_nothing_are_refused(bench, given, message):
    bench.evaluate()
    bench.evaluate(truths={0: "said 0"})
    assert message in invoke("compare", "LAST~1", "LAST", *given, code=2)


COUNTING = (
    OTHERS.replace(
        "    def read",
        '    measures = {"share": Measure("right", "all", "how many are right")}\n\n    def read',
    )
    .replace("import Reading,", "import Measure, Reading,")
    .replace("Reading(float(right))", 'Reading(float(right), counts={"right": int(right), "all": 1})')
)


def test_a_measure_that_is_made_of_other_counts_is_another_signature(own, bench):
    own(COUNTING)
    own(COUNTING.replace('"right", "all"', '"all", "all"'))
    found = json.loads(steelyard("compare", "LAST~1", "LAST", "--json", cwd=bench.folder).stdout)
    assert found["headline"]["confounded_by"] == ["the scorers differ: a change may be theirs"]
