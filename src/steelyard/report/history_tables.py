"""A history as tables and sentences, before a view escapes and lays them out."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from steelyard.analysis.model import Estimate
from steelyard.release.history_marks import day, days
from steelyard.release.history_model import History, HistoryRun, Trend, figure_by_slice
from steelyard.report import figures
from steelyard.report.safe_text import clipped
from steelyard.report.tables import Column, Kind, Table

_NO_VERDICT = "no gates"
_LONGEST_BAND = 12
_LONGEST_TARGET = 24
_MAIN = {"average": "Average", "median": "Median", "pass_rate": "Pass rate"}


def runs(history: History, *, wide: bool = False, limit: int | None = None) -> Table:
    """Every run, or the newest `limit` of them: date, average, median, pass rate, the best band, n and verdict.

    `wide` adds intervals and the names of the runs.
    """
    more = [trend for trend in history.trends if trend.metric not in _MAIN]
    shown = [name for name in _MAIN if any(_has(run, name) for run in history.runs)]
    columns = [Column("Date", Kind.TEXT)]
    for name in shown:
        columns += [Column(_MAIN[name]), *([Column("95 % interval")] if wide else [])]
    if history.best_band:
        columns.append(Column(clipped(history.best_band, _LONGEST_BAND)))
    columns += [Column(trend.title) if wide else _stacked(trend.title) for trend in more]
    columns += [Column("n"), Column("Verdict"), *([Column("Target", Kind.TEXT)] if _several_targets(history) else [])]
    columns += [Column("Run", Kind.TEXT)] if wide else []
    listed = list(reversed(history.runs))[:limit]
    dates = _dates(history)
    rows = [_row(history, run, dates[run.run_id], shown, more, wide=wide) for run in listed]
    title = f"History of {history.suite}" + (f" (pass: {history.passing})" if history.passing else "")
    return Table(title, tuple(columns), rows, note=_note(history, listed))


def _stacked(metric: str) -> Column:
    """A long name over several lines: `category.`, `chairs.`, `pass_rate`."""
    return Column(metric.replace(".", ".\n"), Kind.STACKED)


def _row(
    history: History, run: HistoryRun, date: str, shown: list[str], more: list[Trend], *, wide: bool
) -> tuple[str, ...]:
    # A `*` for a run that has no part in the trends.
    cells = [date + ("*" if run.left_out else "")]
    for name in shown:
        estimate = run.figures.get(name, Estimate(None, 0))
        cells += [figures.percent(estimate.value), *([figures.interval(estimate)] if wide else [])]
    if history.best_band:
        best = run.best_band
        cells.append("n/a" if best is None or best.value is None else f"{round(best.value * best.n):,}/{best.n:,}")
    cells += [figures.in_unit(run.figures[trend.metric].value if run.figures else None, trend.unit) for trend in more]
    missing = f" (-{run.n_missing:,})" if run.n_missing else ""
    cells += [f"{run.n:,}{missing}", _verdict(run)]
    cells += [clipped(run.target, _LONGEST_TARGET)] if _several_targets(history) else []
    cells += [run.run_id] if wide else []
    return tuple(cells)


def _several_targets(history: History) -> bool:
    return len({run.target for run in history.runs}) > 1


def _has(run: HistoryRun, name: str) -> bool:
    return run.figures.get(name, Estimate(None, 0)).value is not None


def _dates(history: History) -> dict[str, str]:
    """By run its day, with the time where a day has several runs."""
    told = days([run.answered_at for run in history.runs])
    return {run.run_id: date for run, date in zip(history.runs, told, strict=True)}


def _verdict(run: HistoryRun) -> str:
    return run.verdict or _NO_VERDICT


def _note(history: History, listed: Sequence[HistoryRun]) -> str:
    told = []
    if len(listed) < history.n_all:
        told.append(f"the newest {len(listed)} of {history.n_all:,} runs")
    if history.runs and not _several_targets(history):
        told.append(f"target: {clipped(history.runs[0].target, 80)}")
    if any(run.left_out for run in listed):
        told.append("* has no part in the trends, see below")
    if any(run.n_missing for run in listed):
        told.append("n (-k): k planned samples have no reading")
    return "; ".join(told)


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
    found = [change for trend in (*history.trends, *history.grouped) for change in trend.changes]
    return [f"{change.sentence} ({change.run_id})" for change in sorted(found, key=lambda change: -change.when)]


def no_changes(history: History, fewest: int) -> str:
    """What to say when no level changed: whether there was enough to look at."""
    n = len(history.in_trends)
    if n < fewest:
        return (
            f"{figures.counted(n, 'run')} in the trends: too few to look for a change of level, {fewest} are the fewest"
        )
    breaks = [mark.at for mark in history.marks if mark.instrument]
    longest = max(end - start for start, end in pairwise([0, *breaks, n]))
    if longest < fewest:
        return (
            f"{figures.counted(n, 'run')} in the trends, at most {longest} in a row with one instrument: too few to"
            f" look for a change of level, {fewest} are the fewest"
        )
    looked = len(history.trends) + len(history.grouped)
    return f"no change of level beyond noise in {figures.counted(looked, 'figure')} over {n} runs"


def grouped(history: History) -> Table:
    """One figure by slice or code: first, last and lowest of the trends."""
    if not history.grouped:
        return Table("", (), [])
    rows = []
    for trend in history.grouped:
        known = [value for value in trend.values if value.value is not None]
        first, last = known[0], known[-1]
        moved = (last.value or 0.0) - (first.value or 0.0)
        rows.append(
            (
                trend.title,
                figures.in_unit(first.value, trend.unit),
                figures.in_unit(last.value, trend.unit),
                figures.difference(moved, trend.unit),
                figures.interval(last, trend.unit),
                figures.bare_base(last),
                str(len(known)),
            )
        )
    name = "Code" if history.by == "code" else history.by.capitalize()
    titles = ("First", "Last", "Moved", "Interval of last", "n", "Runs")
    columns = (Column(name, Kind.TEXT), *(Column(title) for title in titles))
    more = history.n_groups - len(history.grouped)
    what = "Share of samples with each finding code" if history.by == "code" else f"{_figure(history)} by {history.by}"
    notes = ["what moved is not a verdict: see the changes of level"]
    if any(mark.instrument for mark in history.marks):
        notes.append("the instrument changed between the runs, see below")
    if more:
        notes.append(f"{more} that moved less are not shown")
    return Table(what, columns, rows, "; ".join(notes))


def _figure(history: History) -> str:
    name = figure_by_slice(history)
    return _MAIN.get(name, name)
