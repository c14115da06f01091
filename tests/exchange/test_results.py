"""Files of other tools, made by those tools (files/README.md says how, and what they printed): read, stored, shown."""

import json
from contextlib import closing
from pathlib import Path

import pytest

from parts.command import invoke
from parts.counts import components_in
from steelyard.store.sql import open_store

FILES = Path(__file__).parent / "files"
FILTERS = "samples_filters_2026-11-17T19-42-26.262525.jsonl"
CHOICES = "samples_choices_2026-11-17T19-43-13.682542.jsonl"


def imported(tmp_path, file, *more):
    """What `import --json` says, and by run its report and its samples."""
    store = str(tmp_path / "runs.db")
    runs = json.loads(invoke("import", FILES / file, "--store", store, "--json", *more))
    reports = {}
    with closing(open_store(store)) as opened:
        for run in runs["runs"]:
            report = json.loads(invoke("report", run["run"], "--store", store, "--json"))
            reports[run["run"]] = report, list(opened.samples(run["run"]))
    return runs, reports


def only(reports):
    ((report, samples),) = reports.values()
    return report, samples


# The figures are those that the tools printed, over the answers that came.
@pytest.mark.parametrize(
    ("file", "tool", "n", "failed", "scores"),
    [
        ("promptfoo.json", "promptfoo 0.121.20", 10, 2, {"equals": 0.625}),
        ("inspect.json", "inspect 0.3.285", 10, 2, {"exact": 0.625, "includes": 0.75}),
        ("inspect.eval", "inspect 0.3.285", 20, 4, {"exact": 0.625, "includes": 0.75}),
        (FILTERS, "lm-eval 0.4.13", 10, 0, {"exact_match": 0.5, "exact_match-number": 0.4}),
        (CHOICES, "lm-eval 0.4.13", 4, 0, {"acc": 0.25, "acc_norm": 0.25}),
        ("openai-evals.jsonl", "OpenAI evals", 10, 2, {"match": 0.625}),
    ],
)
def test_the_scores_are_those_of_the_tool_over_the_answers_that_came(tmp_path, file, tool, n, failed, scores):
    runs, reports = imported(tmp_path, file)
    report, samples = only(reports)
    assert runs["scored_by"] == tool
    assert len(samples) == n
    assert sum(sample.outcome == "target_failed" for sample, _ in samples) == failed
    assert components_in(report) == scores
    assert report["figures"]["average"]["value"] == next(iter(scores.values()))
    assert report["figures"]["average"]["n"] == n - failed
    assert any(f"scored by {tool}, not by Steelyard" in note for note in report["notes"])
    assert f"was scored by {tool}, not by Steelyard" in invoke("runs", "--store", str(tmp_path / "runs.db"))


def test_errors_that_promptfoo_counted_as_wrong_are_counted_and_in_no_figure(tmp_path):
    runs, reports = imported(tmp_path, "promptfoo.json")
    report, samples = only(reports)
    # 5 of 10 passed; without the two HTTP 500, 5 of 8.
    sentence = (
        "2 of 10 answers are errors that promptfoo counted as wrong: its 50.0 % are 62.5 % of the 8 that were answered"
    )
    assert sentence in runs["runs"][0]["notes"]
    assert sentence in report["notes"]
    assert report["verdict"] == "INVALID"
    failed = [sample for sample, _ in samples if sample.call_result.failure]
    assert [sample.score for sample in failed] == [None, None]
    assert "500 Internal Server Error" in failed[0].call_result.failure.message


def test_a_cost_that_nobody_counted_and_a_time_that_nobody_waited_are_missing(tmp_path):
    document = json.loads((FILES / "promptfoo.json").read_text())
    first, second = document["results"]["results"][:2]
    # promptfoo writes a cost of 0 into rows without a price.
    assert (first["cost"], "cost" in first["response"]) == (0, False)
    first["response"]["cached"] = True
    second["response"]["cost"] = 0.25
    (tmp_path / "results.json").write_text(json.dumps(document))
    _, samples = only(imported(tmp_path, tmp_path / "results.json")[1])
    calls = [sample.call_result for sample, _ in samples[:2]]
    assert [call.cost for call in calls] == [None, 0.25]
    assert [call.latency for call in calls] == [0.0, second["latencyMs"] / 1000]
    rows = "question,answer,score,latency,cost,tokens_in\na,x,wrong,-3,-0.5,-7\nb,y,right,2,0,2.7\nc,z,1,1,1,8\n"
    (tmp_path / "rows.csv").write_text(rows)
    _, samples = only(imported(tmp_path, tmp_path / "rows.csv")[1])
    assert [sample.score for sample, _ in samples] == [0, 1, 1]
    calls = [sample.call_result for sample, _ in samples]
    assert [(call.latency, call.cost, call.tokens_in) for call in calls] == [(0, None, None), (2, 0, None), (1, 1, 8)]


def test_a_provider_is_a_run_a_prompt_a_variant_and_an_assertion_a_component(tmp_path):
    runs, reports = imported(tmp_path, "promptfoo-grid.json")
    assert [report["run"]["target"]["model"] for report, _ in reports.values()] == [
        "openai:chat:small",
        "openai:chat:large",
    ]
    for report, samples in reports.values():
        # 4 tests x 2 prompts x 2 repeats.
        assert len({sample.key for sample, _ in samples}) == 16
        # The first digits of `printf %s '"PROMPT"' | sha256sum`: a prompt is known by its text.
        assert {sample.variant for sample, _ in samples} == {"prompt-4a0915", "prompt-aa79c9"}
        assert {sample.repeat for sample, _ in samples} == {0, 1}
        assert list(components_in(report)) == ["exact", "contains"]
        # Of 12 answered, France passes under both prompts, 9 * 8 under the second: 2 x (2 + 1).
        assert report["figures"]["pass_rate"]["value"] == 6 / 12
    a, b = (run["run"] for run in runs["runs"])
    compared = invoke("compare", a, b, "--store", str(tmp_path / "runs.db"), "--json", code=3)
    changes = {change["part"] for change in json.loads(compared)["signatures"]["changes"]}
    assert "model" in changes
    assert not changes & {"scorers", "truth", "cases", "suite"}


def test_another_version_of_the_tool_is_another_signature(tmp_path):
    imported(tmp_path, "promptfoo.json")
    file = tmp_path / "later.json"
    file.write_bytes(spoilt("promptfoo.json", b"0.121.20", b"0.122.0"))
    imported(tmp_path, file)
    both = [run["id"] for run in json.loads(invoke("runs", "--store", str(tmp_path / "runs.db"), "--json"))]
    compared = json.loads(invoke("compare", *both, "--store", str(tmp_path / "runs.db"), "--json", code=3))
    assert [change["sentence"] for change in compared["signatures"]["changes"]] == [
        "the scorers differ: a change may be theirs"
    ]


def test_epochs_are_repeats_and_usage_and_latency_are_taken_over(tmp_path):
    _, samples = only(imported(tmp_path, "inspect.eval")[1])
    assert {(sample.case_id, sample.repeat) for sample, _ in samples} == {
        (f"q{n}", repeat) for n in range(1, 11) for repeat in (0, 1)
    }
    sample, case = samples[0]
    assert (sample.case_id, case.input, case.expected) == ("q1", {"text": "What is the capital of France?"}, "Paris")
    assert (sample.call_result.tokens_in, sample.call_result.tokens_out) == (11, 3)
    assert sample.call_result.latency > 0
    assert sample.call_result.cost is None


def test_the_likeliest_choice_is_the_answer(tmp_path):
    _, samples = only(imported(tmp_path, CHOICES)[1])
    # Log likelihoods of the first: Paris -0.26, Lyon -0.81, Lille -0.55.
    assert (samples[0][0].call_result.text, samples[0][1].expected) == ("Paris", "Paris")
    assert (samples[1][0].call_result.text, samples[1][1].expected) == ("six legs", "eight legs")


def test_empty_answers_of_lm_eval_may_be_errors(tmp_path):
    runs, _ = imported(tmp_path, FILTERS)
    assert runs["runs"][0]["notes"][0].startswith("2 of 10 answers are empty, which lm-eval counted as wrong")


TABLE = """question,answer,expected,score,latency,error
What is 1 + 1?,2,2,5,0.5,
What is 1 + 1?,two,2,2,0.7,
What is 2 + 2?,4,4,,,
What is 3 + 3?,,6,,,timeout
"""


def test_a_table_is_read_and_its_scale_is_what_it_shows(tmp_path):
    file = tmp_path / "graded.csv"
    file.write_text(TABLE)
    runs, reports = imported(tmp_path, file, "--name", "sums")
    report, samples = only(reports)
    # 5 and 2 on a scale up to 5.
    assert [sample.score for sample, _ in samples] == [1.0, 0.4, None, None]
    assert [sample.repeat for sample, _ in samples] == [0, 1, 0, 0]
    assert [sample.call_result.latency for sample, _ in samples] == [0.5, 0.7, 0.0, 0.0]
    assert report["run"]["suite"] == "sums"
    notes = " ".join(runs["runs"][0]["notes"])
    for sentence in (
        "1 of 4 answers are errors",
        "1 of 4 answers have no score",
        "taken as 0 to 5",
        "dated by its file",
    ):
        assert sentence in notes
    assert report["figures"]["pass_rate"]["value"] is None


def test_the_scale_is_stated_once_as_it_was_taken_or_as_the_user_says(tmp_path):
    file = tmp_path / "big.csv"
    file.write_text("question,answer,score\na,x,87\nb,y,3\n")
    runs, reports = imported(tmp_path, file)
    stated = [note for note in runs["runs"][0]["notes"] if "scale" in note]
    assert stated == [
        "score: its scale is taken as 0 to 87: 0 and the highest value in the file; --scale LOW:HIGH gives another"
    ]
    assert [sample.score for sample, _ in only(reports)[1]] == [1.0, 3 / 87]
    runs, reports = imported(tmp_path, file, "--scale", "0:100")
    assert "score: its scale is taken as 0 to 100: as --scale says" in runs["runs"][0]["notes"]
    assert [sample.score for sample, _ in only(reports)[1]] == [0.87, 0.03]
    more = ("--store", tmp_path / "runs.db")
    assert "case a-" in (message := invoke("import", file, "--scale", "0:80", *more, code=2))
    assert "has the score 87. Nothing was imported" in message
    for unusable in ("5", "5:1", "0:nan", "0:inf"):
        invoke("import", file, "--scale", unusable, *more, code=2)


def test_rows_may_have_other_columns_and_letters_are_no_grades(tmp_path):
    file = tmp_path / "rows.jsonl"
    rows = [
        {"Input": "a", "error": "timeout"},
        {"Input": "b", "Output": None, "score": "no"},
        {"Input": "c", "Output": "x", "score": "85 %"},
        {"Input": "d", "Output": "x", "score": "C"},
    ]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    _, samples = only(imported(tmp_path, file)[1])
    assert [sample.score for sample, _ in samples] == [None, 0.0, 0.85, None]
    assert [sample.call_result.text for sample, _ in samples] == [None, "", "x", "x"]


def test_a_column_of_errors_may_say_that_there_was_none(tmp_path):
    file = tmp_path / "rows.csv"
    words = ("False", "no", "0", "NaN", "None", "", "failed", "True", "504")
    file.write_text("question,answer,score,failed\n" + "".join(f"q{word},x,1,{word}\n" for word in words))
    _, samples = only(imported(tmp_path, file)[1])
    assert [sample.score for sample, _ in samples] == [1.0] * 6 + [None] * 3


def test_an_answer_without_the_score_that_counts_gets_no_other(tmp_path):
    document = json.loads((FILES / "inspect.json").read_text())
    without = next(sample for sample in document["samples"] if "error" not in sample)
    without["scores"]["exact"]["value"] = None
    (tmp_path / "log.json").write_text(json.dumps(document))
    rows = [json.loads(line) for line in (FILES / CHOICES).read_text().splitlines()]
    rows[0]["acc"] = None
    (tmp_path / "samples.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    events = [json.loads(line) for line in (FILES / "openai-evals.jsonl").read_text().splitlines()]
    first = next(event for event in events if event.get("type") == "match")
    first |= {"type": "metrics", "data": {"length": 1}}
    (tmp_path / "events.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))
    unscored = {}
    for name in ("log.json", "samples.jsonl", "events.jsonl"):
        _, samples = only(imported(tmp_path, tmp_path / name, "--name", name)[1])
        unscored[name] = [sample.score for sample, _ in samples if "not scored" in str(sample.call_result.failure)]
    assert unscored == {name: [None] for name in unscored}


def test_what_was_not_timed_took_no_0_seconds_and_sql_says_who_scored(tmp_path):
    imported(tmp_path, CHOICES)
    store = str(tmp_path / "runs.db")
    call = json.loads(invoke("show", "LAST", "doc-0", "--store", store, "--json"))["call"]
    assert [call[name] for name in ("latency", "tokens_in", "tokens_out", "cost")] == [None] * 4
    query = "select scored_by, count(s.latency) as timed from runs join samples s using (run) group by all"
    asked = json.loads(invoke("sql", query, "--store", store, "--json"))
    assert asked == [{"scored_by": "lm-eval 0.4.13", "timed": 0}]


def test_the_same_file_twice_is_one_run(tmp_path):
    first, _ = imported(tmp_path, "promptfoo.json")
    again, _ = imported(tmp_path, "promptfoo.json")
    assert [run["run"] for run in first["runs"]] == [run["run"] for run in again["runs"]]
    assert not again["runs"][0]["new"]


def test_a_run_of_another_tool_is_not_rescored_by_a_suite_of_its_name(tmp_path):
    imported(tmp_path, "promptfoo.json")
    result = invoke("rescore", "LAST", "--store", str(tmp_path / "runs.db"), code=2)
    assert "was scored by promptfoo 0.121.20" in result
    assert "steelyard init FOLDER --from promptfoo.json" in result


def cut(name, share):
    raw = (FILES / name).read_bytes()
    return raw[: int(len(raw) * share)]


def spoilt(name, old, new):
    return (FILES / name).read_bytes().replace(old, new)


@pytest.mark.parametrize(
    ("name", "raw", "message"),
    [
        ("a.json", b"", "it is empty"),
        ("a.json", b'{"hello": 1}', 'it begins with \'{"hello": 1}\''),
        ("a.txt", b"nothing of the kind", "inspect logs (.eval, JSON), promptfoo results JSON"),
        ("a.csv", b"colour,size\nred,1\n", "question, answer, expected, score"),
        ("a.csv", b"question,answer\na,b\n", "holds answers and no scores"),
        ("a.jsonl", b'{"question": "a", "answer": "b", "score": 1}\n{"question"\n', "a.jsonl:2: not readable as JSON"),
        ("a.jsonl", b'{"id": 1, "question": "a", "answer": "b", "score": 1}\n' * 1
         + b'{"id": 1, "question": "c", "answer": "b", "score": 1}\n', "two different cases have the id '1'"),
        ("a.json", cut("promptfoo.json", 0.6), "not readable as JSON"),
        ("a.json", cut("inspect.json", 0.6), "not readable as JSON"),
        ("a.eval", cut("inspect.eval", 0.6), "damaged or cut off"),
        ("a.eval", spoilt("inspect.eval", b"\x28\xb5\x2f\xfd", b"\x28\xb5\x2f\x00"), "is damaged"),
        ("a.eval", spoilt("inspect.eval", b"PK\x01\x02", b"PK\x01\x00"), "another shape"),
        ("a.json", spoilt("promptfoo-grid.json", b'"promptIdx": 0', b'"promptIdx": "x"'), "another shape"),
    ],
)  # fmt: skip
def test_a_file_that_is_none_of_these_or_damaged_leaves_nothing(tmp_path, name, raw, message):
    file = tmp_path / name
    file.write_bytes(raw)
    store = str(tmp_path / "runs.db")
    result = invoke("import", file, "--store", store, code=2)
    assert message in result
    assert "Nothing was imported" in result
    assert not Path(store).exists() or "no runs" in invoke("runs", "--store", store)


def test_a_file_in_a_log_that_unpacks_to_more_than_any_log_has_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("steelyard.exchange.inspect_logs.MAX_UNPACKED", 1_000)
    result = invoke("import", FILES / "inspect.eval", "--store", tmp_path / "runs.db", code=2)
    assert "is larger than 1,000 bytes unpacked" in result


def test_a_log_without_its_end_says_so(tmp_path):
    document = json.loads((FILES / "inspect.json").read_text())
    document |= {"status": "cancelled", "samples": document["samples"][:2]}
    file = tmp_path / "log.json"
    file.write_text(json.dumps(document))
    runs, _ = imported(tmp_path, file)
    assert "inspect says that its run ended with the status cancelled" in runs["runs"][0]["notes"]


def test_a_scorer_of_several_values_is_several_components(tmp_path):
    document = json.loads((FILES / "inspect.json").read_text())
    for sample in document["samples"]:
        if "error" not in sample:
            sample["scores"] = {"exact": {"value": {"right": "P", "polite": 3}}}
    file = tmp_path / "log.json"
    file.write_text(json.dumps(document))
    report, samples = only(imported(tmp_path, file)[1])
    assert components_in(report) == {
        "exact-right": 0.5,
        "exact-polite": 3.0,
    }
    assert {sample.score for sample, _ in samples} == {0.5, None}
    assert report["figures"]["pass_rate"]["value"] is None


def test_a_summary_that_differs_from_the_rows_is_reported(tmp_path):
    document = json.loads((FILES / "promptfoo.json").read_text())
    document["results"]["stats"] |= {"successes": 6, "failures": 2}
    file = tmp_path / "results.json"
    file.write_text(json.dumps(document))
    runs, _ = imported(tmp_path, file)
    assert runs["runs"][0]["differences"] == [
        "passed: its summary says 6, its records 5",
        "failed: its summary says 2, its records 3",
    ]
