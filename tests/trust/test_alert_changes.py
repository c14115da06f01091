"""Alerts that are raised without a change, not raised on one, or that could never be raised."""

from __future__ import annotations

import json
import re

import pytest
import yaml

from parts.command import invoke, outputs
from parts.nightly import Nightly
from parts.small_suite import write_suite
from steelyard.alerts.evidence import State
from steelyard.loading.load import load_suite


@pytest.fixture
def nightly(tmp_path, request):
    made = Nightly(tmp_path, n=getattr(request, "param", 20))
    yield made
    made.close()


def failing(*cases):
    return {f"c{case}": f"wrong {case}" for case in cases}


def state_of(nightly, header, rule, **window):
    found = nightly.readings(header, {"regression": rule}, **({"runs": 10} | window))
    return next(iter(found.values()))


@pytest.mark.parametrize("nightly", [60], indirect=True)
def test_a_drop_that_fishers_test_finds_is_found(nightly):
    # 97 % before (2 of 60 a night, never the same), 85 % now: scipy.stats.fisher_exact([[580, 20], [51, 9]]) = 0.0006;
    # sign flips of ten nights against one had 0.04.
    for night in range(10):
        nightly.run(failing(2 * night, 2 * night + 1))
    found = state_of(nightly, nightly.run(failing(*range(30, 39))), {})
    assert found.state is State.THERE
    assert "exact permutation of runs within cases, 60 cases" in found.significance


@pytest.mark.parametrize("metric", ["pass_rate", "average", "score.word.average"])
def test_a_lucky_night_is_no_change(nightly, metric):
    # Two other cases fail each night, and none tonight: (10 / 11) ** 20 = 0.15. Sign flips: 20 of 20 rose, p < 0.001.
    for night in range(10):
        nightly.run(failing(2 * night, 2 * night + 1))
    assert state_of(nightly, nightly.run(), {"metric": metric, "worse": "higher"}).state is State.GONE


def test_a_code_that_happens_not_to_occur_tonight_is_no_change(nightly):
    for night in range(10):
        nightly.run(failing(2 * night, 2 * night + 1))
    found = state_of(nightly, nightly.run(), {"metric": "findings.WORD.rate", "worse": "lower"})
    assert found.state is State.GONE
    assert "exact permutation of runs within cases" in found.significance


def test_nights_that_vary_as_a_whole_are_no_evidence_for_one_more(nightly):
    # 5 or 15 of 20 cases fail together, night by night; tonight 16. Sign flips: p < 0.001.
    for night in range(8):
        nightly.run(failing(*range(5 if night % 2 else 15)))
    found = state_of(nightly, nightly.run(failing(*range(16))), {})
    assert found.state is State.GONE
    assert "dispersion of earlier runs" in found.significance


def written(folder, alerts, sizes, **more):
    """The path of a suite with cases of these categories, by number."""
    path = write_suite(folder, alerts=alerts, **more)
    rows = [
        {"id": f"c{i}", "input": {"number": i}, "expected": {"word": f"word {i}"}, "category": category, "doc": doc}
        for i, (category, doc) in enumerate((name, i % 4) for name, n in sizes.items() for i in range(n))
    ]
    (folder / "cases.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


LATENCY = {"latency_rise": {"metric": "latency.p50"}}
NEVER = {
    "a category of 9 among three, against a baseline": (
        {"rules": [{"regression": {"metric": "category.*.pass_rate", "against": "release"}}]},
        {"a": 9, "b": 9, "c": 9},
        # 2 / 2**9 = 0.0039, times 3 slices.
        r"9 cases of a reach p 0\.012 at best, adjusted for 3 slices, and sure: 99 % asks for less than 0\.01",
    ),
    "a category of 7 against a baseline": (
        {"rules": [{"regression": {"metric": "category.a.pass_rate", "against": "release"}}]},
        {"a": 7, "b": 60},
        r"7 cases of a reach p 0\.016 at best",
    ),
    "a category of 3 against three earlier runs": (
        {"rules": [{"regression": {"metric": "category.a.average"}}], "window": {"runs": 3}, "sure": "99 %"},
        {"a": 3, "b": 60},
        r"3 cases of a reach p 0\.016 at best",
    ),
    "a whole suite of 5 cases against a baseline": (
        {"rules": [{"regression": {"against": "release"}}]},
        {"a": 5},
        r"5 cases reach p 0\.062 at best",
    ),
    "a median of 10 cases against a baseline": (
        {"rules": [{"regression": {"metric": "median", "against": "release"}}]},
        {"a": 10},
        r"10 cases reach p 1 at best",
    ),
    "more runs than the window has": (
        {"rules": ["regression"], "window": {"runs": 5, "min_runs": 8}},
        {"a": 40},
        r"the window has at most 5 runs and asks for 8 \(min_runs\)",
    ),
    "a latency of a window of two runs": (
        {"rules": [LATENCY], "window": {"runs": 2, "min_runs": 1}},
        {"a": 40},
        r"a latency or cost takes 3 earlier runs, and the window has 2",
    ),
    "a confidence level of 100 %": ({"rules": ["regression"], "sure": "100 %"}, {"a": 40}, r"sure is 100 %"),
    "a drop by more than there is": (
        {"rules": [{"regression": {"metric": "pass_rate", "by": "120 points"}}]},
        {"a": 40},
        r"pass_rate cannot change by 120 points",
    ),
    "a figure that is not compared with a baseline": (
        {"rules": [{"regression": {"metric": "scored_rate", "against": "release", "worse": "lower"}}]},
        {"a": 40},
        r"scored_rate is not compared with a baseline",
    ),
    "drift of a judge that does not exist": ({"rules": ["judge_drift"]}, {"a": 40}, r"the suite has no judge"),
    "flags without a judge": ({"rules": ["flag_rate"]}, {"a": 40}, r"the suite has no judge with flags"),
}


@pytest.mark.parametrize("what", NEVER)
def test_a_rule_that_could_never_fire_is_an_error_of_the_suite(tmp_path, monkeypatch, what):
    monkeypatch.chdir(tmp_path)
    alerts, cases, message = NEVER[what]
    path = written(tmp_path, alerts, cases)
    shown = invoke("run", path, code=2)
    assert re.search(rf"suite\.yaml:\d+: alerts\.rules\[0\]: .* can never fire: {message}", " ".join(shown.split()))


def test_cases_of_a_few_documents_are_a_few_units(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    alerts = {"rules": [{"regression": {"against": "release"}}]}
    clusters = {"cases": {"files": "cases.jsonl", "cluster": "doc"}}
    shown = invoke("run", written(tmp_path, alerts, {"a": 60}, **clusters), code=2)
    assert "60 cases in 4 clusters reach p 0.12 at best" in " ".join(shown.split())


def test_what_the_project_allows_can_fire(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = written(tmp_path, NEVER["a category of 7 against a baseline"][0], {"a": 7, "b": 60})
    (tmp_path / "steelyard.yaml").write_text(yaml.safe_dump({"alerts": {"sure": "95 %"}}))
    assert load_suite(path).alerts.rules[0].against == "release"


def test_a_slice_that_could_never_fire_is_reported_before_the_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    alerts = {"rules": [{"regression": {"metric": "category.*.pass_rate", "against": "release"}}], "channels": []}
    path = written(tmp_path, alerts, {"a": 40, "b": 4})
    _, notes = outputs("run", path, "--store", tmp_path / "runs.db")
    assert "category.*.pass_rate against release is limited: 4 cases of b reach p 0.12 at best" in notes
    assert "of a reach" not in notes


def test_a_rule_of_the_project_that_could_never_fire_here_is_reported_before_the_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "steelyard.yaml").write_text(
        yaml.safe_dump({"alerts": {"rules": ["judge_drift", {"latency_rise": {"metric": "latency.p99"}}]}})
    )
    path = written(tmp_path, None, {"a": 40})
    _, notes = outputs("run", path, "--store", tmp_path / "runs.db")
    assert "alerts: judge_drift can never fire: the suite has no judge" in notes
    assert "latency.p99 takes 100 calls, and a run has 40 by the suite's repeats" in notes
