"""All figures of a run from its columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from steelyard.analysis.groups import NOT_NEGATIVE, Array, Groups, distinct
from steelyard.analysis.model import Estimate, Slice, Summary
from steelyard.analysis.patterns import find_patterns, find_priorities
from steelyard.analysis.table import Table, build_table, canonical_order, cut
from steelyard.store.base import Columns

_LATENCIES = {"p50": 0.5, "p95": 0.95, "min": 0.0, "max": 1.0}


def summarise(columns: Columns, suite: dict[str, Any]) -> Summary:
    """The summary of a run; `suite` is the suite as the run's header describes it."""
    order, rank = canonical_order(columns)
    table = build_table(columns, suite, order)
    groups = cut(columns, suite, order, rank)
    slices = {factor: _slices(factor, each, table) for factor, each in groups.items()}
    overall = slices.pop("")[0]
    patterns, n_patterns = find_patterns(table, groups, suite)
    return Summary(
        passing=(suite.get("passing") or {}).get("text", ""),
        overall=overall,
        slices=slices,
        patterns=patterns,
        priorities=find_priorities(table, overall, suite),
        failures=_tally(columns.failure, columns.failures),
        rungs=_tally(columns.rung, columns.rungs),
        tokens_in=overall.totals["tokens_in"],
        tokens_out=overall.totals["tokens_out"],
        cost=overall.totals["cost"],
        repeats=int(columns.repeat.max()) + 1 - int(columns.repeat.min()) if columns.n else 1,
        method=_method(clustered=any(each.clustered for each in groups.values())),
        extra={
            "n_patterns": n_patterns,
            "scales": {name: list(scale) for name, scale in table.scales.items()},
        },
    )


def _slices(factor: str, groups: Groups, table: Table) -> list[Slice]:
    n_outcomes = len(table.outcomes)
    outcomes = groups.counts(np.arange(table.n), table.outcome, n_outcomes)
    average = groups.means(table.score)
    median = groups.quantiles(table.score, [0.5])
    pass_rate = _rates(groups, table.passed, ["passed"])
    bands = _rates(groups, np.where(table.band < 0, np.nan, table.band), table.bands, first=0)
    components = {name: groups.means(values, table.scales[name]) for name, values in table.components.items()}
    findings = groups.counts(table.finding_sample, table.finding_code, len(table.codes))
    finding_rates = _finding_rates(groups, table)
    outcome_rates = _outcome_rates(groups, table)
    latency = _latency(groups, table)
    totals = {name: groups.totals(values) for name, values in table.totals.items()}
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
        )
        for g, name in enumerate(groups.names)
    ]


def _rates(groups: Groups, codes: Array, labels: list[str], first: int = 1) -> list[list[Estimate]]:
    """Shares of the labels `first`, `first` + 1, ... among samples whose code is known."""
    known = ~np.isnan(codes)
    samples = np.flatnonzero(known & (codes >= first))
    return groups.rates(samples, codes[samples].astype(int) - first, len(labels), known)


def _finding_rates(groups: Groups, table: Table) -> list[list[Estimate]]:
    n_codes = max(1, len(table.codes))
    pair, _ = distinct(table.finding_sample * n_codes + table.finding_code)
    return groups.rates(pair // n_codes, pair % n_codes, len(table.codes), table.conclusive)


def _outcome_rates(groups: Groups, table: Table) -> dict[str, list[Estimate]]:
    everything = np.ones(table.n, dtype=bool)
    kinds = {
        "scored": (table.scored, everything),
        "malformed": (table.conclusive & ~table.scored, table.conclusive),
        "inconclusive": (~table.conclusive, everything),
    }
    return {
        kind: [row[0] for row in _rates(groups, np.where(known, hit.astype(float), np.nan), [kind])]
        for kind, (hit, known) in kinds.items()
    }


def _latency(groups: Groups, table: Table) -> dict[str, list[Estimate]]:
    points = groups.quantiles(table.latency, list(_LATENCIES.values()))
    found = {name: [row[i] for row in points] for i, name in enumerate(_LATENCIES)}
    return found | {"mean": groups.means(table.latency, NOT_NEGATIVE)}


def _tally(codes: Array, names: list[str]) -> dict[str, int]:
    """How often each name occurs, most frequent first."""
    present = codes[codes >= 0].astype(int)
    counts = np.bincount(present, minlength=len(names))
    return {
        names[i]: int(counts[i]) for i in sorted(range(len(names)), key=lambda i: (-counts[i], names[i])) if counts[i]
    }


def _method(*, clustered: bool) -> str:
    text = (
        "95 % intervals: Wilson for rates, Student t for means, exact order statistics for medians and percentiles;"
        " none below n 2, nor for a median below n 6"
    )
    return text + "; samples of one case count as one cluster" if clustered else text
