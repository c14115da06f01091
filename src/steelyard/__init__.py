"""Steelyard weighs AI features against ground truth, with readings that can be trusted."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from steelyard.api import Run, Suite, import_run, run_suite, scorers
    from steelyard.decide.assignment import Experiment, arm_of, assign, is_exposed
    from steelyard.errors import MissingExtra, Mistake, SteelyardError, SuiteError, TargetFailure, UserMistake
    from steelyard.judging.evidence import Checked
    from steelyard.metrics.own import Samples, metric
    from steelyard.records import Certainty, Check, CheckState, Finding, Mark, RunHeader, Sample
    from steelyard.scoring.base import Fault, MeanMeasure, Measure, Reading, Scorer
    from steelyard.scoring.items.boxes import read_box
    from steelyard.scoring.items.groups import group_boxes
    from steelyard.store.base import RecordedRun, RecordedSample
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
    "Experiment",
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
    "arm_of",
    "assign",
    "group_boxes",
    "import_run",
    "is_exposed",
    "load_suite",
    "metric",
    "read_box",
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
    "Checked": "steelyard.judging.evidence",
    "Experiment": "steelyard.decide.assignment",
    "Fault": "steelyard.scoring.base",
    "Finding": "steelyard.records",
    "Mark": "steelyard.records",
    "MeanMeasure": "steelyard.scoring.base",
    "Measure": "steelyard.scoring.base",
    "MissingExtra": "steelyard.errors",
    "Mistake": "steelyard.errors",
    "Reading": "steelyard.scoring.base",
    "RecordedRun": "steelyard.store.base",
    "RecordedSample": "steelyard.store.base",
    "Reply": "steelyard.targets.base",
    "Run": "steelyard.api",
    "RunHeader": "steelyard.records",
    "Sample": "steelyard.records",
    "Samples": "steelyard.metrics.own",
    "Scorer": "steelyard.scoring.base",
    "SteelyardError": "steelyard.errors",
    "Suite": "steelyard.api",
    "SuiteError": "steelyard.errors",
    "Surroundings": "steelyard.targets.base",
    "Target": "steelyard.targets.base",
    "TargetFailure": "steelyard.errors",
    "UserMistake": "steelyard.errors",
    "arm_of": "steelyard.decide.assignment",
    "assign": "steelyard.decide.assignment",
    "group_boxes": "steelyard.scoring.items.groups",
    "import_run": "steelyard.api",
    "is_exposed": "steelyard.decide.assignment",
    "load_suite": "steelyard.suite.load",
    "metric": "steelyard.metrics.own",
    "read_box": "steelyard.scoring.items.boxes",
    "run_suite": "steelyard.api",
    "scorers": "steelyard.api",
    "suite_schema": "steelyard.suite.json_schema",
    "with_target": "steelyard.suite.load",
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
