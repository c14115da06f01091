"""Puts a report together from what the store holds; memory is bounded by the samples shown, not by the run."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice
from typing import Any

from steelyard.analysis.model import Summary
from steelyard.analysis.summary import summarise
from steelyard.answer.ladder import climb
from steelyard.answer.schema import SchemaValidator
from steelyard.records import RunHeader, Sample
from steelyard.release.verdict import decide
from steelyard.report.details import sample_detail, sample_line
from steelyard.report.judged_details import JudgementReader, judgement_reader
from steelyard.report.model import Report, SampleDetail
from steelyard.store.base import Store
from steelyard.suite.case import Case

_N_WORST = 10
_N_SLOWEST = 5
_INCONCLUSIVE_SHARE = 10
"""Of a cut list, one sample in so many may be an inconclusive one."""
_LOOKED_THROUGH = 10
"""How many times `max_details` samples are looked through for inconclusive ones, which the store cannot order."""
_MOST_FOUND = 200
_MOST_CODES = 50
"""Of so many codes, what is worth most to mend first, so many findings each are kept for the views."""


def build_report(store: Store, header: RunHeader, *, max_details: int = 1000) -> Report:
    """The report of a run: figures over all samples, details of all or, beyond `max_details`, of the worst."""
    columns = store.columns(header.id)
    judged = bool(header.suite.get("judge"))
    judgements = store.judgements(header.id) if judged else None
    summary = summarise(columns, header.suite, judgements, store.certainties(header.id))
    decision = decide(summary, header.suite, state=header.state, suspect=header.suspect)
    worst = [sample for sample, _ in store.some_samples(header.id, order="score", limit=_LOOKED_THROUGH * _N_WORST)]
    counted = [sample for sample in worst if not _set_aside(sample, summary) and (sample.score or 0) < 1][:_N_WORST]
    slowest = store.some_samples(header.id, order="latency", limit=_N_SLOWEST, descending=True)
    return Report(
        header=header,
        summary=summary,
        decision=decision,
        worst=[sample_line(sample) for sample in counted],
        slowest=[sample_line(sample) for sample, _ in slowest],
        details=_details(store, header, columns.n, max_details),
        n_samples=columns.n,
        findings={
            figure.code: store.findings(header.id, figure.code, limit=_MOST_FOUND)
            for figure in summary.codes[:_MOST_CODES]
        },
        spending=store.judge_spending(header.id) if judged else None,
    )


def _set_aside(sample: Sample, summary: Summary) -> bool:
    """True for a sample that another kind of judge has read than the run's."""
    return summary.judge is not None and sample.mode is not None and sample.mode != summary.judge.mode


def _details(store: Store, header: RunHeader, n_samples: int, max_details: int) -> list[SampleDetail]:
    read, judged = _found_in_text(header), judgement_reader(header)
    if n_samples <= max_details:
        return _worst_first(store.samples(header.id), read, judged)
    looked_through = islice(store.samples(header.id), max_details * _LOOKED_THROUGH)
    inconclusive = (pair for pair in looked_through if not pair[0].outcome.conclusive)
    unread = list(islice(inconclusive, max(max_details // _INCONCLUSIVE_SHARE, 1)))
    scored = store.some_samples(header.id, order="score", limit=max_details - len(unread))
    return _worst_first([*unread, *scored], read, judged)


def _found_in_text(header: RunHeader) -> Callable[[Sample], Any]:
    """A function from a sample to the JSON that was read out of other text; None when the text was JSON alone."""
    shape = header.suite.get("answer") or {}
    schema = shape.get("schema")
    validator = None if schema is None else SchemaValidator(schema)

    def read(sample: Sample) -> Any:
        if sample.rung in (None, "whole") or sample.attempt.text is None:
            return None
        return climb(sample.attempt.text, validator, repair=shape.get("repair", True)).value

    return read


def _worst_first(
    pairs: Iterable[tuple[Sample, Case]], read: Callable[[Sample], Any], judged: JudgementReader
) -> list[SampleDetail]:
    """Inconclusive samples first, so that they are never out of sight, then the lowest scores."""
    details = [sample_detail(sample, case, read(sample), judged(sample)) for sample, case in pairs]
    return sorted(details, key=lambda detail: (detail.line.score is not None, detail.line.score or 0.0))
