"""A suite of makers with three systems whose recorded answers agree against some of its truth."""

from __future__ import annotations

import json
from pathlib import Path

TRUTHS = {"a": "Kohn", "b": "Wedgwood", "c": "Tiffany", "d": "Lalique"}
ANSWERS = {
    # All three name another maker for a, two of three for b; c is not known to one of them.
    "first": {"a": "Thonet", "b": "Spode", "c": "unknown", "d": "Lalique"},
    "second": {"a": "THONET", "b": "spode.", "c": "Handel", "d": "Lalique"},
    "third": {"a": "Thonet", "b": "Wedgwood", "c": "Handel", "d": "Galle"},
}


def write_makers(folder: Path) -> None:
    """Write the suite and its answers into a new folder."""
    folder.mkdir()
    targets = "\n".join(f"  {name}: {{recorded: {name}.jsonl}}" for name in ANSWERS)
    (folder / "suite.yaml").write_text(f"""\
suite: makers
cases: cases.jsonl
target: {{recorded: first.jsonl}}
targets:
{targets}
answer: {{format: json}}
score:
  maker:
    alternatives: {{expected: expected.maker, also: expected.also}}
    weight: 3
  year:
    number: {{expected: expected.year}}
    weight: 1
pass: score >= 50 %
""")
    rows = [
        {"id": case, "input": case, "expected": {"maker": maker, "also": ["x y"], "year": 1900}}
        for case, maker in TRUTHS.items()
    ]
    (folder / "cases.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    for name, answers in ANSWERS.items():
        said = [
            {"case": case, "answer": {"maker": maker, "year": 1905 if case == "d" else 1900}}
            for case, maker in answers.items()
        ]
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in said))
