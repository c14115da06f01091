"""What goes wrong: errors by code with what each is worth, confusions, sections, patterns and what to fix first."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from steelyard.analysis.confusions import MOST_CONFUSIONS
from steelyard.analysis.model import FoundCode
from steelyard.frozen import frozen
from steelyard.records import RunHeader
from steelyard.report import document as doc
from steelyard.report import format as fmt
from steelyard.report import wording
from steelyard.report.document import Column, Fold, Link, Section, Table, section, table_section
from steelyard.report.figures import Row, base, figures_table, value
from steelyard.report.model import Report
from steelyard.report.render.json import encode_object, picked
from steelyard.stats.intervals import Estimate
from steelyard.store.base import SampleFinding
from steelyard.store.selection import Selection

_MOST_CODES = 50
_MOST_CASES_NAMED = 3
_MOST_PATTERNS = 8
NO_WEIGHT = "-"
"""In the place of a gain, for what has no weight."""


def code_sections(report: Report) -> list[Section]:
    """Errors by code, each with its findings one by one, what was taken for what, and in which section of the text."""
    average = f"average now {fmt.with_base(report.summary.overall['average'])}"
    folds = [fold for found in codes_listed(report) for fold in _one_by_one(report, found)]
    return [
        *section("Errors by code", errors(report), *folds, main=True, remark=average if folds else ""),
        *table_section(confusions(report), main=True),
        *table_section(sections(report), main=True),
    ]


def _one_by_one(report: Report, found: FoundCode) -> list[Fold]:
    """The findings of a code, behind what it means and where it occurs."""
    code, listed = code_of(report.header, found.code), {wording.anchor(detail.line) for detail in report.details}
    about = " ".join(filter(None, [code.about, f"severity: {code.severity}" if code.severity else ""]))

    def link(hit: SampleFinding) -> doc.Cell:
        anchor, name = wording.anchor(hit), wording.sample_name(hit, repeats=report.summary.repeats)
        return Link(name, anchor) if anchor in listed else doc.LinkedText(name, _samples_of(hit, found.code))

    every = (group for groups in report.summary.slices.values() for group in groups)
    by_group = figures_table(
        "",
        report.header.description,
        [group for group in every if group.count_of("findings.<code>", found.code)],
        "findings.<code>",
        (doc.words("By"), lambda row: row.part.factor),
        value("Found"),
        ("In samples", lambda row: samples_with(row["findings.<code>.rate"])),
        base("findings.<code>.rate"),
        head="Group",
        each=[found.code],
        label=lambda row: row.part.name,
    )
    one_by_one = doc.table(
        "",
        report.findings.get(found.code, ()),
        ("Sample", link),
        (doc.words("Where"), lambda hit: fmt.as_text(hit.finding.place)),
        (doc.words("Expected"), lambda hit: fmt.as_text(hit.finding.expected)),
        (doc.words("Got"), lambda hit: fmt.as_text(hit.finding.got)),
        (doc.words("Evidence"), lambda hit: fmt.as_text(hit.finding.evidence)),
        total=n_found(report, found.code),
    )
    count = report.summary.overall.count_of("findings.<code>", found.code)
    title = f"{found.code}: {fmt.counted(count, 'finding')}, one by one"
    return [Fold(title, [doc.Text(about), by_group, one_by_one])]


def _samples_of(hit: SampleFinding, code: str) -> Selection:
    return Selection(case=hit.case_id, variant=hit.variant, code=code)


def codes_data(report: Report) -> list[dict[str, Any]]:
    """Every code with what the suite says of it and its findings; its numbers are figures."""
    return [
        encode_object(code_of(report.header, found.code))
        | encode_object(found)
        | {"n_items": n_found(report, found.code)}
        | {
            "items": [
                picked(hit, "case_id", "variant", "repeat") | encode_object(hit.finding)
                for hit in report.findings.get(found.code, [])
            ]
        }
        for found in report.summary.codes
    ]


def errors(report: Report) -> Table:
    """Every code that was found: how often, in how many samples, and what the average would be were it fixed."""
    listed = {found.code: found for found in codes_listed(report)}
    codes = {code: code_of(report.header, code) for code in listed}
    weightless = any(not found.has_weight for found in listed.values())
    columns: list[doc.Written[Row]] = []
    if any(code.name for code in codes.values()):
        columns.append((doc.words("Name"), lambda row: codes[row.label].name))
    if weightless:
        columns.append(("Severity", lambda row: codes[row.label].severity))
    note = "gain: points that the average would rise by if all findings of this code alone were fixed"
    if weightless:
        note += f"; {NO_WEIGHT}: no weight in the score, so fixing it gains no points: judge by severity"
    return figures_table(
        "Errors by code",
        report.header.description,
        report.summary.overall,
        "findings.<code>",
        *columns,
        value("Found"),
        ("In samples", lambda row: samples_with(row["findings.<code>.rate"])),
        base("findings.<code>.rate"),
        ("Average if fixed", lambda row: scores_if_fixed(report, listed[row.label])),
        (
            Column("95 % interval", optional=True),
            lambda row: fmt.interval(row["if_fixed.<code>"]) if listed[row.label].has_weight else "",
        ),
        ("Gain", lambda row: gain(report, listed[row.label])),
        head="Code",
        each=listed,
        note=note,
        total=len(report.summary.codes),
    )


def confusions(report: Report) -> Table:
    """What was taken for what most often."""
    return doc.table(
        "Top confusions",
        report.summary.confusions,
        ("Expected", lambda item: item.expected),
        (doc.words("Got"), lambda item: item.got),
        (doc.words("Code"), lambda item: item.code),
        ("Found", lambda item: f"{item.count:,}"),
        ("Samples", lambda item: f"{item.samples:,}"),
        selection=lambda item: Selection(code=item.code, expected=item.expected, got=item.got),
        note=f"the most frequent of all findings that say both; at most {MOST_CONFUSIONS}",
    )


def sections(report: Report) -> Table:
    """How many errors begin in each named region of the texts, and which."""
    overall = report.summary.overall
    n = overall["malformed_rate"]

    def codes(row: Row) -> str:
        counts = overall.counts("section.<section>.<code>", row.label)
        return ", ".join(f"{code} {count:,}" for code, count in counts.items())

    return figures_table(
        "Errors by section",
        report.header.description,
        overall,
        "section.<section>",
        *(value("Found"), value("Samples", "section.<section>.samples")),
        (doc.words("Codes"), codes),
        head="Section",
        each=overall.counts("section.<section>"),
        note=f"findings by where in the text they begin, of {fmt.counted(n.n, 'conclusive sample')}" if n.n else "",
    )


def codes_listed(report: Report) -> list[FoundCode]:
    """The codes that a report for people lists, what is worth most to fix first."""
    return report.summary.codes[:_MOST_CODES]


def samples_with(share: Estimate) -> str:
    """How many samples have a code: `24 (33.3 %)`."""
    if share.value is None:
        return fmt.NOT_AVAILABLE
    return f"{round(share.value * share.n):,} ({fmt.percent(share.value)})"


def scores_if_fixed(report: Report, found: FoundCode) -> str:
    """The average as it is and as it would be: `61.2 % -> 84.0 %`, `61.2 % -> up to 63.0 %`."""
    if not found.has_weight:
        return NO_WEIGHT
    overall = report.summary.overall
    fixed = overall[f"if_fixed.{found.code}"].value
    limit = "up to " if found.at_most and fixed is not None else ""
    return f"{fmt.percent(overall['average'].value)} -> {limit}{fmt.percent(fixed)}"


def gain_of(report: Report, code: str) -> float:
    """What the average would rise by; 0 where that is not known."""
    return round(report.summary.overall.of("gain.<code>", code).value or 0.0, 12)


def gain(report: Report, found: FoundCode) -> str:
    """What fixing the code is worth in points: `+22.8`, or `-` where it has no weight."""
    if not found.has_weight:
        return NO_WEIGHT
    if report.summary.overall.of("gain.<code>", found.code).value is None:
        return fmt.NOT_AVAILABLE
    return fmt.points(gain_of(report, found.code)).removesuffix(" points")


def n_found(report: Report, code: str) -> int:
    """How many findings of the code the run has, however many the report lists."""
    return max(report.summary.overall.count_of("findings.<code>", code), len(report.findings.get(code, ())))


def patterns(report: Report) -> Table:
    """What goes wrong more than once, with the first cases behind it; patterns of the same cases are one row."""
    result = report.summary.patterns
    alike: dict[tuple[tuple[str, ...], int], list[str]] = {}
    for pattern in result:
        cell = (pattern.cases, pattern.n_cases) if pattern.cases else ((pattern.sentence,), 0)
        alike.setdefault(cell, []).append(pattern.sentence)
    in_all = report.summary.overall.count("patterns")
    note = f"the {len(result)} most frequent of {in_all:,} patterns" if in_all > len(result) else ""
    rows = [
        ("; the same cases: ".join(filter(None, [first, "; ".join(others)])), _some(cases, n_cases) if n_cases else "")
        for (cases, n_cases), (first, *others) in alike.items()
    ]
    columns = (doc.words("Pattern"), doc.words("Cases"))
    return Table("Common failure patterns", columns, rows, note, most=_MOST_PATTERNS)


def _some(cases: tuple[str, ...], n_cases: int) -> str:
    named = ", ".join(cases[:_MOST_CASES_NAMED])
    more = max(n_cases, len(cases)) - min(len(cases), _MOST_CASES_NAMED)
    return f"{named}, +{more}" if named and more > 0 else named


@frozen
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
