"""Runs: all of them, one of them, and a suite's figures run by run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from steelyard.records import RunHeader
from steelyard.report.build import build_report
from steelyard.report.run import context, data, document
from steelyard.store.base import Store
from steelyard.web import render
from steelyard.web.site import Action, Query, Resource, Visit


class RunsQuery(Query):
    """Which runs are listed."""

    suite: str = ""
    """Runs of this suite alone."""
    search: str = ""
    """What stands in the id, the suite, the target or the verdict."""
    before: float | None = None
    """Runs that began before this time alone (seconds since 1970)."""


def state_of(store: Store, header: RunHeader) -> tuple[object, ...]:
    """What a run's figures depend on, besides its samples: it is another whenever they may be."""
    return (header.state.value, header.verdict, header.ended_at)


def run_figures(store: Store, run_id: str) -> dict[str, Any]:
    """The report of a run, as a page and as data."""
    report = build_report(store, store.run(run_id), max_details=0)
    shown = document(report)
    return {"report": data(report), "body": str(render.blocks(shown, run_id)), "below": " · ".join(context(report))}


def show_run(visit: Visit) -> Mapping[str, Any]:
    """One run: verdict, gates, what to fix first, slices, and every other figure."""
    header = visit.store.run(visit.path["run"])
    about = f"The figures of run {header.id} are being computed"
    result = visit.figures(run_figures, header.id, about=about, state=state_of(visit.store, header))
    return {
        "report": result["report"],
        "_title": header.suite_name,
        "_context": f"run {header.id}",
        "_below": result["below"],
        "_links": "",
        "_body": render.Markup(result["body"]),
    }


def list_runs(visit: Visit) -> Mapping[str, Any]:
    """Runs, newest first."""
    headers = visit.store.runs(visit.query.suite or None, 50)
    return {"runs": [{"id": item.id, "suite": item.suite_name, "verdict": item.verdict} for item in headers]}


RESOURCES: tuple[Resource, ...] = (
    Resource("/runs", "Runs, newest first.", list_runs, "runs.html", RunsQuery),
    Resource("/runs/{run}", "A run's verdict, gates and figures.", show_run, "document.html"),
)
ACTIONS: tuple[Action, ...] = ()
