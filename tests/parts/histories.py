"""Runs of a suite as a store keeps them, with figures and without samples, to make histories of."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from parts.headers import run_header
from parts.slices import a_slice, a_summary
from steelyard.analysis.model import Summary
from steelyard.analysis.stored import stored_form
from steelyard.records import RunHeader, RunState, Verdict
from steelyard.stats.intervals import Estimate

DAY = 86_400.0
JAN_1 = 1_767_225_600.0
"""2026-01-01 00:00 UTC."""
SIGNATURE = {
    "suite": "chairs",
    "cases": "c1",
    "truth": "t1",
    "scorers": "s1",
    "prompts": "p1",
    "schema": "a1",
    "judge": "",
    "rules": "",
    "target": "x1",
    "model": "m1",
}
SUITE: dict[str, Any] = {
    "name": "chairs",
    "bands": [{"name": "Excellent", "at_least": 0.9}, {"name": "Poor", "at_least": 0.0}],
    "gates": ["average >= 80 %", "category.*.average >= 70 %"],
    "components": [],
    "passing": {"text": "score >= 75 %", "at_least": 0.75},
    "taxonomy": [{"code": "NAME"}],
    "repeats": 1,
    "variants": [""],
    "n_cases": 50,
}


def share(value: float, n: int = 50, missing: int = 0, half: float = 0.08) -> Estimate:
    return Estimate(value, n, missing, max(0.0, value - half), min(1.0, value + half))


def summary(
    average: float,
    *,
    median: float = 0.9,
    pass_rate: float = 0.9,
    best: float = 0.58,
    n: int = 50,
    missing: int = 0,
    categories: dict[str, float] | None = None,
    codes: dict[str, float] | None = None,
) -> Summary:
    """The figures of a run."""

    def part(factor: str, name: str, mean: float) -> Any:
        rates = {code: share(rate, n) for code, rate in (codes or {}).items()}
        return a_slice(
            factor,
            name,
            n + missing,
            outcomes={"scored": n},
            average=share(mean, n, missing),
            median=share(median, n),
            pass_rate=share(pass_rate, n, missing),
            bands={"Excellent": share(best, n), "Poor": share(1 - best, n)},
            findings={code: round(rate * n) for code, rate in (codes or {}).items() if rate},
            finding_rates=rates,
        )

    slices = {"category": [part("category", name, mean) for name, mean in (categories or {}).items()]}
    return a_summary("score >= 75 %", part("", "", average), slices if categories else {})


def made_run(number: int, average: float = 0.85, **changes: Any) -> RunHeader:
    """The run of day `number` of 2026, ended, with figures; `figures` are more arguments of `summary`."""
    signature, suite, figures = changes.pop("signature", {}), changes.pop("suite", {}), changes.pop("figures", {})
    told: dict[str, Any] = {
        "id": f"chairs-{number:03d}",
        "suite_name": "chairs",
        "suite_path": "",
        "created_at": JAN_1 + number * DAY,
        "signature": SIGNATURE | signature,
        "target": {"kind": "http"},
        "suite": SUITE | suite,
        "n_planned": 50,
        "state": RunState.ENDED,
        "ended_at": JAN_1 + number * DAY + 60,
        "verdict": Verdict.PASS,
        "version": "1",
    }
    known = changes.pop("summary", None) or summary(average, **figures)
    run = run_header(**(told | changes))
    _SUMMARIES[run.id] = known
    return run


def keep(store: Any, run: RunHeader) -> None:
    """Put a run of `made_run` into a store, with its figures."""
    store.create_run(run)
    store.keep_summary(run.id, stored_form(store, run.id, _SUMMARIES[run.id]))


_SUMMARIES: dict[str, Summary] = {}
"""Of the runs that a test made."""


class StoredFigures:
    """What a store says of the figures of runs of `made_run`."""

    people = SimpleNamespace(said_of=lambda run_id: "")

    def summary(self, run_id: str) -> Any:
        return stored_form(self, run_id, _SUMMARIES[run_id])

    def summary_bases(self, run_ids: Any) -> dict[str, str]:
        return {run_id: self.summary(run_id).basis for run_id in run_ids}

    def figures(self, run_ids: Any, names: Any = None, factors: Any = ("",)) -> Any:
        return {
            run_id: [
                row
                for row in _SUMMARIES[run_id].figures.rows()
                if (names is None or row.name in names) and (factors is None or row.of.factor in factors)
            ]
            for run_id in run_ids
        }
