"""What another tool recorded, as the format of a suite hands it over: the core scores it and keeps it as a run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from typing import Any, Protocol

from steelyard.frozen import frozen
from steelyard.records import Check, RunHeader, Sample
from steelyard.suite.case import Case


@frozen
class RecordedSample:
    """One question with the answer it got and what a judge said of it then."""

    case: Case
    answer: str | None = None
    """The answer as the suite reads it; None when there was none, and `failure` says why, or when only what its judge
    said of it was kept: then that stands as it is, a basic reading."""
    failure: str = ""
    latency: float | None = None
    """Seconds; None when the recording does not say."""
    response: Mapping[str, Any] | None = None
    """What the judge said, dimensions and flags at the top; None when it gave nothing, and `judge_failure` says why."""
    judge_failure: str = ""
    unanswered: bool = False
    """True when the judge's call failed: there was no reply that could not be used, there was none at all."""
    score: float | None = None
    """The score of all dimensions together, from 0 to 1, where `reply` does not hold them one by one."""
    stored: Any = None
    """Whatever else was recorded, as plain data: it comes back when the run is written again."""
    checks: tuple[Check, ...] | None = None
    """What came of the checks of an answer that was not kept: they stand as they are. None, and `answer` is scored."""


@frozen
class RecordedRun:
    """All that was recorded together."""

    samples: Sequence[RecordedSample]
    created_at: float | None
    """Seconds since 1970 (UTC); None when the recording does not say."""
    judge: str = ""
    """The model that judged."""
    target: Mapping[str, Any] = field(default_factory=dict)
    """What is known of the system under test."""
    stored: Any = None
    """Whatever stood around the samples."""
    differences: tuple[str, ...] = ()
    """Where its own summary does not fit its records, a sentence each."""
    notes: tuple[str, ...] = ()
    """What it states and cannot be recomputed, a line each."""
    stated: Mapping[str, Mapping[str, Mapping[str, float | None]]] = field(default_factory=dict)
    """By case, figures that it states and does not hold the calls or answers of: `latency` in seconds (mean, p95, n,
    timeouts, failures), `stability` as shares by name, None for what it could not say, and `check.<name>`, the
    figure of a check in each repeat. They are drawn as stated, and decide nothing."""
    suspect: tuple[str, ...] = ()
    """Why it looks as if the system had not been there at all, a sentence each: such a run never passes."""


class SnapshotFormat(Protocol):
    """Snapshots in a shape of a suite's own: `snapshots: module:Name` in the suite file."""

    def read(self, document: Any) -> RecordedRun:
        """What a document holds; UsageError when it is no such snapshot."""
        ...

    def write(self, header: RunHeader, summary: Any, samples: Iterable[tuple[Sample, Case]]) -> Any:
        """A run as a document; `summary` is its `steelyard.Summary`, and `header.options.original` what was `stored` of
        the document that it came from."""
        ...
