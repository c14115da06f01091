"""Compares two snapshots of 50 prompts: python -m bench.compared FOLDER.

The time of the whole process, with the start of Python and of all modules, is told beside that of the work.
"""

from __future__ import annotations

import json
import random
import sys
import time
from io import StringIO
from pathlib import Path
from typing import Any

_CATEGORIES = ("shot", "subject", "action", "environment", "lighting", "camera", "style", "technical", "audio")
_DIMENSIONS = ("coverage", "precision", "granularity", "taxonomy", "technicalSpecs")
_PROMPTS, _SPANS = 50, 30
_ROLES = [f"{category}.{kind}" for category in _CATEGORIES for kind in ("type", "look", "detail")]


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
    from rich.console import Console

    from steelyard.comparing.compare import compare
    from steelyard.comparing.report import document
    from steelyard.exchange.imports import import_foreign
    from steelyard.loading.load import load_suite
    from steelyard.pairing.runs import read_run
    from steelyard.report.render.terminal import print_document
    from steelyard.store.sql import open_store

    wall, cpu = time.perf_counter(), time.process_time()
    suite = load_suite("spans")
    store = open_store(str(folder / "snapshots.db"))
    names = [import_foreign(suite, store, folder / f"{seed}.json").header.id for seed in (1, 2)]
    comparison = compare(*(read_run(store, name) for name in names))
    print_document(document(comparison), Console(file=StringIO(), width=80))
    now, n = time.process_time(), comparison.pairs.comparable
    spent = {"wall": time.perf_counter() - wall, "cpu": now - cpu, "whole_cpu": now, "n": n}
    store.close()
    return spent


if __name__ == "__main__":
    print(json.dumps(snapshots(Path(sys.argv[1]))))
