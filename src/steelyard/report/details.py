"""One stored sample as a report lists and shows it, with long texts cut where a person would stop reading."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import asdict, replace
from typing import Any

from steelyard.analysis.failure_words import failure_reason
from steelyard.analysis.model import SampleLine
from steelyard.records import Finding, Outcome, Sample
from steelyard.report.figures import counted
from steelyard.report.model import JudgementDetail, SampleDetail
from steelyard.report.safe_text import as_text, clipped, shortened
from steelyard.suite.case import Case

LONGEST_TEXT = 20_000
_LONGEST_NOTE = 2_000
_MOST_FINDINGS = 100
_MOST_CODES = 4
_MOST_MARKS = 200
_LONGEST_MARK = 200


def sample_line(sample: Sample, flags: Collection[str] = ()) -> SampleLine:
    """The sample in one line, with what went wrong in a few words; `flags` are those that fail a sample."""
    return SampleLine(
        case_id=sample.case_id,
        variant=sample.variant,
        repeat=sample.repeat,
        outcome=sample.outcome.value,
        score=sample.score,
        band=sample.band,
        latency=(sample.attempt.latency or None) if sample.attempt.failure is None else None,
        why=_why(sample, flags),
    )


def flagged(sample: Sample, flags: Collection[str]) -> tuple[str, ...]:
    """Which of the flags the sample carries."""
    return tuple(score.name for score in sample.scores if score.name in flags and score.value)


def sample_detail(
    sample: Sample,
    case: Case,
    read: Any = None,
    judgement: JudgementDetail | None = None,
    flags: Collection[str] = (),
) -> SampleDetail:
    """The sample with question, truth, answer, scores and findings; `read` is what was read out of other text."""
    findings = [asdict(finding) for finding in sample.findings[:_MOST_FINDINGS]]
    return SampleDetail(
        line=sample_line(sample, flags),
        input=_bounded(case.input),
        expected=_bounded(case.expected),
        answer=None if sample.attempt.text is None else shortened(sample.attempt.text, LONGEST_TEXT),
        scores=[_bounded_values(asdict(score)) for score in sample.scores],
        findings=[_bounded_values(finding) for finding in findings],
        category=sample.category,
        difficulty=sample.difficulty,
        tags=sample.tags,
        passed=sample.passed,
        rung=sample.rung,
        read=_bounded(read),
        n_findings=len(sample.findings) if len(sample.findings) > _MOST_FINDINGS else None,
        case_why=case.why,
        pictures=tuple(one for one in case.attachments if one.media_type.startswith("image/")),
        marks=tuple(replace(mark, text=clipped(mark.text, _LONGEST_MARK)) for mark in sample.marks[:_MOST_MARKS]),
        judgement=judgement,
        flagged=flagged(sample, flags),
    )


def failed_alike(reason: str) -> Callable[[Sample], bool]:
    """Whether a sample's call failed for the reason that a report names: `http_401 Incorrect API key provided`."""
    kind, _, said = reason.partition(" ")
    key, _ = failure_reason(kind, said)

    def alike(sample: Sample) -> bool:
        failed, _, message = _why(sample, ()).partition(": ")
        return failure_reason(failed, message)[0] == key

    return alike


def _why(sample: Sample, flags: Collection[str]) -> str:
    if sample.attempt.failure is not None:
        failure = sample.attempt.failure
        return clipped(f"{failure.kind}: {failure.message}", 200)
    if sample.attempt.cut_off and sample.outcome is Outcome.SCORED:
        # What is told of its errors may well be told of what never came.
        return "; ".join(filter(None, ["broke off at the limit of tokens", _wrong(sample, flags)]))
    return _wrong(sample, flags)


def _wrong(sample: Sample, flags: Collection[str]) -> str:
    if not sample.findings:
        return _weakest(sample)
    if not sample.outcome.conclusive:
        # Here the finding is why there is no reading: a person must be able to mend the scale by it.
        first = sample.findings[0]
        return clipped(f"{first.code}: {first.evidence}", 300)
    # A flag fails the sample whatever else was found: it is said first.
    raised = [finding for finding in sample.findings if finding.component in flags]
    others = [finding for finding in sample.findings if finding.component not in flags]
    if not others:
        return "; ".join(_with_evidence(finding) for finding in raised)
    return "; ".join([*dict.fromkeys(finding.code for finding in raised), *_told(*others)])


def _told(first: Finding, *others: Finding) -> list[str]:
    """The first finding in words, the others by their codes."""
    counts = Counter(finding.code for finding in others)
    told = [
        f"{n} more {code}" if code == first.code else f"{n} {code}" if n > 1 else code for code, n in counts.items()
    ]
    left_off = len(told) - _MOST_CODES
    more = [counted(left_off, "other code")] if left_off > 0 else []
    return [_in_words(first), *told[:_MOST_CODES], *more]


def _with_evidence(finding: Finding) -> str:
    return f"{finding.code}: {clipped(finding.evidence, 80)}" if finding.evidence else finding.code


def _weakest(sample: Sample) -> str:
    """The component that cost most, for a sample that lost marks without a finding."""
    if sample.score is None or sample.score >= 1:
        return ""
    lost = [(score.weight * (1 - score.value), score.name) for score in sample.scores if score.value is not None]
    cost, name = max(lost, default=(0.0, ""))
    return f"most was lost on {name}" if cost > 0 else ""


def _in_words(finding: Finding) -> str:
    if finding.expected is not None and finding.expected == finding.got:
        return f"{finding.code}: {_quoted(finding.got)} {finding.evidence}".rstrip()
    if not finding.component and finding.evidence and finding.expected is not None:
        # Of an answer that could not be read, what is wrong with it: the field, or where its JSON breaks.
        return f"{finding.code}: {clipped(finding.evidence, 140)}, got {_quoted(finding.got)}"
    if finding.expected is not None:
        got = _quoted(finding.got) if finding.got is not None else "nothing"
        return f"{finding.code}: expected {_quoted(finding.expected)}, got {got}"
    evidence = finding.evidence or as_text(finding.got)
    return f"{finding.code}: {clipped(evidence, 80)}" if evidence else finding.code


def _quoted(value: Any) -> str:
    text = clipped(as_text(value), 40)
    return f'"{text}"' if isinstance(value, str) else text


def _bounded(value: Any, limit: int = LONGEST_TEXT) -> Any:
    """The value, or the beginning of its text when it is too long to show."""
    text = as_text(value)
    return value if len(text) <= limit else shortened(text, limit)


def _bounded_values(record: dict[str, Any]) -> dict[str, Any]:
    return {key: _bounded(value, _LONGEST_NOTE) for key, value in record.items()}
