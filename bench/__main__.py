"""Prints each figure beside what it must hold: python -m bench [--quick]."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from bench.commands import Bench, Tool, measure, tools
from bench.report import Figures
from bench.suites import write_suite


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


def commands(folder: Path, sizes: dict[int, float]) -> None:
    """Whole commands against a bare script that asks and scores the same: at most so many times its time."""
    figures = Figures(None)
    bench = Bench(figures, folder / "commands", most=600)
    made = [tool for _, tool in tools(None, lambda _: True) if isinstance(tool, Tool)]
    for n in (6, *sizes):
        for tool in made:
            bench.run(tool, n)
    start = figures.of("Steelyard", "run 6")["cpu"]
    _line("run of 6 cases, CPU of the whole command", f"{start:.2f} s", "<= 0.6 s", start <= 0.6)
    for n, most in sizes.items():
        ours, bare = (figures.of(name, f"run {n}") for name in ("Steelyard", "bare"))
        ratio, cpu = ours["wall"] / bare["wall"], (ours["cpu"] - start) / n * 1000
        what = f"{n:,} calls of 50 ms, 100 at once, against a bare script"
        _line(what, f"{ratio:.2f} x", f"<= {most} x", ratio <= most)
        _line(f"CPU a case beyond the start, {n:,} cases", f"{cpu:.2f} ms", "<= 0.65 ms", cpu <= 0.65)


def memory(folder: Path, small: int, large: int) -> None:
    peaks = {}
    for n in (small, large):
        place = folder / f"memory-{n}"
        suite = write_suite(place, n)
        steelyard = str(Path(sys.executable).parent / "steelyard")
        spent = measure([steelyard, "run", str(suite), "--store", f"{place}/runs.db"], place, {}, 3600)
        if spent.scored != n:
            raise SystemExit(f"not all cases were scored: {spent.output}")
        peaks[n] = spent.peak_mb
        print(f"      {n:,} cases: peak {peaks[n]:.0f} MB, {spent.cpu / n * 1000:.2f} ms CPU a case")
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


def compared(folder: Path) -> None:
    spent = [_child("bench.compared", folder / f"compared-{turn}") for turn in range(3)]
    best = min(each["wall"] for each in spent)
    if any(each["n"] != 50 for each in spent):
        raise SystemExit(f"not all prompts were compared: {spent}")
    cpu, whole = (min(each[name] for each in spent) for name in ("cpu", "whole_cpu"))
    print(
        f"      two snapshots of 50 prompts: {best:.2f} s, {cpu:.2f} s CPU; {whole:.2f} s CPU with the start of Python"
    )
    _line("two snapshots of 50 prompts imported and compared", f"{best:.2f} s", "< 1 s", best < 1)


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
        commands(folder, {1_000: 1.5} if quick else {1_000: 1.5, 5_000: 1.2, 20_000: 1.15})
        items(folder, 200 if quick else 1_000, 3 if quick else 9)
        stability(1 if quick else 5)
        judged(folder, 500 if quick else 10_000)
        compared(folder)
        decided(folder, 20_000 if quick else 1_000_000)
        crowd(50_000 if quick else 1_000_000)
        memory(folder, 2_000 if quick else 10_000, 10_000 if quick else 200_000)


if __name__ == "__main__":
    main()
