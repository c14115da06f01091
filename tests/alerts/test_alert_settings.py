"""What a suite or a project may say of alerts, and every mistake in it at once."""

import pytest
import yaml

from parts.small_suite import write_suite
from steelyard.errors import SuiteError
from steelyard.loading.alerts import RULES, AlertSettings, Regression, settings_from
from steelyard.loading.load import load_suite, project_alerts

EVERYTHING = {
    "rules": [
        "gate_failed",
        {"run_invalid": {"suspect": False}},
        {"regression": {"metric": "category.*.average", "against": "@release", "by": "3 points"}},
        "new_finding",
        {"new_confusion": {"samples": 3}},
        {"latency_rise": {"metric": "latency.p50", "by": "30 %"}},
        {"cost_rise": None},
    ],
    "window": {"runs": 7, "min_runs": 2, "min_n": 10},
    "sure": "95 %",
    "channels": [
        {"webhook": "HOOK"},
        {"slack": {"url": "SLACK", "token": "KEY"}},
        {"mail": {"to": ["a@example.org"], "from": "b@example.org", "host": "mail.example.org"}},
        {"command": ["notify", "--loud"]},
        "github",
    ],
}


def loaded(folder, alerts, **more):
    return load_suite(write_suite(folder, alerts=alerts, **more))


def problems(folder, alerts, **more):
    with pytest.raises(SuiteError) as caught:
        loaded(folder, alerts, **more)
    return str(caught.value)


def test_a_suite_says_what_to_tell_and_where(tmp_path):
    found = loaded(tmp_path, EVERYTHING, n=40).alerts
    # What is about a judge is no rule of a suite without one.
    assert [rule.kind for rule in found.rules] == [kind for kind in RULES if kind not in ("flag_rate", "judge_drift")]
    assert found.rules[2].against == "release"
    assert found.rules[5].by == 0.3
    assert found.max_p == pytest.approx(0.05)
    assert [channel.label for channel in found.channels] == [
        "webhook $HOOK",
        "slack $SLACK",
        "mail a@example.org",
        "command notify --loud",
        "github",
    ]


def test_a_run_keeps_the_settings_and_no_secret(tmp_path, monkeypatch):
    monkeypatch.setenv("HOOK", "https://hooks.example.org/secretsecret")
    suite = loaded(tmp_path, EVERYTHING, n=40)
    kept = suite.data()["alerts"]
    assert settings_from(yaml.safe_load(yaml.safe_dump(kept))) == suite.alerts
    assert "secretsecret" not in str(kept)


def test_a_suite_without_alerts_is_described_as_ever(tmp_path):
    assert load_suite(write_suite(tmp_path)).alerts is None


@pytest.mark.parametrize(
    ("alerts", "message"),
    [
        ({"rules": ["gate_fails"]}, "there is no rule 'gate_fails': did you mean gate_failed?"),
        ({"rules": ["gate_failed", "gate_failed"]}, "gate_failed is declared twice"),
        ({"rules": [{"a": 1, "b": 2}]}, "a rule is one kind with its settings"),
        ({"rules": [{"regression": {"metric": "averge"}}]}, "there is no metric 'averge'"),
        ({"rules": [{"regression": {"metric": "score.wrd.average"}}]}, "wrd"),
        ({"rules": [{"regression": {"metric": "category.left.average"}}]}, "left"),
        (
            {"rules": [{"regression": {"metric": "average", "by": "200 ms"}}]},
            "200 ms is unclear for average: write 200 points",
        ),
        ({"rules": [{"regression": {"by": "3 points"}}]}, "by needs a metric"),
        ({"rules": [{"regression": {"against": "3rd"}}]}, "'3rd' cannot name a baseline"),
        ({"rules": [{"flag_rate": {"flag": "harm"}}]}, "harm"),
        ({"rules": [{"new_finding": {"sample": 2}}]}, "sample"),
        ({"channels": [{"webhook": "https://hooks.example.org/T/B/x"}]}, "not the name of an environment variable"),
        ({"channels": ["fax"]}, "there is no channel 'fax'"),
        ({"channels": [{"command": "notify --loud"}]}, "argv"),
        ({"window": {"runs": 0}}, "alerts.window.runs"),
        ({"rule": []}, "rule"),
    ],
)
def test_what_is_wrong_is_reported(tmp_path, alerts, message):
    assert message in problems(tmp_path, alerts)


def test_an_address_in_the_file_is_not_repeated(tmp_path):
    assert "T/B/x" not in problems(tmp_path, {"channels": [{"webhook": "https://hooks.example.org/T/B/x"}]})


def test_all_mistakes_come_at_once_with_their_lines(tmp_path):
    told = problems(tmp_path, {"rules": ["gate_fails"], "channels": ["fax"]}, gates=["no_such >= 1"])
    assert told.count("suite.yaml:") == 3


def test_what_the_suite_leaves_out_comes_from_the_project(tmp_path):
    (tmp_path / "steelyard.yaml").write_text(
        yaml.safe_dump({"alerts": {"rules": ["run_invalid"], "channels": ["github"], "sure": 0.9}})
    )
    project = project_alerts(tmp_path)
    own = settings_from({"rules": [{"gate_failed": {}}]})
    both = own.over(project)
    assert [rule.kind for rule in both.rules] == ["gate_failed"]
    assert [channel.kind for channel in both.channels] == ["github"]
    assert both.sure == 0.9
    assert AlertSettings().over(project) == project


def test_a_suite_may_say_that_nothing_is_sent(tmp_path):
    project = settings_from({"rules": [{"run_invalid": {}}], "channels": [{"github": {}}]})
    assert AlertSettings(rules=(), channels=()).over(project).rules == ()


def test_a_project_without_a_file_says_nothing(tmp_path):
    assert project_alerts(tmp_path) is None


@pytest.mark.parametrize("text", ["alerts: {rules: [gate_fails]}", "alert: {}", "alerts: [", "- 1"])
def test_mistakes_in_the_project_file_are_reported_with_its_name(tmp_path, text):
    (tmp_path / "steelyard.yaml").write_text(text)
    with pytest.raises(SuiteError, match=r"steelyard\.yaml"):
        project_alerts(tmp_path)


@pytest.mark.parametrize(
    ("by", "unit", "value"),
    [
        ("3 points", "share", 0.03),
        ("0.5 points", "points", 0.5),
        ("200 ms", "s", 0.2),
        (2, "count", 2.0),
        (None, "s", 0.0),
    ],
)
def test_a_smallest_change_is_read_in_the_measure_of_its_figure(by, unit, value):
    assert Regression(metric="average", by=by).least(unit) == pytest.approx(value)


@pytest.mark.parametrize(
    ("by", "unit"), [("3", "share"), ("-1 points", "share"), ("nan", "count"), ("inf", "s"), ("x", "s")]
)
def test_a_smallest_change_that_says_nothing_clear_is_a_mistake(by, unit):
    with pytest.raises(ValueError, match="is unclear for"):
        Regression(metric="average", by=by).least(unit)
