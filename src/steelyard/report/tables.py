"""The tables of a report as plain rows of text, before a view escapes and lays them out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from steelyard.analysis.model import Estimate, SampleLine, Slice
from steelyard.records import Outcome
from steelyard.report import figures, wording
from steelyard.report.judged_wording import judged_names
from steelyard.report.model import Report
from steelyard.report.signatures import AND_BASELINES

_MOST_CASES_NAMED = 3
_MOST_INCONCLUSIVE = 5


class Kind(Enum):
    """What stands in a column: foreign text may be long and is escaped, a figure is short and never broken."""

    TEXT = "text"
    FIGURE = "figure"
    STACKED = "stacked"
    """Short figures with a line end between them, one below the other where there is little room."""
    LINES = "lines"
    """Text of several lines."""


@dataclass(frozen=True, slots=True)
class Column:
    """A heading with the kind of what stands under it."""

    title: str
    kind: Kind = Kind.FIGURE


@dataclass(frozen=True, slots=True)
class Table:
    """A titled table; `note` says what was left off or how to read it, `conclusion` what follows from it, `signature`
    by which method and seed its intervals and p-values were made."""

    title: str
    columns: tuple[Column, ...]
    rows: Sequence[tuple[str, ...]]
    note: str = ""
    conclusion: str = ""
    signature: str = ""


def _text(title: str) -> Column:
    return Column(title, Kind.TEXT)


def gates(report: Report) -> Table:
    """Every gate with its value, n, interval and verdict; criteria have a table of their own."""
    rows = [
        (
            wording.gate_name(gate),
            figures.told_apart(gate.value.value, gate.unit, gate.threshold),
            figures.bare_base(gate.value),
            figures.interval(gate.value, gate.unit),
            gate.word,
        )
        for gate in report.decision.gates
        if not gate.name
    ]
    columns = (_text("Gate"), Column("Value"), Column("n"), Column("95 % interval"), Column("Verdict"))
    paired = any(gate.baseline for gate in report.decision.gates)
    return Table("Gates", columns, rows, signature=AND_BASELINES if paired else "")


def slices(report: Report, factor: str, limit: int, *, fewest: int = 1) -> Table:
    """The groups of one factor; the lowest averages alone when there are more than `limit`.

    Groups of fewer planned samples than `fewest` are left out, unless that is all of them.
    """
    every = report.summary.slices[factor]
    groups = [group for group in every if group.n_planned >= fewest] or every
    shown = groups if len(groups) <= limit else sorted(groups, key=_lowest_first)[:limit]
    rows = [
        (
            group.name,
            figures.percent(group.average.value),
            figures.interval(group.average),
            figures.percent(group.pass_rate.value),
            figures.interval(group.pass_rate),
            figures.bare_base(group.average),
        )
        for group in shown
    ]
    interval = Column("95 % interval")
    columns = (_text(factor.capitalize()), Column("Average"), interval, Column("Pass rate"), interval, Column("n"))
    left_off = len(every) - len(shown)
    which = f"the {len(shown)} lowest averages of {len(groups):,}" if len(groups) > len(shown) else "all"
    which += f" with {fewest} samples or more" if len(groups) < len(every) else ""
    note = f"{which}; {left_off:,} are not shown" if left_off else ""
    return Table(f"By {factor}{_passing(report)}", columns, rows, note, _best(report) if factor == "variant" else "")


def _best(report: Report) -> str:
    """Which variant is best, unless the table of criteria by variant says it."""
    best = report.summary.best_variant
    return "" if best is None or report.decision.by_variant else best.sentence


def _passing(report: Report) -> str:
    return f" (pass: {report.summary.passing})" if report.summary.passing else ""


def _lowest_first(group: Slice) -> tuple[bool, float]:
    return (group.average.value is None, group.average.value or 0.0)


def components(report: Report) -> Table:
    """The average of every component with its weight; what a judge said has tables of its own."""
    rows = []
    for name, average in computed(report).items():
        scale = wording.scale_of(report.header, name)
        rows.append(
            (
                name,
                wording.weight_of(report.header, name),
                figures.on_scale(average.value, scale),
                figures.interval_on_scale(average, scale),
                figures.bare_base(average),
            )
        )
    columns = (_text("Component"), Column("Weight"), Column("Average"), Column("95 % interval"), Column("n"))
    return Table("Components", columns, rows)


def computed(report: Report) -> dict[str, Estimate]:
    """The components that scorers compute, by name."""
    judged = set() if report.summary.judge is None else judged_names(report.header)
    return {name: average for name, average in report.summary.overall.components.items() if name not in judged}


def patterns(report: Report, limit: int | None = None) -> Table:
    """What goes wrong more than once, with the first cases behind it; patterns of the same cases are one row."""
    found = report.summary.patterns
    alike: dict[tuple[tuple[str, ...], int], list[str]] = {}
    for pattern in found:
        alike.setdefault((pattern.cases, pattern.n_cases) if pattern.cases else ((pattern.sentence,), 0), []).append(
            pattern.sentence
        )
    listed = list(alike.items())[:limit]
    rows = [(_told_once(sentences), _some(cases, n_cases) if n_cases else "") for (cases, n_cases), sentences in listed]
    in_all, shown = report.summary.extra.get("n_patterns", len(found)), sum(len(each) for _, each in listed)
    note = f"the {shown} most frequent of {in_all:,} patterns" if in_all > shown else ""
    return Table("Common failure patterns", (_text("Pattern"), _text("Cases")), rows, note)


def _told_once(sentences: list[str]) -> str:
    """The first sentence, and how many more speak of the same cases."""
    first, *others = sentences
    return f"{first}; the same cases: {'; '.join(others)}" if others else first


def _some(cases: tuple[str, ...], n_cases: int) -> str:
    named = ", ".join(cases[:_MOST_CASES_NAMED])
    more = max(n_cases, len(cases)) - min(len(cases), _MOST_CASES_NAMED)
    return f"{named}, +{more}" if named and more > 0 else named


def priorities(report: Report) -> Table:
    """What to mend first; each sentence says its average, n and how far the whole would rise."""
    sentences = [priority.sentence for priority in report.summary.priorities]
    failing = wording.failing_sentence(report)
    rows = [(str(number), sentence) for number, sentence in enumerate(sentences or [failing], 1) if sentence]
    conclusion = failing if sentences else ""
    return Table("Improvement priorities", (Column("#"), _text("Priority")), rows, conclusion=conclusion)


def worst(report: Report) -> Table:
    """The samples that weighed least, with what went wrong."""
    rows = [(_name(report, line), _score(line), line.band or "", line.why) for line in report.worst]
    columns = (_text("Case"), Column("Score"), Column("Band"), _text("What went wrong"))
    if not any(line.band for line in report.worst):
        return Table("Worst", (*columns[:2], columns[3]), [(*row[:2], row[3]) for row in rows])
    return Table("Worst", columns, rows)


def slowest(report: Report) -> Table:
    """The samples that took longest."""
    rows = [
        (_name(report, line), figures.seconds(line.latency), _score(line), wording.outcome_word(line.outcome))
        for line in report.slowest
    ]
    columns = (_text("Case"), Column("Latency"), Column("Score"), Column("Outcome"))
    return Table("Slowest", columns, rows)


def failures(report: Report) -> Table:
    """How often a target or judge gave nothing, by kind."""
    rows = [(kind, f"{count:,}") for kind, count in sorted(report.summary.failures.items(), key=lambda item: -item[1])]
    note = "inconclusive: these weigh neither for nor against the system" if rows else ""
    return Table("Failures by kind", (_text("Kind"), Column("Samples")), rows, note)


def inconclusive(report: Report) -> Table:
    """The first samples that gave no reading, each with its reason."""
    lines = [detail.line for detail in report.details if not Outcome(detail.line.outcome).conclusive]
    rows = [(_name(report, line), wording.outcome_word(line.outcome), line.why) for line in lines[:_MOST_INCONCLUSIVE]]
    columns = (_text("Case"), Column("Outcome"), _text("Why"))
    more = len(lines) - len(rows)
    return Table("Inconclusive", columns, rows, f"and {more:,} more" if more else "")


def overall(report: Report) -> list[tuple[str, str]]:
    """The figures of the whole run, each with its n, as label and value."""
    summary = report.summary
    rows = [
        ("Average", figures.with_base(summary.overall.average)),
        ("Median", figures.with_base(summary.overall.median)),
        ("Pass rate", wording.pass_rate(report)),
    ]
    rows += [
        (f"Latency {name}", figures.with_base(summary.overall.latency[name], "s"))
        for name in ("p50", "p95", "p99")
        if name in summary.overall.latency and not wording.times_have_a_part(report)
    ]
    totals = (("Tokens in", summary.tokens_in, "count"), ("Tokens out", summary.tokens_out, "count"))
    for label, total, unit in (*totals, ("Cost", summary.cost, "cost")):
        if total is not None and total.n:
            rows.append((label, f"{figures.with_base(total, unit)} (sum)"))
    return rows


def cell_name(case_id: str, variant: str) -> str:
    """What a case under a variant is called, over all its repeats."""
    return f"{case_id} ({variant})" if variant else case_id


def _name(report: Report, line: SampleLine) -> str:
    return wording.sample_name(line, repeats=report.summary.repeats)


def _score(line: SampleLine) -> str:
    return figures.percent(line.score)
