"""The report of an experiment as plain data. Documented in docs/experiments.md."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from steelyard.release.experiment import Arm
from steelyard.report.compare_json import comparison_to_json
from steelyard.report.experiment_sentences import ExperimentReport
from steelyard.report.json import plain

FORMAT = "steelyard.experiment/1"


def experiment_to_json(report: ExperimentReport) -> dict[str, Any]:
    """The whole report as data that `json.dumps(..., allow_nan=False)` can write."""
    ruling, changed = report.ruling, report.ruling.changed
    data = {
        "format": FORMAT,
        "experiment": report.name,
        "decision": ruling.decided.value,
        "reasons": list(ruling.reasons),
        "by_criteria": ruling.by_criteria.value if ruling.by_criteria else None,
        "hypothesis": report.hypothesis,
        "factor": report.factor,
        "plan": report.plan,
        "beforehand": report.beforehand,
        "notes": list(report.notes),
        "changed": None if changed is None else asdict(changed) | {"caution": changed.caution},
        "criteria": [asdict(each) for each in ruling.criteria],
        "baseline": _arm(report.baseline),
        "candidate": None if report.candidate is None else _arm(report.candidate),
        "comparison": None if report.comparison is None else comparison_to_json(report.comparison),
    }
    return {key: plain(value) for key, value in data.items()}


def _arm(arm: Arm) -> dict[str, Any]:
    header = arm.header
    return {
        "run": header.id,
        "state": header.state.value,
        "verdict": header.verdict.value if header.verdict else None,
        "suspect": list(header.suspect),
    }
