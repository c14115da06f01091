"""The explanation of one figure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from steelyard.analysis.explain import (
    Explanation,
    Words,
    explain,
    words_of,
)
from steelyard.analysis.judge.corrected import RunLabels, labels_of, read_labels
from steelyard.analysis.judge.labels import with_labelled
from steelyard.analysis.model import Summary
from steelyard.analysis.repeats import SHARE
from steelyard.analysis.stored import summary_of
from steelyard.decide.gates import Scope, names_of_run
from steelyard.errors import UsageError
from steelyard.frozen import frozen
from steelyard.loading.own_metrics import load_metrics
from steelyard.metrics.aggregate import aggregate, row_groups
from steelyard.metrics.expression_checks import missing_name
from steelyard.metrics.expressions import EVERY, Gate, asked_metric, is_factor, parse_repeats, split_sides
from steelyard.metrics.figures import Slice
from steelyard.metrics.registry import At, Key, Level, Metric, Names, Reported, find, metrics, reported
from steelyard.metrics.run_data import RunData
from steelyard.records import RunHeader, Sample
from steelyard.report import run
from steelyard.report.build import build_report
from steelyard.report.model import Report
from steelyard.report.render.json import encode
from steelyard.report.samples import why_wrong
from steelyard.stats.intervals import Estimate
from steelyard.store.base import Store
from steelyard.suite.case import NONE
from steelyard.suite.yaml import listed, meant

LIST = "list"
"""Asked for instead of a metric: the names of all figures."""
Named = tuple[tuple[str, ...], str]
"""The names of a gate's metric, and a place where it stands."""
_MANY = {("case",), ("confidence", "label")}
"""What stands before a name of which there are many."""
_INDEX = re.compile(r"\[\d+\]")
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
    )
    data.labels = labels_of(store, header.id, data)
    if header.description.judge is not None:
        of_run = read_labels(store, header.id, header.description) or RunLabels()
        data.judged = lambda: with_labelled(store.judgements(header.id), of_run.own)
        data.case_labels = of_run.by_case
    return data


@frozen
class Figure:
    """One figure of a report that no gate can name."""

    metric: Reported
    at: At
    data: RunData

    @property
    def names(self) -> tuple[str, ...]:
        """Its name, part by part."""
        return self.metric.filled(self.at)

    @property
    def place(self) -> str:
        """In `report --json`: `latency.cells[3].spread.p50`."""
        return self.at.place

    @property
    def reported(self) -> Estimate | float:
        """As the report has it."""
        value: Estimate | float = self.at.value
        return value

    def explained(self, name: str) -> Explanation:
        """The figure with everything behind it."""
        metric, at = self.metric, self.at
        result = metric.contributions(self.data, at)
        words = Words(
            metric.in_words(metric.formula, at),
            metric.in_words(metric.counts, at),
            metric.rows,
            metric.unit,
            metric.significance,
            {"higher": "lower", "lower": "higher"}.get(metric.better, ""),
            f"{at.place} of report --json",
        )
        keys = result.key or self.data.key
        return explain(name, words, result, keys, at.value, how=metric.aggregate, absent=result.n_absent)


def own_figures(report: Report, data: RunData) -> Iterator[Figure]:
    """The figures that no gate can name, in the order of their metrics."""
    root = run.data(report)
    repeated = encode(report.summary.repeated)
    root["overall"] = {"repeated": repeated.get("", {})}
    for factor, parts in root["slices"].items():
        for part in parts:
            part["repeated"] = repeated.get(f"{factor}.{part['name']}", {})
    for group in reported():
        tree: dict[str, Any] = {}
        for metric in group:
            node = tree
            for step in metric.place.replace("[<", ".[<").split("."):
                node = node.setdefault(step, {})
            node.setdefault("", []).append(metric)
        yield from _walked(tree, root, At(), data)
        if SHARE.counts == group[0].counts:
            yield from _shares_over_repeats(report, data)


def _walked(node: dict[str, Any], value: Any, at: At, data: RunData) -> Iterator[Figure]:
    """The figures below one place of a report."""
    path = (*at.path, value) if isinstance(value, dict) else at.path
    for step, below in node.items():
        if not step:
            if isinstance(value, dict):
                value = Estimate(**{name: value[name] for name in ("value", "n", "n_missing", "low", "high")})
            here = replace(at, value=value)
            is_available = not isinstance(value, Estimate) or value.value is not None
            yield from (
                Figure(metric, here, data)
                for metric in below
                if (is_available or metric.even_unknown) and metric.when(data, here)
            )
        elif step.startswith(("<", "[")):
            for item, inner in _rows(step, value, at):
                yield from _walked(below, inner, replace(item, path=path), data)
        elif value.get(step) is not None:
            inside = replace(at, path=path, place=f"{at.place}.{step}" if at.place else step)
            yield from _walked(below, value[step], inside, data)


def _rows(step: str, value: Any, at: At) -> Iterator[tuple[At, Any]]:
    """Every row of a part of a report, by what names it."""
    blank = step.strip("[]")
    if blank == "<slice>":
        yield replace(at, names={blank: ()}, place="overall"), value["overall"]
        for factor, parts in value["slices"].items():
            for number, part in enumerate(parts):
                name, place = part["name"], f"slices.{factor}[{number}]"
                yield replace(at, names={blank: (factor, name)}, place=place, factor=factor, slice=name), part
    elif step == blank:
        for number, (key, row) in enumerate(value.items()):
            name = str(number + 1) if blank == "<n>" else key
            yield replace(at, names={**at.names, blank: (name,)}, place=f"{at.place}.{key}"), row
    else:
        for number, row in enumerate(value):
            names = _row_names(blank, number, row)
            yield replace(at, names={**at.names, blank: names}, place=f"{at.place}[{number}]"), row


def _row_names(blank: str, number: int, row: Any) -> tuple[str, ...]:
    if blank == "<n>":
        return (str(number + 1),)
    if blank not in ("<case>", "<sample>"):
        return (row[blank.strip("<>")] or NONE,)
    case = ("variant", row["variant"], "case", row["case_id"]) if row["variant"] else ("case", row["case_id"])
    return case if blank == "<case>" else (*case, "repeat", str(row["repeat"] + 1))


def _shares_over_repeats(report: Report, data: RunData) -> Iterator[Figure]:
    """Gates and criteria over repeats."""
    for gate, place, part in gates_of(report):
        rule = parse_repeats(gate.gate) if gate.name else None
        if rule is not None and gate.value.value is not None:
            names = {"<slice>": sliced(part.factor, part.name), "<rule>": (rule.text,)}
            yield Figure(SHARE, At(names, ({},), f"{place}.value", part.factor, part.name, gate.value), data)


def slices_of(report: Report) -> Iterator[tuple[str, Slice]]:
    """The whole run and every slice, with its place in a report."""
    yield "overall", report.summary.overall
    for factor, parts in report.summary.slices.items():
        for number, part in enumerate(parts):
            yield f"slices.{factor}[{number}]", part


def gates_of(report: Report) -> Iterator[tuple[Any, str, Slice]]:
    """Every gate and criterion, its place and the part of the run it looks at."""
    whole = report.summary.overall
    for number, gate in enumerate(report.decision.gates):
        yield gate, f"gates[{number}]", whole
    variants = {part.name: part for part in report.summary.slices.get("variant", ())}
    for number, decision in enumerate(report.decision.by_variant):
        part = variants.get(decision.variant, whole)
        for at, criterion in enumerate(decision.criteria):
            yield criterion, f"by_variant[{number}].criteria[{at}]", part


def sliced(factor: str, name: str) -> tuple[str, ...]:
    """The first names of a figure of a slice; none of the whole run's."""
    return (factor, name) if factor else ()


def explain_report(store: Store, header: RunHeader, *asked: str) -> list[Explanation]:
    """The figures that were asked for, each with its rows; UsageError when there is no such figure."""
    load_metrics(header)
    summary, data = summary_of(store, header), data_of(store, header)
    explanations: list[Explanation] = []
    for text in asked:
        try:
            asked_metric(text)
        except ValueError as error:
            explanations += _only_reported(store, header, data, summary, text, error)
        else:
            explanations += [_explained(data, *one) for one in _of_gates(text, header, summary)]
    return explanations


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


_Asked = tuple[Metric, Names, Slice]
"""A metric, what fills its name, and the slice that it is asked for."""


def _of_gates(text: str, header: RunHeader, summary: Summary) -> list[_Asked]:
    """What gates can name, in the run or, for `category.*`, in every slice."""
    gate = find_metric(text, header, summary)
    parts = Scope(summary, summary.overall).slices(gate)
    if not parts:
        raise UsageError(f"no sample of run {header.id} has {gate.factor} {gate.slice!r}")
    return [(gate.of, gate.names, part) for part in parts]


def _others(text: str, summary: Summary, data: RunData) -> list[_Asked]:
    """What the registry has and no gate can name, likewise; `*` stands for any name. Empty when there is nothing."""
    parts, rest = _parts_named(tuple(split_sides(f"{text} >= 0", "metric", "")[0]), summary)
    found = find(rest, gates_only=False)
    if found is None or found[0].gate:
        return []
    metric, names = found[0], tuple(found[1].values())
    if metric.listed and metric.all_names is None:
        return [(metric, names, part) for part in parts]
    if metric.listed and metric.all_names is not None:
        every = [filled for filled in metric.all_names(data) if _are(names, filled)]
        return [(metric, filled, part) for part in parts for filled in every]
    return [(metric, filled, part) for part in parts for filled in part.each_name(metric.name) if _are(names, filled)]


def _are(asked: Names, names: Names) -> bool:
    """Whether these names are asked for; `*` stands for any."""
    return all(name in (EVERY, other) for name, other in zip(asked, names, strict=True))


def _parts_named(names: Names, summary: Summary) -> tuple[list[Slice], Names]:
    """The slices that the first names say, the whole run without any, and the other names."""
    for factor, parts in summary.slices.items():
        steps = tuple(factor.split("."))
        if names[: len(steps)] == steps and len(names) > len(steps) + 1:
            wanted = names[len(steps)]
            return [part for part in parts if wanted in (EVERY, part.name)], names[len(steps) + 1 :]
    return [summary.overall], names


def _explained(data: RunData, metric: Metric, names: Names, part: Slice) -> Explanation:
    """One figure of one slice, with its rows."""
    rows = metric.contributions(data, names)
    keys: Callable[[int], Key] = rows.key or data.key
    if metric.level is Level.SAMPLE:
        at, absent = data.in_slice(part.factor, part.name), 0 if part.factor else data.absent
        rows = rows if rows.detail else replace(rows, detail=data.detail)
    elif metric.level is Level.CELL:
        groups = data.cells.groups[part.factor]
        at = groups.samples_where(groups.names.index(part.name), np.ones(data.cells.n, dtype=bool))
        keys, absent = rows.key or data.cell_key, 0 if part.factor else data.cells.absent
    else:
        at, absent = np.arange(len(rows.values)), rows.n_absent
        if rows.key is None and (sample := rows.sample) is not None:
            keys = lambda row: data.key(int(sample[row]))  # noqa: E731 - one of three ways to name a row
    name = metric.filled(names)
    figure = listed_figure(data, metric, names, part) if metric.listed else part[name]
    return explain(
        f"{part.factor}.{part.name}.{name}" if part.factor else name,
        words_of(metric, metric.worse_in(data.suite, names), figure),
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
    if metric.level not in (Level.SAMPLE, Level.CELL):
        return next(iter(aggregate(metric.aggregate, rows, row_groups(data, rows), metric.ends(data, names))))
    groups = (data.groups if metric.level is Level.SAMPLE else data.cells.groups)[part.factor]
    column = aggregate(metric.aggregate, rows, groups, metric.ends(data, names))
    return column[groups.names.index(part.name)]


def _only_reported(
    store: Store, header: RunHeader, data: RunData, summary: Summary, text: str, error: ValueError
) -> list[Explanation]:
    """A figure that no gate can name; UsageError, with those that are like it, when there is none."""
    try:
        asked = _others(text, summary, data)
    except ValueError:
        raise UsageError(str(error)) from None
    if asked:
        return [_explained(data, *one) for one in asked]
    report = build_report(store, header)
    return [own.explained(spelled(own.names)) for own in find_figures(report, data, text, error)]


def find_figures(report: Report, data: RunData, text: str, error: ValueError) -> list[Figure]:
    """The figures of that name that no gate has; UsageError, with those that are like it, when there is none."""
    try:
        asked = tuple(split_sides(f"{text} >= 0", "metric", "")[0])
    except ValueError:
        raise UsageError(str(error)) from None
    for factor in report.summary.slices:
        steps = tuple(factor.split("."))
        asked = (factor, *asked[len(steps) :]) if asked[: len(steps)] == steps else asked
    everything = {own_figure.names: own_figure for own_figure in reversed(list(own_figures(report, data)))}
    results = [item for names, item in reversed(everything.items()) if _is(asked, names)]
    if results:
        return results
    every = [*_names_of(report.summary.overall), *reversed(everything)]
    near = [spelled(names) for names in every if _head(names) == _head(asked)]
    if near:
        raise UsageError(f"metric {text!r}: this run has no such figure{meant(text, near)}; it has: {listed(near)}")
    raise UsageError(f"{error}; --explain {LIST} names every figure of this run")


def list_figures(store: Store, header: RunHeader) -> list[tuple[str, str]]:
    """The name of every kind of figure of a run and what it is.

    Those of cases, kinds of claims and numbered rows are named once, with `*` for any of them; those of slices only
    where the whole run has none of that name.
    """
    load_metrics(header)
    report, data = build_report(store, header), data_of(store, header)
    known, summary = metrics(judged=header.description.judge is not None), report.summary
    results: dict[str, str] = {}
    for part in (summary.overall, *(part for parts in summary.slices.values() for part in parts)):
        for name, names in zip(part, _names_of(part), strict=True):
            kind = spelled(tuple(_any(names)))
            if kind not in results and part.factor:
                kind = spelled((part.factor, EVERY, *_any(names)))
            results.setdefault(kind, known[part.kind(name).pattern].about)
    for metric in known.values():
        if metric.listed and (metric.all_names is None or list(metric.all_names(data))):
            blanks = (EVERY if step.startswith("<") else step for step in metric.parts)
            results.setdefault(".".join(blanks), metric.about)
    for own_figure in own_figures(report, data):
        steps = tuple(_any(own_figure.names))
        if not (is_factor(steps[0]) and spelled(steps[2:]) in results):
            results.setdefault(spelled(steps), own_figure.explained("").formula)
    return list(results.items())


def _names_of(part: Slice) -> Iterator[Names]:
    """The name of every figure of a slice, part by part."""
    for name in part:
        kind = part.kind(name)
        left = iter(kind.names)
        yield tuple(next(left) if step.startswith("<") else step for step in kind.pattern.split("."))


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


def _head(names: tuple[str, ...]) -> str:
    return _plain(names)[0]


def _is(asked: tuple[str, ...], names: tuple[str, ...]) -> bool:
    """Whether a figure is meant; `*` stands for any name, and a case without a variant for all its variants."""
    whole = asked if asked[0] == "variant" else _plain(asked)
    mine = names if len(whole) == len(names) else _plain(names)
    return len(whole) == len(mine) and all(item in (EVERY, other) for item, other in zip(whole, mine, strict=True))
