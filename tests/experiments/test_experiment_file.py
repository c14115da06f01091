"""Experiment files: every mistake with its line, and a plan that any change changes."""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from pathlib import Path

import pytest

from steelyard.errors import SuiteError, UsageError
from steelyard.experiments.plan import (
    COMPARISON_WORDS,
    FACTORS,
    ArmPart,
    CriteriaPart,
    ExperimentPart,
    read_experiment,
)

PAGE = Path(__file__).parents[2] / "docs" / "experiments.md"
GOOD = """\
experiment: forced-traversal
hypothesis: Going through every rule finds the missing references.
suite: review
factor: prompt
baseline: {target: http, base_url: "http://localhost:9020"}
candidate: {target: http, base_url: "http://localhost:9021", set: {headers: {x: "s3cret"}}}
repeats: 5
set: {timeout_note: 1}
criteria:
  adopt: [better, "checks.passed >= 80 %", "latency.p95 <= 30 s"]
  reject: worse
"""


def read(folder, text):
    file = folder / "trial.yaml"
    file.write_text(text)
    return read_experiment(file)


def problems(folder, text):
    with pytest.raises(SuiteError) as found:
        read(folder, text)
    return [str(one) for one in found.value.problems]


def test_what_both_arms_share_is_said_once_and_an_arm_may_say_otherwise(tmp_path):
    experiment = read(tmp_path, GOOD.replace('9020"}', '9020", repeats: 2}'))
    assert experiment.settings("baseline") == {
        "target": "http",
        "base_url": "http://localhost:9020",
        "repeats": 2,
        "set": {"timeout_note": 1},
    }
    assert experiment.settings("candidate")["repeats"] == 5
    assert experiment.settings("candidate")["set"] == {"timeout_note": 1, "headers": {"x": "s3cret"}}
    assert experiment.part.criteria.reject == ["worse"]


def test_the_stored_plan_holds_the_criteria_and_no_setting_that_may_be_a_secret(tmp_path):
    plan = read(tmp_path, GOOD).plan()
    assert plan.adopt[1] == "checks.passed >= 80 %"
    assert plan.arms["baseline"]["repeats"] == 5
    assert "s3cret" not in json.dumps(asdict(plan))
    assert "localhost" not in json.dumps(asdict(plan))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("80 %", "70 %"),
        ("reject: worse", "reject: not better"),
        ("finds the", "finds some"),
        ("9021", "9022"),
        ("s3cret", "s4cret"),
        ("repeats: 5", "repeats: 6"),
        ("factor: prompt", "factor: service"),
        ("repeats: 5", "repeats: 5\nlimit: 3"),
    ],
)
def test_any_change_of_the_plan_changes_its_hash(tmp_path, before, after):
    assert read(tmp_path, GOOD).plan().digest != read(tmp_path, GOOD.replace(before, after)).plan().digest


def test_comments_and_the_order_of_keys_change_nothing(tmp_path):
    other = "# a note\n" + GOOD.replace("repeats: 5\n", "") + "repeats: 5\n"
    assert read(tmp_path, GOOD).plan() == read(tmp_path, other).plan()


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("factor: prompt", "factor: promt", "trial.yaml:4: factor: 'promt' is no factor: did you mean prompt?"),
        ("repeats: 5", "repeat: 5", "trial.yaml:7: unknown key 'repeat': did you mean repeats?"),
        ('base_url: "http://localhost:9020"', "url: x", "trial.yaml:5: baseline: unknown key 'url'"),
        ("[better,", "[beter,", "trial.yaml:10: criteria.adopt: 'beter' is no criterion: did you mean better?"),
        ("checks.passed", "cheks.passed", "there is no metric 'cheks.passed': did you mean checks.passed?"),
        ("reject: worse", "reject: not worse", "'better' (adopt) and 'not worse' (reject) could both be met"),
        ("reject: worse", 'reject: "latency.p95 > 9 s"', "'latency.p95 <= 30 s' (adopt) and 'latency.p95 > 9 s'"),
        (
            "factor: prompt",
            "factor: judge",
            "criteria.adopt: 'better' can never be decided when the judge is the factor",
        ),
        ('[better, "checks.passed >= 80 %", "latency.p95 <= 30 s"]', "[]", "criteria.adopt must be not empty"),
        ("hypothesis: Going", "hypothese: Going", "unknown key 'hypothese': did you mean hypothesis?"),
        ("repeats: 5", "repeats: 0", "trial.yaml:7: repeats must be at least 1"),
    ],
)
def test_mistakes_are_reported_with_their_line(tmp_path, before, after, message):
    assert before in GOOD
    found = problems(tmp_path, GOOD.replace(before, after))
    assert any(message in one for one in found), found


def test_all_mistakes_are_sent_at_once(tmp_path):
    found = problems(tmp_path, GOOD.replace("factor: prompt", "factor: x").replace("suite: review\n", ""))
    assert len(found) == 2


@pytest.mark.parametrize("text", ["", "- a list\n", "just text\n", "a: [1\n"])
def test_what_is_no_experiment_is_said(tmp_path, text):
    assert problems(tmp_path, text)[0].startswith("trial.yaml")


def test_a_file_that_is_not_there_is_said(tmp_path):
    with pytest.raises(UsageError, match="there is no experiment at"):
        read_experiment(tmp_path / "none.yaml")


def test_a_suite_beside_the_file_is_found_from_anywhere(tmp_path):
    (tmp_path / "review").mkdir()
    experiment = read(tmp_path, GOOD)
    # A folder that is no suite does not stand in the way of a built-in one of that name.
    assert experiment.place("review") == "review"
    (tmp_path / "review" / "suite.yaml").touch()
    assert experiment.place("review") == str(tmp_path / "review")


def test_every_key_factor_and_word_is_documented():
    told = set(re.findall(r"`([^`\n]+)`", PAGE.read_text(encoding="utf-8")))
    keys = {
        field.alias or name
        for part in (ExperimentPart, ArmPart, CriteriaPart)
        for name, field in part.model_fields.items()
    }
    assert {*keys, *FACTORS, *COMPARISON_WORDS} - told == set()
