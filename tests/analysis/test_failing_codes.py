"""Grave errors of what has no weight: no gain, but never out of sight."""

from __future__ import annotations

import json
from typing import Any

import pytest

from parts.columns import Made, columns, suite
from parts.described import summarise
from steelyard.analysis.model import Summary
from steelyard.failures import FailureCause, causes_of, failure_words

SEVERITIES = {"NAME": "major", "DEATH": "critical", "THIN": "minor", "LOST": "major"}


def described() -> dict[str, Any]:
    """`name` scores all, `value` is a measure that has no weight."""
    found = suite(taxonomy=[{"code": code, "severity": severity} for code, severity in SEVERITIES.items()])
    found["components"][1]["weight"] = 0.0
    return found


def sample(case: str, name: float, *codes: str) -> Made:
    findings = [(code, "value", 1.0) for code in codes]
    findings += [("NAME", "name", 1 - name)] if name < 0.5 else []
    return Made(case, name, parts={"name": name, "value": 0.0}, findings=tuple(findings))


def evaluated(*made: Made) -> Summary:
    return summarise(columns(list(made)), described())


class TestCodesWithoutWeight:
    def test_a_code_that_has_no_weight_has_no_gain_to_read(self) -> None:
        found = {each.code: each for each in evaluated(sample("a", 0.0, "DEATH"), sample("b", 1.0)).codes}
        assert found["NAME"].has_weight
        assert not found["DEATH"].has_weight

    def test_they_stand_below_by_severity_and_then_by_samples(self) -> None:
        made = (
            sample("a", 0.0, "THIN", "LOST", "DEATH"),
            sample("b", 1.0, "THIN", "LOST"),
            sample("c", 1.0, "THIN"),
        )
        assert [each.code for each in evaluated(*made).codes] == ["NAME", "DEATH", "LOST", "THIN"]


class TestAmongFailingSamples:
    def test_critical_and_major_codes_are_counted_in_samples_that_fail(self) -> None:
        summary = evaluated(
            sample("a", 0.0, "DEATH", "DEATH", "LOST"),
            sample("b", 0.0, "LOST"),
            sample("c", 0.0, "THIN"),
            sample("d", 1.0, "LOST"),
        )
        # Three fail; a and b carry something grave. DEATH twice in one sample is one sample.
        failing, grave = (summary.overall.count(f"failing.{name}") for name in ("samples", "grave"))
        assert (failing, grave) == (3, 2)
        assert summary.overall.counts("failing.<code>.samples") == {"DEATH": 1, "LOST": 2}

    def test_nothing_is_said_where_all_that_is_found_weighs(self) -> None:
        assert "failing.samples" not in evaluated(sample("a", 0.0), sample("b", 1.0)).overall

    def test_nothing_is_said_where_nothing_fails(self) -> None:
        assert "failing.samples" not in evaluated(sample("a", 1.0, "DEATH"), sample("b", 1.0)).overall


class TestFailureWords:
    @pytest.mark.parametrize(
        ("body", "text"),
        [
            (
                {"error": {"message": "Incorrect API key", "type": "auth", "code": "invalid_api_key"}},
                "invalid_api_key: Incorrect API key",
            ),
            ({"error": {"message": "Overloaded", "type": "overloaded_error"}}, "overloaded_error: Overloaded"),
            ({"errors": [{"code": "MODEL_FAILURE", "message": "404 not found"}]}, "MODEL_FAILURE: 404 not found"),
            ({"detail": {"code": "EMPTY_CONTENT", "message": "nothing to review"}}, "EMPTY_CONTENT: nothing to review"),
            (
                {"detail": [{"type": "missing", "loc": ["body", "content"], "msg": "Field required"}]},
                "missing: Field required (body.content)",
            ),
            (
                {"error": "invalid_grant", "error_description": "the code has expired"},
                "invalid_grant: the code has expired",
            ),
            ({"error": "model not found"}, "model not found"),
            ({"status_code": 404, "message": "no such model"}, "404: no such model"),
            ([{"message": "first"}, {"message": "second"}, {"message": "third"}], "first (and 2 more)"),
        ],
    )
    def test_code_and_message_are_taken_out_of_their_wrapping(self, body: object, text: str) -> None:
        assert failure_words("http_401", f"answered 401: {json.dumps(body)}") == f"http_401 {text}"

    def test_other_messages_stay_as_they_are(self) -> None:
        assert failure_words("timeout", "no answer within 60 s") == "timeout no answer within 60 s"
        assert failure_words("http_500", 'answered 500: {"code": 7}') == 'http_500 {"code": 7}'
        assert failure_words("http_500", "answered 500: [1]") == "http_500 [1]"
        assert failure_words("connection", "") == "connection"

    def test_ids_and_numbers_do_not_split_a_cause_and_codes_do(self) -> None:
        failures = [
            ("http_500", 'answered 500: {"code": "E1001", "message": "request 8f3a-11 took 31 s"}', 2),
            ("http_500", 'answered 500: {"code": "E1001", "message": "request 77aa-02 took 54 s"}', 3),
            ("http_500", 'answered 500: {"code": "E1002", "message": "request 77aa-02 took 54 s"}', 1),
        ]
        assert causes_of(failures) == [
            FailureCause("http_500", "E1001", "request 8f3a-11 took 31 s", 5),
            FailureCause("http_500", "E1002", "request 77aa-02 took 54 s", 1),
        ]

    def test_two_models_that_are_not_found_are_two_causes(self) -> None:
        failures = [
            ("http_404", "answered 404: model 'small-1' not found, request 81", 3),
            ("http_404", "answered 404: model 'large-2' not found, request 82", 2),
            ("http_404", "answered 404: model 'small-1' not found, request 83", 1),
        ]
        assert [(cause.message, cause.count) for cause in causes_of(failures)] == [
            ("model 'small-1' not found, request 81", 4),
            ("model 'large-2' not found, request 82", 2),
        ]
