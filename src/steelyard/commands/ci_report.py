"""A run as annotations on its files: the verdict first, then the cases that did not pass, those newly broken first."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from steelyard.comparing.model import Comparison
from steelyard.errors import Problem, SteelyardError, SuiteError
from steelyard.frozen import frozen
from steelyard.records import Verdict
from steelyard.report import format as fmt
from steelyard.report import wording
from steelyard.report.format import as_text, clipped, contrasted, one_line
from steelyard.report.model import Report, SampleDetail
from steelyard.report.render.github import Annotation, AnnotationLevel

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
        count = f"{at_least(report)}{fmt.counted(len(result), 'case')}"
        lines.append(f"{count} did not pass; {left_off:,} of them are not shown here")
    level = AnnotationLevel.NOTICE if verdict in (Verdict.PASS, None) else AnnotationLevel.WARNING
    title = f"{name}: {wording.verdict_title(report)}"
    first = Annotation(level if holds else AnnotationLevel.ERROR, title, "\n".join(lines), file)
    of_cases = _OF_CASES.get(verdict or Verdict.PASS, AnnotationLevel.NOTICE)
    return [first, *(_case(report, name, item, of_cases, places.get(item.case_id)) for item in shown)]


def at_least(report: Report) -> str:
    """Before a count of cases that not all samples were looked at for; else ""."""
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
