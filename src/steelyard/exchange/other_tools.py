"""Results of another tool as runs of the store: its answers, its scores, and none of Steelyard's rules."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import field
from datetime import UTC, datetime
from pathlib import Path

from steelyard import __version__
from steelyard.engine.health import Health
from steelyard.errors import SnapshotError, SuiteError, UsageError
from steelyard.exchange.imports import Imported, available_run, begin_import, fill_run, imported_id
from steelyard.exchange.results import NOTHING, ResultFile, ResultSample, as_text, reading, refuse_twins
from steelyard.frozen import slotted
from steelyard.records import (
    CallResult,
    Failure,
    ImportedFrom,
    Outcome,
    RunFacts,
    RunHeader,
    RunState,
    Sample,
    Score,
    TargetFacts,
)
from steelyard.store.base import Store
from steelyard.suite.case import Case, digest
from steelyard.suite.cases import ListCases, survey_cases
from steelyard.suite.draft import Draft
from steelyard.suite.models import Component, SuiteModel, Threshold, Variant
from steelyard.suite.signature import signature
from steelyard.suite.yaml import Located
from steelyard.wording import percent


@slotted
class _Tally:
    """What one pass over the samples of one subject shows."""

    scale: tuple[float, float] | None = None
    """The lowest and the highest score there can be, as the user says; None: as the values show."""
    scales: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """By scorer, as the tool declares."""
    n: int = 0
    failed: int = 0
    unscored: int = 0
    passes: int = 0
    is_binary: bool = True
    """Whether the scores are nothing but 0 and 1: right or wrong."""
    stated_passes: bool = False
    repeats: Counter[tuple[str, str]] = field(default_factory=Counter)
    cases: dict[str, str] = field(default_factory=dict)
    """By id, a hash of the case."""
    variants: dict[str, None] = field(default_factory=dict)
    models: dict[str, None] = field(default_factory=dict)
    ranges: dict[str, tuple[float, float]] = field(default_factory=dict)
    """By scorer, the lowest and the highest value; that of the whole score under ""."""

    def add(self, sample: ResultSample) -> None:
        """Take one sample in."""
        refuse_twins(self.cases, sample.case)
        self.n += 1
        self.failed += sample.answer is None
        self.unscored += sample.answer is not None and sample.score is None
        self.repeats[sample.case.id, sample.variant] += 1
        self.variants[sample.variant] = None
        if sample.model:
            self.models[sample.model] = None
        if sample.score is not None:
            self.is_binary &= sample.score in (0, 1) and self.scale in (None, (0.0, 1.0))
            self.stated_passes |= sample.passed is not None
            self.passes += sample.score == 1 if sample.passed is None else sample.passed
        whole = {} if sample.score is None else {"": sample.score}
        for name, value in (*sample.scores.items(), *whole.items()):
            low, high = self.ranges.get(name, self.scale or self.scales.get(name, (0.0, 1.0)))
            if self.scale is not None and not low <= value <= high:
                what = f"--scale {low:g}:{high:g}: case {sample.case.id} has the score {value:g}"
                raise UsageError(f"{what}. {NOTHING}")
            self.ranges[name] = min(low, value), max(high, value)

    @property
    def has_passes(self) -> bool:
        """Whether answers passed or not: as the tool says, or since its scores are right or wrong."""
        return self.stated_passes or self.is_binary


def import_results(
    store: Store, results: ResultFile, path: Path, name: str = "", scale: tuple[float, float] | None = None
) -> list[Imported]:
    """Bring every run of a file into the store: one for each subject that answered.

    The whole file is read before anything is kept. Importing the same again changes nothing.
    """
    name = name or results.name
    with reading(path):
        content = hashlib.sha256()
        with path.open("rb") as stream:
            while block := stream.read(1 << 20):
                content.update(block)
        tallies: dict[str, _Tally] = {}
        for sample in results.samples():
            tallies.setdefault(sample.subject, _Tally(scale, results.scales)).add(sample)
        if all(tally.unscored == tally.n for tally in tallies.values()):
            why = "answers and no scores" if tallies else "no samples"
            raise SnapshotError(
                f"{path} holds {why}. {NOTHING}. A suite that scores answers: steelyard init FOLDER --from {path}"
            )
        headers = {
            subject: _header(results, subject, tally, path, name, content.hexdigest()[:16])
            for subject, tally in tallies.items()
        }
    return [_stored(store, results, subject, tallies[subject], header) for subject, header in headers.items()]


def _suite(results: ResultFile, subject: str, tally: _Tally, path: Path, suite: str) -> SuiteModel:
    """A suite of nothing but what the tool did: its scorers by name, and its own rule of what passes."""
    names = [name for name in dict.fromkeys((*results.scorers, *tally.ranges)) if name and name in tally.ranges]
    alone = results.counts_alone
    if alone and alone not in names:
        # A scorer that gives several values is as many components: the first is the score.
        alone = next(iter(names), "")
    components = tuple(
        Component(
            name=name,
            scorer=f"{results.scored_by}: {results.scorers.get(name, name)}",
            weight=float(alone in ("", name)),
            when_unknown="skip",
            scale=tally.ranges[name],
        )
        for name in names
    )
    cases = ListCases(Path(), _Cases(results, subject, len(tally.cases)))
    draft = Draft(Located(None, str(path)), Path())
    survey = survey_cases(cases, (), draft)
    if draft.problems:
        raise SnapshotError(f"{path}: {SuiteError(draft.problems)}. {NOTHING}")
    return SuiteModel().changed(
        name=suite,
        about=f"Scored by {results.scored_by}, not by Steelyard.",
        cases=cases,
        survey=survey,
        components=components,
        passing=Threshold(at_least=1.0, text=f"{results.tool}'s own rule") if tally.has_passes else None,
        variants=tuple(Variant(variant) for variant in sorted(tally.variants)),
        repeats=max(tally.repeats.values()),
        n_cases=survey.n,
        n_planned=tally.n,
    )


class _Cases(list[Case]):
    """Each case of a subject once, read again from the file whenever it is asked for."""

    def __init__(self, results: ResultFile, subject: str, n: int) -> None:
        super().__init__()
        self._results, self._subject, self._n = results, subject, n

    def __len__(self) -> int:
        return self._n

    def __iter__(self) -> Iterator[Case]:
        seen: set[str] = set()
        for sample in self._results.samples():
            if sample.subject == self._subject and sample.case.id not in seen:
                seen.add(sample.case.id)
                yield sample.case


def _header(results: ResultFile, subject: str, tally: _Tally, path: Path, name: str, content: str) -> RunHeader:
    suite = _suite(results, subject, tally, path, name)
    models = list(tally.models)
    identity = {"kind": "imported", "model": models[0] if len(models) == 1 else None, **results.target}
    if subject and identity["model"] is None:
        identity["model"] = subject
    target = TargetFacts.from_data(identity)
    document = digest([content, subject, name, *(tally.scale or ())])
    created_at = results.created_at
    notes = tuple(_notes(results, tally, path))
    differences = tuple(_differences(results, tally))
    return RunHeader(
        id=imported_id(f"{name} {subject}" if subject else name, created_at, document),
        suite_name=name,
        suite_path="",
        created_at=path.stat().st_mtime if created_at is None else created_at,
        signature=signature(suite, target, prompts=digest([results.tool, results.prompts])),
        target=target,
        suite=suite.data(),
        options=RunFacts(
            imported=ImportedFrom(
                path.name,
                results.tool,
                document,
                differences,
                notes,
                undated=created_at is None,
                tool=results.scored_by,
            )
        ),
        n_planned=tally.n,
        version=__version__,
    )


def _notes(results: ResultFile, tally: _Tally, path: Path) -> Iterator[str]:
    """What a reader of its figures must know, a sentence each."""
    answered = tally.n - tally.failed
    if tally.failed and results.errors_are_wrong and answered and tally.has_passes:
        yield (
            f"{tally.failed} of {tally.n} answers are errors that {results.tool} counted as wrong: its"
            f" {percent(tally.passes / tally.n)} are {percent(tally.passes / answered)} of the {answered} that were"
            " answered"
        )
    elif tally.failed:
        yield f"{tally.failed} of {tally.n} answers are errors: inconclusive, in no figure"
    if tally.unscored:
        yield f"{tally.unscored} of {tally.n} answers have no score of {results.tool}: inconclusive, in no figure"
    named = [scale for name, scale in tally.ranges.items() if name]
    for name, (low, high) in tally.ranges.items():
        # That of the whole is mostly that of its only scorer.
        if (low, high) in ((0.0, 1.0), results.scales.get(name)) or (not name and (low, high) in named):
            continue
        ends = "0" if low == 0 else "the lowest value", "1" if high == 1 else "the highest value"
        why = (
            f"{' and '.join(ends)} in the file; --scale LOW:HIGH gives another"
            if not tally.scale
            else "as --scale says"
        )
        yield f"{name or 'the score'}: its scale is taken as {low:g} to {high:g}: {why}"
    yield from results.notes
    if results.created_at is None:
        when = datetime.fromtimestamp(path.stat().st_mtime, UTC)
        yield f"it does not say when it was written: dated by its file, {when:%Y-%m-%d %H:%M} UTC"


def _differences(results: ResultFile, tally: _Tally) -> Iterator[str]:
    # A summary of several subjects is of all of them together.
    if sum(results.stated.values()) != tally.n:
        return
    errors = tally.failed + tally.unscored
    read = {"passed": tally.passes, "errors": errors, "failed": tally.n - tally.passes - errors}
    for what, n in results.stated.items():
        if n != read[what]:
            yield f"{what}: its summary says {n}, its records {read[what]}"


def _stored(store: Store, results: ResultFile, subject: str, tally: _Tally, header: RunHeader) -> Imported:
    imported = header.options.imported
    assert imported is not None  # noqa: S101 - it was made so
    there = available_run(store, header.id)
    if there is not None and there.state is RunState.ENDED:
        return Imported(there, imported.differences, (), is_new=False, lacking=imported.notes)
    header = begin_import(store, header, there)
    ended = fill_run(store, header, _samples(results, subject, tally, header.created_at), Health())
    return Imported(ended, imported.differences, (), is_new=True, lacking=imported.notes)


def _samples(results: ResultFile, subject: str, tally: _Tally, created_at: float) -> Iterator[tuple[Sample, Case]]:
    seen: Counter[tuple[str, str]] = Counter()
    for position, item in enumerate(item for item in results.samples() if item.subject == subject):
        cell = item.case.id, item.variant
        yield _sample(item, tally, seen[cell], position, created_at), item.case
        seen[cell] += 1


def _sample(item: ResultSample, tally: _Tally, repeat: int, position: int, created_at: float) -> Sample:
    failure = None if item.answer is not None else Failure("recorded", item.failure or "no answer was recorded")
    is_scored = failure is None and item.score is not None
    if failure is None and not is_scored:
        failure = Failure("recorded", "answered, and not scored")
    low, high = tally.ranges.get("", (0.0, 1.0))
    score = (item.score - low) / (high - low) if is_scored and item.score is not None else None
    passed = item.passed if item.passed is not None else item.score == 1
    return Sample(
        case_id=item.case.id,
        variant=item.variant,
        repeat=repeat,
        call_result=CallResult(
            tries=0,
            text=as_text(item.conversation) if item.messages and item.answer is not None else item.answer,
            latency=item.latency or 0.0,
            started_at=created_at,
            tokens_in=item.tokens_in,
            tokens_out=item.tokens_out,
            cost=item.cost,
            model=item.model,
            failure=failure,
            provider_cached=item.cached,
        ),
        outcome=Outcome.SCORED if is_scored else Outcome.TARGET_FAILED,
        score=score,
        passed=passed if is_scored and tally.has_passes else None,
        scores=tuple(Score(name, value, note=item.notes.get(name, "")) for name, value in item.scores.items())
        if is_scored
        else (),
        category=item.case.category,
        position=position,
    )
