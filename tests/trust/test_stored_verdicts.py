"""An ended run whose verdict or figures depend on where, when or with what they are read."""

import json
import shutil
from dataclasses import replace

import pytest

import steelyard
from parts.command import invoke
from parts.command import steelyard as in_a_process
from parts.judged_suite import TEXT, write_judged
from parts.small_suite import write_suite
from steelyard.metrics import own
from steelyard.records import Verdict
from steelyard.runner import run as running
from steelyard.store.people import RANDOM, LabelRecord
from steelyard.store.sql import open_store

FIGURES = """
import steelyard

@steelyard.metric("resolved", formula="passed / n", aggregate="rate")
def resolved(samples):
    return samples.passed()

@steelyard.metric("words_per_pass", formula="samples / passed", unit="count", better="lower", aggregate="ratio")
def words_per_pass(samples):
    return samples.passed() * 0 + 2, samples.passed()
"""
GATES = ["resolved >= 80 %", "words_per_pass <= 3"]


@pytest.fixture
def ended(tmp_path, monkeypatch):
    """A run of a suite with two metrics of its own, 9 of 10 right; gives a folder that has the store and no suite."""
    home, other = tmp_path / "home", tmp_path / "other"
    metrics = ["figures:resolved", "figures:words_per_pass"]
    write_suite(home / "words", n=10, metrics=metrics, gates=GATES)
    (home / "words" / "figures.py").write_text(FIGURES)
    system = home / "words" / "system.py"
    system.write_text(system.read_text().replace("'word %d'", "'no' if case.id == 'c0' else 'word %d'"))
    monkeypatch.chdir(home)
    invoke("run", "words", "--save", "run.json")
    other.mkdir()
    shutil.copytree(home / ".steelyard", other / ".steelyard")
    shutil.copy(home / "run.json", other)
    own.forget_metrics()
    return other


def gates_of(printed):
    return {gate["gate"]: (gate["verdict"], gate["value"]["value"]) for gate in json.loads(printed)["gates"]}


WORTH = {GATES[0]: ("PASS", 0.9), GATES[1]: ("PASS", pytest.approx(20 / 9))}


@pytest.mark.parametrize("what", [("report", "LAST"), ("gate", "LAST"), ("report", "run.json"), ("gate", "run.json")])
def test_a_suites_own_metric_gives_the_same_verdict_in_another_folder(ended, monkeypatch, what):
    monkeypatch.chdir(ended)
    assert gates_of(invoke(*what, "--json")) == WORTH
    own.forget_metrics()
    done = in_a_process(*what, "--json", cwd=ended)
    assert (done.returncode, gates_of(done.stdout)) == (0, WORTH)


def test_another_folder_compares_and_explains_it_and_python_reads_it(ended, monkeypatch):
    monkeypatch.chdir(ended)
    moved = {item["name"]: item for item in json.loads(invoke("compare", "LAST", "run.json", "--json"))["metrics"]}
    assert moved["resolved"]["a"]["value"] == moved["resolved"]["b"]["value"] == 0.9
    (explained,) = json.loads(invoke("report", "LAST", "--explain", "resolved", "--json"))["explained"]
    assert explained["figure"]["value"] == 0.9
    own.forget_metrics()
    assert steelyard.load_run("run.json").verdict is Verdict.PASS
    assert steelyard.gate(steelyard.load_run("LAST")).verdict is Verdict.PASS


@pytest.mark.parametrize("changed", ["samples.passed() * 0", "1 / 0"])
def test_another_code_of_the_metric_changes_no_run_that_has_ended(ended, monkeypatch, changed):
    home = ended.parent / "home"
    monkeypatch.chdir(home)
    code = FIGURES.replace("return samples.passed()\n", f"return {changed}\n")
    (home / "words" / "figures.py").write_text(code)
    done = in_a_process("gate", "LAST", "--json", cwd=home)
    assert (done.returncode, gates_of(done.stdout)) == (0, WORTH)


def test_without_some_cases_the_stored_values_of_the_others_count(ended, monkeypatch):
    monkeypatch.chdir(ended)
    store = open_store()
    header = store.run("LAST")
    from steelyard.analysis.summary_from_store import summarise_without

    # c0 is the one that is wrong; c3 is right.
    for out, rate in (({"c0"}, 1.0), ({"c3"}, 8 / 9)):
        summary, n_out = summarise_without(store, header, out)
        assert (summary.overall["resolved"].value, n_out) == (pytest.approx(rate), 1)
    store.close()


def test_a_report_keeps_the_verdict_of_the_run_and_says_what_would_be_another_now(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_suite(tmp_path / "words", n=10)
    decide = running.decide
    with monkeypatch.context() as older:
        # As if an older version had decided it.
        older.setattr(running, "decide", lambda *a, **b: replace(decide(*a, **b), verdict=Verdict.AMBIGUOUS))
        invoke("run", "words", "--save", "run.json", code=4)
    says = "the run ended AMBIGUOUS; computed again, the gates give PASS"
    report = json.loads(invoke("report", "run.json", "--json"))
    assert report["verdict"] == "AMBIGUOUS"
    assert report["reasons"][0].startswith(says)
    assert says in " ".join(invoke("report", "run.json").split())
    assert says in " ".join(invoke("gate", "run.json").split())
    assert steelyard.load_run("run.json").verdict is Verdict.AMBIGUOUS


def test_labels_that_come_later_change_no_verdict_in_silence(tmp_path, monkeypatch):
    """A judge must be checked: without labels the run is AMBIGUOUS, and stays so when 30 texts get labels."""
    monkeypatch.chdir(tmp_path)
    splendid = {k: f"{TEXT.format(number=k)} How splendid." for k in range(0, 30, 2)}
    judged = {"label": None, "require_checked": True, "suite": {"gates": ["pass_rate >= 70 %"]}}
    invoke("run", write_judged(tmp_path / "my", n=30, texts=splendid, **judged), code=4)
    store = open_store()
    run_id = store.run("LAST").id
    scores = {"clarity": 4, "harm": False}
    labels = [LabelRecord("numbers", f"c{k}", "ann", "scores", scores, run_id, drawn=RANDOM) for k in range(30)]
    store.people.add_labels(labels)
    store.close()
    report = json.loads(invoke("report", "LAST", "--json"))
    says = "the run ended AMBIGUOUS; computed again, the gates give PASS: labels, baselines, gates or the version"
    assert (report["verdict"], report["reasons"][0].startswith(says)) == ("AMBIGUOUS", True)
    # `gate` checks with the labels of now, and says that this is not what the run ended with.
    assert says in " ".join(invoke("gate", "LAST").split())


def recorded(folder, **more):
    """A judged suite whose four recorded answers cost 1, took 2 s and 50 tokens each."""
    path = write_judged(folder, suite={"gates": ["cost.total <= 2"]}, **more)
    answers = folder / "answers.jsonl"
    rows = [json.loads(line) for line in answers.read_text().splitlines()]
    usage = {"cost": 1.0, "latency": 2.0, "tokens_in": 50, "tokens_out": 5}
    answers.write_text("".join(json.dumps(row | usage) + "\n" for row in rows))
    return path


def totals(report):
    return tuple(report["figures"][name]["value"] for name in ("cost.total", "tokens.in", "latency.p50"))


@pytest.mark.parametrize("again", [("--judge-again",), ()])
def test_answers_that_are_judged_or_scored_again_keep_their_cost(tmp_path, monkeypatch, again):
    monkeypatch.chdir(tmp_path)
    first = json.loads(invoke("run", recorded(tmp_path / "my"), "--json", code=1))
    second = json.loads(invoke("rescore", "LAST", *again, "--json", code=1))
    assert totals(first) == totals(second) == (4.0, 200.0, 2.0)
