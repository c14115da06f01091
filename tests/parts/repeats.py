"""Checks and items of made-up runs, as a store would give them."""

from __future__ import annotations

from typing import Any

import numpy as np

from parts.columns import Made, columns, suite
from parts.described import summarise
from steelyard.analysis.model import Summary
from steelyard.records import Check, CheckState, Item
from steelyard.store.base import Checks

STATES = {"p": CheckState.PASSED, "f": CheckState.FAILED, "-": CheckState.NOT_RUN}


def checks(by_sample: list[list[Check]]) -> Checks:
    """The checks of each sample, in order."""
    flat = [(i, check) for i, found in enumerate(by_sample) for check in found]
    names = list(dict.fromkeys(check.name for _, check in flat))
    details = list(dict.fromkeys(check.detail for _, check in flat))
    states = [state.value for state in CheckState]

    def numbers(which: str) -> np.ndarray:
        values = [getattr(check, which) for _, check in flat]
        return np.array([np.nan if value is None else value for value in values], dtype=float)

    return Checks(
        sample=np.array([i for i, _ in flat], dtype=np.uint32),
        name=np.array([names.index(check.name) for _, check in flat], dtype=np.uint32),
        names=names,
        state=np.array([states.index(check.state) for _, check in flat], dtype=np.uint8),
        states=states,
        detail=np.array([details.index(check.detail) for _, check in flat], dtype=np.uint32),
        details=details,
        value=numbers("value"),
        low=numbers("low"),
        high=numbers("high"),
    )


def expecting(required_repeats: str = "all", n_planned: int = 0, repeats: int = 1, **more: Any) -> dict[str, Any]:
    """A suite that expects things, as a run's header describes it; `holds` are rules of single checks."""
    holds = more.pop("holds", {})
    declared = [{"name": name, "code": name.upper(), "required_repeats": rule} for name, rule in holds.items()]
    return suite(
        expect={"required_repeats": required_repeats, "checks": declared}, n_planned=n_planned, repeats=repeats, **more
    )


def cell(case: str, variant: str = "", /, **rows: str) -> list[tuple[Made, list[Check]]]:
    """The repeats of one cell; each check is given as one letter a repeat: passed, failed, - not run, space is none."""
    n = max(map(len, rows.values()))
    found = []
    for repeat in range(n):
        its = [Check(name, STATES[row[repeat]], f"{name} {repeat}") for name, row in rows.items() if row[repeat] != " "]
        found.append((Made(case, 1.0, variant=variant, repeat=repeat), its))
    return found


def summed_up(*cells: list[tuple[Made, list[Check]]], described: dict[str, Any] | None = None) -> Summary:
    """The summary of a run of these cells, in that order."""
    samples = [sample for each in cells for sample in each]
    described = described or expecting(repeats=max((len(each) for each in cells), default=1))
    given = [found for _, found in samples]
    return summarise(columns([made for made, _ in samples]), described, checks=checks(given))


def comparing(fields: dict[str, str], repeats: int, **more: Any) -> dict[str, Any]:
    """A suite that compares repeats, as a run's header describes it."""
    return suite(stability={"items": "items[]", "key": "id", "fields": fields}, repeats=repeats, **more)


def compared(
    answers: dict[str, list[list[Item] | None]], fields: dict[str, str], made: list[Made] | None = None, **more: Any
) -> Summary:
    """The summary of a run: by case, the items of each repeat; None for an answer that could not be read."""
    flat = [(case, repeat, found) for case, given in answers.items() for repeat, found in enumerate(given)]
    made = made or [
        Made(case, 0.0 if found is None else 1.0, "malformed" if found is None else "scored", repeat=repeat)
        for case, repeat, found in flat
    ]
    items = [(at, tuple(found)) for at, (_, _, found) in enumerate(flat) if found is not None]
    described = comparing(fields, max(map(len, answers.values())), **more)
    return summarise(columns(made), described, items=iter(items))


def n_cases(summary: Summary, *states: str) -> tuple[int, ...]:
    """How many cells are in each of these states: passed, failed, undecided, all, unknown, flaky."""
    return tuple(summary.overall.count(f"cases.count.{state}") for state in states)


def n_checks(summary: Summary, *states: str) -> tuple[int, ...]:
    """The same of the checks of cells."""
    return tuple(summary.overall.count(f"checks.count.{state}") for state in states)


def of_check(summary: Summary, name: str) -> tuple[int, ...]:
    """Cells in which a check passed, failed and cannot be told; answers in which it passed, failed and did not run."""
    ends = [f"cells.{state}" for state in ("passed", "failed", "undecided")]
    ends += [f"answers.{state}" for state in ("passed", "failed", "not_run")]
    return tuple(summary.overall.count(f"check.{name}.{end}") for end in ends)
