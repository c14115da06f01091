"""A target has a name in the store, and what differs between targets is named, never hashed, and without secrets."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

import parts
from parts.command import invoke
from parts.served import client_on
from steelyard.errors import SuiteError
from steelyard.loading.load import load_suite
from steelyard.store.sql import open_store

SERVICE = Path(parts.__path__[0]) / "small_service.py"


def service(takes, **more):
    start = {"command": ["{python}", str(SERVICE), "--port", "{port}", "--takes", takes], **more}
    settings = {"url": "/ask", "json": {"number": "{{ input }}"}, "answer": "answer.word", "start": start}
    return {"http": settings}


def write(folder, **parts):
    suite = {"suite": "agent", "cases": [{"id": "a", "input": 1, "expected": "word 1"}]}
    suite["score"] = {"word": {"exact": {"expected": "expected"}}}
    (folder / "suite.yaml").write_text(yaml.safe_dump(suite | parts), encoding="utf-8")


@pytest.fixture
def command(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")

    return lambda *arguments, code=0: invoke(*arguments, "--store", "runs.db", code=code)


@pytest.fixture
def three(tmp_path, command):
    """Three versions of one service, each run once."""
    write(tmp_path, target="v1", targets={f"v{n}": service(f"0.0{n}") for n in (1, 2, 3)})
    for name in ("v1", "v2", "v3"):
        command("run", ".", "--target", name)
    return command


def test_three_versions_of_a_service_are_told_apart_everywhere(three, tmp_path):
    change = "start.command --takes 0.02 -> 0.03"
    listed = three("runs")
    assert f": the target changed since the run before: {change}" in listed
    assert [(row["target"], row["target_changes"]) for row in json.loads(three("runs", "--json"))] == [
        ("v3", change),
        ("v2", "start.command --takes 0.01 -> 0.02"),
        ("v1", ""),
    ]
    compared = three("compare", "LAST~1", "LAST")
    assert f"the target differs: {change}" in compared
    assert "v2 (http /ask of " in compared
    history = three("history", "agent")
    assert f"the target changed: {change}" in history
    assert " v1 " in history
    assert three("history", "agent", "--target", "v2").count(" v2 ") == 1
    with open_store(str(tmp_path / "runs.db")) as store, client_on(store) as client:
        page = client.get("/runs").text
        assert change.replace(">", "&gt;") in page
        assert ">v3<" in page


def test_the_arms_of_an_ab_are_named_by_what_differs(three):
    text = three("ab", ".", "--a", "target=v1", "--b", "target=v2", code=4)
    assert "v1 (http /ask of" in text
    assert "--takes 0.02" in text
    assert "settings" not in text.lower().split("method")[0]


def test_another_name_is_no_other_target(tmp_path, command):
    write(tmp_path, target=service("0") | {"name": "first"})
    command("run", ".")
    write(tmp_path, target=service("0") | {"name": "second"})
    command("run", ".")
    rows = json.loads(command("runs", "--json"))
    assert [(row["target"], row["target_changes"]) for row in rows] == [("second", ""), ("first", "")]
    assert "the target differs" not in command("compare", "LAST~1", "LAST")


def test_a_name_can_come_from_the_command_line_and_survives_rescoring(tmp_path, command):
    write(tmp_path, target=service("0"))
    command("run", ".", "--set", "name=tuned")
    command("rescore", "LAST")
    assert [row["target"] for row in json.loads(command("runs", "--json"))] == ["tuned", "tuned"]


def test_a_target_without_a_name_is_called_by_its_kind_and_command(tmp_path, command):
    write(tmp_path, target=service("0"))
    command("run", ".")
    (row,) = json.loads(command("runs", "--json"))
    assert row["target"] == f"http /ask of {SERVICE} --port {{port}} --takes 0"


@pytest.mark.parametrize("name", ["", " v1", 3, "x" * 101, ["v1"]])
def test_what_cannot_be_a_name_is_a_mistake_in_the_suite(tmp_path, command, name):
    write(tmp_path, target=service("0") | {"name": name})
    with pytest.raises(SuiteError, match="a target's name is a text of at most 100 characters"):
        load_suite(".")


def test_secrets_among_the_settings_are_never_shown(tmp_path, command):
    echo = "import sys; print('word', sys.argv[1])"
    for number, key in (("0", "hunter2-first"), ("1", "hunter2-second")):
        run = ["python3", "-c", echo, number, "--api-key", key, f"--password={key}", "--max-tokens", number]
        write(tmp_path, target={"command": {"run": run}})
        command("run", ".")
    shown = command("runs") + command("compare", "LAST~1", "LAST", code=4) + command("history", "agent")
    assert "run 0 --api-key [secret] --password=[secret] --max-tokens 0 -> 1 --api-key" in shown
    assert "hunter2" not in shown
    assert b"hunter2" not in (tmp_path / "runs.db").read_bytes()
