"""The figures of a run by group: by category, difficulty, variant and tag, by component, measure and band."""

from __future__ import annotations

from collections.abc import Sequence

from steelyard.metrics.figures import Slice
from steelyard.metrics.registry import MEASURE, POINTS, READABLE
from steelyard.records import RunHeader
from steelyard.report import document as doc
from steelyard.report import format as fmt
from steelyard.report import wording
from steelyard.report.document import Column, Table
from steelyard.report.figures import (
    bar,
    base,
    counted,
    estimate,
    figures_table,
    gauge,
    interval,
    points,
    stacked_sums,
    sums,
    value,
)
from steelyard.report.format import OF_A_RUN
from steelyard.report.judge.run import judged_names, weight_of
from steelyard.report.model import Report, SampleDetail
from steelyard.stats.intervals import Estimate
from steelyard.store.figures import Kind
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
    # Which variant is best is said below the criteria by variant where there are some.
    best = report.summary.best_variant if factor == "variant" and not report.decision.by_variant else None
    name = factor.removeprefix("variant.")
    return figures_table(
        f"By {name}" + (f" (pass: {report.summary.passing})" if report.summary.passing else ""),
        report.header.description,
        groups,
        "",
        *(value("Average", "average"), interval("average"), gauge("average")),
        *(value("Pass rate", "pass_rate"), interval("pass_rate"), base("average")),
        head=fmt.heading(name),
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
            numbers = ", ".join(f"{level} {n:,}" for level, n in sizes.items())
            return [f"not comparable: other factors differ between the levels (samples with {where}: {numbers})"]
    return []


def variants(report: Report, most: int) -> Table:
    """The variants of a run that has several, for a screen: of many, the highest averages, and which is best if there
    is room for more than two."""
    groups = report.summary.slices.get("variant", [])
    if len(groups) < 2:
        return doc.NO_TABLE
    shown = groups if len(groups) <= most else sorted(groups, key=lambda group: -(group["average"].value or 0.0))[:most]
    best, longest = (report.summary.best_variant, _LONGEST_NAME) if most > _FEWEST else (None, _LONGEST_NAME // 2)
    return figures_table(
        "By variant" + ("" if len(shown) == len(groups) else f" (the highest averages of {len(groups):,})"),
        report.header.description,
        shown,
        "",
        *estimate("Average", "average"),
        *([value("Pass rate", "pass_rate")] if report.summary.passing else []),
        head="Variant",
        label=lambda row: fmt.clipped(row.label, longest),
        conclusion="" if best is None else best.sentence,
    )


def components(report: Report) -> Table:
    """The average of every component with its weight; what a judge said has tables of its own."""
    return figures_table(
        "Components",
        report.header.description,
        report.summary.overall,
        POINTS,
        ("Weight", lambda row: weight_of(report.header, row.label)),
        *(value("Average"), interval(), gauge(title="Scale"), base()),
        head="Component",
        each=computed(report),
        signature=OF_A_RUN,
    )


def computed(report: Report) -> list[str]:
    """The components that scorers compute."""
    judged = set() if report.summary.judge is None else judged_names(report.header)
    return [name for name in report.summary.overall.each(POINTS) if name not in judged]


def own_metrics(report: Report) -> Table:
    """The metrics that the suite brings along, of the whole run and of every variant where there are several."""
    suite, variants = report.header.description, report.summary.slices.get("variant", [])
    names = [item["name"] for item in suite.metrics]
    return figures_table(
        "Metrics of this suite",
        suite,
        [report.summary.overall, *(variants if len(variants) > 1 else [])],
        dict(zip(names, names, strict=True)),
        *estimate(),
        head="Metric",
    )


def measures(report: Report) -> Table:
    """Every measure of the whole run: the ratio, its interval, the sums behind it, and what its scorer says of it."""
    overall = report.summary.overall
    return figures_table(
        "Measures",
        report.header.description,
        overall,
        measured(report, overall),
        *(value(), interval(), gauge(), sums("Counted"), base()),
        (doc.words("What it is", optional=True), lambda row: measure_about(report.header, *row.own.names)),
        head="Measure",
        note="ratios of counts, each summed over all n samples; of a mean,  the measures it averages",
        signature=OF_A_RUN,
    )


def measures_by_variant(report: Report) -> Table:
    """Every measure of every variant: a row a variant or, where there are more measures, a row a measure."""
    groups, names = report.summary.slices.get("variant", []), measured(report, report.summary.overall)
    if len(groups) < 2 or not names:
        return doc.NO_TABLE
    columns = [stacked_sums(label, name) for label, name in names.items()]
    table = figures_table(
        "Measures by variant",
        report.header.description,
        groups,
        "",
        *columns,
        base("average", doc.Kind.STACKED),
        head="Variant",
    )
    return table.turned("Measure") if len(groups) < len(names) else table


def measured(report: Report, group: Slice) -> dict[str, Kind]:
    """A slice's measures by label: a component's name stands before them where there are several.

    Not those over readable answers that are the same over all, nor what no answer of a run with counts has counted.
    The flags of a judge have a table of their own.
    """
    judged = judged_names(report.header)
    every: dict[str, dict[str, Kind]] = {}
    for pattern, end in ((MEASURE, ""), (f"{MEASURE}{READABLE}", READABLE)):
        for component, measure in group.each_name(pattern):
            if component not in judged:
                every.setdefault(component, {})[f"{measure}{end}"] = Kind(pattern, (component, measure))

    def is_shown(name: str, of_component: dict[str, Kind]) -> bool:
        ratios = {measure: group.of(kind.pattern, *kind.names) for measure, kind in of_component.items()}
        both = [ratios[each] for each in (name, name.removesuffix(READABLE))]
        # A mean of ratios has no sums: its value tells it apart.
        same = name.endswith(READABLE) and len({(ratio.sums, ratio.value) for ratio in both}) == 1
        return not same and bool(ratios[name].n or not any(ratio.n for ratio in ratios.values()))

    return {
        (f"{component}.{name}" if len(every) > 1 else name): kind
        for component, kinds in every.items()
        for name, kind in kinds.items()
        if is_shown(name, kinds)
    }


def measure_about(header: RunHeader, component: str, measure: str) -> str:
    """What a measure counts, as its scorer says."""
    declared = next((item for item in header.description.components if item.name == component), None)
    described = declared and (declared.measures | declared.means).get(measure)
    return described.about if described else ""


def stated(report: Report) -> list[Table]:
    """The means in one table, then a table for each list of words; those without rows are left out."""
    declared = [component for component in report.header.description.components if component.kind == "stated"]
    means = _means(report, [component for component in declared if not component.measures])
    counts = [_counts(report, component) for component in declared if component.measures]
    return [table for table in (means, *counts) if table.rows]


def _means(report: Report, declared: list[Component]) -> Table:
    texts = dict.fromkeys(f"{item.figure}: {item.about}" for item in declared if item.about)
    return figures_table(
        "What else the judge says",
        report.header.description,
        report.summary.overall,
        POINTS,
        ("Scale", lambda row: "{:g} to {:g}".format(*row.scale())),
        *points("Mean"),
        head="Figure",
        each=[item.name for item in declared],
        note=f"means over the texts that have it; {_NO_WEIGHT}" + "".join(f"; {text.rstrip('.')}" for text in texts),
        signature=OF_A_RUN,
    )


def _counts(report: Report, declared: Component) -> Table:
    overall = report.summary.overall
    ratios = overall.each(MEASURE, declared.name)
    listed = max((ratio.denominator or 0 for ratio in ratios.values()), default=0)
    others = listed - sum(ratio.numerator or 0 for ratio in ratios.values())
    note = f"of all that the judge lists in n texts, less what a check contradicts; {_NO_WEIGHT}"
    return figures_table(
        declared.name + (f": {declared.about.rstrip('.')}" if declared.about else ""),
        report.header.description,
        overall,
        {word: Kind(MEASURE, (declared.name, word)) for word in ratios},
        sums("Times"),
        *estimate("Share"),
        head="Statement",
        note=note + (f"; {others:,} have another word or none" if others else ""),
    )


def bands(report: Report) -> Table:
    """How many samples are in each band of scores."""
    suite, shares = report.header.description, report.summary.overall.each("band.<band>")
    floors = {item.name: f">= {fmt.threshold(item.at_least)}" for item in suite.bands}
    return figures_table(
        "Score distribution",
        suite,
        report.summary.overall,
        "band.<band>",
        ("Score", lambda row: floors.get(row.label, "")),
        *(bar(), counted("Samples"), value("Share")),
        head="Band",
        each=shares if any(share.n for share in shares.values()) else (),
    )


def cases_by_variant(report: Report) -> Table:
    """Cases by variants, each cell the average score over the repeats with its n; of a large run, the worst cases."""
    names, cells = _by_cell(report)
    rows = [
        (case, *(doc.LinkedText(_cell(result.get(name, [])), Selection(case=case, variant=name)) for name in names))
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
    columns = [doc.words("Case"), doc.words("Expected"), *(Column(name, doc.Kind.LINES) for name in names)]
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
