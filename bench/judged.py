"""Rescores recorded answers of a judge: python -m bench.judged TEXTS FOLDER.

The judge is a loopback server that is asked once for each text; the rescore must not ask it again.
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections import Counter
from pathlib import Path

from bench.server import Behaviour, endpoint
from steelyard.engine.run_options import RunOptions
from steelyard.loading.load import load_suite
from steelyard.runner import run
from steelyard.store.sql import open_store

_CHARACTERS = 3_000
_SUITE = """\
suite: judged
cases: {{files: cases.jsonl}}
target: {{recorded: answers.jsonl}}
judge:
  rubric:
    scale: [1, 5]
    neutral: 3
    dimensions:
      clarity: {{about: How clear it is., scores: {{5: All of it, 3: Most of it, 1: None of it}}}}
      warmth: {{about: How warm it is., scores: {{5: All of it, 3: Most of it, 1: None of it}}}}
    flags: {{harm: {{about: Whether it harms.}}}}
  reasons: {{in: reasons, at_least: 2}}
  evidence: {{in: notes}}
  by: model
  judges: {{model: {{chat: {{base_url: "{url}/v1", model: scripted}}}}}}
pass: score >= 50 %
limits: {{concurrency: 64, timeout: 120}}
"""


def write(folder: Path, n: int, url: str) -> Path:
    """A suite of so many texts of 3,000 characters."""
    folder.mkdir(parents=True, exist_ok=True)
    chance = random.Random(7)
    words = [f"word{number}" for number in range(500)]
    with (folder / "cases.jsonl").open("w") as cases, (folder / "answers.jsonl").open("w") as answers:
        for number in range(n):
            text = " ".join(chance.choices(words, k=_CHARACTERS // 8))
            cases.write(json.dumps({"id": f"text-{number}", "input": {"number": number}}) + "\n")
            answers.write(json.dumps({"case": f"text-{number}", "answer": text}) + "\n")
    path = folder / "suite.yaml"
    path.write_text(_SUITE.format(url=url))
    return path


def main(n: int, folder: Path) -> None:
    with endpoint(Behaviour(delay=0.0)) as url:
        suite = load_suite(write(folder, n, url))
        store = open_store(str(folder / "judged.db"))
        header = run.run(suite, store, RunOptions()).header
    # The judge is gone from here on: a rescore that asked it would fail.
    wall, cpu = time.perf_counter(), time.process_time()
    again = run.rescore(suite, store, header).header
    spent = {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
    scored = Counter(sample.outcome for sample, _ in store.samples(again.id))["scored"]
    store.close()
    print(json.dumps(spent | {"scored": scored, "n": n}))


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]))
