"""What whole commands took, kept between runs and written as a page; used by bench.commands."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

_TITLES = {"bare": "bare aiohttp script", "braintrust": "Braintrust, local", "Steelyard": "**Steelyard**"}
_DELAY, _CONCURRENCY = 0.05, 100
_HEAD = """\
# Benchmarks

Whole commands, from the start of the process to its end, measured from outside: wall clock, CPU (user + system, with
child processes), peak memory of the largest process, bytes on disk afterwards. All tools ask the same cases of one
loopback service, a chat model that answers after 50 ms, {concurrency} calls at once, and score each answer exactly and
by likeness. They run one after the other.

Measured {when}

To repeat it, with an environment for each tool in the folder `peers` (pip and npm as they are set up):

```sh
python -m bench.commands --peers peers --out docs/benchmarks.md
```

`--only steelyard,bare`, `--sizes 1000` and `--most SECONDS` make it shorter. Figures are kept in `peers/figures.json`;
`--again` measures them anew. How each tool is called is in `bench/peers.py`.
"""
_NOTES = """\
## How to read it

- **Ideal** is the time that the answers alone take: cases × 50 ms ÷ {concurrency}.
- The bare script asks, scores and writes JSON lines: the least that does the work, with no report and no resuming.
- Braintrust (`no_send_logs`) and pydantic-evals store nothing by themselves: the script writes what they return. Both,
  and deepeval, make no calls of their own: they get the bare script's call without its retries. So under 429 and 500
  they score fewer cases.
- Bytes count everything that a tool left in its folder, copies of the cases and printed output included.
- The reasons given where Steelyard does not lead name what it does more; how much each costs is not measured here.
- A command that took longer than {most} was stopped, and larger ones were not tried.
- *Asked again* are calls that had been answered before `kill -9` and were made once more. A tool that cannot go on
  starts again.
"""
_WHY = {
    "run 6": "loading the suite, its checks, the store and the report takes most of a short run",
    "wall": "every answer is committed to the store before its worker makes the next call; a summary with intervals,"
    " gates and a report follow",
    "cpu": "each sample is stored with its request, findings and scores, and the summary is computed with intervals",
    "peak_mb": "the statistics and the report need NumPy",
    "bytes": "the store keeps cases, requests, scores and findings as rows with indexes",
    "again": "answers that were not committed yet when the process was killed are asked again",
    "compare": "a comparison has paired tests, intervals and attribution",
}


class Figures:
    """Figures by tool and what was measured, kept in a file as soon as they are there."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._all: dict[str, dict[str, Any]] = {}
        if path is not None and path.exists():
            self._all = json.loads(path.read_text())

    @property
    def tools(self) -> list[str]:
        return list(self._all)

    def has(self, tool: str, what: str) -> bool:
        """True for what was measured, and did not fail."""
        return "failed" not in (self.of(tool, what) or {"failed": True})

    def of(self, tool: str, what: str) -> dict[str, Any] | None:
        return self._all.get(tool, {}).get(what)

    def keep(self, tool: str, what: str, figures: dict[str, Any]) -> None:
        self._set(tool, what, figures)

    def version(self, tool: str, version: str) -> None:
        self._set(tool, "version", version)

    def note(self, tool: str, text: str) -> None:
        """Why there are no figures of this tool."""
        self._set(tool, "note", text)

    def text(self, tool: str, what: str) -> str:
        return self._all[tool].get(what, "")

    def sizes(self) -> list[int]:
        """Numbers of cases of whole runs, the few of a start left out."""
        names = {what for kept in self._all.values() for what in kept if what.startswith("run ")}
        return sorted(n for n in (int(name.split()[1]) for name in names) if n > 6)

    def load(self) -> str:
        """How busy the machine was: above its cores, wall times say little."""
        loads = [
            each["load"]
            for kept in self._all.values()
            for each in kept.values()
            if isinstance(each, dict) and "load" in each
        ]
        return f" Load average {min(loads):.1f} to {max(loads):.1f}." if loads else ""

    def _set(self, tool: str, what: str, value: Any) -> None:
        self._all.setdefault(tool, {})[what] = value
        if self._path is not None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._path.write_text(json.dumps(self._all, indent=1))


Cell = Callable[[dict[str, Any], int], str]


def _ok(figures: dict[str, Any], n: int, text: str) -> str:
    """The figure, with how many cases it is about where some are missing."""
    if figures["code"] == -9:
        return f"> {figures['wall']:.0f} s"
    scored = figures.get("scored")
    return text if scored is None or scored == n else f"{text} ({scored:,} scored)"


def _table(figures: Figures, columns: list[tuple[str, str, int, Cell]]) -> list[str]:
    lines = ["| | " + " | ".join(title for title, *_ in columns) + " |", "|---" * (len(columns) + 1) + "|"]
    for tool in figures.tools:
        title = " ".join((_TITLES.get(tool, tool), figures.text(tool, "version"))).strip()
        if figures.text(tool, "note"):
            lines.append(f"| {title} | {figures.text(tool, 'note')} |" + " |" * (len(columns) - 1))
            continue
        cells = []
        for _, what, n, cell in columns:
            kept = figures.of(tool, f"{what} {n}")
            cells.append("" if kept is None else "failed" if "failed" in kept else _ok(kept, n, cell(kept, n)))
        lines.append(f"| {title} | " + " | ".join(cells) + " |")
    return [*lines, ""]


def _best(figures: Figures, what: str, n: int, value: Callable[[dict[str, Any]], float]) -> list[tuple[float, str]]:
    """Tools from best to worst, the bare script left out; only those that scored everything."""
    rows = []
    for tool in figures.tools:
        kept = figures.of(tool, f"{what} {n}")
        if tool != "bare" and kept is not None and kept.get("code", -9) != -9 and kept.get("scored") in {n, None}:
            rows.append((value(kept), tool))
    return sorted(rows)


def _plain(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _where_not_ahead(figures: Figures, sizes: list[int]) -> list[str]:
    small, large = sizes[:1], sizes[-1:]
    wanted = [(f"wall, {n:,} cases", "run", n, "s", "wall") for n in [6, *sizes]]
    wanted += [(f"CPU, {n:,} cases", "run", n, "s", "cpu") for n in [6, *sizes]]
    wanted += [(f"peak memory, {n:,} cases", "run", n, "MB", "peak_mb") for n in large]
    wanted += [(f"bytes on disk, {n:,} cases", "run", n, "bytes", "bytes") for n in large]
    wanted += [(f"wall with 429 and 500, {n:,} cases", "throttled", n, "s", "wall") for n in small]
    wanted += [(f"load and compare, {n:,} cases", "compare", n, "s", "wall") for n in small]
    wanted += [(f"asked again after `kill -9`, {n:,} cases", "killed", n, "calls", "again") for n in small]
    lines = []
    for title, what, n, unit, name in wanted:
        order = _best(figures, what, n, lambda kept, name=name: kept[name])
        ours = next((value for value, tool in order if tool == "Steelyard"), None)
        if ours is not None and order[0][0] < ours:
            value, tool = order[0]
            why = _WHY.get(f"{what} {n}") or _WHY.get(what) or _WHY[name]
            lines.append(f"- {title}: {tool} {_plain(value)} {unit}, Steelyard {_plain(ours)} {unit}; {why}.")
    return lines or ["Nowhere among the tools, in this run."]


def write_page(path: Path, figures: Figures, when: str, most: str) -> None:
    """All tables, where ours does not lead, and how to read them."""
    sizes = figures.sizes()
    small, large = sizes[:1], sizes[-1:]
    sections = {
        "Start": [
            ("wall, 6 cases", "run", 6, lambda kept, _: f"{kept['wall']:.2f} s"),
            ("CPU, 6 cases", "run", 6, lambda kept, _: f"{kept['cpu']:.2f} s"),
        ],
        "Wall over ideal": [
            (f"{n:,} cases", "run", n, lambda kept, n: f"{kept['wall'] / (n * _DELAY / _CONCURRENCY):.2f}")
            for n in sizes
        ],
        "CPU, memory, disk": [
            *((f"CPU ms a case, {n:,}", "run", n, lambda kept, n: f"{kept['cpu'] / n * 1000:.2f}") for n in sizes),
            *((f"peak MB, {n:,}", "run", n, lambda kept, _: f"{kept['peak_mb']:,.0f}") for n in sizes),
            *((f"bytes a case, {n:,}", "run", n, lambda kept, n: f"{kept['bytes'] / n:,.0f}") for n in large),
        ],
    }
    lines = [_HEAD.format(concurrency=_CONCURRENCY, when=when)]
    for title, columns in (sections | {"Compare, resume, failures": _hard(small)}).items():
        lines += [f"## {title}", "", *_table(figures, columns)]
    lines += ["## Where Steelyard does not lead", "", *_where_not_ahead(figures, sizes), ""]
    path.write_text("\n".join([*lines, _NOTES.format(concurrency=_CONCURRENCY, most=most)]))


def _hard(small: list[int]) -> list[tuple[str, str, int, Cell]]:
    columns: list[tuple[str, str, int, Cell]] = []
    for n in small:
        columns += [
            (f"load and compare, {n:,}", "compare", n, lambda kept, _: f"{kept['wall']:.2f} s"),
            (
                f"asked again after `kill -9`, {n:,}",
                "killed",
                n,
                lambda kept, _: f"{kept['again']:,} of {kept['before']:,}",
            ),
            (
                f"5 % of 429, 5 % of 500, {n:,}",
                "throttled",
                n,
                lambda kept, _: f"{kept['wall']:.1f} s, {kept['calls']:,} calls",
            ),
        ]
    return columns
