"""The report of an experiment for a terminal: the decision, what changed, the criteria, the comparison, the runs."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console, RenderableType
from rich.text import Text

from steelyard.release.experiment import Decided
from steelyard.report import compare_sentences, compare_tables, experiment_sentences
from steelyard.report.experiment_sentences import ExperimentReport
from steelyard.report.safe_text import clipped
from steelyard.report.terminal_layout import Layout, print_parts, speaks_ascii_alone

_MOST_ROWS = 12
_STYLES = {
    Decided.ADOPT: "bold green",
    Decided.REJECT: "bold red",
    Decided.CANNOT_TELL: "bold yellow",
    Decided.INVALID: "bold magenta",
}


def print_experiment(report: ExperimentReport, console: Console) -> None:
    """Print the whole report; plain ASCII when the terminal cannot show more."""
    view = _View(width=console.width, plain=speaks_ascii_alone(console))
    print_parts(view.parts(report), console)


class _View(Layout):
    def parts(self, report: ExperimentReport) -> Iterator[RenderableType]:
        ruling = report.ruling
        yield self.text(f"{clipped(experiment_sentences.title(report), 60)} | experiment", "dim")
        yield Text()
        badge = Text(f" {ruling.decided.value} ", style=_STYLES[ruling.decided] + " reverse")
        yield Text.assemble(badge, " ", self.text(experiment_sentences.MEANINGS[ruling.decided]))
        for reason in ruling.reasons:
            yield self.bullet("-", reason)
        yield Text()
        for label, told in experiment_sentences.about(report):
            yield self.bullet(f"{label:<11}", told)
        yield from self.facts(experiment_sentences.criteria_title(report), self.criteria(report))
        yield from self.table(experiment_sentences.arms(report))
        yield from self.comparison(report)
        yield from self.facts("The raw runs", experiment_sentences.raw_runs(report))

    def criteria(self, report: ExperimentReport) -> list[tuple[str, str]]:
        """One a line: what came out, then the criterion with its reason."""
        return [
            (experiment_sentences.HOLDS[each.holds], f"{each.asks} when {each.text}: {each.reason}")
            for each in report.ruling.criteria
        ]

    def comparison(self, report: ExperimentReport) -> Iterator[RenderableType]:
        """The first screen of the comparison, A being the baseline and B the candidate."""
        comparison = report.comparison
        if comparison is None:
            return
        yield from self.heading("The comparison: A is the baseline, B the candidate")
        word = compare_sentences.verdict_word(comparison)
        yield self.text(f"  {word}: {compare_sentences.answer(comparison)}")
        for label, told in compare_sentences.how_sure(comparison):
            yield self.bullet(f"{label:<11}", told)
        for told in compare_sentences.what_moved(comparison):
            yield self.bullet("-", told)
        table = compare_tables.main_figures(comparison, _MOST_ROWS)
        yield from self.table(compare_tables.narrowed(table))
