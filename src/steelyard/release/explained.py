"""A metric of a stored run, and everything behind it."""

from __future__ import annotations

from dataclasses import replace

from steelyard.analysis.explain import explanation, first_repeat, spread_out, traced
from steelyard.analysis.explain_model import Explanation
from steelyard.analysis.explain_parts import Parts, Traced
from steelyard.analysis.model import Slice, Summary
from steelyard.analysis.stored import summarise_stored
from steelyard.errors import UserMistake
from steelyard.records import RunHeader
from steelyard.release.asked import known_of
from steelyard.release.gates import Scope, measure
from steelyard.store.base import Columns, Store
from steelyard.suite.formulas import about_metric, asked_metric
from steelyard.suite.gate_checks import missing_name
from steelyard.suite.gates import Gate


def explain_run(store: Store, header: RunHeader, *metrics: str) -> list[Explanation]:
    """The metrics that were asked for, of the run or, for `category.*`, of every slice; samples are read once.

    UserMistake when there is no such metric, or this run has nothing of that name.
    """
    columns = store.columns(header.id)
    summary = summarise_stored(store, header.id, header.suite, columns, only_for_gates=True)
    asked = [(gate, part) for metric in metrics for gate, part in _parts(metric, header, summary)]
    figures = [_figure(gate, header, columns, part) for gate, part in asked]
    n = spread_out((sample for sample, _ in store.samples(header.id)), figures)
    absent = max(0, int(header.suite.get("n_planned") or 0) - n)
    return [
        _explained(gate, part, summary, figure.ended(0 if part.factor else absent))
        for (gate, part), (_, _, figure) in zip(asked, figures, strict=True)
    ]


def _parts(metric: str, header: RunHeader, summary: Summary) -> list[tuple[Gate, Slice]]:
    gate = find_metric(metric, header, summary)
    found = Scope(summary, summary.overall, 0.0).slices(gate)
    if not found:
        raise UserMistake(f"no sample of run {header.id} has {gate.factor} {gate.slice!r}")
    return [(gate, part) for part in found]


def find_metric(metric: str, header: RunHeader, summary: Summary) -> Gate:
    """What a metric means in a run; UserMistake, with what was probably meant, when that is nothing."""
    try:
        gate = asked_metric(metric)
    except ValueError as error:
        raise UserMistake(str(error)) from None
    known = known_of(header.suite, summary)
    # A run may have findings of codes that its suite does not list, and every report counts them.
    known = replace(known, codes=sorted({*(known.codes or ()), *summary.overall.finding_rates}))
    if wrong := missing_name(gate, known):
        raise UserMistake(about_metric(wrong, gate.text, metric))
    return gate


def _figure(gate: Gate, header: RunHeader, columns: Columns, part: Slice) -> tuple[str | None, str, Traced]:
    lowest, highest = (int(columns.repeat.min()), int(columns.repeat.max())) if columns.n else (0, 0)
    return part.factor or None, part.name, traced(gate, header.suite, first_repeat(lowest, highest, header.suite))


def _explained(gate: Gate, part: Slice, summary: Summary, parts: Parts) -> Explanation:
    name = f"{part.factor}.{part.name}.{gate.metric}" if part.factor else gate.metric
    return explanation(gate, name, measure(gate, part, summary), parts)
