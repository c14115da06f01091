"""Several gates on one baseline are several chances to fail: each report states how often one does by chance."""

from __future__ import annotations

import json

import numpy as np
import pytest
import yaml

from parts.columns import Made, columns
from parts.columns import suite as described_suite
from parts.command import invoke
from parts.compared import compared
from parts.described import summarise
from parts.lengths import simulations, slack
from steelyard.decide.disclosures import _family_of_gates, disclosures
from steelyard.decide.gates import GateResult
from steelyard.decide.relative_gates import relative_results
from steelyard.metrics.expressions import parse_gate
from steelyard.pairing.against import Against
from steelyard.records import Verdict
from steelyard.stats.intervals import Estimate

N, COMPONENTS = 60, [f"part{i}" for i in range(8)]


def run(folder, wrong):
    """A run of 60 cases; `wrong` gives the number of wrong answers of each component."""
    folder.mkdir(exist_ok=True)
    cases = [{"id": f"c{k}", "input": f"q{k}", "expected": dict.fromkeys(wrong, "x")} for k in range(N)]
    answers = [
        {"case": f"c{k}", "answer": {name: "?" if k < n else "x" for name, n in wrong.items()}} for k in range(N)
    ]
    suite = {
        "suite": "parts",
        "cases": {"files": "cases.jsonl"},
        "target": {"recorded": "answers.jsonl"},
        "answer": {"format": "json"},
        "score": {name: {"exact": {"answer": name, "expected": f"expected.{name}"}} for name in wrong},
        "pass": "score >= 50 %",
        "gates": ["pass_rate >= 1 %", *(f"score.{name}.average >= @release" for name in wrong)],
    }
    for name, rows in (("cases.jsonl", cases), ("answers.jsonl", answers)):
        (folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "suite.yaml").write_text(yaml.safe_dump(suite))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STEELYARD_STORE", str(tmp_path / "store.db"))
    return tmp_path / "parts"


def disclosed(folder, after, code):
    run(folder, dict.fromkeys(after, 0))
    invoke("run", "parts", code=4)  # there is no release yet
    invoke("baseline", "set", "LAST", "--name", "release", "--force", "--reason", "the first", code=0)
    run(folder, after)
    return json.loads(invoke("run", "parts", "--json", code=code))


def test_how_often_one_of_many_gates_fails_by_chance_stands_with_the_verdict(folder):
    # By hand: six of 60 cases got worse in one component, exact McNemar p = 2 * 0.5**6 = 0.031; Holm: 8 * 0.031 = 0.25.
    found = disclosed(folder, dict.fromkeys(COMPONENTS, 0) | {"part3": 6}, code=1)
    assert found["verdict"] == "FAIL"
    # 1 - 0.975**8 = 18.3 %.
    assert (
        "8 gates are tested on a baseline, and each fails by chance in up to 2.5 % of runs: with no change at all,"
        " at least one fails in up to 18.3 % of runs"
    ) in found["disclosures"]
    assert (
        "adjusted for all 8 (Holm), 0 of 1 failing gates remain, so chance alone may explain it" in found["disclosures"]
    )
    text = " ".join(invoke("report", "LAST", code=0).split())
    assert "at least one fails in up to 18.3 % of runs" in text


def test_a_real_loss_fails_whatever_other_gates_there_are(folder):
    # Ten of 60: p = 2 * 0.5**10 = 0.002, adjusted 0.016. Seven gates that cannot fail do not let it pass.
    found = disclosed(folder, dict.fromkeys(COMPONENTS, 0) | {"part3": 10}, code=1)
    assert (
        "adjusted for all 8 (Holm), 1 of 1 failing gates remain: score.part3.average >= @release"
        in found["disclosures"]
    )


def test_gates_that_cannot_err_do_not_turn_a_loss_into_a_pass(folder):
    # Alone it fails at p = 0.031; seven other gates adjusted for would make it 0.25, and the loss would pass.
    alone = disclosed(folder, {"part3": 6}, code=1)
    assert alone["verdict"] == "FAIL"
    assert not [text for text in alone["disclosures"] if "by chance" in text]


@pytest.mark.simulation
def test_no_more_runs_without_a_change_fail_than_the_disclosure_states():
    """Independent components that are drawn anew in both runs: at least one of eight gates fails in at most 18.3 %."""
    rng, failed, n = np.random.default_rng(29), 0, simulations(1_000, 60)
    described = {
        "components": [
            {"name": name, "weight": 1.0, "code": name.upper(), "scale": [0.0, 1.0], "wrong_below": 0.5}
            for name in COMPONENTS
        ]
    }
    gates = [parse_gate(f"score.{name}.average >= @release") for name in COMPONENTS]
    summary = summarise(columns([Made("c00", 1.0)]), described_suite())
    for _ in range(n):
        runs = []
        for name in ("old-1", "new-1"):
            drawn = rng.random((N, len(COMPONENTS))) < 0.7
            made = [
                Made(f"c{k:02}", float(row.mean()), parts=dict(zip(COMPONENTS, row.astype(float), strict=True)))
                for k, row in enumerate(drawn)
            ]
            runs.append(compared(made, id=name, described=described))
        against = Against(*runs)
        results = [result for gate in gates for result in relative_results(gate, against)]
        assert len(disclosures(runs[1].header, summary, results)) >= 1
        failed += any(result.verdict is Verdict.FAIL for result in results)
    assert failed / n <= 0.183 + slack(0.183, n, 3)


def test_a_gate_over_slices_counts_by_the_slice_that_failed():
    """By hand: Holm makes 3 x 0.001 of the smallest of three; the other slice of that gate is as before."""
    rows = [("category.*", 0.001, Verdict.FAIL), ("category.*", 0.9, Verdict.PASS), ("b", 0.5, Verdict.PASS)]
    results = [
        GateResult(gate, gate, Estimate(0.0, 9), 0.0, ">=", verdict, "", baseline="run", p=p)
        for gate, p, verdict in [*rows, ("c", 0.6, Verdict.PASS)]
    ]
    assert list(_family_of_gates(None, None, results))[1] == (
        "adjusted for all 3 (Holm), 1 of 1 failing gates remain: category.*"
    )
