"""Prints each figure beside what it must hold: python -m bench [--quick]."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

from bench.server import endpoint, lone_call
from bench.suites import write_suite

_HTTP = '{{http: {{url: "{url}/ask", json: {{text: "{{{{ input.text }}}}"}}, answer: answer}}}}'
_OF_TIMER = 0.001
"""Seconds that asyncio's timers, which wake at whole milliseconds, and the way through loopback add to a wait."""
_PYTHON = '{python: "system:answer"}'


def _child(module: str, *arguments: object) -> dict[str, Any]:
    command = [sys.executable, "-m", module, *map(str, arguments)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def _line(what: str, value: str, wanted: str, good: bool) -> None:
    print(f"{'ok  ' if good else 'MISS'}  {what:<58} {value:>14}   want {wanted}", flush=True)


def help_cpu() -> None:
    best = float("inf")
    for _ in range(7):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([Path(sys.executable).parent / "steelyard", "--help"], check=True, stdout=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        best = min(best, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    _line("steelyard --help, CPU", f"{best * 1000:.0f} ms", "<= 150 ms", best <= 0.15)


def overhead(folder: Path, n: int) -> None:
    suite = write_suite(folder / "overhead", n, _PYTHON)
    costs = [_child("bench.child", suite, 100, folder / f"overhead-{turn}.db")["cpu"] / n for turn in range(3)]
    best = min(costs)
    _line(f"CPU a sample, {n:,} samples, scored and stored", f"{best * 1000:.3f} ms", "<= 0.5 ms", best <= 0.0005)


def throughput(folder: Path, n: int, rounds: int) -> None:
    ratios = []
    with endpoint(0.05) as url:
        suite = write_suite(folder / "throughput", n, _HTTP.format(url=url))
        for turn in range(rounds):
            bare = _child("bench.bare", url, n, 100)
            ours = _child("bench.child", suite, 100, folder / f"throughput-{turn}.db")
            if bare["n"] != n or ours["scored"] != n:
                raise SystemExit(f"not all calls were answered: bare {bare['n']}, ours {ours['scored']} of {n}")
            ratios.append(ours["wall"] / bare["wall"])
            print(f"      bare {bare['wall']:.2f} s, steelyard {ours['wall']:.2f} s, ideal {n * 0.05 / 100:.2f} s")
    ratio = median(ratios)
    _line(
        f"{n:,} calls of 50 ms at concurrency 100, against bare aiohttp", f"{ratio:.2f} x", "<= 1.25 x", ratio <= 1.25
    )


def repeats(folder: Path, cases: int, each: int, rounds: int) -> None:
    """A live service under load, against the time that its answers alone take."""
    took, concurrency, n = 0.02, 50, cases * each
    ideal = n * took / concurrency
    walls, bares, least = [], [], []
    with endpoint(took - _OF_TIMER) as url:
        lone = lone_call(url)
        suite = write_suite(folder / "repeats", cases, _HTTP.format(url=url), each)
        for turn in range(rounds):
            least.append(_child("bench.least", url, n, concurrency)["wall"])
            bares.append(_child("bench.bare", url, n, concurrency)["wall"])
            ours = _child("bench.child", suite, concurrency, folder / f"repeats-{turn}.db")
            if ours["scored"] != n:
                raise SystemExit(f"not all calls were answered: {ours['scored']} of {n}")
            walls.append(ours["wall"])
            print(
                f"      bytes alone {least[-1]:.2f} s, bare aiohttp {bares[-1]:.2f} s, steelyard {walls[-1]:.2f} s"
                f" (CPU {ours['cpu']:.2f} s)"
            )
    ratio, bare, floor = (median(each) / ideal for each in (walls, bares, least))
    print(
        f"      the answers take {ideal:.2f} s ({lone * 1000:.1f} ms a call by itself); a client that only moves bytes"
        f" {floor:.2f} x that, bare aiohttp {bare:.2f} x"
    )
    what = f"{cases} cases x {each} repeats of a 20 ms service at concurrency 50"
    _line(what, f"{ratio:.2f} x", "<= 1.2 x ideal", ratio <= 1.2)


def memory(folder: Path, small: int, large: int) -> None:
    peaks = {}
    for n in (small, large):
        suite = write_suite(folder / f"memory-{n}", n, _PYTHON)
        peaks[n] = _child("bench.child", suite, 100, folder / f"memory-{n}.db")["peak_mb"]
        print(f"      {n:,} cases: peak {peaks[n]:.0f} MB")
    ratio = peaks[large] / peaks[small]
    _line(f"peak memory, {large:,} cases against {small:,}", f"{ratio:.2f} x", "flat (<= 1.25 x)", ratio <= 1.25)


def items(folder: Path, photos: int, rounds: int) -> None:
    """Scoring alone is held to the limit; parsing the answer and the store's part of a rescore are told beside it."""
    spent = _child("bench.items", photos, 30, rounds, folder / "items")
    bare = spent["bare"]
    told = [
        f"{name} {spent[name] * 1e6:.0f} us ({spent[name] / bare:.1f} x)"
        for name in ("scored", "evaluated", "rescored")
    ]
    print(f"      a photo: bare {bare * 1e6:.0f} us, {', '.join(told)}")
    ratio = spent["scored"] / bare
    what = f"{photos:,} photos of 30 items scored, against bare cdist + assignment"
    _line(what, f"{ratio:.1f} x", "<= 3 x", ratio <= 3)


def judged(folder: Path, n: int) -> None:
    spent = _child("bench.judged", n, folder / "judged")
    if spent["scored"] != n:
        raise SystemExit(f"not all answers of the judge were read again: {spent['scored']} of {n}")
    a_text = spent["cpu"] / n * 1000
    print(f"      {n:,} answers of a judge on 3,000 characters each: {spent['wall']:.1f} s, {a_text:.2f} ms CPU each")
    _line(
        f"{n:,} recorded answers of a judge rescored",
        f"{spent['wall']:.1f} s",
        "seconds (<= 30 s)",
        spent["wall"] <= 30,
    )


def stability(rounds: int) -> None:
    spent = _child("bench.stability", 16, 100, 8, rounds)
    print(f"      {spent['pairs']:,} pairs of items: {spent['wall']:.2f} s")
    what = "stability of 16 cases x 100 repeats of 8 items, all pairs"
    _line(what, f"{spent['wall']:.2f} s", "< 1 s", spent["wall"] < 1)


def compared(folder: Path, n: int) -> None:
    spent = [_child("bench.compared", "snapshots", folder / f"compared-{turn}") for turn in range(3)]
    best = min(each["wall"] for each in spent)
    if any(each["n"] != 50 for each in spent):
        raise SystemExit(f"not all prompts were compared: {spent}")
    cpu, whole = (min(each[name] for each in spent) for name in ("cpu", "whole_cpu"))
    print(
        f"      two snapshots of 50 prompts: {best:.2f} s, {cpu:.2f} s CPU; {whole:.2f} s CPU with the start of Python"
    )
    _line("two snapshots of 50 prompts imported and compared", f"{best:.2f} s", "< 1 s", best < 1)
    spent_on_runs = _child("bench.compared", "runs", n, folder / "compared")
    if spent_on_runs["n"] != n:
        raise SystemExit(f"not all samples were compared: {spent_on_runs['n']} of {n}")
    wall, cpu, peak = (spent_on_runs[name] for name in ("wall", "cpu", "peak_mb"))
    print(f"      two runs of {n:,} samples: {wall:.1f} s, {cpu:.1f} s CPU, peak {peak:.0f} MB")
    _line(f"two runs of {n:,} samples compared", f"{wall:.1f} s", "< 10 s", wall < 10)


def decided(folder: Path, n: int) -> None:
    """Peak memory is that of a process which only decides; CPU is told because others may load the machine."""
    _child("bench.decided", "make", n, folder / "decided")
    spent = _child("bench.decided", "decide", folder / "decided")
    if spent["n"] != n:
        raise SystemExit(f"not all samples were compared: {spent['n']} of {n}")
    wall, cpu, peak = (spent[name] for name in ("wall", "cpu", "peak_mb"))
    for part, took in spent["parts"].items():
        print(f"      {part}: {took['wall']:.1f} s, {took['cpu']:.1f} s CPU")
    print(f"      two runs of {n:,} samples: {wall:.1f} s, {cpu:.1f} s CPU, peak {peak:.0f} MB")
    good = wall <= 10 and peak < 2048
    _line(f"two runs of {n:,} compared, attributed and gated", f"{wall:.1f} s {peak:.0f} MB", "<= 10 s, 2 GB", good)


def crowd(n: int) -> None:
    """Every method on all labels and on those that are left when some are held out, then each person's figures."""
    spent = _child("bench.crowd", n)
    if spent["n"] != n:
        raise SystemExit(f"not all labels were aggregated: {spent['n']} of {n}")
    parts = ", ".join(f"{part} {took:.1f} s" for part, took in spent["took"].items())
    print(f"      {n:,} labels: {parts}; {spent['right']:.1%} of the items right")
    wall, peak = spent["wall"], spent["peak_mb"]
    what = f"{n:,} labels of {n // 10:,} items: choose a method, judge people"
    _line(what, f"{wall:.1f} s {peak:.0f} MB", "<= 30 s, 1 GB", wall <= 30 and peak <= 1024)


def main() -> None:
    quick = "--quick" in sys.argv[1:]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        help_cpu()
        overhead(folder, 2_000 if quick else 20_000)
        throughput(folder, 1_000 if quick else 5_000, 1 if quick else 5)
        repeats(folder, 16, 100, 1 if quick else 5)
        items(folder, 200 if quick else 1_000, 3 if quick else 9)
        stability(1 if quick else 5)
        judged(folder, 500 if quick else 10_000)
        compared(folder, 5_000 if quick else 100_000)
        decided(folder, 20_000 if quick else 1_000_000)
        crowd(50_000 if quick else 1_000_000)
        memory(folder, 2_000 if quick else 10_000, 10_000 if quick else 200_000)


if __name__ == "__main__":
    main()
