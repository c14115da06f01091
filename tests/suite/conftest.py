"""Two small scorers under names of their own, and suites written into a folder."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import pytest

from steelyard import plugins
from steelyard.scoring.base import Reading, Scorer
from steelyard.suite.case import Case
from steelyard.suite.paths import MISSING, compile_path


class Same(Scorer):
    """1 when the answer is the truth, letter for letter."""

    version: ClassVar[int] = 1
    has_strict: ClassVar[bool] = True

    expected: str
    also: tuple[str, ...] = ()
    strict: bool = False

    def read(self, answer: Any, case: Case) -> Reading:
        return Reading(1.0 if answer == self.truth(case) else 0.0)

    def truth(self, case: Case) -> Any:
        value = compile_path(self.expected)(case)
        return None if value is MISSING else value


class Between(Scorer):
    """1 when the answer lies between two bounds of the case."""

    case_paths: ClassVar[tuple[str, ...]] = ("low", "high")

    low: str
    high: str
    unit: str = "cents"

    def read(self, answer: Any, case: Case) -> Reading:
        return Reading(0.0)

    def truth(self, case: Case) -> Any:
        value = compile_path(self.low)(case)
        return None if value is MISSING else value

    def check(self, case: Case) -> str | None:
        low, high = compile_path(self.low)(case), compile_path(self.high)(case)
        if isinstance(low, int) and isinstance(high, int) and low > high:
            return f"{self.low.rpartition('.')[2]} {low} is above {self.high.rpartition('.')[2]} {high}"
        return None


@pytest.fixture(autouse=True)
def two_scorers(monkeypatch: pytest.MonkeyPatch) -> None:
    known = plugins._places
    mine = {"same": f"{__name__}:Same", "between": f"{__name__}:Between"}
    monkeypatch.setitem(sys.modules, __name__, sys.modules.get(__name__) or _this_module())
    monkeypatch.setattr(plugins, "_places", lambda kind: known(kind) | (mine if kind == "scorers" else {}))


def _this_module() -> Any:
    import types

    module = types.ModuleType(__name__)
    module.Same, module.Between = Same, Between  # type: ignore[attr-defined]
    return module


GOOD: dict[str, Any] = {
    "suite": "greetings",
    "cases": "cases.json",
    "target": {"python": "answers:greet"},
    "score": {"text": {"same": {"expected": "expected.text"}}},
}
JUDGED: dict[str, Any] = {
    "suite": "letters",
    "cases": "letters.json",
    "target": {"recorded": "letters.jsonl"},
    "score": {"form": {"python": "measures:Form", "weight": 0}},
    "pass": "score >= 50 %",
    "judge": {
        "rubric": {
            "version": "1.0",
            "calibration": ["Start at 3."],
            "dimensions": {
                "tone": {"about": "How it sounds.", "scores": {"5": "warm", "1": "cold"}, "examples": {"3": "so so"}},
                "sense": {"weight": 2},
            },
            "flags": {"unsafe": {"about": "Harm.", "triggers": ["a threat"]}},
        },
        "bind": ["when form.words < 3 then sense <= 2", "when not form.greeted then tone <= 3 and unsafe"],
        "by": "code",
        "judges": {
            "code": {"python": "measures:judge"},
            "model": {"chat": {"base_url": "http://localhost:9/v1", "model": "big", "temperature": 0, "token": "KEY"}},
        },
        "labels": "expected.labels",
    },
}
MEASURES = """
from typing import ClassVar, Mapping
from steelyard import Scorer
from steelyard.scoring.base import Reading


class Form(Scorer):
    "Counts words."
    metrics: ClassVar[Mapping[str, str]] = {"words": "how many", "greeted": "whether it begins with a greeting"}
    least: int = 1

    def read(self, answer, case):
        return Reading(1.0, metrics={"words": len(answer.split()), "greeted": answer.startswith("Dear")})


def judge(text, case, metrics):
    return {"tone": 3, "sense": 3, "unsafe": False}
"""
LETTERS: list[dict[str, Any]] = [
    {"id": "a", "input": "thanks", "expected": {"labels": {"tone": {"best": 4, "allowed": [3, 5]}, "unsafe": False}}},
    {"id": "b", "input": "excuse", "expected": {"labels": {"tone": [1, 2], "sense": 2}}},
    {"id": "c", "input": "joke"},
]
CASES: list[dict[str, Any]] = [
    {"id": "a", "input": "morning", "expected": {"text": "Good morning"}},
    {"id": "b", "input": "evening", "expected": {"text": "Good evening"}},
]

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes `suite.yaml` (text, or GOOD with some keys replaced) and the files given, and says where it is."""

    def write(suite: str | dict[str, Any] | None = None, **files: Any) -> Path:
        folder = tmp_path / "suite"
        folder.mkdir(exist_ok=True)
        for name, content in {"cases.json": CASES, **files.pop("files", {})}.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if isinstance(content, bytes):
                path.write_bytes(content)
            else:
                path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        # JSON is YAML: the suite can be built as data.
        text = suite if isinstance(suite, str) else json.dumps(GOOD | (suite or {}), indent=1)
        (folder / "suite.yaml").write_text(text, encoding="utf-8")
        return folder / "suite.yaml"

    return write


@pytest.fixture
def judged(write: Write) -> Write:
    """Writes JUDGED with some keys of the suite (`suite=`) and of its judge replaced; None takes a key out."""

    def judged(suite: dict[str, Any] | None = None, files: dict[str, Any] | None = None, **judge: Any) -> Path:
        data = json.loads(json.dumps(JUDGED)) | (suite or {})
        if isinstance(data["judge"], dict):
            data["judge"] |= judge
            data["judge"] = {key: value for key, value in data["judge"].items() if value is not None}
        data = {key: value for key, value in data.items() if value is not None}
        text = json.dumps(data, indent=1)
        parts = {"letters.json": LETTERS, "letters.jsonl": "", "measures.py": MEASURES}
        return write(text, files={**parts, **(files or {})})

    return judged
