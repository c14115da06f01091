"""What every view says in words."""

from __future__ import annotations

from dataclasses import replace

from parts import reports
from steelyard.analysis.target import target_name
from steelyard.report.model import Report
from steelyard.report.wording import outcomes_sentence


def ended(planned: int, **outcomes: int) -> Report:
    report = reports.rich_report(n_samples=sum(outcomes.values()))
    overall = replace(report.summary.overall, n_planned=planned, outcomes=outcomes)
    return replace(report, summary=replace(report.summary, overall=overall))


def test_outcomes_are_counted_in_words() -> None:
    assert outcomes_sentence(ended(3, scored=2, target_failed=1)) == "3 samples: 2 scored, 1 target failed"


def test_samples_that_never_came_are_said() -> None:
    assert outcomes_sentence(ended(4, scored=2, malformed=1)) == "3 of 4 samples: 2 scored, 1 malformed, 1 missing"
    assert outcomes_sentence(ended(2)) == "0 of 2 samples: 2 missing"


def test_a_port_that_was_any_free_one_is_not_shown() -> None:
    def named(address: str) -> str:
        return target_name(replace(reports.rich_report().header, target={"kind": "http", "address": address}))

    assert named("http://127.0.0.1:{port}/v1/review") == "http /v1/review of a service started for the run"
    assert named("http://127.0.0.1:{port}") == "http / of a service started for the run"
    assert named("http://localhost:80/{port}") == "http http://localhost:80/{port}"
