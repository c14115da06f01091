"""Records as rows and back: with `weighed.py`, the only place that knows which field lives in which column."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from steelyard.records import (
    Attempt,
    Certainty,
    Check,
    Failure,
    Finding,
    Item,
    Judgement,
    Outcome,
    RunHeader,
    RunState,
    Sample,
    Verdict,
)
from steelyard.store.certainties import certainties_text
from steelyard.store.checks import checks_text
from steelyard.store.items import items_text
from steelyard.store.judged import calls_text, judgement_text
from steelyard.store.text import from_stored, to_json, to_stored
from steelyard.store.weighed import (
    Layout,
    Row,
    finding_values,
    finite_or_none,
    marks_from,
    marks_text,
    score_details,
    score_values,
    scores_from,
)
from steelyard.suite.case import Case, canonical, digest

RUN_COLUMNS = (
    *("id", "suite_name", "suite_path", "created_at", "state", "ended_at", "verdict", "rescored_from", "n_planned"),
    *("version", "target_digest", "signature", "target", "suite", "options", "suspect", "summary"),
)
SAMPLE_COLUMNS = (
    *("run", "seq", "case_id", "variant", "repeat", "case_hash", "attempt_run", "outcome", "score", "passed", "band"),
    *("category", "difficulty", "rung", "layout", "scores", "details", "marks", "mode"),
)
ATTEMPT_COLUMNS = (
    *("run", "seq", "status", "latency", "started_at", "tries", "tokens_in", "tokens_out", "cost", "model", "cached"),
    *("failure_kind", "failure_message", "cut_off", "first_byte", "queued"),
)
ANSWER_COLUMNS = ("run", "seq", "text")
TAG_COLUMNS = ("run", "seq", "position", "tag")
CALL_COLUMNS = ("run", "seq", "content")
BESIDE_COLUMNS = ("run", "seq", "content")
"""Of every table that holds something of some samples only: certainties, checks and items."""
JUDGEMENT_COLUMNS = ("run", "seq", "judge_run", "content")


def text_or_none(text: str | None) -> str | None:
    """`to_stored` that lets an absent text stay absent."""
    return None if text is None else to_stored(text)


def stored_or_none(text: str | None) -> str | None:
    """`from_stored` that lets an absent text stay absent."""
    return None if text is None else from_stored(text)


def run_row(header: RunHeader) -> Row:
    """A header as a row of RUN_COLUMNS."""
    return (
        to_stored(header.id),
        to_stored(header.suite_name),
        to_stored(header.suite_path),
        header.created_at,
        header.state.value,
        header.ended_at,
        None if header.verdict is None else header.verdict.value,
        text_or_none(header.rescored_from),
        header.n_planned,
        to_stored(header.version),
        digest(header.target),
        to_json(header.signature),
        to_json(header.target),
        to_json(header.suite),
        to_json(header.options),
        to_json(header.suspect),
        None if header.summary is None else to_json(header.summary),
    )


def header_from(row: Row) -> RunHeader:
    """The header back from a row of RUN_COLUMNS."""
    value = dict(zip(RUN_COLUMNS, row, strict=True))
    return RunHeader(
        id=from_stored(value["id"]),
        suite_name=from_stored(value["suite_name"]),
        suite_path=from_stored(value["suite_path"]),
        created_at=value["created_at"],
        signature=json.loads(value["signature"]),
        target=json.loads(value["target"]),
        suite=json.loads(value["suite"]),
        options=json.loads(value["options"]),
        n_planned=value["n_planned"],
        state=RunState(value["state"]),
        ended_at=value["ended_at"],
        verdict=None if value["verdict"] is None else Verdict(value["verdict"]),
        suspect=tuple(json.loads(value["suspect"])),
        rescored_from=stored_or_none(value["rescored_from"]),
        summary=None if value["summary"] is None else json.loads(value["summary"]),
        version=from_stored(value["version"]),
    )


def case_row(case: Case) -> tuple[str, str, str]:
    """A case's id, its hash, which is `digest` of its data, and the data in its one spelling."""
    spelling = canonical(case.as_data())
    return (
        to_stored(case.id),
        hashlib.sha256(spelling).hexdigest()[:16],
        to_stored(spelling.decode("utf-8", "surrogatepass")),
    )


def case_from(content: str) -> Case:
    """The case back from its stored spelling."""
    return Case.from_data(json.loads(from_stored(content)))


@dataclass(slots=True)
class Batch:
    """Rows of every table for some samples of one run."""

    samples: list[Row] = field(default_factory=list)
    attempts: list[Row] = field(default_factory=list)
    answers: list[Row] = field(default_factory=list)
    findings: list[Row] = field(default_factory=list)
    tags: list[Row] = field(default_factory=list)
    judge_calls: list[Row] = field(default_factory=list)
    judgements: list[Row] = field(default_factory=list)
    certainties: list[Row] = field(default_factory=list)
    checks: list[Row] = field(default_factory=list)
    items: list[Row] = field(default_factory=list)

    def add(self, run: int, owners: tuple[int, int], seq: int, sample: Sample, case_hash: str, layout: int) -> None:
        """Lay one sample out; its attempt and the calls of its judge only when this run is the owner of them."""
        attempt_run, judge_run = owners
        mode = sample.mode
        band, category, difficulty = sample.band, sample.category, sample.difficulty
        self.samples.append(
            (
                run,
                seq,
                to_stored(sample.case_id),
                to_stored(sample.variant),
                sample.repeat,
                case_hash,
                attempt_run,
                sample.outcome.value,
                finite_or_none(sample.score),
                None if sample.passed is None else int(sample.passed),
                None if band is None else to_stored(band),
                None if category is None else to_stored(category),
                None if difficulty is None else to_stored(difficulty),
                sample.rung,
                layout,
                score_values(sample.scores),
                score_details(sample.scores),
                marks_text(sample.marks) if sample.marks else None,
                None if mode is None else mode.value,
            )
        )
        if attempt_run == run:
            self._add_attempt(run, seq, sample.attempt)
        for position, finding in enumerate(sample.findings):
            self.findings.append((run, seq, position, *finding_values(finding)))
        for position, tag in enumerate(sample.tags):
            self.tags.append((run, seq, position, to_stored(tag)))
        if sample.certainties:
            self.certainties.append((run, seq, certainties_text(sample.certainties)))
        if sample.checks:
            self.checks.append((run, seq, checks_text(sample.checks)))
        # An answer without items is another thing than none that could be read.
        if sample.items is not None:
            self.items.append((run, seq, items_text(sample.items)))
        if sample.judgement is not None:
            self._add_judgement(run, judge_run, seq, sample.judgement)

    def _add_judgement(self, run: int, judge_run: int, seq: int, judgement: Judgement) -> None:
        owner = judge_run if judgement.calls else None
        if owner == run:
            self.judge_calls.append((run, seq, calls_text(judgement.calls)))
        self.judgements.append((run, seq, owner, judgement_text(judgement)))

    def _add_attempt(self, run: int, seq: int, attempt: Attempt) -> None:
        failure = attempt.failure
        self.attempts.append(
            (
                run,
                seq,
                attempt.status,
                attempt.latency,
                attempt.started_at,
                attempt.tries,
                attempt.tokens_in,
                attempt.tokens_out,
                attempt.cost,
                None if attempt.model is None else to_stored(attempt.model),
                int(attempt.cached),
                None if failure is None else to_stored(failure.kind),
                None if failure is None else to_stored(failure.message),
                int(attempt.cut_off),
                finite_or_none(attempt.first_byte),
                finite_or_none(attempt.queued),
            )
        )
        if attempt.text is not None:
            self.answers.append((run, seq, to_stored(attempt.text)))


def attempt_from(row: Row, text: str | None) -> Attempt:
    """The attempt back from ATTEMPT_COLUMNS without run and seq, and its answer's text."""
    status, latency, started_at, tries, tokens_in, tokens_out, cost, model, cached, *more = row
    kind, message, cut_off, first_byte, queued = more
    return Attempt(
        text=stored_or_none(text),
        status=status,
        latency=latency,
        started_at=started_at,
        tries=tries,
        tokens_in=tokens_in,
        tokens_out=tokens_out,
        cost=cost,
        model=stored_or_none(model),
        cached=bool(cached),
        failure=None if kind is None else Failure(from_stored(kind), from_stored(message)),
        cut_off=bool(cut_off),
        first_byte=first_byte,
        queued=queued,
    )


@dataclass(frozen=True, slots=True)
class Beside:
    """What of a sample lives in tables other than its own."""

    findings: Sequence[Finding]
    tags: Sequence[str]
    judgement: Judgement | None
    certainties: tuple[Certainty, ...]
    checks: tuple[Check, ...]
    items: tuple[Item, ...] | None


def sample_from(row: Row, attempt: Attempt, layouts: Callable[[int], Layout], beside: Beside) -> Sample:
    """The sample back from SAMPLE_COLUMNS and the rows that belong to it."""
    (_run, seq, case_id, variant, repeat, case_hash, _attempt_run, outcome, score, passed, band, *rest) = row
    category, difficulty, rung, layout, scores, details, marks, _mode = rest
    return Sample(
        case_id=from_stored(case_id),
        variant=from_stored(variant),
        repeat=repeat,
        attempt=attempt,
        outcome=Outcome(outcome),
        score=score,
        passed=None if passed is None else bool(passed),
        band=stored_or_none(band),
        scores=scores_from(layouts(layout), scores, details),
        findings=tuple(beside.findings),
        marks=marks_from(marks),
        certainties=beside.certainties,
        checks=beside.checks,
        items=beside.items,
        rung=rung,
        judgement=beside.judgement,
        category=stored_or_none(category),
        difficulty=stored_or_none(difficulty),
        tags=tuple(beside.tags),
        case_hash=case_hash,
        position=seq,
    )
