"""What goes wrong: errors by code with what each is worth, confusions, sections, patterns and what to fix first."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from steelyard.analysis.findings import MOST_CONFUSIONS
from steelyard.analysis.model import CodeFigure, Slice
from steelyard.records import RunHeader
from steelyard.report import format as fmt
from steelyard.report import wording
from steelyard.report.document import (
    Block,
    Cell,
    Column,
    Fold,
    Kind,
    Link,
    Section,
    Table,
    Text,
    section,
    table_section,
)
from steelyard.report.model import Report
from steelyard.report.render.json import encode, encode_object
from steelyard.stats.intervals import Estimate

_MOST_CODES = 50
_MOST_CASES_NAMED = 3
_MOST_PATTERNS = 8
NO_WEIGHT = "-"
"""In the place of a gain, for what has no weight."""


def code_sections(report: Report) -> list[Section]:
    """Errors by code, each with its findings one by one, what was taken for what, and in which section of the text."""
    average = f"average now {fmt.with_base(report.summary.overall.average)}"
    folds = [fold for figure in codes_listed(report) for fold in _one_by_one(report, figure)]
    return [
        *section("Errors by code", errors(report), *folds, main=True, remark=average if folds else ""),
        *table_section(confusions(report), main=True),
        *table_section(sections(report), main=True),
    ]


def _one_by_one(report: Report, figure: CodeFigure) -> list[Fold]:
    """The findings of a code, behind what it means and where it occurs."""
    code = code_of(report.header, figure.code)
    about = " ".join(filter(None, [code.about, f"severity: {code.severity}" if code.severity else ""]))
    by_group = [
        (item.name, item.factor, fmt.whole(item.count), samples_with(item.samples), fmt.bare_base(item.samples))
        for item in counts_by_slice(report, figure.code)
    ]
    group_columns = (Column("Group", Kind.TEXT), Column("By", Kind.TEXT), *map(Column, ("Found", "In samples", "n")))
    listed = {wording.anchor(detail.line) for detail in report.details}
    rows: list[tuple[Cell, ...]] = [
        (
            Link(
                wording.sample_name(result, repeats=report.summary.repeats),
                wording.anchor(result) if wording.anchor(result) in listed else "",
            ),
            *map(
                fmt.as_text,
                (result.finding.place, result.finding.expected, result.finding.got, result.finding.evidence),
            ),
        )
        for result in report.findings.get(figure.code, ())
    ]
    columns = tuple(Column(title, Kind.TEXT) for title in ("Sample", "Where", "Expected", "Got", "Evidence"))
    blocks: list[Block] = [Text(about), Table("", group_columns, by_group)]
    blocks.append(Table("", columns, rows, total=n_found(report, figure.code)))
    return [Fold(f"{figure.code}: {fmt.counted(figure.count, 'finding')}, one by one", blocks)]


def codes_data(report: Report) -> list[dict[str, Any]]:
    """Every code with what the suite says of it, its counts by slice and its findings."""
    return [_code_data(report, figure) for figure in report.summary.codes]


def _code_data(report: Report, figure: CodeFigure) -> dict[str, Any]:
    available = figure.if_fixed.value is not None and figure.has_weight
    items = [
        {name: encode(getattr(result, name)) for name in ("case_id", "variant", "repeat")}
        | encode_object(result.finding)
        for result in report.findings.get(figure.code, [])
    ]
    return (
        encode_object(code_of(report.header, figure.code))
        | encode_object(figure)
        | {"gain": encode(figure.gain) if available else None}
        | {"slices": encode(counts_by_slice(report, figure.code))}
        | {"n_items": n_found(report, figure.code), "items": items}
    )


def errors(report: Report) -> Table:
    """Every code that was found: how often, in how many samples, and what the average would be were it fixed."""
    available = taxonomy(report.header)
    listed = codes_listed(report)
    named = any(figure.code in available and available[figure.code].name for figure in listed)
    graded = any(not figure.has_weight for figure in listed)
    rows = []
    for figure in listed:
        name = [available[figure.code].name if figure.code in available else ""] if named else []
        name += [severity_of(report.header, figure.code)] if graded else []
        samples = (samples_with(figure.samples), fmt.bare_base(figure.samples))
        interval = fmt.interval(figure.if_fixed) if figure.has_weight else ""
        rows.append(
            (figure.code, *name, f"{figure.count:,}", *samples, scores_if_fixed(report, figure), interval, gain(figure))
        )
    titles = ("Found", "In samples", "n", "Average if fixed")
    name_column = ((Column("Name", Kind.TEXT),) if named else ()) + ((Column("Severity"),) if graded else ())
    columns = (
        Column("Code", Kind.TEXT),
        *name_column,
        *map(Column, titles),
        Column("95 % interval", optional=True),
        Column("Gain"),
    )
    note = "gain: points that the average would rise by if all findings of this code alone were fixed"
    if any(not figure.has_weight for figure in listed):
        note += f"; {NO_WEIGHT}: no weight in the score, so fixing it gains no points: judge by severity"
    return Table("Errors by code", columns, rows, note if rows else "", total=len(report.summary.codes))


def confusions(report: Report) -> Table:
    """What was taken for what most often."""
    result = report.summary.confusions
    rows = [(item.expected, item.got, item.code, f"{item.count:,}", f"{item.samples:,}") for item in result]
    columns = (*(Column(title, Kind.TEXT) for title in ("Expected", "Got", "Code")), Column("Found"), Column("Samples"))
    note = f"the most frequent of all findings that say both; at most {MOST_CONFUSIONS}" if rows else ""
    return Table("Top confusions", columns, rows, note)


def sections(report: Report) -> Table:
    """How many errors begin in each named region of the texts, and which."""
    rows = [
        (
            item.section,
            f"{item.count:,}",
            f"{item.samples:,}",
            ", ".join(f"{code} {count:,}" for code, count in item.codes.items()),
        )
        for item in report.summary.sections
    ]
    columns = (Column("Section", Kind.TEXT), Column("Found"), Column("Samples"), Column("Codes", Kind.TEXT))
    n = report.summary.overall.outcome_rates.get("malformed")
    note = f"findings by where in the text they begin, of {fmt.counted(n.n, 'conclusive sample')}" if n else ""
    return Table("Errors by section", columns, rows, note if rows else "")


def severity_of(header: RunHeader, code: str) -> str:
    """How grave the suite calls a code; "" when it does not say."""
    return taxonomy(header)[code].severity if code in taxonomy(header) else ""


def codes_listed(report: Report) -> list[CodeFigure]:
    """The codes that a report for people lists, what is worth most to fix first."""
    return report.summary.codes[:_MOST_CODES]


def samples_with(share: Estimate) -> str:
    """How many samples have a code: `24 (33.3 %)`."""
    if share.value is None:
        return fmt.NOT_AVAILABLE
    return f"{round(share.value * share.n):,} ({fmt.percent(share.value)})"


def scores_if_fixed(report: Report, figure: CodeFigure) -> str:
    """The average as it is and as it would be: `61.2 % -> 84.0 %`, `61.2 % -> up to 63.0 %`."""
    if not figure.has_weight:
        return NO_WEIGHT
    now, then = fmt.percent(report.summary.overall.average.value), fmt.percent(figure.if_fixed.value)
    limit = "up to " if figure.at_most and figure.if_fixed.value is not None else ""
    return f"{now} -> {limit}{then}"


def gain(figure: CodeFigure) -> str:
    """What fixing the code is worth in points: `+22.8`, or `-` where it has no weight."""
    if not figure.has_weight:
        return NO_WEIGHT
    if figure.if_fixed.value is None:
        return fmt.NOT_AVAILABLE
    return fmt.points(figure.gain).removesuffix(" points")


@dataclass(frozen=True, slots=True)
class SliceCount:
    """How often a code was found in one slice."""

    factor: str
    name: str
    count: int
    samples: Estimate
    """Share of the slice's conclusive samples with at least one such finding."""


def counts_by_slice(report: Report, code: str) -> list[SliceCount]:
    """The code's count in every slice that has it, factor by factor."""
    return [
        SliceCount(factor, group.name, group.findings[code], _share(group, code))
        for factor, groups in report.summary.slices.items()
        for group in groups
        if group.findings.get(code)
    ]


def _share(group: Slice, code: str) -> Estimate:
    finding_rate = group.finding_rates.get(code)
    return Estimate(None, group.average.n, group.average.n_missing) if finding_rate is None else finding_rate


def n_found(report: Report, code: str) -> int:
    """How many findings of the code the run has, however many the report lists."""
    counted = next((figure.count for figure in report.summary.codes if figure.code == code), 0)
    return max(counted, len(report.findings.get(code, ())))


def patterns(report: Report) -> Table:
    """What goes wrong more than once, with the first cases behind it; patterns of the same cases are one row."""
    result = report.summary.patterns
    alike: dict[tuple[tuple[str, ...], int], list[str]] = {}
    for pattern in result:
        alike.setdefault((pattern.cases, pattern.n_cases) if pattern.cases else ((pattern.sentence,), 0), []).append(
            pattern.sentence
        )
    listed = list(alike.items())
    rows = [
        (_messages_once(sentences), _some(cases, n_cases) if n_cases else "") for (cases, n_cases), sentences in listed
    ]
    in_all, shown = report.summary.extra.get("n_patterns", len(result)), sum(len(item) for _, item in listed)
    note = f"the {shown} most frequent of {in_all:,} patterns" if in_all > shown else ""
    columns = (Column("Pattern", Kind.TEXT), Column("Cases", Kind.TEXT))
    return Table("Common failure patterns", columns, rows, note, most=_MOST_PATTERNS)


def _messages_once(sentences: list[str]) -> str:
    """The first sentence, and how many more speak of the same cases."""
    first, *others = sentences
    return f"{first}; the same cases: {'; '.join(others)}" if others else first


def _some(cases: tuple[str, ...], n_cases: int) -> str:
    named = ", ".join(cases[:_MOST_CASES_NAMED])
    more = max(n_cases, len(cases)) - min(len(cases), _MOST_CASES_NAMED)
    return f"{named}, +{more}" if named and more > 0 else named


def priorities(report: Report) -> Table:
    """What to fix first; each sentence says its average, n and how far the whole would rise."""
    sentences = [priority.sentence for priority in report.summary.priorities]
    failing = wording.failing_sentence(report)
    rows = [(str(number), sentence) for number, sentence in enumerate(sentences or [failing], 1) if sentence]
    conclusion = failing if sentences else ""
    return Table("Improvement priorities", (Column("#"), Column("Priority", Kind.TEXT)), rows, conclusion=conclusion)


@dataclass(frozen=True, slots=True)
class Code:
    """One code of the taxonomy; name and definition are "" where the suite says nothing."""

    code: str
    name: str = ""
    about: str = ""
    severity: str = ""


def taxonomy(header: RunHeader) -> dict[str, Code]:
    """The declared codes in the order of detection; empty for a run of before they were kept."""
    return {kind.code: Code(**dict(kind)) for kind in header.description.taxonomy}


def code_of(header: RunHeader, code: str) -> Code:
    """What the suite says of a code."""
    return taxonomy(header).get(code, Code(code))


def in_order(header: RunHeader, codes: Iterable[str]) -> list[str]:
    """The codes in the order of detection, undeclared ones last, each once."""
    available, result = taxonomy(header), dict.fromkeys(codes)
    return [*(code for code in available if code in result), *(code for code in result if code not in available)]
