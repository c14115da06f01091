"""Suites made for measuring: any number of cases, scored and validated like a real one."""

from __future__ import annotations

import json
from pathlib import Path

_SUITE = """\
suite: bench
cases: {{files: cases.jsonl}}
target: {target}
repeats: {repeats}
answer:
  schema:
    type: object
    required: [name, count]
    properties: {{name: {{type: string}}, count: {{type: integer}}}}
score:
  name: {{keywords_or_fuzzy: {{expected: expected.name, keywords: expected.words}}, weight: 70}}
  count: {{number: {{expected: expected.count}}, weight: 30}}
pass: score >= 75 %
gates: [pass_rate >= 90 %]
"""
_SYSTEM = """\
import json


async def answer(case):
    text = case.input["text"]
    return json.dumps({"name": text, "count": len(text)})
"""


def text_of(number: int) -> str:
    """The question of case `number`."""
    return f"walnut side table number {number} with two drawers"


def write_suite(folder: Path, n: int, target: str, repeats: int = 1) -> Path:
    """A suite of `n` cases in `folder`, each asked `repeats` times; gives the suite file."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "cases.jsonl").open("w") as file:
        for number in range(n):
            text = text_of(number)
            expected = {"name": text, "words": ["walnut", "table", str(number)], "count": len(text)}
            case = {"id": f"case-{number}", "input": {"text": text}, "expected": expected, "category": f"c{number % 7}"}
            file.write(json.dumps(case) + "\n")
    (folder / "system.py").write_text(_SYSTEM)
    path = folder / "suite.yaml"
    path.write_text(_SUITE.format(target=target, repeats=repeats))
    return path
