"""Variants of one run: in the default report, by single factor, and compared with each other."""

from __future__ import annotations

import json

import pytest
import yaml

import steelyard
from parts.command import invoke
from parts.served import client_on
from steelyard.errors import SuiteError, UsageError
from steelyard.loading.load import load_suite
from steelyard.report.build import build_report
from steelyard.report.groups import answers_by_variant
from steelyard.store.sql import open_store

VARIANTS = {"prompt": ["short", "long"], "model": ["small", "large"]}
CASES = [f"c{number}" for number in range(8)]
WRONG = {
    "prompt=short, model=small": {"c0", "c1", "c2", "c3"},
    "prompt=short, model=large": {"c0", "c1", "c4"},
    "prompt=long, model=small": {"c5"},
    "prompt=long, model=large": set(),
}
SHORT, LONG = "prompt=short, model=small", "prompt=long, model=small"


@pytest.fixture
def matrix(tmp_path, monkeypatch):
    """A suite of two factors with recorded answers, each wrong where WRONG says."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    rows = [
        {"case": case, "variant": name, "repeat": repeat, "answer": f"{'no' if case in wrong else case} {repeat}"}
        for name, wrong in WRONG.items()
        for case in CASES
        for repeat in range(2)
    ]
    (tmp_path / "answers.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    suite = {
        "suite": "matrix",
        "cases": [{"id": case, "input": case, "expected": case} for case in CASES],
        "target": {"recorded": "answers.jsonl"},
        "variants": VARIANTS,
        "repeats": 2,
        "score": {"answer": {"contains": {"expected": "expected"}}},
        "pass": "50 %",
    }
    (tmp_path / "suite.yaml").write_text(yaml.safe_dump(suite, sort_keys=False), encoding="utf-8")
    return lambda *arguments, code=0: invoke(*arguments, "--store", "runs.db", code=code)


def test_the_default_report_has_the_variants_and_which_is_best(matrix):
    text = matrix("run", ".")
    # 4, 3, 1 and 0 of 8 cases are wrong, in both repeats
    rows = {"prompt=short, model=small": "50.0 %", "prompt=short, model=large": "62.5 %"}
    rows |= {"prompt=long, model=small": "87.5 %", "prompt=long, model=large": "100.0 %"}
    lines = text.splitlines()
    for name, value in rows.items():
        assert any(name in line and value in line and " 16 " in line for line in lines), text
    assert "cannot tell which variant is best: prompt=long, model=large leads with 100.0 %" in text


def test_every_factor_has_its_figures(matrix):
    matrix("run", ".")
    slices = json.loads(matrix("report", "LAST", "--json"))["slices"]
    found = {
        (factor, item["name"]): (item["figures"]["average"]["value"], item["figures"]["average"]["n"])
        for factor in ("variant.prompt", "variant.model")
        for item in slices[factor]
    }
    # short is wrong in 4 + 3 of 16 cells, long in 1 + 0; small in 4 + 1, large in 3 + 0
    assert found == {
        ("variant.prompt", "short"): (1 - 7 / 16, 32),
        ("variant.prompt", "long"): (1 - 1 / 16, 32),
        ("variant.model", "small"): (1 - 5 / 16, 32),
        ("variant.model", "large"): (1 - 3 / 16, 32),
    }
    # Repeats and models of a case are no new evidence: wider than Wilson's interval of 18 of 32, [39.3, 71.8].
    short = slices["variant.prompt"][0]["figures"]["average"]
    assert short["low"] < 0.393
    assert short["high"] > 0.718
    text = matrix("report", "LAST", "--full")
    assert "By prompt" in text
    assert "By model" in text


def test_gates_can_name_a_level_of_a_factor(matrix):
    matrix("run", ".")
    matrix("gate", "LAST", "--gate", "variant.prompt.long.pass_rate >= 90 %")
    matrix("gate", "LAST", "--gate", "variant.prompt.*.pass_rate >= 90 %", code=1)


@pytest.mark.parametrize(
    ("gate", "message"),
    [
        ("variant.prompt.medium.pass_rate >= 90 %", "there is no variant.prompt 'medium'; there are: short, long"),
        ("variant.a.md.average >= 90 %", 'a name that holds a dot is quoted: variant."a.md".average'),
    ],
)
def test_a_gate_on_a_level_that_is_not_there_is_a_mistake(matrix, tmp_path, gate, message):
    file = tmp_path / "suite.yaml"
    file.write_text(file.read_text(encoding="utf-8") + yaml.safe_dump({"gates": [gate]}), encoding="utf-8")
    with pytest.raises(SuiteError) as error:
        load_suite(".")
    assert message in str(error.value)


def figures(comparison):
    names = ("a", "b", "difference", "p", "verdict", "n")
    return {item["name"]: [item.get(name) for name in names] for item in comparison["metrics"]}


def test_two_variants_of_a_run_compare_as_two_runs_of_one_variant_each(matrix):
    matrix("run", ".")
    both = json.loads(matrix("compare", "LAST", "--variants", SHORT, LONG, "--json", code=4))
    for name in (SHORT, LONG):
        matrix("run", ".", "--only", f"variant={name}")
    apart = json.loads(matrix("compare", "LAST~1", "LAST", "--json", "--no-attribution", code=4))
    assert both["pairs"] == apart["pairs"]
    assert both["pairs"]["n_a"] == both["pairs"]["n_b"] == 16
    assert figures(both) == figures(apart)
    assert both["codes"] == apart["codes"]
    # c0 to c3 become right and c5 wrong, in both repeats: +3 of 8 cases
    pass_rate = next(item for item in both["metrics"] if item["name"] == "pass_rate")
    assert pass_rate["difference"]["value"] == pytest.approx(3 / 8)


def test_the_comparison_names_the_variants_and_makes_no_call(matrix, tmp_path):
    matrix("run", ".")
    (tmp_path / "answers.jsonl").unlink()
    text = matrix("compare", "LAST", "--variants", SHORT, LONG, code=4)
    assert "the variant differs: prompt=short, model=small -> prompt=long, model=small" in text
    assert "8 fixed, 2 broken, 6 unchanged of 16 comparable pairs (8 cases)" in text
    assert "Broken          2 of 16: c5, c5 #2" in text  # by case: a pair has two variants
    assert len(json.loads(matrix("runs", "--json"))) == 1


def test_two_variants_compare_from_python(matrix):
    matrix("run", ".")
    shown = steelyard.compare("LAST", variants=(SHORT, LONG), store="runs.db")
    assert (shown.result.pairs.n_a, shown.result.headline.verdict.value) == (16, "cannot tell")
    with pytest.raises(UsageError, match="give two runs, or one run and the names of two of its variants"):
        steelyard.compare("LAST", store="runs.db")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--variants", SHORT, "long"], "has no variant 'long'"),
        (["--variants", SHORT, SHORT], "name two"),
        ([], "give two runs, or one run and --variants"),
        (["LAST", "--variants", SHORT, LONG], "give two runs, or one run and --variants"),
        (["--variants", SHORT, LONG, "--rejudge", "3"], "nothing to attribute"),
        (["--variants", SHORT, LONG, "--explain", "pass_rate"], "do not go together"),
    ],
)
def test_what_cannot_be_compared_is_a_clear_mistake(matrix, arguments, message):
    matrix("run", ".")
    assert message in matrix("compare", "LAST", *arguments, code=2)


def test_scores_are_drawn_by_variant_factor_category_and_run(matrix, tmp_path):
    file = tmp_path / "suite.yaml"
    suite = yaml.safe_load(file.read_text(encoding="utf-8"))
    for at, case in enumerate(suite["cases"]):
        case["category"] = "odd" if at % 2 else "even"
    file.write_text(yaml.safe_dump(suite, sort_keys=False), encoding="utf-8")
    matrix("run", ".")
    matrix("run", ".", "--set", "name=again")
    charts = {chart["name"]: chart for chart in json.loads(matrix("report", "LAST", "--json"))["charts"]}
    names = ["scores_by_category", "scores_by_variant", "scores_by_variant_prompt", "scores_by_variant_model"]
    assert [name for name in charts if name.startswith("scores")] == names

    def drawn(chart):
        points = chart["spec"]["layer"][1]["data"]["values"]
        return {(item["row"], item["figure"]): (item["value"], item["n"]) for item in points}

    # short is wrong in 7 of 16 cells of two repeats each, long in 1
    by_prompt = drawn(charts["scores_by_variant_prompt"])
    assert by_prompt["short", "average score"] == by_prompt["short", "pass rate"] == (9 / 16, 32)
    assert by_prompt["long", "average score"] == (15 / 16, 32)
    history = {chart["name"]: chart for chart in json.loads(matrix("history", "matrix", "--json"))["charts"]}
    rows = [row for row, figure in drawn(history["scores_by_run"]) if figure == "pass rate"]
    assert [row.partition(",")[0] for row in rows] == ["again", "recorded answers.jsonl"]
    matrix("report", "LAST", "--html", "report.html")
    assert "Scores by prompt" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_the_page_has_a_grid_of_cases_and_variants_with_the_answers(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    start = "All of these answers begin with the very same words, which nobody needs to read more than once: "
    ends = {("a", "x"): "red <b>fox</b>", ("a", "y"): "grey fox", ("b", "x"): "one", ("b", "y"): "two"}
    rows = [{"case": case, "variant": name, "answer": start + end} for (case, name), end in ends.items()]
    (tmp_path / "answers.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    suite = {
        "suite": "grid",
        "cases": [{"id": case, "input": case, "expected": "fox"} for case in "ab"],
        "target": {"recorded": "answers.jsonl"},
        "variants": {"v": ["x", "y"]},
        "score": {"answer": {"contains": {"expected": "expected"}}},
    }
    (tmp_path / "suite.yaml").write_text(yaml.safe_dump(suite), encoding="utf-8")
    invoke("run", ".", "--store", "runs.db")
    invoke("report", "LAST", "--html", "report.html", "--store", "runs.db")
    with open_store(str(tmp_path / "runs.db")) as store, client_on(store) as client:
        run = client.get("/api/runs").json()["suites"][0]["runs"][0]["id"]
        pages = [(tmp_path / "report.html").read_text(encoding="utf-8"), client.get(f"/runs/{run}").text]
    for page in pages:
        grid = page.partition("Answers by variant")[2].partition("</table>")[0]
        # What differs is seen, what all begin with is cut, and nothing of an answer is markup.
        for text in ("100.0 %: [...]", "red &lt;b&gt;fox&lt;/b&gt;", "grey fox", "0.0 %: [...]", "two"):
            assert text in grid, text
        assert "<b>fox" not in page
        assert "All of these answers begin" not in grid


def test_a_large_run_has_the_grid_of_its_worst_cases(matrix, tmp_path):
    matrix("run", ".")
    with open_store(str(tmp_path / "runs.db")) as store:
        report = build_report(store, store.run("LAST"), max_details=16)
    grid = answers_by_variant(report)
    # 16 details are those of two cases with four variants and two repeats, of the eight that there are
    assert (len(grid.rows), grid.total) == (2, 8)
    assert all(len(cell.splitlines()) == 2 for row in grid.rows for cell in row[2:])
    assert "of the cases with the worst samples" in grid.note


def test_a_variant_whose_name_contains_another_is_another(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    said = {"x": "fox", "x-long": "dog"}
    rows = [{"case": case, "variant": name, "answer": text} for case in CASES for name, text in said.items()]
    (tmp_path / "answers.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    suite = {
        "suite": "names",
        "cases": [{"id": case, "input": case, "expected": "fox"} for case in CASES],
        "target": {"recorded": "answers.jsonl"},
        "variants": {"v": [*said]},
        "score": {"answer": {"contains": {"expected": "expected"}}},
        "pass": "score >= 50 %",
    }
    (tmp_path / "suite.yaml").write_text(yaml.safe_dump(suite), encoding="utf-8")
    invoke("run", ".", "--store", "runs.db")
    both = json.loads(invoke("compare", "LAST", "--variants", "x", "x-long", "--store", "runs.db", "--json", code=1))
    rate = next(item for item in both["metrics"] if item["name"] == "pass_rate")
    assert (both["pairs"]["n_a"], both["pairs"]["n_b"], rate["difference"]["value"]) == (8, 8, -1.0)


def test_levels_of_a_factor_with_unequal_cells_are_said_not_to_be_comparable(tmp_path, monkeypatch):
    # The prompt makes no difference: only the large model is right, and one cell of the small one is missing.
    monkeypatch.chdir(tmp_path)
    names = [f"prompt={prompt}, model={model}" for prompt in ("short", "long") for model in ("small", "large")]
    cells = [(case, name) for case in CASES for name in names if name != LONG or case == "c0"]
    rows = [{"case": case, "variant": name, "answer": "fox" if "large" in name else "?"} for case, name in cells]
    (tmp_path / "answers.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    suite = {
        "suite": "cells",
        "cases": [{"id": case, "input": case, "expected": "fox"} for case in CASES],
        "target": {"recorded": "answers.jsonl"},
        "variants": VARIANTS,
        "score": {"answer": {"contains": {"expected": "expected"}}},
        "limits": {"max_inconclusive": "50 %"},
    }
    (tmp_path / "suite.yaml").write_text(yaml.safe_dump(suite, sort_keys=False), encoding="utf-8")
    invoke("run", ".", "--store", "runs.db")
    text = " ".join(invoke("report", "LAST", "--full", "--store", "runs.db").split())
    by_prompt, by_model = (text.partition(f"By {name} ")[2].partition("By ")[0] for name in ("prompt", "model"))
    assert "other factors differ between the levels (samples with model=small: short 8, long 1)" in by_prompt
    assert "(samples with prompt=long: small 1, large 8)" in by_model
