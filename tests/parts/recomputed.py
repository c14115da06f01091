"""What the rows of a figure come to, computed from its contributions: to be held against the figure itself."""

from __future__ import annotations

import math

import numpy as np
import pytest

from steelyard.metrics.kinds import Aggregate
from steelyard.metrics.registry import Level
from steelyard.report.explain import explained


def every_figure(data, summary, metrics):
    """Every figure of a run with its metric and slice, those of lists (cases, samples, patterns) included."""
    for part in (summary.overall, *(part for parts in summary.slices.values() for part in parts)):
        kinds = (part.kind(name) for name in part)
        yield from ((metrics[kind.pattern], kind.names, part) for kind in kinds if kind.pattern in metrics)
    for metric in metrics.values():
        if metric.listed:
            parts = summary.slices.get("variant") if metric.parts[0] == "case" else None
            for names in [()] if metric.all_names is None else metric.all_names(data):
                yield from ((metric, names, part) for part in parts or [summary.overall])


def rows_of(data, metric, part, contributions):
    """The rows of a slice, and how many of it were planned and are missing."""
    if contributions.key is not None or metric.level not in (Level.SAMPLE, Level.CELL):
        return np.arange(len(contributions.values)), contributions.n_absent
    if metric.level is Level.SAMPLE:
        return data.in_slice(part.factor, part.name), 0 if part.factor else data.absent
    groups = data.cells.groups[part.factor]
    every = groups.samples_where(groups.names.index(part.name), np.ones(data.cells.n, dtype=bool))
    if part.factor == "variant" and contributions.absent is not None:
        # Every variant is asked every case.
        suite = data.suite
        return every, max(0, suite.n_planned // suite.repeats // len(suite.variants) - len(every))
    return every, 0 if part.factor else data.cells.absent


def recomputed(data, metric, names, part):
    """Value, n and missing."""
    given = metric.contributions(data, names)
    at, absent = rows_of(data, metric, part, given)
    known = ~np.isnan(given.values) if given.below is None else ~np.isnan(given.values + given.below)
    rows, outside = at[known[at]], at[~known[at]]
    missing = len(outside) - (0 if given.not_missing is None else int(given.not_missing[outside].sum()))
    if given.absent is None and given.undecided is None:
        missing += absent
    values, n = given.values[rows], len(rows)
    if given.estimate is not None:
        return given.estimate(rows).value, n, missing
    if given.undecided is not None and given.below is not None:
        hits, of, undecided = (math.fsum(item[rows]) for item in (given.values, given.below, given.undecided))
        in_absent = float(given.of_absent(absent).sum())
        of, undecided = of + in_absent, undecided + in_absent
        return (hits / of if of > undecided else None), round(of - undecided), round(undecided)
    if given.ratios:
        sums = [[math.fsum(item[rows][~np.isnan(item[rows])]) for item in pair] for pair in given.ratios]
        parts = [above / below for above, below in sums if below]
        return (math.fsum(parts) / len(parts) if parts else None), n, missing
    more = absent if given.absent is not None else 0
    values = np.append(values, np.full(more, given.absent or 0.0))
    if given.below is not None:
        above, below = math.fsum(values), math.fsum(given.below[rows])
        # A ratio of items stands on items, and not on the cells that have them.
        return (above / below if below > 0 else None), round(below) if metric.of == "items" else n, missing
    if metric.aggregate is Aggregate.SUM:
        return (math.fsum(values) if len(values) else None), len(values), missing
    return (metric.aggregate.of(values) if len(values) else None), len(values), missing


def differing(data, summary, metrics):
    """The figures that are not what their rows come to, and how many there are.

    Those with a function of their own (a calibration error, a p) are no aggregate of their rows; of such sums only the
    value is one.
    """
    wrong, n = [], 0
    for metric, names, part in every_figure(data, summary, metrics):
        found = explained(data, metric, names, part)
        value, count, missing = recomputed(data, metric, names, part)
        figure, n = found.figure, n + 1
        if metric.figure is not None and metric.aggregate is not Aggregate.SUM:
            continue
        if metric.figure is not None:
            value = value or 0.0
        same = figure.value is None if value is None else figure.value == pytest.approx(value, rel=1e-9, abs=1e-9)
        if not same or (metric.figure is None and (figure.n, figure.n_missing) != (count, missing)):
            wrong.append((found.metric, figure, (value, count, missing)))
    return wrong, n
