"""The figures of a run by group: by category, difficulty, variant and tag, by component, measure and band."""

from __future__ import annotations

from collections.abc import Iterator

from steelyard.analysis.model import Slice
from steelyard.analysis.wording import in_unit
from steelyard.metrics.aggregate import Proportion
from steelyard.metrics.registry import READABLE
from steelyard.records import RunHeader
from steelyard.report import format as fmt
from steelyard.report import wording
from steelyard.report.document import Column, Gauge, Kind, Table
from steelyard.report.format import OF_A_RUN
from steelyard.report.judge.run import judged_names, weight_of
from steelyard.report.model import Report
from steelyard.stats.intervals import Estimate
from steelyard.suite.models import ComponentDescription

_MOST_GROUPS = 20
_NO_WEIGHT = "has no weight in the score"
_NOTHING = Proportion(Estimate(None, 0), 0, 0)


def slices(report: Report, factor: str) -> Table:
    """The groups of a factor; of many, and of tags, the lowest averages first.

    A case has many tags: one that only one sample bears is no group, unless that is all of them.
    """
    every = report.summary.slices[factor]
    fewest = 2 if factor == "tag" else 1
    groups = [group for group in every if group.n_planned >= fewest] or every
    many = len(groups) > _MOST_GROUPS
    rows = [
        (
            group.name,
            fmt.percent(group.average.value),
            fmt.interval(group.average),
            _gauge(group.average),
            fmt.percent(group.pass_rate.value),
            fmt.interval(group.pass_rate),
            fmt.bare_base(group.average),
        )
        for group in (sorted(groups, key=_lowest_first) if many else groups)
    ]
    interval = Column("95 % interval")
    gauge = Column("0 to 100 %", Kind.GAUGE)
    averages = (Column("Average"), interval, gauge)
    columns = (Column(factor.capitalize(), Kind.TEXT), *averages, Column("Pass rate"), interval, Column("n"))
    notes = [f"the lowest averages of {len(groups):,} first"] if many else []
    notes += [f"{len(every) - len(groups):,} with a single sample are left out"] if len(groups) < len(every) else []
    best = _best(report) if factor == "variant" else ""
    return Table(f"By {factor}{_passing(report)}", columns, rows, "; ".join(notes), best, OF_A_RUN)


def _gauge(estimate: Estimate, scale: tuple[float, float] = (0.0, 1.0)) -> Gauge:
    """Where a figure lies on its scale."""

    def place(value: float | None) -> float | None:
        return None if value is None or scale[1] <= scale[0] else (value - scale[0]) / (scale[1] - scale[0])

    label = fmt.with_base(estimate) if scale == (0.0, 1.0) else fmt.on_scale(estimate.value, scale)
    return Gauge(place(estimate.value), place(estimate.low), place(estimate.high), label=label)


def _best(report: Report) -> str:
    """Which variant is best, unless the table of criteria by variant says it."""
    best = report.summary.best_variant
    return "" if best is None or report.decision.by_variant else best.sentence


def _passing(report: Report) -> str:
    return f" (pass: {report.summary.passing})" if report.summary.passing else ""


def _lowest_first(group: Slice) -> tuple[bool, float]:
    return (group.average.value is None, group.average.value or 0.0)


def components(report: Report) -> Table:
    """The average of every component with its weight; what a judge said has tables of its own."""
    rows = []
    for name, average in computed(report).items():
        scale = wording.scale_of(report.header, name)
        rows.append(
            (
                name,
                weight_of(report.header, name),
                fmt.on_scale(average.value, scale),
                fmt.interval_on_scale(average, scale),
                _gauge(average, scale),
                fmt.bare_base(average),
            )
        )
    titles = ("Weight", "Average", "95 % interval")
    columns = (Column("Component", Kind.TEXT), *map(Column, titles), Column("Scale", Kind.GAUGE), Column("n"))
    return Table("Components", columns, rows, signature=OF_A_RUN)


def computed(report: Report) -> dict[str, Estimate]:
    """The components that scorers compute, by name."""
    judged = set() if report.summary.judge is None else judged_names(report.header)
    return {name: average for name, average in report.summary.overall.components.items() if name not in judged}


def own_metrics(report: Report) -> Table:
    """The metrics that the suite brings along, of the whole run and of every variant where there are several."""
    parts = [report.summary.overall]
    variants = report.summary.slices.get("variant", [])
    parts += variants if len(variants) > 1 else []
    rows = []
    for declared in report.header.description.metrics:
        for part in parts:
            estimate = part.metrics.get(declared["name"], Estimate(None, 0, part.n_planned))
            value = fmt.NOT_AVAILABLE if estimate.value is None else in_unit(estimate.value, declared["unit"])
            name = declared["name"] if not part.factor else f"variant.{part.name}.{declared['name']}"
            rows.append((name, value, fmt.interval(estimate, declared["unit"]), fmt.bare_base(estimate)))
    columns = (Column("Metric", Kind.TEXT), Column("Value"), Column("95 % interval"), Column("n"))
    return Table("Metrics of this suite", columns, rows)


def measures(report: Report) -> Table:
    """Every measure of the whole run: the ratio, its interval, the sums behind it, and what its scorer says of it."""
    rows = [
        (
            name,
            fmt.percent(ratio.estimate.value),
            fmt.interval(ratio.estimate),
            _gauge(ratio.estimate),
            sums(ratio),
            fmt.bare_base(ratio.estimate),
            measure_about(report.header, name),
        )
        for name, ratio in measured(report, report.summary.overall)
    ]
    titles = (Column("Value"), Column("95 % interval"), Column("0 to 100 %", Kind.GAUGE), Column("Counted"))
    what = Column("What it is", Kind.TEXT, optional=True)
    columns = (Column("Measure", Kind.TEXT), *titles, Column("n"), what)
    note = "ratios of counts, each summed over all n samples; of a mean, the measures it averages"
    return Table("Measures", columns, rows, note, signature=OF_A_RUN)


def measures_by_variant(report: Report) -> Table:
    """Every measure of every variant: a row a variant or, where there are more measures, a row a measure."""
    groups = report.summary.slices.get("variant", [])
    names = [name for name, _ in measured(report, report.summary.overall)]
    if len(groups) < 2 or not names:
        return Table("", (), [])
    variants = [group.name for group in groups]
    ratios = [[dict(measured(report, group)).get(name, _NOTHING) for name in names] for group in groups]
    cells = [[f"{fmt.percent(ratio.estimate.value)}\n{sums(ratio)}" for ratio in row] for row in ratios]
    bases = [fmt.bare_base(group.average) for group in groups]
    if len(variants) < len(names):
        turned = [*map(list, zip(*cells, strict=True)), bases]
        return _laid("Measure", [*names, "n"], variants, turned)
    return _laid("Variant", variants, [*names, "n"], [[*row, base] for row, base in zip(cells, bases, strict=True)])


def _laid(corner: str, down: list[str], across: list[str], cells: list[list[str]]) -> Table:
    columns = (Column(corner, Kind.TEXT), *(Column(name, Kind.STACKED) for name in across))
    return Table("Measures by variant", columns, [(name, *row) for name, row in zip(down, cells, strict=True)])


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
    for component in header.description.components:
        for measure, described in (component.measures | component.means).items():
            if name.removesuffix(READABLE) in (measure, f"{component.name}.{measure}"):
                return described.about
    return ""


def stated(report: Report) -> list[Table]:
    """The means in one table, then a table for each list of words; those without rows are left out."""
    declared = [component for component in report.header.description.components if component.kind == "stated"]
    means = _means(report, [component for component in declared if not component.measures])
    counts = [_counts(report, component) for component in declared if component.measures]
    return [table for table in (means, *counts) if table.rows]


def _means(report: Report, declared: list[ComponentDescription]) -> Table:
    overall = report.summary.overall
    rows = []
    for component in declared:
        mean = overall.components.get(component.name, Estimate(None, 0, overall.n_planned))
        shown = (fmt.plain(mean.value), fmt.interval(mean, "points"), fmt.bare_base(mean))
        low, high = component.scale
        rows.append((component.name, f"{low:g} to {high:g}", *shown))
    texts = dict.fromkeys(f"{component.figure}: {component.about}" for component in declared if component.about)
    note = f"means over the texts that have it; {_NO_WEIGHT}" + "".join(f"; {text.rstrip('.')}" for text in texts)
    columns = (Column("Figure", Kind.TEXT), *map(Column, ("Scale", "Mean", "95 % interval", "n")))
    return Table("What else the judge says", columns, rows, note if rows else "", signature=OF_A_RUN)


def _counts(report: Report, declared: ComponentDescription) -> Table:
    ratios = report.summary.overall.measures.get(declared.name, {})
    rows = [
        (
            word,
            sums(ratio),
            fmt.percent(ratio.estimate.value),
            fmt.interval(ratio.estimate),
            fmt.bare_base(ratio.estimate),
        )
        for word, ratio in ratios.items()
    ]
    listed = max((ratio.denominator for ratio in ratios.values()), default=0)
    others = listed - sum(ratio.numerator for ratio in ratios.values())
    note = f"of all that the judge lists in n texts, less what a check contradicts; {_NO_WEIGHT}"
    note += f"; {others:,} have another word or none" if others else ""
    columns = (Column("Statement", Kind.TEXT), *map(Column, ("Times", "Share", "95 % interval", "n")))
    about = f": {declared.about.rstrip('.')}" if declared.about else ""
    return Table(f"{declared.name}{about}", columns, rows, note if rows else "")


def bands(report: Report) -> Table:
    """How many samples are in each band of scores."""
    shares = report.summary.overall.bands
    rows = [
        (
            name,
            wording.band_floor(report.header, name),
            Gauge(share.value),
            fmt.band_count(share),
            fmt.percent(share.value),
        )
        for name, share in shares.items()
        if any(share.n for share in shares.values())
    ]
    columns = (Column("Band", Kind.TEXT), Column("Score"), Column("", Kind.BAR), Column("Samples"), Column("Share"))
    return Table("Score distribution", columns, rows)


def cases_by_variant(report: Report) -> Table:
    """Cases by variants, each cell the average score over the repeats with its n; nothing unless all are stored."""
    cells: dict[str, dict[str, list[float | None]]] = {}
    variants: dict[str, None] = {}
    for detail in report.details:
        line = detail.line
        variants[line.variant] = None
        score = None if wording.is_excluded(detail) else line.score
        cells.setdefault(line.case_id, {}).setdefault(line.variant, []).append(score)
    if len(variants) < 2 or len(report.details) < report.n_samples:
        return Table("", (), [])
    order = [group.name for group in report.summary.slices.get("variant", []) if group.name in variants]
    names = order if len(order) == len(variants) else sorted(variants)
    rows = [(case, *(_cell(result.get(name, [])) for name in names)) for case, result in sorted(cells.items())]
    columns = (Column("Case", Kind.TEXT), *map(Column, names))
    return Table("Cases by variant", columns, rows, "average score over the repeats")


def _cell(scores: list[float | None]) -> str:
    if not scores:
        return "not scored"
    available = [score for score in scores if score is not None]
    average = sum(available) / len(available) if available else None
    return fmt.with_base(Estimate(average, len(available), len(scores) - len(available)))
