"""What goes wrong and what is measured, as tables: errors by code, and the ratios that scorers declare."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from steelyard.analysis.finding_places import MOST_CONFUSIONS
from steelyard.analysis.model import CodeFigure, Estimate, Proportion, Slice
from steelyard.records import RunHeader
from steelyard.report import figures
from steelyard.report.judged_wording import judged_names
from steelyard.report.model import Report
from steelyard.report.tables import Column, Kind, Table
from steelyard.report.taxonomy import taxonomy
from steelyard.suite.gates import READABLE

_MOST_CODES = 50
_BY_VARIANT = "Measures by variant"
NO_WEIGHT = "-"
"""In the place of a gain, for what weighs nothing."""
_NOTHING = Proportion(Estimate(None, 0), 0, 0)


def errors(report: Report) -> Table:
    """Every code that was found: how often, in how many samples, and what the average would be were it mended."""
    known = taxonomy(report.header)
    listed = codes_listed(report)
    named = any(figure.code in known and known[figure.code].name for figure in listed)
    graded = any(not figure.weighs for figure in listed)
    rows = []
    for figure in listed:
        name = [known[figure.code].name if figure.code in known else ""] if named else []
        name += [severity_of(report.header, figure.code)] if graded else []
        samples = (samples_with(figure.samples), figures.bare_base(figure.samples))
        rows.append((figure.code, *name, f"{figure.count:,}", *samples, if_mended(report, figure), gain(figure)))
    titles = ("Found", "In samples", "n", "Average if mended", "Gain")
    name_column = ((Column("Name", Kind.TEXT),) if named else ()) + ((Column("Severity"),) if graded else ())
    columns = (Column("Code", Kind.TEXT), *name_column, *map(Column, titles))
    note = "gain: points that the average would rise by if all findings of this code alone were mended"
    if any(not figure.weighs for figure in listed):
        note += f"; {NO_WEIGHT}: no weight in the score, so no points say what it is worth to mend: judge by severity"
    left_off = len(report.summary.codes) - len(listed)
    note += f"; {left_off:,} codes that are worth less to mend are not shown" if left_off else ""
    return Table("Errors by code", columns, rows, note if rows else "")


def confusions(report: Report) -> Table:
    """What was taken for what most often."""
    found = report.summary.confusions
    rows = [(each.expected, each.got, each.code, f"{each.count:,}", f"{each.samples:,}") for each in found]
    columns = (*(Column(title, Kind.TEXT) for title in ("Expected", "Got", "Code")), Column("Found"), Column("Samples"))
    note = f"the most frequent of all findings that say both; at most {MOST_CONFUSIONS}" if rows else ""
    return Table("Top confusions", columns, rows, note)


def sections(report: Report) -> Table:
    """How many errors begin in each named region of the texts, and which."""
    rows = [
        (
            each.section,
            f"{each.count:,}",
            f"{each.samples:,}",
            ", ".join(f"{code} {count:,}" for code, count in each.codes.items()),
        )
        for each in report.summary.sections
    ]
    columns = (Column("Section", Kind.TEXT), Column("Found"), Column("Samples"), Column("Codes", Kind.TEXT))
    n = report.summary.overall.outcome_rates.get("malformed")
    note = f"findings by where in the text they begin, of {figures.counted(n.n, 'conclusive sample')}" if n else ""
    return Table("Errors by section", columns, rows, note if rows else "")


def severity_of(header: RunHeader, code: str) -> str:
    """How grave the suite calls a code; "" when it does not say."""
    return taxonomy(header)[code].severity if code in taxonomy(header) else ""


def codes_listed(report: Report) -> list[CodeFigure]:
    """The codes that a report for people lists, what is worth most to mend first."""
    return report.summary.codes[:_MOST_CODES]


def samples_with(share: Estimate) -> str:
    """How many samples have a code: `24 (33.3 %)`."""
    if share.value is None:
        return figures.NOT_AVAILABLE
    return f"{round(share.value * share.n):,} ({figures.percent(share.value)})"


def if_mended(report: Report, figure: CodeFigure) -> str:
    """The average as it is and as it would be: `61.2 % -> 84.0 %`, `61.2 % -> up to 63.0 %`."""
    if not figure.weighs:
        return NO_WEIGHT
    now, then = figures.percent(report.summary.overall.average.value), figures.percent(figure.mended.value)
    limit = "up to " if figure.at_most and figure.mended.value is not None else ""
    return f"{now} -> {limit}{then}"


def gain(figure: CodeFigure) -> str:
    """What mending the code is worth in points: `+22.8`, or `-` where it weighs nothing."""
    if not figure.weighs:
        return NO_WEIGHT
    if figure.mended.value is None:
        return figures.NOT_AVAILABLE
    return figures.points(figure.gain).removesuffix(" points")


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
    known = group.finding_rates.get(code)
    return Estimate(None, group.average.n, group.average.n_missing) if known is None else known


def n_found(report: Report, code: str) -> int:
    """How many findings of the code the run has, however many the report lists."""
    counted = next((figure.count for figure in report.summary.codes if figure.code == code), 0)
    return max(counted, len(report.findings.get(code, ())))


def measures(report: Report) -> Table:
    """Every measure of the whole run: the ratio, its interval, and the sums behind it."""
    rows = [
        (
            name,
            figures.percent(ratio.estimate.value),
            figures.interval(ratio.estimate),
            sums(ratio),
            figures.bare_base(ratio.estimate),
        )
        for name, ratio in measured(report, report.summary.overall)
    ]
    columns = (Column("Measure", Kind.TEXT), Column("Value"), Column("95 % interval"), Column("Counted"), Column("n"))
    note = (
        "ratios of counts, each summed over all n samples; of a mean, so many of these count the same" if rows else ""
    )
    return Table("Measures", columns, rows, note)


def measures_by_variant(report: Report) -> tuple[Table, ...]:
    """Every measure of every variant, in three layouts, each narrower than the one before.

    A row a variant, a row a measure, a row a figure.
    """
    groups = report.summary.slices.get("variant", [])
    names = [name for name, _ in measured(report, report.summary.overall)]
    if len(groups) < 2 or not names:
        return (Table("", (), []),)
    variants = [group.name for group in groups]
    ratios = [[dict(measured(report, group)).get(name, _NOTHING) for name in names] for group in groups]
    cells = [[f"{figures.percent(ratio.estimate.value)}\n{sums(ratio)}" for ratio in row] for row in ratios]
    bases = [figures.bare_base(group.average) for group in groups]
    return (
        _laid("Variant", variants, [*names, "n"], [[*row, base] for row, base in zip(cells, bases, strict=True)]),
        _laid("Measure", [*names, "n"], variants, [*map(list, zip(*cells, strict=True)), bases]),
        _one_by_one(variants, names, ratios),
    )


def _laid(corner: str, down: list[str], across: list[str], cells: list[list[str]]) -> Table:
    columns = (Column(corner, Kind.TEXT), *(Column(name, Kind.STACKED) for name in across))
    return Table(_BY_VARIANT, columns, [(name, *row) for name, row in zip(down, cells, strict=True)])


def _one_by_one(variants: list[str], names: list[str], ratios: list[list[Proportion]]) -> Table:
    columns = (Column("Variant", Kind.TEXT), Column("Measure", Kind.TEXT), *map(Column, ("Value", "Counted", "n")))
    rows = [
        (variant, name, figures.percent(ratio.estimate.value), sums(ratio), figures.bare_base(ratio.estimate))
        for variant, row in zip(variants, ratios, strict=True)
        for name, ratio in zip(names, row, strict=True)
    ]
    return Table(_BY_VARIANT, columns, rows)


def measured(report: Report, group: Slice) -> Iterator[tuple[str, Proportion]]:
    """The measures of a slice; a component's name stands before them when there is more than one component.

    Not those over readable answers that are the same over all, nor what no answer of a run with counts has counted.
    The flags of a judge have a table of their own.
    """
    judged = judged_names(report.header)
    computed = {name: ratios for name, ratios in group.measures.items() if name not in judged}
    several = len(computed) > 1
    for component, ratios in computed.items():
        for name, ratio in ratios.items():
            if name.endswith(READABLE) and sums(ratio) == sums(ratios[name.removesuffix(READABLE)]):
                continue
            if not ratio.estimate.n and any(other.estimate.n for other in ratios.values()):
                continue
            yield (f"{component}.{name}" if several else name), ratio


def sums(ratio: Proportion) -> str:
    """The two sums of a ratio, `10 of 12`, or how many ratios it is the mean of."""
    if ratio.mean_of:
        return f"mean of {ratio.mean_of:,}"
    return f"{ratio.numerator:,} of {ratio.denominator:,}"


def measure_about(header: RunHeader, name: str) -> str:
    """What a measure counts, as its scorer says; `name` is as `measured` gives it."""
    declared = header.suite.get("components")
    for component in declared if isinstance(declared, list | tuple) else ():
        known = {**component.get("measures", {}), **component.get("means", {})} if isinstance(component, dict) else {}
        for measure, told in known.items():
            known_as = (measure, f"{component.get('name')}.{measure}")
            if name.removesuffix(READABLE) in known_as and isinstance(told, dict):
                return str(told.get("about") or "")
    return ""
