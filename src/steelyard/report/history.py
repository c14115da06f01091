"""How a suite's figures went, run by run: the runs, where levels changed, and what changed between runs."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from steelyard.analysis.summary import stored_summary, target_name
from steelyard.decide.history import History, HistoryRun, Trend, day, days, figure_by_slice
from steelyard.records import RunHeader
from steelyard.report import format as fmt
from steelyard.report.charts.trend import trend_charts
from steelyard.report.document import (
    Block,
    Column,
    Document,
    Facts,
    Kind,
    Section,
    Table,
    Tone,
    bullets,
    section,
    table_section,
)
from steelyard.report.format import OF_A_RUN, clipped
from steelyard.report.render.json import encode, encode_object
from steelyard.report.wording import signature_line
from steelyard.stats.change_points import FEWEST_RUNS
from steelyard.stats.intervals import Estimate
from steelyard.store.logs import BaselineEntry

_NO_VERDICT = "no gates"
_LONGEST_BAND = 12
_LONGEST_TARGET = 24
FORMAT = "steelyard.history/1"
_MOST_RUNS = 40
_OF_RUNS = ("verdict", "state", "suspect", "created_at", "target")
_OF_BASELINES = ("average", "pass_rate")
_MAIN = {"average": "Average", "median": "Median", "pass_rate": "Pass rate"}


def document(history: History) -> Document:
    """Changes of level, the trends as charts, the runs newest first, and what changed between them."""
    first, *others = _sentences(history)
    blocks: list[Block] = [first, *(Section(chart.title, [chart]) for chart in trend_charts(history))]
    blocks += [*table_section(runs(history), main=True), *table_section(grouped(history), main=True), *others]
    listed = f"{len(history.runs)} of {history.n_all} runs, {len(history.in_trends)} in the trends"
    return Document(f"{history.suite}: history", blocks, (listed,), (f"Method: {history.method}",))


def _sentences(history: History) -> list[Section]:
    """What is said besides the tables, under a title each."""
    changed = changes(history) or [no_changes(history, FEWEST_RUNS)]
    results = [
        ("Changes of level", changed),
        ("What changed between runs", marks(history)),
        ("Not in the trends", left_out(history)),
        ("Baselines", locked(history)),
    ]
    return [item for title, texts in results for item in section(title, bullets(texts), main=True)]


def data(history: History) -> dict[str, Any]:
    """The whole history as plain data."""
    dates = [{"date": day(run.answered_at)} for run in history.runs]
    listed = [encode_object(run) | date for run, date in zip(history.runs, dates, strict=True)]
    charts = {"charts": encode(trend_charts(history))}
    return {"format": FORMAT} | encode_object(history) | {"runs": listed} | charts


def baseline_document(entry: BaselineEntry, header: RunHeader) -> Document:
    """What a baseline stands for: the lock, the run behind it, its figures and its signature."""
    forced = " by force" if entry.forced else ""
    summary = stored_summary(header.summary)
    rows = [
        ("Run", f"{header.id}, {fmt.when(header.created_at)}"),
        ("Verdict", header.verdict.value if header.verdict else "none: no gates"),
        ("Target", target_name(header)),
    ]
    if summary is not None:
        overall = summary.overall
        rows += [
            ("Average", fmt.with_base(overall.average)),
            ("Median", fmt.with_base(overall.median)),
            ("Pass rate", fmt.pass_rate(overall.pass_rate, summary.passing)),
        ]
    rows.append(("Locked", f"{fmt.when(entry.made_at)}{forced} by {entry.made_by}"))
    rows += [("Reason", entry.reason)] if entry.reason else []
    suspect = bullets([f"SUSPECT: {warning}" for warning in header.suspect], Tone.WARNING)
    title = f"{entry.name}, baseline of {entry.suite_name}"
    return Document(title, [Facts(rows), suspect], footer=(signature_line(header),))


def baseline_data(header: RunHeader) -> dict[str, Any]:
    """The run behind a baseline as plain data."""
    summary = stored_summary(header.summary)
    figures = {name: None if summary is None else encode(getattr(summary.overall, name)) for name in _OF_BASELINES}
    return {name: encode(getattr(header, name)) for name in _OF_RUNS} | figures


def runs(history: History) -> Table:
    """Every run, the newest first: date, average, median, pass rate, the best band, n, verdict and name."""
    more = [trend for trend in history.trends if trend.metric not in _MAIN]
    shown = [name for name in _MAIN if any(_has(run, name) for run in history.runs)]
    columns = [Column("Date", Kind.TEXT)]
    for name in shown:
        columns += [Column(_MAIN[name]), Column("95 % interval", optional=True)]
    columns += [Column(clipped(history.best_band, _LONGEST_BAND))] if history.best_band else []
    columns += [Column(trend.title.replace(".", ".\n"), Kind.STACKED) for trend in more]
    columns += [Column("n"), Column("Verdict", Kind.VERDICT)]
    columns += [Column("Target", Kind.TEXT)] if _several_targets(history) else []
    columns.append(Column("Run", Kind.TEXT, optional=True))
    listed = list(reversed(history.runs))
    dates = _dates(history)
    rows = [_row(history, run, dates[run.run_id], shown, more) for run in listed]
    title = f"History of {history.suite}" + (f" (pass: {history.passing})" if history.passing else "")
    return Table(title, tuple(columns), rows, _note(history), signature=OF_A_RUN, total=history.n_all, most=_MOST_RUNS)


def _row(history: History, run: HistoryRun, date: str, shown: list[str], more: list[Trend]) -> tuple[str, ...]:
    # A `*` for a run that has no part in the trends.
    cells = [date + ("*" if run.left_out else "")]
    for name in shown:
        estimate = run.figures.get(name, Estimate(None, 0))
        cells += [fmt.percent(estimate.value), fmt.interval(estimate)]
    if history.best_band:
        best = run.best_band
        cells.append("n/a" if best is None or best.value is None else f"{round(best.value * best.n):,}/{best.n:,}")
    cells += [fmt.in_unit(run.figures[trend.metric].value if run.figures else None, trend.unit) for trend in more]
    missing = f" (-{run.n_missing:,})" if run.n_missing else ""
    cells += [f"{run.n:,}{missing}", _verdict(run)]
    cells += [clipped(run.target, _LONGEST_TARGET)] if _several_targets(history) else []
    return (*cells, run.run_id)


def _several_targets(history: History) -> bool:
    return len({run.target for run in history.runs}) > 1


def _has(run: HistoryRun, name: str) -> bool:
    return run.figures.get(name, Estimate(None, 0)).value is not None


def _dates(history: History) -> dict[str, str]:
    """By run its day, with the time where a day has several runs."""
    message = days([run.answered_at for run in history.runs])
    return {run.run_id: date for run, date in zip(history.runs, message, strict=True)}


def _verdict(run: HistoryRun) -> str:
    return run.verdict or _NO_VERDICT


def _note(history: History) -> str:
    messages = []
    if history.runs and not _several_targets(history):
        messages.append(f"target: {clipped(history.runs[0].target, 80)}")
    if any(run.left_out for run in history.runs):
        messages.append("* not in the trends, see below")
    if any(run.n_missing for run in history.runs):
        messages.append("n (-k): k planned samples are inconclusive or missing")
    return "; ".join(messages)


def left_out(history: History) -> list[str]:
    """The runs without a part in the trends, each with the reason, the newest first."""
    dates = _dates(history)
    return [f"{dates[run.run_id]} {run.run_id}: {run.left_out}" for run in reversed(history.runs) if run.left_out]


def locked(history: History) -> list[str]:
    """The runs that are baselines now."""
    return [f"{', '.join(run.baselines)}: {run.run_id}" for run in reversed(history.runs) if run.baselines]


def marks(history: History) -> list[str]:
    """What changed in how the runs were made, the newest first."""
    return [f"{day(mark.when)} {mark.sentence} ({mark.run_id})" for mark in reversed(history.marks)]


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
    return f"no change of level beyond noise in {fmt.counted(looked, 'figure')} over {n} runs"


def grouped(history: History) -> Table:
    """One figure by slice or code: first, last and lowest of the trends."""
    if not history.grouped:
        return Table("", (), [])
    rows = []
    for trend in history.grouped:
        available = [value for value in trend.values if value.value is not None]
        first, last = available[0], available[-1]
        moved = (last.value or 0.0) - (first.value or 0.0)
        rows.append(
            (
                trend.title,
                fmt.in_unit(first.value, trend.unit),
                fmt.in_unit(last.value, trend.unit),
                fmt.difference(moved, trend.unit),
                fmt.interval(last, trend.unit),
                fmt.bare_base(last),
                str(len(available)),
            )
        )
    name = "Code" if history.by == "code" else history.by.capitalize()
    titles = ("First", "Last", "Moved", "Interval of last", "n", "Runs")
    columns = (Column(name, Kind.TEXT), *(Column(title) for title in titles))
    more = history.n_groups - len(history.grouped)
    what = "Share of samples with each finding code" if history.by == "code" else f"{_figure(history)} by {history.by}"
    notes = ["what moved is not a verdict: see the changes of level"]
    if any(mark.signature_part for mark in history.marks):
        notes.append("the signature changed between the runs, see below")
    if more:
        notes.append(f"{more} that moved less are not shown")
    return Table(what, columns, rows, "; ".join(notes), signature=OF_A_RUN)


def _figure(history: History) -> str:
    name = figure_by_slice(history)
    return _MAIN.get(name, name)
