"""A comparison for a pull request. Foreign text is never rendered."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from steelyard.analysis.compare_model import Comparison, Moved, Part
from steelyard.report import attribution_tables, compare_sentences, compare_tables, wording
from steelyard.report.compare_left_out import left_out
from steelyard.report.markdown_layout import MOST_ROWS, facts, folded, safe, table_parts

_SIGNS = {
    Moved.BETTER: "✅",
    Moved.WORSE: "❌",
    Moved.CANNOT_TELL: "❔",
    Moved.CHANGED: "❔",
    Moved.SAME: "🟰",
}
_MARKS = {Part.SCALE: "⚠️ ", Part.SUBJECT: "", Part.NOTED: ""}


def comparison_to_markdown(comparison: Comparison) -> str:
    """GitHub-flavoured Markdown: what differs, the answer, what moved and the figures open, the rest folded."""
    return "\n\n".join([*_open(comparison), *_folded(comparison), _foot(comparison)])


def _open(comparison: Comparison) -> Iterator[str]:
    headline = comparison.headline
    word = compare_sentences.verdict_word(comparison)
    yield f"### {_SIGNS[headline.verdict]} {safe(compare_sentences.title(comparison), 200)}, A to B: {word}"
    yield _list(compare_sentences.differences(comparison))
    yield f"**{safe(compare_sentences.answer(comparison))}**"
    yield "\n".join(f"- **{label}** {safe(told)}" for label, told in compare_sentences.how_sure(comparison))
    yield "**What moved**\n\n" + _list((Part.NOTED, told) for told in compare_sentences.what_moved(comparison))
    yield facts("Pairs", [(label.strip(), told) for label, told in compare_sentences.pair_lists(comparison)])
    for table in attribution_tables.tables(comparison, MOST_ROWS):
        yield from table_parts(table)
    for table in compare_tables.main_tables(comparison, MOST_ROWS):
        yield from table_parts(table)


def _folded(comparison: Comparison) -> Iterator[str]:
    shown = len(compare_tables.main_tables(comparison, MOST_ROWS))
    others = compare_tables.everything(comparison, MOST_ROWS)[shown:]
    tables = [part for table in others for part in table_parts(table)]
    still = compare_tables.unmoved_slices(comparison)
    if tables or still:
        yield folded("Groups, findings, latency and cost", [*tables, *([safe(still)] if still else [])])
    if comparison.not_compared:
        yield folded("Not compared", [_list((Part.NOTED, told) for told in left_out(comparison.not_compared))])
    if comparison.instruments.changes:
        yield folded("Instruments", list(table_parts(compare_tables.instruments(comparison))))


def _foot(comparison: Comparison) -> str:
    runs = [f"{side}: {told}" for side, told in compare_sentences.runs(comparison)]
    signed = [
        f"{side}: {wording.signature_line(header)}" for side, header in (("A", comparison.a), ("B", comparison.b))
    ]
    told = [*runs, f"Method: {attribution_tables.method(comparison)}", *signed]
    return "\n".join(f"<sub>{safe(line, 2_000)}</sub><br>" for line in told) + "\n"


def _list(sentences: Iterable[tuple[Part, str]]) -> str:
    return "\n".join(f"- {_MARKS[means]}{safe(sentence)}" for means, sentence in sentences)
