"""The page of one run, and how far it is while it goes on."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from steelyard.analysis.stored import has_summary
from steelyard.decide.baselines import baselines
from steelyard.records import RunHeader, RunState
from steelyard.report.build import build_report
from steelyard.report.model import Report
from steelyard.report.run import context, data, document
from steelyard.store.people import Queue
from steelyard.store.sql import SqlStore
from steelyard.web.figures import Job
from steelyard.web.parts import PartQuery, in_parts, part_of
from steelyard.web.render import PageWriter
from steelyard.web.runs import progress_of
from steelyard.web.site import Resource, Visit, change_address, samples_address

_MOST_HITS = 5
"""Findings of a code: the page of the samples has them all."""


def show_progress(visit: Visit) -> Mapping[str, Any]:
    """How many samples of a run are stored."""
    return {"progress": progress_of(visit.store, visit.store.run(visit.path["run"]))}


def state_of(store: SqlStore, header: RunHeader) -> tuple[object, ...]:
    """What a run's figures depend on: it is another whenever they may be.

    Of a run that goes on, it is another for every tenth more of its samples, so that figures of many are not computed
    over and over.
    """
    if header.state is not RunState.ENDED:
        n = store.listing.stored(header.id)
        return (header.state.value, n if n < 20 else round(math.log(n, 1.1)))
    verdict = header.verdict.value if header.verdict else ""
    return (verdict, header.ended_at, *store.listing.figures_state(header.suite_name))


def run_page(store: SqlStore, run_id: str) -> dict[str, Any]:
    """The report of a run as a page."""
    report = _report(store, run_id)
    shown = document(report)
    parts, charts = in_parts(PageWriter(shown, report.header, partial(samples_address, run_id)))
    return {
        "parts": parts,
        "below": " · ".join(context(report)),
        "foot": list(shown.footer),
        "charts": charts,
        "outcomes": report.summary.overall.outcomes,
        "n_samples": report.n_samples,
        "n_failed": _n_failed(report),
    }


def run_data(store: SqlStore, run_id: str) -> dict[str, Any]:
    """The report of a run as data."""
    return {"report": data(replace(_report(store, run_id), details=[]))}


def _report(store: SqlStore, run_id: str) -> Report:
    return build_report(store, store.run(run_id), max_details=100, max_findings=_MOST_HITS)


def _n_failed(report: Report) -> int | None:
    """How many samples did not pass; None for a suite without a pass rule."""
    rate = report.summary.overall["pass_rate"]
    return None if not report.summary.passing else round((1 - (rate.value or 0.0)) * rate.n) if rate.n else 0


def show_run(visit: Visit) -> Mapping[str, Any]:
    """One run: verdict, gates, what to fix first, slices, and every other figure."""
    store = visit.store
    header = store.run(visit.path["run"])
    frame = {
        "progress": None if header.state is RunState.ENDED else progress_of(store, header),
        "compare_with": _to_compare(store, header),
    }
    result = _result(visit, header, run_page)
    if not visit.of_page:
        return _result(visit, header, run_data) | frame | {"n_failed": result["n_failed"]}
    visit.site.keep_charts(result["charts"])
    return frame | {
        "n_failed": result["n_failed"],
        "_run": header.id,
        "_suite": header.suite_name,
        "_is_planned": store.people.plan(Queue(header.id)) is not None,
        "_n": result["n_samples"],
        "_outcomes": result["outcomes"],
        "_below": result["below"],
        "_foot": result["foot"],
        **part_of(visit, result["parts"]),
    }


def _result(visit: Visit, header: RunHeader, job: Job) -> dict[str, Any]:
    """What a job makes of a run: at once where the store has the run's figures."""
    state = state_of(visit.store, header)
    if has_summary(visit.store, header):
        return visit.site.figures.read(job, visit.store, header.id, state=state)
    return visit.figures(job, header.id, about=f"The figures of run {header.id} are being computed", state=state)


def _to_compare(store: SqlStore, header: RunHeader) -> list[dict[str, str]]:
    """The baselines of the suite and the run before, each with the page of what changed since."""
    runs = {f"baseline {lock.name}": lock.run_id for lock in baselines(store, header.suite_name)}
    before = store.listing.page(header.suite_name, after=header.id, limit=1)
    runs |= {"the run before": before[0].id} if before else {}
    return [
        {"what": what, "run": run_id, "address": change_address(run_id, header.id)}
        for what, run_id in runs.items()
        if run_id != header.id
    ]


RESOURCES: tuple[Resource, ...] = (
    Resource("/runs/{run}", "A run's verdict, gates and figures.", show_run, "run.html", PartQuery),
    Resource("/runs/{run}/progress", "How many samples of a run are stored.", show_progress, "progress.html"),
)
