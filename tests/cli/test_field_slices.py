"""Slices by a field of the cases, and `--only` by one, by the real command line."""

from __future__ import annotations

import json

import pytest

from parts.command import invoke
from steelyard.store.selection import Selection
from steelyard.store.sql import open_store

SUITE = """
suite: langs
cases: cases.jsonl
slices: [input.language, input.topics, expected.hard]
target: {recorded: answers.jsonl}
score:
  label: {exact: {expected: expected.label}}
pass: score >= 75 %
gates: [input.language.*.pass_rate >= 40 %]
"""
# language, topics, hard, whether the answer is right
CASES = [
    ("de", ["sea"], True, True),
    ("de", ["sea", "sky"], False, False),
    ("en", ["sky"], True, True),
    (None, [], True, False),
]
"""By hand: de 1 of 2, en 1 of 1, (none) 0 of 1; sea 1 of 2, sky 1 of 2, (none) 0 of 1; hard 2 of 3, not hard 0 of 1."""


def write(folder, suite=SUITE):
    (folder / "suite.yaml").write_text(suite)
    with (folder / "cases.jsonl").open("w") as cases, (folder / "answers.jsonl").open("w") as answers:
        for number, (language, topics, hard, right) in enumerate(CASES):
            given = {"topics": topics} | ({} if language is None else {"language": language})
            case = {"id": f"c{number}", "input": given, "expected": {"label": "x", "hard": hard}}
            case |= {} if number else {"tags": ["old"]}
            cases.write(json.dumps(case) + "\n")
            answers.write(json.dumps({"case": f"c{number}", "answer": "x" if right else "y"}) + "\n")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("slices")
    write(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        invoke("run", ".", code=1)
        invoke("run", ".", "--only", "input.language=de", code=0)
        invoke("run", ".", code=1)
        ids = [run["id"] for run in json.loads(invoke("runs", "--json"))]
    return folder, *reversed(ids)


@pytest.fixture(autouse=True)
def runs(folder, monkeypatch):
    """A run of all cases, of a part of them, and of all again."""
    monkeypatch.chdir(folder[0])
    return folder[1:]


def rates(part):
    return {item["name"]: (item["figures"]["pass_rate"]["value"], item["figures"]["pass_rate"]["n"]) for item in part}


def test_every_value_of_a_field_is_a_slice_with_its_own_figures(runs):
    slices = json.loads(invoke("report", runs[0], "--json"))["slices"]
    assert rates(slices["input.language"]) == {"de": (0.5, 2), "en": (1.0, 1), "(none)": (0.0, 1)}
    assert rates(slices["input.topics"]) == {"sea": (0.5, 2), "sky": (0.5, 2), "(none)": (0.0, 1)}
    assert rates(slices["expected.hard"]) == {"true": (pytest.approx(2 / 3), 3), "false": (0.0, 1)}
    # A tag is none of these, although a sample has them as tags.
    assert rates(slices["tag"]) == {"old": (1.0, 1)}


def test_a_gate_names_slices_by_a_field_and_fails_where_one_is_too_low(runs):
    gates = json.loads(invoke("report", runs[0], "--json"))["gates"]
    assert {gate["metric"]: gate["verdict"] for gate in gates} == {
        "input.language.de.pass_rate": "PASS",
        "input.language.en.pass_rate": "PASS",
        "input.language.(none).pass_rate": "FAIL",
    }


def test_a_figure_of_a_slice_is_explained_and_listed(runs):
    assert "input.language.de.pass_rate = 50.0 %, n 2 samples" in invoke(
        "report", runs[0], "--explain", "input.language.de.pass_rate"
    )
    assert "passed / n" in invoke("report", runs[0], "--explain", "input.language.*.pass_rate")


def test_only_cases_with_that_value_are_run(runs):
    report = json.loads(invoke("report", runs[1], "--json"))
    assert rates(report["slices"]["input.language"]) == {"de": (0.5, 2)}
    assert "input.language: (none), de, en" in invoke("run", ".", "--only", "input.language=fr", code=2)
    misspelt = invoke("run", ".", "--only", "input.langage=de", code=2)
    assert "input.langage is in no case: did you mean input.language?" in misspelt
    assert "input.language=VALUE" in invoke("run", ".", "--only", "meta.language=fr", code=2)
    assert "holds a group of keys" in invoke("run", ".", "--only", "input=fr", code=2)


def test_only_those_are_rescored(runs):
    whole = runs[0]
    report = json.loads(invoke("rescore", whole, "--only", "input.language=de", "--json"))
    assert rates(report["slices"]["input.topics"]) == {"sea": (0.5, 2), "sky": (0.0, 1)}
    assert (report["n_samples"], report["partial"], report["figures"]["outcomes.planned"]["value"]) == (2, True, 2)
    # By hand: c1 and c2 are about the sky, also the one whose first topic is another.
    about_sky = json.loads(invoke("rescore", whole, "--only", "input.topics=sky", "--json", code=1))
    assert rates(about_sky["slices"]["input.language"]) == {"de": (0.0, 1), "en": (1.0, 1)}
    assert "no case of run" in invoke("rescore", whole, "--only", "input.language=fr", code=2)
    assert "takes every variant" in invoke("rescore", whole, "--only", "variant=a", code=2)


def test_a_history_is_followed_by_a_field():
    grouped = json.loads(invoke("history", "langs", "--by", "input.language", "--json"))["grouped"]
    assert {trend["title"] for trend in grouped} == {"de", "en", "(none)"}
    assert "category, difficulty, variant, tag, input.language" in invoke("history", "langs", "--by", "input.x", code=2)


def test_a_comparison_has_the_slices(runs):
    compared = json.loads(invoke("compare", runs[0], runs[2], "--json"))
    assert {item["name"]: item["n"] for item in compared["slices"]["input.language"]} == {"de": 2, "en": 1, "(none)": 1}


def test_the_samples_of_a_slice_are_selected(runs):
    store = open_store(None)
    run = store.run(runs[0])
    page = store.page(run.id, Selection.of_slice("input.topics", "sky"))
    store.close()
    assert [row.case_id for row in page.rows] == ["c1", "c2"]
    assert run.signature.slices


@pytest.mark.parametrize(
    ("slices", "message"),
    [
        ("[input.lang]", "slices: input.lang is in none of the cases"),
        ("[meta.length]", "begins with input or expected"),
        ("[category]", "sliced by category already"),
        ("[input]", "holds a group of keys"),
    ],
)
def test_a_field_that_makes_no_slices_is_a_mistake(slices, message, tmp_path):
    write(tmp_path, SUITE.replace("[input.language, input.topics, expected.hard]", slices).replace("gates:", "#"))
    assert message in invoke("run", tmp_path, code=2)


def test_a_gate_on_a_field_that_is_no_slice_says_how_to_make_it_one(tmp_path):
    write(tmp_path, SUITE.replace("[input.language, input.topics, expected.hard]", "[input.topics]"))
    assert "write slices: [input.language]" in invoke("run", tmp_path, code=2)


def test_a_field_with_many_values_is_no_slice(tmp_path):
    write(tmp_path, SUITE.replace("[input.language, input.topics, expected.hard]", "[input.n]").replace("gates:", "#"))
    cases = [{"id": f"c{n}", "input": {"n": n}, "expected": {"label": "x"}} for n in range(51)]
    (tmp_path / "cases.jsonl").write_text("\n".join(map(json.dumps, cases)))
    assert "input.n has more than 50 different values" in invoke("run", tmp_path, code=2)
