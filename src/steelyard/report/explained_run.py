"""Any figure of a run's report, and everything behind it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from steelyard.analysis.explain import first_repeat, spread_out
from steelyard.analysis.explain_model import Explanation
from steelyard.analysis.explain_things import Figure
from steelyard.errors import UserMistake
from steelyard.records import RunHeader
from steelyard.release.explained import explain_run
from steelyard.report.build import build_report
from steelyard.report.figure_names import gate_figures, own_figures, spelled
from steelyard.report.model import Report
from steelyard.store.base import Store
from steelyard.suite.formulas import asked_metric
from steelyard.suite.gates import EVERY, FACTORS, split_sides
from steelyard.suite.spelling import listed, meant

LIST = "list"
"""Asked for instead of a metric: the names of all figures."""
_MANY = {("case",), ("confidence", "label"), *((factor,) for factor in FACTORS)}
"""What stands before a name of which there are many."""
_INDEX = re.compile(r"\[\d+\]")


def explain_report(store: Store, header: RunHeader, *metrics: str) -> list[Explanation]:
    """The figures that were asked for, each with its samples; UserMistake when there is no such figure.

    Those that gates can name are found without the rest of the report.
    """
    found: list[Explanation] = []
    report: Report | None = None
    for metric in metrics:
        try:
            asked_metric(metric)
        except ValueError as error:
            report = report or build_report(store, header)
            found += traced_figures(store, header, find_figures(report, first_repeat_of(store, header), metric, error))
        else:
            found += explain_run(store, header, metric)
    return found


def first_repeat_of(store: Store, header: RunHeader) -> int:
    """The number of the run's first repeat."""
    columns = store.columns(header.id)
    lowest, highest = (int(columns.repeat.min()), int(columns.repeat.max())) if columns.n else (0, 0)
    return first_repeat(lowest, highest, header.suite)


def find_figures(report: Report, first: int, metric: str, error: ValueError) -> list[Figure]:
    """The figures of that name; UserMistake, with those that are like it, when there is none."""
    try:
        asked = tuple(split_sides(f"{metric} >= 0", "metric", "")[0])
    except ValueError:
        raise UserMistake(str(error)) from None
    everything = {each.names: each for each in reversed(list(own_figures(report, first)))}
    found = [each for names, each in reversed(everything.items()) if _is(asked, names)]
    if found:
        return found
    near = [spelled(names) for names in reversed(everything) if _head(names) == _head(asked)]
    if near:
        raise UserMistake(
            f"metric {metric!r}: this run has no such figure{meant(metric, near)}; it has: {listed(near)}"
        )
    raise UserMistake(f"{error}; --explain {LIST} names every figure of this run")


def traced_figures(store: Store, header: RunHeader, figures: Sequence[Figure]) -> list[Explanation]:
    """Each figure with what its samples come to; samples are read once."""
    traced = [each.trace() for each in figures]
    n = spread_out((sample for sample, _ in store.samples(header.id)), [(None, "", each) for each in traced])
    absent = max(0, int(header.suite.get("n_planned") or 0) - n)
    return [
        figure.explained(spelled(figure.names), each.ended(absent))
        for figure, each in zip(figures, traced, strict=True)
    ]


def named_figures(store: Store, header: RunHeader) -> list[tuple[str, str]]:
    """The name of every kind of figure of a run and its place in the report.

    Those of cases, kinds of claims and numbered rows are named once, with `*` for any of them; those of slices only
    where the whole run has none of that name.
    """
    report = build_report(store, header)
    own = ((each.names, each.place) for each in own_figures(report, first_repeat_of(store, header)))
    found: dict[str, str] = {}
    for names, place in (*gate_figures(report), *own):
        kind = tuple(_any(names))
        if kind[0] in FACTORS and spelled(kind[2:]) in found:
            continue
        found.setdefault(spelled(kind), place if kind == names else _INDEX.sub("[*]", place))
    return list(found.items())


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
