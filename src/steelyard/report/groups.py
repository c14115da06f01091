"""The figures of a run by group: by category, difficulty, variant and tag, by component, measure and band."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from steelyard.metrics.figures import Slice
from steelyard.metrics.registry import MEASURE, READABLE
from steelyard.records import RunHeader
from steelyard.report import document as doc
from steelyard.report import format as fmt
from steelyard.report import wording
from steelyard.report.document import Column, Gauge, Kind, Table
from steelyard.report.format import OF_A_RUN
from steelyard.report.judge.run import judged_names, weight_of
from steelyard.report.model import Report, SampleDetail
from steelyard.stats.intervals import Estimate
from steelyard.store.selection import Selection
from steelyard.suite.models import Component, levels_of

_MOST_GROUPS = 20
_LONGEST_NAME = 40
_LONGEST_ANSWER = 160
_MOST_REPEATS = 3
_KEPT = 20
"""Characters before the first difference that stay."""
_FEWEST = 2
"""Variants that the shortest report shows."""
_NO_WEIGHT = "has no weight in the score"
_NOTHING = Estimate(None, 0, numerator=0, denominator=0)
_GAUGE = Column("0 to 100 %", Kind.GAUGE)


def slices(report: Report, factor: str) -> Table:
    """The groups of a factor; of many, and of tags, the lowest averages first.

    A case has many tags: one that only one sample bears is no group, unless that is all of them.
    """
    every = report.summary.slices[factor]
    fewest = 2 if factor == "tag" else 1
    groups = [group for group in every if group.n_planned >= fewest] or every
    notes = []
    if len(groups) < len(every):
        notes.append(f"{len(every) - len(groups):,} with a single sample are left out")
    if len(groups) > _MOST_GROUPS:
        notes.insert(0, f"the lowest averages of {len(groups):,} first")
        groups = sorted(groups, key=lambda group: (group["average"].value is None, group["average"].value or 0.0))
    if factor.startswith("variant."):
        notes += _unequal(report, factor.removeprefix("variant."))
    average, interval, n = doc.estimate(lambda group: group["average"], "Average")
    # Which variant is best is said below the criteria by variant where there are some.
    best = report.summary.best_variant if factor == "variant" and not report.decision.by_variant else None
    name = factor.removeprefix("variant.")
    return doc.table(
        f"By {name}" + (f" (pass: {report.summary.passing})" if report.summary.passing else ""),
        groups,
        (doc.words(fmt.heading(name)), lambda group: group.name),
        *(average, interval, (_GAUGE, lambda group: _gauge(group["average"]))),
        *doc.estimate(lambda group: group["pass_rate"], "Pass rate")[:2],
        n,
        selection=lambda group: None if factor.startswith("variant.") else Selection.of_slice(factor, group.name),
        note="; ".join(notes),
        conclusion="" if best is None else best.sentence,
        signature=OF_A_RUN,
    )


_UNEQUAL = 0.1
"""How much smaller a cell may be than its counterpart before two levels of a factor are of different mixtures."""


def _unequal(report: Report, factor: str) -> list[str]:
    """That the levels of a factor are not compared under the same other factors, since samples are missing or were not
    planned: then a difference between them may be one of the other factors."""
    cells: dict[tuple[tuple[str, str], ...], dict[str, int]] = {}
    levels: dict[str, None] = {}
    for group in report.summary.slices.get("variant", ()):
        named = levels_of(group.name)
        if factor not in named:
            return []
        levels.setdefault(named[factor])
        others = tuple((name, level) for name, level in named.items() if name != factor)
        cells.setdefault(others, {})[named[factor]] = group["average"].n
    if len(cells) < 2:
        return []
    for others, counts in cells.items():
        sizes = {level: counts.get(level, 0) for level in levels}
        if min(sizes.values()) < (1 - _UNEQUAL) * max(sizes.values()):
            where = ", ".join(f"{name}={level}" for name, level in others)
            counted = ", ".join(f"{level} {n:,}" for level, n in sizes.items())
            return [f"not comparable: other factors differ between the levels (samples with {where}: {counted})"]
    return []


def variants(report: Report, most: int) -> Table:
    """The variants of a run that has several, for a screen: of many, the highest averages, and which is best if there
    is room for more than two."""
    groups = report.summary.slices.get("variant", [])
    if len(groups) < 2:
        return doc.NO_TABLE
    shown = groups if len(groups) <= most else sorted(groups, key=lambda group: -(group["average"].value or 0.0))[:most]
    best, longest = (report.summary.best_variant, _LONGEST_NAME) if most > _FEWEST else (None, _LONGEST_NAME // 2)
    return doc.table(
        "By variant" + ("" if len(shown) == len(groups) else f" (the highest averages of {len(groups):,})"),
        shown,
        (doc.words("Variant"), lambda group: fmt.clipped(group.name, longest)),
        *doc.estimate(lambda group: group["average"], "Average"),
        *([doc.value(lambda group: group["pass_rate"], "Pass rate")] if report.summary.passing else []),
        selection=lambda group: Selection(variant=group.name),
        conclusion="" if best is None else best.sentence,
    )


def _gauge(estimate: Estimate, scale: tuple[float, float] = (0.0, 1.0)) -> Gauge:
    """Where a figure lies on its scale."""

    def place(value: float | None) -> float | None:
        return None if value is None or scale[1] <= scale[0] else (value - scale[0]) / (scale[1] - scale[0])

    label = fmt.with_base(estimate) if scale == (0.0, 1.0) else fmt.on_scale(estimate.value, scale)
    return Gauge(place(estimate.value), place(estimate.low), place(estimate.high), label=label)


def components(report: Report) -> Table:
    """The average of every component with its weight; what a judge said has tables of its own."""
    scales = {item.name: item.scale for item in report.header.description.components}
    return doc.table(
        "Components",
        [(name, average, scales.get(name, (0.0, 1.0))) for name, average in computed(report).items()],
        ("Component", lambda row: row[0]),
        ("Weight", lambda row: weight_of(report.header, row[0])),
        ("Average", lambda row: fmt.on_scale(row[1].value, row[2])),
        ("95 % interval", lambda row: fmt.interval_on_scale(row[1], row[2])),
        (Column("Scale", Kind.GAUGE), lambda row: _gauge(row[1], row[2])),
        doc.base(lambda row: row[1]),
        selection=lambda row: Selection(component=row[0]),
        signature=OF_A_RUN,
    )


def computed(report: Report) -> dict[str, Estimate]:
    """The components that scorers compute, by name."""
    judged = set() if report.summary.judge is None else judged_names(report.header)
    return {
        name: average
        for name, average in report.summary.overall.each("score.<component>.points").items()
        if name not in judged
    }


def own_metrics(report: Report) -> Table:
    """The metrics that the suite brings along, of the whole run and of every variant where there are several."""
    variants = report.summary.slices.get("variant", [])
    parts = [report.summary.overall, *(variants if len(variants) > 1 else [])]
    rows = [
        (
            f"variant.{part.name}.{name}" if part.factor else name,
            part[name],
            unit,
            Selection(variant=part.name if part.factor else ""),
        )
        for name, unit in ((item["name"], item["unit"]) for item in report.header.description.metrics)
        for part in parts
    ]
    return doc.table(
        "Metrics of this suite",
        rows,
        ("Metric", lambda row: row[0]),
        ("Value", lambda row: fmt.in_unit(row[1].value, row[2])),
        ("95 % interval", lambda row: fmt.interval(row[1], row[2])),
        doc.base(lambda row: row[1]),
        selection=lambda row: row[3],
    )


def measures(report: Report) -> Table:
    """Every measure of the whole run: the ratio, its interval, the sums behind it, and what its scorer says of it."""
    value, interval, n = doc.estimate(lambda row: row[1])
    return doc.table(
        "Measures",
        measured(report, report.summary.overall),
        ("Measure", lambda row: row[0]),
        *(value, interval, (_GAUGE, lambda row: _gauge(row[1])), ("Counted", lambda row: row[1].sums), n),
        (doc.words("What it is", optional=True), lambda row: measure_about(report.header, row[0])),
        selection=lambda row: Selection(component=_component(report, row[0])),
        note="ratios of counts, each summed over all n samples; of a mean,  the measures it averages",
        signature=OF_A_RUN,
    )


def _component(report: Report, measure: str) -> str:
    """The component that counts a measure, whose name is as `measured` gives it."""
    names = [name for name in _measured_components(report.summary.overall) if name not in judged_names(report.header)]
    return names[0] if len(names) == 1 else max((name for name in names if measure.startswith(f"{name}.")), key=len)


def measures_by_variant(report: Report) -> Table:
    """Every measure of every variant: a row a variant or, where there are more measures, a row a measure."""
    groups = report.summary.slices.get("variant", [])
    names = [name for name, _ in measured(report, report.summary.overall)]
    if len(groups) < 2 or not names:
        return doc.NO_TABLE
    ratios = [[_by_name(report, group).get(name, _NOTHING) for name in names] for group in groups]
    rows = [
        (
            group.name,
            *(doc.Figures(f"{fmt.percent(ratio.value)}\n{ratio.sums}", Selection(variant=group.name)) for ratio in row),
            doc.Figures(fmt.bare_base(group["average"]), Selection(variant=group.name)),
        )
        for group, row in zip(groups, ratios, strict=True)
    ]
    corner, heads = "Variant", [*names, "n"]
    if len(groups) < len(names):
        (*heads,), *columns = zip(*rows, strict=True)
        corner, rows = "Measure", list(zip([*names, "n"], *zip(*columns, strict=True), strict=True))
    return Table("Measures by variant", (doc.words(corner), *(Column(name, Kind.STACKED) for name in heads)), rows)


def measured(report: Report, group: Slice) -> Iterator[tuple[str, Estimate]]:
    """The measures of a slice; a component's name stands before them when there is more than one component.

    Not those over readable answers that are the same over all, nor what no answer of a run with counts has counted.
    The flags of a judge have a table of their own.
    """
    computed = _computed(report, group)
    for component, ratios in computed.items():
        for name, ratio in ratios.items():
            if name.endswith(READABLE) and ratio.sums == ratios[name.removesuffix(READABLE)].sums:
                continue
            if ratio.n or not any(other.n for other in ratios.values()):
                yield (f"{component}.{name}" if len(computed) > 1 else name), ratio


def _computed(report: Report, group: Slice) -> dict[str, dict[str, Estimate]]:
    """Every measure of a slice by component and name, without the flags of a judge."""
    judged = judged_names(report.header)
    return {name: group_measures(group, name) for name in _measured_components(group) if name not in judged}


def _measured_components(group: Slice) -> list[str]:
    """The components with measures."""
    return list(dict.fromkeys(component for component, _ in group.each_name(MEASURE)))


def group_measures(group: Slice, component: str) -> dict[str, Estimate]:
    """The measures of a component; of runs with malformed answers, each also over those that could be read."""
    readable = {f"{name}{READABLE}": item for name, item in group.each(f"{MEASURE}{READABLE}", component).items()}
    return group.each(MEASURE, component) | readable


def _by_name(report: Report, group: Slice) -> dict[str, Estimate]:
    """Every measure of a slice by the name that `measured` gives it, also where that leaves it out."""
    computed = _computed(report, group)
    return {
        (f"{component}.{name}" if len(computed) > 1 else name): ratio
        for component, ratios in computed.items()
        for name, ratio in ratios.items()
    }


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


def _means(report: Report, declared: list[Component]) -> Table:
    overall = report.summary.overall
    means = {item.name: overall[f"score.{item.name}.points"] for item in declared}
    texts = dict.fromkeys(f"{item.figure}: {item.about}" for item in declared if item.about)
    return doc.table(
        "What else the judge says",
        declared,
        ("Figure", lambda item: item.name),
        ("Scale", lambda item: f"{item.scale[0]:g} to {item.scale[1]:g}"),
        *doc.estimate(lambda item: means[item.name], "Mean", "points"),
        selection=lambda item: Selection(component=item.name),
        note=f"means over the texts that have it; {_NO_WEIGHT}" + "".join(f"; {text.rstrip('.')}" for text in texts),
        signature=OF_A_RUN,
    )


def _counts(report: Report, declared: Component) -> Table:
    ratios = report.summary.overall.each(MEASURE, declared.name)
    listed = max((ratio.denominator or 0 for ratio in ratios.values()), default=0)
    others = listed - sum(ratio.numerator or 0 for ratio in ratios.values())
    note = f"of all that the judge lists in n texts, less what a check contradicts; {_NO_WEIGHT}"
    return doc.table(
        declared.name + (f": {declared.about.rstrip('.')}" if declared.about else ""),
        ratios.items(),
        ("Statement", lambda row: row[0]),
        ("Times", lambda row: row[1].sums),
        *doc.estimate(lambda row: row[1], "Share"),
        selection=lambda _: Selection(component=declared.name),
        note=note + (f"; {others:,} have another word or none" if others else ""),
    )


def bands(report: Report) -> Table:
    """How many samples are in each band of scores."""
    shares = report.summary.overall.each("band.<band>")
    floors = {item.name: f">= {fmt.threshold(item.at_least)}" for item in report.header.description.bands}
    return doc.table(
        "Score distribution",
        shares.items() if any(share.n for share in shares.values()) else (),
        ("Band", lambda row: row[0]),
        ("Score", lambda row: floors.get(row[0], "")),
        (Column("", Kind.BAR), lambda row: Gauge(row[1].value)),
        ("Samples", lambda row: fmt.band_count(row[1])),
        doc.value(lambda row: row[1], "Share"),
        selection=lambda row: Selection(band=row[0]),
    )


def cases_by_variant(report: Report) -> Table:
    """Cases by variants, each cell the average score over the repeats with its n; of a large run, the worst cases."""
    names, cells = _by_cell(report)
    rows = [
        (case, *(doc.Figures(_cell(result.get(name, [])), Selection(case=case, variant=name)) for name in names))
        for case, result in cells.items()
    ]
    note = "average score over the repeats"
    return _grid(report, "Cases by variant", (doc.words("Case"), *map(Column, names)), rows, note)


def answers_by_variant(report: Report) -> Table:
    """Cases by variants with the answers of each: score and the part of the answer in which the variants differ."""
    names, cells = _by_cell(report)
    expected = {detail.line.case_id: detail.expected for detail in report.grid or report.details}
    rows = []
    for case, result in cells.items():
        texts = [detail.answer or "" for name in names for detail in result.get(name, [])[:_MOST_REPEATS]]
        parts = iter(differing_parts(texts, _LONGEST_ANSWER))
        row = [
            "\n".join(_answer(detail, next(parts)) for detail in result.get(name, [])[:_MOST_REPEATS])
            + _more(len(result.get(name, [])) - _MOST_REPEATS)
            for name in names
        ]
        truth = "" if expected[case] is None else fmt.shortened(fmt.as_text(expected[case]), _LONGEST_ANSWER)
        rows.append((case, truth, *row))
    columns = [doc.words("Case"), doc.words("Expected"), *(Column(name, Kind.LINES) for name in names)]
    note = f"score and answer of each repeat; what all answers to a case begin with is cut to {START}"
    return _grid(report, "Answers by variant", tuple(columns), rows, note)


def _by_cell(report: Report) -> tuple[list[str], dict[str, dict[str, list[SampleDetail]]]]:
    """The variants, and by case and variant the samples, whose details must be all of the run or of some cases."""
    cells: dict[str, dict[str, list[SampleDetail]]] = {}
    variants: dict[str, None] = {}
    for detail in report.grid or report.details:
        variants[detail.line.variant] = None
        cells.setdefault(detail.line.case_id, {}).setdefault(detail.line.variant, []).append(detail)
    if len(variants) < 2 or (len(report.details) < report.n_samples and not report.grid):
        return [], {}
    for result in cells.values():
        for details in result.values():
            details.sort(key=lambda detail: detail.line.repeat)
    order = [group.name for group in report.summary.slices.get("variant", []) if group.name in variants]
    return order if len(order) == len(variants) else sorted(variants), dict(sorted(cells.items()))


def _grid(
    report: Report, title: str, columns: tuple[Column, ...], rows: Sequence[tuple[doc.Cell, ...]], note: str
) -> Table:
    if not rows:
        return doc.NO_TABLE
    some = "; of the cases with the worst samples" if report.grid else ""
    n_cases = (report.header.description.n_cases or 0) if report.grid else len(rows)
    return Table(title, columns, rows, note + some, total=max(len(rows), n_cases))


def _answer(detail: SampleDetail, text: str) -> str:
    score = "" if wording.is_excluded(detail) else fmt.percent(detail.line.score)
    return f"{score or detail.line.outcome}: {text or detail.line.why or 'empty'}"


def _more(n: int) -> str:
    return f"\nand {fmt.counted(n, 'more repeat')}" if n > 0 else ""


START = "[...]"
"""Stands for what several texts begin with."""


def differing_parts(texts: Sequence[str], most: int) -> list[str]:
    """Each text on one line and cut to `most` characters; a long beginning that all share is cut, so that what differs
    is seen."""
    lines = [fmt.one_line(text) for text in texts]
    first, last = min(filter(None, lines), default=""), max(lines, default="")
    # The first and the last in order begin with all that every text begins with.
    shared = next(
        (at for at, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), min(len(first), len(last))
    )
    start = first.rfind(" ", 0, max(0, shared - _KEPT)) + 1 if first != last and shared > most // 2 else 0
    return [fmt.shortened(f"{START} {line[start:]}" if start and line else line, most) for line in lines]


def _cell(details: Sequence[SampleDetail]) -> str:
    if not details:
        return "not scored"
    scores = [None if wording.is_excluded(detail) else detail.line.score for detail in details]
    available = [score for score in scores if score is not None]
    average = sum(available) / len(available) if available else None
    return fmt.with_base(Estimate(average, len(available), len(scores) - len(available)))
