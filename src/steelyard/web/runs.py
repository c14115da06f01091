"""Runs: all of them, one of them, and a suite's figures run by run."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import groupby
from typing import Any

from markupsafe import Markup
from pydantic import Field

from steelyard.analysis.stored import figures_of, has_summary
from steelyard.analysis.target import target_name
from steelyard.decide.baselines import baselines
from steelyard.errors import UsageError
from steelyard.metrics.figures import Figures
from steelyard.records import RunHeader, RunState
from steelyard.report import document as doc
from steelyard.report import format as fmt
from steelyard.report.build import build_report
from steelyard.report.charts.base import Chart, can_draw, to_svg
from steelyard.report.model import Report
from steelyard.report.render.html import BlockWriter, tag
from steelyard.report.render.json import picked
from steelyard.report.run import context, data, document
from steelyard.run_history import report as history
from steelyard.run_history.history import HistoryOptions, groupings_of, marks_between, read_history, why_no_trend
from steelyard.store.base import Store
from steelyard.store.people import Queue
from steelyard.store.sql import SqlStore
from steelyard.web.figures import Job
from steelyard.web.render import PageWriter
from steelyard.web.site import (
    File,
    NotThere,
    Query,
    Resource,
    Visit,
    address_in_its_run,
    change_address,
    samples_address,
)

_A_PAGE = 50
_SUITES_A_PAGE, _OF_A_SUITE, _IN_TREND = 10, 5, 12
_FEW_ROWS, _MOST_FOLDS, _MOST_HITS = 10, 6, 5
"""Of a table of which a terminal shows fewer, of the codes that open, and of the findings of one: the page of the
samples has them all."""
_A_PART = 70_000
"""Bytes of blocks after which a page ends: the rest is fetched when it comes into sight."""
_TALL = 500.0
"""Pixels; a chart that is taller is folded."""
_LONGEST_DRAWING = 60.0
"""Seconds that a browser waits for a chart, while figures of other pages are being computed."""
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


class PartQuery(Query):
    """Which part of a long page."""

    part: int = Field(default=1, ge=1)


class HistoryQuery(PartQuery):
    """What is followed over a suite's runs."""

    by: str = ""
    metric: str = ""
    last: int = Field(default=100, ge=1, le=1_000)


# ---- all runs


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
        "progress": None if header.state is RunState.ENDED else _progress(store, header),
    }


def _no_trend(header: RunHeader) -> str:
    try:
        return why_no_trend(header)
    except UsageError:
        return "stored by another version"


def _progress(store: SqlStore, header: RunHeader) -> dict[str, Any]:
    return {
        "run": header.id,
        "state": header.state.value,
        "stored": store.listing.stored(header.id),
        "planned": header.n_planned,
    }


def show_progress(visit: Visit) -> Mapping[str, Any]:
    """How many samples of a run are stored."""
    return {"progress": _progress(visit.store, visit.store.run(visit.path["run"]))}


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


# ---- one run


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
    parts, charts = _parts(PageWriter(shown, report.header, partial(samples_address, run_id)))
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


def _parts(writer: BlockWriter) -> tuple[list[str], dict[str, Chart]]:
    """The blocks of a document as pages that are quick to load, and its charts by name."""
    charts: dict[str, Chart] = {}
    parts = [""]
    for short, some in groupby(_cut(writer.document.blocks, charts), lambda block: getattr(block, "short", False)):
        for piece in [list(some)] if short else [[block] for block in some]:
            written = str(writer.blocks(piece, short=short))
            if parts[-1] and len(parts[-1].encode()) + len(written.encode()) > _A_PART:
                parts.append("")
            parts[-1] += written
    return parts, charts


def _cut(blocks: Iterable[doc.Block], charts: dict[str, Chart]) -> Iterator[doc.Block]:
    """The blocks without what has a page of its own: samples, rows of long tables, and charts, which `charts` gets."""
    n_folds = 0
    for block in blocks:
        if isinstance(block, doc.Table):
            total = max(block.total or 0, len(block.rows))
            yield replace(block, rows=block.rows[: max(block.most, _FEW_ROWS)], total=total)
        elif isinstance(block, doc.Section | doc.Fold):
            n_folds += isinstance(block, doc.Fold)
            if n_folds <= _MOST_FOLDS:
                inside = list(_cut(block.blocks, charts))
                yield replace(block, blocks=inside) if isinstance(block, doc.Fold) else _section(block, inside)
        elif isinstance(block, Chart) and can_draw():
            yield _picture(block, charts)
        elif not isinstance(block, doc.SampleList):
            yield block


def _section(section: doc.Section, blocks: list[doc.Block]) -> doc.Section:
    """The section; pictures alone share the width with others."""
    return replace(section, blocks=blocks, short=section.short or all(isinstance(item, doc.Drawing) for item in blocks))


def _picture(chart: Chart, charts: dict[str, Chart]) -> doc.Block:
    """The chart as a picture that the browser asks for, and that is drawn then."""
    name = hashlib.blake2b(json.dumps(chart.spec, sort_keys=True).encode(), digest_size=12).hexdigest()
    charts[name] = chart
    drawing = doc.Drawing(str(tag("img", src=f"/charts/{name}", alt=chart.about, loading="lazy")), "")
    return doc.Fold(f"Chart: {chart.title}", [drawing]) if chart.height > _TALL else drawing


def show_run(visit: Visit) -> Mapping[str, Any]:
    """One run: verdict, gates, what to fix first, slices, and every other figure."""
    store = visit.store
    header = store.run(visit.path["run"])
    frame = {
        "progress": None if header.state is RunState.ENDED else _progress(store, header),
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
        **_part(visit, result["parts"]),
    }


def _result(visit: Visit, header: RunHeader, job: Job) -> dict[str, Any]:
    """What a job makes of a run: at once where the store has the run's figures."""
    state = state_of(visit.store, header)
    if has_summary(visit.store, header):
        return visit.site.figures.read(job, visit.store, header.id, state=state)
    return visit.figures(job, header.id, about=f"The figures of run {header.id} are being computed", state=state)


def _part(visit: Visit, parts: Sequence[str]) -> dict[str, Any]:
    """The part of a page that is asked for."""
    part = visit.query.part
    if part > len(parts):
        raise NotThere(f"this page has {fmt.counted(len(parts), 'part')}")
    body = Markup(parts[part - 1])  # noqa: S704 - written by BlockWriter, which escapes
    return {"_body": body, "_next_part": part + 1 if part < len(parts) else None}


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


def show_chart(visit: Visit) -> tuple[bytes, str]:
    """A chart of a page that was shown."""
    spec = json.dumps(visit.site.chart(visit.path["chart"]).spec)
    drawn = visit.site.figures.ask(_draw, spec, state=None, timeout=_LONGEST_DRAWING)
    if drawn is None:
        raise NotThere("drawing this chart takes too long: load its page again")
    return drawn["svg"].encode(), "image/svg+xml"


def _draw(_: SqlStore, spec: str) -> dict[str, Any]:
    return {"svg": to_svg(Chart("", "", json.loads(spec), ""))}


# ---- the history of a suite


def history_figures(store: Store, suite: str, last: int, by: str, metric: str) -> dict[str, Any]:
    """A suite's figures run by run, as a page and as data."""
    result = read_history(store, suite, HistoryOptions(last=last, by=by, metrics=(metric,) if metric else ()))
    shown = history.document(result)
    parts, charts = _parts(PageWriter(shown, None, address_in_its_run))
    return {
        "history": history.data(result),
        "parts": parts,
        "below": " · ".join((*shown.context, *shown.footer)),
        "charts": charts,
    }


def show_history(visit: Visit) -> Mapping[str, Any]:
    """A suite's figures run by run: trends, changes of level, and what changed in how the runs were made."""
    suite, query, store = visit.path["suite"], visit.query, visit.store
    newest = store.listing.page(suite, limit=query.last)
    if not newest:
        raise NotThere(f"no runs of a suite {suite!r}")
    # What has ended never changes; labels and baselines may.
    state = (tuple((header.id, header.state.value) for header in newest), *store.listing.figures_state(suite))
    about = f"The history of {suite} is being computed"
    result = visit.figures(history_figures, suite, query.last, query.by, query.metric, about=about, state=hash(state))
    visit.site.keep_charts(result["charts"])
    return {
        "history": result["history"],
        "_suite": suite,
        "_below": result["below"],
        "_groupings": ("", *groupings_of(newest[0])),
        **_part(visit, result["parts"]),
    }


RESOURCES: tuple[Resource, ...] = (
    Resource("/runs", "Runs by suite, newest first.", list_runs, "runs.html", RunsQuery),
    Resource("/runs/{run}", "A run's verdict, gates and figures.", show_run, "run.html", PartQuery),
    Resource("/runs/{run}/progress", "How many samples of a run are stored.", show_progress, "progress.html"),
    Resource("/history/{suite}", "A suite's figures run by run.", show_history, "history.html", HistoryQuery),
)
FILES: tuple[File, ...] = (File("/charts/{chart}", show_chart),)
