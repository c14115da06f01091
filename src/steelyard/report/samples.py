"""Samples of a report, in detail."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from steelyard.analysis.judge.votes import judged_text
from steelyard.analysis.model import SampleLine
from steelyard.records import REMARKS, Finding, Judgement, Mode, Outcome, Remark, RunHeader, Sample, Vote
from steelyard.report import format as fmt
from steelyard.report import wording
from steelyard.report.document import (
    Block,
    Bullet,
    Bullets,
    Column,
    Fold,
    Kind,
    Quote,
    SampleBlock,
    Samples,
    Table,
    Text,
    Tone,
    bullets,
)
from steelyard.report.format import as_text, clipped, counted, laid_out, shortened
from steelyard.report.judge.run import judged_lines, judged_names, stated, vote_lines, vote_name
from steelyard.report.model import JudgementDetail, Marked, Report, SampleDetail, VoteDetail
from steelyard.report.pictures import Palette, box_of, drawings, load_pictures
from steelyard.suite.case import Case, cell_name, compile_path
from steelyard.suite.judge import JudgeDescription
from steelyard.suite.labels import is_labelled


def samples(report: Report) -> Samples:
    """All samples that the report details; repeats of a case stand together."""
    reader = _Reader(report)
    items = [reader.sample(detail) for detail in report.details]
    if report.summary.repeats > 1:
        items = _grouped(report, items)
    return Samples(items, report.n_samples)


def _grouped(report: Report, items: Sequence[SampleBlock]) -> list[SampleBlock]:
    """A line a case and variant, where its worst repeat stands, with all its repeats inside."""
    by_cell: dict[tuple[str, str], list[tuple[int, SampleBlock]]] = {}
    for detail, item in zip(report.details, items, strict=True):
        by_cell.setdefault((detail.line.case_id, detail.line.variant), []).append((detail.line.repeat, item))
    return [_case(*cell, some) for cell, some in by_cell.items()]


def _case(case_id: str, variant: str, some: list[tuple[int, SampleBlock]]) -> SampleBlock:
    worst = some[0][1]
    passed = sum(item.status == "passed" for _, item in some)
    times = [item.latency for _, item in some if item.latency is not None]
    inside = [item for _, item in sorted(some, key=lambda pair: pair[0])]
    return SampleBlock(
        anchor=f"case-{worst.anchor}",
        name=cell_name(case_id, variant),
        status=worst.status,
        score=f"{passed} of {len(some)} passed",
        why=worst.why,
        repeats=inside,
        group=worst.group,
        category=worst.category,
        codes=list(dict.fromkeys(code for item in inside for code in item.codes)),
        rank=worst.rank,
        score_value=worst.score_value,
        latency=max(times, default=None),
        pictured=worst.pictured,
        n=len(some),
    )


class _Reader:
    """Turns the details of one run's samples into what a list shows."""

    def __init__(self, report: Report) -> None:
        self.report = report
        self.palette = Palette(report)
        wanted = [picture for detail in report.details for picture in detail.pictures]
        self.pictures = load_pictures(wanted, report.header.suite_path) if wanted else {}
        self.labelled = bool((judge := report.header.description.judge) and judge.labels)
        self.judged = judged_names(report.header)

    def sample(self, detail: SampleDetail) -> SampleBlock:
        line = detail.line
        return SampleBlock(
            anchor=wording.anchor(line),
            name=wording.sample_name(line, repeats=self.report.summary.repeats),
            status=wording.status(detail),
            score=fmt.percent(line.score),
            why=wording.excluded_text(detail) if wording.is_excluded(detail) else line.why,
            blocks=self.blocks(detail),
            group=detail.category or line.band or "",
            category=detail.category or "",
            codes=list(dict.fromkeys(fmt.as_text(finding.get("code")) for finding in detail.findings)),
            rank=wording.badness(detail),
            score_value=line.score,
            latency=line.latency,
            pictured=bool(detail.pictures),
        )

    def blocks(self, detail: SampleDetail) -> list[Block]:
        """What a sample opens to."""
        blocks: list[Block] = [Text(_facts(detail), Tone.MUTED), Text(detail.case_why)]
        expected = _expected(detail, searched=not self.labelled)
        pictures = drawings(detail, self.pictures, self.palette)
        blocks += [*pictures, *expected, *_input(detail)] if pictures else [*_input(detail), *expected]
        blocks += _answer(detail)
        blocks.append(_findings(detail))
        if detail.judgement is not None:
            blocks += judgement_blocks(detail.judgement)
        return [*blocks, self.scores(detail)]

    def scores(self, detail: SampleDetail) -> Table:
        """What scorers computed; what a judge gave stands with the judgement."""
        rows = []
        for score in detail.scores:
            if detail.judgement is not None and score.get("name") in self.judged:
                continue
            scale = wording.scale_of(self.report.header, str(score.get("name")))
            note = fmt.as_text(score.get("note"))
            if score.get("capped_by"):
                note += f" capped by {score['capped_by']}, before: {fmt.on_scale(score.get('uncapped'), scale)}"
            rows.append((fmt.as_text(score.get("name")), fmt.on_scale(score.get("value"), scale), note.strip()))
        return Table("Scores", (Column("Component", Kind.TEXT), Column("Value"), Column("Note", Kind.TEXT)), rows)


def _facts(detail: SampleDetail) -> str:
    line = detail.line
    messages = [
        wording.outcome_word(line.outcome),
        line.band,
        detail.difficulty,
        *detail.tags,
        fmt.seconds(line.latency),
    ]
    messages += [f"read by: {detail.step}"] if detail.step else []
    return " · ".join(part for part in messages if part)


def _input(detail: SampleDetail) -> list[Block]:
    return [] if detail.input is None else [Quote("Input", fmt.laid_out(detail.input))]


def _expected(detail: SampleDetail, *, searched: bool) -> list[Block]:
    return [] if detail.expected is None else [Quote("Expected", fmt.laid_out(detail.expected), searched=searched)]


def _answer(detail: SampleDetail) -> list[Block]:
    if detail.answer is None:
        return [Text(f"There is no answer. {detail.line.why}")]
    if detail.answer == "":
        return [Text("The answer was empty.")]
    if detail.read is None:
        return [Quote("Answer", detail.answer)]
    whole = Fold("Whole response", [Quote("Answer as received", detail.answer)])
    return [Quote("Answer", fmt.laid_out(detail.read)), whole]


def _findings(detail: SampleDetail) -> Table:
    pictured = bool(detail.pictures)
    rows = []
    for number, finding in enumerate(detail.findings, 1):
        code, place, expected, got, evidence = (
            fmt.as_text(finding.get(key)) for key in ("code", "place", "expected", "got", "evidence")
        )
        where = f"{place} (without a box)".strip() if pictured and box_of(finding) is None else place
        rows.append((f"{number} {code}" if pictured else code, where, expected, got, evidence))
    columns = tuple(Column(title, Kind.TEXT) for title in ("Code", "Where", "Expected", "Got", "Evidence"))
    return Table("Findings", columns, rows, total=detail.n_findings)


def judgement_blocks(judged: JudgementDetail) -> list[Block]:
    """What the judge said: what all votes come to, the text that was judged, and each vote."""
    blocks: list[Block] = [] if judged.text is None else [Quote("Text judged", judged.text)]
    blocks.append(Fold("Judge", [bullets(judged_lines(judged)), _marks(judged.marks)], open=True))
    single = len(judged.votes) == 1
    blocks += [_vote(vote, single=single) for vote in judged.votes]
    if judged.metrics:
        blocks.append(Fold("What the rules looked at", [Quote("", fmt.laid_out(judged.metrics), searched=False)]))
    return blocks


def _vote(vote_detail: VoteDetail, *, single: bool) -> Fold:
    lines = [Bullet(line) for line in vote_lines(vote_detail)]
    marks = [] if single else [_marks(vote_detail.marks)]
    return Fold(f"Vote of {vote_name(vote_detail)}", [Bullets(lines), *marks], open=single)


def _marks(marks: Sequence[Marked]) -> Table:
    rows = [(mark.name, stated(mark.uncapped), stated(mark.capped), mark.label, mark.capped_by) for mark in marks]
    titles = (Column("Uncapped"), Column("Capped"), Column("Label"), Column("Capped by", Kind.TEXT))
    return Table("", (Column("Dimension", Kind.TEXT), *titles), rows)


# One stored sample as a report lists and shows it, with long texts cut where a person would stop reading.

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
        latency=(sample.call_result.latency or None) if sample.call_result.failure is None else None,
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
        return "; ".join(_with_evidence(finding) for finding in raised)
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
        own = is_labelled(text or sample.call_result.text or "", case, judge.labelled if judge else "")
        result = _judgement(judgement, names, text, labels_of(case) if own else {})
        if judgement.mode is None or judge is None or judgement.mode is judge.mode:
            return result
        return replace(result, excluded=True, exclusion_reason=_exclusion_reason(judgement, judge))

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
    if isinstance(ends, list | tuple) and len(ends) > 1 and all(isinstance(end, int) for end in ends):
        return f" ({ends[0]} to {ends[-1]})"
    return ""


def _exclusion_reason(judgement: Judgement, judge: JudgeDescription) -> str:
    """Why a judgement is of another mode than the run's, with the first thing that was wrong."""
    if judgement.mode is not Mode.BASIC:
        return f"judged in mode {judgement.mode}"
    basic = next((vote for vote in judgement.votes if vote.mode is Mode.BASIC), None)
    problem = "" if basic is None else _first_problem(basic, judge)
    return "only bare scores could be read from the judge's answers" + (f": {problem}" if problem else "")


def _first_problem(vote: Vote, judge: JudgeDescription) -> str:
    asked = [part.place.partition(".")[0] for part in (judge.reasons, judge.evidence) if part]
    lacking = [name for name in dict.fromkeys(asked) if name and name not in vote.response]
    if lacking:
        return f"no {' and no '.join(lacking)} in the answer"
    problems = [vote.message, *(remark.message for remark in vote.remarks if remark.code == "VIOLATION")]
    return clipped(next(filter(None, problems), "").partition(";")[0], _LONGEST_RULE)


def _judgement(
    judgement: Judgement, names: Sequence[str], text: str | None, labels: Mapping[str, str]
) -> JudgementDetail:
    return JudgementDetail(
        mode=judgement.mode.value if judgement.mode else None,
        marks=_mark_details(judgement, names, labels),
        votes=tuple(_vote_detail(vote, names) for vote in judgement.votes[:_MOST_VOTES]),
        remarks=_remarks(judgement.remarks),
        message=clipped(judgement.message, _LONGEST_SAID),
        text=None if text is None else shortened(text, LONGEST_TEXT),
        shortened=any(call.shortened for call in judgement.calls),
        metrics=dict(judgement.metrics) if len(as_text(dict(judgement.metrics))) <= _LONGEST_SAID else None,
    )


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
        if name not in names and value not in (None, "") and not _holds_the_marks(value, names)
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


def _holds_the_marks(value: Any, names: Sequence[str]) -> bool:
    """True for the field of an answer that the scores stand in: they are shown as marks already."""
    return isinstance(value, dict) and bool(value) and set(value) <= set(names)


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
