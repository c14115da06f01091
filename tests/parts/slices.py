"""Slices and summaries of given figures, for tests of what reads them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from steelyard.analysis.model import Summary
from steelyard.metrics.figures import Figures, Slice
from steelyard.metrics.registry import find
from steelyard.stats.intervals import Estimate
from steelyard.store.figures import Figure, Kind, SliceKey

_PATTERNS = {
    "outcomes": "outcomes.<outcome>",
    "bands": "band.<band>",
    "components": "score.<component>.points",
    "findings": "findings.<code>",
    "finding_rates": "findings.<code>.rate",
    "finding_samples": "findings.<code>.samples",
    "latency": "latency.{}",
    "tokens": "tokens.{}",
    "cost": "cost.{}",
    "measures": "score.<component>.<measure>",
    "failures": "failures.<kind>",
    "gains": "gain.<code>",
    "if_fixed": "if_fixed.<code>",
    "failing": "failing.<code>.samples",
}


@dataclass(frozen=True)
class Repeated:
    """What came of a condition over repeats: in how many cells it passes, fails or is open, and some that fail it."""

    passed: int
    failed: int
    undecided: int
    failing: tuple[str, ...] = ()


def repeated_in(summary: Summary, part: Slice | None = None) -> dict[str, Repeated]:
    """What came of every condition over repeats in a slice, or in the whole run."""
    part = summary.overall if part is None else part
    failing = summary.failing_cells.get(part.key.text, {})
    return {
        rule: Repeated(
            *(part.count(f"repeated.{rule}.{state}") for state in ("passed", "failed", "undecided")),
            failing.get(rule, ()),
        )
        for rule in part.each("repeated.<rule>.passed")
    }


def _kind(name: str) -> Kind:
    """What a name is of, as the registry says it."""
    found = find(name.split("."), gates_only=False)
    return Kind(name) if found is None else Kind(found[0].name, tuple(found[1].values()))


def _figures(**given: Any) -> Iterator[tuple[str, Kind, Estimate]]:
    for group, value in given.items():
        if isinstance(value, Estimate):
            name = group.replace("_total", ".total")
            yield name, Kind(name), value
        elif group == "metrics":
            yield from ((name, _kind(name), item) for name, item in value.items())
        elif group == "repeated":
            for rule, item in value.items():
                for state in ("passed", "failed", "undecided"):
                    n = getattr(item, state)
                    yield f"repeated.{rule}.{state}", Kind(f"repeated.<rule>.{state}", (rule,)), Estimate(float(n), n)
        elif group == "measures":
            for component, measures in value.items():
                for measure, item in measures.items():
                    part = measure.removesuffix(".readable")
                    pattern = _PATTERNS[group] + measure[len(part) :]
                    yield f"score.{component}.{measure}", Kind(pattern, (component, part)), item
        else:
            for name, item in value.items():
                pattern = _PATTERNS[group]
                estimate = item if isinstance(item, Estimate) else Estimate(float(item), round(item))
                at, blank = pattern.find("<"), pattern[pattern.find("<") : pattern.find(">") + 1]
                whole = pattern.replace(blank, str(name)) if at >= 0 else pattern.format(name)
                yield whole, Kind(pattern, (str(name),)) if at >= 0 else _kind(whole), estimate


def _kind(name: str) -> Kind:
    """What a name is of, where the registry knows it."""
    named = find(name.split("."), gates_only=False)
    return Kind(name) if named is None else Kind(named[0].name, tuple(named[1].values()))


def rows(factor: str, name: str, n_planned: int, **given: Any) -> list[Figure]:
    """The figures of one slice: `average=Estimate(...)`, `bands={"Good": Estimate(...)}`, `findings={"A": 3}`."""
    of = SliceKey(factor, name)
    planned = Figure(of, "outcomes.planned", Kind("outcomes.planned"), Estimate(float(n_planned), n_planned))
    return [planned, *(Figure(of, *item) for item in _figures(**given))]


def a_slice(
    factor: str, name: str, n_planned: int, repeated: Mapping[str, Repeated] | None = None, **given: Any
) -> Slice:
    """One slice with these figures; `repeated` is what came of conditions over repeats there, by their text."""
    part = Figures(rows(factor, name, n_planned, repeated=repeated or {}, **given)).slice(factor, name)
    part.failing = {rule: item.failing for rule, item in (repeated or {}).items()}  # type: ignore[attr-defined]
    return part


def rows_of(part: Slice) -> list[Figure]:
    """The figures of a slice as rows."""
    return [Figure(part.key, name, part.kind(name), part[name]) for name in part]


def a_summary(
    passing: str, overall: Slice, slices: Mapping[str, Sequence[Slice]] | None = None, *lists: Any, **more: Any
) -> Summary:
    """A summary of these slices."""
    parts = [overall, *(part for parts in (slices or {}).values() for part in parts)]
    failing = {part.key.text: part.failing for part in parts if getattr(part, "failing", None)}
    figures = Figures(row for part in parts for row in rows_of(part))
    return Summary(passing, figures, *lists, **({"failing_cells": failing} | more))


def with_slices(summary: Summary, overall: Slice | None = None, **slices: Sequence[Slice]) -> Summary:
    """The same with another whole run, or other slices by some factors."""
    kept = {factor: parts for factor, parts in summary.slices.items() if factor not in slices}
    parts = [overall or summary.overall, *(part for some in (kept | slices).values() for part in some)]
    return replace(summary, figures=Figures(row for part in parts for row in rows_of(part)))


def changed(part: Slice, n_planned: int | None = None, **given: Any) -> Slice:
    """The same slice with all figures of some groups in the place of those that it had."""
    gone = {_PATTERNS.get(group, group) for group in given}
    planned = part.n_planned if n_planned is None else n_planned
    left = [row for row in rows_of(part) if row.kind.pattern not in {*gone, "outcomes.planned"}]
    made = Figures([*left, *rows(part.factor, part.name, planned, **given)]).slice(part.factor, part.name)
    failing = {rule: item.failing for rule, item in given.get("repeated", {}).items()}
    made.failing = getattr(part, "failing", {}) | failing  # type: ignore[attr-defined]
    return made
