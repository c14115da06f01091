"""Steelyard weighs AI features against ground truth, with readings that can be trusted."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from steelyard import scorers
    from steelyard.errors import MissingExtra, Mistake, SteelyardError, SuiteError, TargetFailure, UserMistake
    from steelyard.judging.complaints import Checked
    from steelyard.metrics.own import Samples, metric
    from steelyard.python_suite import Run, Suite, import_run, run_suite
    from steelyard.records import Certainty, Check, CheckState, Finding, Mark, RunHeader, Sample
    from steelyard.scoring.base import Fault, MeanMeasure, Measure, Reading, Scorer
    from steelyard.store.imports import RecordedRun, RecordedSample
    from steelyard.suite.case import Attachment, Case
    from steelyard.suite.json_schema import suite_schema
    from steelyard.suite.load import load_suite, with_target
    from steelyard.targets.base import Ask, Reply, Surroundings, Target

__version__ = "0.1.0"

__all__ = [
    "Ask",
    "Attachment",
    "Case",
    "Certainty",
    "Check",
    "CheckState",
    "Checked",
    "Fault",
    "Finding",
    "Mark",
    "MeanMeasure",
    "Measure",
    "MissingExtra",
    "Mistake",
    "Reading",
    "RecordedRun",
    "RecordedSample",
    "Reply",
    "Run",
    "RunHeader",
    "Sample",
    "Samples",
    "Scorer",
    "SteelyardError",
    "Suite",
    "SuiteError",
    "Surroundings",
    "Target",
    "TargetFailure",
    "UserMistake",
    "__version__",
    "import_run",
    "load_suite",
    "metric",
    "run_suite",
    "scorers",
    "suite_schema",
    "with_target",
]

_HOMES = {
    "Ask": "steelyard.targets.base",
    "Attachment": "steelyard.suite.case",
    "Case": "steelyard.suite.case",
    "Certainty": "steelyard.records",
    "Check": "steelyard.records",
    "CheckState": "steelyard.records",
    "Checked": "steelyard.judging.complaints",
    "Fault": "steelyard.scoring.base",
    "Finding": "steelyard.records",
    "Mark": "steelyard.records",
    "MeanMeasure": "steelyard.scoring.base",
    "Measure": "steelyard.scoring.base",
    "MissingExtra": "steelyard.errors",
    "Mistake": "steelyard.errors",
    "Reading": "steelyard.scoring.base",
    "RecordedRun": "steelyard.store.imports",
    "RecordedSample": "steelyard.store.imports",
    "Reply": "steelyard.targets.base",
    "Run": "steelyard.python_suite",
    "RunHeader": "steelyard.records",
    "Sample": "steelyard.records",
    "Samples": "steelyard.metrics.own",
    "Scorer": "steelyard.scoring.base",
    "SteelyardError": "steelyard.errors",
    "Suite": "steelyard.python_suite",
    "SuiteError": "steelyard.errors",
    "Surroundings": "steelyard.targets.base",
    "Target": "steelyard.targets.base",
    "TargetFailure": "steelyard.errors",
    "UserMistake": "steelyard.errors",
    "import_run": "steelyard.python_suite",
    "load_suite": "steelyard.suite.load",
    "metric": "steelyard.metrics.own",
    "run_suite": "steelyard.python_suite",
    "suite_schema": "steelyard.suite.json_schema",
    "with_target": "steelyard.suite.load",
}


def __getattr__(name: str) -> Any:
    # Importing steelyard must cost nothing: each name is fetched when it is first used.
    if name == "scorers":
        value: Any = importlib.import_module("steelyard.scorers")
    elif name in _HOMES:
        value = getattr(importlib.import_module(_HOMES[name]), name)
    else:
        raise AttributeError(f"module 'steelyard' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
