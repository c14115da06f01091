"""Puts a report together from what the store holds; memory is bounded by the samples shown, not by the run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from steelyard import plugins
from steelyard.analysis.model import SampleLine, Summary
from steelyard.analysis.stored import summary_of
from steelyard.decide.baselines import stored_results
from steelyard.decide.gates import Decision
from steelyard.decide.verdict import as_ended, decide
from steelyard.metrics.run_data import RunData
from steelyard.records import RunHeader, Sample
from steelyard.report.judge.run import failing_flags
from steelyard.report.model import Report, SampleDetail, needs_models
from steelyard.report.sample_detail import extraction, judgement_reader, sample_detail, sample_line
from steelyard.report.wording import badness
from steelyard.store.base import Store
from steelyard.suite.case import Case

_INCONCLUSIVE_SHARE = 10
"""Of a cut list, one sample in so many may be an inconclusive one."""
_MOST_FOUND = 200
_MOST_CODES = 50
"""Of so many codes, what is worth most to fix first, so many findings each are kept for the views."""


def build_report(
    store: Store,
    header: RunHeader,
    *,
    max_details: int = 1000,
    max_findings: int = _MOST_FOUND,
    figures: tuple[Summary, Decision] | None = None,
    brief: bool = False,
) -> Report:
    """The report of a run: figures over all samples, details of all or, beyond `max_details`, of the worst, and up to
    `max_findings` findings of each code.

    `figures` are those of a run that has just been summed up and decided; without them they are computed. `brief` is
    for what stands on one screen: it leaves out the slowest samples, single findings and details that explain nothing.
    """
    return store.one_view(
        lambda: _built(store, header, max_details, max_findings, *(figures or _figures(store, header)), brief=brief)
    )


def _figures(store: Store, header: RunHeader) -> tuple[Summary, Decision]:
    summary = summary_of(store, header)
    decision = decide(
        summary,
        header.description,
        state=header.state,
        suspect=header.suspect,
        gone=header.options.broken,
        relative=stored_results(header),
    )
    return summary, as_ended(decision, header)


def _built(
    store: Store,
    header: RunHeader,
    max_details: int,
    max_findings: int,
    summary: Summary,
    decision: Decision,
    *,
    brief: bool,
) -> Report:
    n_samples, judged = sum(summary.overall.outcomes.values()), header.description.judge is not None
    flags, listed = failing_flags(header), summary.samples
    # They say why calls failed, a scorer broke, or what a judge said does not count.
    explained = judged or bool(summary.overall.counts("failures.<kind>")) or summary.n_scorer_errors > 0
    details = _details(store, header, summary, n_samples, max_details) if explained or not brief else []
    worst = _lines(store, header, [cell.position for cell in listed.worst], flags)
    return Report(
        header=header,
        summary=summary,
        decision=decision,
        worst=worst,
        bad_repeats={cell_of(line): cell.failing for line, cell in zip(worst, listed.worst, strict=True)},
        slowest=[] if brief else _lines(store, header, listed.slowest, flags),
        details=details,
        n_samples=n_samples,
        grid=[] if brief or len(details) >= n_samples else _grid(store, header, details),
        findings={
            figure.code: store.findings(header.id, figure.code, limit=max_findings)
            for figure in ([] if brief else summary.codes[:_MOST_CODES])
        },
        spending=store.judge_spending(header.id) if judged or needs_models(header) else None,
        contested=_contested(store, header),
    )


def cell_of(line: SampleLine) -> tuple[str, str]:
    """Case and variant of a sample."""
    return line.case_id, line.variant


def _lines(store: Store, header: RunHeader, positions: Sequence[int], flags: Sequence[str]) -> list[SampleLine]:
    return [sample_line(sample, flags) for sample, _ in store.samples_at(header.id, positions)]


def _grid(store: Store, header: RunHeader, details: Sequence[SampleDetail]) -> list[SampleDetail]:
    """All samples of the cases that come first in the details, as many as there are details; of several variants."""
    suite = header.description
    if len(suite.variants) < 2:
        return []
    most = max(1, len(details) // (len(suite.variants) * max(1, suite.repeats)))
    cases = list(dict.fromkeys(detail.line.case_id for detail in details))[:most]
    return _Reader(header).worst_first(store.samples(header.id, case_ids=cases)) if cases else []


def _contested(store: Store, header: RunHeader) -> tuple[tuple[str, str], ...]:
    """The contested cases, each with why; none where no expert answered any."""
    if not store.people.labels(suite=header.suite_name):
        return ()
    contested = plugins.find("features", "contested_cases")(store, header)
    return tuple((item.case_id, item.why) for item in contested)


def case_states(store: Store, header: RunHeader) -> dict[tuple[str, str], bool | None]:
    """By case and variant of a suite with expectations, whether it passes over its repeats, as `cases.passed` counts
    it; None where that is undecided. Empty for a suite without."""
    data = RunData(store.columns(header.id), header.description, store.checks(header.id))
    states = [] if data.counted is None else data.counted.state.tolist()
    return {data.cells.name(cell)[:2]: None if state < 0 else bool(state) for cell, state in enumerate(states)}


def _details(store: Store, header: RunHeader, summary: Summary, n_samples: int, max_details: int) -> list[SampleDetail]:
    detail = _Reader(header)
    if n_samples <= max_details:
        return detail.worst_first(store.samples(header.id))
    unread = summary.samples.inconclusive[: max(max_details // _INCONCLUSIVE_SHARE, 1)]
    scored = summary.samples.lowest[: max_details - len(unread)]
    return detail.worst_first(store.samples_at(header.id, [*unread, *scored]))


def _found_in_text(header: RunHeader) -> Callable[[Sample], Any]:
    """A function from a sample to the JSON that was read out of other text; None when the text was JSON alone."""
    extracted = extraction(header)

    def read(sample: Sample) -> Any:
        found = None if sample.step in (None, "whole") else extracted(sample)
        return None if found is None else found.value

    return read


class _Reader:
    """Reads the samples of one run as details."""

    def __init__(self, header: RunHeader) -> None:
        self._read, self._judged = _found_in_text(header), judgement_reader(header)
        self._flags = failing_flags(header)

    def worst_first(self, pairs: Iterable[tuple[Sample, Case]]) -> list[SampleDetail]:
        """Inconclusive samples first, so that they are never out of sight, then flagged ones, then the lowest scores.

        What fails comes before what passes, whatever the score.
        """
        details = [
            sample_detail(sample, case, self._read(sample), self._judged(sample, case), self._flags)
            for sample, case in pairs
        ]
        return sorted(details, key=lambda detail: (badness(detail), detail.line.score or 0.0))
