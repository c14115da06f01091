"""Lists that show the first cases of a file as if they were the slowest, the flakiest or the worst of all."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import yaml

from parts.columns import Made, columns, suite
from parts.command import invoke
from parts.described import summarise

N, KEPT = 30, 5
LAST = f"c{N - 1}"


@pytest.fixture(autouse=True)
def few_are_kept(tmp_path, monkeypatch):
    """Five cells are kept one by one instead of 1,000, and the run has 30."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("STEELYARD_STORE", raising=False)
    monkeypatch.setattr("steelyard.analysis.cell_metrics.MOST_CELLS", KEPT)


def run(last, usual=None, **more):
    """The report of a suite of 30 cases with four answers each: `last` of the last case, `usual` of the others."""
    description = {
        "suite": "words",
        "cases": {"files": "cases.jsonl"},
        "target": {"recorded": "answers.jsonl"},
        "answer": {"format": "json"},
        "score": {"word": {"exact": {"expected": "expected.word"}}},
        "pass": "score >= 90 %",
        "repeats": 4,
        **more,
    }
    Path("suite.yaml").write_text(yaml.safe_dump(description))
    usual = usual or [{"word": "yes", "items": [{"id": "a"}]}] * 4
    rows = [
        {"case": f"c{i:02}", "repeat": at, "answer": {"of": i, **answer}, "latency": answer.get("took", 1.0)}
        for i in range(N)
        for at, answer in enumerate(last if i == N - 1 else usual)
    ]
    cases = [{"id": f"c{i:02}", "input": i, "expected": {"word": "yes"}} for i in range(N)]
    for name, lines in (("cases", cases), ("answers", rows)):
        Path(f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    invoke("run", ".")
    return json.loads(invoke("report", "LAST", "--json")), " ".join(invoke("report", "LAST", "--full").split())


YES, NO = {"word": "yes", "items": [{"id": "a"}]}, {"word": "no", "items": [{"id": "a"}]}


def test_the_slowest_case_is_found_at_the_end_of_the_file():
    report, full = run([YES | {"took": 9.0}] * 4, latency={"above": "60 s"})
    assert LAST in [cell["case_id"] for cell in report["latency"]["cells"]]
    assert (
        f"Slowest cases Case Mean p50 Max n {LAST} 9.0 s" in full
        or f"Slowest cases Case Mean p50 Max n {LAST} 9" in full
    )


def test_the_flakiest_case_is_found_at_the_end_of_the_file():
    report, full = run([YES, NO, NO, NO], [YES, YES, YES, NO])
    assert report["flaky_cells"][0] == {"case_id": LAST, "variant": "", "clean": 1, "decided": 4}
    # Equal shares stay in the order of the cases.
    assert [cell["case_id"] for cell in report["flaky_cells"][1:]] == ["c00", "c01", "c02", "c03"]
    assert report["figures"]["cases.count.flaky"]["value"] == N
    assert f"Flaky cases Case Passed {LAST} 1 of 4" in full


def test_the_least_stable_case_is_found_at_the_end_of_the_file():
    apart = [{"word": "yes", "items": [{"id": name}]} for name in "abcd"]
    report, full = run(apart, stability={"items": "items[]", "key": "id"})
    assert LAST in [cell["case_id"] for cell in report["stability"]["cells"]]
    assert f"presence 0.0 % of {LAST}" in full


def test_the_case_whose_checks_fail_is_found_at_the_end_of_the_file():
    expect = {"word_is": {"path": "word", "equals": "yes"}}
    report, full = run([NO] * 4, expect=expect)
    assert [cell["case_id"] for cell in report["checks"]["cells"] if cell["holds"] is False] == [LAST]
    assert f"Failed checks Case Check Passed Findings {LAST} word_is 0 of 4" in full


def test_a_check_is_summed_up_over_all_its_values():
    values = {f"v{i}": i for i in range(N)}
    expect = {"name": {"each": [*values], "in": "names[]"}}
    answers = [YES | {"names": [*values][:-1]}] * 4
    report, full = run(answers, answers, expect=expect)
    assert report["checks"]["by_check"][-1] == f"name:v{N - 1}"
    # 29 of 30 values in each of 30 cases, and the last in none.
    assert f"By check Check Passed Failed Cannot tell Answers passed Answers failed Not run name {29 * N} {N}" in full


def test_the_worst_samples_are_those_that_failed_wherever_they_stand():
    """A check fails the last case with a score that is higher than those of 200 samples that pass."""
    expect = {"word_is": {"path": "word", "equals": "yes"}}
    score = {"word": {"python": "own:word", "weight": 20}}
    Path("own.py").write_text("def word(answer, case):\n    return 0.5 if answer['word'] == 'yes' else 1.0\n")
    report, _ = run([NO] * 4, expect=expect, score=score, **{"pass": "score >= 40 %"})
    assert report["figures"]["pass_rate"]["value"] == pytest.approx(1 - 4 / (4 * N))
    assert [line["case_id"] for line in report["worst"]] == [LAST]  # once, although all 4 repeats failed


@pytest.mark.parametrize("seed", range(5))
def test_cells_are_ranked_by_the_figure_that_is_shown(seed, monkeypatch):
    """By the 95th percentile from 20 calls on and by the longest of fewer, as the table does, timeouts included."""
    chance = np.random.default_rng(seed)
    made = [
        Made(f"c{i:02}", 1.0, repeat=at, latency=float(time))
        for i in range(20)
        for at, time in enumerate(chance.lognormal(0, 1, chance.integers(1, 60)))
    ]
    monkeypatch.setattr("steelyard.analysis.cell_metrics.MOST_CELLS", 1000)
    everything = summarise(columns(made), suite(repeats=1)).latency.cells
    ordered = sorted(everything, key=lambda cell: -cell.spread.tail[1])
    assert all(a.spread.tail[1] > b.spread.tail[1] for a, b in pairwise(ordered))
    monkeypatch.setattr("steelyard.analysis.cell_metrics.MOST_CELLS", KEPT)
    kept = summarise(columns(made), suite(repeats=1)).latency.cells
    assert {cell.case_id for cell in kept} == {cell.case_id for cell in ordered[:KEPT]}
