"""Variants are paired by what they are: two variants of one suite share their cases, and no order makes a change."""

from __future__ import annotations

import json

import pytest
import yaml

from parts.command import invoke

N = 25
SYSTEM = """
def answer(case, variant):
    right = {"short": case.input["n"] < 20, "long": case.input["n"] < 10}
    return "yes" if right.get(variant.values.get("style"), case.input["n"] < 15) else "no"
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STEELYARD_STORE", str(tmp_path / "store.db"))
    folder = tmp_path / "s"
    folder.mkdir()
    (folder / "system.py").write_text(SYSTEM)
    cases = [{"id": f"c{n}", "input": {"n": n}, "expected": "yes"} for n in range(N)]
    (folder / "cases.jsonl").write_text("".join(json.dumps(case) + "\n" for case in cases))
    write(folder, ["short", "long", "other", "fourth"])
    return folder


def write(folder, styles):
    suite = {
        "suite": "variants",
        "cases": {"files": "cases.jsonl"},
        "target": {"python": "system:answer"},
        "variants": {"style": styles},
        "score": {"said": {"exact": {"expected": "expected"}}},
        "pass": "score >= 90 %",
        "gates": ["pass_rate >= 1 %"],
    }
    (folder / "suite.yaml").write_text(yaml.safe_dump(suite, sort_keys=False))


def run(*variants):
    chosen = [word for name in variants for word in ("--only", f"variant={name}")]
    invoke("run", "s", *chosen, code=0)


def compared(code):
    return json.loads(invoke("compare", "LAST~1", "LAST", "--json", code=code))


def changed(found):
    return {change["part"]: change["sentence"] for change in found["signatures"]["changes"]}


def test_two_variants_of_one_suite_are_paired_by_case(folder):
    run("short")
    run("long")
    found = compared(code=1)
    assert found["pairs"]["comparable"] == N
    # By hand: short passes 20 of 25 cases, long 10 of the same 25: ten cases broke.
    assert found["headline"]["verdict"] == "worse"
    assert found["pairs"]["broken"]["count"] == 10
    assert changed(found) == {"variant": "the variant differs: short -> long"}
    assert found["signatures"]["several"] == ""


def test_a_variant_that_both_runs_have_is_paired_with_itself(folder):
    run("short", "long")
    run("long")
    found = compared(code=0)
    assert found["pairs"]["comparable"] == N
    assert found["headline"]["verdict"] == "same"


def test_several_variants_without_a_common_one_are_not_called_other_cases(folder):
    run("short", "long")
    run("other", "fourth")
    found = compared(code=4)
    assert "no variant in common (A has long, short; B has fourth, other)" in found["headline"]["sentence"]
    assert "no case in common" not in json.dumps(found)


def test_the_order_of_variants_in_the_file_is_no_change(folder):
    run()
    write(folder, ["fourth", "other", "long", "short"])
    run()
    found = compared(code=0)
    assert changed(found) == {}
    assert found["headline"]["verdict"] == "same"


def promptfoo(path, order, model, *, labels=False):
    """A results file of promptfoo with two prompts in this order; "Answer: {{q}}" answers right, the other wrong."""
    texts = {"good": "Answer: {{q}}", "bad": "Guess: {{q}}"}
    prompts = [
        {"raw": texts[name], "label": name if labels else texts[name], "provider": model, "id": name} for name in order
    ]
    rows = [
        {
            "promptIdx": at,
            "vars": {"q": f"q{n}"},
            "testCase": {"vars": {"q": f"q{n}"}, "assert": [{"type": "equals", "value": f"a{n}"}]},
            "provider": {"id": model},
            "response": {"output": f"a{n}" if name == "good" else "?"},
            "success": name == "good",
            "score": float(name == "good"),
            "failureReason": 0 if name == "good" else 1,
            "gradingResult": {
                "pass": name == "good",
                "score": float(name == "good"),
                "componentResults": [
                    {"pass": name == "good", "score": float(name == "good"), "assertion": {"type": "equals"}}
                ],
            },
        }
        for n in range(10)
        for at, name in enumerate(order)
    ]
    document = {
        "evalId": "e",
        "results": {"version": 3, "prompts": prompts, "results": rows, "stats": {"successes": 10, "failures": 10}},
        "config": {"description": "grid"},
        "metadata": {"promptfooVersion": "0.119.0"},
    }
    path.write_text(json.dumps(document))


@pytest.mark.parametrize("labels", [False, True])
def test_imported_variants_are_known_by_their_prompt_and_not_by_their_position(folder, labels):
    for name, order, model in (("one.json", ["good", "bad"], "m-1"), ("two.json", ["bad", "good"], "m-2")):
        promptfoo(folder / name, order, model, labels=labels)
        invoke("import", str(folder / name), code=0)
    found = compared(code=0)
    # Each prompt gives in both files what it gave: nothing moved but the model.
    assert found["pairs"]["comparable"] == 20
    assert (found["pairs"]["fixed"]["count"], found["pairs"]["broken"]["count"]) == (0, 0)
    assert found["signatures"]["several"] == ""
    assert "variants" not in changed(found)
    assert "prompts" not in changed(found)
