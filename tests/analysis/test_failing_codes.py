"""Grave errors of what has no weight: no gain, but never out of sight."""

from __future__ import annotations

from typing import Any

from parts.columns import Made, columns, suite
from parts.described import summarise
from steelyard.analysis.model import FailingCodes, Summary
from steelyard.analysis.wording import failure_words

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
        assert summary.failing == FailingCodes(3, 2, {"DEATH": 1, "LOST": 2})

    def test_nothing_is_said_where_all_that_is_found_weighs(self) -> None:
        assert evaluated(sample("a", 0.0), sample("b", 1.0)).failing is None

    def test_nothing_is_said_where_nothing_fails(self) -> None:
        assert evaluated(sample("a", 1.0, "DEATH"), sample("b", 1.0)).failing is None


class TestFailureWords:
    def test_the_message_is_taken_out_of_its_wrapping(self) -> None:
        told = 'answered 401: {"error": {"message": "Incorrect API key provided", "type": "x"}}'
        assert failure_words("http_401", told) == "http_401 Incorrect API key provided"

    def test_other_messages_stay_as_they_are(self) -> None:
        assert failure_words("timeout", "no answer within 60 s") == "timeout no answer within 60 s"
        assert failure_words("http_500", 'answered 500: {"code": 7}') == 'http_500 {"code": 7}'
        assert failure_words("http_500", "answered 500: [1]") == "http_500 [1]"
        assert failure_words("connection", "") == "connection"
