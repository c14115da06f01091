"""Measures whole commands on 1,000 to 1,000,000 recorded answers, from the start of the process to its end.

python -m bench.growth FOLDER [SIZE ...] [COMMAND ...] makes what is missing there, runs `run`, `rescore`, `report`,
`compare` and `export` on it, or those that are named, adds the figures to FOLDER/growth.json, and writes table and
picture of all figures that are there into docs/scaling.md and docs/images/growth.svg. A size that was measured before
is measured again. The 1,000,000 take half an hour on two quiet cores and 3 GB of disk.
"""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Collection
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench import commands
from bench.suites import write_recorded

_SIZES = (1_000, 10_000, 100_000, 1_000_000)
_DOCS = Path(__file__).parent.parent / "docs"
_PAGE, _PICTURE = _DOCS / "scaling.md", _DOCS / "images" / "growth.svg"
_BEGIN, _END = "<!-- growth: written by bench/growth.py -->\n", "<!-- end of growth -->\n"
_STEPS = {
    "run": ("run", "{folder}/suite.yaml", "--json"),
    "rescore": ("rescore", "LAST", "--suite", "{folder}/heavier.yaml", "--json"),
    "report": ("report", "LAST"),
    "compare": ("compare", "LAST~1", "LAST", "--no-attribution"),
    "export": ("export", "LAST", "{folder}/run.json"),
}


def measure(size: int, folder: Path, steps: Collection[str] = _STEPS.keys()) -> dict[str, Any]:
    """What each command takes on so many answers: wall and CPU seconds, and the most memory in MB."""
    if not (folder / "heavier.yaml").exists():
        write_recorded(folder, size)
    for old in folder.glob("runs.db*") if "run" in steps else ():
        old.unlink()
    result: dict[str, Any] = {"size": size}
    for name in (name for name in _STEPS if name in steps):
        words = (part.format(folder=folder) for part in _STEPS[name])
        result[name] = _timed(folder, *words, "--store", str(folder / "runs.db"))
        print(f"{size:>9,} {name:<8} {json.dumps(result[name])}", flush=True)
    result["stored_mb"] = round((folder / "runs.db").stat().st_size / 1e6, 1)
    (folder / "run.json").unlink(missing_ok=True)
    return result


def _timed(folder: Path, *command: str) -> dict[str, float]:
    program = str(Path(sys.executable).parent / "steelyard")
    spent = commands.measure([program, *command], folder, {}, most=36_000)
    if spent.code not in (0, 1, 4):
        raise SystemExit(f"steelyard {' '.join(command)} ended with {spent.code}")
    return {"wall": round(spent.wall, 2), "cpu": round(spent.cpu, 2), "peak_mb": round(spent.peak_mb)}


def write_page(figures: list[dict[str, Any]]) -> None:
    """Put the table into the page, between its marks, and draw the picture."""
    page = _PAGE.read_text()
    before, _, rest = page.partition(_BEGIN)
    _PAGE.write_text(before + _BEGIN + _table(figures) + _END + rest.partition(_END)[2])
    import vl_convert

    _PICTURE.write_text(vl_convert.vegalite_to_svg(_spec(figures)))


def _table(figures: list[dict[str, Any]]) -> str:
    rows = ["| samples | " + " | ".join(_STEPS) + " | store |", "|" + "---:|" * (len(_STEPS) + 2)]
    for item in figures:
        cells = [_cell(item.get(step)) for step in _STEPS]
        rows.append(f"| {item['size']:,} | {' | '.join(cells)} | {item['stored_mb']:,.0f} MB |")
    told = sorted({f"{item['machine']}, {item['measured']}, load {item['load']}" for item in figures})
    note = "Wall seconds (CPU seconds), most memory. Measured on: " + "; ".join(told) + "."
    return "\n".join(["", *rows, "", note, "", "![Time and memory by number of samples](images/growth.svg)", "", ""])


def _cell(took: dict[str, float] | None) -> str:
    return "" if took is None else f"{took['wall']:,.1f} s ({took['cpu']:,.1f}), {took['peak_mb']:,} MB"


def _spec(figures: list[dict[str, Any]]) -> dict[str, Any]:
    rows = [
        {"samples": item["size"], "command": step, "cpu": item[step]["cpu"], "memory": item[step]["peak_mb"]}
        for item in figures
        for step in _STEPS
        if step in item
    ]

    def panel(field: str, title: str) -> dict[str, Any]:
        return {
            "width": 300,
            "height": 240,
            "mark": {"type": "line", "point": True},
            "encoding": {
                "x": {"field": "samples", "type": "quantitative", "scale": {"type": "log"}, "axis": {"format": "~s"}},
                "y": {"field": field, "type": "quantitative", "scale": {"type": "log"}, "title": title},
                "color": {"field": "command", "type": "nominal", "sort": list(_STEPS)},
            },
        }

    panels = [panel("cpu", "CPU seconds"), panel("memory", "most memory, MB")]
    return {"data": {"values": rows}, "background": "white", "hconcat": panels}


def main() -> None:
    folder, *rest = sys.argv[1:]
    sizes, steps = ([item for item in rest if item.isdigit() is number] for number in (True, False))
    if unknown := [item for item in steps if item not in _STEPS]:
        raise SystemExit(f"no such command: {', '.join(unknown)}; write one of {', '.join(_STEPS)}")
    stored = Path(folder) / "growth.json"
    figures = {item["size"]: item for item in json.loads(stored.read_text())} if stored.exists() else {}
    for size in map(int, sizes) if sizes else _SIZES:
        item = figures.get(size, {}) | measure(size, Path(folder) / str(size), steps or _STEPS.keys())
        item |= {
            "machine": f"{os.cpu_count()} cores ({platform.machine()}), Python {platform.python_version()}",
            "measured": f"{datetime.now(UTC):%d %B %Y}",
            "load": round(os.getloadavg()[2]),
        }
        figures[size] = item
        stored.write_text(json.dumps([figures[key] for key in sorted(figures)], indent=1))
    write_page([figures[key] for key in sorted(figures)])


if __name__ == "__main__":
    main()
