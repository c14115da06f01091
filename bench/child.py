"""Runs one suite in a process of its own and prints what it cost.

python -m bench.child SUITE CONCURRENCY STORE [ON WORKERS]
"""

from __future__ import annotations

import json
import resource
import sys
import time

from steelyard.engine.run_options import RunOptions
from steelyard.loading.load import load_suite
from steelyard.runner import run
from steelyard.store.sql import open_store


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def main(suite_path: str, concurrency: int, store_url: str, on: str | None = None, workers: int | None = None) -> None:
    suite = load_suite(suite_path)
    store = open_store(store_url)
    wall, cpu = time.perf_counter(), _cpu()
    result = run.run(suite, store, RunOptions(concurrency=concurrency, on=on, workers=workers))
    wall, cpu = time.perf_counter() - wall, _cpu() - cpu
    store.close()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        json.dumps(
            {
                "n": result.ending.counts.done,
                "scored": result.ending.counts.scored,
                "verdict": result.header.verdict,
                "wall": wall,
                "cpu": cpu,
                "peak_mb": peak,
            }
        )
    )


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3], *([sys.argv[4], int(sys.argv[5])] if sys.argv[4:] else []))
