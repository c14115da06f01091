"""The report for a terminal: the verdict and its reasons first, the signature last."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from rich.console import Console, JustifyMethod, RenderableType
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

from steelyard.analysis.model import Estimate
from steelyard.records import Verdict
from steelyard.report import (
    checks_tables,
    confidence_tables,
    criteria_tables,
    error_tables,
    figures,
    judged_tables,
    judged_wording,
    latency_tables,
    said_tables,
    stability_tables,
    tables,
    wording,
)
from steelyard.report.model import Report
from steelyard.report.safe_text import clipped
from steelyard.report.signatures import signed
from steelyard.report.tables import Table
from steelyard.report.terminal_layout import LONGEST_LINE, STYLES, Layout, print_parts, speaks_ascii_alone

_MOST_GROUPS = 20
_MOST_TAGS = 10
_MOST_PATTERNS = 8
_MOST_GATES = 40
_MOST_BROKEN = 12
_MOST_CELLS = 4
_BAR_WIDTH = 20


def print_report(report: Report, console: Console) -> None:
    """Print the whole report; plain ASCII when the terminal cannot show more."""
    print_parts(_view(report, console).parts(), console)


def print_decision(report: Report, console: Console) -> None:
    """Print the verdict with its reasons and every gate, and nothing else."""
    print_parts(_view(report, console).decision(), console)


def _view(report: Report, console: Console) -> _View:
    return _View(report, width=console.width, plain=speaks_ascii_alone(console))


class _View(Layout):
    """The parts of one printed report, in order."""

    def __init__(self, report: Report, *, width: int, plain: bool) -> None:
        super().__init__(width=width, plain=plain)
        self.report = report

    def parts(self) -> Iterator[RenderableType]:
        yield from self.decision()
        yield from self.overall()
        yield from self.judge()
        yield from self.over_repeats()
        yield from self.bands()
        for factor in self.report.summary.slices:
            yield from self.table(self.slices(factor))
        yield from self.table(judged_tables.dimensions(self.report))
        yield from self.table(judged_tables.flags(self.report))
        for table in said_tables.said(self.report):
            yield from self.table(table)
        if not checks_tables.says_it_all(self.report):
            yield from self.table(tables.components(self.report))
        yield from self.table(error_tables.measures(self.report))
        yield from self.fitting(*error_tables.measures_by_variant(self.report))
        yield from self.table(error_tables.errors(self.report))
        yield from self.table(error_tables.confusions(self.report))
        yield from self.table(error_tables.sections(self.report))
        yield from self.confidence()
        if not checks_tables.says_it_all(self.report):
            yield from self.table(tables.patterns(self.report, _MOST_PATTERNS))
            yield from self.table(tables.priorities(self.report))
            yield from self.table(tables.worst(self.report))
        if not wording.times_have_a_part(self.report):
            yield from self.table(tables.slowest(self.report))
        yield from self.table(tables.failures(self.report))
        yield from self.table(tables.inconclusive(self.report))
        yield Text()
        yield self.text(wording.signature_line(self.report.header), "dim", limit=10 * LONGEST_LINE)

    def table(self, table: Table) -> Iterator[RenderableType]:
        """The table, with the method and the seed of its intervals below it."""
        yield from super().table(signed(table))

    def decision(self) -> Iterator[RenderableType]:
        yield from self.headline()
        yield from self.table(_first(tables.gates(self.report), _MOST_GATES))
        yield from self.table(criteria_tables.criteria(self.report))
        for name, about in criteria_tables.unmet(self.report):
            yield Padding(self.text(f"{name}: {about}", "dim"), (0, 0, 0, 2))
        yield from self.fitting(*criteria_tables.by_variant(self.report))

    def headline(self) -> Iterator[RenderableType]:
        report = self.report
        word = wording.verdict_word(report)
        target = clipped(wording.target_name(report.header), 80)
        title = [clipped(report.header.suite_name, 60), f"run {report.header.id}", target]
        moment = wording.when(report.header.created_at)
        yield self.text(" | ".join([*title, moment] if moment else title), "dim")
        yield Text()
        yield Text.assemble((f" {word} ", STYLES[word] + " reverse"), f" {wording.verdict_meaning(report)}")
        yield Padding(self.text(f"Pass rate {wording.pass_rate(report)}", "bold"), (0, 0, 0, 1))
        if held := checks_tables.headline(report):
            yield Padding(self.text(held, "bold"), (0, 0, 0, 1))
        for reason in wording.reasons(report):
            yield self.bullet("-", reason)
        for warning in report.header.suspect:
            yield self.bullet("!", f"SUSPECT: {warning}", "bold yellow")
        for warning in judged_wording.judge_warnings(report):
            yield self.bullet("!", warning, "yellow")
        for note in wording.notes(report):
            yield self.bullet("*", note)

    def overall(self) -> Iterator[RenderableType]:
        rows = [*tables.overall(self.report), ("Outcomes", wording.outcomes_sentence(self.report))]
        if self.report.summary.method:
            rows.append(("Intervals", self.report.summary.method))
        yield from self.facts("Overall", rows)

    def judge(self) -> Iterator[RenderableType]:
        yield from self.facts("Judge", judged_tables.judge(self.report))

    def over_repeats(self) -> Iterator[RenderableType]:
        """Expectations, stability and latency, each with the cases to look at first."""
        report = self.report
        yield from self.facts("Expectations", checks_tables.expectations(report))
        yield from self.table(checks_tables.broken_by_case(report, _MOST_BROKEN))
        yield from self.table(checks_tables.by_check(report))
        yield from self.table(stability_tables.stability(report))
        yield from self.table(stability_tables.least_stable(report, _MOST_CELLS))
        yield from self.facts("Latency", latency_tables.latency(report))
        yield from self.table(latency_tables.slowest_cases(report, _MOST_CELLS))

    def confidence(self) -> Iterator[RenderableType]:
        yield from self.facts("Confidence", confidence_tables.confidence(self.report))
        for table in (confidence_tables.buckets, confidence_tables.labels):
            yield from self.table(table(self.report))

    def slices(self, factor: str) -> Table:
        """The groups of a factor. A case has many tags: one that only one sample bears is no group."""
        if factor == "tag":
            return tables.slices(self.report, factor, _MOST_TAGS, fewest=2)
        return tables.slices(self.report, factor, _MOST_GROUPS)

    def bands(self) -> Iterator[RenderableType]:
        shares = self.report.summary.overall.bands
        if not any(share.n for share in shares.values()):
            return
        yield from self.heading("Score distribution")
        rows = Grid.grid(padding=(0, 2))
        sides: tuple[JustifyMethod, ...] = ("left", "left", "left", "right", "right")
        for justify in sides:
            rows.add_column(no_wrap=True, justify=justify)
        for name, share in shares.items():
            floor = wording.band_floor(self.report.header, name)
            cells = (self.text(clipped(name, 18)), Text(floor, "dim"), Text(self.bar(share), "cyan"))
            rows.add_row(*cells, Text(figures.band_count(share)), Text(figures.percent(share.value)))
        yield Padding(rows, (0, 0, 0, 2))

    def bar(self, share: Estimate) -> str:
        filled = 0.0 if share.value is None else min(max(share.value, 0.0), 1.0) * _BAR_WIDTH
        # A share above nothing always shows a mark.
        marks = max(round(filled), 1) if filled > 0 else 0
        full, rest = ("#", ".") if self.plain else ("█", "░")
        return full * marks + rest * (_BAR_WIDTH - marks)


def _first(table: Table, limit: int) -> Table:
    if len(table.rows) <= limit:
        return table
    left_off = len(table.rows) - limit
    note = f"{limit} of {len(table.rows):,} gates; {left_off:,} are not shown, the verdict counts them all"
    unmet_first = sorted(table.rows, key=lambda row: row[-1] == Verdict.PASS.value)
    return replace(table, rows=unmet_first[:limit], note=note)
