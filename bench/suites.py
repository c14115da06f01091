"""Suites made for measuring: any number of cases of one shape."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

_SUITE = """\
suite: bench
cases: {{files: cases.jsonl}}
target: {target}
score:
  exact: {{exact: {{expected: expected.name}}}}
  likeness: {{keywords_or_fuzzy: {{expected: expected.name}}}}
pass: score >= 75 %
gates: [pass_rate >= 50 %]
"""
_CHAT = '{{chat: {{base_url: "{url}", model: echo, user: "{{{{ input.text }}}}"}}}}'
_SYSTEM = """\
async def answer(case):
    return case.input["text"]
"""


def text_of(number: int) -> str:
    """The question of case `number`, and its right answer."""
    return f"walnut side table number {number} with two drawers"


def write_suite(folder: Path, n: int, chat_url: str | None = None) -> Path:
    """A suite of `n` cases in `folder` that asks the chat model at this address, or a Python function; gives its file.

    Scored exactly and by likeness.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "cases.jsonl").open("w") as file:
        for number in range(n):
            text = text_of(number)
            case = {"id": f"case-{number}", "input": {"text": text}, "expected": {"name": text}}
            file.write(json.dumps(case | {"category": f"c{number % 7}"}) + "\n")
    (folder / "system.py").write_text(_SYSTEM)
    path = folder / "suite.yaml"
    target = '{python: "system:answer"}' if chat_url is None else _CHAT.format(url=chat_url)
    path.write_text(_SUITE.format(target=target))
    return path


_RECORDED = """\
suite: growth
cases: cases.jsonl.gz
answer: {{format: json}}
target: {{recorded: answers.jsonl}}
score:
  name: {{keywords_or_fuzzy: {{expected: expected.name}}, weight: {weight}}}
  value: {{exact: {{expected: expected.value}}}}
pass: score >= 60 %
gates: [pass_rate >= 1 %]
"""


def write_recorded(folder: Path, n: int) -> None:
    """Two suites over `n` cases with recorded answers: `suite.yaml`, and `heavier.yaml` with another weight."""
    folder.mkdir(parents=True, exist_ok=True)
    with gzip.open(folder / "cases.jsonl.gz", "wt", 1) as cases, (folder / "answers.jsonl").open("w") as answers:
        for number in range(n):
            text, name = text_of(number), f"c-{number:07}"
            expected = {"name": text, "value": number % 1000}
            case = {"id": name, "input": {"text": text}, "expected": expected, "category": f"k{number % 8}"}
            cases.write(json.dumps(case) + "\n")
            answer = {"name": text_of(number * 7 // 8), "value": number % 997}
            record = {"case": name, "answer": answer, "latency": 0.1 + number % 50 / 100}
            answers.write(json.dumps(record) + "\n")
    for file, weight in (("suite", 1), ("heavier", 3)):
        (folder / f"{file}.yaml").write_text(_RECORDED.format(weight=weight))
