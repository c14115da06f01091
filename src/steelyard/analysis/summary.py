"""All figures of a run from its columns."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

import numpy as np

from steelyard.analysis.best import find_best, planned_cases
from steelyard.analysis.checks import checks_figures
from steelyard.analysis.confidence import confidence_figures
from steelyard.analysis.failing_codes import failing_codes
from steelyard.analysis.finding_places import section_figures, top_confusions
from steelyard.analysis.judge_check import JudgeCheck, SampleKey, judge_check
from steelyard.analysis.judge_figures import judge_figures
from steelyard.analysis.judge_model import Judged
from steelyard.analysis.latency import latency_figures
from steelyard.analysis.mending import code_figures
from steelyard.analysis.model import BestVariant, ModeFigure, Slice, Summary
from steelyard.analysis.patterns import find_patterns, find_priorities
from steelyard.analysis.repeats import Repeats
from steelyard.analysis.rubric import DescribedRubric, Labels, described_rubric
from steelyard.analysis.severity import severities
from steelyard.analysis.stability import stability_figures
from steelyard.metrics.aggregate import Proportion, figures
from steelyard.metrics.cells import Cells
from steelyard.metrics.registry import Level
from steelyard.metrics.run_data import RunData
from steelyard.metrics.stability import Placed
from steelyard.metrics.table import Table, clusters_in_words
from steelyard.stats.arrays import Array, tally
from steelyard.stats.groups import Groups
from steelyard.stats.intervals import Estimate
from steelyard.store.base import Certainties, Checks, Columns
from steelyard.store.contents import Contents
from steelyard.suite.models import SuiteDescription


def summarise(
    columns: Columns,
    suite: SuiteDescription,
    judgements: Iterable[Judged] | None = None,
    certainties: Certainties | None = None,
    checks: Checks | None = None,
    items: Iterable[Placed] | None = None,
    load: str | None = "",
    contents: Contents | None = None,
    labels: Mapping[str, Labels] | None = None,
    labelled: Collection[SampleKey] = (),
) -> Summary:
    """The summary of a run; `suite` is the suite as the run's header describes it.

    Samples that were planned and never came are missing from every figure of the whole run. `judgements` are those of
    the run in the order of its plan; they are read once and none is kept. `certainties` are what its answers claimed,
    `checks` what became of its expectations, `items` what its repeats are compared by and `contents` what its findings
    say. `load` says in words how the calls were made; None leaves out all about latency that no gate stands on.
    `labels` are what reviewers say of its cases, by case, and `labelled` the samples whose text they said it of.
    """
    data = RunData(columns, suite, checks, items)
    table, groups = data.table, data.groups
    repeats = Repeats(table, suite)
    rubric = described_rubric(suite)
    slices = {factor: _slices(data, factor, repeats) for factor in groups}
    overall = slices.pop("")[0]
    codes = code_figures(table, groups[""], overall, severities(suite))
    patterns, n_patterns = find_patterns(table, groups, suite)
    return Summary(
        passing=suite.passing.text if suite.passing else "",
        overall=overall,
        slices=slices,
        patterns=patterns,
        priorities=find_priorities(table, overall, suite, codes),
        failures=_frequent(columns.failure, columns.failures),
        rungs=_frequent(columns.rung, columns.rungs),
        tokens_in=overall.totals["tokens_in"],
        tokens_out=overall.totals["tokens_out"],
        cost=overall.totals["cost"],
        codes=codes,
        failing=failing_codes(table, codes, suite),
        best_variant=_best_variant(table, suite),
        repeats=int(columns.repeat.max()) + 1 - int(columns.repeat.min()) if columns.n else 1,
        method=_method(table, clustered=any(each.clustered for each in groups.values())),
        extra={
            "n_patterns": n_patterns,
            "scales": {name: list(scale) for name, scale in table.scales.items()},
        },
        modes=_modes(groups[""], table, rubric),
        judge=None if judgements is None or rubric is None else judge_figures(judgements, rubric, labels),
        judge_check=None
        if labels is None or rubric is None
        else _judge_check(table, columns, labels, labelled, rubric),
        confidence=None if certainties is None else confidence_figures(certainties, table, suite),
        checks=checks_figures(data, overall.over_repeats),
        stability=stability_figures(data, overall.over_repeats),
        latency=None if load is None else latency_figures(table, overall, suite, load),
        confusions=[] if contents is None else top_confusions(table, suite, contents),
        sections=section_figures(table, columns),
    )


def _judge_check(
    table: Table,
    columns: Columns,
    labels: Mapping[str, Labels],
    labelled: Collection[SampleKey],
    rubric: DescribedRubric,
) -> JudgeCheck:
    """What labels say of the judge, over the samples that it read."""
    passed = table.passed()
    known = table.scored & (passed >= 0)
    places = zip(columns.case.tolist(), columns.variant.tolist(), columns.repeat.tolist(), strict=True)
    keys = ((columns.case_ids[case], columns.variants[variant], repeat) for case, variant, repeat in places)
    own = np.array([key in labelled for key in keys], dtype=bool)
    return judge_check(np.where(known, passed, np.nan), columns.case, columns.case_ids, labels, own, rubric)


def _slices(data: RunData, factor: str, repeats: Repeats) -> list[Slice]:
    """Every group of a factor with every metric that the run has."""
    groups, table = data.groups[factor], data.table
    n_outcomes = len(table.outcomes)
    outcomes = groups.counts(groups.labelled(table.outcome), n_outcomes)
    set_aside, repeated = groups.count(table.set_aside), repeats.of(factor, groups)
    fields: list[dict[str, Any]] = [{} for _ in groups.names]
    levels = [Level.SAMPLE] if data.counted is None and data.stability is None else [Level.SAMPLE, Level.CELL]
    for metric, names, column in (found for level in levels for found in figures(data, factor, level)):
        path = metric.place_of(names)
        for place, figure in zip(fields, column, strict=True):
            _put(place, path, figure)
    return [
        Slice(
            factor=factor,
            name=name,
            n_planned=int(groups.planned[g]),
            outcomes={table.outcomes[i]: int(outcomes[g, i]) for i in range(n_outcomes) if outcomes[g, i]},
            repeated=repeated[g],
            set_aside=int(set_aside[g]),
            **fields[g],
        )
        for g, name in enumerate(groups.names)
    ]


def _put(fields: dict[str, Any], path: tuple[str, ...], figure: Estimate | Proportion) -> None:
    """Puts a figure into its place; of findings only the number is kept, and of those that were found."""
    head, names = path[0], path[1:]
    if not names:
        # The sum of all findings is that of their codes.
        if head != "findings":
            fields[head] = figure
        return
    at = fields.setdefault(head, {})
    for name in names[:-1]:
        at = at.setdefault(name, {})
    if head in ("findings", "finding_samples"):
        count = int(figure.value or 0) if isinstance(figure, Estimate) else 0
        at.update({names[-1]: count} if count else {})
    else:
        at[names[-1]] = figure.estimate if head == "metrics" and isinstance(figure, Proportion) else figure


def _modes(run: Groups, table: Table, rubric: DescribedRubric | None) -> dict[str, ModeFigure]:
    """Each mode on its own, the run's main one first."""
    if rubric is None:
        return {}
    dimensions = [name for name in rubric.dimensions if name in table.components]
    found = {}
    for mode in sorted(table.modes, key=lambda name: (name != rubric.mode, name)):
        average = run.means(table.read_in(mode))[0]
        if average.n:
            means = {name: run.means(table.read_in(mode, name), rubric.scale)[0] for name in dimensions}
            found[mode] = ModeFigure(average.n, average, means)
    return found


def _frequent(codes: Array, names: list[str]) -> dict[str, int]:
    """How often each name occurs, most frequent first."""
    counts = tally(codes, len(names))
    return {
        names[i]: int(counts[i]) for i in sorted(range(len(names)), key=lambda i: (-counts[i], names[i])) if counts[i]
    }


def _best_variant(table: Table, suite: SuiteDescription) -> BestVariant | None:
    if len(table.variants) < 2:
        return None
    cells = Cells(table, suite)
    if not cells.n:
        return None
    return find_best(
        cells.variants,
        cells.means(table.score()),
        n_cases=planned_cases(cells, suite),
        max_inconclusive=suite.max_inconclusive,
        unit=table.unit_of_case(),
    )


def _method(table: Table, *, clustered: bool) -> str:
    text = (
        "95 % intervals: Wilson for rates and, by their standard error, for means of a scale with ends; none for other"
        " means; medians and percentiles: order statistics; undefined below n 2, a median below n 6"
    )
    if table.measures:
        text += "; measures: ratios of sums"
    if not clustered:
        return text
    text += "; samples of a case: one cluster, shares over them as means"
    n_units, n_cases = len(table.unit_names), len(table.case_ids)
    return text if n_units == n_cases else f"{text}; {clusters_in_words(n_cases, n_units)}"
