"""Compares two snapshots of 50 prompts, or two runs of many samples.

python -m bench.compared snapshots FOLDER, python -m bench.compared runs SAMPLES FOLDER. Of the first the time of the
whole process, with the start of Python and of all modules, is told beside that of the work.
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

_CATEGORIES = ("shot", "subject", "action", "environment", "lighting", "camera", "style", "technical", "audio")
_DIMENSIONS = ("coverage", "precision", "granularity", "taxonomy", "technicalSpecs")
_PROMPTS, _SPANS = 50, 30
_ROLES = [f"{category}.{kind}" for category in _CATEGORIES for kind in ("type", "look", "detail")]
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


def write_snapshot(path: Path, seed: int) -> None:
    """A snapshot in the shape of the suite `spans`, as its first team saved them."""
    chance = random.Random(seed)
    results = [_result(number, chance) for number in range(_PROMPTS)]
    document = {"timestamp": f"2026-01-0{seed}T00:00:00.000Z", "promptCount": _PROMPTS, "judgeModel": "some-judge"}
    path.write_text(json.dumps(document | {"results": results}))


def _result(number: int, chance: random.Random) -> dict[str, Any]:
    words = [f"word{number}x{place}" for place in range(2 * _SPANS)]
    text, spans, at = " ".join(words), [], 0
    for place, word in enumerate(words):
        if place % 2:
            role = chance.choice(_ROLES)
            spans.append({"text": word, "role": role, "confidence": 0.9, "start": at, "end": at + len(word)})
        at += len(word) + 1
    scores = {name: chance.randint(2, 5) for name in _DIMENSIONS}
    wrong = [{"spanIndex": at, "text": spans[at]["text"], "assignedRole": spans[at]["role"]} for at in range(4)]
    judged = {
        "scores": scores,
        "totalScore": sum(scores.values()),
        "missedElements": [],
        "falsePositives": [one | {"reason": chance.choice(("other", "duplicate"))} for one in wrong[:2]],
        "taxonomyErrors": [one | {"expectedRole": "shot.other"} for one in wrong[2:]],
        "granularityErrors": [],
        "categoryScores": {name: {"coverage": 4, "precision": chance.randint(1, 5)} for name in _CATEGORIES},
        "notes": "",
    }
    told = {"promptId": f"p{number}", "output": text, "spanCount": len(spans), "spans": spans}
    return told | {"judgeResult": judged, "error": None, "latencyMs": chance.randint(800, 1500)}


def snapshots(folder: Path) -> dict[str, float]:
    """What it takes to import two snapshots into a new store, compare them and print it."""
    folder.mkdir(parents=True, exist_ok=True)
    for seed in (1, 2):
        write_snapshot(folder / f"{seed}.json", seed)
    from steelyard.runner.imports import import_foreign
    from steelyard.store.sql import open_store
    from steelyard.suite.load import load_suite

    wall, cpu = time.perf_counter(), time.process_time()
    suite = load_suite("spans")
    store = open_store(str(folder / "snapshots.db"))
    names = [import_foreign(suite, store, folder / f"{seed}.json").header.id for seed in (1, 2)]
    n = _compared(store, *names)
    now = time.process_time()
    spent = {"wall": time.perf_counter() - wall, "cpu": now - cpu, "whole_cpu": now, "n": n}
    store.close()
    return spent


def _compared(store: Any, a: str, b: str) -> int:
    """How many pairs there are; the whole comparison was made and printed."""
    from rich.console import Console

    from steelyard.analysis.compare.compare import compare
    from steelyard.analysis.compare.pairing import read_run
    from steelyard.report.compare.blocks import document
    from steelyard.report.render.terminal import print_document

    comparison = compare(read_run(store, a), read_run(store, b))
    print_document(document(comparison), Console(file=StringIO(), width=80))
    return comparison.pairs.comparable


def samples_of(n: int, seed: int) -> Iterator[tuple[Any, Any]]:
    """Samples with two components, two findings, tags, latency, tokens and cost each."""
    from steelyard.records import CallResult, Finding, Outcome, Sample, Score
    from steelyard.suite.case import Case

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


def runs(n: int, folder: Path) -> dict[str, float]:
    """What it takes to read two runs of so many samples and compare them; writing them is not counted."""
    import resource
    from itertools import islice

    from steelyard.records import RunHeader, RunState
    from steelyard.store.sql import open_store

    folder.mkdir(parents=True, exist_ok=True)
    store = open_store(str(folder / "runs.db"))
    for seed, name in enumerate(("a", "b")):
        header = RunHeader(name, "bench", "", 1000.0 + seed, {}, target={"kind": "python"}, suite=SUITE, n_planned=n)
        store.create_run(header)
        made = samples_of(n, seed)
        while piece := list(islice(made, 5_000)):
            store.add_samples(name, [sample for sample, _ in piece], [case for _, case in piece])
        header.state = RunState.ENDED
        store.update_run(header)
    wall, cpu = time.perf_counter(), time.process_time()
    compared = _compared(store, "a", "b")
    spent = {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu, "n": compared}
    store.close()
    return spent | {"peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}


if __name__ == "__main__":
    what, *rest = sys.argv[1:]
    print(json.dumps(snapshots(Path(rest[0])) if what == "snapshots" else runs(int(rest[0]), Path(rest[1]))))
