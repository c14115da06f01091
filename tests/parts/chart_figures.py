"""Figures of runs over repeats, made by hand for charts and tables: as many cases and checks as asked for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from parts.slices import changed, with_slices
from steelyard.analysis.checks import CellChecks, CheckDetails, CheckOfCell
from steelyard.analysis.histogram import Bar
from steelyard.analysis.latency import CellLatency, LatencyDetails, Spread, latency_metrics, no_calls
from steelyard.analysis.stability import CellStability, StabilityDetails
from steelyard.metrics.figures import Slice
from steelyard.report.model import Report
from steelyard.stats.intervals import Estimate


@dataclass(frozen=True)
class Part:
    """One part of a summary: what it lists, and the figures that belong to it by name."""

    details: Any
    figures: Mapping[str, Estimate] = field(default_factory=dict)


def with_parts(report: Report, **parts: Part) -> Report:
    """A report with further parts of a summary, each with its figures."""
    figures = {name: item for part in parts.values() for name, item in part.figures.items()}
    summary = with_slices(report.summary, changed(report.summary.overall, metrics=figures))
    return replace(report, summary=replace(summary, **{name: part.details for name, part in parts.items()}))


def counts(**numbers: int) -> dict[str, Estimate]:
    """Figures that are numbers of something: `cases_count_passed` for `cases.count.passed`."""
    return {name.replace("_", "."): Estimate(float(n), n) for name, n in numbers.items()}


def check(name: str, passed: int, failed: int = 0, not_run: int = 0, **more: object) -> CheckOfCell:
    """One check of a cell that must pass in the most repeats: 3 of 5 hold, whatever the others say."""
    n = passed + failed + not_run
    holds = True if 2 * passed > n else False if 2 * failed >= n else None
    return CheckOfCell(name, passed, failed, not_run, "majority", holds, **more)  # type: ignore[arg-type]


def cell(case_id: str, *checks: CheckOfCell, variant: str = "", clean: int | None = None, **more: str) -> CellChecks:
    """A cell that holds when every check does; `clean` is told by its worst check unless said otherwise."""
    states = [one.holds for one in checks]
    holds = False if False in states else None if None in states or not states else True
    least = min((one.passed for one in checks), default=0) if clean is None else clean
    decided = max((one.passed + one.failed for one in checks), default=0)
    return CellChecks(case_id, variant, checks, holds, least, decided, **more)


def checks_of(cells: Sequence[CellChecks], figures: Mapping[str, Estimate] | None = None) -> Part:
    """The cells given with their sums, and further figures."""
    every = [one for each in cells for one in each.checks]
    held, broken = (sum(each.holds is state for each in cells) for state in (True, False))
    kept, lost = (sum(one.holds is state for one in every) for state in (True, False))
    names = dict.fromkeys(one.name for one in every)
    declared = dict.fromkeys(name.partition(":")[0] for name in names)
    result = {
        "cases.passed": _rate(held, len(cells), held + broken),
        "checks.passed": _rate(kept, len(every), kept + lost),
        **_states("cases.count", held, broken, len(cells)),
        **_states("checks.count", kept, lost, len(every)),
        **counts(cases_count_all=len(cells)),
    }
    for name in declared:
        mine = [one for one in every if one.name.partition(":")[0] == name]
        result |= _of_check(name, mine) | {f"check.{name}.passed": _share(mine)}
    for name in names.keys() - declared.keys():
        result |= _of_check(name, [one for one in every if one.name == name])
    return Part(CheckDetails(tuple(names), tuple(cells)), {**result, **(figures or {})})


def _states(head: str, held: int, broken: int, n: int) -> dict[str, Estimate]:
    numbers = {"passed": held, "failed": broken, "undecided": n - held - broken}
    return {f"{head}.{state}": Estimate(float(count), n) for state, count in numbers.items()}


def _of_check(name: str, result: Sequence[CheckOfCell]) -> dict[str, Estimate]:
    held, broken = (sum(one.holds is state for one in result) for state in (True, False))
    answers = {what: sum(getattr(one, what) for one in result) for what in ("passed", "failed", "not_run")}
    return _states(f"check.{name}.cells", held, broken, len(result)) | {
        f"check.{name}.answers.{what}": Estimate(float(n), len(result)) for what, n in answers.items()
    }


def _share(result: Iterable[CheckOfCell]) -> Estimate:
    states = [one.holds for one in result]
    return _rate(states.count(True), len(states), len(states) - states.count(None))


def _rate(held: int, total: int, message: int) -> Estimate:
    return Estimate(held / total if total else None, message, total - message)


def some_checks(names: Sequence[str], variants: Sequence[str] = ("",)) -> Part:
    """Every fourth case is broken, every seventh cannot be told; the count of each is compared with 1 to 3."""
    cells = []
    for index, name in enumerate(names):
        for variant in variants:
            lost = 4 if index % 4 == 1 else 0
            unknown = 3 if index % 7 == 3 and not lost else 0
            values = tuple(float((index + repeat) % 3 + (3 if repeat < lost else 1)) for repeat in range(5 - unknown))
            counted = check("item_count", 5 - lost - unknown, lost, unknown, values=values, low=1.0, high=3.0)
            cells.append(
                cell(
                    name,
                    check("schema", 5 - unknown, 0, unknown),
                    counted,
                    *([check("kind:large", 5 - lost - unknown, lost, unknown)] if index % 2 else []),
                    variant=variant,
                )
            )
    return checks_of(cells)


def some_stability(names: Sequence[str], variants: Sequence[str] = ("",)) -> Part:
    """Shares from 0 to 1 in steps of a tenth, each fifth case with nothing to compare."""
    cells = []
    for index, name in enumerate(names):
        for variant in variants:
            share = Estimate(None, 0) if index % 5 == 4 else Estimate(index % 11 / 10, 10)
            whole = Estimate(None, 0) if index % 5 == 4 else Estimate(1.0, 10)
            cells.append(CellStability(name, variant, 5, 0, share, {"place": whole, "kind": share}))
    return Part(StabilityDetails("key", {"place": "overlap", "kind": "equal"}, tuple(cells)))


POINTS = ("p50", "p95", "p99")


def spread(mean: float, p95: float, n: int = 5) -> Spread:
    """Times whose other points follow from these two."""
    return times(n, mean, mean / 2, p95, mean, p95, p95)


def times(n: int, mean: float, low: float, high: float, *points: float) -> Spread:
    """Times by their figures: the percentiles that are given, and no others."""
    given = {"mean": mean, "min": low, "max": high, **dict(zip(POINTS, points, strict=False))}
    return Spread(no_calls() | {"n": n} | given)


def latency_of(overall: Spread, timeouts: int, failures: int, first_byte: Spread | None = None, **lists: Any) -> Part:
    """The lists given, with these times of the whole run."""
    cells = lists.get("cells", ())
    result = _times("latency", overall) | counts(
        latency_timeouts=timeouts, latency_failures=failures, latency_cells=len(cells)
    )
    if first_byte is not None:
        head = "latency.first_byte"
        result |= _times(head, first_byte) | {f"{head}.n": Estimate(float(first_byte.n), first_byte.n)}
    return Part(LatencyDetails(**lists), result)


def times_in(overall: Slice, head: str = "latency") -> Spread:
    """The times of the whole run, or some of its other times, from its figures."""
    figures = {name: overall[f"{head}.{name}"] for name in latency_metrics()}
    return Spread.of(figures["p50"].n, {name: item.value for name, item in figures.items()})


def _times(head: str, of: Spread) -> dict[str, Estimate]:
    return {f"{head}.{name}": Estimate(value, of.n) for name, value in of.items() if name not in ("n", "at_least")}


def some_latency(names: Sequence[str], variants: Sequence[str] = ("",)) -> Part:
    """Case i takes (i mod 10 + 1) * 20 ms, half as much again at the 95th percentile; each sixth had no answer."""
    cells = []
    for index, name in enumerate(names):
        for variant in variants:
            took = (index % 10 + 1) * 0.02
            lost = index % 6 == 5
            cells.append(
                CellLatency(name, variant, no_calls() if lost else spread(took, took * 1.5), 2 if lost else 0, 3 * lost)
            )
    answered = [one.spread for one in cells if one.spread.n]
    overall = spread(0.11, 0.29, 5 * len(answered)) if answered else no_calls()
    bars = (Bar(0.01, 0.1, 2 * len(answered)), Bar(0.1, 0.3, 3 * len(answered))) if answered else ()
    timeouts, failures = (sum(getattr(one, what) for one in cells) for what in ("timeouts", "failures"))
    return latency_of(overall, timeouts, failures, bars=bars, cells=tuple(cells))
