"""Snapshots that another tool wrote: brought into the store by the format of a suite, and written again."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import click

from steelyard import __version__
from steelyard.analysis.stored import summary_of
from steelyard.engine.health import Health
from steelyard.engine.owner import free_lease, myself
from steelyard.engine.sample import Evaluation
from steelyard.errors import RunNotFound, SnapshotError, SuiteError, UsageError
from steelyard.exchange.without_answers import checked_sample, scored_sample
from steelyard.frozen import frozen
from steelyard.judging.complaints import complaint_check
from steelyard.judging.judgement import JudgeReader
from steelyard.judging.parse import AnswerParser
from steelyard.loading.load import as_imported
from steelyard.records import (
    CallResult,
    Failure,
    ImportedFrom,
    Original,
    RunFacts,
    RunHeader,
    RunState,
    Sample,
    TargetFacts,
)
from steelyard.report.format import clipped
from steelyard.runner.run import finish
from steelyard.scoring.evaluate import Evaluator
from steelyard.store.base import Store
from steelyard.store.recorded_run import RecordedRun, RecordedSample, SnapshotFormat
from steelyard.store.snapshot import whole_file
from steelyard.suite.case import Case, digest
from steelyard.suite.cases import ListCases, survey_cases
from steelyard.suite.draft import Draft
from steelyard.suite.judge import Member
from steelyard.suite.ledger import kept_with_a_run
from steelyard.suite.models import SuiteModel, Variant
from steelyard.suite.signature import signature
from steelyard.suite.slices import sample_tags
from steelyard.suite.truth import without_truth
from steelyard.suite.yaml import Located
from steelyard.suite_code import find_callable, place_of
from steelyard.user_code import UserCodeError, checked_call

_CHUNK = 500


@frozen
class Imported:
    """What became of a foreign snapshot."""

    header: RunHeader
    differences: tuple[str, ...]
    """Where its own summary differs from its records."""
    notes: tuple[str, ...]
    """What it states and cannot be recomputed."""
    is_new: bool
    """False when the store held it already."""
    lacking: tuple[str, ...] = ()
    """What the records do not hold and what became of that, a sentence each."""


def import_foreign(suite: SuiteModel, store: Store, path: Path) -> Imported:
    """Bring a snapshot in the suite's own format into the store, scored by the suite as it is now.

    Importing the same again changes nothing. SnapshotError when the file is no such snapshot.
    """
    form = format_of(suite)
    document = _document(path)
    recorded = _read(form, document, suite, path)
    measured = _without_persons(recorded, suite)
    lacking = tuple(_lacking(measured, path, None if suite.judge is None else AnswerParser(suite.judge)))
    suite = _as_recorded(suite, measured)
    header = _header(suite, measured, form, digest(document), path)
    available = available_run(store, header.id)
    if available is not None and available.state is RunState.ENDED:
        return Imported(available, measured.differences, measured.notes, is_new=False, lacking=lacking)
    samples, cases = _evaluated(as_imported(suite), measured, header.created_at)
    header = begin_import(store, header, available)
    return Imported(
        fill_run(store, header, zip(samples, cases, strict=True), Health(measured.suspect)),
        measured.differences,
        measured.notes,
        is_new=True,
        lacking=lacking,
    )


def _lacking(recorded: RecordedRun, path: Path, parser: AnswerParser | None) -> Iterator[str]:
    """What is missing in a recording, with what it is taken for."""
    samples = recorded.samples
    checked = sum(sample.answer is None and sample.checks is not None for sample in samples)
    if checked:
        yield f"{checked} of {len(samples)} records hold no answer: their check results are taken as stated"
    scored = sum(_is_scored(sample) for sample in samples)
    if scored:
        yield f"{scored} of {len(samples)} records hold a score without its answer: it is taken as stated"
    silent = sum(sample.answer is None and not _is_scored(sample) for sample in samples) - checked
    if silent:
        yield f"{silent} of {len(samples)} records hold no answer: target_failed, in no figure"
    unjudged = [sample for sample in samples if sample.answer is not None and sample.response is None]
    if unjudged and parser is not None:
        reasons = Counter(item.judge_failure or "no judgement was recorded" for item in unjudged)
        why, n = reasons.most_common(1)[0]
        why = clipped(why, 120) + ("" if n == len(unjudged) else f": {n} of them")
        n_of = f"{len(unjudged)} of {len(samples)}"
        yield f"{n_of} records hold no result of the judge: judge_failed, in no figure ({why})"
    judged = [sample.response for sample in samples if sample.response is not None and not _is_scored(sample)]
    older = sum(parser is not None and parser.check(dict(item), "recorded").step == "basic" for item in judged)
    if older:
        n_of = f"{older} of {len(samples)}"
        yield f"{n_of} records lack what the judge is asked for now: of its answers only the scores are read"
    untimed = sum(sample.answer is not None and sample.latency is None for sample in samples)
    if untimed:
        yield f"{untimed} of {len(samples)} records do not say how long they took: they are in no figure of latency"
    if recorded.created_at is None:
        moment = datetime.fromtimestamp(path.stat().st_mtime, UTC)
        yield f"it does not say when it was written: dated by its file, {moment:%Y-%m-%d %H:%M} UTC"


def _is_scored(recorded_sample: RecordedSample) -> bool:
    """Whether the answer, or its scores one by one, were not kept, but what its judge gave it was."""
    partial = recorded_sample.answer is None or recorded_sample.score is not None
    return (
        partial
        and recorded_sample.checks is None
        and not recorded_sample.failure
        and recorded_sample.response is not None
    )


def available_run(store: Store, run_id: str) -> RunHeader | None:
    """The run of exactly that name; None when there is none."""
    try:
        header = store.run(run_id)
    except RunNotFound:
        return None
    return header if header.id == run_id else None


def export_foreign(suite: SuiteModel, store: Store, header: RunHeader, path: Path) -> None:
    """Write a run as a snapshot in the suite's own format, which appears whole or not at all."""
    document = document_of(suite, store, header)
    with whole_file(path) as file:
        file.write(json.dumps(document, ensure_ascii=False, indent=2, allow_nan=False) + "\n")


def document_of(suite: SuiteModel, store: Store, header: RunHeader) -> Any:
    """A run as a document in the suite's own format; UsageError when it is a run of another suite."""
    form = format_of(suite)
    if header.suite_name != suite.name:
        raise UsageError(f"run {header.id} scored suite {header.suite_name}, not {suite.name}")
    summary = summary_of(store, header)
    try:
        return checked_call(
            f"the format of suite {suite.name}", form.write, header, summary, store.samples(header.id), returns=Any
        )
    except UserCodeError as error:
        raise UsageError(f"run {header.id} cannot be written: {error}") from error


def format_of(suite: SuiteModel) -> SnapshotFormat:
    """The suite's own format of snapshots; UsageError when it has none."""
    declared = suite.snapshots
    if declared is None:
        raise UsageError(f"the suite {suite.name} has no snapshots of its own: write snapshots: module:Name into it")
    result = find_callable(declared, suite.folder, "snapshots") if isinstance(declared, str) else declared
    form: SnapshotFormat = result() if isinstance(result, type) else result
    return form


def _document(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8-sig"), parse_constant=_no_number)
    except (UnicodeDecodeError, ValueError, RecursionError) as error:
        message = str(error) if type(error) in (json.JSONDecodeError, ValueError) else "it is no JSON text"
        raise SnapshotError(f"{path} is not a snapshot: {message}. Nothing was imported") from None
    except OSError as error:
        raise SnapshotError(f"{path} cannot be read: {error.strerror}") from error


def _no_number(name: str) -> Any:
    raise ValueError(f"it holds {name}, which is no number")


def _read(form: SnapshotFormat, document: Any, suite: SuiteModel, path: Path) -> RecordedRun:
    try:
        recorded: RecordedRun = checked_call("its format", form.read, document, returns=RecordedRun)
    except UserCodeError as error:
        cause = error.__cause__
        if isinstance(cause, UsageError):
            problem = f"is not a snapshot of suite {suite.name}: {cause}"
        else:
            problem = f"cannot be read by suite {suite.name}: {error}"
        raise SnapshotError(f"{path} {problem}. Nothing was imported") from error
    if not recorded.samples:
        raise SnapshotError(f"{path} holds no samples. Nothing was imported")
    cases = {sample.case.id: sample.case for sample in recorded.samples}
    if twins := [sample.case.id for sample in recorded.samples if sample.case != cases[sample.case.id]]:
        raise SnapshotError(f"{path}: two different cases have the id {twins[0]!r}. Nothing was imported")
    return recorded


def _without_persons(recorded: RecordedRun, suite: SuiteModel) -> RecordedRun:
    """The same without personal data, when the suite takes it out; whatever was only kept is then dropped."""
    redact = suite.redactor
    if redact is None:
        return recorded
    samples = []
    for sample in recorded.samples:
        case = redact.case(sample.case)
        text = None if sample.response is None else json.loads(redact.text(json.dumps(sample.response), case))
        answer = None if sample.answer is None else redact.text(sample.answer, case)
        messages = {name: redact.text(getattr(sample, name), case) for name in ("failure", "judge_failure")}
        checks = sample.checks and tuple(
            replace(check, detail=redact.text(check.detail, case)) for check in sample.checks
        )
        samples.append(replace(sample, case=case, answer=answer, response=text, checks=checks, stored=None, **messages))
    return replace(recorded, samples=samples, stored=None)


def _as_recorded(suite: SuiteModel, recorded: RecordedRun) -> SuiteModel:
    """The suite with the cases of the recording, judged by whoever judged then."""
    cases = ListCases(suite.folder, list({sample.case.id: sample.case for sample in recorded.samples}.values()))
    draft = Draft(Located(None, ""), suite.folder)
    survey = survey_cases(cases, (), draft)
    if draft.problems:
        raise SuiteError(draft.problems)
    judge = suite.judge
    if judge is not None:
        member = Member(name=recorded.judge or "judge", kind="chat", model=recorded.judge or None)
        judge = judge.judged_by((member,), repeats=1)
    return suite.changed(
        cases=cases,
        survey=survey,
        judge=judge,
        variants=(Variant(),),
        repeats=max(Counter(sample.case.id for sample in recorded.samples).values()),
    )


def _header(suite: SuiteModel, recorded: RecordedRun, form: SnapshotFormat, document: str, path: Path) -> RunHeader:
    target = TargetFacts.from_data({"kind": "imported", "model": None, **recorded.target})
    where = place_of(form)
    # What was asked of the system and of the judge is not known: only whether two snapshots may be of one kind.
    asked = digest([where, "imported"])
    judged = digest([where, recorded.judge]) if suite.judge is not None else None
    n = len(recorded.samples)
    stated = {case: {name: dict(values) for name, values in parts.items()} for case, parts in recorded.stated.items()}
    signed = signature(suite, target, prompts=asked, judge=judged)
    available = {
        "n_cases": suite.survey.n,
        "n_planned": n,
        "without_truth": tuple(without_truth(as_imported(suite), suite.cases)),
        "ledger": kept_with_a_run(suite, signed),
    }
    created_at = recorded.created_at
    undated = created_at is None
    imported = ImportedFrom(path.name, where, document, recorded.differences, recorded.notes, stated, undated)
    return RunHeader(
        id=imported_id(suite.name, recorded.created_at, document),
        suite_name=suite.name,
        suite_path=suite.path,
        created_at=path.stat().st_mtime if created_at is None else created_at,
        signature=signed,
        target=target,
        suite=as_imported(suite).changed(**available).data(),
        options=RunFacts(
            imported=imported,
            original=Original(recorded.stored, tuple(sample.stored for sample in recorded.samples)),
        ),
        n_planned=n,
        version=__version__,
    )


def imported_id(name: str, created_at: float | None, document: str) -> str:
    """A name that the same document always gets, whatever becomes of its file."""
    slug = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "run"
    dated = "undated" if created_at is None else f"{datetime.fromtimestamp(created_at, UTC):%Y%m%d-%H%M%S}"
    return f"{slug}-{dated}-{document[:6]}"


def _evaluated(suite: SuiteModel, recorded: RecordedRun, created_at: float) -> tuple[list[Sample], list[Case]]:
    evaluator = Evaluator(suite)
    reader = None
    if suite.judge is not None:
        reader = JudgeReader(suite.judge, {}, complaint_check(suite.judge, suite.folder))
    seen: Counter[str] = Counter()
    samples = []
    for position, item in enumerate(recorded.samples):
        if item.checks is not None and item.answer is None:
            sample = checked_sample(suite, item, seen[item.case.id], created_at)
        elif reader is not None and _is_scored(item):
            judgement = reader.recorded_alone(item.response or {}, only_total=item.score is not None)
            sample = scored_sample(evaluator, judgement, item, seen[item.case.id], created_at)
        else:
            sample = _sample(evaluator, reader, item, seen[item.case.id], created_at)
        sample.position, sample.tags = position, sample_tags(item.case, suite.slices)
        seen[item.case.id] += 1
        samples.append(sample)
    return samples, [sample.case for sample in recorded.samples]


def _sample(
    evaluator: Evaluator, reader: JudgeReader | None, recorded_sample: RecordedSample, repeat: int, created_at: float
) -> Sample:
    failure = (
        None
        if recorded_sample.answer is not None
        else Failure("recorded", recorded_sample.failure or "no answer was recorded")
    )
    call_result = CallResult(
        tries=0,
        text=recorded_sample.answer,
        latency=recorded_sample.latency or 0.0,
        started_at=created_at,
        failure=failure,
    )
    scoring = Evaluation(evaluator, recorded_sample.case, "", repeat, call_result)
    if reader is not None and scoring.to_judge is not None:
        message = recorded_sample.judge_failure or "no judgement was recorded"
        scoring.judge(
            lambda scored: reader.recorded(
                recorded_sample.response,
                scored.to_judge or "",
                recorded_sample.case,
                scored.metrics,
                message=message,
                unanswered=recorded_sample.unanswered or not recorded_sample.judge_failure,
            )
        )
    return scoring.sample


def begin_import(store: Store, header: RunHeader, there: RunHeader | None) -> RunHeader:
    """The header of a new run, or of the one that an import which was killed has left, run by this process now."""
    header = replace(header, options=replace(header.options, owner=myself()))
    if there is None:
        store.create_run(header)
    else:
        store.take_run(header, free_lease(store, header.id, partial(click.echo, err=True)))
    return header


def fill_run(store: Store, header: RunHeader, samples: Iterator[tuple[Sample, Case]], health: Health) -> RunHeader:
    """The header of the run once all of it is in the store; what an import that was killed has left is gone on with."""
    while chunk := list(islice(samples, _CHUNK)):
        done = store.done(header.id, [case.id for _, case in chunk])
        fresh = [(sample, case) for sample, case in chunk if sample.key not in done]
        if fresh:
            store.add_samples(header.id, [sample for sample, _ in fresh], [case for _, case in fresh])
        for sample, _ in chunk:
            health.watch(sample)
    return finish(store, header, health, finished=True).header
