"""Steelyard evaluates AI features against ground truth, with results that can be trusted."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from steelyard.analysis.model import Summary
    from steelyard.api import Suite, import_run, run_suite, scorers
    from steelyard.auditing.operations import audit
    from steelyard.comparing.operations import compare
    from steelyard.errors import MissingExtra, NotPassed, Problem, SteelyardError, SuiteError, TargetFailure, UsageError
    from steelyard.experiments.assignment import Experiment, arm_of, assign, is_exposed
    from steelyard.failures import FailureCause, failure_causes
    from steelyard.gating.operations import gate
    from steelyard.judge_checks.operations import judge_check
    from steelyard.judging.complaints import Checked
    from steelyard.judging.evidence import quoted
    from steelyard.loading.json_schema import suite_schema
    from steelyard.loading.load import load_suite, with_target
    from steelyard.metrics.figures import Figures
    from steelyard.metrics.own import Samples, metric
    from steelyard.records import Check, CheckState, Claim, Finding, Mark, RunHeader, Sample
    from steelyard.results.operations import rescore
    from steelyard.results.run import Run, load_run, runs
    from steelyard.results.shown import Shown, ShownResult
    from steelyard.run_history.operations import history
    from steelyard.scoring.base import MeanMeasure, Measure, Reading, Scorer
    from steelyard.scoring.items.box_groups import group_boxes
    from steelyard.scoring.items.boxes import read_box
    from steelyard.stats.intervals import Estimate
    from steelyard.store.recorded_run import RecordedRun, RecordedSample
    from steelyard.suite.case import Attachment, Case
    from steelyard.targets.base import Request, Response, Target, TargetContext
    from steelyard.testing.plugin import steelyard_suite

__version__ = "0.1.0"

__all__ = [
    "Attachment",
    "Case",
    "Check",
    "CheckState",
    "Checked",
    "Claim",
    "Estimate",
    "Experiment",
    "FailureCause",
    "Figures",
    "Finding",
    "Mark",
    "MeanMeasure",
    "Measure",
    "MissingExtra",
    "NotPassed",
    "Problem",
    "Reading",
    "RecordedRun",
    "RecordedSample",
    "Request",
    "Response",
    "Run",
    "RunHeader",
    "Sample",
    "Samples",
    "Scorer",
    "Shown",
    "ShownResult",
    "SteelyardError",
    "Suite",
    "SuiteError",
    "Summary",
    "Target",
    "TargetContext",
    "TargetFailure",
    "UsageError",
    "__version__",
    "arm_of",
    "assign",
    "audit",
    "compare",
    "failure_causes",
    "gate",
    "group_boxes",
    "history",
    "import_run",
    "is_exposed",
    "judge_check",
    "load_run",
    "load_suite",
    "metric",
    "quoted",
    "read_box",
    "rescore",
    "run_suite",
    "runs",
    "scorers",
    "steelyard_suite",
    "suite_schema",
    "with_target",
]

_HOMES = {
    "Run": "steelyard.results.run",
    "runs": "steelyard.results.run",
    "load_run": "steelyard.results.run",
    "NotPassed": "steelyard.errors",
    "Shown": "steelyard.results.shown",
    "ShownResult": "steelyard.results.shown",
    "compare": "steelyard.comparing.operations",
    "rescore": "steelyard.results.operations",
    "gate": "steelyard.gating.operations",
    "judge_check": "steelyard.judge_checks.operations",
    "audit": "steelyard.auditing.operations",
    "history": "steelyard.run_history.operations",
    "Request": "steelyard.targets.base",
    "Attachment": "steelyard.suite.case",
    "Case": "steelyard.suite.case",
    "Claim": "steelyard.records",
    "Check": "steelyard.records",
    "CheckState": "steelyard.records",
    "Checked": "steelyard.judging.complaints",
    "quoted": "steelyard.judging.evidence",
    "Experiment": "steelyard.experiments.assignment",
    "Estimate": "steelyard.stats.intervals",
    "FailureCause": "steelyard.failures",
    "Figures": "steelyard.metrics.figures",
    "failure_causes": "steelyard.failures",
    "Finding": "steelyard.records",
    "Mark": "steelyard.records",
    "MeanMeasure": "steelyard.scoring.base",
    "Measure": "steelyard.scoring.base",
    "MissingExtra": "steelyard.errors",
    "Problem": "steelyard.errors",
    "Reading": "steelyard.scoring.base",
    "RecordedRun": "steelyard.store.recorded_run",
    "RecordedSample": "steelyard.store.recorded_run",
    "Response": "steelyard.targets.base",
    "RunHeader": "steelyard.records",
    "Sample": "steelyard.records",
    "Samples": "steelyard.metrics.own",
    "Scorer": "steelyard.scoring.base",
    "SteelyardError": "steelyard.errors",
    "Suite": "steelyard.api",
    "SuiteError": "steelyard.errors",
    "Summary": "steelyard.analysis.model",
    "TargetContext": "steelyard.targets.base",
    "Target": "steelyard.targets.base",
    "TargetFailure": "steelyard.errors",
    "UsageError": "steelyard.errors",
    "arm_of": "steelyard.experiments.assignment",
    "assign": "steelyard.experiments.assignment",
    "group_boxes": "steelyard.scoring.items.box_groups",
    "import_run": "steelyard.api",
    "is_exposed": "steelyard.experiments.assignment",
    "load_suite": "steelyard.loading.load",
    "metric": "steelyard.metrics.own",
    "read_box": "steelyard.scoring.items.boxes",
    "run_suite": "steelyard.api",
    "scorers": "steelyard.api",
    "steelyard_suite": "steelyard.testing.plugin",
    "suite_schema": "steelyard.loading.json_schema",
    "with_target": "steelyard.loading.load",
}


def __getattr__(name: str) -> Any:
    # Importing steelyard must cost nothing: each name is fetched when it is first used.
    if name not in _HOMES:
        raise AttributeError(f"module 'steelyard' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
