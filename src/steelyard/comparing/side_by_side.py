"""Two runs that have no pair, side by side: the figures of either, and how far they lie apart."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from steelyard.analysis.confusions import top_confusions
from steelyard.comparing.model import Unpaired
from steelyard.metrics.registry import metric
from steelyard.metrics.table import cut
from steelyard.pairing.model import MetricChange
from steelyard.pairing.runs import ComparedRun
from steelyard.records import Outcome
from steelyard.stats import groups as clusters
from steelyard.stats.arrays import Array
from steelyard.stats.intervals import SHARES, Estimate, Scale, independent_difference
from steelyard.store.contents import Confused, confusion_digest
from steelyard.suite.case import NONE

SENTENCE = (
    "no sample of A can be compared with one of B, so each side is computed over its own samples: this shows how good"
    " each run is, not why they differ; a difference may be that of the cases, or of whatever else differs above, as"
    " well as the system's"
)


class _Figure(NamedTuple):
    """One figure of a run, which is the metric, or is better when that is; a rate is on the scale 0..1."""

    group: str
    estimate: Estimate
    metric: str
    scale: Scale = SHARES


def side_by_side(a: ComparedRun, b: ComparedRun) -> Unpaired:
    """Every figure of both runs over all of their samples; one that a run does not have is n/a there."""
    confused = list(dict.fromkeys(item for run in (a, b) for item in _confused(run)))
    sides = [dict(_Side(run).figures(confused)) for run in (a, b)]
    results = []
    for name, (group, _, of, scale) in (sides[0] | sides[1]).items():
        before, after = (side[name].estimate if name in side else Estimate(None, 0) for side in sides)
        if before.value or after.value or (group != "findings" and before.n + after.n):
            unit = "share" if scale == SHARES else "points"
            difference, better_when = independent_difference(before, after), metric(of).better_in(a.suite)
            results.append(
                MetricChange(name, group, unit, better_when, before, after, difference, test="unpaired", scale=scale)
            )
    return Unpaired(SENTENCE, tuple(results))


class _Side:
    def __init__(self, run: ComparedRun) -> None:
        self._run, self._table, self._columns = run, run.table, run.columns
        columns = run.columns
        variant, case = (
            np.argsort(np.argsort(np.array(names, dtype=object), kind="stable"))[codes] if columns.n else codes
            for names, codes in ((columns.variants, columns.variant), (columns.case_ids, columns.case))
        )
        # In the order of case, variant and repeat, so that the order in which samples were stored changes no figure.
        self._rows: Array = np.lexsort((columns.repeat, variant, case))
        self._unit = run.table.unit

    def figures(self, confused: list[Confused]) -> Iterator[tuple[str, _Figure]]:
        """The figures of a run, one after another, so that no more than one is held as a column."""
        table, columns, contents = self._table, self._columns, self._run.contents
        yield from self._headline("", "headline", self._rows)
        for name in table.components:
            estimate = self._mean(table.component(name), self._rows, table.scales[name])
            yield (
                f"score.{name}.points",
                _Figure("components", estimate, "score.<component>.points", table.scales[name]),
            )
        every = np.ones(columns.n, dtype=bool)
        for outcome in (Outcome.TARGET_FAILED, *((Outcome.JUDGE_FAILED,) if self._run.mode else ())):
            codes = [i for i, item in enumerate(columns.outcomes) if item == outcome]
            failed = np.isin(columns.outcome, codes)
            yield f"{outcome}_rate", self._rate("failures", "inconclusive_rate", failed, every)
        yield "malformed_rate", self._rate("failures", "malformed_rate", table.malformed, table.conclusive)
        for factor, groups in cut(columns, self._run.suite, 0).items():
            for g, name in enumerate(groups.names if factor else ()):
                yield from self._headline(f"{factor}.{name}.", factor, groups.samples_where(g, every))
        for i, code in enumerate(table.codes):
            yield f"findings.{code}.rate", self._result("findings", table.finding_sample[table.finding_code == i])
        if any(columns.finding_sections) and len(columns.finding_section) == len(columns.finding_sample):
            for name in sorted(columns.finding_sections):
                here = columns.finding_section == columns.finding_sections.index(name)
                samples = columns.finding_sample[here]
                yield f"section.{name or NONE}.rate", self._result("sections", samples)
        for code, expected, got in confused:
            if contents is None:
                break
            here = contents.confusion == confusion_digest(code, expected, got)
            yield f"{code}: {got} for {expected}", self._result("confusions", contents.confusion_sample[here])

    def _headline(self, prefix: str, group: str, rows: Array) -> Iterator[tuple[str, _Figure]]:
        if self._run.passes:
            passed = self._table.passed()
            yield f"{prefix}pass_rate", self._rate(group, "pass_rate", passed > 0, passed >= 0, rows)
        yield f"{prefix}average", _Figure(group, self._mean(self._table.score(), rows, SHARES), "average")

    def _result(self, group: str, samples: Array) -> _Figure:
        """The share of samples with at least one such finding."""
        hits = np.isin(np.arange(self._columns.n), samples)
        return self._rate(group, "findings.<code>.rate", hits, self._table.conclusive)

    def _mean(self, values: Array, rows: Array, scale: Scale) -> Estimate:
        rows = self._rows[np.isin(self._rows, rows)]
        return clusters.mean(values[rows], self._unit[rows], scale)

    def _rate(self, group: str, of: str, hits: Array, available: Array, rows: Array | None = None) -> _Figure:
        rows = self._rows if rows is None else rows
        return _Figure(group, clusters.share(hits[rows], available[rows], self._unit[rows]), of)


def _confused(run: ComparedRun) -> list[Confused]:
    result = [] if run.contents is None else top_confusions(run.table, run.suite, run.contents)
    return [(item.code, item.expected, item.got) for item in result]
