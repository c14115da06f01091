"""Alerts from the command line: after a run, by hand, and listed."""

import json
import os

import pytest

from parts.command import invoke, outputs, steelyard
from parts.github_runner import obeyed
from parts.loopback import Loopback, error, json_answer
from parts.small_suite import write_suite

OK = json_answer({"ok": True})
SYSTEM = """
import os
def answer(case):
    bad = case.input["number"] < int(os.environ.get("BAD", "0"))
    return {"word": ("<!channel> no %d" if bad else "word %d") % case.input["number"]}
"""


@pytest.fixture
def server():
    with Loopback() as running:
        running.on("/hook", OK)
        yield running


@pytest.fixture
def folder(tmp_path, server, monkeypatch):
    alerts = {"rules": ["gate_failed", "run_invalid"], "channels": [{"webhook": "HOOK"}]}
    write_suite(tmp_path, n=10, alerts=alerts)
    (tmp_path / "system.py").write_text(SYSTEM)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOOK", server.url("/hook"))
    return tmp_path


def run(monkeypatch, bad, code, *more):
    monkeypatch.setenv("BAD", str(bad))
    return invoke("run", ".", *more, code=code)


def kinds(server):
    return [[alert["kind"] for alert in seen.json["alerts"]] for seen in server.requests]


def test_a_cause_is_reported_once_and_its_end_once(folder, server, monkeypatch):
    for bad, code in ((0, 0), (5, 1), (6, 1), (0, 0), (0, 0)):
        run(monkeypatch, bad, code)
    assert kinds(server) == [["raised"], ["recovered"]]
    first, second = (seen.json["alerts"][0] for seen in server.requests)
    assert first["title"] == "the gate pass_rate >= 90 % fails"
    assert first["look"] == f"steelyard gate {first['run']}"
    assert second["title"] == "RECOVERED: the gate pass_rate >= 90 % holds"
    assert second["since"]["run"] == first["run"]
    run(monkeypatch, 5, 1)
    assert kinds(server)[-1] == ["raised"]
    over, again = (" ".join(told.split()) for told in invoke("alerts", "list", "words", "--all").split("#")[1:])
    assert over.startswith("1 recovered: words: the gate pass_rate >= 90 % fails")
    assert over.endswith(f"; over in {second['run']}")
    assert again.startswith("2 open: words: the gate pass_rate >= 90 % fails")
    assert "no run of a suite wrods here" in invoke("alerts", "list", "wrods", code=2)


def test_the_exit_code_is_the_verdict_whatever_becomes_of_the_alerts(folder, server, monkeypatch):
    monkeypatch.setenv("BAD", "5")
    monkeypatch.setenv("HOOK", server.url("/secretsecret"))
    report, said = outputs("run", ".", code=1)
    assert "ALERT: the gate pass_rate >= 90 % fails" in said
    assert "alerts NOT DELIVERED by webhook $HOOK after 1 try" in said
    assert "secretsecret" not in said + report
    (listed,) = json.loads(invoke("alerts", "list", "--json"))
    assert [(each["state"], each["tries"]) for each in listed["deliveries"]] == [("failed", 1)]
    assert "NOT DELIVERED (raised) by webhook $HOOK" in invoke("alerts", "list")


def test_what_was_not_delivered_is_sent_after_the_next_run(folder, server, monkeypatch):
    server.on("/hook", error(400), OK)
    run(monkeypatch, 5, 1)
    run(monkeypatch, 5, 1)
    run(monkeypatch, 5, 1)
    assert kinds(server) == [["raised"], ["raised"]]


def test_nobody_is_reported_of_the_end_of_what_they_never_heard_of(folder, server, monkeypatch):
    server.on("/hook", error(400), OK)
    run(monkeypatch, 5, 1)
    run(monkeypatch, 0, 0)
    assert len(server.requests) == 1


def test_an_end_that_was_not_delivered_is_sent_after_the_next_run(folder, server, monkeypatch):
    server.on("/hook", OK, error(400), OK)
    for bad, code in ((5, 1), (0, 0), (0, 0), (0, 0)):
        run(monkeypatch, bad, code)
    assert kinds(server) == [["raised"], ["recovered"], ["recovered"]]
    _, first, again = (seen.json["alerts"][0] for seen in server.requests)
    assert again == first


def test_a_store_that_was_moved_knows_what_was_reported(folder, server, monkeypatch):
    run(monkeypatch, 5, 1, "--store", "here.db")
    (folder / "elsewhere").mkdir()
    (folder / "here.db").rename(folder / "elsewhere/there.db")
    run(monkeypatch, 6, 1, "--store", "elsewhere/there.db")
    run(monkeypatch, 0, 0, "--store", "elsewhere/there.db")
    assert kinds(server) == [["raised"], ["recovered"]]


def test_json_stays_json(folder, monkeypatch):
    assert json.loads(run(monkeypatch, 5, 1, "--json"))["verdict"] == "FAIL"


def test_no_alerts_when_none_are_wanted(folder, server, monkeypatch):
    run(monkeypatch, 5, 1, "--no-alerts")
    assert server.requests == []
    assert json.loads(invoke("alerts", "list", "--json")) == []


def test_a_part_of_the_suite_raises_and_closes_nothing(folder, server, monkeypatch):
    run(monkeypatch, 5, 1)
    run(monkeypatch, 5, 1, "--limit", "4")
    run(monkeypatch, 0, 0, "--limit", "4")
    assert kinds(server) == [["raised"]]
    assert len(json.loads(invoke("alerts", "list", "--json"))) == 1


def test_a_dry_run_shows_the_message_and_keeps_nothing(folder, server, monkeypatch):
    run(monkeypatch, 5, 1, "--no-alerts")
    told = invoke("alerts", "check", "--dry-run")
    assert "nothing is stored or sent: a dry run" in told
    assert "would be sent by webhook $HOOK:" in told
    assert "Change:   50.0 % is not >= 90.0 %" in told
    assert server.requests == []
    assert invoke("alerts", "list") == "no open alerts\n"
    data = json.loads(invoke("alerts", "check", "--dry-run", "--json"))
    assert data["not_kept"] == "a dry run"
    assert [each["kind"] for each in data["notices"]] == ["raised"]


def test_a_check_by_hand_sends_and_keeps(folder, server, monkeypatch):
    run(monkeypatch, 5, 1, "--no-alerts")
    invoke("alerts", "check")
    assert kinds(server) == [["raised"]]
    assert "alert still open" in invoke("alerts", "check")
    assert len(server.requests) == 1


def test_a_check_ends_with_one_when_something_is_not_delivered(folder, server, monkeypatch):
    server.on("/hook", error(400))
    run(monkeypatch, 5, 1, "--no-alerts")
    invoke("alerts", "check", code=2)


def test_an_old_run_changes_nothing(folder, server, monkeypatch):
    run(monkeypatch, 5, 1)
    old = server.requests[0].json["run"]
    run(monkeypatch, 0, 0)
    assert "is newer" in invoke("alerts", "check", old)
    assert kinds(server) == [["raised"], ["recovered"]]


def test_rules_of_today_can_be_tried_on_a_run_of_yesterday(folder, monkeypatch):
    write_suite(folder, n=10)
    (folder / "system.py").write_text(SYSTEM)
    run(monkeypatch, 5, 1)
    assert "has no alert rules" in invoke("alerts", "check", code=2)
    write_suite(folder, n=10, alerts={"rules": ["gate_failed"]})
    assert "ALERT: the gate" in invoke("alerts", "check", "--suite", ".", "--dry-run")


def test_rules_and_channels_may_be_the_project_s(folder, server, monkeypatch):
    write_suite(folder, n=10)
    (folder / "system.py").write_text(SYSTEM)
    (folder / "steelyard.yaml").write_text("alerts: {rules: [gate_failed], channels: [{slack: HOOK}]}")
    run(monkeypatch, 5, 1)
    (seen,) = server.requests
    assert "*words*: the gate pass" in seen.json["text"]


def test_all_mistakes_in_the_project_file_are_sent_at_once_and_cost_no_run(folder, server, monkeypatch):
    (folder / "steelyard.yaml").write_text("alerts: {rules: [gate_fails], channels: [mial]}\nothers: 1\n")
    told = run(monkeypatch, 5, 2)
    assert "did you mean gate_failed?" in told
    assert "did you mean mail?" in told
    assert "steelyard.yaml:2: unknown key 'others'" in told
    assert not (folder / ".steelyard").exists()


def test_a_gate_that_is_declared_no_more_is_no_recovery(folder, server, monkeypatch):
    run(monkeypatch, 5, 1)
    alerts = {"rules": ["gate_failed"], "channels": [{"webhook": "HOOK"}]}
    write_suite(folder, n=10, alerts=alerts, gates=["average >= 10 %"])
    (folder / "system.py").write_text(SYSTEM)
    run(monkeypatch, 5, 0)
    assert kinds(server) == [["raised"], ["withdrawn"]]


def test_no_line_about_alerts_is_a_command_to_the_runner(folder, server):
    cases = (folder / "cases.jsonl").read_text().replace('"even"', '"##[error]pwned"')
    alerts = {"rules": ["gate_failed"], "channels": [{"webhook": "HOOK"}, "github"]}
    write_suite(folder, n=10, alerts=alerts, gates=["category.*.pass_rate >= 90 %"])
    (folder / "cases.jsonl").write_text(cases)
    (folder / "system.py").write_text(SYSTEM)
    server.on("/hook", error(400, "##[error]pwned"))
    # As a process of its own: what the whole command prints is made harmless, our own commands apart.
    env = {"GITHUB_ACTIONS": "true", "BAD": "10", "HOOK": os.environ["HOOK"]}
    said = steelyard("run", ".", cwd=folder, env=env).stderr
    # The two annotations that are ours, one for each category, and nothing else.
    assert [each.level for each in obeyed(said)] == ["error", "error"]
    assert "## [error]pwned" in said


def test_after_a_run_it_reports_that_nobody_can_tell_yet(folder):
    write_suite(folder, n=10, alerts={"rules": ["regression", "latency_rise"]})
    (folder / "system.py").write_text(SYSTEM)
    assert "alerts: 2 causes could not be decided; steelyard alerts check words-" in outputs("run", ".")[1]


def test_a_defect_in_alerts_is_reported_and_fails_no_run(folder, monkeypatch):
    from steelyard.alerts import notify

    def broken(*_more, **_others):
        raise RuntimeError("boom")

    monkeypatch.setattr(notify, "check_run", broken)
    assert "alerts could not be checked (RuntimeError: boom); try: steelyard alerts check" in outputs("run", ".")[1]
