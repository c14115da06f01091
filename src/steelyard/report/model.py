"""The one object every report is a view of."""

from __future__ import annotations

from dataclasses import field
from typing import Any

from steelyard.analysis.model import SampleLine, Summary
from steelyard.decide.gates import Decision
from steelyard.frozen import frozen
from steelyard.records import Mark, RunHeader
from steelyard.report.render.json import FLAT, encode, picked
from steelyard.stats.intervals import Estimate
from steelyard.store.base import Hit, Spending
from steelyard.suite.case import Attachment

_OF_RUNS = ("id", "created_at", "state", "verdict", "target", "version", "signature")


def header_data(header: RunHeader) -> dict[str, Any]:
    """What data say of a run that they are about."""
    return {"suite": encode(header.suite_name)} | picked(header, *_OF_RUNS)


def needs_models(header: RunHeader) -> bool:
    """Whether a scorer of the run compares by embeddings, which a model has to be asked for."""
    return any(_embeds(component.params) for component in header.description.components)


def _embeds(params: dict[str, Any]) -> bool:
    inner = [value for value in params.values() if isinstance(value, dict)]
    return isinstance(params.get("embeddings"), dict) or any(map(_embeds, inner))


@frozen
class Marked:
    """One dimension or flag as it was said, and as it counts after rules and checks."""

    name: str
    uncapped: float | bool | None
    capped: float | bool | None
    capped_by: str = ""
    """The rule that made the difference; "" when there is none."""
    label: str = ""
    """What a reviewer would give: `3 (2 to 4)`, `yes`; "" without a label."""


@frozen
class VoteDetail:
    """One judge's reading of a text, with long texts cut."""

    member: str
    repeat: int
    mode: str | None
    step: str
    marks: tuple[Marked, ...]
    stated: tuple[tuple[str, str], ...]
    """What else it said, by field: reasons, notes."""
    remarks: tuple[str, ...]
    message: str = ""
    """Why the vote has no scores."""


@frozen
class JudgementDetail:
    """What a judge said of a sample."""

    mode: str | None
    marks: tuple[Marked, ...]
    """The votes combined."""
    votes: tuple[VoteDetail, ...]
    remarks: tuple[str, ...] = ()
    message: str = ""
    text: str | None = None
    """The text that was judged where it is a part of the answer; None where it is the whole."""
    shortened: bool = False
    """True when a judge saw only head and tail of the text."""
    metrics: Any = None
    """What the suite's measures found, which the rules look at."""
    exclusion_reason: str = ""
    """Why only a part of the judge's answer could be read; "" unless it is excluded."""
    excluded: bool = False
    """True when it is of another mode than the run's: then the sample is in none of the run's figures."""


@frozen
class SampleDetail:
    """One sample with everything a person needs to judge it: question, truth, answer, scores, findings."""

    line: SampleLine = field(metadata=FLAT)
    input: Any
    expected: Any
    answer: str | None
    scores: list[dict[str, Any]]
    findings: list[dict[str, Any]]
    category: str | None = None
    difficulty: str | None = None
    tags: tuple[str, ...] = ()
    passed: bool | None = None
    """As it was scored; None when inconclusive or when the suite declares no pass threshold."""
    step: str | None = None
    """How the answer was read: the step of the extraction."""
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
    judgement: JudgementDetail | None = None
    """What the judge said; None without one."""
    flagged: tuple[str, ...] = ()
    """The flags that it carries and that fail it."""


@frozen
class LeftOut:
    """What gates were evaluated without, and what they come to with it."""

    cases: tuple[str, ...]
    n_samples: int
    with_all: Decision
    """The decision over all cases."""
    pass_rate: Estimate
    """Over all cases."""


@frozen
class Report:
    """A run, its figures and its decision."""

    header: RunHeader
    summary: Summary
    decision: Decision
    worst: list[SampleLine] = field(default_factory=list)
    """Of each of the worst cases and variants, the worst repeat."""
    slowest: list[SampleLine] = field(default_factory=list)
    details: list[SampleDetail] = field(default_factory=list)
    n_samples: int = 0
    """How many samples the run has; `details` may hold fewer and then the report says so."""
    grid: list[SampleDetail] = field(default_factory=list)
    """Of a run of several variants whose `details` are not all, those of all samples of some cases, the worst first."""
    findings: dict[str, list[Hit]] = field(default_factory=dict)
    """By code, the findings behind its count; the first few hundred when there are more."""
    spending: Spending | None = None
    """What the judge's calls took; None without a judge."""
    contested: tuple[tuple[str, str], ...] = ()
    """Cases on which experts disagree with the truth or each other, and why; the worst first."""
    without_contested: LeftOut | None = None
    """The contested cases that no gate stands on; None where gates stand on all cases."""
    bad_repeats: dict[tuple[str, str], int] = field(default_factory=dict)
    """By case and variant of `worst`, how many repeats did not pass."""
