"""The samples of a run, the worst first: question, truth, answer, findings, judgement and scores of each."""

from __future__ import annotations

from collections.abc import Sequence

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
    Sample,
    Samples,
    Table,
    Text,
    Tone,
    bullets,
)
from steelyard.report.judged import ballot_lines, ballot_name, judged_lines, judged_names, said
from steelyard.report.model import BallotDetail, JudgementDetail, Marked, Report, SampleDetail
from steelyard.report.pictures import Palette, box_of, drawings, load_pictures


def samples(report: Report) -> Samples:
    """All samples that the report details; repeats of a case stand together."""
    reader = _Reader(report)
    items = [reader.sample(detail) for detail in report.details]
    if report.summary.repeats > 1:
        items = _grouped(report, items)
    return Samples(items, report.n_samples)


def _grouped(report: Report, items: Sequence[Sample]) -> list[Sample]:
    """A line a case and variant, where its worst repeat stands, with all its repeats inside."""
    by_cell: dict[tuple[str, str], list[tuple[int, Sample]]] = {}
    for detail, item in zip(report.details, items, strict=True):
        by_cell.setdefault((detail.line.case_id, detail.line.variant), []).append((detail.line.repeat, item))
    return [_case(*cell, some) for cell, some in by_cell.items()]


def _case(case_id: str, variant: str, some: list[tuple[int, Sample]]) -> Sample:
    worst = some[0][1]
    passed = sum(item.status == "passed" for _, item in some)
    times = [item.latency for _, item in some if item.latency is not None]
    name = f"{case_id} [{variant}]" if variant else case_id
    inside = [item for _, item in sorted(some, key=lambda pair: pair[0])]
    return Sample(
        anchor=f"case-{worst.anchor}",
        name=name,
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

    def sample(self, detail: SampleDetail) -> Sample:
        line = detail.line
        return Sample(
            anchor=wording.anchor(line),
            name=wording.sample_name(line, repeats=self.report.summary.repeats),
            status=wording.status(detail),
            score=fmt.percent(line.score),
            why=wording.aside_words(detail) if wording.is_aside(detail) else line.why,
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
            if score.get("bound_by"):
                note += f" bound by {score['bound_by']}, before: {fmt.on_scale(score.get('raw'), scale)}"
            rows.append((fmt.as_text(score.get("name")), fmt.on_scale(score.get("value"), scale), note.strip()))
        return Table("Scores", (Column("Component", Kind.TEXT), Column("Value"), Column("Note", Kind.TEXT)), rows)


def _facts(detail: SampleDetail) -> str:
    line = detail.line
    told = [wording.outcome_word(line.outcome), line.band, detail.difficulty, *detail.tags, fmt.seconds(line.latency)]
    told += [f"read by: {detail.rung}"] if detail.rung else []
    return " · ".join(part for part in told if part)


def _input(detail: SampleDetail) -> list[Block]:
    return [] if detail.input is None else [Quote("Input", fmt.laid_out(detail.input))]


def _expected(detail: SampleDetail, *, searched: bool) -> list[Block]:
    return [] if detail.expected is None else [Quote("Expected", fmt.laid_out(detail.expected), searched=searched)]


def _answer(detail: SampleDetail) -> list[Block]:
    if detail.answer is None:
        return [Text(f"No answer came. {detail.line.why}")]
    if detail.answer == "":
        return [Text("The answer was empty.")]
    if detail.read is None:
        return [Quote("Answer", detail.answer)]
    whole = Fold("All that came", [Quote("Answer as it came", detail.answer)])
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
    """What the judge said: what all ballots come to, the text that was judged, and each ballot."""
    blocks: list[Block] = [] if judged.text is None else [Quote("Text judged", judged.text)]
    blocks.append(Fold("Judge", [bullets(judged_lines(judged)), _marks(judged.marks)], open=True))
    single = len(judged.ballots) == 1
    blocks += [_ballot(ballot, single=single) for ballot in judged.ballots]
    if judged.metrics:
        blocks.append(Fold("What the rules looked at", [Quote("", fmt.laid_out(judged.metrics), searched=False)]))
    return blocks


def _ballot(ballot: BallotDetail, *, single: bool) -> Fold:
    lines = [Bullet(line) for line in ballot_lines(ballot)]
    marks = [] if single else [_marks(ballot.marks)]
    return Fold(f"Ballot of {ballot_name(ballot)}", [Bullets(lines), *marks], open=single)


def _marks(marks: Sequence[Marked]) -> Table:
    rows = [(mark.name, said(mark.raw), said(mark.bound), mark.label, mark.bound_by) for mark in marks]
    titles = (Column("As judged"), Column("Counts"), Column("Label"), Column("Bound by", Kind.TEXT))
    return Table("", (Column("Dimension", Kind.TEXT), *titles), rows)
