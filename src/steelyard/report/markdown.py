"""The report for a pull request: a headline, short tables, the rest folded. Foreign text is never rendered."""

from __future__ import annotations

from collections.abc import Iterator

from steelyard.report import (
    checks_tables,
    confidence_tables,
    criteria_tables,
    error_tables,
    figures,
    judged_tables,
    judged_wording,
    latency_tables,
    said_tables,
    stability_tables,
    tables,
    wording,
)
from steelyard.report.markdown_layout import MOST_ROWS, SIGNS, facts, folded, quoted, safe, table_parts
from steelyard.report.model import JudgementDetail, Report, SampleDetail
from steelyard.report.safe_text import as_text
from steelyard.report.signatures import signed
from steelyard.report.tables import Kind, Table

_MOST_SAMPLES = 25
ROOM = 60_000
"""Code hosts refuse comments beyond 65,536 characters."""


def to_markdown(report: Report, *, room: int = ROOM) -> str:
    """GitHub-flavoured Markdown that fits into one comment; samples are left off beyond `room` characters."""
    head = "\n\n".join(_parts(report))
    foot = f"\n\n<sub>{safe(wording.signature_line(report.header), 2_000)}</sub>\n"
    samples = _samples(report, room=room - len(head) - len(foot))
    return "\n\n".join([head, *samples]) + foot


def _parts(report: Report) -> Iterator[str]:
    sign = SIGNS[report.decision.verdict]
    name = safe(report.header.suite_name, 100)
    yield f"### {sign} {name}: {wording.verdict_word(report)}"
    rate = wording.pass_rate(report)
    yield f"**Pass rate {safe(rate)}** &nbsp; average {safe(figures.with_base(report.summary.overall.average))}"
    if held := checks_tables.headline(report):
        yield f"**{safe(held)}**"
    said = [safe(reason) for reason in wording.reasons(report)[:MOST_ROWS]]
    said += [f"**SUSPECT**: {safe(reason)}" for reason in report.header.suspect[:MOST_ROWS]]
    said += [f"⚠️ {safe(warning)}" for warning in judged_wording.judge_warnings(report)]
    said += [safe(note) for note in wording.notes(report)]
    if said:
        yield "\n".join(f"- {sentence}" for sentence in said)
    yield from _signed(tables.gates(report))
    yield from _signed(criteria_tables.criteria(report, with_reasons=True))
    yield from _signed(criteria_tables.by_variant(report)[0])
    yield from _signed(checks_tables.broken(report, MOST_ROWS))
    yield from _signed(stability_tables.stability(report))
    yield from _signed(error_tables.errors(report))
    yield from _signed(error_tables.confusions(report))
    yield from _signed(error_tables.sections(report))
    yield from _signed(tables.priorities(report))
    yield from _signed(judged_tables.dimensions(report))
    yield from _signed(judged_tables.flags(report))
    yield from _signed(confidence_tables.buckets(report))
    parts = [_overall(report), *_over_repeats(report), *_judge(report), *_confidence(report), *_bands(report)]
    yield folded("Figures", [*parts, *_tables(report)])


def _signed(table: Table) -> Iterator[str]:
    """The table, with the method and the seed of its intervals below it."""
    return table_parts(signed(table))


def _tables(report: Report) -> Iterator[str]:
    for factor in report.summary.slices:
        yield from _signed(tables.slices(report, factor, MOST_ROWS))
    for said in said_tables.said(report):
        yield from _signed(said)
    yield from _signed(tables.components(report))
    yield from _signed(error_tables.measures(report))
    yield from _signed(error_tables.measures_by_variant(report)[0])
    slowest = () if wording.times_have_a_part(report) else (tables.slowest,)
    for table in (tables.patterns, tables.worst, *slowest, tables.failures, tables.inconclusive):
        yield from _signed(table(report))


def _overall(report: Report) -> str:
    rows = [*tables.overall(report), ("Outcomes", wording.outcomes_sentence(report))]
    if report.summary.method:
        rows.append(("Intervals", report.summary.method))
    return facts(f"Run {report.header.id}, {wording.target_name(report.header)}", rows)


def _over_repeats(report: Report) -> Iterator[str]:
    for title, rows in (
        ("Expectations", checks_tables.expectations(report)),
        ("Latency", latency_tables.latency(report)),
    ):
        if rows:
            yield facts(title, rows)
    yield from _signed(checks_tables.by_check(report))
    yield from _signed(checks_tables.by_value(report))
    yield from _signed(stability_tables.least_stable(report, MOST_ROWS))
    yield from _signed(latency_tables.slowest_cases(report, MOST_ROWS))


def _judge(report: Report) -> Iterator[str]:
    rows = judged_tables.judge(report)
    if rows:
        yield facts("Judge", rows)


def _confidence(report: Report) -> Iterator[str]:
    rows = confidence_tables.confidence(report)
    if rows:
        yield facts("Confidence", rows)
        yield from _signed(confidence_tables.bins(report))
        yield from _signed(confidence_tables.labels(report))


def _bands(report: Report) -> Iterator[str]:
    rows = [
        (name, wording.band_floor(report.header, name), figures.band_count(share), figures.percent(share.value))
        for name, share in report.summary.overall.bands.items()
    ]
    columns = (tables.Column("Band", Kind.TEXT), *map(tables.Column, ("Score", "Samples", "Share")))
    yield from _signed(Table("Score distribution", columns, rows))


def _samples(report: Report, *, room: int) -> list[str]:
    to_show = [detail for detail in report.details if detail.passed is not True or wording.is_aside(detail)]
    parts: list[str] = []
    for detail in to_show[:_MOST_SAMPLES]:
        part = _sample(report, detail)
        room -= len(part)
        if room < 0:
            break
        parts.append(part)
    left_off = report.n_samples - len(parts)
    if not parts or left_off <= 0:
        return [folded("Samples that did not pass", parts)] if parts else []
    title = f"{figures.counted(len(parts), 'sample')} that did not pass, the worst first"
    return [folded(title, [*parts, f"{left_off:,} more of {report.n_samples:,} are not shown here."])]


def _sample(report: Report, detail: SampleDetail) -> str:
    line = detail.line
    result = figures.percent(line.score) if wording.is_conclusive(line) else wording.outcome_word(line.outcome)
    result += f" ({wording.aside_words(detail)})" if wording.is_aside(detail) else ""
    name = safe(wording.sample_name(line, repeats=report.summary.repeats), 200)
    quotes = [("Input", detail.input), ("Expected", detail.expected), ("Answer", detail.read or detail.answer)]
    blocks = [f"<b>{title}</b><pre>{quoted(as_text(value))}</pre>" for title, value in quotes if value is not None]
    why = f"{safe(line.why, 300)}<br>" if line.why else ""
    blocks += [] if detail.judgement is None else _judgement(detail.judgement)
    return f"<details><summary>{name}: {safe(result)}</summary>{why}{''.join(blocks)}</details>"


def _judgement(judged: JudgementDetail) -> list[str]:
    """What the judge said, each part as a quotation."""
    parts = [("Text judged", judged.text)] if judged.text is not None else []
    parts.append(("Judge", "\n".join(judged_wording.judged_lines(judged))))
    parts += [
        (f"Ballot of {judged_wording.ballot_name(each)}", "\n".join(judged_wording.ballot_lines(each)))
        for each in judged.ballots
    ]
    return [f"<b>{safe(title, 200)}</b><pre>{quoted(text)}</pre>" for title, text in parts]
