"""Lies by touching cases: whoever edits truths or questions must not get regressions out of the pairs."""

from __future__ import annotations

import json
import shutil

import pytest
import yaml

from parts.command import invoke

N = 120
TRUTHS = [f"Name {k}" for k in range(N)]
CASE_FAILED = ["wrong" if k < 100 else TRUTHS[k] for k in range(N)]
GATE = "pass_rate >= @release"


@pytest.fixture
def bench(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STEELYARD_STORE", str(tmp_path / "store.db"))
    return tmp_path / "names"


def write(folder, truths, answers, *, inputs=(), ids=None, **more):
    folder.mkdir(exist_ok=True)
    ids = ids or [f"c{k:03d}" for k in range(len(truths))]
    asked = dict(enumerate(inputs))
    cases = [
        {"id": ids[k], "input": {"q": asked.get(k, f"question {k}")}, "category": f"g{k % 4}", "expected": {"name": t}}
        for k, t in enumerate(truths)
    ]
    kept = [{"case": ids[k], "answer": {"name": said}} for k, said in enumerate(answers)]
    suite = {
        "suite": "names",
        "cases": {"files": "cases.jsonl"},
        "target": {"recorded": "answers.jsonl"},
        "answer": {"schema": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}}},
        "score": {"name": {"exact": {"expected": "expected.name", "ignore": ["case"]}}},
        "pass": "score >= 90 %",
        **more,
    }
    for name, lines in (("cases.jsonl", cases), ("answers.jsonl", kept)):
        (folder / name).write_text("".join(json.dumps(line) + "\n" for line in lines))
    (folder / "suite.yaml").write_text(yaml.safe_dump(suite, sort_keys=False))


def released(folder, *, truths=TRUTHS, answers=TRUTHS, **more):
    write(folder, truths, answers, gates=["pass_rate >= 10 %"], **more)
    invoke("run", "names", code=0)
    invoke("baseline", "set", "LAST", "--name", "release", code=0)


def gated(folder, truths, answers, *, code, **more):
    """What becomes of the gate on the release and of the comparison with it."""
    write(folder, truths, answers, **({"gates": [GATE]} | more))
    ended = json.loads(invoke("run", "names", "--json", code=code))
    return next(each for each in ended["gates"] if "@release" in each["gate"])


def compared(*more, code):
    return json.loads(invoke("compare", "@release", "LAST", "--json", *more, code=code))


def test_truths_touched_where_no_scorer_looks_leave_every_pair_in(bench):
    released(bench)
    touched = [truth.upper() if k < 100 else truth for k, truth in enumerate(TRUTHS)]
    assert gated(bench, touched, CASE_FAILED, code=1)["verdict"] == "FAIL"
    found = compared(code=1)
    assert found["headline"]["verdict"] == "worse"
    assert found["pairs"]["comparable"] == N


def test_truths_rewritten_to_what_the_broken_system_says_make_it_no_better(bench):
    released(bench)
    rewritten = ["wrong" if k < 100 else truth for k, truth in enumerate(TRUTHS)]
    gate = gated(bench, rewritten, CASE_FAILED, code=4)
    assert gate["verdict"] == "AMBIGUOUS"
    assert "depends on the truth edits" in gate["reason"]
    found = compared(code=4)
    assert found["headline"]["verdict"] == "cannot tell"
    # By B's truth A has 20 of 120 and B all of them, by A's the other way round.
    assert "(+83.3 points" in found["headline"]["sentence"]
    assert "(-83.3 points" in found["headline"]["sentence"]


def test_a_few_truths_rewritten_to_what_the_system_says_make_it_no_better(bench):
    """10 of 120, few enough to leave 90 % of the pairs in: by the truth of the release nothing is better."""
    released(bench, answers=["other" if k < 10 else truth for k, truth in enumerate(TRUTHS)])
    rewritten = ["wrong" if k < 10 else truth for k, truth in enumerate(TRUTHS)]
    answers = ["wrong" if k < 10 else truth for k, truth in enumerate(TRUTHS)]
    gated(bench, rewritten, answers, gates=["pass_rate >= @release for sure"], code=4)
    assert compared(code=4)["headline"]["verdict"] == "cannot tell"


def test_where_truths_changed_both_runs_are_read_by_that_of_b(bench):
    """Of 100 broken answers 50 are made right by their new truth: A's answers are wrong by it, so B is better there."""
    released(bench)
    rewritten = ["wrong" if k < 50 else truth for k, truth in enumerate(TRUTHS)]
    gate = gated(bench, rewritten, CASE_FAILED, code=4)
    found = compared(code=4)
    # By B's truth A has 70 right and B 50 + 20: 50 fixed, 50 broken, and cannot tell.
    assert (found["pairs"]["fixed"]["count"], found["pairs"]["broken"]["count"]) == (50, 50)
    assert found["metrics"][0]["a"]["value"] == pytest.approx(70 / 120)
    assert found["pairs"]["comparable"] == N
    assert gate["value"]["n"] == N


def test_truths_that_each_run_meets_on_its_own_day_leave_every_pair_in(bench):
    """The truth says more, answers say more: each is right by the truth of its day, and 60 others broke."""
    released(bench)
    longer = [f"{truth} the great" if k < 60 else truth for k, truth in enumerate(TRUTHS)]
    answers = [truth if k < 60 else "wrong" for k, truth in enumerate(longer)]
    gate = gated(bench, longer, answers, code=4)
    found = compared(code=4)
    assert (found["pairs"]["fixed"]["count"], found["pairs"]["broken"]["count"]) == (60, 60)
    assert gate["value"]["n"] == N
    assert found["headline"]["verdict"] == "cannot tell"


def test_a_regression_in_truths_that_changed_in_earnest_is_found(bench):
    released(bench)
    longer = [f"{truth} the great" if k < 60 else truth for k, truth in enumerate(TRUTHS)]
    # B meets no truth at all; A meets 60 of 120 as they are now.
    assert gated(bench, longer, ["wrong"] * N, code=1)["verdict"] == "FAIL"
    found = compared(code=1)
    assert found["headline"]["verdict"] == "worse"
    change = found["metrics"][0]["difference"]
    assert (change["value"], change["n"]) == (pytest.approx(-0.5), N)
    part = {tuple(each["causes"]): each["change"]["value"] for each in found["attribution"]["portions"]}
    assert part == {("truth",): pytest.approx(-0.5), ("system",): pytest.approx(-0.5)}


def test_what_stands_behind_a_figure_is_scored_by_the_truth_that_the_figure_is(bench):
    released(bench)
    longer = [f"{truth} the great" if k < 60 else truth for k, truth in enumerate(TRUTHS)]
    gated(bench, longer, ["wrong"] * N, code=1)
    for metric in ("pass_rate", "score.name.points", "findings.NAME"):
        found = json.loads(invoke("compare", "@release", "LAST", "--explain", metric, "--json", code=1))
        (explained,) = found["explained"]
        rows = explained["contributing"]
        assert len(rows) == N, metric
        for side in ("a", "b"):
            # Of the truths as they are now, A meets 60 of 120 and B none.
            assert sum(row[side] for row in rows) / N == pytest.approx(explained[side]["value"]), metric
        assert abs(explained["difference"]["value"]) == pytest.approx(0.5), metric


def test_a_word_in_the_question_hides_no_regression(bench):
    released(bench)
    asked = [f"the question {k}" for k in range(100)]
    gate = gated(bench, TRUTHS, CASE_FAILED, inputs=asked, code=4)
    assert gate["verdict"] == "AMBIGUOUS"
    assert "20 of 120 cases" in gate["reason"]
    found = compared(code=4)["headline"]
    assert found["verdict"] == "cannot tell"
    assert "20 of 120 cases" in found["sentence"]


def test_ids_that_were_renamed_hide_no_regression(bench):
    released(bench)
    renamed = [f"{'new' if k < 100 else 'c'}{k:03d}" for k in range(N)]
    assert gated(bench, TRUTHS, CASE_FAILED, ids=renamed, code=4)["verdict"] == "AMBIGUOUS"
    assert compared(code=4)["headline"]["verdict"] == "cannot tell"


def test_cases_that_were_taken_out_hide_no_regression(bench):
    released(bench)
    assert gated(bench, TRUTHS[:60], TRUTHS[:60], code=4)["verdict"] == "AMBIGUOUS"
    assert "60 of 120 cases" in compared(code=4)["headline"]["sentence"]


def test_cases_that_were_moved_to_another_category_do_not_hide_in_it(bench):
    released(bench)
    # Of 30 cases of g0 fifteen break, and just these are called g9.
    moved = range(0, 60, 4)
    answers = ["wrong" if k in moved else truth for k, truth in enumerate(TRUTHS)]
    write(bench, TRUTHS, answers, gates=["category.g0.pass_rate >= @release"])
    cases = [json.loads(line) for line in (bench / "cases.jsonl").read_text().splitlines()]
    for k in moved:
        cases[k]["category"] = "g9"
    (bench / "cases.jsonl").write_text("".join(json.dumps(case) + "\n" for case in cases))
    (gate,) = json.loads(invoke("run", "names", "--json", code=4))["gates"]
    assert "15 of 30 cases that either run answered can be compared" in gate["reason"]


def test_a_slice_whose_cases_were_touched_is_not_decided_by_the_few_that_were_not(bench):
    """11 of 120 are touched, fewer than a tenth of all, but a third of one category, where all of them broke."""
    released(bench)
    hit = [k for k in range(N) if k % 4 == 0][:11]
    asked = [f"the question {k}" if k in hit else f"question {k}" for k in range(N)]
    answers = ["wrong" if k in hit else truth for k, truth in enumerate(TRUTHS)]
    gates = ["category.g0.pass_rate >= @release"]
    assert gated(bench, TRUTHS, answers, inputs=asked, gates=gates, code=4)["verdict"] == "AMBIGUOUS"


def test_a_suite_may_declare_a_lower_share_and_then_the_verdicts_own_line_says_so(bench):
    released(bench)
    limits = {"min_paired": 0.1}
    gate = gated(bench, TRUTHS[:60], ["wrong"] * 60, limits=limits, code=1)
    assert gate["verdict"] == "FAIL"
    assert "60 of 120 cases" in gate["reason"]
    found = compared(code=1)["headline"]
    assert found["verdict"] == "worse"
    assert "60 of 120 cases" in found["sentence"]


def test_without_the_suite_found_nothing_is_rescored_and_nobody_can_tell(bench):
    released(bench)
    touched = [truth.upper() if k < 100 else truth for k, truth in enumerate(TRUTHS)]
    gated(bench, touched, CASE_FAILED, code=1)
    shutil.rmtree(bench)
    found = compared(code=4)["headline"]
    assert found["verdict"] == "cannot tell"
    assert "20 of 120 cases" in found["sentence"]


def test_pairs_by_the_truth_of_b_are_those_of_a_rescored_by_it(bench):
    """Every figure, finding, confusion and check of A is what `rescore` makes of the run."""
    scorers = {
        "name": {"exact": {"expected": "expected.name", "ignore": ["case"]}},
        "near": {"keywords_or_fuzzy": {"answer": "name", "expected": "expected.name"}, "weight": 2},
    }
    more = {
        "score": scorers,
        "expect": {"named": {"path": "$.name", "equals": {"case": "expected.name"}}},
        "pass": "score >= 60 %",
    }
    released(
        bench, truths=TRUTHS[:40], answers=["Name" if k % 5 == 0 else t for k, t in enumerate(TRUTHS[:40])], **more
    )
    edited = [f"{truth}{' x' * (k % 4)}" if k < 30 else truth for k, truth in enumerate(TRUTHS[:40])]
    answers = ["other" if k % 3 == 0 else f"{truth} x" for k, truth in enumerate(TRUTHS[:40])]
    write(bench, edited, answers, gates=["pass_rate >= 1 %"], **more)
    invoke("run", "names", code=0)
    invoke("rescore", "LAST~1", "--suite", "names", code=0)
    paired = json.loads(invoke("compare", "@release", "LAST~1", "--json", code=4))
    rescored = json.loads(invoke("compare", "LAST", "LAST~1", "--no-attribution", "--json", code=4))
    for part in ("codes", "confusions", "checks", "pairs"):
        assert paired[part] == rescored[part], part
    for one, other in zip(paired["metrics"], rescored["metrics"], strict=True):
        assert one | {"verdict": ""} == other | {"verdict": ""}


def confusions(folder, truths, answers, edited):
    """What `compare` says of the confusions of one system after its truths were edited where no scorer looks."""
    released(folder, truths=truths, answers=answers)
    gated(folder, edited, answers, code=0)
    return compared(code=0)["confusions"]


def test_the_same_confusions_after_truth_edits_are_neither_new_nor_resolved(bench):
    """64-bit digests on both sides of 2**63 were converted through float64, so equal ones differed."""
    answers = [f"Name {(k + 1) % 60}" if k < 60 else truth for k, truth in enumerate(TRUTHS)]
    found = confusions(bench, TRUTHS, answers, [truth.upper() if k < 60 else truth for k, truth in enumerate(TRUTHS)])
    # Each of the 60 wrong answers is one confusion, in both runs.
    assert found["counts"] == {"same": 60}
