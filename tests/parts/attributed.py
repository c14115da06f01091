"""Runs of a suite of names whose headline number moves for reasons that are known, and what `compare` says of them."""

from __future__ import annotations

import json

import pytest
import yaml

from parts.command import invoke

RIGHT = range(30, 50)


def write_names(folder, *, truths=None, cases=range(50), answers=None, **more):
    """A suite of names: the system says `said k`, which is right where the truth says so too."""
    folder.mkdir(exist_ok=True)
    truth = {k: f"said {k}" if k in RIGHT else f"true {k}" for k in cases} | (truths or {})
    said = {k: f"said {k}" for k in cases} | (answers or {})
    rows = [{"id": f"c{k:02d}", "input": {"k": k}, "expected": {"name": truth[k]}} for k in cases]
    kept = [{"case": f"c{k:02d}"} | _answer(said[k]) for k in cases]
    suite = {
        "suite": "names",
        "cases": {"files": "cases.jsonl"},
        "target": {"recorded": "answers.jsonl"},
        "answer": {"schema": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}}},
        "score": {"name": {"exact": {"expected": "expected.name"}}},
        "pass": "score >= 90 %",
        "limits": {"retries": 0, "max_inconclusive": 0.5},
        **more,
    }
    for name, lines in (("cases.jsonl", rows), ("answers.jsonl", kept)):
        (folder / name).write_text("".join(json.dumps(line) + "\n" for line in lines))
    (folder / "suite.yaml").write_text(yaml.safe_dump(suite, sort_keys=False))


def _answer(name):
    return {"failed": "timeout"} if name is None else {"answer": {"name": name}}


class Bench:
    def __init__(self, folder):
        self.folder = folder

    def evaluate(self, **suite):
        write_names(self.folder / "names", **suite)
        invoke("run", "names", code=0)

    def compared(self, *more, code):
        """The attribution of the last two runs as data, after a look at the sums."""
        found = json.loads(invoke("compare", "LAST~1", "LAST", "--json", *more, code=code))["attribution"]
        if found["total"] is not None:
            parts = [portion["change"]["value"] for portion in found["portions"]]
            assert sum(parts) == pytest.approx(found["total"], abs=1e-9)
        return found


def points(result):
    """By cause, points of a hundred."""
    return {"+".join(one["causes"]): round(100 * one["change"]["value"], 6) for one in result["portions"]}


def contributing(*asked, code):
    """What stands behind parts of the change, by metric; every one is what its readings come to."""
    found = json.loads(invoke("compare", "LAST~1", "LAST", "--explain", *asked, "--json", code=code))["explained"]
    for each in found:
        added = sum(row["value"] for row in each["contributing"])
        assert each["figure"]["value"] == pytest.approx(added, abs=1e-9)
    return {each["metric"]: each for each in found}
