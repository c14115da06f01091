"""`steelyard power` as a person would use it."""

from __future__ import annotations

import json

import numpy as np
import pytest

from parts.command import invoke, steelyard
from parts.noisy_runs import add_run
from steelyard.store.sql import open_store


@pytest.fixture
def runs(tmp_path):
    """Three runs of 40 cases, each asked three times."""
    place = tmp_path / "runs.db"
    store = open_store(str(place))
    rng = np.random.default_rng(8)
    truth = rng.uniform(0.3, 0.7, (40, 1))
    for number in range(3):
        add_run(store, number, truth + rng.normal(0, 0.1, (40, 3)))
    store.close()
    return place


def test_it_says_what_can_be_detected_and_what_it_takes(runs, tmp_path):
    done = steelyard("power", "demo", "--store", runs, "--metric", "average", "--detect", "2 points", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "40 cases x 3 repeats detect a drop of " in done.stdout
    assert "To detect a drop of 2.0 points" in done.stdout
    assert "80 % power" in done.stdout


def test_json_and_text_say_the_same(runs):
    data = json.loads(invoke("power", "demo", "--store", runs, "--detect", "2", "--json"))
    assert data["metric"] == "pass_rate"
    assert data["detect"] == 0.02
    text = invoke("power", "demo", "--store", runs, "--detect", "2pp")
    assert f"{100 * data['now']:.1f} points of pass rate" in text
    assert [each["repeats"] for each in data["needed"]] == [1, 2, 3, 5, 10]
    for each in data["needed"]:
        assert f"{each['cases']:,}" in text


def test_one_run_without_repeats_is_said_to_know_little(tmp_path):
    store = open_store(str(tmp_path / "one.db"))
    add_run(store, 1, np.random.default_rng(1).random((30, 1)))
    store.close()
    told = " ".join(invoke("power", "demo", "--store", tmp_path / "one.db", "--detect", 3).split())
    assert "at worst" in told
    assert "unknown: no case was repeated; steelyard run SUITE --repeats 3 measures it" in told
    assert "To detect" not in told


def test_what_cannot_be_is_said_without_a_traceback(runs):
    assert "no run of a suite other" in invoke("power", "other", "--store", runs, code=2)


@pytest.mark.parametrize("command", ["power", "history"])
def test_a_folder_without_a_suite_does_not_hide_the_runs_of_that_name(command, runs, tmp_path, monkeypatch):
    for name in ("demo", "other"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path)
    assert json.loads(invoke(command, "demo", "--store", runs, "--json"))["suite"] == "demo"
    assert "of a suite" in invoke(command, "other", "--store", runs, code=2)


def test_a_folder_with_a_suite_is_named_by_its_suite(runs, tmp_path, monkeypatch):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "suite.yaml").write_text(
        "suite: demo\ncases: [{id: a, input: x, expected: {t: x}}]\ntarget: {recorded: answers.jsonl}\n"
        "score: {title: {exact: {expected: expected.t}}}\n"
    )
    (tmp_path / "folder" / "answers.jsonl").write_text('{"id": "a", "answer": {"title": "x"}}\n')
    monkeypatch.chdir(tmp_path)
    assert json.loads(invoke("power", "folder", "--store", runs, "--json"))["suite"] == "demo"


@pytest.mark.parametrize("change", ["x", "0", "-3", "101", "3 apples"])
def test_a_change_that_is_none_is_refused(runs, tmp_path, change):
    done = steelyard("power", "demo", "--store", runs, f"--detect={change}", cwd=tmp_path)
    assert done.returncode == 2
    assert f"{change!r} is no change: write percentage points" in " ".join(done.stderr.split())
