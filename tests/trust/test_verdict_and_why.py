"""Lies by another scale: a verdict speaks of the system's part of a change, as its own explanation does."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from parts.command import invoke
from parts.judge_server import judge_server, last_message
from parts.judged_suite import chat_judge, verdict, write_judged

N = 16


@pytest.fixture
def judge(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STEELYARD_STORE", str(tmp_path / "store.db"))
    with judge_server(clarity(0)) as server:
        yield server


def clarity(more):
    """A judge that gives 3, and 4 to what says that it is fine, and so many steps more to all."""
    return lambda request: verdict((4 if "is fine" in last_message(request) else 3) + more)


def run(server, say):
    """Run a suite whose system says `say(k)` of number k; the average decides."""
    texts = {k: f"Number {k} {say(k)} and this takes ten words to be said." for k in range(N)}
    chosen = chat_judge(server, model="judge-1", price={"input": 1.0, "output": 1.0})
    write_judged(Path("judged"), n=N, texts=texts, **chosen)
    file = Path("judged/suite.yaml")
    suite = {key: value for key, value in yaml.safe_load(file.read_text()).items() if key not in ("pass", "gates")}
    file.write_text(yaml.safe_dump(suite, sort_keys=False))
    invoke("run", "judged")


def compared(*more, code):
    found = json.loads(invoke("compare", "LAST~1", "LAST", "--json", *more, code=code))
    part = {"+".join(each["causes"]): each["change"]["value"] for each in found["attribution"]["portions"]}
    called = {each["verdict"] for each in found["metrics"] if each["group"] not in ("latency", "spending", "failures")}
    return found["headline"], part, called


def test_a_gain_that_is_all_the_judges_is_not_better(judge):
    run(judge, lambda k: "is plain")
    judge.by_model("judge-1", clarity(1))
    run(judge, lambda k: "is quite plain")
    headline, part, called = compared("--rejudge", N, "--yes", code=0)
    assert part["judge"] == pytest.approx(0.25)
    assert part["system"] == pytest.approx(0.0)
    assert headline["verdict"] == "same"
    assert "judge +25.0" in headline["sentence"]
    assert not called & {"better", "worse", "changed"}


def test_a_loss_of_the_system_that_the_judge_makes_up_for_is_not_same(judge):
    run(judge, lambda k: "is fine" if k < 12 else "is plain")
    judge.by_model("judge-1", clarity(1))
    run(judge, lambda k: "is quite plain")
    headline, part, called = compared("--rejudge", N, "--yes", code=1)
    assert (part["judge"], part["system"]) == (pytest.approx(0.25), pytest.approx(-0.1875))
    assert headline["verdict"] == "worse"
    assert "better" not in called


def test_a_gain_that_is_partly_the_judges_is_said_with_the_systems_part_alone(judge):
    run(judge, lambda k: "is plain")
    judge.by_model("judge-1", clarity(1))
    run(judge, lambda k: "is fine" if k < 12 else "is quite plain")
    headline, part, _ = compared("--rejudge", N, "--yes", code=0)
    assert (part["judge"], part["system"]) == (pytest.approx(0.25), pytest.approx(0.1875))
    assert headline["verdict"] == "better"
    assert "+18.8 points [" in headline["sentence"]
    assert "judge +25.0" in headline["sentence"]


def test_explaining_a_figure_ends_as_the_comparison_does(judge):
    """Twelve of 16 answers differ, and nothing shows whether the judge of them drifted: neither ends as better."""
    run(judge, lambda k: "is plain")
    run(judge, lambda k: "is fine" if k < 12 else "is plain")
    assert compared(code=4)[0]["verdict"] == "cannot tell"
    invoke("compare", "LAST~1", "LAST", "--explain", "average", code=4)
