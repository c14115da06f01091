"""Cases and answers outside the suite's folder: only what `allow` lists, links followed; and `--answers FILE`."""

from __future__ import annotations

import json

import pytest

from parts.command import invoke
from steelyard.errors import SuiteError
from steelyard.loading.load import load_suite

SUITE = """
suite: far
{allow}
cases: {cases}
target: {{recorded: {answers}}}
score: {{label: {{exact: {{expected: expected.label}}}}}}
"""
CASES = [{"id": "a", "expected": {"label": "x"}}, {"id": "b", "expected": {"label": "y"}}]


@pytest.fixture
def place(tmp_path):
    """A folder `suite`, and `data` and `secret` beside it."""
    for name in ("suite", "data", "secret"):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "cases.jsonl").write_text("".join(json.dumps(case) + "\n" for case in CASES))
        (folder / "answers.jsonl").write_text('{"case": "a", "answer": "x"}\n')
    (tmp_path / "data" / "each").mkdir()
    (tmp_path / "data" / "each" / "a.json").write_text(json.dumps(CASES[0]))
    (tmp_path / "data" / "link.jsonl").symlink_to(tmp_path / "secret" / "cases.jsonl")
    return tmp_path


def write(place, cases="cases.jsonl", answers="answers.jsonl", allow=""):
    allow = f"allow: [{allow}]" if allow else ""
    (place / "suite" / "suite.yaml").write_text(SUITE.format(allow=allow, cases=cases, answers=answers))
    return place / "suite"


def complaint(folder):
    with pytest.raises(SuiteError) as caught:
        load_suite(folder)
    return str(caught.value)


@pytest.mark.parametrize(
    "cases", ["../data/cases.jsonl", "'../data/ca*.jsonl'", "{folder: ../data/each}", "{files: [../data/cases.jsonl]}"]
)
def test_listed_places_are_read_and_others_are_not(place, cases):
    assert len(list(load_suite(write(place, cases, allow="../data")).cases)) in (1, 2)
    message = complaint(write(place, cases))
    assert "leads out of the suite's folder: list it in the suite: allow: [../data" in message
    assert "leads out of the suite's folder" in complaint(write(place, cases, allow="../secret"))


def test_a_link_out_of_a_listed_place_is_refused(place):
    secret = place / "secret"
    message = complaint(write(place, "../data/link.jsonl", allow="../data"))
    assert (
        f"leads out of the suite's folder, to {secret}/cases.jsonl: list it in the suite: allow: [{secret}]" in message
    )
    assert load_suite(write(place, "../data/link.jsonl", allow="../data, ../secret/cases.jsonl")).survey.n == 2


def test_an_absolute_path_is_read_where_it_is_listed(place):
    data = place / "data"
    assert load_suite(write(place, data / "cases.jsonl", allow=data)).survey.n == 2
    assert load_suite(write(place, data / "cases.jsonl", allow="../data")).survey.n == 2
    assert f"or list it in the suite: allow: [{data}]" in complaint(write(place, data / "cases.jsonl"))
    # Elsewhere the suite's own folder is called otherwise.
    assert "is an absolute path: write it relative" in complaint(write(place, place / "suite" / "cases.jsonl"))


def test_answers_are_read_where_it_is_listed_and_prompts_never(place, monkeypatch):
    monkeypatch.chdir(place)
    assert "allow: [../data]" in complaint(write(place, answers="../data/answers.jsonl"))
    write(place, answers="../data/answers.jsonl", allow="../data")
    assert json.loads(invoke("run", "suite", "--max-inconclusive", 1, "--json"))["figures"]["average"]["n"] == 1
    chat = "{file: ../data/answers.jsonl}"
    text = (place / "suite" / "suite.yaml").read_text()
    target = f"target: {{chat: {{base_url: 'http://localhost:1', model: m, user: {chat}}}}}"
    (place / "suite" / "suite.yaml").write_text(text.replace("target: {recorded: ../data/answers.jsonl}", target))
    message = complaint(place / "suite")
    assert "leads out of the suite's folder" in message
    assert "allow:" not in message


def test_a_suite_in_python_lists_them_too(place):
    keys = "cases='../data/cases.jsonl', target={'recorded': '../data/answers.jsonl'}"
    score = "score={'label': {'exact': {'expected': 'expected.label'}}}"
    file = place / "suite" / "far.py"
    file.write_text(f"from steelyard import Suite\nsuite = Suite('far', {keys}, {score}, allow=['../data'])\n")
    assert load_suite(file).survey.n == 2
    file.write_text(f"from steelyard import Suite\nsuite = Suite('far', {keys}, {score})\n")
    assert complaint(file).count("allow: [../data]") == 2


def test_answers_from_the_command_line_take_the_place_of_the_target(place, monkeypatch):
    monkeypatch.chdir(place / "data")
    write(place)
    ((place / "suite") / "answers.jsonl").unlink()
    suite = (place / "suite" / "suite.yaml").read_text()
    broken = suite.replace("{recorded: answers.jsonl}", "{http: {url: 'http://127.0.0.1:1/'}}")
    (place / "suite" / "suite.yaml").write_text(broken)
    report = json.loads(invoke("run", "../suite", "--answers", "answers.jsonl", "--max-inconclusive", 1, "--json"))
    # `a` is right; of `b` there is no answer, which is no wrong one.
    assert (report["figures"]["average"]["value"], report["figures"]["average"]["n"]) == (1.0, 1)
    assert report["figures"]["failures.not_recorded"]["value"] == 1
    assert report["run"]["target"]["file"] == "answers.jsonl"
    assert "there is no such file" in invoke("run", "../suite", "--answers", "none.jsonl", code=2)
    assert "leave out --target" in invoke("run", "../suite", "--answers", "answers.jsonl", "--model", "m", code=2)


def test_answers_of_a_built_in_suite(place, monkeypatch):
    monkeypatch.chdir(place / "data")
    (place / "data" / "own.jsonl").write_text(json.dumps({"case": "furn-001", "answer": {}}) + "\n")
    report = json.loads(invoke("run", "antiques", "--answers", "own.jsonl", "--limit", 2, "--json", code=3))
    assert report["run"]["target"]["kind"] == "recorded"
