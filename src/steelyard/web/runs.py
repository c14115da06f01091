"""The page of all runs, by suite."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from markupsafe import Markup

from steelyard.analysis.stored import figures_of
from steelyard.analysis.target import target_name
from steelyard.decide.baselines import baselines
from steelyard.errors import UsageError
from steelyard.metrics.figures import Figures
from steelyard.records import RunHeader, RunState
from steelyard.report import format as fmt
from steelyard.report.render.html import tag
from steelyard.report.render.json import picked
from steelyard.run_history.history import marks_between, why_no_trend
from steelyard.store.base import Store
from steelyard.store.sql import SqlStore
from steelyard.web.site import (
    Query,
    Resource,
    Visit,
)

_A_PAGE = 50
_SUITES_A_PAGE, _OF_A_SUITE, _IN_TREND = 10, 5, 12
_WIDTH, _HEIGHT, _EDGE = 112.0, 22.0, 3.0
_LEAST_RANGE = 0.1
"""Of a sparkline: smaller movements are drawn small."""


class RunsQuery(Query):
    """Which runs are listed."""

    suite: str = ""
    """Runs of this suite alone."""
    search: str = ""
    """What stands in the id, the suite, the target or the verdict."""
    after: str = ""
    """Runs that are older than this one alone; without a suite and search, suites that come after this one."""


def list_runs(visit: Visit) -> Mapping[str, Any]:
    """Runs by suite, newest first, with verdict, headline figure, trend and what changed in how they were made."""
    query, listing = visit.query, visit.store.listing
    suites = listing.suites()
    counts, following = dict(suites), ""
    filtered = bool(query.suite or query.search)
    if filtered:
        headers = listing.page(query.suite, query.search, query.after, _A_PAGE + 1)
        if len(headers) > _A_PAGE:
            following = headers[_A_PAGE - 1].id
        groups: dict[str, list[RunHeader]] = {}
        for header in headers[:_A_PAGE] if query.search else headers:
            groups.setdefault(header.suite_name, []).append(header)
        shown = _A_PAGE
    else:
        names = [name for name, _ in suites]
        start = names.index(query.after) + 1 if query.after in names else 0
        groups = listing.newest(names[start : start + _SUITES_A_PAGE], _IN_TREND)
        shown = _OF_A_SUITE
        following = names[start + _SUITES_A_PAGE - 1] if len(names) > start + _SUITES_A_PAGE else ""
    held = _baselines(visit.store)
    listed = [_of_suite(visit.store, some, held, in_a_row=not query.search) for some in groups.values() if some]
    listed = [group | {"n_runs": counts[group["suite"]], "runs": group["runs"][:shown]} for group in listed]
    page = {"_filtered": filtered, "_sparkline": sparkline}
    return {"suites": listed, "names": sorted(counts), "next": following} | page


def _baselines(store: Store, suite: str | None = None) -> dict[str, list[str]]:
    """By run, the names of the baselines that stand for it."""
    held: dict[str, list[str]] = {}
    for lock in baselines(store, suite):
        held.setdefault(lock.run_id, []).append(lock.name)
    return held


def _of_suite(
    store: SqlStore, headers: Sequence[RunHeader], held: Mapping[str, list[str]], *, in_a_row: bool
) -> dict[str, Any]:
    """Runs of a suite with their trend; what changed since the run before is known of runs in a row."""
    marks = _marks(headers) if in_a_row else {}
    figures = figures_of(store, headers, ("pass_rate", "average"))
    lines = [
        _line(store, header, figures.get(header.id), held.get(header.id, []), marks.get(header.id, []))
        for header in headers
    ]
    label = next((line["figure"]["label"] for line in lines if line["figure"]), "Figure")
    # Answers that were scored again are in a trend once, as in the history.
    again = {line["rescored_from"] for line in lines}
    trend = [
        {"value": line["figure"]["estimate"].value, "changed": bool(line["changed"])}
        for line in reversed(lines)
        if line["figure"] and line["figure"]["label"] == label and not line["no_trend"] and line["id"] not in again
    ]
    return {"suite": headers[0].suite_name, "figure": label, "trend": trend, "runs": lines}


def _marks(headers: Sequence[RunHeader]) -> dict[str, list[str]]:
    """By run, what changed in how it was made since the one before; headers are newest first."""
    marks: dict[str, list[str]] = {}
    # One that another version stored, and that cannot be read, is no reason to show no runs.
    with suppress(UsageError):
        for mark in marks_between(headers[::-1], [header.created_at for header in reversed(headers)]):
            marks.setdefault(mark.run_id, []).append(mark.sentence)
    return marks


def _line(
    store: SqlStore, header: RunHeader, figures: Figures | None, held: list[str], changed: list[str]
) -> dict[str, Any]:
    """A run as a row."""
    figure = None
    if figures is not None:
        label, name = ("Pass rate", "pass_rate") if header.suite.get("passing") else ("Average", "average")
        estimate = figures.slice()[name]
        figure = {"label": label, "estimate": estimate} if estimate.value is not None else None
    return {
        **picked(header, "id", "created_at", "state", "verdict"),
        "target": target_name(header),
        "suspect": list(header.suspect),
        "figure": figure,
        "baselines": held,
        "changed": changed,
        "no_trend": _no_trend(header),
        "rescored_from": header.rescored_from,
        "progress": None if header.state is RunState.ENDED else progress_of(store, header),
    }


def _no_trend(header: RunHeader) -> str:
    try:
        return why_no_trend(header)
    except UsageError:
        return "stored by another version"


def progress_of(store: SqlStore, header: RunHeader) -> dict[str, Any]:
    """How many samples of a run are stored, of how many."""
    return {
        "run": header.id,
        "state": header.state.value,
        "stored": store.listing.stored(header.id),
        "planned": header.n_planned,
    }


def sparkline(trend: Sequence[Mapping[str, Any]], label: str) -> Markup:
    """Values as a small line, oldest first, with a stroke where something in how the runs were made changed."""
    values = [point["value"] for point in trend]
    if len(values) < 2:
        return Markup("")
    low, high = min(values), max(values)
    spread = max(high - low, _LEAST_RANGE)
    low -= (spread - (high - low)) / 2
    step = (_WIDTH - 2 * _EDGE) / (len(values) - 1)
    points = [
        (round(_EDGE + at * step, 1), round(_HEIGHT - _EDGE - (value - low) / spread * (_HEIGHT - 2 * _EDGE), 1))
        for at, value in enumerate(values)
    ]
    marks = [
        tag("line", cls="changed", x1=x, x2=x, y1=0, y2=_HEIGHT)
        for (x, _), point in zip(points, trend, strict=True)
        if point["changed"]
    ]
    line = tag("polyline", points=" ".join(f"{x},{y}" for x, y in points))
    dot = tag("circle", cx=points[-1][0], cy=points[-1][1], r=2)
    about = f"{label} of {len(values)} runs: first {fmt.percent(values[0])}, last {fmt.percent(values[-1])}"
    box = f"0 0 {_WIDTH:g} {_HEIGHT:g}"
    return tag("svg", *marks, line, dot, cls="spark", viewBox=box, role="img", aria_label=about)


RESOURCES: tuple[Resource, ...] = (
    Resource("/runs", "Runs by suite, newest first.", list_runs, "runs.html", RunsQuery),
)
