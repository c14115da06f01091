"""One stored sample as a report lists and shows it, with long texts cut where a person would stop reading."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from steelyard.analysis.judge_check import judged_text
from steelyard.analysis.model import SampleLine
from steelyard.records import REMARKS, Ballot, Finding, Judgement, Mode, Outcome, Remark, RunHeader, Sample
from steelyard.report.format import as_text, clipped, counted, laid_out, shortened
from steelyard.report.model import BallotDetail, JudgementDetail, Marked, SampleDetail
from steelyard.suite.case import Case
from steelyard.suite.judge import JudgeDescription
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
_MOST_BALLOTS = 20
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


def why_wrong(sample: Sample) -> str:
    """What went wrong in a sample, in a few words."""
    return _why(sample, ())


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


def judgement_reader(header: RunHeader) -> JudgementReader:
    """A function from a sample of the run and its case to what its judge said; None for samples without a judgement."""
    judge = header.description.judge
    names = judge.rubric.names if judge else ()
    text_of = judged_text(judge.of if judge else "")
    labels_of = _labels(judge.labels if judge else "")

    def read(sample: Sample, case: Case) -> JudgementDetail | None:
        judgement = sample.judgement
        if judgement is None:
            return None
        text = text_of(sample)
        own = is_labelled(text or sample.attempt.text or "", case, judge.labelled if judge else "")
        found = _judgement(judgement, names, text, labels_of(case) if own else {})
        if judgement.mode is None or judge is None or judgement.mode is judge.mode:
            return found
        return replace(found, aside=True, aside_why=_aside_why(judgement, judge))

    return read


def _labels(place: str) -> Callable[[Case], dict[str, str]]:
    """From a case to what a reviewer would give, in words, by dimension and flag."""
    if not place:
        return lambda _case: {}
    at = compile_path(place)

    def labels(case: Case) -> dict[str, str]:
        given = at(case)
        return {str(name): label_words(label) for name, label in given.items()} if isinstance(given, Mapping) else {}

    return labels


def label_words(label: Any) -> str:
    """A label as the case has it: `3 (2 to 4)`, `ann 3, ben 4`, `yes`."""
    if isinstance(label, bool):
        return "yes" if label else "no"
    if isinstance(label, Mapping):
        people = label["by"].items() if isinstance(label.get("by"), Mapping) else ()
        best = [as_text(label.get("best")) + _allowed(label.get("allowed"))] if "best" in label or not people else []
        return ", ".join([*best, *(f"{name} {as_text(score)}" for name, score in people)])
    return as_text(label)


def _allowed(ends: Any) -> str:
    if isinstance(ends, list | tuple) and len(ends) > 1 and all(isinstance(each, int) for each in ends):
        return f" ({ends[0]} to {ends[-1]})"
    return ""


def _aside_why(judgement: Judgement, judge: JudgeDescription) -> str:
    """Why a judgement is of another mode than the run's, with the first thing that was wrong."""
    if judgement.mode is not Mode.BASIC:
        return f"judged in mode {judgement.mode}"
    basic = next((ballot for ballot in judgement.ballots if ballot.mode is Mode.BASIC), None)
    problem = "" if basic is None else _first_problem(basic, judge)
    return "only bare scores could be read from the judge's answers" + (f": {problem}" if problem else "")


def _first_problem(ballot: Ballot, judge: JudgeDescription) -> str:
    asked = [part.place.partition(".")[0] for part in (judge.reasons, judge.evidence) if part]
    lacking = [name for name in dict.fromkeys(asked) if name and name not in ballot.reply]
    if lacking:
        return f"no {' and no '.join(lacking)} in the answer"
    problems = [ballot.told, *(remark.told for remark in ballot.remarks if remark.code == "VIOLATION")]
    return clipped(next(filter(None, problems), "").partition(";")[0], _LONGEST_RULE)


def _judgement(
    judgement: Judgement, names: Sequence[str], text: str | None, labels: Mapping[str, str]
) -> JudgementDetail:
    return JudgementDetail(
        mode=judgement.mode.value if judgement.mode else None,
        marks=_marks(judgement, names, labels),
        ballots=tuple(_ballot(ballot, names) for ballot in judgement.ballots[:_MOST_BALLOTS]),
        remarks=_remarks(judgement.remarks),
        told=clipped(judgement.told, _LONGEST_SAID),
        text=None if text is None else shortened(text, LONGEST_TEXT),
        shortened=any(call.shortened for call in judgement.calls),
        metrics=dict(judgement.metrics) if len(as_text(dict(judgement.metrics))) <= _LONGEST_SAID else None,
    )


def _marks(
    said: Judgement | Ballot, names: Sequence[str], labels: Mapping[str, str] | None = None
) -> tuple[Marked, ...]:
    known = names or tuple(said.bound)
    return tuple(
        Marked(
            name,
            said.raw.get(name),
            said.bound.get(name),
            clipped(said.bound_by.get(name, ""), _LONGEST_RULE),
            clipped((labels or {}).get(name, ""), _LONGEST_LABEL),
        )
        for name in known
        if name in said.raw or name in said.bound
    )


def _ballot(ballot: Ballot, names: Sequence[str]) -> BallotDetail:
    others = [
        (name, value)
        for name, value in ballot.reply.items()
        if name not in names and value not in (None, "") and not _holds_the_marks(value, names)
    ]
    return BallotDetail(
        member=ballot.member,
        repeat=ballot.repeat,
        mode=ballot.mode.value if ballot.mode else None,
        rung=ballot.rung,
        marks=_marks(ballot, names),
        said=tuple((clipped(name, 100), _said(value)) for name, value in others[:_MOST_FIELDS]),
        remarks=_remarks(ballot.remarks),
        told=clipped(ballot.told, _LONGEST_SAID),
    )


def _holds_the_marks(value: Any, names: Sequence[str]) -> bool:
    """True for the field of an answer that the scores stand in: they are shown as marks already."""
    return isinstance(value, dict) and bool(value) and set(value) <= set(names)


def _said(value: Any) -> str:
    """What a field of the answer holds; a list of texts as lines."""
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return shortened("\n".join(f"- {each}" for each in value), _LONGEST_SAID)
    return shortened(laid_out(value), _LONGEST_SAID)


def _remarks(remarks: Sequence[Remark]) -> tuple[str, ...]:
    told = [remark_words(remark) for remark in remarks[:_MOST_REMARKS]]
    more = len(remarks) - len(told)
    return (*told, f"{more} more remarks") if more > 0 else tuple(told)


def remark_words(remark: Remark) -> str:
    """A remark as one sentence: `MADE_UP_QUOTE (tone): "it will end well"`."""
    of = f" ({remark.dimension})" if remark.dimension else ""
    return clipped(f"{remark.code}{of}: {remark.told or REMARKS.get(remark.code, '')}", _LONGEST_RULE)
