"""What every view says in words."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from parts import reports
from parts.command import invoke
from parts.slices import changed, with_slices
from steelyard.analysis.target import target_name
from steelyard.records import TargetFacts
from steelyard.report.format import contrasted
from steelyard.report.model import Report
from steelyard.report.wording import outcomes_sentence


def ended(planned: int, **outcomes: int) -> Report:
    report = reports.rich_report(n_samples=sum(outcomes.values()))
    overall = changed(report.summary.overall, planned, outcomes=outcomes)
    return replace(report, summary=with_slices(report.summary, overall))


def test_outcomes_are_counted_in_words() -> None:
    assert outcomes_sentence(ended(3, scored=2, target_failed=1)) == "3 samples: 2 scored, 1 target failed"


def test_samples_that_never_came_are_said() -> None:
    assert outcomes_sentence(ended(4, scored=2, malformed=1)) == "3 of 4 samples: 2 scored, 1 malformed, 1 missing"
    assert outcomes_sentence(ended(2)) == "0 of 2 samples: 2 missing"


def test_a_port_that_was_any_free_one_is_not_shown() -> None:
    def named(address: str) -> str:
        return target_name(
            replace(reports.rich_report().header, target=TargetFacts({"kind": "http", "address": address}))
        )

    assert named("http://127.0.0.1:{port}/v1/review") == "http /v1/review of a service started for the run"
    assert named("http://127.0.0.1:{port}") == "http / of a service started for the run"
    assert named("http://localhost:80/{port}") == "http http://localhost:80/{port}"


BIG = {f"key{n}": f"value {n}" for n in range(30)}


@pytest.mark.parametrize(
    ("expected", "got", "shown"),
    [
        # By hand. Short values are whole, whatever the order of their keys.
        ({"b": 1, "a": 2}, {"a": 2, "b": 3}, ('{"a": 2, "b": 1}', '{"a": 2, "b": 3}')),
        (
            BIG,
            BIG | {"key25": "other"},
            ('..."key25": "value 25", "key26":...', '..."key25": "other", "key26": "value...'),
        ),
        (BIG, {**BIG, "key25": None}, ('..."key25": "value 25", "key26":...', '..."key25": null, "key26": "value...')),
        ([*range(60)], [*range(59), 7], ("...56, 57, 58, 59]", "...56, 57, 58, 7]")),
        (
            "the quick brown fox jumps over the lazy dog and more",
            "the quick brown fox jumps over the lazy cat",
            ("...over the lazy dog and more", "...over the lazy cat"),
        ),
        ("x" * 50, "y", ("x" * 37 + "...", "y")),
    ],
)
def test_long_values_are_shown_from_where_they_differ(expected, got, shown):
    assert contrasted(expected, got, 40) == shown


def test_findings_show_the_difference_of_long_json_in_every_line_that_compares(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cases.json").write_text(json.dumps([{"id": "one", "input": 1, "expected": BIG}]))
    (tmp_path / "answers.jsonl").write_text(json.dumps({"case": "one", "answer": {**BIG, "key25": "other"}}) + "\n")
    (tmp_path / "suite.yaml").write_text(
        "suite: big\ncases: {files: cases.json}\ntarget: {recorded: answers.jsonl}\nanswer: {format: json}\n"
        "score: {record: {exact: {expected: expected, answer: ''}}}\npass: score >= 100 %\ngates: [pass_rate >= 50 %]\n"
    )
    printed = " ".join(invoke("ci", ".", "--junit", "junit.xml", "--no-github", code=1).split())
    assert 'RECORD: expected ..."key25": "value 25", "key26":..., got ..."key25": "other"' in printed
    assert "&quot;key25&quot;: &quot;other&quot;" in (tmp_path / "junit.xml").read_text()


def test_worst_has_a_line_per_case_however_often_it_was_asked(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [{"id": f"c{n}", "input": n, "expected": "right"} for n in range(5)]
    (tmp_path / "cases.json").write_text(json.dumps(rows))
    # c0 is wrong in all 12 repeats, c1 and c2 in one: more wrong answers of c0 than the list has lines.
    (tmp_path / "system.py").write_text(
        "def answer(case, repeat):\n"
        "    return 'wrong' if case.input == 0 or (case.input in (1, 2) and repeat == 7) else 'right'\n"
    )
    (tmp_path / "suite.yaml").write_text(
        "suite: often\ncases: {files: cases.json}\ntarget: {python: 'system:answer'}\nrepeats: 12\n"
        "score: {word: {exact: {expected: expected}}}\npass: score >= 100 %\n"
    )
    printed = invoke("run", ".")
    worst = printed.partition("\nWorst\n")[2].partition("\n\n")[0].splitlines()
    assert [line.split()[:5] for line in worst[1:]] == [
        ["c0", "#1", "12", "of", "12"],
        ["c1", "#8", "1", "of", "12"],
        ["c2", "#8", "1", "of", "12"],
    ]
    report = json.loads(invoke("report", "LAST", "--json"))
    assert [line["case_id"] for line in report["worst"]] == ["c0", "c1", "c2"]


def test_the_quiet_verdict_has_its_reasons(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [{"id": f"c{n}", "input": n, "expected": "right"} for n in range(4)]
    (tmp_path / "cases.json").write_text(json.dumps(rows))
    (tmp_path / "system.py").write_text(
        "def answer(case):\n    return {0: 'right', 1: 'right'}.get(case.input, 'wrong')\n"
    )
    suite = (
        "suite: few\ncases: {files: cases.json}\ntarget: {python: 'system:answer'}\n"
        "score: {word: {exact: {expected: expected}}}\npass: score >= 100 %\n"
        "gates: [pass_rate >= 90 %, average >= 80 %, average >= 10 %]\n"
    )
    (tmp_path / "suite.yaml").write_text(suite)
    (failed,) = invoke("run", ".", "--quiet", code=1).splitlines()
    assert failed.startswith("FAIL: at least one gate fails: pass_rate >= 90 %: 50.0 % is not >= 90.0 %")
    assert "average >= 80 %: 50.0 % is not >= 80.0 %" in failed
    assert "average >= 10 %" not in failed
    (tmp_path / "system.py").write_text("def answer(case):\n    raise RuntimeError('no key is set')\n")
    (invalid,) = invoke("run", ".", "--quiet", code=3).splitlines()
    assert invalid.startswith("INVALID: no valid result: neither pass nor fail: ")
    assert "no key is set" in invalid
