"""One comment on a change: the verdict, how it compares with the baseline and why, the gates; all else folded."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from steelyard.commands.ci_report import Place, Trouble, at_least, outcome_sentence
from steelyard.comparing import report as blocks
from steelyard.comparing import sentences
from steelyard.comparing.attribution_tables import LEDGER, WHY
from steelyard.comparing.model import Comparison
from steelyard.errors import SteelyardError
from steelyard.pairing.model import Moved
from steelyard.report import document as doc
from steelyard.report import format as fmt
from steelyard.report import gates, repeats, run, wording
from steelyard.report.document import Table
from steelyard.report.format import clipped
from steelyard.report.model import Report
from steelyard.report.render.markdown import MOST_ROWS, ROOM, blocks_to_markdown, fold, safe, to_markdown
from steelyard.report.verdicts import style_of

_MOST_CASES = 10
_MOST_PROBLEMS = 20
_AROUND = 500
"""Characters that a fold and the line on samples left off take."""


def marker(suite: str) -> str:
    """An invisible line by which a job finds its own comment again: the suite as it was asked for, without signs."""
    return f"<!-- steelyard {re.sub(r'[^A-Za-z0-9_.]+', '-', suite).strip('-')} -->"


def why_moved(comparison: Comparison | None) -> str:
    """Why the headline number moved, in a sentence; "" when nothing was compared."""
    return "" if comparison is None or comparison.attribution is None else comparison.attribution.sentence


def to_comment(
    suite: str,
    report: Report,
    comparison: Comparison | None,
    baseline: str,
    result: Sequence[Trouble],
    places: Mapping[str, Place],
) -> str:
    """Markdown that fits into one comment. `suite` is what was asked for; `places` are those of cases, by id."""
    head = "\n\n".join([marker(suite), *_head(report, comparison, baseline, result, places)])
    parts = [head]
    room = ROOM - len(head)
    if comparison is not None:
        part = fold(
            f"Against {safe(baseline, 100)}: everything that changed", [to_markdown(blocks.document(comparison))]
        )
        parts.append(part if len(part) < room else "<sub>The comparison is too long for a comment.</sub>")
        room -= len(parts[-1])
    whole = fold("The whole report", [to_markdown(run.document(report), room=room - _AROUND)])
    parts.append(whole if len(whole) < room else "<sub>The whole report is too long for a comment.</sub>")
    return "\n\n".join(parts) + "\n"


def _head(
    report: Report,
    comparison: Comparison | None,
    baseline: str,
    result: Sequence[Trouble],
    places: Mapping[str, Place],
) -> Iterator[str]:
    sign = style_of(wording.verdict_word(report)).emoji
    word = f"{wording.verdict_word(report)}, {wording.verdict_meaning(report)}"
    yield f"### {sign} {safe(report.header.suite_name, 100)}: {word}"
    average = safe(fmt.with_base(report.summary.overall["average"], limits=wording.limits_of(report, "average")))
    costs = [f" &nbsp; {name.lower()} {safe(text)}" for name, text in run.overall(report) if name.startswith("Cost")]
    yield f"**Pass rate {safe(wording.pass_rate(report))}** &nbsp; average {average}{''.join(costs)}"
    if held := repeats.headline(report):
        yield f"**{safe(held)}**"
    yield "\n".join(f"- {line}" for line in [*_compared(comparison, baseline), *_stated(report)])
    yield from blocks_to_markdown([gates.gates(report), gates.criteria(report), _cases(report, result, places)])


def _compared(comparison: Comparison | None, baseline: str) -> Iterator[str]:
    if comparison is None:
        return
    word = sentences.verdict_word(comparison)
    text = safe(sentences.answer(comparison))
    yield f"**Against {safe(baseline, 100)} (A; this run is B): {word}** {text}"
    if why := why_moved(comparison):
        yield f"**{WHY}** {safe(why)}"
        result = comparison.attribution
        yield from (f"**{LEDGER}** {safe(message)}" for message in (result.ledger if result is not None else ()))
        yield from (f"not split: {safe(message)}" for message in (result.joined if result is not None else ()))
    yield safe(sentences.counts(comparison))
    moved = sentences.what_moved(comparison)
    yield from (safe(message) for message in moved if message.startswith((Moved.WORSE.value, sentences.DROPPED)))


def _stated(report: Report) -> Iterator[str]:
    yield from (f"**SUSPECT** {safe(reason)}" for reason in report.header.suspect[:MOST_ROWS])
    yield from (safe(reason) for reason in wording.reasons(report)[:MOST_ROWS])
    yield from (safe(note) for note in [*wording.disclosed_texts(report), *wording.notes(report)])


def _cases(report: Report, result: Sequence[Trouble], places: Mapping[str, Place]) -> Table:
    rows = []
    for trouble in result[:_MOST_CASES]:
        file, line = places.get(trouble.case_id, ("", None))
        status = wording.status(trouble.worst)
        what = f"{status}, passed in {trouble.since}" if trouble.since else status
        where = f"{file}:{line}" if file and line else file
        rows.append((clipped(trouble.case_id, 80), what, outcome_sentence(report, trouble.worst), where))
    columns = tuple(map(doc.words, ("Case", "What", "Why", "Where")))
    left_off = len(result) - len(rows)
    note = f"{at_least(report)}{left_off:,} more are not shown" if left_off else ""
    return Table("Cases that did not pass", columns, rows, note)


def problem_comment(suite: str, error: SteelyardError) -> str:
    """What to say where nothing could be scored."""
    lines = str(error).splitlines()
    shown = [f"- {safe(line)}" for line in lines[:_MOST_PROBLEMS] if line.strip()]
    left_off = len(lines) - _MOST_PROBLEMS
    shown += [f"- and {left_off:,} more"] if left_off > 0 else []
    title = f"### ⚠️ {safe(suite, 100)}: nothing was scored"
    return "\n\n".join([marker(suite), title, "\n".join(shown)]) + "\n"
