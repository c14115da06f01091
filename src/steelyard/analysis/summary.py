"""All figures of a run from its columns."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from steelyard.analysis.best import find_best
from steelyard.analysis.cell_groups import CellGroups
from steelyard.analysis.cells import Cells
from steelyard.analysis.checks import checks_figures
from steelyard.analysis.checks_model import ChecksFigures
from steelyard.analysis.confidence import confidence_figures
from steelyard.analysis.estimates import NOT_NEGATIVE
from steelyard.analysis.failing_codes import failing_codes
from steelyard.analysis.finding_places import section_figures, top_confusions
from steelyard.analysis.groups import Groups
from steelyard.analysis.judge_figures import judge_figures
from steelyard.analysis.judge_model import Judged
from steelyard.analysis.latency import latency_figures
from steelyard.analysis.measures import measured
from steelyard.analysis.mending import code_figures
from steelyard.analysis.model import BestVariant, Estimate, ModeFigure, Slice, Summary
from steelyard.analysis.patterns import find_patterns, find_priorities
from steelyard.analysis.pieces import Array, tally
from steelyard.analysis.repeats import Repeats
from steelyard.analysis.resampling import RESAMPLES, SEED
from steelyard.analysis.rubric import DescribedRubric, described_rubric
from steelyard.analysis.severity import severities
from steelyard.analysis.stability import Placed, stability_figures
from steelyard.analysis.stability_model import StabilityFigures
from steelyard.analysis.studentised import SHORT_INTERVALS
from steelyard.analysis.table import Table, cut
from steelyard.store.base import Certainties, Checks, Columns
from steelyard.store.contents import Contents

_LATENCIES = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "min": 0.0, "max": 1.0}
_TOTALS = ("tokens_in", "tokens_out", "cost")


def summarise(
    columns: Columns,
    suite: dict[str, Any],
    judgements: Iterable[Judged] | None = None,
    certainties: Certainties | None = None,
    checks: Checks | None = None,
    items: Iterable[Placed] | None = None,
    load: str | None = "",
    contents: Contents | None = None,
) -> Summary:
    """The summary of a run; `suite` is the suite as the run's header describes it.

    Samples that were planned and never came are missing from every figure of the whole run. `judgements` are those of
    the run in the order of its plan; they are read once and none is kept. `certainties` are what its answers claimed,
    `checks` what became of its expectations, `items` what its repeats are compared by and `contents` what its findings
    say. `load` says in words how the calls were made; None leaves out all about latency that no gate stands on.
    """
    absent = max(0, int(suite.get("n_planned") or 0) - columns.n)
    table = Table(columns, suite)
    groups = cut(columns, suite, absent)
    repeats = Repeats(table, suite)
    rubric = described_rubric(suite)
    slices = {factor: _slices(factor, each, table, repeats) for factor, each in groups.items()}
    checked, stability = _over_repeats(table, columns, groups, suite, checks, items, slices)
    overall = slices.pop("")[0]
    codes = code_figures(table, groups[""], overall, severities(suite))
    patterns, n_patterns = find_patterns(table, groups, suite)
    return Summary(
        passing=(suite.get("passing") or {}).get("text", ""),
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
        method=_method(clustered=any(each.clustered for each in groups.values()), measured=bool(table.measures)),
        extra={
            "n_patterns": n_patterns,
            "scales": {name: list(scale) for name, scale in table.scales.items()},
        },
        modes=_modes(groups[""], table, rubric),
        judge=None if judgements is None or rubric is None else judge_figures(judgements, rubric),
        confidence=None if certainties is None else confidence_figures(certainties, table, suite),
        checks=checked,
        stability=stability,
        latency=None if load is None else latency_figures(table, overall, suite, load),
        confusions=[] if contents is None else top_confusions(table, suite, contents),
        sections=section_figures(table, columns),
    )


def _over_repeats(
    table: Table,
    columns: Columns,
    groups: dict[str, Groups],
    suite: dict[str, Any],
    checks: Checks | None,
    items: Iterable[Placed] | None,
    slices: dict[str, list[Slice]],
) -> tuple[ChecksFigures | None, StabilityFigures | None]:
    """The figures of checks and of stability; those that gates stand on are put into the slices."""
    if not (
        (checks is not None and (checks.n or suite.get("expect"))) or (items is not None and suite.get("stability"))
    ):
        return None, None
    cells = CellGroups(table, groups, suite)
    checked, found = (None, {}) if checks is None else checks_figures(checks, columns, table.conclusive, cells, suite)
    stability, more = (None, {}) if items is None else stability_figures(items, table, cells, suite)
    for factor, each in slices.items():
        for g, group in enumerate(each):
            figures = [source[factor][g] for source in (found, more) if source]
            each[g] = replace(group, over_repeats={name: one for part in figures for name, one in part.items()})
    return checked, stability


def _slices(factor: str, groups: Groups, table: Table, repeats: Repeats) -> list[Slice]:
    n_outcomes, n_codes = len(table.outcomes), len(table.codes)
    outcomes = groups.counts(groups.labelled(table.outcome), n_outcomes)
    average = groups.means(table.score())
    median = groups.quantiles(table.score(), [0.5])
    passed = table.passed()
    pass_rate = groups.rates(groups.labelled(passed - 1), 1, passed >= 0)
    band = table.band()
    bands = groups.rates(groups.labelled(band), len(table.bands), band >= 0)
    components = {name: groups.means(table.component(name), table.scales[name]) for name in table.components}
    findings = groups.counts(groups.listed(table.finding_sample, table.finding_code), n_codes)
    once = table.findings_once()
    finding_rates = groups.rates(groups.listed(*once), n_codes, table.conclusive)
    finding_samples = groups.counts(groups.listed(*once), n_codes)
    outcome_rates = _outcome_rates(groups, table)
    latency = _latency(groups, table)
    measures, repeated = measured(groups, table), repeats.of(factor, groups)
    totals = {name: groups.totals(table.reported(name)) for name in _TOTALS}
    set_aside = groups.count(table.set_aside)
    return [
        Slice(
            factor=factor,
            name=name,
            n_planned=int(groups.planned[g]),
            outcomes={table.outcomes[i]: int(outcomes[g, i]) for i in range(n_outcomes) if outcomes[g, i]},
            average=average[g],
            median=median[g][0],
            pass_rate=pass_rate[g][0],
            bands=dict(zip(table.bands, bands[g], strict=True)),
            components={component: estimates[g] for component, estimates in components.items()},
            findings={code: int(n) for code, n in zip(table.codes, findings[g], strict=True) if n},
            latency={point: estimates[g] for point, estimates in latency.items()},
            finding_rates=dict(zip(table.codes, finding_rates[g], strict=True)),
            outcome_rates={kind: estimates[g] for kind, estimates in outcome_rates.items()},
            totals={total: estimates[g] for total, estimates in totals.items()},
            measures=measures[g],
            finding_samples={code: int(n) for code, n in zip(table.codes, finding_samples[g], strict=True) if n},
            repeated=repeated[g],
            set_aside=int(set_aside[g]),
        )
        for g, name in enumerate(groups.names)
    ]


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


def _outcome_rates(groups: Groups, table: Table) -> dict[str, list[Estimate]]:
    scored, inconclusive = 0, 1
    ending = np.full(table.n, -1, dtype=np.int8)
    ending[table.scored] = scored
    ending[~table.conclusive] = inconclusive
    of_all = groups.rates(groups.labelled(ending), 2, np.ones(table.n, dtype=bool), absent_as=inconclusive)
    malformed = groups.rates(groups.labelled(table.malformed.view(np.int8) - 1), 1, table.conclusive)
    return {
        "scored": [row[scored] for row in of_all],
        "malformed": [row[0] for row in malformed],
        "inconclusive": [row[inconclusive] for row in of_all],
    }


def _latency(groups: Groups, table: Table) -> dict[str, list[Estimate]]:
    latency = table.latency()
    points = groups.quantiles(latency, list(_LATENCIES.values()))
    found = {name: [row[i] for row in points] for i, name in enumerate(_LATENCIES)}
    return found | {"mean": groups.means(latency, NOT_NEGATIVE)}


def _frequent(codes: Array, names: list[str]) -> dict[str, int]:
    """How often each name occurs, most frequent first."""
    counts = tally(codes, len(names))
    return {
        names[i]: int(counts[i]) for i in sorted(range(len(names)), key=lambda i: (-counts[i], names[i])) if counts[i]
    }


def _best_variant(table: Table, suite: dict[str, Any]) -> BestVariant | None:
    if len(table.variants) < 2:
        return None
    cells = Cells(table, suite)
    if not cells.n:
        return None
    asked = max(len(suite.get("variants") or ()), len(cells.variants))
    samples_a_case = asked * max(1, int(suite.get("repeats") or 1))
    return find_best(
        cells.variants,
        cells.means(table.score()),
        n_cases=int(suite.get("n_planned") or 0) // samples_a_case,
        max_inconclusive=float(suite.get("max_inconclusive", 0.05)),
    )


def _method(*, clustered: bool, measured: bool) -> str:
    text = (
        "95 % intervals: Wilson for rates and, by their standard error, for means of a scale with ends; other means:"
        f" studentised bootstrap over cases ({RESAMPLES:,} resamples, seed {SEED}) or Student t, the farther end"
        f" ({SHORT_INTERVALS}); medians and percentiles: order statistics; undefined below n 2, a median below n 6"
    )
    if measured:
        text += "; measures: ratios of sums"
    return text + "; samples of a case: one cluster" if clustered else text
