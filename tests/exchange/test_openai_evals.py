"""Runs of OpenAI's hosted Evals: saved with the lines of docs/other-tools.md, imported, and made into suites."""

import importlib.util
import json
import os
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
import yaml

from parts.command import invoke
from parts.counts import components_in
from parts.evals_api import CLIENT, EVAL, ITEMS, item, run, serve
from parts.loopback import Loopback, chat_answer
from parts.transcript import blocks
from steelyard.store.sql import open_store

PAGE = Path(__file__).parents[2] / "docs" / "other-tools.md"


def lines(*records):
    return "".join(json.dumps(record) + "\n" for record in records)


def imported(folder, text, name="evalrun_1.jsonl"):
    """What `import` says of a file with this text, and the samples of its first run."""
    (folder / name).write_text(text)
    store = str(folder / "runs.db")
    told = json.loads(invoke("import", folder / name, "--store", store, "--json"))
    with closing(open_store(store)) as opened:
        return told, list(opened.samples(told["runs"][0]["run"]))


def suite_of(folder, graders, items=ITEMS):
    """The suite that `init --from` makes of items with these graders, and what it says."""
    (folder / "run.jsonl").write_text(lines(EVAL | {"testing_criteria": graders}, run(), *items))
    said = invoke("init", folder / "mine", "--from", folder / "run.jsonl")
    return yaml.safe_load((folder / "mine/suite.yaml").read_text()), said


def test_the_lines_of_the_page_save_every_page_of_every_run_in_the_form_that_import_reads(tmp_path):
    (code,) = [block.text for block in blocks(PAGE.read_text()) if block.file == "save_evals.py"]
    assert len([line for line in code.splitlines() if line]) == 10
    (tmp_path / "save_evals.py").write_text(code)
    if importlib.util.find_spec("openai") is None:
        (tmp_path / "openai.py").write_text(CLIENT)
    with Loopback() as server:
        serve(server, most=2)
        env = os.environ | {"OPENAI_BASE_URL": server.url("/v1"), "OPENAI_API_KEY": "sk-loopback"}
        subprocess.run([sys.executable, "save_evals.py"], cwd=tmp_path, env=env, check=True, timeout=60)
    saved = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.glob("openai-evals/*/*"))
    assert saved == [
        *(f"openai-evals/eval_68/{name}" for name in ("eval.json", *(f"evalrun_{n}.jsonl" for n in (1, 2, 3)))),
        "openai-evals/eval_unused/eval.json",
    ]
    store = tmp_path / "runs.db"
    said = json.loads(invoke("import", tmp_path / saved[1], "--store", store, "--json"))
    assert said["scored_by"] == "OpenAI Evals"
    # As its run says: 1 passed, 1 failed, 2 errors.
    report = json.loads(invoke("report", "LAST", "--store", store, "--json"))
    assert (report["figures"]["pass_rate"]["value"], report["figures"]["pass_rate"]["n"]) == (1 / 2, 2)
    assert "holds no output items" in invoke("import", tmp_path / saved[2], "--store", store, code=2)


def test_scores_are_the_graders_own_and_an_error_is_not_a_wrong_answer(tmp_path):
    told, samples = imported(tmp_path, lines(EVAL, run(), *ITEMS))
    assert told["runs"][0]["notes"] == [
        "1 of 4 answers are errors: inconclusive, in no figure",
        "1 of 4 answers have no score of OpenAI Evals: inconclusive, in no figure",
    ]
    by_case = {case.input["question"].rpartition(" ")[2]: (sample, case) for sample, case in samples}
    paris, case = by_case["France?"]
    assert (case.expected, case.input) == ({"city": "Paris"}, {"question": "What is the capital of France?"})
    assert {score.name: score.value for score in paris.scores} == {"Same_city": 1.0, "Tone": 4.0}
    assert (paris.passed, paris.score, paris.call_result.text) == (True, 1.0, "Paris")
    assert (paris.call_result.tokens_in, paris.call_result.tokens_out) == (12, 2)
    assert paris.call_result.model == "gpt-4.1-2025-04-14"
    lima, _ = by_case["Peru?"]
    assert (lima.passed, lima.score) == (False, 0.0)
    assert [score.note for score in lima.scores if score.name == "Tone"] == ["It is curt."]
    chad, _ = by_case["Chad?"]
    assert chad.call_result.failure.message == "rate_limit_exceeded: Too many requests"
    assert (chad.outcome, chad.score) == ("target_failed", None)
    mariehamn, _ = by_case["Åland?"]  # the model that grades its tone failed
    assert (mariehamn.score, mariehamn.call_result.text) == (None, "Mariehamn")


def test_a_grader_that_failed_scores_nothing_whatever_it_wrote(tmp_path):
    failed = {"error": {"code": "server_error", "message": "the grader broke"}}
    results = [ITEMS[0]["results"][0], ITEMS[0]["results"][1] | {"sample": failed, "score": 0.0, "passed": False}]
    told, samples = imported(tmp_path, lines(EVAL, run(total=2), ITEMS[0] | {"results": results}, ITEMS[1]))
    assert told["runs"][0]["notes"] == ["1 of 2 answers have no score of OpenAI Evals: inconclusive, in no figure"]
    assert [sample.score is None for sample, _ in samples] == [True, False]


@pytest.mark.parametrize("has_eval", [True, False])
def test_two_graders_of_one_name_are_two_scores(tmp_path, has_eval):
    # The dashboard names a grader by its kind; only the id behind it tells two of them apart.
    check, ids = EVAL["testing_criteria"][0], [f"String check-0000000{n}-aaaa-bbbb-cccc-0123456789ab" for n in (1, 2)]
    graders = [check | {"id": each, "name": "String check"} for each in ids]
    graders[1] |= {"operation": "ne", "reference": "Cusco"}
    items = []
    for place, passes in enumerate([(True, True), (False, True), (True, False)]):
        results = [{"name": name, "score": float(good), "passed": good} for name, good in zip(ids, passes, strict=True)]
        items.append(item(place, f"Land {place}", "Paris", "Paris", True, 4) | {"results": results})
    head = [EVAL | {"testing_criteria": graders}] if has_eval else []
    _, samples = imported(tmp_path, lines(*head, run(total=3), *items))
    assert [{score.name: score.value for score in sample.scores} for sample, _ in samples] == [
        {"String_check": 1.0, "String_check_2": 1.0},
        {"String_check": 0.0, "String_check_2": 1.0},
        {"String_check": 1.0, "String_check_2": 0.0},
    ]
    assert [(sample.score, sample.passed) for sample, _ in samples] == [(1.0, True), (0.5, False), (0.5, False)]
    if has_eval:
        suite, _ = suite_of(tmp_path, graders, items)
        assert list(suite["score"]) == ["String_check", "String_check_2"]


def test_a_range_that_a_grader_declares_is_its_scale(tmp_path):
    grader = EVAL["testing_criteria"][1]
    items = [record | {"results": record["results"][1:]} for record in ITEMS[:2]]
    told, samples = imported(tmp_path, lines(EVAL | {"testing_criteria": [grader]}, run(total=2), *items))
    # 4 and 2 of 1 to 5: by hand, (4 - 1) / 4 and (2 - 1) / 4.
    assert [(sample.score, sample.passed) for sample, _ in samples] == [(0.75, True), (0.25, False)]
    assert not any("scale" in note for note in told["runs"][0]["notes"])


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("page.json", json.dumps({"object": "list", "data": ITEMS, "has_more": False})),
        ("group.json", json.dumps({"eval": EVAL, "run": run(), "output_items": ITEMS}, indent=2)),
        ("group-of-pages.json", json.dumps({"eval": EVAL, "output_items": {"object": "list", "data": ITEMS}})),
        ("list.json", json.dumps(ITEMS)),
        ("items.jsonl", lines(*ITEMS)),
        ("pages.jsonl", lines(*({"object": "list", "data": [one], "has_more": False} for one in ITEMS))),
        ("wrapped.jsonl", lines(EVAL, *(one | {"datasource_item": {"item": one["datasource_item"]}} for one in ITEMS))),
        # An eval object whose schema is longer than what a form is recognized by.
        ("long.jsonl", lines({"data_source_config": {"schema": {"about": "x" * 9_000}}} | EVAL, *ITEMS)),
    ],
)
def test_what_the_api_answers_is_read_in_every_form_it_may_be_saved_in(tmp_path, name, text):
    (tmp_path / "eval.json").write_text(json.dumps(EVAL))
    told, samples = imported(tmp_path, text, name)
    assert told["runs"][0]["run"].startswith("capitals-20250326")
    assert [sample.passed for sample, _ in samples] == [True, False, None, None]
    assert [case.expected for _, case in samples] == [
        record["datasource_item"] and {"city": city}
        for record, city in zip(ITEMS, ("Paris", "Lima", "N'Djamena", "Mariehamn"), strict=True)
    ]


def test_what_is_missing_is_named(tmp_path):
    told, _ = imported(tmp_path, json.dumps({"object": "list", "data": ITEMS[:2], "has_more": True}), "page.json")
    notes = told["runs"][0]["notes"]
    assert "it is one page of several (has_more), with 2 items: the others are missing" in notes
    assert "its eval object is not in the file: what the graders compare is not known" in notes
    told, _ = imported(tmp_path, lines(EVAL, run() | {"status": "canceled"}, *ITEMS[:2]))
    notes = told["runs"][0]["notes"]
    assert "its run has 4 items, and the file 2: the others are missing" in notes
    assert "evalrun_1 ended with the status canceled" in notes
    two = lines(EVAL, EVAL | {"id": "eval_69"}, *ITEMS)
    (tmp_path / "two.jsonl").write_text(two)
    assert "two evals, eval_68 and eval_69" in invoke("import", tmp_path / "two.jsonl", code=2)


def test_answers_that_the_data_source_already_had_are_read(tmp_path):
    grader = EVAL["testing_criteria"][0] | {"input": "{{ item.output }}"}
    rows = []
    for record, said in zip(ITEMS[:2], ("Paris", "Cusco"), strict=True):
        result = record["results"][0] | {"passed": said == "Paris"}
        data = record["datasource_item"] | {"output": said}
        rows.append(record | {"datasource_item": data, "sample": None, "results": [result]})
    _, samples = imported(tmp_path, lines(EVAL | {"testing_criteria": [grader]}, *rows))
    assert [sample.call_result.text for sample, _ in samples] == ["Paris", "Cusco"]
    assert "output" not in samples[0][1].input


def test_string_checks_and_similarity_become_scorers(tmp_path):
    check = EVAL["testing_criteria"][0]
    similar = {
        "type": "text_similarity",
        "input": "{{ sample.output_text }}",
        "reference": "{{item.city}}",
        "pass_threshold": 0.8,
    }
    graders = [
        check,
        check | {"id": "a", "name": "Named", "operation": "ilike"},
        check | {"id": "b", "name": "Not unknown", "operation": "ne", "reference": "I don't know."},
        check | {"id": "c", "name": "Swapped", "input": "{{ item.city }}", "reference": "{{ sample.output_text }}"},
        similar | {"id": "d", "name": "Fuzzy", "evaluation_metric": "fuzzy_match"},
        similar | {"id": "e", "name": "Rouge", "evaluation_metric": "rouge_l"},
        similar | {"id": "f", "name": "Cosine", "evaluation_metric": "cosine"},
        check | {"id": "g", "name": "Not the city", "operation": "ne"},
        {"type": "python", "id": "h", "name": "Code", "source": "def grade(sample, item): return 1.0"},
        check | {"id": "i", "name": "Other field", "input": "{{ sample.output_tools }}"},
    ]
    suite, said = suite_of(tmp_path, graders)
    similarity = suite["score"].pop("Cosine")["similarity"]
    assert (similarity["at_least"], similarity["expected"]) == (0.8, "expected.city")
    assert suite["score"] == {
        "Same_city": {"exact": {"expected": "expected.city", "ignore": []}},
        "Named": {"contains": {"expected": "expected.city"}},
        "Not_unknown": {
            "regex": {
                "pattern": r"(?s)(?!I don\'t know\.\Z).+",
                "example": "not I don't know.",
                "whole": True,
            }
        },
        "Swapped": {"exact": {"expected": "expected.city", "ignore": []}},
        "Fuzzy": {"keywords_or_fuzzy": {"expected": "expected.city", "likeness": "edits"}},
        "Rouge": {"similarity": {"expected": "expected.city", "at_least": 0.8}},
    }
    for name in ("Not_the_city (string_check)", "Code (python)", "Other_field (string_check)"):
        assert name in said
        assert f"# Left out: {name}" in (tmp_path / "mine/suite.yaml").read_text()


def test_a_suite_of_string_checks_scores_as_the_api_did_without_a_call(tmp_path):
    check = EVAL["testing_criteria"][0]
    never = check | {"id": "b", "name": "Knows", "operation": "ne", "reference": "I don't know."}
    items = [*ITEMS, item(4, "Mali", "Bamako", "I don't know.", False, 3)]
    suite, _ = suite_of(tmp_path, [check, never], items)
    assert suite["pass"] == "score >= 100 %"
    invoke("run", tmp_path / "mine", "--store", tmp_path / "runs.db")
    report = json.loads(invoke("report", "LAST", "--store", tmp_path / "runs.db", "--json"))
    # By hand: Paris and Mariehamn are right, Cusco and "I don't know." are wrong, Chad has no answer.
    assert (report["figures"]["pass_rate"]["value"], report["figures"]["pass_rate"]["n"]) == (2 / 4, 4)
    assert components_in(report) == {"Same_city": 2 / 4, "Knows": 3 / 4}


def test_model_graders_become_a_judge_that_runs(tmp_path, monkeypatch):
    label = {
        "type": "label_model",
        "name": "Polite",
        "id": "Polite",
        "model": "gpt-4.1-mini",
        "labels": ["polite", "curt"],
        "passing_labels": ["polite"],
        "sampling_params": {"temperature": 0.2, "top_p": 0.9},
        "input": [{"role": "user", "content": [{"type": "input_text", "text": "Label {{ sample.output_text }}."}]}],
    }
    suite, _ = suite_of(tmp_path, [EVAL["testing_criteria"][1], label])
    chat = suite["judge"]["judges"]["grader"]["chat"]
    assert (chat["model"], chat["temperature"], chat["extra"]) == ("gpt-4.1-mini", 0.2, {"top_p": 0.9})
    assert suite["judge"]["rubric"]["scale"] == [1, 5]
    tone, polite = suite["judge"]["rubric"]["dimensions"].values()
    assert tone["about"].startswith("Score how friendly the answer to (input: question) is.")
    assert polite["scores"] == {"5": "The label is polite", "1": "The label is curt"}
    # The threshold 3 of 1 to 5 is half of the scale, and the label all of it: 75 % of both together.
    assert suite["pass"] == "score >= 75 %"
    monkeypatch.setenv("OPENAI_API_KEY", "sk-loopback")
    with Loopback() as server:
        server.on(
            "/v1/chat/completions",
            lambda seen: chat_answer(json.dumps({"weaknesses": [], "evidence": [], "Tone": 4, "Polite": 5})),
        )
        path = tmp_path / "mine/suite.yaml"
        path.write_text(path.read_text().replace("https://api.openai.com", server.base_url))
        invoke("run", tmp_path / "mine", "--store", tmp_path / "runs.db")
        asked = server.requests[0].json["messages"]
    assert "What is the capital of" in asked[-1]["content"]
    report = json.loads(invoke("report", "LAST", "--store", tmp_path / "runs.db", "--json"))
    # (4 - 1) / 4 and 1, over the three answers that came.
    assert report["figures"]["average"] == report["figures"]["average"] | {"value": (0.75 + 1) / 2, "n": 3}
