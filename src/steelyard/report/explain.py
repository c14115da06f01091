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
from steelyard.analysis.judge.corrected import labels_of
from steelyard.analysis.model import Slice, Summary
from steelyard.analysis.repeats import SHARE
from steelyard.analysis.summary import summarise_stored
from steelyard.decide.gates import Scope, measure, names_of_run
from steelyard.errors import UsageError
from steelyard.frozen import frozen
from steelyard.loading.own_metrics import load_metrics
from steelyard.metrics.expression_checks import missing_name
from steelyard.metrics.expressions import EVERY, Gate, asked_metric, is_factor, parse_repeats, split_sides
from steelyard.metrics.registry import At, Key, Level, Reported, gate_metrics, reported
from steelyard.metrics.run_data import RunData
from steelyard.records import RunHeader, Sample
from steelyard.report import run
from steelyard.report.build import build_report
from steelyard.report.findings import counts_by_slice
from steelyard.report.model import Report
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
    """The figures that were asked for, each with its rows; UsageError when there is no such figure.

    Those that gates can name are found without the rest of the report.
    """
    explanations: list[Explanation] = []
    data, report = data_of(store, header), None
    for text in asked:
        try:
            asked_metric(text)
        except ValueError as error:
            report = report or build_report(store, header)
            explanations += [
                find_figure.explained(spelled(find_figure.names))
                for find_figure in find_figures(report, data, text, error)
            ]
        else:
            explanations += explain_metrics(store, header, data, text)
    return explanations


def explain_metrics(store: Store, header: RunHeader, data: RunData, *asked: str) -> list[Explanation]:
    """The metrics that were asked for, of the run or, for `category.*`, of every slice.

    UsageError when there is no such metric, or this run has nothing of that name.
    """
    summary = summarise_stored(store, header.id, header.description, data.columns, only_for_gates=True)
    explanations = []
    for gate in [find_metric(text, header, summary) for text in asked]:
        parts = Scope(summary, summary.overall).slices(gate)
        if not parts:
            raise UsageError(f"no sample of run {header.id} has {gate.factor} {gate.slice!r}")
        explanations += [_explained(data, summary, gate, part) for part in parts]
    return explanations


def find_metric(text: str, header: RunHeader, summary: Summary) -> Gate:
    """What a metric means in a run; UsageError, with what was probably meant, when that is nothing."""
    try:
        gate = asked_metric(text)
    except ValueError as error:
        raise UsageError(str(error)) from None
    available = names_of_run(header.description, summary)
    # A run may have findings of codes that its suite does not list, and every report counts them.
    available = replace(available, codes=sorted({*(available.codes or ()), *summary.overall.finding_rates}))
    if wrong := missing_name(gate, available):
        raise UsageError(wrong)
    return gate


def _explained(data: RunData, summary: Summary, gate: Gate, part: Slice) -> Explanation:
    metric, reported = gate.of, measure(gate, part, summary)
    result = metric.contributions(data, gate.names)
    keys: Callable[[int], Key] = data.key
    if metric.level is Level.CELL:
        groups = data.cells.groups[part.factor]
        at = groups.samples_where(groups.names.index(part.name), np.ones(data.cells.n, dtype=bool))
        keys, absent = data.cell_key, 0 if part.factor else data.cells.absent
    else:
        result = replace(result, detail=data.detail)
        at, absent = data.in_slice(part.factor, part.name), 0 if part.factor else data.absent
    return explain(
        f"{part.factor}.{part.name}.{gate.metric}" if part.factor else gate.metric,
        words_of(metric, metric.worse_in(data.suite, gate.names), reported),
        result,
        keys,
        reported,
        how=metric.aggregate,
        rows=at,
        absent=absent,
    )


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
    near = [spelled(names) for names in reversed(everything) if _head(names) == _head(asked)]
    if near:
        raise UsageError(f"metric {text!r}: this run has no such figure{meant(text, near)}; it has: {listed(near)}")
    raise UsageError(f"{error}; --explain {LIST} names every figure of this run")


def list_figures(store: Store, header: RunHeader) -> list[tuple[str, str]]:
    """The name of every kind of figure of a run and its place in the report.

    Those of cases, kinds of claims and numbered rows are named once, with `*` for any of them; those of slices only
    where the whole run has none of that name.
    """
    report, data = build_report(store, header), data_of(store, header)
    own = ((own_figure.names, own_figure.place) for own_figure in own_figures(report, data))
    results: dict[str, str] = {}
    for names, place in (*gate_figures(report, data), *own):
        kind = tuple(_any(names))
        if is_factor(kind[0]) and spelled(kind[2:]) in results:
            continue
        results.setdefault(spelled(kind), place if kind == names else _INDEX.sub("[*]", place))
    return list(results.items())


def gate_figures(report: Report, data: RunData) -> Iterator[Named]:
    """The figures that gates can name, with every place where they stand."""
    summary = report.summary
    for place, part in slices_of(report):
        for names, path in _of_slice(part, data):
            yield (*sliced(part.factor, part.name), *names), f"{place}.{path}"
    for names, path in _of_slice(summary.overall, data):
        head, _, rest = path.partition(".")
        if head == "totals":
            yield names, rest
        if head == "latency" and summary.latency is not None:
            yield names, f"latency.overall.{rest}"
            yield names, "latency.overall.n"
    for gate, place, part in gates_of(report):
        over_repeats = gate.name and parse_repeats(gate.gate) is not None
        if gate.value.value is not None and not gate.baseline and not over_repeats:
            head_names, whole = sliced(part.factor, part.name), _written(gate.metric, report, data)
            yield (whole if whole[:2] == head_names else (*head_names, *whole)), f"{place}.value"
    yield from _of_codes(report)
    yield from _over_repeats(report)


def _of_slice(part: Slice, data: RunData) -> Iterator[Named]:
    """Every metric that a slice has, and its place there."""
    for metric in gate_metrics().values():
        for names in [()] if metric.all_names is None else metric.all_names(data):
            path = metric.place_of(names)
            at: Any = getattr(part, path[0])
            for name in path[1:]:
                at = None if at is None else at.get(name)
            if at is not None and (path[1:] or path[0] != "findings"):
                left = iter(names)
                yield tuple(next(left) if part.startswith("<") else part for part in metric.parts), ".".join(path)


def _written(metric: str, report: Report, data: RunData) -> tuple[str, ...]:
    """The names of a gate's result, which says them without quotes."""
    for _, part in slices_of(report):
        for names, _path in _of_slice(part, data):
            whole = (*sliced(part.factor, part.name), *names)
            if ".".join(whole) == metric:
                return whole
    return tuple(metric.split("."))


def _of_codes(report: Report) -> Iterator[Named]:
    for number, figure in enumerate(report.summary.codes):
        names, place = ("findings", figure.code), f"codes[{number}]"
        yield names, f"{place}.count"
        yield (*names, "rate"), f"{place}.samples"
        yield names, f"{place}.n_items"
        for at, item in enumerate(counts_by_slice(report, figure.code)):
            head, where = sliced(item.factor, item.name), f"{place}.slices[{at}]"
            yield (*head, *names), f"{where}.count"
            yield (*head, *names, "rate"), f"{where}.samples"
    codes = {figure.code for figure in report.summary.codes}
    for number, priority in enumerate(report.summary.priorities):
        if priority.component not in codes and priority.component in report.summary.overall.components:
            yield ("score", priority.component, "points"), f"priorities[{number}].average"


def _over_repeats(report: Report) -> Iterator[Named]:
    checks, stability, passes = report.summary.checks, report.summary.stability, report.summary.passes
    if passes is not None:
        yield ("flaky_rate",), "passes.flaky"
        yield from ((("pass_all", str(k)), f"passes.all_of.{k}") for k in passes.all_of)
    if checks is not None:
        yield from ((("cases", "passed"), "checks.cells_rate"), (("checks", "passed"), "checks.checks_rate"))
        yield from ((("check", name, "passed"), f"checks.passed.{name}") for name in checks.passed)
        yield from ((("checks", "pass_all", str(k)), f"checks.all_of.{k}") for k in checks.all_of)
    if stability is not None:
        yield ("stability", "presence"), "stability.presence"
        yield from ((("stability", name), f"stability.fields.{name}") for name in stability.fields)


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
