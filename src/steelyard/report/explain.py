"""The explanation of one figure of a run: its name is looked up in the registry, its rows are its contributions."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import islice

import numpy as np

from steelyard.analysis.explain import Explanation, explain, words_of
from steelyard.analysis.judge.corrected import RunLabels, labels_of, read_labels
from steelyard.analysis.judge.labels import with_labelled
from steelyard.analysis.model import Summary
from steelyard.analysis.stored import summary_of
from steelyard.decide.gates import Scope, names_of_run
from steelyard.errors import UsageError
from steelyard.loading.own_metrics import load_metrics
from steelyard.metrics.aggregate import aggregate, row_groups
from steelyard.metrics.expression_checks import missing_name
from steelyard.metrics.expressions import EVERY, Gate, asked_metric, is_factor, split_sides
from steelyard.metrics.figures import Slice
from steelyard.metrics.registry import FAMILIES, Key, Level, Metric, Names, metrics, spell
from steelyard.metrics.run_data import RunData
from steelyard.records import RunHeader, Sample
from steelyard.report.sample_detail import why_wrong
from steelyard.stats.intervals import Estimate
from steelyard.store.base import Store
from steelyard.suite.yaml import listed, meant

LIST = "list"
"""Asked for instead of a metric: the names of all figures."""
_MANY = {("case",), ("confidence", "label")}
"""What stands before a name of which there are many."""
_NUMBERED = {"<case>", "<repeat>", "<n>", "<label>"}
"""What fills these is listed as `*`."""
_MOST_NEAR = 1_000
_OUTSIDE = ".<>=!\"'"


def data_of(store: Store, header: RunHeader) -> RunData:
    """A stored run, as its figures are explained by it."""
    load_metrics(header)

    def read() -> list[tuple[Sample, str]]:
        samples = []
        for sample, _ in store.samples(header.id):
            samples.append((sample, why_wrong(sample)))
            sample.call_result = replace(sample.call_result, text=None)
        return samples

    data = RunData(
        store.columns(header.id),
        header.description,
        store.checks(header.id),
        store.items(header.id) if header.description.stability else None,
        lambda: store.claims(header.id),
        read,
        lambda: store.contents(header.id),
    )
    data.labels = labels_of(store, header.id, data)
    if header.description.judge is not None:
        of_run = read_labels(store, header.id, header.description) or RunLabels()
        data.judged = lambda: with_labelled(store.judgements(header.id), of_run.own)
        data.case_labels = of_run.by_case
    return data


def explain_report(store: Store, header: RunHeader, *asked: str) -> list[Explanation]:
    """The figures that were asked for, each with its rows; UsageError when there is no such figure."""
    summary, data = summary_of(store, header), data_of(store, header)
    found = (one for text in asked for one in find_figures(text, header, data, summary))
    return [explained(data, *one) for one in found]


Asked = tuple[Metric, Names, Slice]
"""A metric, what fills its name, and the slice that it is asked for."""


def find_figures(text: str, header: RunHeader, data: RunData, summary: Summary) -> list[Asked]:
    """What a name is of; UsageError, with what was probably meant, when the run has no such figure."""
    try:
        asked_metric(text)
    except ValueError as error:
        return _only_reported(text, data, summary, error)
    return _of_gates(text, header, summary)


def find_metric(text: str, header: RunHeader, summary: Summary) -> Gate:
    """What a metric means in a run; UsageError, with what was probably meant, when that is nothing."""
    try:
        gate = asked_metric(text)
    except ValueError as error:
        raise UsageError(str(error)) from None
    available = names_of_run(header.description, summary)
    # A run may have findings of codes that its suite does not list, and every report counts them.
    found = {*(available.codes or ()), *summary.overall.each("findings.<code>.rate")}
    available = replace(available, codes=sorted(found))
    if wrong := missing_name(gate, available):
        raise UsageError(wrong)
    return gate


def _of_gates(text: str, header: RunHeader, summary: Summary) -> list[Asked]:
    """What gates can name, in the run or, for `category.*`, in every slice."""
    gate = find_metric(text, header, summary)
    parts = Scope(summary, summary.overall).slices(gate)
    if not parts:
        raise UsageError(f"no sample of run {header.id} has {gate.factor} {gate.slice!r}")
    return [(gate.of, gate.names, part) for part in parts]


def _only_reported(text: str, data: RunData, summary: Summary, error: ValueError) -> list[Asked]:
    """What no gate can name, likewise; `*` stands for any name, and a case without a variant for all its variants.

    UsageError, with those that are like it, when the run has no such figure.
    """
    try:
        asked = tuple(split_sides(f"{text} >= 0", "metric", "")[0])
    except ValueError:
        raise UsageError(str(error)) from None
    parts, rest = _parts_named(asked, summary)
    if rest[0] == "case" and parts == [summary.overall]:
        parts = summary.slices.get("variant", parts)
    found = [
        (metric, names, part)
        for metric in _metrics(data).values()
        if not metric.gate and (filled := spell(rest, [metric])) is not None
        for part in parts
        for names in _named(metric, tuple(filled[1].values()), part, data)
    ]
    if found:
        return found
    near = [name for name in _every_name(data, summary) if _plain(name)[0] == _plain(asked)[0]]
    if near:
        every = list(map(spelled, near))
        raise UsageError(f"metric {text!r}: this run has no such figure{meant(text, every)}; it has: {listed(every)}")
    raise UsageError(f"{error}; --explain {LIST} names every figure of this run") from None


def _named(metric: Metric, asked: Names, part: Slice, data: RunData) -> Iterator[Names]:
    """The names of a metric that are meant, of those that a slice has."""
    every = _all_names(metric, data) if metric.listed else part.each_name(metric.name)
    for names in every:
        # Not every variant has every case.
        of_case = metric.listed and metric.parts[0] == "case"
        if _is(asked, names) and not (of_case and listed_figure(data, metric, names, part).value is None):
            yield names


def _is(asked: Names, names: Names) -> bool:
    return all(name in (EVERY, other) for name, other in zip(asked, names, strict=True))


def _all_names(metric: Metric, data: RunData) -> Iterable[Names]:
    return [()] if metric.all_names is None else metric.all_names(data)


def _every_name(data: RunData, summary: Summary) -> Iterator[Names]:
    """Every figure of the whole run, and the first of each list, part by part."""
    yield from _names_of(summary.overall)
    for metric in _metrics(data).values():
        if metric.listed:
            yield from (metric.steps(names) for names in islice(_all_names(metric, data), _MOST_NEAR))


def _parts_named(names: Names, summary: Summary) -> tuple[list[Slice], Names]:
    """The slices that the first names say, the whole run without any, and the other names."""
    for factor, parts in summary.slices.items():
        steps = tuple(factor.split("."))
        if names[: len(steps)] == steps and len(names) > len(steps) + 1:
            wanted = names[len(steps)]
            return [part for part in parts if wanted in (EVERY, part.name)], names[len(steps) + 1 :]
    return [summary.overall], names


def explained(data: RunData, metric: Metric, names: Names, part: Slice) -> Explanation:
    """One figure of one slice, with its rows."""
    rows = metric.contributions(data, names)
    keys: Callable[[int], Key]
    at, absent = np.arange(len(rows.values)), rows.n_absent
    if rows.key is not None:
        keys = rows.key
    elif metric.level is Level.SAMPLE:
        at, absent = data.in_slice(part.factor, part.name), 0 if part.factor else data.absent
        keys, rows = data.key, rows if rows.detail else replace(rows, detail=data.detail)
    elif metric.level is Level.CELL:
        groups = data.cells.groups[part.factor]
        g = groups.names.index(part.name)
        at = groups.samples_where(g, np.ones(data.cells.n, dtype=bool))
        keys, absent = data.cell_key, groups.absent if rows.absent is None else int(groups.lacking[g])
    else:
        sample = rows.sample if rows.sample is not None else at
        keys = lambda row: data.key(int(sample[row]))  # noqa: E731 - one of four ways to name a row
    figure = listed_figure(data, metric, names, part) if metric.listed else part.of(metric.name, *names)
    of_slice = (part.factor, part.name) if part.factor else ()
    return explain(
        spelled((*of_slice, *metric.steps(names))),
        words_of(metric, metric.worse_in(data.suite, names), figure, rows.words),
        rows,
        keys,
        figure,
        how=metric.aggregate,
        rows=at,
        absent=absent,
    )


def listed_figure(data: RunData, metric: Metric, names: Names, part: Slice) -> Estimate:
    """A figure of one entry of a list (a case, a sample), which is computed when somebody asks for it."""
    if metric.figure is not None:
        return metric.figure(data, names)
    rows = metric.contributions(data, names)
    if rows.key is not None or metric.level not in (Level.SAMPLE, Level.CELL):
        return next(iter(aggregate(metric.aggregate, rows, row_groups(data, rows), metric.ends(data, names))))
    groups = (data.groups if metric.level is Level.SAMPLE else data.cells.groups)[part.factor]
    column = aggregate(metric.aggregate, rows, groups, metric.ends(data, names))
    return column[groups.names.index(part.name)]


def list_figures(store: Store, header: RunHeader) -> list[tuple[str, str]]:
    """The name of every kind of figure of a run and what it is.

    Those of cases, kinds of claims and numbered rows are named once, with `*` for any of them; those of slices only
    where the whole run has none of that name.
    """
    summary, data = summary_of(store, header), data_of(store, header)
    known = _metrics(data)
    results: dict[str, str] = {}
    for part in (summary.overall, *(part for parts in summary.slices.values() for part in parts)):
        for name, names in zip(part, _names_of(part), strict=True):
            kind = spelled(tuple(_any(names)))
            if kind not in results and part.factor:
                kind = spelled((part.factor, EVERY, *_any(names)))
            results.setdefault(kind, known[part.kind(name).pattern].about)
    for metric in known.values():
        if metric.listed:
            every: Iterable[Names] = _all_names(metric, data)
            if set(metric.blanks) <= _NUMBERED:
                every = islice(every, 1)
            for names in every:
                results.setdefault(spelled(tuple(_any(metric.steps(names)))), metric.about)
    return list(results.items())


def _metrics(data: RunData) -> dict[str, Metric]:
    return metrics(data.families)


def _names_of(part: Slice) -> Iterator[Names]:
    """The name of every figure of a slice, part by part."""
    known = metrics(FAMILIES)
    for name in part:
        kind = part.kind(name)
        yield known[kind.pattern].steps(kind.names)


def spelled(names: tuple[str, ...]) -> str:
    """The names as one metric; one that holds a dot or a sign is quoted, but for a field that samples are sliced by."""
    return ".".join(name if not at and is_factor(name) else _quoted(name) for at, name in enumerate(names))


def _quoted(name: str) -> str:
    if name and name == name.strip() and not any(sign in name for sign in _OUTSIDE):
        return name
    if '"' not in name or "'" not in name:
        return f"'{name}'" if '"' in name else f'"{name}"'
    # Quoted pieces side by side are one name.
    return "".join(f"'{piece}'" if '"' in piece else f'"{piece}"' for piece in re.split('("+)', name) if piece)


def _any(names: tuple[str, ...]) -> Iterator[str]:
    """The names with `*` for what there are many of."""
    tail = _plain(names)
    for at, name in enumerate(tail):
        many = (
            tail[:at] in _MANY
            or (at == 1 and is_factor(tail[0]))
            or (at > 0 and name.isdecimal() and tail[at - 1] != "pass_all")
        )
        yield EVERY if many else name


def _plain(names: tuple[str, ...]) -> tuple[str, ...]:
    """Without the variant of a figure of one case."""
    return names[2:] if names[0] == "variant" and names[2:3] == ("case",) else names
