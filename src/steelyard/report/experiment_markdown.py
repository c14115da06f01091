"""The report of an experiment as Markdown. Foreign text is never rendered."""

from __future__ import annotations

from collections.abc import Iterator

from steelyard.analysis.compare_model import Comparison
from steelyard.release.experiment import Decided
from steelyard.report import compare_sentences, compare_tables, experiment_sentences, wording
from steelyard.report.experiment_sentences import ExperimentReport
from steelyard.report.markdown_layout import MOST_ROWS, facts, safe, table_parts

_SIGNS = {Decided.ADOPT: "✅", Decided.REJECT: "❌", Decided.CANNOT_TELL: "❔", Decided.INVALID: "⚠️"}


def experiment_to_markdown(report: ExperimentReport) -> str:
    """GitHub-flavoured Markdown: the decision first, then what it stands on."""
    return "\n\n".join(_parts(report)) + "\n"


def _parts(report: ExperimentReport) -> Iterator[str]:
    ruling = report.ruling
    yield f"### {_SIGNS[ruling.decided]} {safe(experiment_sentences.title(report), 200)}: {ruling.decided.value}"
    yield f"**{safe(experiment_sentences.MEANINGS[ruling.decided])}**"
    yield "\n".join(f"- {safe(reason, 1_000)}" for reason in ruling.reasons)
    yield facts("Experiment", experiment_sentences.about(report))
    yield from table_parts(experiment_sentences.criteria(report))
    yield from table_parts(experiment_sentences.arms(report))
    if report.comparison is not None:
        yield from _comparison(report.comparison)
    yield "**The raw runs**\n\n" + "\n".join(
        f"- {label}: <code>{safe(told)}</code>" for label, told in experiment_sentences.raw_runs(report)
    )
    yield _foot(report)


def _comparison(comparison: Comparison) -> Iterator[str]:
    word = compare_sentences.verdict_word(comparison)
    yield f"**The comparison, A the baseline and B the candidate: {word}**"
    yield safe(compare_sentences.answer(comparison))
    yield "\n".join(f"- **{label}** {safe(told)}" for label, told in compare_sentences.how_sure(comparison))
    yield "\n".join(f"- {safe(told)}" for told in compare_sentences.what_moved(comparison))
    yield from table_parts(compare_tables.main_figures(comparison, MOST_ROWS))


def _foot(report: ExperimentReport) -> str:
    signed = [("baseline", report.baseline), ("candidate", report.candidate)]
    lines = [experiment_sentences.plan_line(report)]
    lines += [f"{name}: {wording.signature_line(arm.header)}" for name, arm in signed if arm is not None]
    return "\n".join(f"<sub>{safe(line, 2_000)}</sub><br>" for line in lines)
