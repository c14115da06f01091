"""The samples of a report as blocks: what a list of them shows, and what each opens to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from steelyard.records import Check, RunHeader
from steelyard.report import document as doc
from steelyard.report import format as fmt
from steelyard.report import wording
from steelyard.report.document import Block, Fold, Quote, SampleBlock, SampleList, Table, Text, Tone, bullets
from steelyard.report.format import as_text, laid_out
from steelyard.report.judge.run import judged_lines, judged_names, stated, vote_lines, vote_name
from steelyard.report.model import JudgementDetail, Marked, Report, SampleDetail
from steelyard.report.pictures import Palette, box_of, drawings, load_pictures
from steelyard.suite.case import cell_name


def samples(report: Report) -> SampleList:
    """All samples that the report details; repeats of a case stand together."""
    reader = SampleReader(report.header, report.details, Palette.of(report), report.summary.repeats)
    items = [reader.sample(detail) for detail in report.details]
    if report.summary.repeats > 1:
        by_cell: dict[tuple[str, str], list[tuple[int, SampleBlock]]] = {}
        for detail, item in zip(report.details, items, strict=True):
            by_cell.setdefault((detail.line.case_id, detail.line.variant), []).append((detail.line.repeat, item))
        items = [_case(cell_name(*cell), repeats) for cell, repeats in by_cell.items()]
    return SampleList(items, report.n_samples)


def _case(name: str, repeats: list[tuple[int, SampleBlock]]) -> SampleBlock:
    """A line for a case and variant, where its worst repeat stands, with all its repeats inside."""
    worst = repeats[0][1]
    inside = [item for _, item in sorted(repeats, key=lambda pair: pair[0])]
    return replace(
        worst,
        anchor=f"case-{worst.anchor}",
        name=name,
        score=f"{sum(item.status == 'passed' for item in inside)} of {len(inside)} passed",
        blocks=(),
        repeats=inside,
        codes=list(dict.fromkeys(code for item in inside for code in item.codes)),
        latency=max((item.latency for item in inside if item.latency is not None), default=None),
        n=len(inside),
    )


class SampleReader:
    """Turns the details of one run's samples into what a list shows."""

    def __init__(self, header: RunHeader, details: Sequence[SampleDetail], palette: Palette, repeats: int) -> None:
        self.header = header
        self.palette = palette
        self.n_repeats = repeats
        wanted = [picture for detail in details for picture in detail.pictures]
        self.pictures = load_pictures(wanted, header.suite_path) if wanted else {}
        self.labelled = bool((judge := header.description.judge) and judge.labels)
        self.judged = judged_names(header)

    def sample(self, detail: SampleDetail) -> SampleBlock:
        line = detail.line
        return SampleBlock(
            anchor=wording.anchor(line),
            name=wording.sample_name(line, repeats=self.n_repeats),
            status=wording.status(detail),
            score=fmt.percent(line.score),
            why=wording.excluded_text(detail) if wording.is_excluded(detail) else line.why,
            blocks=self.blocks(detail),
            group=detail.category or line.band or "",
            category=detail.category or "",
            codes=list(dict.fromkeys(as_text(finding.get("code")) for finding in detail.findings)),
            rank=wording.badness(detail),
            score_value=line.score,
            latency=line.latency,
            pictured=bool(detail.pictures),
        )

    def blocks(self, detail: SampleDetail) -> list[Block]:
        """What a sample opens to."""
        line = detail.line
        facts = [
            wording.outcome_word(self.header, line.outcome),
            line.band,
            detail.difficulty,
            *detail.tags,
            fmt.seconds(line.latency),
        ]
        facts += [f"read by: {detail.step}"] if detail.step else []
        blocks: list[Block] = [Text(" · ".join(filter(None, facts)), Tone.MUTED), Text(detail.case_why)]
        asked = [] if detail.input is None else [Quote("Input", laid_out(detail.input))]
        expected = []
        if detail.expected is not None:
            expected = [Quote("Expected", laid_out(detail.expected), searched=not self.labelled)]
        pictures = drawings(detail, self.pictures, self.palette)
        blocks += [*pictures, *expected, *asked] if pictures else [*asked, *expected]
        blocks += [*answer_blocks(detail), _findings(detail)]
        return [*blocks, *judgement_blocks(detail.judgement), self.scores(detail)]

    def scores(self, detail: SampleDetail) -> Table:
        """What scorers computed; what a judge gave stands with the judgement."""
        rows = []
        for score in detail.scores:
            if detail.judgement is not None and score.get("name") in self.judged:
                continue
            scale = wording.scale_of(self.header, str(score.get("name")))
            note = as_text(score.get("note"))
            if score.get("capped_by"):
                note += f" capped by {score['capped_by']}, before: {fmt.on_scale(score.get('uncapped'), scale)}"
            rows.append((as_text(score.get("name")), fmt.on_scale(score.get("value"), scale), note.strip()))
        return Table("Scores", (doc.words("Component"), doc.Column("Value"), doc.words("Note")), rows)


WHOLE_RESPONSE = "Whole response"


def answer_blocks(detail: SampleDetail) -> list[Block]:
    """The answer, as it was read and as it came."""
    if detail.answer is None:
        return [Text(f"There is no answer. {detail.line.why}")]
    if detail.answer == "":
        return [Text("The answer was empty.")]
    if detail.read is None:
        return [Quote("Answer", detail.answer)]
    whole = Fold(WHOLE_RESPONSE, [Quote("Answer as received", detail.answer)])
    return [Quote("Answer", laid_out(detail.read)), whole]


def checks_table(checks: Sequence[Check]) -> Table:
    """Every expectation that applies to a case, and what became of it."""
    rows = [(check.name, check.state.value.replace("_", " "), check.detail) for check in checks]
    return Table("Checks", (doc.words("Check"), doc.words("State"), doc.words("Detail")), rows, most=100)


def _findings(detail: SampleDetail) -> Table:
    pictured = bool(detail.pictures)
    rows = []
    for number, finding in enumerate(detail.findings, 1):
        code, place, expected, got, evidence = (
            as_text(finding.get(key)) for key in ("code", "place", "expected", "got", "evidence")
        )
        where = f"{place} (without a box)".strip() if pictured and box_of(finding) is None else place
        rows.append((f"{number} {code}" if pictured else code, where, expected, got, evidence))
    columns = tuple(map(doc.words, ("Code", "Where", "Expected", "Got", "Evidence")))
    return Table("Findings", columns, rows, total=detail.n_findings)


def judgement_blocks(judged: JudgementDetail | None) -> Iterator[Block]:
    """What the judge said: what all votes come to, the text that was judged, and each vote."""
    if judged is None:
        return
    if judged.text is not None:
        yield Quote("Text judged", judged.text)
    yield Fold("Judge", [bullets(judged_lines(judged)), _marks(judged.marks)], open=True)
    single = len(judged.votes) == 1
    for vote in judged.votes:
        marks = [] if single else [_marks(vote.marks)]
        yield Fold(f"Vote of {vote_name(vote)}", [bullets(vote_lines(vote)), *marks], open=single)
    if judged.metrics:
        yield Fold("What the rules looked at", [Quote("", laid_out(judged.metrics), searched=False)])


def _marks(marks: Sequence[Marked]) -> Table:
    return doc.table(
        "",
        marks,
        ("Dimension", lambda mark: mark.name),
        ("Uncapped", lambda mark: stated(mark.uncapped)),
        ("Capped", lambda mark: stated(mark.capped)),
        ("Label", lambda mark: mark.label),
        (doc.words("Capped by"), lambda mark: mark.capped_by),
    )
