"""Suites made for measuring: any number of cases of one shape."""

from __future__ import annotations

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
