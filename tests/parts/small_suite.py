"""A small suite on disk for tests of whole runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import yaml


def write_suite(
    folder: Path,
    *,
    n: int = 6,
    target: dict[str, Any] | None = None,
    name: str = "words",
    **more: Any,
) -> Path:
    """A suite of `n` cases; case k asks for "word k" and scores the answer's `word`. Gives the suite file."""
    folder.mkdir(parents=True, exist_ok=True)
    cases = [
        {
            "id": f"c{number}",
            "input": {"number": number},
            "expected": {"word": f"word {number}"},
            "category": "even" if number % 2 == 0 else "odd",
            "difficulty": "easy" if number < n / 2 else "hard",
        }
        for number in range(n)
    ]
    (folder / "cases.jsonl").write_text("".join(json.dumps(case) + "\n" for case in cases))
    suite = {
        "suite": name,
        "cases": {"files": "cases.jsonl"},
        "target": target or {"python": "system:answer"},
        "answer": {
            "schema": {"type": "object", "required": ["word"], "properties": {"word": {"type": "string"}}},
        },
        "score": {"word": {"exact": {"expected": "expected.word"}}},
        "pass": "score >= 90 %",
        "gates": ["pass_rate >= 90 %"],
        **more,
    }
    (folder / "system.py").write_text(
        "def answer(case):\n    return {'word': 'word %d' % case.input['number']}\n",
    )
    path = folder / "suite.yaml"
    path.write_text(yaml.safe_dump(suite, sort_keys=False))
    return path


def http_target(base_url: str, **more: Any) -> dict[str, Any]:
    """An HTTP target whose path carries the case's number, answering `{"word": ...}` under `answer`."""
    settings = {"url": base_url + "/ask", "json": {"number": "{{ input.number }}"}, "answer": "answer", **more}
    return {"http": settings}


def load_written(folder: Path, text: str, cases: list[dict[str, Any]]) -> Any:
    """The suite that a text says, with these cases in cases.json and no recorded answers yet."""
    from steelyard.loading.load import load_suite

    folder.mkdir(parents=True, exist_ok=True)
    (folder / "cases.json").write_text(json.dumps(cases))
    (folder / "answers.jsonl").touch()
    (folder / "suite.yaml").write_text(text)
    return load_suite(folder)
