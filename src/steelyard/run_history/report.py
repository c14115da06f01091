"""How a suite's figures went, run by run: the runs, where levels changed, and what changed between runs."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from steelyard.analysis.target import target_name
from steelyard.decide.baselines import BaselineDrift
from steelyard.metrics.figures import Figures
from steelyard.records import RunHeader
from steelyard.report import document as doc
from steelyard.report import format as fmt
from steelyard.report.document import bullets, section, table_section
from steelyard.report.format import OF_A_RUN, clipped
from steelyard.report.render.json import encode, encode_object, picked
from steelyard.report.wording import signature_line
from steelyard.run_history.charts import trend_charts
from steelyard.run_history.history import History, HistoryRun, Trend, days, figure_by_slice
from steelyard.stats.change_points import FEWEST_RUNS
from steelyard.stats.intervals import Estimate
from steelyard.store.baseline_log import BaselineEntry
from steelyard.store.selection import OfRun
from steelyard.wording import day

_LONGEST_BAND = 12
_LONGEST_TARGET = 24
FORMAT = "steelyard.history/1"
_MOST_RUNS = 40
OF_BASELINES = ("average", "pass_rate")
SHOWN_OF_BASELINES = (*OF_BASELINES, "median")
"""What the text of a baseline has of its run's figures; its data have the first of them."""
_MAIN = {"average": "Average", "median": "Median", "pass_rate": "Pass rate"}


def document(history: History) -> doc.Document:
    """Changes of level, the trends as charts, the runs newest first, and what changed between them."""
    changed = changes(history) or [no_changes(history, FEWEST_RUNS)]
    listed = f"{len(history.runs)} of {history.n_all} runs, {len(history.in_trends)} in the trends"
    blocks: list[doc.Block] = [
        *section("Changes of level", bullets(changed), main=True),
        *(doc.Section(chart.title, [chart]) for chart in trend_charts(history)),
        *table_section(runs(history), main=True),
        *table_section(grouped(history), main=True),
        *section("What changed between runs", bullets(marks(history)), main=True),
        *section("Not in the trends", bullets(left_out(history)), main=True),
        *section("Deleted runs", bullets(item.sentence for item in reversed(history.deleted)), main=True),
        *section("Baselines", bullets(locked(history)), main=True),
    ]
    return doc.Document(f"{history.suite}: history", blocks, (listed,), (f"Method: {history.method}",))


def data(history: History) -> dict[str, Any]:
    """The whole history as plain data."""
    listed = [encode_object(run) | {"date": day(run.answered_at)} for run in history.runs]
    charts = encode(trend_charts(history))
    return {"format": FORMAT} | encode_object(history) | {"runs": listed, "charts": charts}


def baseline_document(
    entry: BaselineEntry, header: RunHeader, figures: Figures | None, drift: Sequence[BaselineDrift] = ()
) -> doc.Document:
    """What a baseline stands for: the lock, the run behind it, its figures, how far they are from those of earlier
    locks, and its signature."""
    forced = " by force" if entry.forced else ""
    rows = [
        ("Run", f"{header.id}, {fmt.when(header.created_at)}"),
        ("Verdict", header.verdict.value if header.verdict else "none: no gates"),
        ("Target", target_name(header)),
    ]
    if figures is not None:
        overall, passing = figures.slice(), (header.suite.get("passing") or {}).get("text", "")
        rows += [
            ("Average", fmt.with_base(overall["average"])),
            ("Median", fmt.with_base(overall["median"])),
            ("Pass rate", fmt.pass_rate(overall["pass_rate"], passing)),
        ]
    rows.append(("Locked", f"{fmt.when(entry.made_at)}{forced} by {entry.made_by}"))
    rows += [("Reason", entry.reason)] if entry.reason else []
    rows += [("Drift", item.sentence) for item in drift]
    suspect = bullets([f"SUSPECT: {warning}" for warning in header.suspect], doc.Tone.WARNING)
    title = f"{entry.name}, baseline of {entry.suite_name}"
    return doc.Document(title, [doc.Facts(rows), suspect], footer=(signature_line(header),))


def baseline_data(header: RunHeader, figures: Figures | None) -> dict[str, Any]:
    """The run behind a baseline as plain data."""
    named = {name: None if figures is None else encode(figures.slice()[name]) for name in OF_BASELINES}
    return picked(header, "verdict", "state", "suspect", "created_at", "target") | named


def runs(history: History) -> doc.Table:
    """Every run, the newest first: date, average, median, pass rate, the best band, n, verdict and name."""
    dates, several = _dates(history), len({run.target for run in history.runs}) > 1
    # A `*` for a run that not in the trends.
    columns: list[doc.Written[HistoryRun]] = [("Date", lambda run: dates[run.run_id] + ("*" if run.left_out else ""))]
    for name, title in _MAIN.items():
        if any(_figure(run, name).value is not None for run in history.runs):
            columns += _with_interval(name, title)
    if history.best_band:
        columns.append((doc.Column(clipped(history.best_band, _LONGEST_BAND)), _best_band))
    if any(run.cost and run.cost.n for run in history.runs):
        columns.append((doc.Column("Cost", optional=True), lambda run: fmt.money(run.cost.value if run.cost else None)))
    columns += [_trended(trend) for trend in history.trends if trend.metric not in _MAIN]
    columns.append(("n", lambda run: f"{run.n:,}" + (f" (-{run.n_missing:,})" if run.n_missing else "")))
    columns.append((doc.VERDICT, lambda run: run.verdict or "no gates"))
    if several:
        columns.append((doc.words("Target"), lambda run: clipped(run.target, _LONGEST_TARGET)))
    notes = []
    if history.runs and not several:
        notes.append(f"target: {clipped(history.runs[0].target, 80)}")
    if any(run.left_out for run in history.runs):
        notes.append("* not in the trends, see below")
    if any(run.n_missing for run in history.runs):
        notes.append("n (-k): k planned samples are inconclusive or missing")
    return doc.table(
        f"History of {history.suite}" + (f" (pass: {history.passing})" if history.passing else ""),
        reversed(history.runs),
        *columns,
        (doc.words("Run", optional=True), lambda run: run.run_id),
        selection=lambda run: OfRun(run=run.run_id),
        note="; ".join(notes),
        signature=OF_A_RUN,
        total=history.n_all,
        most=_MOST_RUNS,
    )


def _figure(run: HistoryRun, name: str) -> Estimate:
    return run.figures.get(name, Estimate(None, 0))


def _with_interval(name: str, title: str) -> list[doc.Written[HistoryRun]]:
    interval = doc.Column("95 % interval", optional=True)
    return [
        (title, lambda run: fmt.percent(_figure(run, name).value)),
        (interval, lambda run: fmt.interval(_figure(run, name))),
    ]


def _best_band(run: HistoryRun) -> str:
    best = run.best_band
    return "n/a" if best is None or best.value is None else f"{round(best.value * best.n):,}/{best.n:,}"


def _trended(trend: Trend) -> doc.Written[HistoryRun]:
    head = doc.Column(trend.title.replace(".", ".\n"), doc.Kind.STACKED)
    return head, lambda run: fmt.in_unit(_figure(run, trend.metric).value, trend.unit)


def _dates(history: History) -> dict[str, str]:
    """By run its day, with the time where a day has several runs."""
    message = days([run.answered_at for run in history.runs])
    return {run.run_id: date for run, date in zip(history.runs, message, strict=True)}


def left_out(history: History) -> list[str]:
    """The runs without a part in the trends, each with the reason, the newest first."""
    dates = _dates(history)
    return [f"{dates[run.run_id]} {run.run_id}: {run.left_out}" for run in reversed(history.runs) if run.left_out]


def locked(history: History) -> list[str]:
    """The runs that are baselines now."""
    return [f"{', '.join(run.baselines)}: {run.run_id}" for run in reversed(history.runs) if run.baselines]


def marks(history: History) -> list[str]:
    """What changed in how the runs were made, the newest first."""
    changed = [(mark.when, mark.sentence, mark.run_id) for mark in history.marks]
    changed += [(mark.when, mark.sentence, mark.run_id) for mark in history.criteria]
    return [f"{day(when)} {sentence} ({run_id})" for when, sentence, run_id in sorted(changed, reverse=True)]


def changes(history: History) -> list[str]:
    """Where levels changed, in words, with the first run of the new level; the newest first."""
    results = [change for trend in (*history.trends, *history.grouped) for change in trend.changes]
    return [f"{change.sentence} ({change.run_id})" for change in sorted(results, key=lambda change: -change.when)]


def no_changes(history: History, fewest: int) -> str:
    """What to say when no level changed: whether there was enough to look at."""
    n = len(history.in_trends)
    if n < fewest:
        return f"{fmt.counted(n, 'run')} in the trends: too few to look for a change of level, {fewest} are the fewest"
    breaks = [mark.at for mark in history.marks if mark.signature_part]
    longest = max(end - start for start, end in pairwise([0, *breaks, n]))
    if longest < fewest:
        return (
            f"{fmt.counted(n, 'run')} in the trends, at most {longest} in a row with one signature: too few to"
            f" look for a change of level, {fewest} are the fewest"
        )
    looked = len(history.trends) + len(history.grouped)
    return (
        f"no change of level beyond noise in {fmt.counted(looked, 'figure')} over {n} runs, looked at after every run"
    )


def _of(history: History, trend: Trend, place: int) -> OfRun:
    """The samples of a slice, or with a code, in the first or the last run that has the figure."""
    runs = [run for run, value in zip(history.in_trends, trend.values, strict=True) if value.value is not None]
    return OfRun.of_slice(history.by, trend.title, run=runs[place].run_id)


def grouped(history: History) -> doc.Table:
    """One figure by slice or code: first, last and lowest of the trends."""
    trends = [(trend, [value for value in trend.values if value.value is not None]) for trend in history.grouped]
    by_code = history.by == "code"
    figure = figure_by_slice(history) if trends and not by_code else ""
    notes = ["what moved is not a verdict: see the changes of level"]
    if any(mark.signature_part for mark in history.marks):
        notes.append("the signature changed between the runs, see below")
    if more := history.n_groups - len(trends):
        notes.append(f"{more} that moved less are not shown")
    return doc.table(
        "Share of samples with each finding code" if by_code else f"{_MAIN.get(figure, figure)} by {history.by}",
        trends,
        (fmt.heading(history.by), lambda row: row[0].title),
        ("First", lambda row: doc.LinkedText(fmt.in_unit(row[1][0].value, row[0].unit), _of(history, row[0], 0))),
        ("Last", lambda row: fmt.in_unit(row[1][-1].value, row[0].unit)),
        ("Moved", lambda row: fmt.difference((row[1][-1].value or 0.0) - (row[1][0].value or 0.0), row[0].unit)),
        ("Interval of last", lambda row: fmt.interval(row[1][-1], row[0].unit)),
        ("n", lambda row: fmt.bare_base(row[1][-1])),
        ("Runs", lambda row: str(len(row[1]))),
        selection=lambda row: _of(history, row[0], -1),
        note="; ".join(notes),
        signature=OF_A_RUN,
    )
