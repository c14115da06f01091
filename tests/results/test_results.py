"""Runs and what is made of them in Python: the same objects, figures and exit codes as on the command line."""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
from contextlib import closing

import pytest

import steelyard
from parts.command import invoke
from parts.judged_suite import write_judged
from parts.small_suite import write_suite
from steelyard import NotPassed, UsageError
from steelyard.engine.run_options import Selection
from steelyard.errors import RunNotFound

WRONG = """
def answer(case):
    return {"word": "word %d" % (case.input["number"] if case.input["number"] > 1 else 9)}
"""
EXACT = {"t": {"exact": {"expected": "expected"}}}
SPLIT = "+100.0 points; of these +100.0 scorers and weights, 0.0 system"
LOW = "average >= 50 %"
ONE = [{"id": "a", "expected": "x"}]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two runs of six cases: of the first, 4 of 6 answers are right, which fails; of the second, all."""
    folder = tmp_path_factory.mktemp("results")
    suite = write_suite(folder / "my")
    right = (folder / "my" / "system.py").read_text()
    before = os.getcwd()  # noqa: PTH109
    os.chdir(folder)
    for code in (WRONG, right):
        (folder / "my" / "system.py").write_text(code)
        steelyard.run_suite(steelyard.load_suite(suite))
    os.chdir(before)
    return folder


def copied(folder, to):
    """A copy of the folder's store, which may be in use."""
    with closing(sqlite3.connect(folder / ".steelyard/steelyard.db")) as source, closing(sqlite3.connect(to)) as copy:
        source.backup(copy)


@pytest.fixture(autouse=True)
def _in_the_folder(folder, monkeypatch):
    monkeypatch.chdir(folder)


def test_runs_are_listed_newest_first_with_their_figures():
    newest, oldest = steelyard.runs()
    assert [str(run.verdict) for run in (newest, oldest)] == ["PASS", "FAIL"]
    # 4 of 6 are right; no sample is read for that.
    assert (oldest.average.value, oldest.average.n) == (pytest.approx(4 / 6), 6)
    assert (oldest.pass_rate.value, newest.pass_rate.value) == (pytest.approx(4 / 6), 1.0)
    assert "report" not in vars(oldest)
    assert oldest.summary.overall["average"].value == oldest.average.value
    for suite in ("words", "my", steelyard.load_suite("my")):
        assert [run.id for run in steelyard.runs(suite)] == [newest.id, oldest.id]
    assert steelyard.runs("another") == []


def test_a_run_is_found_by_every_name_that_commands_take(tmp_path):
    newest, oldest = (run.id for run in steelyard.runs())
    invoke("baseline", "set", oldest, "--name", "release", "--force", "--reason", "a test")
    invoke("export", "LAST~1", tmp_path / "old.json")
    names = {"LAST": newest, "LAST~1": oldest, oldest[:-1]: oldest, "@release": oldest, tmp_path / "old.json": oldest}
    assert {name: steelyard.load_run(name).id for name in names} == names
    with pytest.raises(RunNotFound, match="nothing"):
        steelyard.load_run("nothing")
    in_file = steelyard.load_run(tmp_path / "old.json")
    assert [sample.passed for sample in in_file.samples] == [False, False, True, True, True, True]
    assert in_file.to_data()["verdict"] == "FAIL"
    with pytest.raises(UsageError, match="is not in a store"):
        steelyard.rescore(in_file)


def test_samples_are_read_without_their_answers(folder, tmp_path):
    run = steelyard.load_run("LAST")
    assert [(sample.case_id, sample.score, sample.call_result.text) for sample in run.samples][:2] == [
        ("c0", 1.0, None),
        ("c1", 1.0, None),
    ]
    assert [(case.input, sample.call_result.text) for sample, case in run.answers][1] == (
        {"number": 1},
        '{"word": "word 1"}',
    )
    # Answers that nobody can read any more are no trouble to whoever does not want them.
    copy = tmp_path / "copy.db"
    copied(folder, copy)
    with closing(sqlite3.connect(copy)) as broken, broken:
        for (name,) in broken.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            broken.execute(f"DROP TRIGGER {name}")
        broken.execute("UPDATE answers SET text = CAST(x'ff' AS TEXT)")
    run = steelyard.load_run("LAST", store=str(copy))
    assert len(list(run.samples)) == 6
    with pytest.raises(Exception, match="decode to UTF-8"):
        list(run.answers)


def test_a_run_that_did_not_pass_raises_its_reasons():
    newest, oldest = steelyard.runs()
    newest.raise_unless_passed()
    with pytest.raises(NotPassed, match="FAIL") as raised:
        oldest.raise_unless_passed()
    assert raised.value.reasons == tuple(oldest.report.decision.reasons)
    assert raised.value.reasons[0].startswith("pass_rate >= 90 %: 66.7 % is not >= 90.0 %")
    assert f"- {raised.value.reasons[0]}" in str(raised.value)
    assert raised.value.exit_code == 1


def test_a_run_without_answers_raises_why_it_is_invalid(folder, tmp_path):
    def gone(case):
        raise ConnectionError("nobody is there")

    suite = steelyard.Suite("gone", cases=ONE, target=gone, score=EXACT)
    run = suite.run(str(tmp_path / "gone.db"), retries=0)
    with pytest.raises(NotPassed, match="INVALID") as raised:
        run.raise_unless_passed()
    assert raised.value.exit_code == 3
    assert any("nobody is there" in reason for reason in raised.value.reasons)


@pytest.mark.parametrize(
    ("made", "command", "code"),
    [
        (lambda: steelyard.compare("LAST~1", "LAST"), ["compare", "LAST~1", "LAST"], 4),
        (
            lambda: steelyard.compare(*steelyard.runs(), attribution=False),
            ["compare", "LAST", "LAST~1", "--no-attribution"],
            4,
        ),
        (lambda: steelyard.gate("LAST~1"), ["gate", "LAST~1"], 1),
        (lambda: steelyard.gate("LAST~1", gates=[LOW]), ["gate", "LAST~1", "--gate", LOW], 0),
        (lambda: steelyard.gate("LAST", against="LAST~1"), ["gate", "LAST", "--against", "LAST~1"], 0),
        (lambda: steelyard.audit("my"), ["audit", "my"], 0),
        (lambda: steelyard.history("words"), ["history", "words"], 0),
    ],
    ids=["compare", "without attribution", "gate", "other gates", "against", "audit", "history"],
)
def test_python_gives_what_the_command_shows(made, command, code, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    result = made()
    assert json.loads(result.to_json()) == json.loads(invoke(*command, "--json", code=code))
    if hasattr(result, "exit_code"):
        assert result.exit_code == code
    shown = "\n".join(line.rstrip() for line in invoke(*command, code=code).splitlines())
    assert str(result).strip() == shown.strip()
    assert result.write_html(tmp_path / "x.html").read_text().startswith("<!doctype html>")
    assert result.document().title in result.write_markdown(tmp_path / "x.md").read_text()


def test_a_suite_of_a_program_says_why_the_number_moved(tmp_path):
    def suite(**scorer):
        score = {"t": {"exact": {"expected": "expected", **scorer}}}
        return steelyard.Suite("s", cases=ONE, target=lambda _: "X", score=score, passing="score >= 50 %")

    store = str(tmp_path / "runs.db")
    before, after = suite(ignore=[]).run(store), suite(ignore=["case"]).run(store)
    # The answer is the same and the scorer another: all 100 points are the scorer's.
    assert SPLIT in " ".join(str(steelyard.compare(before, after)).split())
    stored = [steelyard.load_run(run.id, store) for run in (before, after)]
    assert "suite cannot be read" in " ".join(str(steelyard.compare(*stored)).split())
    assert SPLIT in " ".join(str(steelyard.compare(*stored, suite=suite(ignore=["case"]))).split())


def test_gates_of_a_suite_as_it_is_now(folder):
    now = steelyard.load_suite("my").changed(gates=("pass_rate >= 60 %",))
    assert steelyard.gate("LAST~1", now).verdict == "PASS"
    assert steelyard.gate("LAST~1", "my").result.decision.gates[0].gate == "pass_rate >= 90 %"


def test_scoring_again_is_a_new_run_of_the_same_answers(folder, tmp_path):
    store = str(tmp_path / "copy.db")
    copied(folder, store)
    old = steelyard.load_run("LAST~1", store)
    new = steelyard.rescore(old)
    assert (new.header.rescored_from, new.average.value) == (old.id, old.average.value)
    assert steelyard.runs(store=store)[0].id == new.id
    # All answers are wrong to a suite that asks for something else.
    score = {"word": {"exact": {"expected": "category"}}}
    cases, answer = str(folder / "my/cases.jsonl"), {"format": "json"}
    other = steelyard.Suite("words", cases=cases, target=lambda _: "", score=score, answer=answer)
    assert steelyard.rescore("LAST", other, store=store).average.value == 0


def test_the_judge_is_checked_now_or_in_a_stored_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = write_judged(tmp_path / "my", health=["agreement.clarity.exact >= 90 %"])
    card = steelyard.judge_check(path)
    stored = steelyard.load_run("LAST")
    assert card.result.health["texts"].value == 4
    # All 4 agree, and 4 are too few for 90 %.
    assert (card.verdict, card.exit_code) == ("AMBIGUOUS", 4)
    again = steelyard.judge_check(path, stored)
    shown = json.loads(invoke("judge", "check", path, "--run", stored.id, "--json", code=4))
    assert json.loads(again.to_json()) == json.loads(card.to_json()) == shown
    with pytest.raises(UsageError, match="has no judge"):
        steelyard.judge_check(write_suite(tmp_path / "other"))


def test_a_suite_runs_inside_a_running_event_loop(tmp_path):
    async def answer(case):
        await asyncio.sleep(0)
        return "x"

    async def cell():
        suite = steelyard.Suite("s", cases=ONE, target=answer, score=EXACT)
        return suite.run(str(tmp_path / "runs.db"))

    assert asyncio.run(cell()).average.value == 1.0


def test_a_run_is_a_table_of_three_libraries():
    run = steelyard.load_run("LAST~1")
    frame = run.to_pandas()
    assert frame["score"].tolist() == [0, 0, 1, 1, 1, 1]
    assert run.to_polars(answers=True)["answer"][2] == '{"word": "word 2"}'
    assert run.to_arrow("findings").num_rows == 2


def test_a_run_of_a_part_says_so_in_python_and_in_sql(tmp_path):
    store = str(tmp_path / "runs.db")
    suite = steelyard.Suite("s", cases=[*ONE, {"id": "b", "expected": "x"}], target=lambda case: "x", score=EXACT)
    whole, part = (suite.run(store, selection=Selection(limit=limit)) for limit in (None, 1))
    assert (whole.is_partial, part.is_partial) == (False, True)
    rows = json.loads(invoke("sql", "select run, partial, scored_by from runs", "--store", store, "--json"))
    assert {row["run"]: row["partial"] for row in rows} == {whole.id: False, part.id: True}
    assert {row["scored_by"] for row in rows} == {None}
