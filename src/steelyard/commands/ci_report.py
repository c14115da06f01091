"""GitHub: annotations, and the comment on a pull request."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from steelyard.analysis.compare.model import Comparison, Moved
from steelyard.errors import Problem, SteelyardError, SuiteError
from steelyard.frozen import frozen
from steelyard.records import Verdict
from steelyard.report import document as doc
from steelyard.report import format as fmt
from steelyard.report import gates, repeats, run, wording
from steelyard.report.compare import blocks, sentences
from steelyard.report.compare.sentences import LEDGER, WHY
from steelyard.report.document import Table
from steelyard.report.format import as_text, clipped, contrasted, one_line
from steelyard.report.model import Report, SampleDetail
from steelyard.report.render.github import Annotation, AnnotationLevel
from steelyard.report.render.markdown import MOST_ROWS, ROOM, blocks_to_markdown, fold, safe, to_markdown
from steelyard.report.verdicts import style_of

# A run as annotations on its files: the verdict first, then the cases that did not pass, those newly broken first.

MOST = 10
"""Of each level a code host shows so many a step, and drops the rest without a word."""
_MOST_REASONS = 5
_MOST_FINDINGS = 3
_LONGEST = 300


_OF_CASES = {
    Verdict.FAIL: AnnotationLevel.ERROR,
    Verdict.INVALID: AnnotationLevel.ERROR,
    Verdict.AMBIGUOUS: AnnotationLevel.WARNING,
}
_BAD = ("inconclusive", "malformed", "failed", "excluded")

Place = tuple[str, int | None]
"""A file of the repository, and the line where one is known."""


@frozen
class Trouble:
    """A case that did not pass, with its worst sample."""

    case_id: str
    worst: SampleDetail
    n_bad: int
    n: int
    """Samples of the case among those that the report details."""
    since: str = ""
    """The baseline in which it passed; "" when it did not, or when there is none."""


def troubles(report: Report, comparison: Comparison | None = None, baseline: str = "") -> list[Trouble]:
    """The cases that did not pass, newly broken ones first, then the worst."""
    by_case: dict[str, list[SampleDetail]] = {}
    for detail in report.details:
        by_case.setdefault(detail.line.case_id, []).append(detail)
    broken = set() if comparison is None else {line.case_id for line in comparison.pairs.broken.lines}
    results = []
    for case_id, details in by_case.items():
        bad = [detail for detail in details if wording.status(detail) in _BAD]
        if bad:
            results.append(Trouble(case_id, bad[0], len(bad), len(details), baseline if case_id in broken else ""))
    return sorted(results, key=lambda trouble: not trouble.since)


def run_annotations(
    report: Report, result: Sequence[Trouble], places: Mapping[str, Place], *, file: str, why: str, holds: bool
) -> list[Annotation]:
    """The verdict at the suite's file, and at their own lines as many cases as are shown beside it.

    `places` are those of cases, by id; `why` says why the headline number moved; `holds` whether the command lets the
    run through.
    """
    shown, verdict, name = result[: MOST - 1], report.decision.verdict, clipped(report.header.suite_name, 60)
    reasons = wording.suspect_first(report)
    lines = [wording.verdict_meaning(report), f"pass rate {wording.pass_rate(report)}"]
    lines += [one_line(reason, _LONGEST) for reason in reasons[:_MOST_REASONS]]
    lines += [one_line(text, _LONGEST) for text in wording.disclosed_texts(report)]
    lines += [why] if why else []
    if left_off := len(result) - len(shown):
        count = f"{_at_least(report)}{fmt.counted(len(result), 'case')}"
        lines.append(f"{count} did not pass; {left_off:,} of them are not shown here")
    level = AnnotationLevel.NOTICE if verdict in (Verdict.PASS, None) else AnnotationLevel.WARNING
    title = f"{name}: {wording.verdict_title(report)}"
    first = Annotation(level if holds else AnnotationLevel.ERROR, title, "\n".join(lines), file)
    of_cases = _OF_CASES.get(verdict or Verdict.PASS, AnnotationLevel.NOTICE)
    return [first, *(_case(report, name, item, of_cases, places.get(item.case_id)) for item in shown)]


def _at_least(report: Report) -> str:
    return "at least " if report.n_samples > len(report.details) else ""


def _case(report: Report, suite: str, trouble: Trouble, level: AnnotationLevel, place: Place | None) -> Annotation:
    detail, status = trouble.worst, wording.status(trouble.worst)
    what = f"passed in {trouble.since}, {status} now" if trouble.since else status
    lines = (
        [f"{trouble.n_bad:,} of {fmt.counted(trouble.n, 'sample')} of this case; the worst:"] if trouble.n > 1 else []
    )
    lines.append(outcome_sentence(report, detail, with_why=not detail.findings))
    for finding in detail.findings[:_MOST_FINDINGS]:
        code, at = (as_text(finding.get(key)) for key in ("code", "place"))
        expected, got = contrasted(finding.get("expected"), finding.get("got"), 120)
        differs = f"expected {expected or 'nothing'}, got {got or 'nothing'}"
        lines.append(one_line(f"{code} {at}: {differs}", _LONGEST))
    lines += filter(None, [wording.more_findings(detail, _MOST_FINDINGS)])
    return Annotation(
        level, f"{suite}: {clipped(trouble.case_id, 80)}: {what}", "\n".join(lines), *(place or ("", None))
    )


def outcome_sentence(report: Report, detail: SampleDetail, *, with_why: bool = True) -> str:
    """What came of a sample that did not pass, on one line, and what was found in it."""
    line = detail.line
    if not wording.is_conclusive(line):
        return one_line(f"{wording.outcome_word(report.header, line.outcome)}: {line.why}", _LONGEST)
    if wording.is_excluded(detail):
        return one_line(wording.excluded_text(detail), _LONGEST)
    reached = f"score {fmt.percent(line.score)} does not reach {report.summary.passing or 'the shape asked for'}"
    return one_line(f"{reached}: {line.why}" if with_why and line.why else reached, _LONGEST)


def problem_annotations(error: SteelyardError, place: Callable[[Problem], Place | None]) -> list[Annotation]:
    """What was wrong before anything could be scored, at its place where that is known."""
    if not isinstance(error, SuiteError):
        return [Annotation(AnnotationLevel.ERROR, "steelyard: nothing was scored", str(error))]
    shown = error.problems if len(error.problems) <= MOST else error.problems[: MOST - 1]
    results = []
    for problem in shown:
        at = place(problem)
        message = str(problem) if at is None else problem.message
        results.append(
            Annotation(AnnotationLevel.ERROR, "steelyard: a mistake in the suite", message, *(at or ("", None)))
        )
    left_off = len(error.problems) - len(shown)
    if left_off:
        results.append(
            Annotation(AnnotationLevel.ERROR, "steelyard: nothing was scored", f"{left_off:,} more mistakes")
        )
    return results


# One comment on a change: the verdict, how it compares with the baseline and why, the gates; all else folded.

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
    note = f"{_at_least(report)}{left_off:,} more are not shown" if left_off else ""
    return Table("Cases that did not pass", columns, rows, note)


def problem_comment(suite: str, error: SteelyardError) -> str:
    """What to say where nothing could be scored."""
    lines = str(error).splitlines()
    shown = [f"- {safe(line)}" for line in lines[:_MOST_PROBLEMS] if line.strip()]
    left_off = len(lines) - _MOST_PROBLEMS
    shown += [f"- and {left_off:,} more"] if left_off > 0 else []
    title = f"### ⚠️ {safe(suite, 100)}: nothing was scored"
    return "\n\n".join([marker(suite), title, "\n".join(shown)]) + "\n"
