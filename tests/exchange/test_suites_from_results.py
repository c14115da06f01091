"""`init --from`: a suite of another tool's file that runs at once, without a call, and reads the same answers anew."""

import errno
import json
from pathlib import Path

import pytest

from parts.command import invoke
from steelyard.exchange.suite_files import scorer_for

FILES = Path(__file__).parent / "files"


def scored(tmp_path, file, *options):
    folder = tmp_path / "mine"
    if not folder.exists():
        invoke("init", folder, "--from", file)
    store = tmp_path / "runs.db"
    invoke("run", folder, "--store", store, *options)
    return json.loads(invoke("report", "LAST", "--store", store, "--json")), (folder / "suite.yaml").read_text()


@pytest.mark.parametrize(
    ("file", "scorer", "rate", "n"),
    [
        # promptfoo's `equals` and lm-eval's `exact_match` say the same; OpenAI's `Match` looks at the beginning alone
        # and has 5 of 8: "The answer is 72." contains its truth.
        ("promptfoo.json", "exact", 5 / 8, 8),
        ("inspect.eval", "exact", 10 / 16, 16),
        ("samples_filters_2026-11-17T19-42-26.262525.jsonl", "exact", 5 / 10, 10),
        ("samples_choices_2026-11-17T19-43-13.682542.jsonl", "exact", 1 / 4, 4),
        ("openai-evals.jsonl", "contains", 6 / 8, 8),
    ],
)
def test_the_answers_are_scored_anew_without_a_call(tmp_path, file, scorer, rate, n):
    report, text = scored(tmp_path, FILES / file)
    assert f"answer: {{{scorer}:" in text
    assert report["figures"]["pass_rate"]["value"] == rate
    assert report["figures"]["pass_rate"]["n"] == n
    assert report["run"]["target"]["kind"] == "recorded"


def test_failed_calls_without_a_question_are_left_out_and_counted(tmp_path):
    message = invoke("init", tmp_path / "mine", "--from", FILES / "openai-evals.jsonl")
    left_out = (
        "Left out: 2 of 10 cases: the file does not say what was expected (2 of them: no answer came, only an error)"
    )
    assert left_out in message.splitlines()
    assert f"# {left_out}." in (tmp_path / "mine" / "suite.yaml").read_text()
    assert len((tmp_path / "mine" / "answers.jsonl").read_text().splitlines()) == 8


def test_both_readings_can_be_held_beside_each_other(tmp_path):
    scored(tmp_path, FILES / "promptfoo.json")
    store = tmp_path / "runs.db"
    theirs = json.loads(invoke("import", FILES / "promptfoo.json", "--store", store, "--json"))["runs"][0]["run"]
    ours = next(run["id"] for run in json.loads(invoke("runs", "--store", store, "--json")) if run["id"] != theirs)
    compared = json.loads(invoke("compare", theirs, ours, "--store", store, "--allow-mismatch", "--json", code=3))
    assert compared["verdict"] == "same"
    assert "8 unchanged of 8 comparable pairs" in compared["moved"][0]


def test_every_provider_has_its_answers_and_every_prompt_is_a_variant(tmp_path):
    small, text = scored(tmp_path, FILES / "promptfoo-grid.json")
    large, _ = scored(tmp_path, FILES / "promptfoo-grid.json", "--target", "openai:chat:large")
    assert (
        'variants:\n  prompt:\n    - {"name": "prompt-4a0915", "value": "{{question}}"}\n'
        '    - {"name": "prompt-aa79c9", "value": "You teach fourth grade. {{question}}"}\nrepeats: 2' in text
    )
    for report in (small, large):
        assert report["figures"]["pass_rate"]["value"] == 6 / 12
        assert report["n_samples"] == 16


def test_equals_is_as_strict_as_it_was_and_prompts_keep_label_and_text(tmp_path):
    document = json.loads((FILES / "promptfoo-grid.json").read_text())
    raws = [prompt["raw"] for prompt in document["results"]["prompts"]]
    for prompt in document["results"]["prompts"]:
        # As promptfoo labels a prompt that a person named, and one that it read from a file.
        prompt["label"] = "the short one" if prompt["raw"] == raws[0] else f"prompts/teacher.txt: {prompt['raw']}"
    for row in document["results"]["results"]:
        for item in row["testCase"]["assert"]:
            item["type"] = "equals"
        # Right but for its letters: promptfoo's equals counts that as wrong.
        if (row.get("response") or {}).get("output") == "Paris":
            row["response"]["output"] = "PARIS"
    file = tmp_path / "results.json"
    file.write_text(json.dumps(document))
    report, text = scored(tmp_path, file)
    assert '- {"name": "the short one", "value": "{{question}}"}' in text
    assert '- {"name": "prompts/teacher.txt", "value": "You teach fourth grade. {{question}}"}' in text
    paris = [item for item in report["samples"] if item["answer"] == "PARIS"]
    assert paris
    assert {item["score"] for item in paris} == {0}


def test_a_conversation_of_inspect_keeps_its_messages_and_tool_calls(tmp_path):
    document = json.loads((FILES / "inspect.json").read_text())
    sample = next(item for item in document["samples"] if item["target"] == "Paris")
    call = {"id": "call_1", "function": "look_up", "arguments": {"country": "France"}, "type": "function"}
    question, answer = sample["messages"]
    sample["messages"] = [
        question,
        {"id": "m1", "role": "assistant", "content": "", "tool_calls": [call], "source": "generate"},
        {"id": "m2", "role": "tool", "content": "Paris", "tool_call_id": "call_1", "function": "look_up"},
        answer,
    ]
    file = tmp_path / "log.json"
    file.write_text(json.dumps(document))
    store = tmp_path / "kept.db"
    invoke("import", file, "--store", store)
    shown = json.loads(invoke("show", "LAST", sample["id"], "--store", store, "--json"))
    kept = json.loads(shown["answer"])
    assert kept["completion"] == "Paris"
    assert [message["role"] for message in kept["messages"]] == ["user", "assistant", "tool", "assistant"]
    assert kept["messages"][1]["tool_calls"] == [call]
    assert kept["messages"][2]["tool_call_id"] == "call_1"
    report, _ = scored(tmp_path, file)
    # The scores are those of the completions, as before: 5 of 8 by inspect's own `exact`.
    assert report["figures"]["pass_rate"]["value"] == 5 / 8
    (mine,) = [item for item in report["samples"] if item["case_id"] == sample["id"]]
    assert json.loads(mine["answer"])["messages"][1]["tool_calls"] == [call]


def test_truths_that_are_data_are_compared_part_by_part(tmp_path):
    file = tmp_path / "data.jsonl"
    rows = [{"x": 1, "y": [2]}, {"x": 3}]
    lines = [
        {"id": str(n), "question": "?", "answer": json.dumps(row), "expected": {**row, "x": 1}}
        for n, row in enumerate(rows)
    ]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    report, _ = scored(tmp_path, file)
    assert report["figures"]["pass_rate"]["value"] == 1 / 2


def test_what_is_there_is_not_overwritten(tmp_path):
    (tmp_path / "cases.jsonl").write_text("mine")
    message = invoke("init", tmp_path, "--from", FILES / "promptfoo.json", code=2)
    assert "already has cases.jsonl" in message
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cases.jsonl"]


@pytest.mark.parametrize(
    ("kind", "truths", "scorer"),
    [
        ("match", ["Paris", "Lima"], "contains"),
        ("includes", ["Paris", "Lima"], "contains"),
        ("icontains", ["Paris", "Lima"], "match: all"),
        ("contains-any", [["a", "b"]], "match: any"),
        ("equals", ["Paris", "Lima"], "exact: {expected: expected, ignore: []}"),
        ("equals", ["12", "-3.5", 4], "exact"),
        ("equals", ["yes", "no", "no", "yes", "yes", "no"], "exact"),
        ("equals", [{"a": 1}], "exact: {expected: expected, answer: ''}"),
        ("exact_match", ["12", "-3.5", 4], "number"),
        ("", ["yes", "no", "no", "yes", "yes", "no"], 'choice: {expected: expected, labels: ["no", "yes"]'),
        ("exact", [["a", "b"], "c"], "contains"),
        ("llm-rubric", [None], "regex"),
    ],
)
def test_the_nearest_scorer_is_chosen(kind, truths, scorer):
    assert scorer in scorer_for(kind, truths)[0]


def test_nothing_that_a_file_names_becomes_a_part_of_the_suite(tmp_path):
    document = json.loads((FILES / "promptfoo-grid.json").read_text())
    document["config"]["description"] = "capitals \U0001f5fa\u2028\x7f"
    for row in document["results"]["results"]:
        row["provider"]["label"] = f"{row['provider']['id']} \U0001f5fa\ntarget: {{python: evil:run}}"
        for part in (row.get("gradingResult") or {}).get("componentResults") or []:
            part["assertion"]["type"] += "\nlimits: {timeout: 1}\x85repeats: 1"
    file = tmp_path / "results.json"
    file.write_text(json.dumps(document))
    report, text = scored(tmp_path, file)
    assert [line for line in text.splitlines() if line.startswith(("target:", "limits: {t", "repeats: 1"))] == [
        "target: {recorded: answers.jsonl}"
    ]
    assert report["run"]["suite"] == "capitals \U0001f5fa\u2028\x7f"
    label = "openai:chat:large \U0001f5fa\ntarget: {python: evil:run}"
    assert scored(tmp_path, file, "--target", label)[0]["run"]["target"]["file"] == "answers-1.jsonl"


def test_two_cases_of_one_id_are_no_suite(tmp_path):
    file = tmp_path / "rows.jsonl"
    file.write_text("".join(json.dumps({"id": 1, "question": text, "answer": "x"}) + "\n" for text in "ab"))
    assert "two different cases have the id '1'" in invoke("init", tmp_path / "mine", "--from", file, code=2)
    assert not (tmp_path / "mine").exists()


def test_a_full_disk_leaves_nothing(tmp_path, monkeypatch):
    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)  # of suite.yaml, the last file
    message = invoke("init", tmp_path / "mine", "--from", FILES / "promptfoo.json", code=2)
    assert "No space left on device; nothing was written" in message
    assert list((tmp_path / "mine").iterdir()) == []
