"""Any figure of a run's report by its name, with everything behind it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from steelyard.analysis.explain import Explanation, Key, explain, words_of
from steelyard.analysis.model import Slice, Summary
from steelyard.analysis.stored import summarise_stored
from steelyard.decide.gates import Scope, measure, names_of_run
from steelyard.errors import UserMistake
from steelyard.metrics.expression_checks import missing_name
from steelyard.metrics.expressions import EVERY, FACTORS, Gate, asked_metric, parse_repeats, split_sides
from steelyard.metrics.registry import Level, metrics
from steelyard.records import RunHeader
from steelyard.report.build import build_report
from steelyard.report.figure_rows import Figure, RunRows, samples_in, sliced
from steelyard.report.findings import counts_by_slice
from steelyard.report.model import Report
from steelyard.report.named_figures import gates_of, own_figures, slices_of
from steelyard.store.base import Store
from steelyard.suite.yaml import listed, meant

LIST = "list"
"""Asked for instead of a metric: the names of all figures."""
Named = tuple[tuple[str, ...], str]
"""The names of a gate's metric, and a place where it stands."""
_MANY = {("case",), ("confidence", "label"), *((factor,) for factor in FACTORS)}
"""What stands before a name of which there are many."""
_INDEX = re.compile(r"\[\d+\]")
_OUTSIDE = ".<>=!\"'"


def explain_report(store: Store, header: RunHeader, *asked: str) -> list[Explanation]:
    """The figures that were asked for, each with its rows; UserMistake when there is no such figure.

    Those that gates can name are found without the rest of the report.
    """
    found: list[Explanation] = []
    rows, report = RunRows(store, header), None
    for text in asked:
        try:
            asked_metric(text)
        except ValueError as error:
            report = report or build_report(store, header)
            found += [each.explained(spelled(each.names)) for each in find_figures(report, rows, text, error)]
        else:
            found += explain_metrics(rows, text)
    return found


def explain_metrics(rows: RunRows, *asked: str) -> list[Explanation]:
    """The metrics that were asked for, of the run or, for `category.*`, of every slice.

    UserMistake when there is no such metric, or this run has nothing of that name.
    """
    header = rows.header
    summary = summarise_stored(rows.store, header.id, rows.suite, rows.data.columns, only_for_gates=True)
    return [_explained(rows, summary, gate, part) for text in asked for gate, part in _parts(text, header, summary)]


def _parts(text: str, header: RunHeader, summary: Summary) -> list[tuple[Gate, Slice]]:
    gate = find_metric(text, header, summary)
    found = Scope(summary, summary.overall, 0.0).slices(gate)
    if not found:
        raise UserMistake(f"no sample of run {header.id} has {gate.factor} {gate.slice!r}")
    return [(gate, part) for part in found]


def find_metric(text: str, header: RunHeader, summary: Summary) -> Gate:
    """What a metric means in a run; UserMistake, with what was probably meant, when that is nothing."""
    try:
        gate = asked_metric(text)
    except ValueError as error:
        raise UserMistake(str(error)) from None
    known = names_of_run(header.description, summary)
    # A run may have findings of codes that its suite does not list, and every report counts them.
    known = replace(known, codes=sorted({*(known.codes or ()), *summary.overall.finding_rates}))
    if wrong := missing_name(gate, known):
        raise UserMistake(wrong)
    return gate


def _explained(rows: RunRows, summary: Summary, gate: Gate, part: Slice) -> Explanation:
    metric, data, reported = gate.of, rows.data, measure(gate, part, summary)
    found = metric.contributions(data, gate.names)
    keys: Callable[[int], Key] = rows.key
    if metric.level is Level.CELL:
        groups = data.cells.groups[part.factor]
        at = groups.samples_where(groups.names.index(part.name), np.ones(data.cells.n, dtype=bool))
        keys, absent = rows.cell_key, 0 if part.factor else data.cells.absent
    else:
        found = replace(found, detail=rows.detail)
        at, absent = samples_in(rows, part), 0 if part.factor else data.absent
    return explain(
        f"{part.factor}.{part.name}.{gate.metric}" if part.factor else gate.metric,
        words_of(metric, metric.worse_in(rows.suite, gate.names), reported),
        found,
        keys,
        reported,
        how=metric.aggregate,
        point=metric.point,
        rows=at,
        absent=absent,
    )


def find_figures(report: Report, rows: RunRows, text: str, error: ValueError) -> list[Figure]:
    """The figures of that name that no gate has; UserMistake, with those that are like it, when there is none."""
    try:
        asked = tuple(split_sides(f"{text} >= 0", "metric", "")[0])
    except ValueError:
        raise UserMistake(str(error)) from None
    everything = {each.names: each for each in reversed(list(own_figures(report, rows)))}
    found = [each for names, each in reversed(everything.items()) if _is(asked, names)]
    if found:
        return found
    near = [spelled(names) for names in reversed(everything) if _head(names) == _head(asked)]
    if near:
        raise UserMistake(f"metric {text!r}: this run has no such figure{meant(text, near)}; it has: {listed(near)}")
    raise UserMistake(f"{error}; --explain {LIST} names every figure of this run")


def list_figures(store: Store, header: RunHeader) -> list[tuple[str, str]]:
    """The name of every kind of figure of a run and its place in the report.

    Those of cases, kinds of claims and numbered rows are named once, with `*` for any of them; those of slices only
    where the whole run has none of that name.
    """
    report, rows = build_report(store, header), RunRows(store, header)
    own = ((each.names, each.place) for each in own_figures(report, rows))
    found: dict[str, str] = {}
    for names, place in (*gate_figures(report, rows), *own):
        kind = tuple(_any(names))
        if kind[0] in FACTORS and spelled(kind[2:]) in found:
            continue
        found.setdefault(spelled(kind), place if kind == names else _INDEX.sub("[*]", place))
    return list(found.items())


def gate_figures(report: Report, rows: RunRows) -> Iterator[Named]:
    """The figures that gates can name, with every place where they stand."""
    summary = report.summary
    for place, part in slices_of(report):
        for names, path in _of_slice(part, rows):
            yield (*sliced(part.factor, part.name), *names), f"{place}.{path}"
    for names, path in _of_slice(summary.overall, rows):
        head, _, rest = path.partition(".")
        if head == "totals":
            yield names, rest
        if head == "latency" and summary.latency is not None:
            yield names, f"latency.overall.{rest}"
            yield names, "latency.overall.n"
    for gate, place, part in gates_of(report):
        over_repeats = gate.name and parse_repeats(gate.gate) is not None
        if gate.value.value is not None and not gate.baseline and not over_repeats:
            head_names, whole = sliced(part.factor, part.name), _written(gate.metric, report, rows)
            yield (whole if whole[:2] == head_names else (*head_names, *whole)), f"{place}.value"
    yield from _of_codes(report)
    yield from _over_repeats(report)


def _of_slice(part: Slice, rows: RunRows) -> Iterator[Named]:
    """Every metric that a slice has, and its place there."""
    for metric in metrics().values():
        for names in [()] if metric.all_names is None else metric.all_names(rows.data):
            path = metric.place_of(names)
            at: Any = getattr(part, path[0])
            for name in path[1:]:
                at = None if at is None else at.get(name)
            if at is not None and (path[1:] or path[0] != "findings"):
                left = iter(names)
                yield tuple(next(left) if each.startswith("<") else each for each in metric.parts), ".".join(path)


def _written(metric: str, report: Report, rows: RunRows) -> tuple[str, ...]:
    """The names of a gate's result, which says them without quotes."""
    for _, part in slices_of(report):
        for names, _path in _of_slice(part, rows):
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
        for at, each in enumerate(counts_by_slice(report, figure.code)):
            head, where = sliced(each.factor, each.name), f"{place}.slices[{at}]"
            yield (*head, *names), f"{where}.count"
            yield (*head, *names, "rate"), f"{where}.samples"
    codes = {figure.code for figure in report.summary.codes}
    for number, priority in enumerate(report.summary.priorities):
        if priority.component not in codes and priority.component in report.summary.overall.components:
            yield ("score", priority.component, "points"), f"priorities[{number}].average"


def _over_repeats(report: Report) -> Iterator[Named]:
    checks, stability = report.summary.checks, report.summary.stability
    if checks is not None:
        yield ("cases", "held"), "checks.cells_rate"
        yield ("checks", "held"), "checks.checks_rate"
        yield ("flaky_rate",), "checks.flaky"
        for name in checks.held:
            yield ("check", name, "held"), f"checks.held.{name}"
        for k in checks.all_of:
            yield ("pass_all", str(k)), f"checks.all_of.{k}"
    if stability is not None:
        yield ("stability", "presence"), "stability.presence"
        for name in stability.fields:
            yield ("stability", name), f"stability.fields.{name}"


def spelled(names: tuple[str, ...]) -> str:
    """The names as one metric; one that holds a dot or a sign is quoted."""
    return ".".join(_quoted(name) for name in names)


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
        many = tail[:at] in _MANY or (at > 0 and name.isdecimal() and tail[at - 1] != "pass_all")
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
    return len(whole) == len(mine) and all(one in (EVERY, other) for one, other in zip(whole, mine, strict=True))
