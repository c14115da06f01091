"""One stored sample as a report lists and shows it, with long texts cut where a person would stop reading."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from steelyard.analysis.model import SampleLine
from steelyard.records import (
    TIMEOUTS,
    AtLeast,
    CallResult,
    Finding,
    Judgement,
    Outcome,
    Remark,
    RunHeader,
    Sample,
    Vote,
)
from steelyard.report.format import as_text, clipped, contrasted, counted, laid_out, shortened
from steelyard.report.model import JudgementDetail, Marked, SampleDetail, VoteDetail
from steelyard.scoring.extract import Extraction, extract_json
from steelyard.scoring.json_schema import SchemaValidator
from steelyard.suite.case import Case
from steelyard.suite.judge import REMARKS, JudgeModel
from steelyard.suite.labels import is_labelled
from steelyard.suite.paths import compile_path

LONGEST_TEXT = 20_000
_LONGEST_NOTE = 2_000
_MOST_FINDINGS = 100
_MOST_CODES = 4
_MOST_MARKS = 200
_LONGEST_MARK = 200
_LONGEST_SAID = 2_000
_LONGEST_RULE = 300
_LONGEST_LABEL = 40
_MOST_VOTES = 20
_MOST_FIELDS = 20
_MOST_REMARKS = 30

JudgementReader = Callable[[Sample, Case], JudgementDetail | None]


def sample_line(sample: Sample, flags: Collection[str] = ()) -> SampleLine:
    """The sample in one line, with what went wrong in a few words; `flags` are those that fail a sample."""
    return SampleLine(
        case_id=sample.case_id,
        variant=sample.variant,
        repeat=sample.repeat,
        outcome=sample.outcome.value,
        score=sample.score,
        band=sample.band,
        latency=shown_latency(sample.call_result),
        why=_why(sample, flags),
    )


def shown_latency(call_result: CallResult) -> float | None:
    """Seconds that a call took, `AtLeast` the time waited for one that timed out; None where nobody knows."""
    failure, seconds = call_result.failure, call_result.latency or None
    if failure is None or seconds is None:
        return seconds
    return AtLeast(seconds) if failure.kind in TIMEOUTS else None


def flagged(sample: Sample, flags: Collection[str]) -> tuple[str, ...]:
    """Which of the flags the sample carries."""
    return tuple(score.name for score in sample.scores if score.name in flags and score.value)


def extraction(header: RunHeader) -> Callable[[Sample], Extraction | None]:
    """A function from a sample to what is found in its answer; None for one that has no answer or is not JSON."""
    shape = header.description.answer
    validator = None if shape.schema_data is None else SchemaValidator(shape.schema_data)

    def extracted(sample: Sample) -> Extraction | None:
        text = sample.call_result.text
        if text is None or shape.format == "text" or (sample.step is None and sample.outcome is not Outcome.MALFORMED):
            return None
        return extract_json(text, validator, repair=shape.repair)

    return extracted


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
        answer=None if sample.call_result.text is None else shortened(sample.call_result.text, LONGEST_TEXT),
        scores=[_bounded_values(asdict(score)) for score in sample.scores],
        findings=[_bounded_values(finding) for finding in findings],
        category=sample.category,
        difficulty=sample.difficulty,
        tags=sample.tags,
        passed=sample.passed,
        step=sample.step,
        read=_bounded(read),
        n_findings=len(sample.findings) if len(sample.findings) > _MOST_FINDINGS else None,
        case_why=case.why,
        pictures=tuple(attachment for attachment in case.attachments if attachment.media_type.startswith("image/")),
        marks=tuple(replace(mark, text=clipped(mark.text, _LONGEST_MARK)) for mark in sample.marks[:_MOST_MARKS]),
        judgement=judgement,
        flagged=flagged(sample, flags),
    )


def why_wrong(sample: Sample) -> str:
    """What went wrong in a sample, in a few words."""
    return _why(sample, ())


def _why(sample: Sample, flags: Collection[str]) -> str:
    if sample.call_result.failure is not None:
        failure = sample.call_result.failure
        return clipped(f"{failure.kind}: {failure.message}", 200)
    if sample.call_result.cut_off and sample.outcome is Outcome.SCORED:
        # What is told of its errors may well be told of what missing.
        return "; ".join(filter(None, ["broke off at the limit of tokens", _wrong(sample, flags)]))
    return _wrong(sample, flags)


def _wrong(sample: Sample, flags: Collection[str]) -> str:
    if not sample.findings:
        return _weakest(sample)
    if not sample.outcome.conclusive:
        # Here the finding is why there is no reading: a person must be able to fix the scorer by it.
        first = sample.findings[0]
        return clipped(f"{first.code}: {first.evidence}", 300)
    # A flag fails the sample whatever else was found: it is said first.
    raised = [finding for finding in sample.findings if finding.component in flags]
    others = [finding for finding in sample.findings if finding.component not in flags]
    if not others:
        return "; ".join(": ".join(filter(None, [item.code, clipped(item.evidence, 80)])) for item in raised)
    return "; ".join([*dict.fromkeys(finding.code for finding in raised), *_message(*others)])


def _message(first: Finding, *others: Finding) -> list[str]:
    """The first finding in words, the others by their codes."""
    counts = Counter(finding.code for finding in others)
    messages = [
        f"{n} more {code}" if code == first.code else f"{n} {code}" if n > 1 else code for code, n in counts.items()
    ]
    left_off = len(messages) - _MOST_CODES
    more = [counted(left_off, "other code")] if left_off > 0 else []
    return [_in_words(first), *messages[:_MOST_CODES], *more]


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
    if finding.expected is not None and finding.got is not None:
        pair = zip(
            (finding.expected, finding.got), contrasted(finding.expected, finding.got, _LONGEST_QUOTED), strict=True
        )
        expected, got = (f'"{text}"' if isinstance(value, str) else text for value, text in pair)
        return f"{finding.code}: expected {expected}, got {got}"
    if finding.expected is not None:
        return f"{finding.code}: expected {_quoted(finding.expected)}, got nothing"
    evidence = finding.evidence or as_text(finding.got)
    return f"{finding.code}: {clipped(evidence, 80)}" if evidence else finding.code


_LONGEST_QUOTED = 40


def _quoted(value: Any) -> str:
    text = clipped(as_text(value), _LONGEST_QUOTED)
    return f'"{text}"' if isinstance(value, str) else text


def _bounded(value: Any, limit: int = LONGEST_TEXT) -> Any:
    """The value, or the beginning of its text when it is too long to show."""
    text = as_text(value)
    return value if len(text) <= limit else shortened(text, limit)


def _bounded_values(record: dict[str, Any]) -> dict[str, Any]:
    return {key: _bounded(value, _LONGEST_NOTE) for key, value in record.items()}


def judgement_reader(header: RunHeader) -> JudgementReader:
    """A function from a sample of the run and its case to what its judge said; None for samples without a judgement."""
    from steelyard.analysis.judge.reasons import exclusion_reason
    from steelyard.analysis.judge.rubric import described_rubric

    judge = header.description.judge
    names, rubric = judge.rubric.names if judge else (), described_rubric(header.description)
    text_of = _judged_text(judge)
    labels_of = _labels(judge.labels if judge else "")

    def read(sample: Sample, case: Case) -> JudgementDetail | None:
        judgement = sample.judgement
        if judgement is None:
            return None
        text = text_of(sample)
        own = is_labelled(text or sample.call_result.text or "", case, judge.labelled if judge else "")
        excluded = judge is not None and judgement.mode not in (None, judge.mode)
        return JudgementDetail(
            mode=judgement.mode.value if judgement.mode else None,
            marks=_mark_details(judgement, names, labels_of(case) if own else {}),
            votes=tuple(_vote_detail(vote, names) for vote in judgement.votes[:_MOST_VOTES]),
            remarks=_remarks(judgement.remarks),
            message=clipped(judgement.message, _LONGEST_SAID),
            text=None if text is None else shortened(text, LONGEST_TEXT),
            shortened=any(call.shortened for call in judgement.calls),
            metrics=dict(judgement.metrics) if len(as_text(dict(judgement.metrics))) <= _LONGEST_SAID else None,
            exclusion_reason=exclusion_reason(judgement, rubric) if excluded and rubric else "",
            excluded=excluded,
        )

    return read


def _judged_text(judge: JudgeModel | None) -> Callable[[Sample], str | None]:
    if judge is None:
        return lambda _sample: None
    from steelyard.analysis.judge.labels import judged_text

    return judged_text(judge.of)


def _labels(place: str) -> Callable[[Case], dict[str, str]]:
    """From a case to what a reviewer would give, in words, by dimension and flag."""
    at = compile_path(place) if place else lambda _case: None

    def labels(case: Case) -> dict[str, str]:
        given = at(case)
        return {str(name): label_words(label) for name, label in given.items()} if isinstance(given, Mapping) else {}

    return labels


def label_words(label: Any) -> str:
    """A label as the case has it: `3 (2 to 4)`, `ann 3, ben 4`, `yes`."""
    if isinstance(label, bool):
        return "yes" if label else "no"
    if not isinstance(label, Mapping):
        return as_text(label)
    people, ends = label.get("by"), label.get("allowed")
    names = [f"{name} {as_text(score)}" for name, score in people.items()] if isinstance(people, Mapping) else []
    is_range = isinstance(ends, list | tuple) and len(ends) > 1 and all(isinstance(end, int) for end in ends)
    allowed = f" ({ends[0]} to {ends[-1]})" if is_range and ends else ""
    return ", ".join([*([as_text(label.get("best")) + allowed] if "best" in label or not names else []), *names])


def _mark_details(
    judgement: Judgement | Vote, names: Sequence[str], labels: Mapping[str, str] | None = None
) -> tuple[Marked, ...]:
    available = names or tuple(judgement.capped)
    return tuple(
        Marked(
            name,
            judgement.uncapped.get(name),
            judgement.capped.get(name),
            clipped(judgement.capped_by.get(name, ""), _LONGEST_RULE),
            clipped((labels or {}).get(name, ""), _LONGEST_LABEL),
        )
        for name in available
        if name in judgement.uncapped or name in judgement.capped
    )


def _vote_detail(vote: Vote, names: Sequence[str]) -> VoteDetail:
    others = [
        (name, value)
        for name, value in vote.response.items()
        # The field in which the scores stand is shown as marks already.
        if name not in names
        and value not in (None, "")
        and not (isinstance(value, dict) and value and {*value} <= {*names})
    ]
    return VoteDetail(
        member=vote.member,
        repeat=vote.repeat,
        mode=vote.mode.value if vote.mode else None,
        step=vote.step,
        marks=_mark_details(vote, names),
        stated=tuple((clipped(name, 100), _stated(value)) for name, value in others[:_MOST_FIELDS]),
        remarks=_remarks(vote.remarks),
        message=clipped(vote.message, _LONGEST_SAID),
    )


def _stated(value: Any) -> str:
    """What a field of the answer holds; a list of texts as lines."""
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return shortened("\n".join(f"- {item}" for item in value), _LONGEST_SAID)
    return shortened(laid_out(value), _LONGEST_SAID)


def _remarks(remarks: Sequence[Remark]) -> tuple[str, ...]:
    messages = [remark_words(remark) for remark in remarks[:_MOST_REMARKS]]
    more = len(remarks) - len(messages)
    return (*messages, f"{more} more remarks") if more > 0 else tuple(messages)


def remark_words(remark: Remark) -> str:
    """A remark as one sentence: `MADE_UP_QUOTE (tone): "it will end well"`."""
    of = f" ({remark.dimension})" if remark.dimension else ""
    return clipped(f"{remark.code}{of}: {remark.message or REMARKS.get(remark.code, '')}", _LONGEST_RULE)
