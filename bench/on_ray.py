"""What a run on Ray takes here, against the same run in one process: python -m bench.on_ray [--calls N].

A cluster of its own is started for each line, so this measures one machine: how throughput grows with workers as far as
its cores reach, and what a sample costs the driver, which is what many machines are limited by.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import psutil

from bench.server import Behaviour, endpoint
from bench.suites import write_suite
from steelyard.store.sql import open_store

_SLOW = '''
import time

from steelyard import Reading, Scorer


class Slow(Scorer):
    """Takes 10 ms of CPU."""

    needs_truth = False
    case_paths = ()

    def read(self, answer, case):
        end = time.thread_time() + 0.01
        while time.thread_time() < end:
            pass
        return Reading(1.0)
'''


def _calls(store: Path) -> tuple[int, float]:
    """How many calls were made, and the seconds from the first to the end of the last."""
    opened = open_store(str(store), create=False)
    times = [
        (sample.call_result.started_at, sample.call_result.latency or 0.0)
        for sample, _ in opened.samples(opened.run("LAST").id)
    ]
    opened.close()
    return len(times), max(at + took for at, took in times) - min(at for at, _ in times)


def _measure(what: str, suite: Path, n: int, concurrency: int, workers: int | None, folder: Path) -> None:
    store = folder / f"{len(list(folder.glob('*.db')))}.db"
    on = [] if workers is None else ["ray", workers]
    command = [sys.executable, "-m", "bench.child", *map(str, (suite, concurrency, store, *on))]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        workers_cpu = _watched(process)
        output, errors = process.communicate()
    if process.returncode:
        raise SystemExit(f"{what}: {errors[-1000:]}")
    child = json.loads(output.splitlines()[-1])
    calls, seconds = _calls(store)
    if child["scored"] != n or calls != n:
        raise SystemExit(f"{what}: {child['scored']} of {n} samples were scored, {calls} are stored")
    where = "in one process" if workers is None else f"{workers} worker{'s' if workers > 1 else ''}"
    print(
        f"{what:<34} {where:<15} {n / seconds:>7,.0f} calls/s; CPU a sample: driver {child['cpu'] / n * 1000:.2f} ms,"
        f" workers {workers_cpu / n * 1000:.2f} ms; {child['wall']:.0f} s in all, driver {child['peak_mb']:.0f} MB",
        flush=True,
    )


def _watched(process: subprocess.Popen[str]) -> float:
    """The seconds of CPU that the workers of a run have taken by its end, without those of their start."""
    first: dict[int, float] = {}
    last: dict[int, float] = {}
    while process.poll() is None:
        with suppress(psutil.Error):
            for child in psutil.Process(process.pid).children(recursive=True):
                if "".join(child.cmdline()).startswith("ray::Worker."):
                    times = child.cpu_times()
                    last[child.pid] = times.user + times.system
                    first.setdefault(child.pid, last[child.pid])
        time.sleep(0.2)
    return sum(last.values()) - sum(first.values())


def main(calls: int, most_workers: int) -> None:
    counts = [None, *(n for n in (1, 2, 4, 8) if n <= most_workers)]
    with tempfile.TemporaryDirectory() as place, endpoint(Behaviour(0.05)) as url:
        folder = Path(place)
        suite = write_suite(folder / "calls", 5_000, url)
        for workers in counts:
            _measure("5,000 calls of 50 ms, 200 at once", suite, 5_000, 200, workers, folder)
        slow = write_suite(folder / "scoring", 500, url)
        (slow.parent / "slow.py").write_text(_SLOW)
        slow.write_text(slow.read_text().replace("score:\n", "score:\n  slow: {python: slow:Slow}\n"))
        for workers in counts:
            _measure("500 scored in 10 ms of CPU", slow, 500, 100, workers, folder)
        if calls:
            suite = write_suite(folder / "many", calls, url)
            _measure(f"{calls:,} calls of 50 ms", suite, calls, 400, min(4, most_workers), folder)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=0, help="and one run of so many calls, such as 100000")
    parser.add_argument("--workers", type=int, default=8, help="at most so many workers")
    arguments = parser.parse_args()
    main(arguments.calls, arguments.workers)
