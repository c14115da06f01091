"""The one object every report is a view of."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from steelyard.analysis.model import SampleLine, Summary
from steelyard.records import Mark, RunHeader
from steelyard.release.model import Decision
from steelyard.store.base import Found
from steelyard.suite.case import Attachment


@dataclass(frozen=True, slots=True)
class SampleDetail:
    """One sample with everything a person needs to judge it: question, truth, answer, scores, findings."""

    line: SampleLine
    input: Any
    expected: Any
    answer: str | None
    scores: list[dict[str, Any]]
    findings: list[dict[str, Any]]
    category: str | None = None
    difficulty: str | None = None
    tags: tuple[str, ...] = ()
    passed: bool | None = None
    """As it was weighed; None when inconclusive or when the suite declares no pass threshold."""
    rung: str | None = None
    """How the answer was read: the rung of the extraction ladder."""
    read: Any = None
    """What was read, where it stood among other text; None when the answer is all there is."""
    n_findings: int | None = None
    """How many findings there are when `findings` holds fewer."""
    case_why: str = ""
    """Why the case is in the suite."""
    pictures: tuple[Attachment, ...] = ()
    """The pictures of the case; the boxes of findings and marks are places on the first."""
    marks: tuple[Mark, ...] = ()
    """What was found right, with its place on the picture."""


@dataclass(frozen=True, slots=True)
class Report:
    """A run, its figures and its decision."""

    header: RunHeader
    summary: Summary
    decision: Decision
    worst: list[SampleLine] = field(default_factory=list)
    slowest: list[SampleLine] = field(default_factory=list)
    details: list[SampleDetail] = field(default_factory=list)
    n_samples: int = 0
    """How many samples the run has; `details` may hold fewer and then the report says so."""
    findings: dict[str, list[Found]] = field(default_factory=dict)
    """By code, the findings behind its count; the first few hundred when there are more."""
