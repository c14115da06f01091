"""Checks and items through a whole run: asked, scored, stored, summed up, reported and scored again."""

from __future__ import annotations

import json

import yaml

from parts.repeats import n_cases, of_check
from parts.running import rescore, run
from parts.views import to_json
from steelyard.engine.run_options import RunOptions
from steelyard.loading.load import load_suite
from steelyard.records import Item, Verdict
from steelyard.report.build import build_report
from steelyard.store.sql import open_store

SYSTEM = """
turns = {}


def answer(case):
    turn = turns[case.id] = turns.get(case.id, -1) + 1
    if case.input["mode"] == "broken":
        return "no JSON"
    if case.input["mode"] == "shaky" and turn == 2:
        return {"items": [{"id": "A", "level": "high", "span": [0, 5]}, {"id": "B", "level": "low", "span": None}]}
    return {"items": [{"id": "A", "level": "low", "span": [0, 10]}]}
"""


def suite(folder, **changes):
    folder.mkdir()
    cases = [
        {"id": mode, "input": {"mode": mode}, "expected": {"levels": ["low"], "most": 1}} for mode in ("calm", "shaky")
    ]
    described = {
        "suite": "repeats",
        "cases": "cases.json",
        "target": {"python": "system:answer"},
        "answer": {"schema": {"type": "object", "required": ["items"]}},
        "repeats": 3,
        "expect": {
            "level": {"each": "expected.levels", "in": "items[].level", "required_repeats": "all"},
            "how_many": {"count": "items[]", "between": [1, "expected.most"]},
        },
        "required_repeats": "majority",
        "stability": {"items": "items[]", "key": "id", "fields": {"span": "overlap", "level": "equal"}},
        "gates": ["cases.passed >= 90 %", "check.how_many.passed >= 90 %", "stability.presence >= 80 %"],
        "limits": {"concurrency": 1},
        **changes,
    }
    (folder / "cases.json").write_text(json.dumps(cases))
    (folder / "system.py").write_text(SYSTEM)
    (folder / "suite.yaml").write_text(yaml.safe_dump(described, sort_keys=False))
    return load_suite(folder)


def test_a_run_knows_its_checks_and_how_alike_its_repeats_are(tmp_path):
    store = open_store(str(tmp_path / "runs.db"))
    try:
        loaded = suite(tmp_path / "suite")
        header, _ = run(loaded, store, RunOptions())
        report = build_report(store, store.run(header.id))
        again = build_report(store, rescore(loaded, store, header))
        kept = {sample.key: sample.items for sample, _ in store.samples(header.id)}
    finally:
        store.close()
    assert kept["shaky", "", 2] == (Item("A", ([0, 5], "high")), Item("B", (None, "low")))
    checks, stability = report.summary.checks, report.summary.stability
    # The third answer to `shaky` has two items where one is allowed; 2 of 3 are the majority. Of level, low is there.
    found = {name: of_check(report.summary, name) for name in checks.by_check}
    assert [(name, passed, answers) for name, (passed, _, _, answers, *_) in found.items()] == [
        ("schema", 2, 6),
        ("level:low", 2, 6),
        ("how_many", 2, 5),
    ]
    assert (n_cases(report.summary, "passed"), report.summary.overall["flaky_rate"].value) == ((2,), 0.5)
    assert [(each.name, each.required_repeats) for each in checks.cells[0].checks] == [
        ("schema", "majority"),
        ("level:low", "all"),
        ("how_many", "majority"),
    ]
    # shaky: A in all 3 pairs, B in either of 2: 3 of 5. A's spans 1, 1/2, 1/2; its levels agree in 1 of 3.
    shaky = stability.cells[1]
    assert (shaky.presence.value, shaky.presence.n) == (0.6, 5)
    assert [round(each.value, 6) for each in shaky.fields.values()] == [0.666667, 0.333333]
    assert report.decision.verdict is Verdict.PASS
    assert (again.summary.checks, again.summary.stability) == (checks, stability)
    data = to_json(report)
    assert data["figures"]["cases.passed"]["value"] == 1.0
    assert data["stability"]["cells"][1]["bands"] == {"presence": "unsteady", "span": "unsteady", "level": "unstable"}
    assert data["figures"]["stability.presence"]["value"] == 0.8
    assert json.loads(json.dumps(data))["figures"]["pass_all.3"]["value"] == 0.5


def test_one_repeat_of_the_three_that_the_suite_asks_for_leaves_the_gate_on_stability_out(tmp_path):
    store = open_store(str(tmp_path / "runs.db"))
    try:
        header, _ = run(suite(tmp_path / "suite"), store, RunOptions(repeats=1))
        reasons = build_report(store, header).decision.reasons
    finally:
        store.close()
    assert header.verdict is Verdict.PASS
    assert [reason.split(": ")[1] for reason in reasons if "stability" in reason] == ["left out"]
