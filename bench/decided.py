"""Compares, attributes and gates two runs of many samples: what a release decision takes.

python -m bench.decided make SAMPLES FOLDER puts two runs into a store, python -m bench.decided decide FOLDER measures
the rest in a process of its own, so that its peak memory is not that of the making.
"""

from __future__ import annotations

import json
import random
import resource
import sys
import time
from collections.abc import Iterator
from io import StringIO
from itertools import islice
from pathlib import Path
from typing import Any

from steelyard.records import CallResult, Finding, Outcome, RunHeader, RunState, Sample, Score, Signature, TargetFacts
from steelyard.suite.case import Case

_ROLES = [
    f"{category}.{kind}" for category in ("shot", "subject", "action", "style") for kind in ("type", "look", "detail")
]
SUITE: dict[str, Any] = {
    "name": "bench",
    "components": [
        {
            "name": name,
            "weight": 1.0,
            "code": code,
            "scale": [0.0, 1.0],
            "measures": {"recall": {"numerator": "hit", "denominator": "all", "about": "", "better": "higher"}},
        }
        for name, code in (("name", "NAME"), ("role", "ROLE"))
    ],
    "bands": [{"name": "Good", "at_least": 0.75}, {"name": "Poor", "at_least": 0.0}],
    "passing": {"at_least": 0.75, "text": "score >= 75 %"},
    "taxonomy": [{"code": code, "about": "", "severity": "error"} for code in ("NAME", "ROLE")],
}
_GATES = ["pass_rate >= 20 %", "category.*.average >= 0.4", "findings.NAME.rate <= 100 %", "latency.p95 <= 1 s"]
_BATCH = 5_000


def samples_of(n: int, seed: int) -> Iterator[tuple[Sample, Case]]:
    """Samples with two components, two findings, tags, latency, tokens and cost each."""
    chance = random.Random(seed)
    for number in range(n):
        case = Case(f"case-{number:06d}", {"n": number}, {"n": number}, category=f"c{number % 9}", tags=("odd", "old"))
        values = chance.random(), chance.random()
        score = sum(values) / 2
        role = Finding("ROLE", "role", chance.choice(_ROLES), chance.choice(_ROLES), component="role", gain=0.5)
        name = Finding("NAME", "name", f"name {number % 50}", "another", component="name", gain=0.5)
        yield (
            Sample(
                case_id=case.id,
                variant="",
                repeat=0,
                call_result=CallResult(
                    text="{}", latency=chance.random(), tokens_in=100, tokens_out=number % 50, cost=0.001
                ),
                outcome=Outcome.SCORED,
                score=score,
                passed=score >= 0.75,
                band="Good" if score >= 0.75 else "Poor",
                scores=tuple(
                    Score(part, value, 1.0, counts={"hit": chance.randint(0, 3), "all": 3})
                    for part, value in zip(("name", "role"), values, strict=True)
                ),
                findings=(name, role),
                category=case.category,
                tags=case.tags,
                position=number,
            ),
            case,
        )


def make(n: int, folder: Path) -> dict[str, float]:
    """Two ended runs of so many samples each, of the same cases, in the store at `folder`."""
    from steelyard.analysis.stored import summary_of
    from steelyard.store.sql import open_store

    folder.mkdir(parents=True, exist_ok=True)
    store = open_store(str(folder / "runs.db"))
    began = time.perf_counter()
    for seed, name in enumerate(("a", "b")):
        suite = SUITE | {"gates": _GATES, "n_planned": n}
        signed = Signature(suite="s", truth="t", scorers="c")
        header = RunHeader(
            name, "bench", "", 1000.0 + seed, signed, target=TargetFacts({"kind": "python"}), suite=suite, n_planned=n
        )
        store.create_run(header)
        made = samples_of(n, seed)
        while piece := list(islice(made, _BATCH)):
            store.add_samples(name, [sample for sample, _ in piece], [case for _, case in piece])
        header.state = RunState.ENDED
        store.update_run(header)
        summary_of(store, store.run(name))  # stores it, as the end of a run does
    store.close()
    return {"n": n, "wall": time.perf_counter() - began}


class _Clock:
    """CPU and wall seconds since the last look."""

    def __init__(self) -> None:
        self.parts: dict[str, dict[str, float]] = {}
        self._wall, self._cpu = time.perf_counter(), _cpu()

    def note(self, part: str) -> None:
        wall, cpu = time.perf_counter(), _cpu()
        self.parts[part] = {"wall": wall - self._wall, "cpu": cpu - self._cpu}
        self._wall, self._cpu = wall, cpu


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def decide(folder: Path) -> dict[str, Any]:
    """What it takes to compare two runs, to say why the number moved, to hold gates against B, and to print it all."""
    from rich.console import Console

    from steelyard.analysis.stored import summary_of
    from steelyard.comparing.operations import traced
    from steelyard.comparing.report import document
    from steelyard.decide.verdict import decide as decided
    from steelyard.report.render.terminal import print_document
    from steelyard.store.sql import open_store

    began, clock = time.perf_counter(), _Clock()
    store = open_store(str(folder / "runs.db"))
    comparison = traced((store, "a"), (store, "b"), allow_mismatch=False)[0]
    clock.note("compare and attribute")
    print_document(document(comparison), Console(file=StringIO(), width=80))
    clock.note("print")
    header = store.run("b")
    decision = decided(summary_of(store, header), header.description)
    clock.note("gate")
    store.close()
    if comparison.attribution is None or len(decision.gates) < len(_GATES):
        raise SystemExit("the decision lacks its attribution or its gates")
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {
        "n": comparison.pairs.comparable,
        "wall": time.perf_counter() - began,
        "cpu": sum(part["cpu"] for part in clock.parts.values()),
        "peak_mb": used,
        "parts": clock.parts,
    }


if __name__ == "__main__":
    what, *rest = sys.argv[1:]
    print(json.dumps(make(int(rest[0]), Path(rest[1])) if what == "make" else decide(Path(rest[0]))))
