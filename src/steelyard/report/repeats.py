"""Cases that were asked several times, and how long answers took: expectations, stability over repeats, latency."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from steelyard.analysis.checks import CellChecks, CheckDetails, CheckOfCell
from steelyard.analysis.flaky import FlakyCell
from steelyard.analysis.latency import CellLatency, latency_metrics, percentiles
from steelyard.analysis.stability import BANDS, CellStability, StabilityDetails, band_of
from steelyard.metrics.figures import Slice
from steelyard.report import document as doc
from steelyard.report import format as fmt
from steelyard.report.charts.base import Chart
from steelyard.report.charts.latency import timed_calls
from steelyard.report.document import Column, Facts, Fold, Section, Table, Written, section
from steelyard.report.figures import Row, estimate, figures_table, interval, value
from steelyard.report.format import OF_A_RUN
from steelyard.report.groups import computed
from steelyard.report.model import Report
from steelyard.report.render.json import encode_object
from steelyard.report.wording import times_have_a_part
from steelyard.stats.intervals import Estimate, fewest_for
from steelyard.store.selection import Selection
from steelyard.suite.case import cell_name
from steelyard.suite.models import EXPECT

_MOST_FAILED = 12
_FEW_CELLS = 4


def sections(report: Report, charts: Sequence[Chart]) -> list[Section]:
    """Expectations, stability and latency, each with the cases to look at first and its charts."""

    def drawn(*beginnings: str) -> list[Chart]:
        return [chart for chart in charts if chart.name.startswith(beginnings)]

    by_values = by_value(report)
    least, slow = least_stable(report), slowest_cases(report)
    return [
        *section(
            "Expectations",
            Facts(expectations(report)),
            failed_checks(report),
            *drawn("pass_fail"),
            by_check(report),
            Fold(by_values.title, [replace(by_values, title="")]),
            *drawn("counts"),
            main=True,
        ),
        *section("Passing over repeats", passes(report), flaky_cases(report), main=True),
        *section("Stability over repeats", stability(report), *drawn("stability"), least, main=True),
        *section("Latency", Facts(latency(report)), *drawn("latency"), slow),
    ]


_MOST_NAMED = 6
_FEW_IN_A_ROW = 5
_REQUIRED_REPEATS = {
    "all": "a check must pass in every repeat",
    "majority": "a check must pass in more than half of the repeats",
    "first": "a check must pass in the first repeat",
}

_AT_ONCE, _APART = "all at once", "each passes in most answers, but not all of them in the same ones"
_RULE = "pass rule"


def headline(report: Report) -> str:
    """`Cases passed 12 of 18, 1 cannot tell; checks 40 of 45`; "" for a suite without expectations."""
    result, overall = report.summary.checks, report.summary.overall
    if result is None:
        return ""
    cases = f"{_cells_word(result.cells).capitalize()} passed {_cases_passed(overall)}"
    open_cases, open_checks = (overall.count(f"{what}.count.undecided") for what in ("cases", "checks"))
    checks = f"checks {_checks_passed(overall)}" + (f", {open_checks:,} cannot tell" if open_checks else "")
    return f"{cases}{f', {open_cases:,} cannot tell' if open_cases else ''}; {checks}"


def _cases_passed(overall: Slice) -> str:
    return f"{overall.count('cases.count.passed'):,} of {overall.count('cases.count.all'):,}"


def _checks_passed(overall: Slice) -> str:
    """How many of all checks passed; of cases that were never asked nobody knows how many they have."""
    counts = [overall.count(f"checks.count.{state}") for state in ("passed", "failed", "undecided")]
    least = "at least " if overall.count("cases.count.unknown") else ""
    return f"{counts[0]:,} of {least}{sum(counts):,}"


def says_it_all(report: Report) -> bool:
    """True when a suite scores by its expectations alone: components, patterns, priorities and worst samples would say
    once more what failed checks and the errors by code say."""
    only = computed(report) == [EXPECT]
    return only and report.summary.checks is not None and "failing.samples" not in report.summary.overall


def expectations(report: Report) -> list[tuple[str, str]]:
    """Cases and checks that passed, how likely several repeats all pass, and which cases are flaky."""
    result, overall = report.summary.checks, report.summary.overall
    if result is None:
        return []
    cases, checks = overall["cases.passed"], overall["checks.passed"]
    possible = f", {fmt.bounds(cases)} possible" if cases.possible else ""
    passed = f"{_cases_passed(overall)}: {fmt.with_base(cases)}{possible}"
    rows: list[tuple[str, str]] = [
        (f"{_cells_word(result.cells).capitalize()} passed", doc.LinkedText(passed, Selection())),
        ("Checks passed", doc.LinkedText(f"{_checks_passed(overall)}: {fmt.with_base(checks)}", Selection())),
        ("Required repeats", _required_repeats(result)),
    ]
    all_of, by_checks = _all_of(overall), _all_of(overall, "checks.pass_all")
    if len(all_of) > 1:
        rows += [("pass^k", _in_a_row(all_of)), ("Flaky", _flaky(report))]
        if all_of != by_checks:
            rows.append(("pass^k of checks", f"{_in_a_row(by_checks)}, by the checks alone"))
    return rows


def _all_of(overall: Slice, name: str = "pass_all") -> dict[int, Estimate]:
    """pass^k by k."""
    return {int(k): item for k, item in overall.each(f"{name}.<k>").items()}


def failed_checks(report: Report) -> Table:
    """Every check that does not pass, case by case, with k of n and what was found."""
    result = report.summary.checks
    if result is None:
        return doc.NO_TABLE
    rows: list[tuple[doc.Cell, ...]] = [
        (_cell(cell), check.name, _figures(cell, check.passed, check.n, check.name), _state(check), check.detail)
        for holds in (False, None)
        for cell in result.cells
        for check in cell.checks
        if check.holds is holds
    ]
    for cell in result.cells:
        if not cell.holds and not cell.decided and not cell.checks:
            rows.append((_cell(cell), "", "", "cannot tell", "undecided"))
        elif not cell.holds and all(check.holds for check in cell.checks):
            rule = (_AT_ONCE, _APART) if cell.rule_holds else (_RULE, report.summary.passing)
            passed = _figures(cell, cell.clean, cell.decided)
            rows.append((_cell(cell), rule[0], passed, _state(cell), rule[1]))
    open_, failed = (report.summary.overall.count(f"checks.count.{state}") for state in ("undecided", "failed"))
    total = max(failed + open_, len(rows))
    figures = map(Column, ("Passed", "State"))
    columns = (doc.words("Case"), doc.words("Check"), *figures, doc.words("Findings"))
    table = Table("Checks that do not pass", columns, rows, total=total, most=_MOST_FAILED)
    if any(row[3] != "failed" for row in rows):
        return table
    return replace(table.only([0, 1, 2, 4]), title="Failed checks")


def _cell(cell: CellChecks | CellStability | CellLatency) -> str:
    return cell_name(cell.case_id, cell.variant)


def _of_cell(cell: CellStability | CellLatency) -> Selection:
    return Selection(case=cell.case_id, variant=cell.variant)


def _figures(cell: CellChecks, part: int, n: int, check: str = "") -> str:
    return doc.LinkedText(f"{part} of {n}", Selection(case=cell.case_id, variant=cell.variant, check=check))


def by_check(report: Report) -> Table:
    """Of each declared check: cases that passed, failed or cannot be told; answers that passed, failed, never ran."""
    overall = report.summary.overall
    declared = list(overall.each("check.<check>.passed"))
    note = "not run: the call failed, the answer could not be read or is missing; it never counts as passed"
    some_did_not_run = any(overall.count_of(_OF_CHECK.format("answers.not_run"), name) for name in declared)
    return _check_table("By check", declared, report, note if some_did_not_run else "")


def by_value(report: Report) -> Table:
    """The same for each value that was looked for; nothing when no check looks for several."""
    names = report.summary.checks.by_check if report.summary.checks else ()
    declared = Counter(name.partition(":")[0] for name in names)
    several = [name for name in names if declared[name.partition(":")[0]] > 1]
    return _check_table("By check and value", several, report)


def _check_table(title: str, names: Sequence[str], report: Report, note: str = "") -> Table:
    return figures_table(
        title,
        report.header.description,
        report.summary.overall,
        _OF_CHECK.format("passed"),
        *(_counted(head, which) for head, which in _OF_CHECKS.items()),
        head=doc.words("Check"),
        each=names,
        note=note,
    )


def _counted(head: str, which: str) -> Written[Row]:
    """The column of how many cases or answers that is, linked to their samples."""
    samples = _OF_ANSWERS.get(which, {})
    return head, lambda row: doc.LinkedText(row.count(_OF_CHECK.format(which)), Selection(check=row.label, **samples))


_OF_CHECK = "check.<check>.{}"
_OF_CHECKS = {
    "Passed": "cells.passed",
    "Failed": "cells.failed",
    "Cannot tell": "cells.undecided",
    "Answers passed": "answers.passed",
    "Answers failed": "answers.failed",
    "Not run": "answers.not_run",
}
_OF_ANSWERS: dict[str, dict[str, Any]] = {
    f"answers.{state}": {"state": state, "outcome": "conclusive"} for state in ("passed", "failed")
}
"""The columns that count answers in which a check ran; of an inconclusive sample none counts as run."""


def _required_repeats(details: CheckDetails) -> str:
    rules = dict.fromkeys(check.required_repeats for cell in details.cells for check in cell.checks)
    if len(rules) == 1:
        return _REQUIRED_REPEATS[next(iter(rules))]
    return f"each by its own rule: {', '.join(rules)}" if rules else "none ran"


def _few_ks(all_of: dict[int, Estimate]) -> list[int]:
    ks = sorted(all_of)
    return ks if len(ks) <= _FEW_IN_A_ROW else [*ks[: _FEW_IN_A_ROW - 1], ks[-1]]


def _in_a_row(all_of: dict[int, Estimate]) -> str:
    """The chance that so many repeats all pass: for the first few k and the largest."""
    shown = _few_ks(all_of)
    bases = [fmt.with_bounds(all_of[k]) for k in shown]
    chances = [f"{k}: {fmt.percent(all_of[k].value)}" for k in shown]
    if len(set(bases)) == 1:
        message = f"{', '.join(chances)}; {bases[0]}"
    else:
        # Where calls failed, fewer cases have answers enough for a larger k.
        message = ", ".join(f"{chance} ({base})" for chance, base in zip(chances, bases, strict=True))
    return f"{message}; probability that all k repeats pass"


def _flaky(report: Report) -> str:
    """`3 of 24 cases, some repeats pass and others do not: case_02 2 of 5, ...`."""
    share, n_flaky = report.summary.overall["flaky_rate"], report.summary.overall.count("cases.count.flaky")
    if share.value is None and not n_flaky:
        return f"{fmt.NOT_AVAILABLE} (no case has two decided answers)"
    n = share.n + share.n_missing
    undecided = f", {share.n_missing:,} undecided" if share.n_missing else ""
    undecided += f" ({fmt.bounds(share)})" if share.possible else ""
    message = f"{n_flaky:,} of {n:,} {_cells_word(report.summary.flaky_cells)}{undecided}"
    named = [
        f"{cell_name(cell.case_id, cell.variant)} {cell.clean} of {cell.decided}"
        for cell in report.summary.flaky_cells[:_MOST_NAMED]
    ]
    if not named:
        return message
    more = f", and {n_flaky - len(named):,} more" if n_flaky > len(named) else ""
    return f"{message}, some repeats pass and others do not: {', '.join(named)}{more}"


def flaky_in_words(report: Report) -> str:
    """Which cases of a suite without checks pass in some repeats and not in others; "" when none does."""
    return _flaky(report) if report.summary.flaky_cells and report.summary.checks is None else ""


def _cells_word(cells: Sequence[CellChecks | FlakyCell]) -> str:
    return "cases and variants" if any(cell.variant for cell in cells) else "cases"


def _state(check: CheckOfCell | CellChecks) -> str:
    return "failed" if check.holds is False else "cannot tell"


def passes(report: Report) -> Table:
    """pass^k, and how many cases are flaky, of a suite without checks."""
    overall = report.summary.overall
    all_of = _all_of(overall)
    if not all_of or report.summary.checks is not None:
        return doc.NO_TABLE
    return figures_table(
        "Passing over repeats",
        report.header.description,
        overall,
        {f"pass^{k}": f"pass_all.{k}" for k in _few_ks(all_of)} | {"Flaky cases": "flaky_rate"},
        *estimate("Share"),
        ("Possible", lambda row: fmt.bounds(row[""])),
        note="pass^k: chance that k answers to a case all pass; flaky: some of its answers pass and others do not;"
        " possible: if all answers that are missing failed, or all passed",
        signature=OF_A_RUN,
    )


def flaky_cases(report: Report) -> Table:
    """The cases that pass in some repeats and not in others, those that pass least often first."""
    return doc.table(
        "Flaky cases",
        report.summary.flaky_cells if report.summary.checks is None else (),
        ("Case", lambda cell: cell_name(cell.case_id, cell.variant)),
        ("Passed", lambda cell: f"{cell.clean:,} of {cell.decided:,}"),
        selection=lambda cell: Selection(case=cell.case_id, variant=cell.variant),
        total=report.summary.overall.count("cases.count.flaky"),
        most=_MOST_FAILED,
    )


def stability(report: Report) -> Table:
    """Presence and every declared field over all cases, each with its n, its comparisons and the band it is in."""
    result, overall = report.summary.stability, report.summary.overall
    if result is None:
        return doc.NO_TABLE
    shares, keyless = result.of_run(overall), overall.count("stability.items.keyless")
    messages = [f"{band}: {BANDS[band]}" for band in dict.fromkeys(band_of(item.value) for item in shares.values())]
    messages.append(f"items are paired by {result.key} over all pairs of repeats; presence: both have it")
    messages += [f"{fmt.counted(keyless, 'item')} came without {result.key}"] if keyless else []
    return figures_table(
        "Stability over repeats",
        report.header.description,
        overall,
        {f"{name} ({result.how[name]})" if name in result.how else name: f"stability.{name}" for name in shares},
        *(value("Alike"), interval()),
        ("Band", lambda row: band_of(row[""].value)),
        (
            "Comparisons",
            lambda row: row.count(row.own.pattern.replace("stability.", "stability.comparisons.")),
        ),
        ("Cases", lambda row: f"{row[''].n:,}" + (f", {row[''].n_missing:,} n/a" if row[""].n_missing else "")),
        head="Items",
        note="; ".join(messages),
        signature=OF_A_RUN,
    )


def least_stable(report: Report) -> Table:
    """The cases whose repeats differ most, the worst first; those that are the same every time are left out."""
    result = report.summary.stability
    if result is None:
        return doc.NO_TABLE
    differing = sorted((cell for cell in result.cells if _least(cell) < 1.0), key=_least)
    same = sum(_least(cell) == 1.0 for cell in result.cells)
    nothing = len(result.cells) - same - len(differing)
    unknown = report.summary.overall.count("stability.cells.all") - len(result.cells)
    notes = ["n: comparisons"]
    notes += [f"{same:,} {'is' if same == 1 else 'are'} the same every time"] if same else []
    notes += [f"{nothing:,} {'has' if nothing == 1 else 'have'} nothing to compare"] if nothing else []
    notes += [f"{unknown:,} are not listed one by one"] if unknown > 0 else []
    return doc.table(
        "Least stable",
        differing,
        ("Case", _cell),
        ("presence", lambda cell: _share(cell.presence)),
        *map(_field, result.how),
        ("Answers read", lambda cell: f"{cell.runs:,} of {cell.runs + cell.missing:,}"),
        selection=_of_cell,
        note="; ".join(notes),
        most=_FEW_CELLS,
    )


def _field(name: str) -> doc.Written[CellStability]:
    return name, lambda cell: _share(cell.fields.get(name, Estimate(None, 0)))


def _share(estimate: Estimate) -> str:
    if estimate.value is None:
        return fmt.NOT_AVAILABLE
    return f"{fmt.percent(estimate.value)} (n {estimate.n:,})"


def _least(cell: CellStability) -> float:
    """The lowest of the cell's shares; more than 1 where it has nothing to compare."""
    values = [item.value for item in (cell.presence, *cell.fields.values()) if item.value is not None]
    return min(values, default=2.0)


def latency(report: Report) -> list[tuple[str, str]]:
    """All answered calls, those that were not, first byte, queue and load; nothing where times are not looked at."""
    result, overall = report.summary.latency, report.summary.overall
    if result is None or not times_have_a_part(report):
        return []
    timeouts, failures = overall.count("latency.timeouts"), overall.count("latency.failures")
    timed, few = _spread(overall, "latency", [*latency_metrics()]), _few_points()
    rows: list[tuple[str, str]] = [
        (timed_calls(timeouts).capitalize(), doc.LinkedText(timed, Selection(min_latency=0.0)))
    ]
    if timeouts or failures:
        rows.append(
            ("Not answered", doc.LinkedText(_unanswered(timeouts, failures), Selection(outcome="target_failed")))
        )
    for name, label in (("latency.first_byte", "First byte"), ("first_token", "First token")):
        if f"{name}.n" in overall:
            rows.append((label, _spread(overall, name, few)))
    if "tokens_per_second.n" in overall:
        speed = {point: overall[f"tokens_per_second.{point}"] for point in ("p50", "mean", "min")}
        message = ", ".join(f"{point} {item.value or 0.0:.4g}" for point, item in speed.items())
        rows.append(("Tokens a second", f"{message}; n {speed['p50'].n:,}"))
    is_open = "latency.queued.n" in overall
    if is_open:
        rows.append(("Sent late by", _spread(overall, "latency.queued", few)))
    if result.normal:
        rows.append(("Hint", result.normal))
    # An open load stands among the notes at the top, and what looks wrong among the warnings.
    if result.load and not is_open:
        rows.append(("Load", result.load))
    if result.bottleneck:
        rows.append(("Client", result.bottleneck))
    text = " ".join(report.header.suspect)
    return rows + [("Looks wrong", hint) for hint in result.hints if hint not in text]


def slowest_cases(report: Report) -> Table:
    """The cases whose 95th percentile, or of few calls whose longest, is highest, after those without any answered."""
    result = report.summary.latency
    if result is None or not times_have_a_part(report) or len(result.cells) < 2:
        return doc.NO_TABLE
    ordered = sorted(result.cells, key=_slowest_first)
    unanswered = any(cell.timeouts or cell.failures for cell in ordered)
    few = _few_points()
    # A percentile that no case has calls enough for is no column.
    points = ["mean", few[0], *(name for name in few[1:] if any(cell.spread[name] is not None for cell in ordered))]
    columns: list[doc.Written[CellLatency]] = [("Case", _cell), *map(_point, points)]
    columns.append(("n", lambda cell: f"{cell.spread.n:,}"))
    if unanswered:
        columns.append(("Timed out", lambda cell: f"{cell.timeouts:,}"))
        columns.append(("Failed", lambda cell: f"{cell.failures:,}"))
    total = report.summary.overall.count("latency.cells")
    return doc.table("Slowest cases", ordered, *columns, selection=_of_cell, total=total, most=_FEW_CELLS)


def _point(name: str) -> doc.Written[CellLatency]:
    title = name.capitalize() if name in ("mean", "max") else name
    return title, lambda cell: fmt.seconds(cell.spread[name])


def _few_points() -> list[str]:
    """What tells most of how long calls took: the median first, the longest last."""
    return [*percentiles(compared=True), "max"]


def _spread(overall: Slice, head: str, names: list[str]) -> str:
    values = {name: overall[f"{head}.{name}"].value for name in names}
    n = overall[f"{head}.p50"].n
    if not n:
        return f"{fmt.NOT_AVAILABLE} (no call was answered or timed out)"
    message = ", ".join(f"{name} {fmt.seconds(value)}" for name, value in values.items() if value is not None)
    lacking = ", ".join(
        f"{name} takes {fewest_for(int(name[1:]) / 100)}" for name, value in values.items() if value is None
    )
    return f"{message}; n {n:,}{f' ({lacking})' if lacking else ''}"


def _unanswered(timeouts: int, failures: int) -> str:
    parts = [f"{timeouts:,} timed out: at least the time waited in every figure of time"] if timeouts else []
    return "; ".join(parts + ([f"{failures:,} failed otherwise: in no figure of time"] if failures else []))


def _slowest_first(cell: CellLatency) -> tuple[bool, float]:
    return (cell.spread.n > 0, -(cell.spread.tail[1] or 0.0))


def checks_data(details: CheckDetails) -> dict[str, Any]:
    """The lists; of each cell also how many repeats every check was planned for, and whether it is flaky."""
    data = encode_object(details)
    for cell, message in zip(details.cells, data["cells"], strict=True):
        message["flaky"] = cell.flaky
        for check, of_check in zip(cell.checks, message["checks"], strict=True):
            of_check["n"] = check.n
    return data


def stability_data(details: StabilityDetails, overall: Slice) -> dict[str, Any]:
    """The lists, with the band that each figure is in."""
    data = encode_object(details)
    data["bands"] = {name: band_of(share.value) for name, share in details.of_run(overall).items()}
    for part in data["cells"]:
        shares = {"presence": part["presence"], **part["fields"]}
        part["bands"] = {name: band_of(share["value"]) for name, share in shares.items()}
    return data
