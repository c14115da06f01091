"""One comment on a change: the verdict, how it compares with the baseline and why, the gates; all else folded."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from steelyard.analysis.compare_model import Comparison, Moved
from steelyard.errors import SteelyardError
from steelyard.report import compare, compare_sentences, gates, repeats, run, wording
from steelyard.report import format as fmt
from steelyard.report.annotations import Place, Trouble, outcome_sentence
from steelyard.report.attribution import LEDGER, WHY
from steelyard.report.document import Column, Kind, Table
from steelyard.report.format import clipped
from steelyard.report.model import Report
from steelyard.report.render.markdown import MOST_ROWS, ROOM, blocks_to_markdown, fold, safe, to_markdown
from steelyard.report.verdicts import style_of

_MOST_CASES = 10
_MOST_MISTAKES = 20
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
    found: Sequence[Trouble],
    places: Mapping[str, Place],
) -> str:
    """Markdown that fits into one comment. `suite` is what was asked for; `places` are those of cases, by id."""
    head = "\n\n".join([marker(suite), *_head(report, comparison, baseline, found, places)])
    parts = [head]
    room = ROOM - len(head)
    if comparison is not None:
        part = fold(
            f"Against {safe(baseline, 100)}: everything that changed", [to_markdown(compare.document(comparison))]
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
    found: Sequence[Trouble],
    places: Mapping[str, Place],
) -> Iterator[str]:
    sign = style_of(wording.verdict_word(report)).emoji
    word = f"{wording.verdict_word(report)}, {wording.verdict_meaning(report)}"
    yield f"### {sign} {safe(report.header.suite_name, 100)}: {word}"
    average = safe(fmt.with_base(report.summary.overall.average))
    yield f"**Pass rate {safe(wording.pass_rate(report))}** &nbsp; average {average}"
    if held := repeats.headline(report):
        yield f"**{safe(held)}**"
    yield "\n".join(f"- {line}" for line in [*_compared(comparison, baseline), *_said(report)])
    yield from blocks_to_markdown([gates.gates(report), gates.criteria(report), _cases(report, found, places)])


def _compared(comparison: Comparison | None, baseline: str) -> Iterator[str]:
    if comparison is None:
        return
    word = compare_sentences.verdict_word(comparison)
    told = safe(compare_sentences.answer(comparison))
    yield f"**Against {safe(baseline, 100)} (A; this run is B): {word}** {told}"
    if why := why_moved(comparison):
        yield f"**{WHY}** {safe(why)}"
        found = comparison.attribution
        yield from (f"**{LEDGER}** {safe(told)}" for told in (found.ledger if found is not None else ()))
        yield from (f"not split: {safe(told)}" for told in (found.joined if found is not None else ()))
    yield safe(compare_sentences.counts(comparison))
    moved = compare_sentences.what_moved(comparison)
    yield from (safe(told) for told in moved if told.startswith(Moved.WORSE.value))


def _said(report: Report) -> Iterator[str]:
    yield from (safe(reason) for reason in wording.reasons(report)[:MOST_ROWS])
    yield from (f"**SUSPECT** {safe(reason)}" for reason in report.header.suspect[:MOST_ROWS])
    yield from (safe(note) for note in wording.notes(report))


def _cases(report: Report, found: Sequence[Trouble], places: Mapping[str, Place]) -> Table:
    rows = []
    for trouble in found[:_MOST_CASES]:
        file, line = places.get(trouble.case_id, ("", None))
        status = wording.status(trouble.worst)
        what = f"{status}, passed in {trouble.since}" if trouble.since else status
        where = f"{file}:{line}" if file and line else file
        rows.append((clipped(trouble.case_id, 80), what, outcome_sentence(report, trouble.worst), where))
    columns = tuple(Column(title, Kind.TEXT) for title in ("Case", "What", "Why", "Where"))
    left_off = len(found) - len(rows)
    at_least = "at least " if report.n_samples > len(report.details) else ""
    note = f"{at_least}{left_off:,} more are not shown" if left_off else ""
    return Table("Cases that did not pass", columns, rows, note)


def mistake_comment(suite: str, error: SteelyardError) -> str:
    """What to say where nothing could be weighed."""
    lines = str(error).splitlines()
    shown = [f"- {safe(line)}" for line in lines[:_MOST_MISTAKES] if line.strip()]
    left_off = len(lines) - _MOST_MISTAKES
    shown += [f"- and {left_off:,} more"] if left_off > 0 else []
    title = f"### ⚠️ {safe(suite, 100)}: nothing was weighed"
    return "\n\n".join([marker(suite), title, "\n".join(shown)]) + "\n"
