"""A verdict that was reached by trying again: run, judged or retried until it passes, the failures deleted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from parts.command import invoke
from parts.judge_server import judge_server
from parts.judged_suite import verdict, write_judged
from parts.loopback import Loopback, json_answer
from parts.small_suite import http_target, write_suite
from steelyard.errors import StoreError
from steelyard.records import RunState
from steelyard.store.sql import open_store

SYSTEM = """
import os

def answer(case):
    number = case.input["number"]
    if number < int(os.environ.get("DOWN", "0")):
        raise RuntimeError("not there")
    return {"word": "wrong" if number < int(os.environ["BROKEN"]) else f"word {number}"}
"""


@pytest.fixture
def suite(tmp_path, monkeypatch):
    """Twenty cases, of which BROKEN are answered wrongly and DOWN not at all, by the same code."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("STEELYARD_STORE", str(tmp_path / "store.db"))
    path = write_suite(tmp_path / "words", n=20, limits={"retries": 0})
    (tmp_path / "words" / "system.py").write_text(SYSTEM)

    def run(*options, broken=0, down=0, code=0):
        monkeypatch.setenv("BROKEN", str(broken))
        monkeypatch.setenv("DOWN", str(down))
        return " ".join(invoke(*(options or ("run", path)), code=code).split())

    return run


def edit(old, new, file="words/suite.yaml"):
    text = Path(file).read_text()
    assert old in text
    Path(file).write_text(text.replace(old, new))


def disclosed(*command):
    return json.loads(invoke(*command, "--json"))["disclosures"]


def test_a_run_that_passes_at_the_third_attempt_says_so(suite):
    assert "before" not in suite(broken=5, code=1)
    suite(broken=10, code=1)
    told = suite()
    assert "PASS" in told
    assert "run 2 times before with the same signature and target: 2 FAIL" in told
    # From the snapshot alone, in a folder without the store.
    invoke("export", "LAST", "run.json")
    Path("store.db").unlink()
    assert "run 2 times before with the same signature and target: 2 FAIL" in disclosed("report", "run.json")


@pytest.mark.parametrize(
    ("trick", "what"),
    [
        (lambda: Path("words").rename("other"), "with the same signature and target: 1 FAIL"),
        (lambda: edit("suite: words", "suite: fresh"), "with the same signature and target: 1 FAIL"),
        (lambda: edit("suite: words", "# a comment\nsuite: words"), "with the same signature and target: 1 FAIL"),
        (lambda: edit("pass_rate >= 90 %", "pass_rate >= 80 %"), "1 FAIL (1 with other gates, limits or prices)"),
        (lambda: edit("pass: score >= 90 %", "pass: score >= 50 %"), "with the same target: 1 FAIL (1 with another"),
        (lambda: edit('"word 19"', '"word nineteen"', "words/cases.jsonl"), "with the same target: 1 FAIL"),
        (lambda: edit("suite: words", "suite: words\nrepeats: 2"), "1 FAIL (1 with other gates, limits or prices)"),
    ],
    ids=["folder", "name", "comment", "gate", "pass rule", "truth", "repeats"],
)
def test_no_small_edit_makes_it_the_first_run(suite, trick, what):
    suite(broken=5, code=1)
    trick()
    told = suite("run", "other" if Path("other").exists() else "words")
    assert f"run once before {what}" in told or f"run once before with the same signature and target: {what}" in told


@pytest.mark.parametrize("part", [("--limit", 3), ("--only", "category=even"), ("--repeats", 2), ("--sample", 5)])
def test_a_part_of_the_cases_is_an_attempt_as_well(suite, part):
    suite("run", "words", *part, broken=20, code=1)
    assert "run once before" in suite()


def test_a_run_that_was_stopped_is_an_attempt(suite, monkeypatch):
    suite(broken=5, code=1)
    store = open_store()
    with store:
        header = store.run("LAST")
        header.id, header.state, header.verdict = "words-stopped", RunState.INTERRUPTED, None
        store.create_run(header)
    assert "run 2 times before with the same signature and target: 1 FAIL, 1 interrupted" in suite()


def test_another_system_is_no_attempt(suite):
    suite(broken=5, code=1)
    edit("wrong", "WRONG", "words/system.py")
    assert "before" not in suite()


def test_a_deleted_failure_still_counts_and_leaves_a_line(suite):
    suite(broken=5, code=1)
    suite(broken=5, down=9, code=3)
    told = suite("runs", "delete", "LAST", "LAST~1", "--yes")
    assert "still count them" in told
    assert "2 runs deleted: 1 FAIL, 1 INVALID" in suite("runs")
    assert "2 runs deleted: 1 FAIL, 1 INVALID" in suite("history", "words", code=2)
    assert "run 2 times before with the same signature and target: 1 FAIL, 1 INVALID (2 of them deleted)" in suite()
    told = suite("history", "words")
    assert "Deleted runs" in told
    assert "2 runs deleted: 1 FAIL, 1 INVALID" in told
    assert json.loads(invoke("history", "words", "--json"))["deleted"][0]["verdicts"] == {"FAIL": 1, "INVALID": 1}


def test_pruned_runs_count_and_are_copied_with_their_store(suite, tmp_path, monkeypatch):
    for _ in range(3):
        suite(broken=5, code=1)
    suite("runs", "prune", "--keep", "1", "--yes")
    suite("store", "copy", str(tmp_path / "store.db"), str(tmp_path / "copy.db"))
    monkeypatch.setenv("STEELYARD_STORE", str(tmp_path / "copy.db"))
    assert "run 3 times before with the same signature and target: 3 FAIL (2 of them deleted)" in suite()


def test_the_log_of_deleted_runs_cannot_be_cleaned(suite):
    suite(broken=5, code=1)
    suite("runs", "delete", "LAST", "--yes")
    with open_store() as store:
        for statement in ("DELETE FROM deleted_runs", "UPDATE deleted_runs SET verdict = 'PASS'"):
            with pytest.raises(StoreError, match="only grows"), store.database.writing() as session:
                session.execute(statement)
        assert [run.verdict for run in store.deleted_runs("words")] == ["FAIL"]


def test_retries_of_retries_are_added_up(suite):
    suite(down=6, code=3)
    assert "6 failed samples of run" in suite("run", "words", "--retry-failed", "LAST", down=4, code=3)
    told = suite("run", "words", "--retry-failed", "LAST")
    # 6 samples, then the 4 of them that failed again.
    assert "run again (10 in 2 retries)" in told
    assert "run 2 times before with the same signature and target: 2 INVALID" in told


def test_earlier_runs_are_a_note_where_nothing_failed_and_a_warning_where_this_pass_could_be_a_selected_one(suite):
    suite()
    assert "* run once before with the same signature and target: 1 PASS" in suite()
    assert "* run 2 times before with the same signature and target: 2 PASS" in suite(broken=5, code=1)
    assert "! run 3 times before with the same signature and target: 2 PASS, 1 FAIL" in suite()


def test_a_rescore_is_one_sentence_and_a_note_unless_the_same_answers_failed_before(suite):
    suite()
    told = suite("rescore", "LAST")
    assert told.count("the same answers") == 1
    assert "the same answers scored 2 times; before this: 1 PASS" in told
    assert "* rescored from run words-" in told
    suite(broken=5, code=1)
    edit("pass_rate >= 90 %", "pass_rate >= 60 %")
    assert "! rescored from run words-" in suite("rescore", "LAST", broken=5)


def test_a_run_against_a_baseline_states_its_earlier_runs_once(suite):
    suite()
    invoke("baseline", "set", "LAST", "--name", "release", "--by", "ann", "--reason", "first")
    told = suite("run", "words", "--against", "release")
    assert told.count("run once before with the same signature and target") == 1
    assert suite("compare", "@release", "LAST").count("run once before") == 1


def test_answers_judged_until_they_pass_say_how_often(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    with judge_server(verdict(2)) as server:
        invoke("run", write_judged(tmp_path / "my", suite={"gates": ["average >= 60 %"]}), code=1)
        again = ("rescore", "LAST", "--judge-again", "--yes", "--judge", server.base_url, "--judge-model", "m-2")
        invoke(*again, code=1)
        invoke(*again, code=1)
        server.by_model("m-2", verdict(5))
        told = " ".join(invoke(*again).split())
    assert "the same answers judged 4 times; before this: 3 FAIL" in told


def test_answers_rescored_under_other_rules_say_how_often(suite):
    suite(broken=5, code=1)
    suite("rescore", "LAST", broken=5, code=1)
    edit("pass_rate >= 90 %", "pass_rate >= 60 %")
    assert "the same answers scored 3 times; before this: 2 FAIL" in suite("rescore", "LAST", broken=5)


def test_an_invalid_run_on_one_screen_omits_nothing(suite):
    suite(down=9, code=3)
    suite(down=9, code=3)
    edit("pass_rate >= 90 %", "pass_rate >= 60 %")
    suite("rescore", "LAST", down=9, code=3)
    told = suite("report", "LAST", code=0)
    sentences = json.loads(invoke("report", "LAST", "--json"))["disclosures"]
    assert len(sentences) >= 3
    assert [sentence for sentence in sentences if sentence not in told] == []


def test_every_report_and_the_comparison_say_it(suite, tmp_path):
    suite(broken=5, code=1)
    suite(broken=4, code=1)
    sentence = "run once before with the same signature and target: 1 FAIL"
    for option, file in (("--html", "a.html"), ("--markdown", "a.md"), ("--junit", "a.xml")):
        invoke("report", "LAST", option, file)
        assert sentence in " ".join(Path(file).read_text().split())
    assert sentence in suite("compare", "LAST~1", "LAST", code=4)


def test_an_a_b_that_is_repeated_says_so(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")

    def right(seen):
        return json_answer({"answer": {"word": f"word {seen.json['number']}"}})

    with Loopback() as one, Loopback() as other:
        one.on("/ask", right)
        other.on("/ask", right)
        write_suite(tmp_path / "words", n=12, target=http_target(one.base_url))
        arms = ("ab", "words", "--b", f"url={other.base_url}/ask")
        first = " ".join(invoke(*arms, code=4).split())
        assert "before" not in first.replace("beforehand", "")
        told = " ".join(invoke(*arms, code=4).split())
    assert "A was run once before with the same signature and target: 1 PASS" in told
    assert "B was run once before with the same signature and target: 1 PASS" in told


def test_an_a_b_after_a_plain_run_of_the_same_suite_has_no_other_gates(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("BROKEN", "0")
    write_suite(tmp_path / "words", n=12)
    (tmp_path / "words" / "system.py").write_text(f"{SYSTEM}\n\ndef other(case):\n    return answer(case)\n")
    invoke("run", "words")
    arms = ("ab", "words", "--b", "function=system:other")
    told = " ".join(invoke(*arms, code=4).split())
    assert "A was run once before with the same signature and target: 1 PASS" in told
    assert "with other gates" not in told
    edit("pass_rate >= 90 %", "pass_rate >= 60 %")
    assert "with other gates, limits or prices" in " ".join(invoke(*arms, code=4).split())


def test_deleted_attempts_of_an_experiment_count(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    write_suite(tmp_path / "words", n=12)
    plan = {
        "experiment": "trial",
        "hypothesis": "It is better.",
        "suite": "words",
        "factor": "load",
        "baseline": {"concurrency": 1},
        "candidate": {"concurrency": 2},
        "criteria": {"adopt": ["better"]},
    }
    Path("trial.yaml").write_text(json.dumps(plan))
    for _ in range(2):
        invoke("experiment", "trial.yaml", "--restart", code=1)
    invoke("runs", "delete", "LAST", "LAST~1", "LAST~2", "LAST~3", "--yes")
    told = " ".join(invoke("experiment", "trial.yaml", code=1).split())
    assert "run 2 times before: 2 PASS (2 of them deleted); repeating an experiment until it succeeds" in told


def test_runs_of_another_prompt_are_no_earlier_runs_of_this_one(suite):
    edit("suite: words", "suite: words\nvariants: {tone: [short]}")
    suite(broken=5, code=1)
    edit("tone: [short]", "tone: [long]")
    assert "before" not in suite()


def test_other_gates_and_another_signature_are_counted_once(suite):
    # The first run differs in its truth and its gate, the second in its gate alone.
    suite(broken=5, code=1)
    edit('"word 19"', '"word nineteen"', "words/cases.jsonl")
    suite(broken=5, code=1)
    edit("pass_rate >= 90 %", "pass_rate >= 80 %")
    assert "2 FAIL (1 with another signature, 1 with other gates, limits or prices)" in suite()


def test_a_dropped_case_whose_call_failed_did_not_pass(suite):
    suite(down=1)
    cases = Path("words/cases.jsonl")
    cases.write_text("".join(cases.read_text().splitlines(keepends=True)[2:]))
    assert "2 cases of run words-" in (told := suite())
    assert "are not in this run, 1 of them passed there: c0, c1" in told
